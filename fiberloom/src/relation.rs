//! Tables: columns in files become operands, and results become columns in files. What these are is `fiberloom-relation`; here is what it
//! does with a [`Program`].

pub use fiberloom_relation::{
    Asked, Bound, By, Cell, Change, Column, DAY, Dictionary, Domain, Fitted, Frame, Given, Holds, Image, Kind, Label,
    Labels, Mode, NONE, Over, Reading, Relations, RowGroups, Shown, Table, Test, Texts, Values, Wanted, What, check,
    check_fitted, date, days, decode, decode_table, has_columns, in_row_group, ordered, other_row, relate, stacked,
    timestamp, timestamp_written, to_bytes, wanted, write, write_all,
};
pub(crate) use fiberloom_relation::{Batches, add_images, asked, behind, first, held, keys, labelling, needs};
#[cfg(feature = "archives")]
pub use fiberloom_relation::{holds_pack, is_pack, read_pack, write_pack};

use crate::error::Error;
use crate::machine::on_pool_for as on_pool;
use crate::program::Program;
use crate::{Tensor, data};
use fiberloom_core::notation::typed;
use fiberloom_relation as tables;
use std::ops::Range;
use std::path::Path;

/// How many rows frames have.
fn rows(frames: &[(&str, Frame)]) -> u64 {
    frames.iter().map(|(_, frame)| frame.rows as u64).sum()
}

/// Reads the columns of a table that a program declares from a file, on as many threads as loops run on.
///
/// # Errors
/// The file is no table of these columns; a value that is none of its column's; more bytes than the limit; the system's failures.
pub fn read(
    path: &Path,
    relations: &Relations,
    table: &Table,
    options: &data::Options,
) -> Result<Frame<'static>, data::Error> {
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
    options: &data::Options,
) -> Result<Frame<'static>, data::Error> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    on_pool(bytes, || tables::read_as(path, (relations, table), reading, options))
}

/// The wanted columns of the bytes of a file, whose name says its kind.
///
/// # Errors
/// As of [`read`].
pub fn read_bytes(
    name: &Path,
    bytes: &[u8],
    wanted: &[Wanted],
    options: &data::Options,
) -> Result<Frame<'static>, data::Error> {
    on_pool(bytes.len() as u64, || tables::read_bytes(name, bytes, wanted, options))
}

/// Columns of a batch of a table.
pub(crate) fn batch(from: &dyn Batches, n: usize, wanted: &[Wanted]) -> Result<Frame<'static>, data::Error> {
    on_pool(from.rows(), || from.read(n, wanted))
}

/// The operands that tables' data are, and the labels that coordinates stand for, made on as many threads as loops run on.
///
/// # Errors
/// [`Error::Call`]: a table without a frame. [`Error::Data`]: a frame that has not the columns; a value that is not exactly one of the
/// type declared; a null where none may stand; a key twice; a coordinate out of bounds; memory over the limit.
pub fn bind(relations: &Relations, program: &typed::Program, given: &Given) -> Result<Bound, Error> {
    on_pool(rows(given.frames), || tables::bind(relations, program, given))
}

/// The same of those tables that have a frame, where the labels of all tables are known, and perhaps a part of coordinates.
pub(crate) fn bind_within(
    relations: &Relations,
    program: &typed::Program,
    given: &Given,
    known: (&[Dictionary], Option<Range<u64>>),
) -> Result<Vec<(String, Tensor<'static>)>, Error> {
    on_pool(rows(given.frames), || tables::bind_within(relations, program, given, known))
}

/// Adds the labels of these tables to those that are known.
pub(crate) fn more_labels(
    relations: &Relations,
    frames: &[(&str, Frame)],
    known: &mut Vec<Dictionary>,
) -> Result<(), Error> {
    on_pool(rows(frames), || tables::more_labels(relations, frames, known))
}

/// The program and its operands with each column of integers, dates, decimals or coordinates in the narrowest integers that hold its
/// data: the same program, whose columns are converted where they are read. Where a sum of decimals may be larger than 64 bits hold, calls
/// refuse it, by the result's name.
///
/// ```
/// use fiberloom::relation::{self, Given};
/// use fiberloom::{Options, Program, Tensor, data};
/// let program = Program::parse(
///     "dim CITY: string  table sales[row: N] { city: CITY, amount: dec(2) }
///      tensor total: dec(2)[CITY]  total[city[n]] += amount[n]",
/// )?;
/// let table = program.table("sales").expect("it is declared");
/// let wanted = relation::wanted(program.relations(), table);
/// let text = b"city,amount\nRome,7.25\nParis,10\nRome,0.5\n";
/// let frame = relation::read_bytes("sales.csv".as_ref(), text, &wanted, &data::Options::default())?;
/// let given = Given { frames: &[("sales", frame)], sizes: &[], limit: 1 << 30 };
/// let (program, bound) = relation::narrow(&program, relation::bind(program.relations(), program.typed(), &given)?)?;
/// let operands: Vec<(&str, &Tensor)> = bound.operands.iter().map(|(name, t)| (name.as_str(), t)).collect();
/// let total = program.compile(&Options::default())?.run(&operands)?;
/// assert_eq!(total["total"].values.get(1).as_i64(), Some(775));
/// # Ok::<(), fiberloom::Error>(())
/// ```
///
/// # Errors
/// Memory.
pub fn narrow(program: &Program, bound: Bound) -> Result<(Program, Bound), Error> {
    let (fitted, bound) = fit(program, bound)?;
    Ok((program.fitted(&fitted)?, bound))
}

/// How a program is fitted to its operands, for [`Program::fitted`], and these operands for the program that is.
///
/// # Errors
/// Memory.
pub fn fit(program: &Program, bound: Bound) -> Result<(Fitted, Bound), Error> {
    let values = bound.operands.iter().map(|(_, tensor)| tensor.values.len() as u64).sum();
    on_pool(values, || tables::fit((program.relations(), program.typed()), bound))
}
