//! Tables on the command line: their files become operands, and results get their labels back.

use super::print;
use fiberloom::relation::{self, Bound, Dictionary, Frame};
use fiberloom::{Error, Outcome, Program, Tensor, data};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The labels of a program's domains, and how long its tables took.
pub struct Tables {
    labels: Vec<Dictionary>,
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
    files: &[&Input],
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
        None => encoded(program, files, operands, limit)?,
    };
    let begin = Instant::now();
    let (program, Bound { operands: own, labels }) = relation::narrow(program, bound)?;
    encode += begin.elapsed();
    operands.extend(own);
    Ok((program, Some(Tables { labels, read, encode })))
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

/// Reads tables, and encodes them beside the operands that are given.
pub fn encoded(
    program: &Program,
    files: &[&Input],
    operands: &[(String, Tensor<'static>)],
    limit: u64,
) -> Result<Encoded, Error> {
    let relations = program.relations();
    let options = data::Options { limit, ..data::Options::default() };
    let begin = Instant::now();
    let mut frames: Vec<(&str, Frame)> = Vec::new();
    for (name, path) in files {
        let table = program.table(name).expect("it is one");
        frames.push((name, relation::read(path, relations, table, &options)?));
    }
    let (read, begin) = (begin.elapsed(), Instant::now());
    let others: Vec<(&str, &[u64])> = operands.iter().map(|(name, t)| (name.as_str(), &t.extents[..])).collect();
    let bound = program.bind_tables(&frames, &others, limit)?;
    Ok(Encoded { bound, read, encode: begin.elapsed() })
}

impl Tables {
    /// A result with its labels, if it has some: a tensor whose modes or values are labelled, or a table.
    pub fn frame(&self, program: &Program, name: &str, outcome: &Outcome) -> Result<Option<Frame<'static>>, Error> {
        program.decoded(name, outcome, &self.labels)
    }

    /// A result as it is printed: its rows, shortened.
    pub fn printed(&self, program: &Program, name: &str, outcome: &Outcome) -> Result<Option<String>, Error> {
        Ok(self.frame(program, name, outcome)?.map(|frame| format!("{name}: {}", frame.head(print::SHOWN))))
    }
}

/// Whether a file's name is a table's.
pub fn is_table(path: &Path) -> bool {
    relation::Kind::of(path).is_some()
}
