//! The rows of a table: at which coordinates they stand, and the tensors that their columns are.
//!
//! ```text
//!  row              0 1 2 3          positions    0 1 2 3 4        what stands where there is none: −1
//!  coordinates      2 0 2 0          row numbers  1 3 −1 0 2
//!                   1 0 2 1          a column     its value at each of these rows, elsewhere its fill value
//! ```

use super::levels::Levels;
use super::{Binding, Declared, integers};
use crate::dictionary::shown;
use crate::groups::OTHER;
use crate::relate::NONE;
use crate::{Column, Dictionary, Frame, Holds, Over, Table, Test, What};
use fiberloom_core::algebra::Value;
use fiberloom_core::format::{Array, Assembly, Entries, Error as Unassembled, Format, Tensor, room};
use fiberloom_core::notation::typed::SizeId;
use fiberloom_core::parallel;
use fiberloom_data::error::Error;
use fiberloom_data::{Fault, Place};
use std::collections::BTreeMap;
use std::path::Path;

/// A table with its data.
pub(super) struct Rows<'f> {
    /// Its place among the program's tables.
    number: usize,
    pub(super) table: &'f Table,
    frame: &'f Frame<'f>,
    /// What the data say of each mode; nothing of one that numbers rows.
    modes: Vec<Option<Column<'f>>>,
    columns: Vec<Column<'f>>,
    /// A column of coordinates a mode: empty until it is known, and of a last mode that numbers rows where `tallest` is known.
    pub(super) coordinates: Vec<Vec<i64>>,
    /// From where on coordinates of the first mode are counted.
    begin: i64,
    /// Where the last mode numbers rows: how many the most frequent coordinates above it have.
    tallest: Option<usize>,
    /// Of each column that is of a domain, its rows' coordinates there.
    codes: BTreeMap<usize, Array<'static>>,
}

/// A part of a table, by its place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Mode(usize),
    Column(usize),
}

/// Of each row whether a test holds of its text; not at nulls.
fn passes(column: &Column, test: &Test) -> Result<Vec<u8>, Fault> {
    let crate::Values::Texts(texts) = &column.values else {
        return Err(Fault::whole("numbers where texts are expected"));
    };
    let mut known: Vec<Option<u8>> = room::repeated(None, texts.held())?;
    let of = |row: usize| match column.is_null(row) {
        true => 0,
        false => {
            let held = texts.place(row);
            *known[held].get_or_insert_with(|| u8::from(test.holds(texts.held_text(held))))
        }
    };
    Ok(room::collected((0..texts.len()).map(of))?)
}

/// What a tensor of a table holds.
pub(super) enum Held<'t> {
    /// Where rows stand.
    Rows,
    /// A column.
    Column(usize),
    /// Whether something is so of a column's texts.
    Test(usize, &'t Test),
}

impl<'f> Rows<'f> {
    pub(super) fn new(
        number: usize,
        table: &'f Table,
        frame: &'f Frame<'f>,
        modes: Vec<Option<Column<'f>>>,
        columns: Vec<Column<'f>>,
    ) -> Rows<'f> {
        let coordinates = vec![Vec::new(); modes.len()];
        Rows { number, table, frame, modes, columns, coordinates, begin: 0, tallest: None, codes: BTreeMap::new() }
    }

    /// A fault in its data.
    pub(super) fn within(&self, fault: Fault) -> Error {
        Error::Data(fault.within(Path::new(&self.frame.origin)))
    }

    /// What of it is bound to a domain.
    pub(super) fn bound_to(&self, domain: usize) -> Vec<Part> {
        let modes = self.table.modes.iter().enumerate().filter(|(_, mode)| mode.over == Over::Domain(domain));
        let columns = self.table.columns.iter().enumerate().filter(|(_, column)| column.holds == Holds::Domain(domain));
        modes.map(|(m, _)| Part::Mode(m)).chain(columns.map(|(c, _)| Part::Column(c))).collect()
    }

    /// The data of a part that is bound to a domain.
    pub(super) fn column(&self, part: Part) -> &Column<'f> {
        match part {
            Part::Mode(m) => self.modes[m].as_ref().expect("labels come from the data"),
            Part::Column(c) => &self.columns[c],
        }
    }

    /// The coordinates that the labels of a part are.
    pub(super) fn code(&mut self, part: Part, coordinates: Vec<i64>) {
        match part {
            Part::Mode(m) => self.coordinates[m] = coordinates,
            Part::Column(c) => drop(self.codes.insert(c, Array::from(coordinates))),
        }
    }

    /// Finds the coordinates of modes that are of no domain.
    pub(super) fn number(&mut self) -> Result<(), Fault> {
        for (m, mode) in self.table.modes.iter().enumerate() {
            match (mode.over, &self.modes[m]) {
                (Over::Coordinate, Some(column)) => {
                    let all = integers(column)?;
                    if let Some(row) = all.iter().position(|c| *c < 0) {
                        let what = format!("coordinate {}: 0 or more expected", all[row]);
                        return Err(Fault::new(Place::Cell { row: row + 1, column: mode.source.clone() }, what));
                    }
                    self.coordinates[m] = room::copied(&all)?;
                }
                (Over::Row, _) if m + 1 == self.modes.len() => {
                    self.tallest = super::numbered::tallest(&self.coordinates[..m], self.frame.rows)?;
                    if self.tallest.is_none() {
                        self.coordinates[m] = super::numbered::within(&self.coordinates[..m], self.frame.rows)?;
                    }
                }
                (Over::Row, _) => {
                    self.coordinates[m] = super::numbered::within(&self.coordinates[..m], self.frame.rows)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Counts the coordinates of the first mode from one of them on.
    pub(super) fn count_from(&mut self, begin: i64) {
        self.begin = begin;
        self.coordinates[0].iter_mut().for_each(|coordinate| *coordinate -= begin);
    }

    /// How many coordinates a mode needs: one more than its greatest.
    pub(super) fn needs(&self, mode: usize) -> u64 {
        match self.tallest {
            Some(tallest) if mode + 1 == self.modes.len() => tallest as u64,
            _ => self.coordinates[mode].iter().max().map_or(0, |most| *most as u64 + 1),
        }
    }

    /// Of each row the coordinate of a mode that is not below the extent.
    pub(super) fn beyond(&self, mode: usize, extent: u64) -> Result<Option<(usize, i64)>, Fault> {
        if self.needs(mode) <= extent {
            return Ok(None);
        }
        let column = match self.tallest {
            Some(_) if mode + 1 == self.modes.len() => {
                &super::numbered::within(&self.coordinates[..mode], self.frame.rows)?
            }
            _ => &self.coordinates[mode],
        };
        Ok(column.iter().position(|c| *c as u64 >= extent).map(|row| (row, column[row])))
    }

    /// Numbers the rows of entries whose last mode is not numbered yet.
    fn complete(&self, entries: &mut Entries) -> Result<(), Fault> {
        match entries.coordinates.split_last_mut() {
            Some((last, others)) if self.tallest.is_some() && last.is_empty() => {
                *last = super::numbered::within(others, self.frame.rows)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Of each row the value of a tensor; which rows are null, and what stands there.
    fn values(&self, held: &Held, declared: &Declared) -> Result<(Array<'_>, &[bool], Value), Fault> {
        let none = |array| Ok((array, &[][..], declared.fill));
        let memory = || Fault::from(Unassembled::Memory { bytes: 8 * self.frame.rows as u128 });
        match held {
            Held::Rows => none(Array::filled(Value::bool(true), self.frame.rows).ok_or_else(memory)?),
            Held::Test(c, test) => none(Array::Bool(passes(&self.columns[*c], test)?.into())),
            Held::Column(c) => match self.codes.get(c) {
                Some(codes) => none(codes.clone()),
                None => {
                    use crate::Values::{Dates, Decimals, Plain, Texts, Timestamps};
                    let column = &self.columns[*c];
                    let array = match &column.values {
                        Plain(array) | Dates(array) | Timestamps(array) | Decimals(array, _) => array.clone(),
                        Texts(_) => return Err(Fault::whole("texts are asked, and not kept")),
                    };
                    Ok((array, &column.nulls, self.table.columns[*c].null.unwrap_or(declared.fill)))
                }
            },
        }
    }

    /// The levels of the table's tensors in a format; `entries` have the rows' coordinates.
    fn levels(
        &self,
        entries: &mut Entries<'static>,
        extents: &[u64],
        (format, limit): (&Format, u64),
        labels: &[Dictionary],
    ) -> Result<Levels, Fault> {
        if self.tallest.is_some() {
            let numbered = Levels::numbered(&entries.coordinates, self.frame.rows, extents, (format, limit))?;
            if let Some(levels) = numbered {
                return Ok(levels);
            }
        }
        self.complete(entries)?;
        if let Some(levels) = Levels::placed(&entries.coordinates, extents, (format, limit))? {
            return Ok(levels);
        }
        entries.values = Array::from(room::collected(0..self.frame.rows as i64)?);
        let how = Assembly { limit, ..Assembly::default() };
        let tensor = entries.assemble(extents, format, Value::i64(NONE), &how);
        Levels::of(tensor.map_err(|error| self.unassembled(error, &entries.coordinates, labels))?)
    }

    /// Why the rows of the table are no tensor, in the words of the data.
    fn unassembled(&self, error: Unassembled, coordinates: &[Vec<i64>], labels: &[Dictionary]) -> Fault {
        let said = || self.table.modes.iter().filter(|mode| mode.over != Over::Row).map(|mode| mode.source.as_str());
        let cell = |row: usize| Place::Cell { row: row + 1, column: said().collect::<Vec<_>>().join(", ") };
        match error {
            Unassembled::Twice { entries: [first, second], .. } => {
                let key = self.key(second, coordinates, labels);
                let help = "a mode `row` would number the rows of one key";
                Fault::new(cell(second), format!("the key {key} {OTHER}{} too: {help}", first + 1))
            }
            Unassembled::Unheld { at, what } => {
                let stands = |row: &usize| coordinates.iter().zip(&at).all(|(column, c)| column[*row] == *c);
                let row = (0..self.frame.rows).find(stands);
                Fault::whole(what).at(|| row.map_or(Place::Whole, cell))
            }
            error => error.into(),
        }
    }

    /// The labels at which a row stands.
    fn key(&self, row: usize, coordinates: &[Vec<i64>], labels: &[Dictionary]) -> String {
        let parts = self.table.modes.iter().zip(coordinates).enumerate().map(|(m, (mode, column))| {
            let coordinate = column[row] + if m == 0 { self.begin } else { 0 };
            match mode.over {
                Over::Domain(domain) => match labels[domain].label(coordinate) {
                    Some(label) => shown(&label, self.holds(mode.source.as_str())),
                    None => coordinate.to_string(),
                },
                _ => coordinate.to_string(),
            }
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// What the values of a mode's column are.
    fn holds(&self, source: &str) -> Holds {
        use crate::Values::{Dates, Decimals, Plain, Texts, Timestamps};
        let column = self.modes.iter().flatten().find(|column| column.name == source);
        match column.map(|column| &column.values) {
            Some(Dates(_)) => Holds::Date,
            Some(Timestamps(_)) => Holds::Timestamp,
            Some(Decimals(_, digits)) => Holds::Decimal(*digits),
            Some(Plain(array)) => Holds::Plain(array.ty()),
            Some(Texts(_)) | None => Holds::Text,
        }
    }
}

impl<'b> Binding<'b, '_> {
    /// The operands that a table is: one of where rows stand, and its columns that the program reads.
    pub(super) fn operands(
        &self,
        table: &mut Rows,
        extents: &BTreeMap<SizeId, u64>,
        labels: &[Dictionary],
    ) -> Result<Vec<(String, Tensor<'static>)>, Error> {
        let extents: Vec<u64> = self.sizes(table).iter().map(|(_, size)| extents[size]).collect();
        let coordinates = std::mem::take(&mut table.coordinates);
        let mut entries = Entries { coordinates, values: Array::from(Vec::<i64>::new()) };
        let tensors = self.tensors(table.number);
        let mut known: Vec<Levels> = Vec::new();
        for format in tensors.iter().map(|(declared, _)| &declared.format).filter(|format| !is_apart(format)) {
            if !known.iter().any(|levels| levels.format() == format) {
                let levels = table.levels(&mut entries, &extents, (format, self.given.limit), labels);
                known.push(levels.map_err(|fault| table.within(fault))?);
            }
        }
        if tensors.iter().any(|(declared, _)| is_apart(&declared.format)) {
            table.complete(&mut entries).map_err(|fault| table.within(fault))?;
        }
        let coordinates = &entries.coordinates;
        let made = parallel::map(tensors.iter(), &|(declared, held)| {
            let tensor = self.tensor(table, (declared, held), coordinates, &extents, (labels, &known));
            let tensor = tensor.map_err(|fault| table.within(fault))?;
            debug_assert_eq!(tensor.check(), Ok(()));
            Ok((declared.name.to_string(), tensor))
        });
        made.into_iter().collect()
    }

    /// The tensors of a table, by its place, that the program has and reads, with what they hold.
    pub(super) fn tensors(&self, number: usize) -> Vec<(Declared<'b>, Held<'b>)> {
        let read = self.program.inputs();
        let is_read = |name: &str| read.iter().any(|id| self.program.tensors[id.index()].name == name);
        let relation = &self.relations.tables[number];
        let rows = [(relation.name.as_str(), Held::Rows)];
        let columns = relation.columns.iter().enumerate().filter(|(_, column)| column.holds != Holds::Text);
        let columns = columns.map(|(c, column)| (column.name.as_str(), Held::Column(c)));
        let asked = self.relations.asked.iter().filter_map(|asked| match &asked.what {
            What::Column { table: t, column, test } if *t == number => {
                Some((asked.tensor.as_str(), Held::Test(*column, test)))
            }
            _ => None,
        });
        let all = rows.into_iter().chain(columns.chain(asked).filter(|(name, _)| is_read(name)));
        all.filter_map(|(name, held)| Some((self.declared(name)?, held))).collect()
    }

    /// A tensor of a table. In formats that are `known` it is stored as rows stand there.
    fn tensor(
        &self,
        table: &Rows,
        (declared, held): (&Declared, &Held),
        coordinates: &[Vec<i64>],
        extents: &[u64],
        (labels, known): (&[Dictionary], &[Levels]),
    ) -> Result<Tensor<'static>, Fault> {
        let limit = self.given.limit;
        let levels = known.iter().find(|levels| *levels.format() == declared.format);
        if let (Held::Rows, Some(levels)) = (held, levels) {
            return levels.standing(declared.fill, limit);
        }
        let values = table.values(held, declared)?;
        if values.0.ty() != declared.ty {
            return Err(Fault::whole(format!(
                "the program declares `{}` of type {}, and its column is of {}",
                declared.name,
                declared.ty,
                values.0.ty()
            )));
        }
        match levels {
            Some(levels) => levels.holding(values, declared.fill, limit),
            None => self.apart(table, values, (declared, limit), coordinates, (extents, labels)),
        }
    }

    /// A tensor whose levels are its own.
    fn apart(
        &self,
        table: &Rows,
        (values, nulls, null): (Array, &[bool], Value),
        (declared, limit): (&Declared, u64),
        coordinates: &[Vec<i64>],
        (extents, labels): (&[u64], &[Dictionary]),
    ) -> Result<Tensor<'static>, Fault> {
        let memory = || Fault::from(Unassembled::Memory { bytes: 8 * values.len() as u128 });
        let mut own = values.share().ok_or_else(memory)?;
        nulls.iter().enumerate().filter(|(_, is_null)| **is_null).for_each(|(row, _)| own.set(row, null));
        let coordinates_of_rows = coordinates.iter().map(|column| room::copied(column)).collect::<Result<_, _>>()?;
        let entries = Entries { coordinates: coordinates_of_rows, values: own };
        let how = Assembly { limit, ..Assembly::default() };
        let tensor = entries.assemble(extents, &declared.format, declared.fill, &how);
        tensor.map_err(|error| table.unassembled(error, coordinates, labels))
    }
}

/// Whether what a format stores at a position depends on the values, so that no two tensors share their levels.
fn is_apart(format: &Format) -> bool {
    format.levels.iter().any(|kind| kind.shares())
}
