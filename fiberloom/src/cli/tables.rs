//! Tables on the command line: their files become operands, and results get their labels back.

use super::files::{self, Files};
use crate::data::Place;
use crate::relation::{self, Bound, By, Dictionary, Frame, Reading};
use crate::show::SHOWN;
use crate::{Error, Outcome, Program, Tensor, data};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The labels of a program's domains, and how long its tables took.
pub struct Tables {
    pub labels: Vec<Dictionary>,
    /// Results whose rows are ordered or cut off.
    pub arranged: Vec<Arranged>,
    /// Time to read the files, or their pack.
    pub read: Duration,
    /// Time to encode what was read.
    pub encode: Duration,
}

/// What tables became, and how long it took to read and to encode them.
pub struct Encoded {
    pub bound: Bound,
    pub read: Duration,
    pub encode: Duration,
}

/// The rows of a result, ordered by columns, and how many of them there are at most.
pub struct Arranged {
    name: String,
    by: Vec<By>,
    most: usize,
}

/// `--in NAME=FILE`
pub type Input = (String, PathBuf);

/// The inputs that are tables, and those that are tensors.
pub fn parted<'a>(program: &Program, inputs: &'a [Input]) -> (Vec<&'a Input>, Vec<&'a Input>) {
    inputs.iter().partition(|(name, _)| program.table(name).is_some())
}

/// Reads tables, and appends what they give to the operands that are given: the program fitted to them, and their labels. Nothing of a
/// program that has none.
pub fn append(
    program: &Program,
    (files, settings): (&[&Input], &[(String, String)]),
    operands: &mut Vec<(String, Tensor<'static>)>,
    limit: u64,
) -> Result<(Program, Option<Tables>), Error> {
    let relations = program.relations();
    if relations.domains.is_empty() && relations.tables.is_empty() {
        return Ok((program.clone(), None));
    }
    let Encoded { bound, read, mut encode } = match of_pack(files)? {
        Some(path) => {
            let begin = Instant::now();
            let bound = relation::read_pack(path, (relations, program.typed()), limit)?;
            Encoded { bound, read: begin.elapsed(), encode: Duration::ZERO }
        }
        None => encoded(program, (files, settings), operands, limit)?.0,
    };
    let begin = Instant::now();
    let (program, Bound { operands: own, labels }) = relation::narrow(program, bound)?;
    encode += begin.elapsed();
    operands.extend(own);
    Ok((program, Some(Tables { labels, arranged: Vec::new(), read, encode })))
}

/// The pack that the tables are in, if they are in one.
fn of_pack<'f>(files: &[&'f Input]) -> Result<Option<&'f Path>, Error> {
    let Some((name, pack)) = files.iter().find(|(_, path)| relation::is_pack(path)) else { return Ok(None) };
    match files.iter().find(|(_, path)| path != pack) {
        None => Ok(Some(pack)),
        Some((other, path)) => Err(Error::Call(format!(
            "--in {name}: a pack has all tables of a program: `--in {other}={}`, not {}",
            pack.display(),
            path.display()
        ))),
    }
}

/// Reads tables, and encodes them beside the operands that are given. The files that they stand in.
pub fn encoded(
    program: &Program,
    (inputs, settings): (&[&Input], &[(String, String)]),
    operands: &[(String, Tensor<'static>)],
    limit: u64,
) -> Result<(Encoded, Vec<Files>), Error> {
    let options = data::Options { limit, ..data::Options::default() };
    let begin = Instant::now();
    let files = files::of(inputs)?;
    if let Some((name, _)) = settings.iter().find(|(name, _)| !files.iter().any(|files| files.table == *name)) {
        return Err(Error::Call(format!("--table {name}: no data are given for a table `{name}`: --in {name}=FILE")));
    }
    let mut frames: Vec<(&str, Frame)> = Vec::new();
    let mut parts = Vec::new();
    for files in &files {
        let (frame, rows) = frame(program, files, settings, &options)?;
        parts.push((frame.origin.clone(), rows));
        frames.push((&files.table, frame));
    }
    let (read, begin) = (begin.elapsed(), Instant::now());
    let others: Vec<(&str, &[u64])> = operands.iter().map(|(name, t)| (name.as_str(), &t.extents[..])).collect();
    let bound = program.bind_tables(&frames, &others, limit).map_err(|error| placed(error, &parts))?;
    drop(frames);
    Ok((Encoded { bound, read, encode: begin.elapsed() }, files))
}

/// The rows of a table, and how many of them stand in each of its files.
pub fn frame(
    program: &Program,
    files: &Files,
    settings: &[(String, String)],
    options: &data::Options,
) -> Result<(Frame<'static>, Vec<(String, usize)>), Error> {
    let table = program.table(&files.table).expect("it is one");
    let reading = reading(&files.table, settings)?;
    let mut frames = Vec::new();
    for path in &files.paths {
        frames.push(relation::read_as(path, (program.relations(), table), &reading, options)?);
    }
    let rows = frames.iter().map(|frame| (frame.origin.clone(), frame.rows)).collect();
    let origin = format!("the {} files of `{}`", frames.len(), files.table);
    Ok((relation::stacked(origin, frames)?, rows))
}

/// How the files of a table are read.
///
/// # Errors
/// A setting that is none.
pub fn reading(table: &str, settings: &[(String, String)]) -> Result<Reading, Error> {
    let mut reading = Reading::default();
    for (_, setting) in settings.iter().filter(|(name, _)| name == table) {
        reading.set(setting).map_err(Error::Call)?;
    }
    Ok(reading)
}

/// The error, at its place in one of several files, and in its row group.
fn placed(error: Error, parts: &[(String, Vec<(String, usize)>)]) -> Error {
    let Error::Data(mut error) = error else { return error };
    let of = parts.iter().find(|(origin, rows)| *origin == error.file && rows.len() > 1);
    let Place::Cell { row, .. } = &mut error.place else { return Error::Data(error) };
    if let Some((_, rows)) = of
        && let Some((file, at)) = located(rows, *row)
    {
        (error.file, *row) = (file.to_string(), at);
        if let Some((place, row)) = relation::other_row(&error.message)
            && let Some((file, at)) = located(rows, row)
        {
            error.message.replace_range(place, &format!("{at} of {file}"));
        }
    }
    error.message += &relation::in_row_group(Path::new(&error.file), *row);
    Error::Data(error)
}

/// The file that a row of several stands in, and which row of it that is, from 1.
fn located(rows: &[(String, usize)], row: usize) -> Option<(&str, usize)> {
    let mut before = 0;
    for (file, count) in rows {
        if row <= before + count {
            return Some((file, row - before));
        }
        before += count;
    }
    None
}

/// How the rows of results are asked for.
///
/// # Errors
/// A result that has no labels, or is none; a column that it has not.
pub fn arranged(
    program: &Program,
    orders: &[(String, String)],
    limits: &[(String, usize)],
) -> Result<Vec<Arranged>, Error> {
    let mut all: Vec<Arranged> = Vec::new();
    for (name, columns) in orders {
        let there = columns_of(program, name).ok_or_else(|| unlabelled("--order", name))?;
        let by = By::all(columns);
        if let Some(missing) = by.iter().find(|by| !there.contains(&by.column)) {
            let there = there.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ");
            let what = format!("--order {name}: `{name}` has no column `{}`: {there}", missing.column);
            return Err(Error::Call(what));
        }
        all.push(Arranged { name: name.clone(), by, most: usize::MAX });
    }
    for (name, most) in limits {
        columns_of(program, name).ok_or_else(|| unlabelled("--limit", name))?;
        match all.iter_mut().find(|arranged| arranged.name == *name) {
            Some(arranged) => arranged.most = *most,
            None => all.push(Arranged { name: name.clone(), by: Vec::new(), most: *most }),
        }
    }
    Ok(all)
}

fn unlabelled(option: &str, name: &str) -> Error {
    Error::Call(format!("{option} {name}: the program has no result `{name}` with labels, whose rows have an order"))
}

/// The names of the columns that a result with labels has.
fn columns_of(program: &Program, name: &str) -> Option<Vec<String>> {
    if let Some(table) = program.made_table(name) {
        let modes = table.modes.iter().map(|mode| mode.source.clone());
        return Some(modes.chain(table.columns.iter().map(|column| column.source.clone())).collect());
    }
    let shown = program.relations().results.get(name)?;
    Some(shown.modes.iter().map(|(mode, _)| mode.clone()).chain([name.to_string()]).collect())
}

impl Tables {
    /// A result with its labels, if it has some: a tensor whose modes or values are labelled, or a table.
    pub fn frame(&self, program: &Program, name: &str, outcome: &Outcome) -> Result<Option<Frame<'static>>, Error> {
        let frame = program.decoded(name, outcome, &self.labels)?;
        let arranged = self.arranged.iter().find(|arranged| arranged.name == name);
        Ok(match (frame, arranged) {
            (Some(frame), Some(Arranged { by, most, .. })) => Some(relation::ordered(frame, by, *most)?),
            (frame, _) => frame,
        })
    }

    /// A result as it is printed: its rows, shortened.
    pub fn printed(&self, program: &Program, name: &str, outcome: &Outcome) -> Result<Option<String>, Error> {
        Ok(self.frame(program, name, outcome)?.map(|frame| format!("{name}: {}", frame.head(SHOWN))))
    }
}

/// Whether a file's name is a table's.
pub fn is_table(path: &Path) -> bool {
    relation::Kind::of(path).is_some()
}
