//! Tables: columns in files become operands, and results become columns in files. What these are is `fiberloom-relation`; here is what it
//! does with a [`Program`].

pub use fiberloom_relation::{
    Asked, Bound, By, Cell, Change, Column, DAY, Dictionary, Domain, Fitted, Frame, Given, Holds, Image, Kind, Label,
    Labels, Mode, NONE, Over, Reading, Relations, RowGroups, Shown, Table, Test, Texts, Values, Wanted, What, bind,
    check, check_fitted, date, days, decode, decode_table, has_columns, in_row_group, ordered, other_row, read,
    read_as, read_bytes, relate, stacked, timestamp, timestamp_written, to_bytes, wanted, write, write_all,
};
pub(crate) use fiberloom_relation::{
    add_images, asked, behind, bind_within, first, held, keys, labelling, more_labels, needs,
};
#[cfg(feature = "archives")]
pub use fiberloom_relation::{holds_pack, is_pack, read_pack, write_pack};

use crate::error::Error;
use crate::program::Program;

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
    fiberloom_relation::fit((program.relations(), program.typed()), bound)
}
