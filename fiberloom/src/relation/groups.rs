//! The row groups of a table's files, in batches that are read one after the other.
//!
//! ```text
//!  a.parquet   group 0   group 1   group 2        b.parquet   group 0   group 1
//!  batches     ╰─────── 0 ───────╯ ╰─────────── 1 ──────────╯ ╰─── 2 ───╯
//! ```
//!
//! A batch has whole row groups, as many as a number of bytes permits and one at least.

use super::{Frame, Kind, Relations, Table, Wanted, wanted};
use crate::data::{Error, Fault, Options, Place, is_packed};
use crate::shards::Batches;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The row groups of the files of a table.
#[derive(Clone, Debug)]
pub struct RowGroups {
    paths: Vec<PathBuf>,
    /// Of each file its row groups: their rows, and the bytes that their wanted columns take.
    groups: Vec<Vec<(usize, u64)>>,
    batches: Vec<Vec<Part>>,
    wanted: Vec<Wanted>,
    /// The most bytes that a batch may take while it is read.
    limit: u64,
}

/// Row groups of a file that follow one another.
#[derive(Clone, Debug)]
struct Part {
    /// Which file.
    file: usize,
    groups: Range<usize>,
    /// How many rows of the file stand before them, and how many they have.
    before: usize,
    rows: usize,
}

impl RowGroups {
    /// Those of a table, all of them one batch; `None` of files that have no row groups. Only what the files say of themselves is read.
    ///
    /// # Errors
    /// A file that is not there or not readable, is damaged, or has not the columns that the table wants.
    pub fn of(paths: &[PathBuf], relations: &Relations, table: &Table) -> Result<Option<RowGroups>, Error> {
        let wanted = wanted(relations, table);
        if paths.iter().any(|path| Kind::of(path) != Some(Kind::Parquet) || is_packed(path)) {
            return Ok(None);
        }
        let groups = paths.iter().map(|path| groups(path, &wanted)).collect::<Result<Vec<_>, _>>()?;
        let mut all = RowGroups { paths: paths.to_vec(), groups, batches: Vec::new(), wanted, limit: u64::MAX };
        all.cut(u64::MAX, u64::MAX);
        Ok(Some(all))
    }

    /// About how many bytes all of it takes while it is read and bound.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().flatten().fold(0, |all, (_, bytes)| all.saturating_add(*bytes))
    }

    /// The same of its largest row group.
    pub fn largest(&self) -> u64 {
        self.groups.iter().flatten().map(|(_, bytes)| *bytes).max().unwrap_or(0)
    }

    /// How many row groups there are.
    pub fn count(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// The names of the columns that are read.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(|wanted| wanted.source.as_str())
    }

    /// Makes batches of about so many bytes at most, and one row group at least. What one takes is held to `limit`.
    pub fn cut(&mut self, most: u64, limit: u64) {
        let (mut batches, mut batch, mut taken) = (Vec::new(), Vec::<Part>::new(), 0u64);
        for (file, groups) in self.groups.iter().enumerate() {
            let mut before = 0;
            for (n, (rows, bytes)) in groups.iter().enumerate() {
                if !batch.is_empty() && taken.saturating_add(*bytes) > most {
                    batches.push(std::mem::take(&mut batch));
                    taken = 0;
                }
                taken = taken.saturating_add(*bytes);
                match batch.last_mut().filter(|part| part.file == file) {
                    Some(part) => (part.groups.end, part.rows) = (n + 1, part.rows + rows),
                    None => batch.push(Part { file, groups: n..n + 1, before, rows: *rows }),
                }
                before += rows;
            }
        }
        // A table without rows is one batch, too.
        if !batch.is_empty() || batches.is_empty() {
            batches.push(batch);
        }
        (self.batches, self.limit) = (batches, limit);
    }

    fn part(&self, part: &Part, wanted: &[Wanted]) -> Result<Frame<'static>, Error> {
        let path = &self.paths[part.file];
        let options = Options { limit: self.limit, ..Options::default() };
        read(path, wanted, part.groups.clone(), &options)
    }
}

impl Batches for RowGroups {
    fn count(&self) -> usize {
        self.batches.len()
    }

    fn rows(&self) -> u64 {
        self.groups.iter().flatten().fold(0, |all, (rows, _)| all.saturating_add(*rows as u64))
    }

    fn read(&self, batch: usize, wanted: &[Wanted]) -> Result<Frame<'static>, Error> {
        let parts = &self.batches[batch];
        let mut frames = parts.iter().map(|part| self.part(part, wanted)).collect::<Result<Vec<_>, _>>()?;
        if frames.is_empty() {
            frames.push(read(&self.paths[0], wanted, 0..0, &Options::default())?);
        }
        super::stacked(self.paths[parts.first().map_or(0, |part| part.file)].display().to_string(), frames)
    }

    fn placed(&self, batch: usize, mut error: Error) -> Error {
        let Place::Cell { row, .. } = &mut error.place else { return error };
        let mut above = 0;
        for part in &self.batches[batch] {
            if *row <= above + part.rows {
                *row = *row - above + part.before;
                error.file = self.paths[part.file].display().to_string();
                break;
            }
            above += part.rows;
        }
        error
    }
}

#[cfg(feature = "parquet")]
fn groups(path: &Path, wanted: &[Wanted]) -> Result<Vec<(usize, u64)>, Error> {
    let file = std::fs::File::open(path).map_err(|e| Fault::io(e).within(path))?;
    let groups = super::parquet::groups(file, wanted).map_err(|fault| fault.within(path))?;
    Ok(groups.iter().map(|group| (group.rows, group.bytes)).collect())
}

#[cfg(feature = "parquet")]
fn read(path: &Path, wanted: &[Wanted], groups: Range<usize>, options: &Options) -> Result<Frame<'static>, Error> {
    let file = std::fs::File::open(path).map_err(|e| Fault::io(e).within(path))?;
    super::framed(path, super::parquet::read_groups(file, wanted, groups, options))
}

#[cfg(not(feature = "parquet"))]
fn groups(path: &Path, _: &[Wanted]) -> Result<Vec<(usize, u64)>, Error> {
    Err(unknown(path))
}

#[cfg(not(feature = "parquet"))]
fn read(path: &Path, _: &[Wanted], _: Range<usize>, _: &Options) -> Result<Frame<'static>, Error> {
    Err(unknown(path))
}

/// That this build reads no such file.
#[cfg(not(feature = "parquet"))]
fn unknown(path: &Path) -> Error {
    match Kind::known(path) {
        Err(error) => error,
        Ok(_) => Fault::whole("this build does not have .parquet files").within(path),
    }
}
