//! Values of one kind as values of another: exactly, or they are refused.
//!
//! ```text
//!              dec(2)      f64      i32     date            text
//!  "1.50"       150        1.5       –       –              "1.50"
//!  1.5          150        1.5       –       –               –
//!  3            300        3.0       3       –               –
//!  1.505         –         1.505     –       –               –
//!  1994-01-01    –          –        –       8766            –
//! ```
//!
//! A binary float is the decimal that it prints as: the shortest one that is read as this float. Only as floats are decimals
//! rounded, to the nearest.

use super::frame::{Cell, Column, Values, Writing};
use crate::relate::{DAY, Holds, days, decimal, timestamp, timestamp_written};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, room};
use fiberloom_data::number::{Number, clipped, expected, integer};
use fiberloom_data::{Fault, exact};
use std::borrow::Cow;

/// A column that is read, row by row.
#[derive(Debug)]
pub(super) struct Collector {
    holds: Holds,
    /// As [`bits`] gives them.
    bits: Vec<u64>,
    texts: Writing,
    nulls: Vec<bool>,
    /// Bytes that it takes.
    pub(super) bytes: u64,
}

impl Collector {
    /// No rows yet. Coordinates of domains are none of the data's: what is collected are labels.
    pub(super) fn new(holds: Holds) -> Collector {
        Collector { holds, bits: Vec::new(), texts: Writing::default(), nulls: Vec::new(), bytes: 0 }
    }

    /// Makes room for so many rows of numbers.
    #[cfg(feature = "parquet")]
    pub(super) fn reserve(&mut self, rows: usize) -> Result<(), Fault> {
        match self.holds {
            Holds::Text => Ok(()),
            _ => Ok(room::more(&mut self.bits, rows)?),
        }
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        if self.holds == Holds::Text { self.texts.len() } else { self.bits.len() }
    }

    /// A row that is null.
    pub(super) fn null(&mut self) -> Result<(), Fault> {
        let row = self.len();
        room::resize(&mut self.nulls, row, false)?;
        room::push(&mut self.nulls, true)?;
        self.bytes += 1;
        match self.holds {
            Holds::Text => self.text(""),
            _ => self.push_bits(0),
        }
    }

    /// A row of this value.
    ///
    /// # Errors
    /// It is none that the column holds, of the place nothing being said; memory.
    #[inline]
    pub(super) fn push(&mut self, cell: Cell) -> Result<(), Fault> {
        match (self.holds, cell) {
            (Holds::Text, Cell::Text(text)) => self.text(text),
            (holds, cell) => self.push_bits(bits(holds, cell).map_err(Fault::whole)?),
        }
    }

    /// Rows of these bits, as [`bits`] gives them for what the column holds. Rows that are not `present` are null and have none.
    #[cfg(feature = "parquet")]
    #[inline]
    pub(super) fn extend(
        &mut self,
        present: Option<&[bool]>,
        mut bits: impl ExactSizeIterator<Item = u64>,
    ) -> Result<(), Fault> {
        let Some(present) = present else {
            self.bytes += 8 * bits.len() as u64;
            room::more(&mut self.bits, bits.len())?;
            self.bits.extend(bits);
            return Ok(());
        };
        for present in present {
            match if *present { bits.next() } else { None } {
                Some(bits) => self.push_bits(bits)?,
                None => self.null()?,
            }
        }
        Ok(())
    }

    /// Holds a text that no row is yet: its place, for [`Collector::repeat`].
    #[cfg(feature = "parquet")]
    pub(super) fn hold(&mut self, text: &str) -> Result<u32, Fault> {
        self.bytes += 8 + text.len() as u64;
        self.texts.code()?;
        Ok(self.texts.hold(text)?)
    }

    /// Rows of held texts, by their places. Rows that are not `present` are null and have none.
    ///
    /// # Panics
    /// If a place is none of a held text.
    #[cfg(feature = "parquet")]
    pub(super) fn repeat(
        &mut self,
        present: Option<&[bool]>,
        mut places: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), Fault> {
        let Some(present) = present else {
            self.bytes += 4 * places.len() as u64;
            return Ok(self.texts.repeat(places)?);
        };
        for present in present {
            match if *present { places.next() } else { None } {
                Some(place) => self.texts.repeat([place].into_iter())?,
                None => self.null()?,
            }
            self.bytes += 4;
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Fault> {
        self.bytes += 8 + text.len() as u64;
        Ok(self.texts.push(text)?)
    }

    fn push_bits(&mut self, bits: u64) -> Result<(), Fault> {
        self.bytes += 8;
        Ok(room::push(&mut self.bits, bits)?)
    }

    /// The column.
    pub(super) fn column(self, name: &str) -> Result<Column<'static>, Fault> {
        let Collector { holds, bits, texts, mut nulls, .. } = self;
        let rows = if holds == Holds::Text { texts.len() } else { bits.len() };
        if !nulls.is_empty() {
            room::resize(&mut nulls, rows, false)?;
        }
        let array = |ty| match ty {
            // Of one size, so that the vector is the array.
            Type::I64 => Ok(Array::from(bits.into_iter().map(|b| b as i64).collect::<Vec<_>>())),
            Type::F64 => Ok(Array::from(bits.into_iter().map(f64::from_bits).collect::<Vec<_>>())),
            ty => Array::collected(ty, bits.iter().map(|b| Value::from_bits(ty, *b))),
        };
        let values = match holds {
            Holds::Plain(ty) => Values::Plain(array(ty)?),
            Holds::Date => Values::Dates(array(Type::I64)?),
            Holds::Timestamp => Values::Timestamps(array(Type::I64)?),
            Holds::Decimal(digits) => Values::Decimals(array(Type::I64)?, digits),
            Holds::Text | Holds::Domain(_) => Values::Texts(texts.texts()),
        };
        Ok(Column { name: name.to_string(), values, nulls: Cow::Owned(nulls) })
    }
}

/// A value as bits of what a column of numbers holds: a value's, days, or a scaled integer's.
///
/// # Errors
/// What is wrong with it, if the column holds no such value.
pub(super) fn bits(holds: Holds, cell: Cell) -> Result<u64, String> {
    match (holds, cell) {
        (Holds::Plain(ty), Cell::Plain(value)) if value.ty() == ty => Ok(value.bits()),
        (Holds::Plain(ty), cell) => plain(cell, ty).map(Value::bits),
        (Holds::Date, cell) => date(cell).map(|days| days as u64),
        (Holds::Timestamp, cell) => moment(cell).map(|micros| micros as u64),
        (Holds::Decimal(digits), cell) => scaled(cell, digits).map(|x| x as u64),
        (holds, cell) => Err(other(cell, holds)),
    }
}

/// A value as one of type `ty`.
fn plain(cell: Cell, ty: Type) -> Result<Value, String> {
    let inexact = |number: String| format!("{number} is not exactly a value of type {ty}, which the program declares");
    match cell {
        Cell::Plain(value) => exact(value, ty).ok_or_else(|| inexact(value.to_string())),
        Cell::Decimal(x, digits) => {
            let one = 10i128.pow(digits.into());
            let found = match ty.is_float() {
                true => Some(rounded(x, digits, ty)),
                false => (x % one == 0).then(|| integer(x / one, ty)).flatten(),
            };
            found.ok_or_else(|| inexact(written(x, digits)))
        }
        Cell::Text(text) => match (ty, text.to_ascii_lowercase().as_str()) {
            (Type::Bool, "true") => Ok(Value::bool(true)),
            (Type::Bool, "false") => Ok(Value::bool(false)),
            _ => Number::Real.value(text.trim_ascii().as_bytes(), ty),
        },
        Cell::Date(_) | Cell::Timestamp(_) => Err(other(cell, Holds::Plain(ty))),
    }
}

/// The float nearest to a decimal.
fn rounded(x: i128, digits: u8, ty: Type) -> Value {
    // An exact quotient of exact floats is rounded once.
    if ty == Type::F64 && x.unsigned_abs() < 1 << 53 && digits <= 22 {
        return Value::from_f64(ty, x as f64 / 10f64.powi(digits.into()));
    }
    let text = written(x, digits);
    let nearest = if ty == Type::F32 { text.parse::<f32>().map(f64::from) } else { text.parse() };
    Value::from_f64(ty, nearest.expect("digits with a point"))
}

/// A decimal with its point.
pub(super) fn written(x: i128, digits: u8) -> String {
    let sign = if x < 0 { "-" } else { "" };
    let (x, one) = (x.unsigned_abs(), 10u128.pow(digits.into()));
    match digits {
        0 => format!("{sign}{x}"),
        n => format!("{sign}{}.{:0width$}", x / one, x % one, width = n.into()),
    }
}

/// As it is written; a text without quotes.
impl std::fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Plain(value) => value.fmt(f),
            Cell::Date(days) => f.write_str(&crate::relate::date(*days)),
            Cell::Timestamp(micros) => f.write_str(&timestamp_written(*micros)),
            Cell::Decimal(x, digits) => f.write_str(&written(*x, *digits)),
            Cell::Text(text) => f.write_str(text),
        }
    }
}

/// A value as days from 1970-01-01 on.
fn date(cell: Cell) -> Result<i32, String> {
    let says =
        |days: i64| i32::try_from(days).map_err(|_| format!("a date {days} days from 1970-01-01 is out of bounds"));
    match cell {
        Cell::Date(days) => says(days),
        Cell::Text(text) => match days(text.trim_ascii()) {
            Some(days) => says(days),
            None => Err(expected(text.as_bytes(), "a date of the calendar, as 1994-12-31")),
        },
        Cell::Timestamp(micros) if micros % DAY == 0 => says(micros / DAY),
        Cell::Timestamp(micros) => {
            let what = format!("{} has a time of day, where a date is declared", timestamp_written(micros));
            Err(format!("{what}: declare `timestamp`, and take `date(…)` of it"))
        }
        Cell::Plain(_) | Cell::Decimal(..) => Err(other(cell, Holds::Date)),
    }
}

/// A value as microseconds from 1970-01-01 00:00 on: a date is its first.
fn moment(cell: Cell) -> Result<i64, String> {
    match cell {
        Cell::Timestamp(micros) => Ok(micros),
        Cell::Date(days) => {
            days.checked_mul(DAY).ok_or_else(|| format!("a date {days} days from 1970-01-01 is out of bounds"))
        }
        Cell::Text(text) => timestamp(text.trim_ascii()).ok_or_else(|| {
            expected(
                text.as_bytes(),
                "a timestamp, as 1994-12-31 10:30:00.25, of up to 6 digits of a second, perhaps with a zone",
            )
        }),
        Cell::Plain(_) | Cell::Decimal(..) => Err(other(cell, Holds::Timestamp)),
    }
}

/// A value as an integer, of which this power of ten is one.
fn scaled(cell: Cell, digits: u8) -> Result<i64, String> {
    let found = match cell {
        Cell::Decimal(x, own) => rescaled(x, own, digits),
        Cell::Text(text) => decimal(text.trim_ascii(), digits),
        Cell::Plain(value) if value.ty().is_float() => decimal(&shortest(value), digits),
        Cell::Plain(value) if value.ty() != Type::Bool => rescaled(value.as_i128().unwrap_or(0), 0, digits),
        Cell::Plain(_) | Cell::Date(_) | Cell::Timestamp(_) => return Err(other(cell, Holds::Decimal(digits))),
    };
    found.ok_or_else(|| no_decimal(&cell.to_string(), digits))
}

/// Why a number is none of so many digits behind its point.
fn no_decimal(number: &str, digits: u8) -> String {
    let number = number.trim_ascii();
    let part = number.split_once('.').map_or("", |(_, part)| part).trim_end_matches('0');
    let numeric = number.bytes().any(|b| b.is_ascii_digit())
        && number
            .bytes()
            .enumerate()
            .all(|(n, b)| b.is_ascii_digit() || b == b'.' || n == 0 && (b == b'-' || b == b'+'));
    if !numeric {
        return expected(number.as_bytes(), &format!("a decimal number with up to {digits} digits behind its point"));
    }
    let number = clipped(number);
    match part.len() > digits.into() {
        true => format!("{number} has {} digits behind its point, and `dec({digits})` holds {digits}", part.len()),
        false => format!("{number} is beyond the largest `dec({digits})`, {}", written(i64::MAX.into(), digits)),
    }
}

/// The digits of a float as it prints, of its own type.
fn shortest(value: Value) -> String {
    match value.ty() {
        Type::F32 => (value.as_f64() as f32).to_string(),
        _ => value.as_f64().to_string(),
    }
}

/// An integer of which 10^from is one, as one of which 10^to is; none if it is none, or does not fit.
fn rescaled(x: i128, from: u8, to: u8) -> Option<i64> {
    let x = match to.checked_sub(from) {
        Some(more) => x.checked_mul(10i128.checked_pow(more.into())?)?,
        None => {
            let one = 10i128.checked_pow((from - to).into())?;
            (x % one == 0).then_some(x / one)?
        }
    };
    i64::try_from(x).ok()
}

/// That a column holds other values than are declared.
fn other(cell: Cell, holds: Holds) -> String {
    let is = match cell {
        Cell::Plain(value) => format!("{value}, of type {},", value.ty()),
        Cell::Date(_) => "a date".to_string(),
        Cell::Timestamp(_) => "a timestamp".to_string(),
        Cell::Decimal(x, digits) => format!("the decimal {}", written(x, digits)),
        Cell::Text(text) => {
            let begin: String = text.chars().take(40).collect();
            format!("the text `{begin}`")
        }
    };
    format!("{is} stands where the program declares {}", declared(holds))
}

/// What a declaration says, for messages.
pub(super) fn declared(holds: Holds) -> String {
    match holds {
        Holds::Plain(ty) => format!("`{ty}`"),
        Holds::Date => "`date`".to_string(),
        Holds::Timestamp => "`timestamp`".to_string(),
        Holds::Decimal(digits) => format!("`dec({digits})`"),
        Holds::Domain(_) => "a domain".to_string(),
        Holds::Text => "`string`".to_string(),
    }
}
