//! Frames become operands of the plain program.
//!
//! ```text
//!  frame ──conform──▶ columns as declared ──labels──▶ Dictionary, ranks ──number──▶ coordinates, a column a mode
//!                                                                                        │ sorted once
//!  one tensor a column: the same levels, its own values ◀──rows by position── one tensor of row numbers
//! ```
//!
//! Time is linear in rows and labels, but for sorts: of texts, of integers that are far apart, and of rows that do not stand in the
//! order of their coordinates.
mod asked;
mod levels;
mod numbered;
mod rows;

use super::cell::{Collector, declared};
use super::dictionary::{coded, integers, placed};
use super::{
    Cell, Column, Dictionary, Domain, Frame, Holds, Label, Over, Relations, Table, Wanted, What, labelled, missing,
    of_mode,
};
use crate::relate::{Column as TableColumn, Image};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Format, Tensor};
use fiberloom_core::notation::typed::{Program, Role, SizeId};
use fiberloom_core::parallel;
use fiberloom_data::error::Error;
use fiberloom_data::{Fault, Place};
use rows::Rows;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// What a program is given as labels say.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The operands, by name: those of tables that the program reads, and those that it asks for.
    pub operands: Vec<(String, Tensor<'static>)>,
    /// The labels of each domain, in the order of the program.
    pub labels: Vec<Dictionary>,
}

/// Data for the tables of a program.
#[derive(Clone, Copy, Debug)]
pub struct Given<'g, 'a> {
    /// A frame for each table that is no result, by its name.
    pub frames: &'g [(&'g str, Frame<'a>)],
    /// Extents that other operands say, of sizes by name: coordinates and numbers of rows have to be less. A size that nobody says
    /// is as large as the data need.
    pub sizes: &'g [(&'g str, u64)],
    /// The most bytes that one tensor may take.
    pub limit: u64,
}

/// The operands that tables' data are, and the labels that coordinates stand for.
///
/// # Errors
/// [`Error::Call`]: a table without a frame. [`Error::Data`]: a frame that has not the columns; a value that is not exactly one of the
/// type declared; a null where none may stand; a key twice; a coordinate out of bounds; memory over the limit.
pub fn bind(relations: &Relations, program: &Program, given: &Given) -> Result<Bound, Error> {
    let binding = Binding { relations, program, given, part: None };
    let mut tables = binding.tables()?;
    let labels = binding.labels(&mut tables)?;
    let mut operands = binding.all(&mut tables, &labels)?;
    binding.asked(&labels, &mut operands)?;
    Ok(Bound { operands, labels })
}

/// The operands that those tables are which have a frame, where the labels of all tables are known. Of a table that comes in parts of its
/// first mode, coordinates are counted from where the `part` begins.
///
/// # Errors
/// As of [`bind`]; a label that is not among those that are known.
pub fn bind_within(
    relations: &Relations,
    program: &Program,
    given: &Given,
    (labels, part): (&[Dictionary], Option<Range<u64>>),
) -> Result<Vec<(String, Tensor<'static>)>, Error> {
    let binding = Binding { relations, program, given, part };
    let has_frame = |table: &Table| given.frames.iter().any(|(name, _)| *name == table.name);
    let tables = relations.tables.iter().enumerate().filter(|(_, table)| !table.made && has_frame(table));
    let mut tables: Vec<Rows> = tables.map(|(number, table)| binding.table(number, table)).collect::<Result<_, _>>()?;
    tables.iter_mut().try_for_each(|table| code(table, labels))?;
    binding.all(&mut tables, labels)
}

/// What is bound to domains becomes coordinates, where the labels of all tables are known.
fn code(table: &mut Rows, labels: &[Dictionary]) -> Result<(), Error> {
    for (domain, labels) in labels.iter().enumerate() {
        for part in table.bound_to(domain) {
            let coordinates = placed(table.column(part), labels).map_err(|fault| table.within(fault))?;
            table.code(part, coordinates);
        }
    }
    Ok(())
}

/// The coordinates of the rows of a frame in the first mode of a table, which is over a domain.
///
/// # Errors
/// A null; a label that is not among those that are known.
pub fn keys(relations: &Relations, table: &Table, frame: &Frame, labels: &[Dictionary]) -> Result<Vec<i64>, Error> {
    let mode = &table.modes[0];
    let Over::Domain(domain) = mode.over else { return Ok(Vec::new()) };
    let column = conform(frame, &mode.source, relations.domains[domain].labels.holds(), Some(OF_KEY));
    let coordinates = column.and_then(|column| placed(&column, &labels[domain]));
    coordinates.map_err(|fault| Error::Data(fault.within(Path::new(&frame.origin))))
}

/// How many coordinates the rows of a frame need in each mode of a table that has no columns.
///
/// # Errors
/// As of [`bind`].
pub fn needs(
    relations: &Relations,
    program: &Program,
    (table, frame): (&Table, Frame),
    labels: &[Dictionary],
) -> Result<Vec<u64>, Error> {
    let given = Given { frames: &[(&table.name, frame)], sizes: &[], limit: u64::MAX };
    let mut rows = Binding { relations, program, given: &given, part: None }.table(0, table)?;
    code(&mut rows, labels)?;
    rows.number().map_err(|fault| rows.within(fault))?;
    Ok((0..table.modes.len()).map(|mode| rows.needs(mode)).collect())
}

/// The columns of a table whose values are labels, as they are read.
pub fn labelling(relations: &Relations, table: &Table) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for domain in 0..relations.domains.len() {
        for (source, _) in bound(table, domain) {
            let one = Wanted { source: source.to_string(), holds: relations.domains[domain].labels.holds() };
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

/// What the data call the modes and columns of a table that are bound to a domain; and whether a null may stand there.
fn bound(table: &Table, domain: usize) -> impl Iterator<Item = (&str, bool)> {
    let modes = table.modes.iter().filter(move |mode| mode.over == Over::Domain(domain));
    let columns = table.columns.iter().filter(move |column| column.holds == Holds::Domain(domain));
    modes.map(|mode| (mode.source.as_str(), false)).chain(columns.map(|column| (column.source.as_str(), true)))
}

/// The labels of each domain: those so far, none at first, and those of these tables.
///
/// # Errors
/// A value that is no label of its domain; a null in a key; memory.
pub fn more_labels(relations: &Relations, frames: &[(&str, Frame)], known: &mut Vec<Dictionary>) -> Result<(), Error> {
    for (d, domain) in relations.domains.iter().enumerate() {
        let mut columns = Vec::new();
        for (name, frame) in frames {
            let within = |fault: Fault| Error::Data(fault.within(Path::new(&frame.origin)));
            for (source, may_be_null) in relations.tables.iter().filter(|t| t.name == *name).flat_map(|t| bound(t, d)) {
                let refused = (!may_be_null).then_some(OF_KEY);
                let column = conform(frame, source, domain.labels.holds(), refused).map_err(within)?;
                columns.push((column, frame.origin.as_str()));
            }
        }
        let origin = |n: usize| Path::new(columns.get(n).map_or("", |(_, origin)| *origin));
        let within = |n: usize, fault: Fault| Error::Data(fault.within(origin(n)));
        let all: Vec<&Column> = columns.iter().map(|(column, _)| column).collect();
        let (more, _) = coded(&all, domain.labels.holds() == Holds::Text, &within)?;
        match known.get_mut(d) {
            None => known.push(more),
            Some(before) => {
                let so_far = std::mem::replace(before, Dictionary::Range { first: 0, len: 0 });
                *before = so_far.merged(more).map_err(|error| within(0, error.into()))?;
            }
        }
    }
    Ok(())
}

impl<'b> Binding<'b, '_> {
    /// The operands that tables are whose labels have become coordinates.
    fn all(&self, tables: &mut [Rows<'b>], labels: &[Dictionary]) -> Result<Vec<(String, Tensor<'static>)>, Error> {
        for table in tables.iter_mut() {
            table.number().map_err(|fault| table.within(fault))?;
            if let Some(part) = &self.part {
                table.count_from(part.start as i64);
            }
        }
        let extents = self.extents(tables, labels)?;
        let mut made: Vec<_> = tables.iter_mut().map(|table| (table, Ok(Vec::new()))).collect();
        parallel::each(&mut made, &|(table, operands)| *operands = self.operands(table, &extents, labels));
        let operands = made.into_iter().map(|(_, operands)| operands).collect::<Result<Vec<_>, _>>()?;
        Ok(operands.into_iter().flatten().collect())
    }
}
/// The operands that labels alone say.
///
/// # Errors
/// As of [`bind`].
pub fn asked(
    relations: &Relations,
    program: &Program,
    labels: &[Dictionary],
    limit: u64,
) -> Result<Vec<(String, Tensor<'static>)>, Error> {
    let mut operands = Vec::new();
    let given = &Given { frames: &[], sizes: &[], limit };
    Binding { relations, program, given, part: None }.asked(labels, &mut operands)?;
    Ok(operands)
}

/// The tensors of a table, by its place, that a program reads.
#[cfg(feature = "archives")]
pub(super) fn tensors<'b>(relations: &'b Relations, program: &'b Program, table: usize) -> Vec<Declared<'b>> {
    let given = &Given { frames: &[], sizes: &[], limit: 0 };
    let tensors = Binding { relations, program, given, part: None }.tensors(table);
    tensors.into_iter().map(|(declared, _)| declared).collect()
}

/// What everything here is about.
struct Binding<'b, 'a> {
    relations: &'b Relations,
    program: &'b Program,
    given: &'b Given<'b, 'a>,
    /// The coordinates of a table's first mode that its rows are of, where it comes in parts.
    part: Option<Range<u64>>,
}

/// A tensor of the plain program, as it is to be stored.
pub(super) struct Declared<'p> {
    pub(super) name: &'p str,
    pub(super) ty: Type,
    pub(super) sizes: &'p [SizeId],
    pub(super) fill: Value,
    pub(super) format: Format,
}

impl<'b> Binding<'b, '_> {
    /// The tables that are given, each with its columns as declared.
    fn tables(&self) -> Result<Vec<Rows<'b>>, Error> {
        let tables = self.relations.tables.iter().enumerate().filter(|(_, table)| !table.made);
        tables.map(|(number, table)| self.table(number, table)).collect()
    }

    fn table(&self, number: usize, table: &'b Table) -> Result<Rows<'b>, Error> {
        let Some((_, frame)) = self.given.frames.iter().find(|(name, _)| *name == table.name) else {
            let what = format!("no data are given for table `{}`: `--in {}=FILE`", table.name, table.name);
            return Err(Error::Call(what));
        };
        let within = |fault: Fault| Error::Data(fault.within(Path::new(&frame.origin)));
        frame.columns.iter().try_for_each(|column| column.check(frame.rows)).map_err(Fault::whole).map_err(within)?;
        // Rows without a column are a claim.
        if frame.columns.is_empty() && frame.rows as u64 > self.given.limit / 8 {
            return Err(within(Fault::over(self.given.limit)));
        }
        missing(&super::wanted(self.relations, table), frame.columns.iter().map(|column| column.name.as_str()))
            .map_err(within)?;
        let mode = |mode| match of_mode(self.relations, mode) {
            Some(holds) => conform(frame, &mode.source, holds, Some(OF_KEY)).map(Some),
            None => Ok(None),
        };
        let modes = table.modes.iter().map(mode).collect::<Result<_, _>>().map_err(within)?;
        let column = |column: &TableColumn| {
            let may_be_null = column.null.is_some() || matches!(column.holds, Holds::Domain(_) | Holds::Text);
            let refused = (!may_be_null).then_some(OF_VALUE);
            conform(frame, &column.source, labelled(self.relations, column.holds), refused)
        };
        let columns = table.columns.iter().map(column).collect::<Result<_, _>>().map_err(within)?;
        Ok(Rows::new(number, table, frame, modes, columns))
    }

    /// The labels of each domain. Columns and modes bound to it become coordinates.
    fn labels(&self, tables: &mut [Rows<'b>]) -> Result<Vec<Dictionary>, Error> {
        let mut all: Vec<Dictionary> = vec![Dictionary::Range { first: 0, len: 0 }; self.relations.domains.len()];
        for d in in_order(self.relations) {
            let images = images(self.relations, d, &all)?;
            all[d] = labels((d, &self.relations.domains[d]), &images, tables)?;
        }
        Ok(all)
    }

    /// The extent of each size that a table's modes have.
    fn extents(&self, tables: &[Rows], labels: &[Dictionary]) -> Result<BTreeMap<SizeId, u64>, Error> {
        let mut extents = BTreeMap::new();
        for table in tables {
            for (mode, size) in self.sizes(table) {
                let needed = match table.table.modes[mode].over {
                    Over::Domain(domain) => labels[domain].len() as u64,
                    _ => table.needs(mode),
                };
                let extent: &mut u64 = extents.entry(size).or_default();
                *extent = (*extent).max(needed);
            }
        }
        let cut = self.part.as_ref().and_then(|part| Some((self.sizes(tables.first()?).first()?.1, part)));
        for (id, extent) in &mut extents {
            if let Some((_, part)) = cut.filter(|(cut, _)| cut == id) {
                *extent = part.end - part.start;
                continue;
            }
            let size = &self.program.sizes[id.index()];
            let said = self.given.sizes.iter().find(|(name, _)| size.name.as_deref() == Some(*name));
            *extent = size.value.or(said.map(|(_, extent)| *extent)).unwrap_or(*extent);
        }
        for table in tables {
            for (mode, size) in self.sizes(table) {
                self.bounded(table, mode, (size, extents[&size]))?;
            }
        }
        Ok(extents)
    }

    /// The modes of a table with their sizes; none, if the program has no tensor of it.
    fn sizes(&self, table: &Rows) -> Vec<(usize, SizeId)> {
        let names = [&table.table.name].into_iter().chain(table.table.columns.iter().map(|column| &column.name));
        let tensor = names.filter_map(|name| self.declared(name)).find(|t| t.sizes.len() == table.table.modes.len());
        tensor.map_or(vec![], |tensor| tensor.sizes.iter().copied().enumerate().collect())
    }

    /// That coordinates of a mode are less than its extent.
    fn bounded(&self, table: &Rows, mode: usize, (size, extent): (SizeId, u64)) -> Result<(), Error> {
        let beyond = table.beyond(mode, extent).map_err(|fault| table.within(fault))?;
        let Some((row, c)) = beyond else { return Ok(()) };
        let size = self.program.sizes[size.index()].name.as_deref().unwrap_or("its mode");
        let what = match table.table.modes[mode].over {
            Over::Row => format!("row {c} of its key, counted from 0, and the extent of `{size}` is {extent}"),
            _ => format!("coordinate {c} is not in 0..{extent}, the extent of `{size}`"),
        };
        let column = table.table.modes[mode].source.clone();
        Err(table.within(Fault::new(Place::Cell { row: row + 1, column }, what)))
    }

    /// How a tensor is declared, if a caller may bring it.
    fn declared(&self, name: &str) -> Option<Declared<'b>> {
        let brought = |role| matches!(role, Role::Input | Role::Result);
        let tensor = self.program.tensors.iter().find(|t| t.name == name && brought(t.role))?;
        let format = tensor.format.as_ref()?.stored();
        let fill = tensor.fill.unwrap_or(Value::zero(tensor.ty));
        Some(Declared { name: &tensor.name, ty: tensor.ty, sizes: &tensor.sizes, fill, format })
    }
}

/// What to do about a null in a key, and in a column of values.
const OF_KEY: &str = "a key has none; `--table NAME=null-keys=drop` leaves such rows out";
const OF_VALUE: &str = "where a null stands, the column says what stands for it, `fill VALUE`, or is of a domain";

/// The column of a frame as values that a declaration says. A null is refused where there is help against it.
fn conform<'f>(frame: &'f Frame, source: &str, holds: Holds, refused: Option<&str>) -> Result<Column<'f>, Fault> {
    let column = frame.column(source).ok_or_else(|| Fault::whole(format!("no column `{source}`")))?;
    let cell = |row: usize| Place::Cell { row: row + 1, column: source.to_string() };
    if let (Some(help), Some(row)) = (refused, column.nulls.iter().position(|null| *null)) {
        return Err(Fault::new(cell(row), format!("a null, and {} holds none: {help}", declared(holds))));
    }
    if column.values.are(holds) {
        return Ok(column.borrow());
    }
    let mut collected = Collector::new(holds);
    for row in 0..frame.rows {
        match column.cell(row) {
            Some(value) => collected.push(value),
            None => collected.null(),
        }
        .map_err(|fault| fault.at(|| cell(row)))?;
    }
    collected.column(source)
}

/// The domains, those whose labels become others' before these.
fn in_order(relations: &Relations) -> Vec<usize> {
    let waits = |d: usize, done: &[usize]| {
        relations.asked.iter().any(|asked| match asked.what {
            What::Mapped(from, _, to) => to == d && !done.contains(&from),
            _ => false,
        })
    };
    let mut done = Vec::new();
    while let Some(next) = (0..relations.domains.len()).find(|d| !done.contains(d) && !waits(*d, &done)) {
        done.push(next);
    }
    done
}

/// What a label becomes.
pub(super) fn become_label(labels: &Dictionary, coordinate: i64, image: &Image) -> Option<Label> {
    labels.label(coordinate).and_then(|label| image.of(&label))
}

/// What labels of other domains become, that are labels of this one.
fn images(relations: &Relations, domain: usize, labels: &[Dictionary]) -> Result<Column<'static>, Error> {
    let holds = relations.domains[domain].labels.holds();
    let mut all = Collector::new(holds);
    for asked in &relations.asked {
        let What::Mapped(from, image, to) = &asked.what else { continue };
        if *to != domain {
            continue;
        }
        for label in (0..labels[*from].len() as i64).filter_map(|c| become_label(&labels[*from], c, image)) {
            let cell = match (&label, holds) {
                (Label::Text(text), _) => Cell::Text(text),
                (Label::Number(x), Holds::Timestamp) => Cell::Timestamp(*x),
                (Label::Number(x), _) => Cell::Date(*x),
            };
            all.push(cell).map_err(|fault| Error::Data(fault.within(Path::new(&asked.tensor))))?;
        }
    }
    all.column("").map_err(|fault| Error::Data(fault.within(Path::new(&relations.domains[domain].name))))
}

/// Adds to the labels of each domain, which all data gave, those that labels of others become.
///
/// # Errors
/// Memory.
pub fn add_images(relations: &Relations, labels: &mut [Dictionary]) -> Result<(), Error> {
    for d in in_order(relations) {
        let images = images(relations, d, labels)?;
        if images.values.is_empty() {
            continue;
        }
        let within = |_: usize, fault: Fault| Error::Data(fault.within(Path::new(&relations.domains[d].name)));
        let (more, _) = coded(&[&images], relations.domains[d].labels.holds() == Holds::Text, &within)?;
        let so_far = std::mem::replace(&mut labels[d], Dictionary::Range { first: 0, len: 0 });
        labels[d] = so_far.merged(more).map_err(|error| within(0, error.into()))?;
    }
    Ok(())
}

/// The labels of a domain, those among them that others become: what is bound to it becomes coordinates.
fn labels((domain, of): (usize, &Domain), images: &Column, tables: &mut [Rows]) -> Result<Dictionary, Error> {
    let bound: Vec<(usize, rows::Part)> = tables
        .iter()
        .enumerate()
        .flat_map(|(t, table)| table.bound_to(domain).into_iter().map(move |part| (t, part)))
        .collect();
    let columns = bound
        .iter()
        .map(|(t, part)| tables[*t].column(*part))
        .chain([images].into_iter().filter(|i| !i.values.is_empty()));
    let columns: Vec<&Column> = columns.collect();
    let within = |n: usize, fault: Fault| match bound.get(n) {
        Some((t, _)) => tables[*t].within(fault),
        None => Error::Data(fault.within(Path::new(""))),
    };
    let (dictionary, coordinates) = coded(&columns, of.labels.holds() == Holds::Text, &within)?;
    for ((t, part), coordinates) in bound.into_iter().zip(coordinates) {
        tables[t].code(part, coordinates);
    }
    Ok(dictionary)
}
