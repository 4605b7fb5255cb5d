//! Tables that memory does not hold: one of them is read in batches of its rows, beside the others.

use super::args::Run;
use super::files::{self, Files};
use super::progress::during;
use super::run::{Data, Measured, Ran};
use super::tables::{self, Tables};
use crate::relation::{Frame, Over, RowGroups};
use crate::shards::{Beside, Made, Passes};
use crate::{Error, Options, Program, Tensor, relation};
use std::time::{Duration, Instant};

/// How many times what a batch takes the reference semantics takes of it.
const REFERENCE: u64 = 32;

/// What a batch takes at most, if it is not one row group: memory that a batch gives back and the next takes again stays with the process where
/// pieces are small, and is the system's where they are large, which clears it each time.
const BATCH: u64 = 32 << 20;

/// A table that is read in batches, beside others.
pub struct Batched {
    passes: Passes,
    groups: RowGroups,
    others: Vec<Files>,
    limit: u64,
    /// Whether all of it may fit after all: nobody asked for the limit, and what tables take is estimated.
    pub may_fit: bool,
}

/// A table and the row groups of its files.
struct Sized {
    files: Files,
    /// None of files that are read whole.
    groups: Option<RowGroups>,
}

impl Sized {
    /// About how many bytes it takes, as far as its files say it.
    fn bytes(&self) -> u64 {
        self.groups.as_ref().map_or(0, RowGroups::bytes)
    }
}

/// Which table is read in batches so that all take no more than a number of bytes; none, if none need be.
///
/// # Errors
/// [`Error::Stopped`]: none can be, with what they take and what to change. Nothing but what files say of themselves is read.
pub fn needed(program: &Program, data: &Data, options: &Options, most: u64) -> Result<Option<Batched>, Error> {
    let (of_tables, _) = tables::parted(program, data.inputs);
    if of_tables.iter().any(|(_, path)| relation::is_pack(path) || path.as_os_str() == "-") {
        return Ok(None);
    }
    let all_files = files::of(&of_tables)?;
    // What surely fits is not gone through.
    let at_most = |files: &Files| RowGroups::at_most(&files.paths);
    if all_files.iter().map(at_most).try_fold(0u64, |all, bytes| all.checked_add(bytes?)).is_some_and(|all| all <= most)
    {
        return Ok(None);
    }
    let mut all = Vec::new();
    for files in all_files {
        let table = program.table(&files.table).expect("it is one");
        let reading = tables::reading(&files.table, data.settings)?;
        // Nobody asked how much packed rows take.
        let is_known = data.asked || !files.paths.iter().any(|path| files::is_packed_text(path));
        let groups = match is_known {
            true => RowGroups::of(&files.paths, (program.relations(), table), &reading, most)?,
            false => None,
        };
        all.push(Sized { files, groups });
    }
    let total = all.iter().fold(0, |sum: u64, table| sum.saturating_add(table.bytes()));
    if total <= most {
        return Ok(None);
    }
    let may_fit = !data.asked && total / 2 <= most;
    match batched(program, (all, data), options, (most, total)) {
        Ok(batched) => Ok(Some(Batched { may_fit, ..batched })),
        Err(_) if may_fit => Ok(None),
        Err(error) => Err(error),
    }
}

/// The largest of some tables that can be read in batches, beside the others; else why the largest cannot.
fn batched(
    program: &Program,
    (mut all, data): (Vec<Sized>, &Data),
    options: &Options,
    (most, total): (u64, u64),
) -> Result<Batched, Error> {
    let options = Options { memory: most, ..*options };
    all.sort_by_key(|table| std::cmp::Reverse(table.bytes()));
    let mut first = None;
    for n in 0..all.len() {
        let (Sized { files, groups: Some(groups) }, limits) = (&all[n], (most, total)) else { continue };
        match planned(program, (&files.table, groups), &options, limits) {
            Ok(passes) => {
                let table = all.remove(n);
                let mut groups = table.groups.expect("it was looked at");
                // Half of what is left is for results, labels and what reading takes.
                let left = (most - (total - groups.bytes())) / 2;
                // Each batch of pairs is read as often as there are batches.
                let left = if passes.are_pairs() { left / 2 } else { left.min(BATCH) };
                groups.cut(if data.check { left / REFERENCE } else { left }, most);
                let others = all.into_iter().map(|table| table.files).collect();
                return Ok(Batched { passes, groups, others, limit: most, may_fit: false });
            }
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    Err(first.unwrap_or_else(|| Error::Defect("tables take bytes, and none has row groups".to_string())))
}

/// The passes over a table in batches, if all others fit beside it.
fn planned(
    program: &Program,
    (name, groups): (&str, &RowGroups),
    options: &Options,
    (most, total): (u64, u64),
) -> Result<Passes, Error> {
    let too_large = |why: String| Error::Stopped(format!("{}; {why}", taken(name, groups, most)));
    let table = program.table(name).expect("it is one");
    let passes = Passes::plan(program, table, options).map_err(|error| match error {
        Error::Program { diagnostics, .. } => {
            let drawn = program.drawn(&diagnostics, false);
            too_large(format!("it is not read in batches of row groups:\n{}", drawn.trim_end()))
        }
        error => error,
    })?;
    if groups.drops_rows() && table.modes.iter().any(|mode| mode.over != Over::Row) {
        return Err(too_large(
            "null-keys=drop leaves no rows out of batches: write its files without them".to_string(),
        ));
    }
    let rest = total - groups.bytes();
    let batch = if passes.are_pairs() { groups.largest().saturating_mul(2) } else { groups.largest() };
    if rest.saturating_add(batch) > most {
        return Err(too_large(match rest.saturating_mul(2) > most {
            true => format!("the other tables take about {} beside: allow more memory", shown(rest)),
            false => format!(
                "its largest row group takes about {}: write the file in smaller row groups, or allow more memory",
                shown(groups.largest())
            ),
        }));
    }
    Ok(passes)
}

/// What a table takes, for messages.
fn taken(name: &str, groups: &RowGroups, most: u64) -> String {
    let columns = groups.columns().collect::<Vec<_>>().join(", ");
    let (all, count) = (shown(groups.bytes()), fiberloom_core::counted(groups.count(), "row group", "row groups"));
    format!("table `{name}` takes about {all} in {count}, for the columns {columns}, and {} are allowed", shown(most))
}

/// A number of bytes, for messages.
fn shown(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

impl Batched {
    /// Runs the program. Operands that are no tables are read.
    pub fn run(&self, args: &Run, program: &Program, operands: &[(String, Tensor<'static>)]) -> Result<Ran, Error> {
        let options = relation_options(self.limit);
        let begin = Instant::now();
        let run = || {
            let mut frames: Vec<(&str, Frame)> = Vec::new();
            for files in &self.others {
                let (frame, _) = tables::frame(program, files, &args.settings, &options)?;
                frames.push((&files.table, frame));
            }
            self.made(Beside { frames, operands }, args.check)
        };
        let mut made = during("reading tables in batches", run)?;
        let read = begin.elapsed().saturating_sub(made.outcome.time);
        let mut runs = vec![made.outcome.time];
        while runs.len() < args.repeat {
            made = during("reading tables in batches again", run)?;
            runs.push(made.outcome.time);
        }
        let Made { program, outcome, labels, compared } = made;
        let tables = Tables { labels, arranged: Vec::new(), read, encode: Duration::ZERO };
        let measured = Measured {
            compile: Duration::ZERO,
            runs,
            tables: Some((tables.read, tables.encode)),
            loops: vec![],
            for_gpu: None,
            serial: vec![],
        };
        let compared = compared.map(Ok);
        Ok(Ran { program, outcome, tables: Some(tables), measured, compared, in_batches: true })
    }

    /// What the passes make; `compares` each box with the reference semantics.
    fn made(&self, beside: Beside, compares: bool) -> Result<Made, Error> {
        match compares {
            true => self.passes.clone().compared().run(beside, &self.groups).map_err(|error| match error {
                Error::Stopped(what) => Error::Stopped(format!(
                    "{what}: allow more memory, or leave --check out, which takes more than a batch does"
                )),
                error => error,
            }),
            false => self.passes.run(beside, &self.groups),
        }
    }
}

fn relation_options(limit: u64) -> crate::data::Options<'static> {
    crate::data::Options { limit, ..crate::data::Options::default() }
}
