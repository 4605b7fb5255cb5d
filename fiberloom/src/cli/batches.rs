//! Tables that memory does not hold: the one that is walked once is read in batches of its rows.

use super::args::Run;
use super::files::{self, Files};
use super::progress::during;
use super::run::{Data, Measured, Ran};
use super::tables::{self, Tables};
use fiberloom::relation::{Frame, RowGroups};
use fiberloom::shards::{Beside, Made, Passes};
use fiberloom::{Error, Options, Program, Tensor, relation};
use std::time::{Duration, Instant};

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
    match batched(program, all, options, (most, total)) {
        Ok(batched) => Ok(Some(Batched { may_fit, ..batched })),
        Err(_) if may_fit => Ok(None),
        Err(error) => Err(error),
    }
}

/// The largest of some tables in batches, beside the others.
fn batched(
    program: &Program,
    mut all: Vec<Sized>,
    options: &Options,
    (most, total): (u64, u64),
) -> Result<Batched, Error> {
    let options = Options { memory: most, ..*options };
    let largest = (0..all.len()).max_by_key(|n| all[*n].bytes()).expect("tables take bytes");
    let mut largest = all.remove(largest);
    let mut groups = largest.groups.take().expect("it takes bytes");
    let rest = total - groups.bytes();
    let name = largest.files.table.clone();
    let too_large = |why: String| Error::Stopped(format!("{}; {why}", taken(&name, &groups, most)));
    let table = program.table(&name).expect("it is one");
    let passes = Passes::plan(program, table, &options).map_err(|error| match error {
        Error::Program { diagnostics, .. } => {
            let drawn = program.drawn(&diagnostics, false);
            too_large(format!("it is not read in batches of row groups:\n{}", drawn.trim_end()))
        }
        error => error,
    })?;
    if rest.saturating_add(groups.largest()) > most {
        return Err(too_large(match rest.saturating_mul(2) > most {
            true => format!("the other tables take about {} beside: allow more memory", shown(rest)),
            false => format!(
                "its largest row group takes about {}: write the file in smaller row groups, or allow more memory",
                shown(groups.largest())
            ),
        }));
    }
    // Half of what is left is for results, labels and what reading takes.
    groups.cut((most - rest) / 2, most);
    let others = all.into_iter().map(|table| table.files).collect();
    Ok(Batched { passes, groups, others, limit: most, may_fit: false })
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
        for (option, asked) in [("--check", args.check), ("--repeat", args.repeat > 1)] {
            if asked {
                let what = format!("{option} takes all data in memory, and a table is read in batches");
                return Err(Error::Call(format!("{what}: leave {option} out, or allow more memory")));
            }
        }
        let options = relation_options(self.limit);
        let begin = Instant::now();
        let mut frames: Vec<(&str, Frame)> = Vec::new();
        for files in &self.others {
            let (frame, _) = tables::frame(program, files, &args.settings, &options)?;
            frames.push((&files.table, frame));
        }
        let read = begin.elapsed();
        let begin = Instant::now();
        let beside = Beside { frames: &frames, operands };
        let Made { program, outcome, labels } =
            during("reading tables in batches", || self.passes.run(&beside, &self.groups))?;
        let others = begin.elapsed().saturating_sub(outcome.time);
        let tables = Tables { labels, arranged: Vec::new(), read: read + others, encode: Duration::ZERO };
        let measured =
            Measured { compile: Duration::ZERO, runs: vec![outcome.time], tables: Some((tables.read, tables.encode)) };
        Ok(Ran { program, outcome, tables: Some(tables), measured, compared: None })
    }
}

fn relation_options(limit: u64) -> fiberloom::data::Options<'static> {
    fiberloom::data::Options { limit, ..fiberloom::data::Options::default() }
}
