//! The rows of a table's files, in batches that are read one after the other.
//!
//! ```text
//!  a.parquet   group 0   group 1   group 2        b.parquet   group 0   group 1
//!  batches     ╰─────── 0 ───────╯ ╰─────────── 1 ──────────╯ ╰─── 2 ───╯
//! ```
//!
//! A batch has whole row groups, as many as a number of bytes permits and one at least. A `.csv` file says nothing of its rows: it is gone
//! through once, and so many of its rows as follow one another are a group.

use super::csv::Rows;
use super::{Column, Frame, Holds, Kind, Over, Reading, Relations, Table, Wanted, wanted};
use fiberloom_data::{Error, Fault, Options, Place, is_packed};
use flate2::read::MultiGzDecoder;
use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A table whose rows come in batches, one behind the other.
pub trait Batches: Sync {
    /// How many batches there are.
    fn count(&self) -> usize;

    /// How many rows all of them have.
    fn rows(&self) -> u64;

    /// The wanted columns of a batch.
    ///
    /// # Errors
    /// What is wrong with the data.
    fn read(&self, batch: usize, wanted: &[Wanted]) -> Result<Frame<'static>, Error>;

    /// An error about a row of a batch as one about a row of the data.
    fn placed(&self, batch: usize, error: Error) -> Error;
}

/// The rows of a group of a `.csv` file.
const GROUP: usize = 1 << 12;

/// Of each byte of a `.csv` file how many its columns take at most, while they are read and bound: an empty field of labels is the comma
/// behind it, and takes a place, a coordinate, and where its text ends.
const MOST: u64 = 20;

/// The row groups of the files of a table.
pub struct RowGroups {
    paths: Vec<PathBuf>,
    /// Of each file its row groups: their rows, and the bytes that their wanted columns take.
    groups: Vec<Vec<(usize, u64)>>,
    batches: Vec<Vec<Part>>,
    wanted: Vec<Taken>,
    /// How `.csv` files are read.
    reading: Reading,
    /// The `.csv` file that is being read, and which it is: batches follow one another.
    open: Mutex<Option<(usize, Lines)>>,
    /// The most bytes that a batch may take while it is read.
    limit: u64,
}

/// A `.csv` file, read up to some row.
type Lines = Rows<Box<dyn Read + Send>>;

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
    /// Those of a table, all of them one batch; `None` of files that are read whole: standard input, pipes. Of `.parquet` files only what
    /// they say of themselves is read; `.csv` files are gone through.
    ///
    /// # Errors
    /// A file that is not there or not readable, is damaged, or has not the columns that the table wants.
    pub fn of(
        paths: &[PathBuf],
        (relations, table): (&Relations, &Table),
        reading: &Reading,
        limit: u64,
    ) -> Result<Option<RowGroups>, Error> {
        let wanted = Taken::of(relations, table);
        if !paths.iter().all(|path| is_read_again(path)) {
            return Ok(None);
        }
        let of = |path: &PathBuf| match Kind::of(path) {
            Some(Kind::Csv) => gone_through(path, &wanted, reading, limit),
            _ => groups(path, &wanted),
        };
        let groups = paths.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let (paths, reading, open) = (paths.to_vec(), reading.clone(), Mutex::new(None));
        let mut all = RowGroups { paths, groups, batches: Vec::new(), wanted, reading, open, limit: u64::MAX };
        all.cut(u64::MAX, u64::MAX);
        Ok(Some(all))
    }

    /// What the columns of these files take at most, as far as that is known before they are gone through: nothing is of those that
    /// are packed, or no files.
    pub fn at_most(paths: &[PathBuf]) -> Option<u64> {
        let length = |path: &PathBuf| {
            let is_plain = is_read_again(path) && !is_packed(path) && Kind::of(path) == Some(Kind::Csv);
            let length = std::fs::metadata(path).ok().filter(|_| is_plain)?.len();
            Some(length.saturating_mul(MOST))
        };
        paths.iter().map(length).try_fold(0u64, |all, bytes| Some(all.saturating_add(bytes?)))
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

    /// Whether rows are left out whose keys are null.
    pub fn drops_rows(&self) -> bool {
        self.reading.drop_null_keys
    }

    /// The names of the columns that are read.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(|taken| taken.wanted.source.as_str())
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
        if Kind::of(path) == Some(Kind::Csv) {
            return super::framed(path, self.lines(part, wanted).map_err(|fault| fault.unwrap_or_else(changed)));
        }
        let options = Options { limit: self.limit, ..Options::default() };
        read(path, wanted, part.groups.clone(), &options)
    }

    /// The rows of a part of a `.csv` file, which goes on where it was left, or is opened anew.
    fn lines(&self, part: &Part, wanted: &[Wanted]) -> Result<(usize, Vec<Column<'static>>), Option<Fault>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = match open.take() {
            Some((file, rows)) if file == part.file && rows.got <= part.before => rows,
            _ => opened(&self.paths[part.file], &self.reading, self.limit).map_err(Some)?,
        };
        rows.pass(&[], part.before - rows.got, &mut |_, _| {}).map_err(Some)?;
        let (count, columns) = rows.take(wanted, part.rows, self.limit).map_err(Some)?;
        if count < part.rows {
            return Err(None);
        }
        *open = Some((part.file, rows));
        Ok((count, columns))
    }
}

/// In which row group of a `.parquet` file a row stands, counted from 1, as it is said behind a message; nothing of other files.
pub fn in_row_group(path: &Path, row: usize) -> String {
    match Kind::of(path) {
        Some(Kind::Parquet) => {
            groups(path, &[]).map_or(String::new(), |groups| within(groups.iter().map(|(rows, _)| *rows), row))
        }
        _ => String::new(),
    }
}

/// The other row that an error about a key which stands there twice names: where in the message, and which it is.
pub fn other_row(message: &str) -> Option<(Range<usize>, usize)> {
    let begin = message.find(OTHER)? + OTHER.len();
    let digits = message[begin..].bytes().take_while(u8::is_ascii_digit).count();
    Some((begin..begin + digits, message[begin..begin + digits].parse().ok()?))
}

/// What stands before the other row of a key that is there twice.
pub(super) const OTHER: &str = "stands in row ";

/// The same of row groups of so many rows each.
fn within(groups: impl ExactSizeIterator<Item = usize>, row: usize) -> String {
    let (count, mut before) = (groups.len(), 0);
    let is_in = |rows: usize| {
        before += rows;
        row <= before
    };
    groups.map(is_in).position(|is_in| is_in).map_or(String::new(), |n| format!(" ({})", called(n, count)))
}

/// What row group `n` of so many is called.
pub(super) fn called(n: usize, count: usize) -> String {
    format!("row group {} of {count}", n + 1)
}

/// That a file is another than it was when it was gone through.
fn changed() -> Fault {
    Fault::whole("it has fewer rows than before: the file has changed meanwhile")
}

/// Whether a file can be read more than once.
fn is_read_again(path: &Path) -> bool {
    let is_known = Kind::of(path).is_some_and(|kind| kind == Kind::Csv || !is_packed(path));
    // What is not there is refused where it is read.
    is_known && std::fs::metadata(path).map_or(true, |file| file.is_file())
}

fn opened(path: &Path, reading: &Reading, limit: u64) -> Result<Lines, Fault> {
    let file = File::open(path).map_err(Fault::io)?;
    let input: Box<dyn Read + Send> = match is_packed(path) {
        true => Box::new(MultiGzDecoder::new(BufReader::new(file))),
        false => Box::new(file),
    };
    Rows::of(input, reading, limit)
}

/// The groups of a `.csv` file: their rows, and the bytes that their wanted columns take.
fn gone_through(path: &Path, wanted: &[Taken], reading: &Reading, limit: u64) -> Result<Vec<(usize, u64)>, Error> {
    let columns: Vec<Wanted> = wanted.iter().map(|taken| taken.wanted.clone()).collect();
    let mut seen: Vec<HashSet<u64>> = wanted.iter().map(|_| HashSet::new()).collect();
    let mut all = || {
        let mut rows = opened(path, reading, limit)?;
        let mut groups = Vec::new();
        loop {
            let mut held: Vec<Held> = wanted.iter().map(|_| Held::default()).collect();
            let count = rows.pass(&columns, GROUP, &mut |column, field| {
                if wanted[column].wanted.holds == Holds::Text {
                    held[column].see(field, wanted[column].has_labels.then_some(&mut seen[column]));
                }
            })?;
            if count == 0 {
                return Ok(groups);
            }
            let taken = wanted.iter().zip(&held).map(|(taken, held)| taken.bytes(count as u64, held));
            groups.push((count, taken.fold(count as u64, u64::saturating_add)));
        }
    };
    all().map_err(|fault: Fault| fault.within(path))
}

/// A wanted column, by what it takes.
pub(super) struct Taken {
    pub(super) wanted: Wanted,
    /// Whether it has labels, which become coordinates.
    has_labels: bool,
}

/// What is held of the texts of a column.
#[derive(Default)]
pub(super) struct Held {
    /// How many they are, and their bytes.
    pub(super) texts: u64,
    pub(super) bytes: u64,
    /// The same of those that are labels, each once.
    pub(super) labels: u64,
    pub(super) label_bytes: u64,
}

impl Held {
    /// One text more. Labels are told apart by the hashes of those that were `seen`, as far as these are kept.
    fn see(&mut self, text: &[u8], seen: Option<&mut HashSet<u64>>) {
        /// The most hashes that are kept: as many labels take little.
        const KEPT: usize = 1 << 16;
        let length = text.len() as u64;
        (self.texts, self.bytes) = (self.texts + 1, self.bytes + length);
        let Some(seen) = seen else { return };
        let mut hasher = DefaultHasher::new();
        hasher.write(text);
        let hash = hasher.finish();
        if !seen.contains(&hash) {
            if seen.len() < KEPT {
                seen.insert(hash);
            }
            (self.labels, self.label_bytes) = (self.labels + 1, self.label_bytes + length);
        }
    }
}

impl Taken {
    /// The columns that a table wants.
    fn of(relations: &Relations, table: &Table) -> Vec<Taken> {
        let has_labels = |source: &str| {
            let modes = table.modes.iter().any(|mode| mode.source == source && matches!(mode.over, Over::Domain(_)));
            modes || table.columns.iter().any(|c| c.source == source && matches!(c.holds, Holds::Domain(_)))
        };
        let all = wanted(relations, table).into_iter();
        all.map(|wanted| Taken { has_labels: has_labels(&wanted.source), wanted }).collect()
    }

    /// About how many bytes so many rows of it take while they are read and bound.
    pub(super) fn bytes(&self, rows: u64, held: &Held) -> u64 {
        let coordinate = if self.has_labels { 8 } else { 0 };
        if self.wanted.holds != Holds::Text {
            return rows.saturating_mul(8 + coordinate);
        }
        // A place a row, and where each text ends; texts that are labels are sorted, and each is found by its text.
        let texts = held.texts.saturating_mul(8).saturating_add(held.bytes);
        let labels =
            if self.has_labels { held.labels.saturating_mul(LABEL).saturating_add(held.label_bytes) } else { 0 };
        rows.saturating_mul(4 + coordinate).saturating_add(texts).saturating_add(labels)
    }
}

/// The bytes that one of the texts of labels takes beside itself.
const LABEL: u64 = 64;

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
            frames.push(self.part(&Part { file: 0, groups: 0..0, before: 0, rows: 0 }, wanted)?);
        }
        super::stacked(self.paths[parts.first().map_or(0, |part| part.file)].display().to_string(), frames)
    }

    fn placed(&self, batch: usize, mut error: Error) -> Error {
        let Place::Cell { row, .. } = &mut error.place else { return error };
        let mut above = 0;
        for part in &self.batches[batch] {
            if *row <= above + part.rows {
                *row = *row - above + part.before;
                let (path, row) = (&self.paths[part.file], *row);
                error.file = path.display().to_string();
                if Kind::of(path) == Some(Kind::Parquet) {
                    error.message += &within(self.groups[part.file].iter().map(|(rows, _)| *rows), row);
                }
                break;
            }
            above += part.rows;
        }
        error
    }
}

#[cfg(feature = "parquet")]
fn groups(path: &Path, wanted: &[Taken]) -> Result<Vec<(usize, u64)>, Error> {
    let file = File::open(path).map_err(|e| Fault::io(e).within(path))?;
    super::parquet::groups(file, wanted).map_err(|fault| fault.within(path))
}

#[cfg(feature = "parquet")]
fn read(path: &Path, wanted: &[Wanted], groups: Range<usize>, options: &Options) -> Result<Frame<'static>, Error> {
    let file = File::open(path).map_err(|e| Fault::io(e).within(path))?;
    super::framed(path, super::parquet::read_groups(file, wanted, groups, options))
}

#[cfg(not(feature = "parquet"))]
fn groups(path: &Path, _: &[Taken]) -> Result<Vec<(usize, u64)>, Error> {
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
