//! Tables whose rows are found by keys: which of them are read in batches, and the extents that their rows say.

use super::parts::{Source, is_keyed};
use super::{Batches, Passes};
use crate::error::Error;
use crate::relation::{Dictionary, Over};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::typed::{SizeId, TensorId};
use fiberloom_core::shape::Classes;

impl Passes {
    /// That rows which are found by keys can be told apart by labels of the first.
    pub(super) fn has_keys(&self) -> Result<(), Error> {
        let (table, name) = (&self.table, &self.table.name);
        if !is_keyed(table) {
            return match table.modes.len() {
                1 => Ok(()),
                _ => Err(self.not_keyed("its first mode numbers rows, and others stand below it".to_string())),
            };
        }
        let key = &table.modes[0];
        if key.over == Over::Coordinate {
            return Err(self.not_keyed(format!("its key `{}` is a coordinate, and no label of a domain", key.source)));
        }
        if table.modes[1..].iter().any(|mode| mode.over == key.over) {
            return Err(self.not_keyed("two of its keys are of one domain".to_string()));
        }
        let typed = self.program.typed();
        let own = typed.tensors.iter().find(|t| t.name == *name || table.columns.iter().any(|c| c.name == t.name));
        for (mode, size) in table.modes.iter().zip(own.map_or(&[][..], |t| &t.sizes)) {
            let is_own = |id: &TensorId| {
                let tensor = &typed.tensors[id.index()];
                tensor.name == *name || table.columns.iter().any(|c| c.name == tensor.name)
            };
            let others = typed.inputs().into_iter().filter(|id| !is_own(id));
            let shared = others.map(|id| &typed.tensors[id.index()]).find(|t| t.sizes.contains(size));
            if let Some(other) = shared.filter(|_| !matches!(mode.over, Over::Domain(_))) {
                let size = typed.sizes[size.index()].name.clone().unwrap_or_default();
                return Err(self.not_keyed(format!("`{}` has the size `{size}`, too, that its rows say", other.name)));
            }
        }
        Ok(())
    }

    /// Why a table of keys is not read in batches.
    fn not_keyed(&self, why: String) -> Error {
        let name = &self.table.name;
        let help = format!("number its rows, `table {name}[row: N] {{ … }}`, and make its keys columns");
        let what = format!("table `{name}` is not read in batches: {why}");
        self.program.refused(vec![Diagnostic::new(self.table.span, what).help(help)])
    }

    /// The extent that is cut.
    pub(super) fn extent(&self, labels: &[Dictionary], batches: &dyn Batches, sizes: &[(&str, u64)]) -> u64 {
        self.labelled(0, labels, sizes).unwrap_or_else(|| batches.rows())
    }

    /// The extent of a mode that is over a domain.
    fn labelled(&self, mode: usize, labels: &[Dictionary], sizes: &[(&str, u64)]) -> Option<u64> {
        let Over::Domain(domain) = self.table.modes[mode].over else { return None };
        let name = &self.program.relations().domains[domain].name;
        let said = sizes.iter().find(|(size, _)| size == name);
        Some(said.map_or(labels[domain].len() as u64, |(_, extent)| *extent))
    }

    /// The names of the sizes below the first key, each with its mode.
    pub(super) fn below(&self) -> impl Iterator<Item = (usize, &str)> {
        let typed = self.program.typed();
        let own = typed.tensors.iter().find(|t| {
            t.sizes.len() == self.table.modes.len()
                && (t.name == self.table.name || self.table.columns.iter().any(|c| c.name == t.name))
        });
        let sizes = own.map_or(&[][..], |t| &t.sizes).iter().enumerate().skip(1);
        sizes.filter_map(|(mode, size)| Some((mode, typed.sizes[size.index()].name.as_deref()?)))
    }

    /// The extents of these sizes, which labels or all rows together say.
    pub(super) fn needed(&self, source: &Source, sizes: &[(&str, u64)]) -> Result<Vec<(&str, u64)>, Error> {
        let labelled = |mode| self.labelled(mode, source.labels, sizes);
        let said = |mode: usize, name: &str| labelled(mode).is_some() || !self.is_asked(name);
        if self.below().all(|(mode, name)| said(mode, name)) {
            return Ok(self.below().filter_map(|(mode, name)| Some((name, labelled(mode)?))).collect());
        }
        let needs = source.needs()?;
        Ok(self.below().map(|(mode, name)| (name, labelled(mode).unwrap_or_else(|| needs[mode]))).collect())
    }

    /// Whether anything but the table has a size: its name stands elsewhere, or a result has modes as long.
    fn is_asked(&self, name: &str) -> bool {
        let words = self.program.canonical().split(|c: char| c != '_' && !c.is_alphanumeric());
        if words.filter(|word| *word == name).count() > 1 {
            return true;
        }
        let typed = self.program.typed();
        let Ok(classes) = Classes::of(typed) else { return true };
        let size = typed.sizes.iter().position(|size| size.name.as_deref() == Some(name));
        let Some(class) = size.map(|size| classes.class_of_size(SizeId(size as u32))) else { return true };
        let is_own = |tensor: &str| tensor == self.table.name || self.table.columns.iter().any(|c| c.name == tensor);
        let others = typed.tensors.iter().filter(|tensor| !is_own(&tensor.name));
        others.flat_map(|tensor| &tensor.sizes).any(|size| classes.class_of_size(*size) == class)
    }
}
