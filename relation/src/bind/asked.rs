//! Operands that labels alone say.

use super::{Binding, Declared};
use crate::relate::NONE;
use crate::{Dictionary, What};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Assembly, Entries, Tensor, room};
use fiberloom_data::Fault;
use fiberloom_data::error::Error;
use std::path::Path;

/// The coordinate of a label that no data have: none, and not that of a null.
const ABSENT: i64 = -2;

impl Binding<'_, '_> {
    /// Appends the operands that answer questions about labels; those about a table's texts are its own.
    pub(super) fn asked(
        &self,
        labels: &[Dictionary],
        operands: &mut Vec<(String, Tensor<'static>)>,
    ) -> Result<(), Error> {
        for asked in &self.relations.asked {
            let Some(declared) = self.declared(&asked.tensor) else { continue };
            let tensor = match self.answer(&declared, &asked.what, labels) {
                None => continue,
                Some(tensor) => tensor.map_err(|fault| Error::Data(fault.within(Path::new(&asked.tensor))))?,
            };
            operands.push((asked.tensor.clone(), tensor));
        }
        Ok(())
    }

    fn answer(
        &self,
        declared: &Declared,
        what: &What,
        labels: &[Dictionary],
    ) -> Option<Result<Tensor<'static>, Fault>> {
        let scalar = |x: i64| Ok(number(declared, x));
        Some(match what {
            What::Extent(domain) => {
                self.vector(declared, labels[*domain].len(), Ok(Array::from_values(Type::Bool, [])))
            }
            What::Values(domain) => self.vector(declared, labels[*domain].len(), numbers(&labels[*domain])),
            What::Lengths(domain) => {
                let lengths = match &labels[*domain] {
                    Dictionary::Texts(texts) => room::collected(texts.iter().map(|text| text.chars().count() as i64)),
                    numbers => room::repeated(0, numbers.len()),
                };
                self.vector(declared, labels[*domain].len(), lengths.map(Array::from).map_err(Fault::from))
            }
            What::Passes(domain, test) => {
                let holds = |text: &str| u8::from(test.holds(text));
                let passes = match &labels[*domain] {
                    Dictionary::Texts(texts) => room::collected(texts.iter().map(holds)),
                    numbers => room::repeated(0, numbers.len()),
                };
                self.vector(declared, labels[*domain].len(), passes.map(|p| Array::Bool(p.into())).map_err(Fault::from))
            }
            What::Mapped(from, image, to) => {
                let coordinate = |c: i64| match super::become_label(&labels[*from], c, image) {
                    Some(label) => labels[*to].rank(&label).map(|rank| rank as i64).map_err(|_| self.unknown(*to)),
                    None => Ok(NONE),
                };
                let all = (0..labels[*from].len() as i64).map(coordinate).collect::<Result<Vec<_>, _>>();
                self.vector(declared, labels[*from].len(), all.map(Array::from))
            }
            What::At(domain, label) => scalar(labels[*domain].rank(label).map_or(ABSENT, |rank| rank as i64)),
            What::Below(domain, label) => scalar(labels[*domain].rank(label).unwrap_or_else(|less| less) as i64),
            What::UpTo(domain, label) => {
                scalar(labels[*domain].rank(label).map_or_else(|less| less, |rank| rank + 1) as i64)
            }
            What::Column { .. } => return None,
        })
    }

    /// That a domain lacks labels that others become.
    fn unknown(&self, domain: usize) -> Fault {
        let name = &self.relations.domains[domain].name;
        Fault::whole(format!("`{name}` has not all labels that others become: pack the tables under this program"))
    }

    /// The first values of a vector of so many, which holds its fill value behind them.
    fn vector(
        &self,
        declared: &Declared,
        extent: usize,
        values: Result<Array<'static>, Fault>,
    ) -> Result<Tensor<'static>, Fault> {
        let values = values?;
        let coordinates = vec![room::collected(0..values.len() as i64)?];
        let how = Assembly { limit: self.given.limit, ..Assembly::default() };
        let entries = Entries { coordinates, values };
        Ok(entries.assemble(&[extent as u64], &declared.format, declared.fill, &how)?)
    }
}

/// A scalar.
fn number(declared: &Declared, x: i64) -> Tensor<'static> {
    let values = Array::from(vec![x]);
    Tensor { extents: vec![], format: declared.format.clone(), levels: vec![], values, fill: declared.fill }
}

/// The labels, which are numbers.
fn numbers(labels: &Dictionary) -> Result<Array<'static>, Fault> {
    let all = (0..labels.len() as i64).map(|c| labels.number(c).map(Value::i64));
    let all: Option<Vec<Value>> = all.collect();
    let all = all.ok_or_else(|| Fault::whole("labels that are texts have no numbers"))?;
    Ok(Array::collected(Type::I64, all)?)
}
