//! Relations: programs over labels, whose tables' columns in files become operands, and whose results become columns in files.
//!
//! ```text
//!             csv, parquet            bind                          kernel             decode           csv, parquet
//!  bytes ─────────────────▶ Frame ─────────────▶ Tensor, Tensor, … ───────▶ Tensor, … ───────▶ Frame ──────────────▶ bytes
//!          columns wanted,          rows stand at                              coordinates
//!          of the types             coordinates: ranks                         have labels
//!          declared                 of labels     └──────── Dictionary ────────────▲
//! ```
//!
//! | extension | read | written |
//! |---|---|---|
//! | `.csv` | a header, then a row a line; commas, quotes as of RFC 4180 | the same |
//! | `.parquet` | columns that are not nested; numbers, truth values, texts, dates, decimals, timestamps | the same |
//!
//! Behind `.csv` may stand `.gz`. A null is an empty field without quotes, in a `.csv` file; where no text is wanted, any empty field.
//!
//! What a program over labels becomes, and says of labels, `relate/mod.rs` describes. `fiberloom-data` is about tensors in files, and what
//! holds of its readers and writers holds here: a file is believed only as far as its bytes go, memory is limited, every rejection names
//! the file and the place, and nothing is left half-written.
mod bind;
mod cell;
mod csv;
mod decode;
mod dictionary;
mod frame;
mod groups;
mod guard;
mod narrow;
mod order;
#[cfg(feature = "archives")]
mod pack;
#[cfg(feature = "parquet")]
mod parquet;
mod reading;
mod relate;

pub use bind::{Bound, Given, bind};
pub use bind::{add_images, asked, bind_within, keys, labelling, more_labels, needs};
pub use decode::{decode, decode_table};
pub use dictionary::Dictionary;
pub use frame::{Cell, Column, Frame, Texts, Values};
pub use groups::{Batches, RowGroups, in_row_group, other_row};
pub use guard::held;
pub use narrow::fit;
pub use order::{By, ordered};
#[cfg(feature = "archives")]
pub use pack::{holds_pack, is_pack, read_pack, write_pack};
#[cfg(feature = "parquet")]
pub use parquet::Hybrid;
pub use reading::Reading;
pub use reading::{behind, first};
pub use relate::Column as TableColumn;
pub use relate::{
    Asked, Change, DAY, Domain, Fitted, Holds, Image, Label, Labels, Mode, NONE, Over, Relations, Shown, Table, Test,
    What, check, check_fitted, date, days, decimal, relate, timestamp, timestamp_written,
};

use fiberloom_core::algebra::Type;
use fiberloom_core::counted;
use fiberloom_core::format::Tensor;
use fiberloom_data::write::{Content, Output, write_together};
use fiberloom_data::{Cause, Error, Fault, Options, is_packed};
use flate2::read::MultiGzDecoder;
use flate2::{Compression, write::GzEncoder};
use std::fs::File;
use std::io::{BufReader, Cursor, Write};
use std::path::Path;

/// A kind of file that holds a table, by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Comma-separated values.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 2] = [Kind::Csv, Kind::Parquet];

    /// What the name of such a file ends in.
    pub fn extension(self) -> &'static str {
        ["csv", "parquet"][self as usize]
    }

    /// The kind of file that the extension of `path` says, before `.gz` if it ends so; none if it is no table's.
    pub fn of(path: &Path) -> Option<Kind> {
        let unpacked = if is_packed(path) { path.with_extension("") } else { path.to_path_buf() };
        let extension = unpacked.extension()?.to_str()?;
        Kind::ALL.into_iter().find(|kind| extension == kind.extension())
    }

    /// The same.
    ///
    /// # Errors
    /// It is no table's, or one that this build does not have, or is packed twice.
    fn known(path: &Path) -> Result<Kind, Error> {
        let refused = |message: &str| Fault { cause: Cause::Extension, ..Fault::whole(message) }.within(path);
        match Kind::of(path) {
            None => Err(refused("the name of a table's file ends in .csv, .csv.gz or .parquet")),
            Some(Kind::Parquet) if is_packed(path) => Err(refused("a .parquet file is packed as it is: name .parquet")),
            Some(Kind::Parquet) if cfg!(not(feature = "parquet")) => Err(refused(
                "this build does not have .parquet files: build it with the feature `parquet`, or name .csv",
            )),
            Some(kind) => Ok(kind),
        }
    }
}

/// A column that a table wants of its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What the data call it.
    pub source: String,
    /// What it holds: labels, where a program has coordinates of a domain.
    pub holds: Holds,
}

/// The columns that a table wants of its data, each once, in the order of the text.
pub fn wanted(relations: &Relations, table: &Table) -> Vec<Wanted> {
    let modes = table.modes.iter().filter_map(|mode| Some((&mode.source, of_mode(relations, mode)?)));
    let columns = table.columns.iter().map(|column| (&column.source, labelled(relations, column.holds)));
    let mut all: Vec<Wanted> = Vec::new();
    for (source, holds) in modes.chain(columns) {
        let one = Wanted { source: source.clone(), holds };
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// What the data hold for a mode; nothing for one that numbers rows.
fn of_mode(relations: &Relations, mode: &Mode) -> Option<Holds> {
    match mode.over {
        Over::Domain(domain) => Some(relations.domains[domain].labels.holds()),
        Over::Coordinate => Some(Holds::Plain(Type::I64)),
        Over::Row => None,
    }
}

/// What the data hold for a column: labels in the place of coordinates.
fn labelled(relations: &Relations, holds: Holds) -> Holds {
    match holds {
        Holds::Domain(domain) => relations.domains[domain].labels.holds(),
        holds => holds,
    }
}

/// The columns that a table wants, from a file, by the extension of its name; others are skipped.
///
/// # Errors
/// The file is not there or not readable, has not the columns, or holds something else than is declared; memory over the limit.
pub fn read(path: &Path, relations: &Relations, table: &Table, options: &Options) -> Result<Frame<'static>, Error> {
    read_as(path, (relations, table), &Reading::default(), options)
}

/// The same, read in another way; `-` is standard input, a `.csv` file.
///
/// # Errors
/// As of [`read`].
pub fn read_as(
    path: &Path,
    (relations, table): (&Relations, &Table),
    reading: &Reading,
    options: &Options,
) -> Result<Frame<'static>, Error> {
    let wanted = wanted(relations, table);
    if path.as_os_str() == "-" {
        let columns = csv::read(std::io::stdin().lock(), &wanted, reading, options);
        return reading.kept(framed(Path::new("<stdin>"), columns)?, table);
    }
    let kind = Kind::known(path)?;
    let file = File::open(path).map_err(|e| Fault::io(e).within(path))?;
    let columns = match kind {
        Kind::Csv if is_packed(path) => csv::read(MultiGzDecoder::new(BufReader::new(file)), &wanted, reading, options),
        Kind::Csv => csv::read(file, &wanted, reading, options),
        Kind::Parquet => of_parquet(file, &wanted, options),
    };
    reading.kept(framed(path, columns)?, table)
}

/// The rows of several frames of one table, one behind the other, under one name for messages.
///
/// # Errors
/// Memory.
///
/// # Panics
/// If there is none.
pub fn stacked(origin: String, parts: Vec<Frame<'static>>) -> Result<Frame<'static>, Error> {
    assert!(!parts.is_empty(), "a table of no file");
    reading::stacked(origin, parts)
}

/// The same from the bytes of a file of this name.
///
/// # Errors
/// As of [`read`].
pub fn read_bytes(name: &Path, bytes: &[u8], wanted: &[Wanted], options: &Options) -> Result<Frame<'static>, Error> {
    let reading = &Reading::default();
    let columns = match Kind::known(name)? {
        Kind::Csv if is_packed(name) => csv::read(MultiGzDecoder::new(Cursor::new(bytes)), wanted, reading, options),
        Kind::Csv => csv::read(Cursor::new(bytes), wanted, reading, options),
        Kind::Parquet => of_parquet_bytes(bytes, wanted, options),
    };
    framed(name, columns)
}

/// The frame of columns from a file, or what is wrong with them.
fn framed(path: &Path, read: Result<(usize, Vec<Column<'static>>), Fault>) -> Result<Frame<'static>, Error> {
    let (rows, columns) = read.map_err(|fault| fault.within(path))?;
    Ok(Frame { origin: path.display().to_string(), rows, columns })
}

#[cfg(feature = "parquet")]
fn of_parquet(file: File, wanted: &[Wanted], options: &Options) -> Result<(usize, Vec<Column<'static>>), Fault> {
    parquet::read(file, wanted, options)
}

#[cfg(feature = "parquet")]
fn of_parquet_bytes(
    bytes: &[u8],
    wanted: &[Wanted],
    options: &Options,
) -> Result<(usize, Vec<Column<'static>>), Fault> {
    parquet::read_bytes(bytes, wanted, options)
}

#[cfg(not(feature = "parquet"))]
fn of_parquet(_: File, _: &[Wanted], _: &Options) -> Result<(usize, Vec<Column<'static>>), Fault> {
    unreachable!("the kind is refused before")
}

#[cfg(not(feature = "parquet"))]
fn of_parquet_bytes(_: &[u8], _: &[Wanted], _: &Options) -> Result<(usize, Vec<Column<'static>>), Fault> {
    unreachable!("the kind is refused before")
}

/// Whether data of this origin have all wanted columns, each once; `there` are the names of those that they have.
///
/// # Errors
/// The first that they have twice, or have not, with the names of others.
pub fn has_columns<'n>(
    origin: &str,
    wanted: &[Wanted],
    there: impl Iterator<Item = &'n str> + Clone,
) -> Result<(), Error> {
    named(wanted, there).map_err(|fault| fault.within(Path::new(origin)))
}

/// What is wrong with the names of a file's columns: a wanted one is not there, or twice.
fn named<'n>(wanted: &[Wanted], there: impl Iterator<Item = &'n str> + Clone) -> Result<(), Fault> {
    for wanted in wanted {
        let mut places = there.clone().enumerate().filter(|(_, name)| *name == wanted.source).map(|(n, _)| n + 1);
        if let (Some(first), Some(second)) = (places.next(), places.next()) {
            let name = &wanted.source;
            return Err(Fault::whole(format!(
                "column `{name}` stands there twice, as the {} and the {} column: give one of them another name",
                ordinal(first),
                ordinal(second)
            )));
        }
    }
    missing(wanted, there)
}

/// 1st, 2nd, 3rd, 4th
fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (1, last) if last != 11 => "st",
        (2, last) if last != 12 => "nd",
        (3, last) if last != 13 => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// What is wrong with wanted columns that are not there, before those that are.
fn missing<'n>(wanted: &[Wanted], there: impl Iterator<Item = &'n str> + Clone) -> Result<(), Fault> {
    /// More names than this are not listed.
    const LISTED: usize = 40;
    let clipped = |name: &str| match name.char_indices().nth(60) {
        Some((at, _)) => format!("`{}…`", &name[..at]),
        None => format!("`{name}`"),
    };
    let absent = wanted.iter().map(|wanted| wanted.source.as_str()).find(|name| !there.clone().any(|n| n == *name));
    let Some(absent) = absent else { return Ok(()) };
    let (count, names) = (there.clone().count(), there.take(LISTED).map(clipped));
    let names = names.collect::<Vec<_>>().join(", ");
    let more = if count > LISTED { format!(" and {} more", count - LISTED) } else { String::new() };
    let columns = counted(count, "column", "columns");
    Err(Fault::whole(format!("no column `{absent}` among {columns}: {names}{more}")))
}

/// Writes a frame to a file, by the extension of its name.
///
/// # Errors
/// The file cannot be written, or its kind does not hold the frame.
pub fn write(path: &Path, frame: &Frame) -> Result<(), Error> {
    write_all(&[], &[(path, frame)], 0)
}

/// Writes tensors and frames to their files: all of them, or none. A tensor made dense may take `limit` bytes.
///
/// # Errors
/// As of [`write()`] and of [`data::write()`](fiberloom_data::write()): the first.
pub fn write_all(tensors: &[(&Path, &Tensor)], frames: &[(&Path, &Frame)], limit: u64) -> Result<(), Error> {
    let kinds = frames.iter().map(|(path, _)| Kind::known(path)).collect::<Result<Vec<_>, _>>()?;
    let contents: Vec<_> = frames
        .iter()
        .zip(kinds)
        .map(|((path, frame), kind)| move |out: &mut dyn Output| write_to(out, kind, is_packed(path), frame))
        .collect();
    let others: Vec<(&Path, Content)> =
        frames.iter().zip(&contents).map(|((path, _), content)| (*path, content as _)).collect();
    write_together(tensors, &others, limit)
}

/// The bytes of a file of this name that holds the frame.
///
/// # Errors
/// Its kind does not hold the frame.
pub fn to_bytes(name: &Path, frame: &Frame) -> Result<Vec<u8>, Error> {
    let mut out = Cursor::new(Vec::new());
    write_to(&mut out, Kind::known(name)?, is_packed(name), frame).map_err(|fault| fault.within(name))?;
    Ok(out.into_inner())
}

fn write_to(mut out: &mut dyn Output, kind: Kind, packed: bool, frame: &Frame) -> Result<(), Fault> {
    frame.columns.iter().try_for_each(|column| column.check(frame.rows)).map_err(Fault::whole)?;
    match kind {
        Kind::Csv if packed => {
            let mut packer = GzEncoder::new(out, Compression::default());
            csv::write(frame, &mut packer as &mut dyn Write)?;
            packer.finish().map(drop).map_err(Fault::io)
        }
        Kind::Csv => csv::write(frame, &mut out),
        #[cfg(feature = "parquet")]
        Kind::Parquet => parquet::write(frame, out),
        #[cfg(not(feature = "parquet"))]
        Kind::Parquet => unreachable!("the kind is refused before"),
    }
}
