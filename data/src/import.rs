//! From what a file holds to a tensor as declared.
//!
//! Invariants of the result: it passes [`Tensor::check`], its type, rank and fill value are the declared ones, each of
//! its values is equal to the file's as a number, and its format is [`Format::stored`] of the declared one.

use super::number::clipped;
use super::{Cause, Declared, Fault, Options, Place};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Array, Assembly, Entries, Error, Format, Level, Tensor, room};

/// What a file holds.
pub(super) enum Contents {
    /// A value at every coordinate.
    Dense {
        /// Extent of each mode.
        extents: Vec<u64>,
        /// Whether the first mode's coordinate runs fastest, not the last one's.
        first_fastest: bool,
        /// The values.
        values: Array<'static>,
    },
    /// Some coordinates' values, in any order.
    Sparse {
        /// Extent of each mode.
        extents: Vec<u64>,
        /// The values with their coordinates.
        entries: Entries<'static>,
    },
}

/// The tensor of these contents, whose values are of the declared type. `place` says where in the file element `e` is.
pub(super) fn import(
    contents: Contents,
    declared: &Declared,
    options: &Options,
    place: &dyn Fn(usize) -> Place,
) -> Result<Tensor<'static>, Fault> {
    let how = Assembly { duplicates: options.duplicates, limit: options.limit, ..Assembly::default() };
    let format = declared.format.stored();
    let tensor = match contents {
        Contents::Sparse { extents, entries } => {
            let stands = |e: &usize, at: &[i64]| entries.coordinates.iter().zip(at).all(|(column, c)| column[*e] == *c);
            let element = |at: &[i64]| (0..entries.len()).find(|e| stands(e, at));
            let tensor = entries.assemble(&extents, &format, declared.fill, &how);
            tensor.map_err(|error| fault(error, &element, place))?
        }
        Contents::Dense { extents, first_fastest, values } => {
            let of = extents.clone();
            let element = |at: &[i64]| Some(number(&of, first_fastest, at));
            let tensor = dense(extents, first_fastest, values, declared.fill).and_then(|t| t.convert(&format, &how));
            tensor.map_err(|error| fault(error, &element, place))?
        }
    };
    debug_assert_eq!(tensor.check(), Ok(()));
    Ok(tensor)
}

fn dense(
    extents: Vec<u64>,
    first_fastest: bool,
    values: Array<'static>,
    fill: Value,
) -> Result<Tensor<'static>, Error> {
    let rank = extents.len();
    let rows = Format::dense(rank);
    let format = if first_fastest { rows.reversed() } else { rows };
    let tensor = Tensor { extents, format, levels: vec![Level::Dense; rank], values, fill };
    tensor.check()?;
    Ok(tensor)
}

/// The number of the element at these coordinates of a dense tensor.
fn number(extents: &[u64], first_fastest: bool, at: &[i64]) -> usize {
    let next = |n: usize, (e, c): (&u64, &i64)| n * *e as usize + *c as usize;
    let modes = extents.iter().zip(at);
    if first_fastest { modes.rev().fold(0, next) } else { modes.fold(0, next) }
}

/// The error at its place; `element` is the number of what stands at coordinates.
fn fault(error: Error, element: &dyn Fn(&[i64]) -> Option<usize>, place: &dyn Fn(usize) -> Place) -> Fault {
    match error {
        Error::Malformed(m) if m.level.is_none() => Fault::new(place(m.position), m.what),
        Error::Twice { entries: [first, second], what } => {
            let too = match place(first) {
                Place::Line(line, _) => format!(": in line {line} too"),
                Place::Element(e) => format!(": in element {e} too"),
                Place::Whole | Place::Byte(_) | Place::Cell { .. } => String::new(),
            };
            Fault { cause: Cause::Twice, ..Fault::new(place(second), what + &too) }
        }
        Error::Unheld { at, what } => Fault::new(element(&at).map_or(Place::Whole, place), what),
        error => error.into(),
    }
}

/// What became of a tensor as a whole: it is too large, or not what a file holds.
impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let cause = if let Error::Memory { .. } = error { Cause::Limit } else { Cause::Rejected };
        Fault { cause, ..Fault::whole(error.to_string()) }
    }
}

/// The value of type `ty` that is the same number, if there is one; NaN is one of both float types, and `bool`'s
/// numbers are 0 and 1.
pub fn exact(value: Value, ty: Type) -> Option<Value> {
    let x = value.as_f64();
    match (value.as_i128(), ty.range()) {
        _ if value.ty() == ty => Some(value),
        (Some(i), Some((least, most))) => (least..=most).contains(&i).then(|| Value::from_i128(ty, i)),
        (Some(i), None) => Some(Value::from_i128(ty, i)).filter(|v| v.as_f64() as i128 == i),
        (None, Some((least, most))) => {
            let within = x.fract() == 0.0 && x.abs() < 1e30 && (least..=most).contains(&(x as i128));
            within.then(|| Value::from_i128(ty, x as i128))
        }
        (None, None) => Some(Value::from_f64(ty, x)).filter(|v| v.as_f64() == x || x.is_nan()),
    }
}

/// The values as numbers of type `ty`; refused at the first that is not exact.
pub(super) fn cast(values: Array<'static>, ty: Type) -> Result<Array<'static>, Fault> {
    match &values {
        same if same.ty() == ty => return Ok(values),
        Array::I8(all) if ty == Type::I64 => return Ok(wide(all)?),
        Array::I16(all) if ty == Type::I64 => return Ok(wide(all)?),
        Array::I32(all) if ty == Type::I64 => return Ok(wide(all)?),
        _ => {}
    }
    let mut out = room::room(values.len())?;
    for (e, value) in values.iter().enumerate() {
        match exact(value, ty) {
            Some(v) => out.push(v),
            None => return Err(Fault::new(Place::Element(e), inexact(&format!("{value}"), ty))),
        }
    }
    Ok(Array::collected(ty, out)?)
}

/// The same integers in 64 bits.
fn wide<T: Copy + Into<i64>>(all: &[T]) -> Result<Array<'static>, Error> {
    let mut out: Vec<i64> = room::room(all.len())?;
    out.extend(all.iter().map(|x| (*x).into()));
    Ok(Array::from(out))
}

/// The message for a number that a type does not hold.
pub(super) fn inexact(number: &str, ty: Type) -> String {
    format!("{} is not exactly a value of type {ty}, which the program declares", clipped(number))
}
