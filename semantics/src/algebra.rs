//! What scalar functions mean (`scalar.rs`), and when two answers agree.
//!
//! Integers and truth values agree when they are equal. Floats: in `strict` mode when their bits are equal, all NaNs
//! being one; in `algebraic` mode when they differ by no more than reassociating sums can make them differ, taken
//! relative to the largest number of the answer, where the meaning yields a number at all.

mod scalar;

pub use scalar::{apply, identity};

use crate::meaning::Function;
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::Tensor;
use std::fmt;

/// The first coordinate at which an answer is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The extents or the type are not the meaning's.
    Shape(String),
    /// A value is another.
    Value {
        /// Where.
        at: Vec<i64>,
        /// What the meaning says.
        expected: Value,
        /// What was answered.
        found: Value,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Shape(what) => f.write_str(what),
            Difference::Value { at, expected, found } => {
                let at: Vec<String> = at.iter().map(i64::to_string).collect();
                write!(f, "at [{}] it is {found}, and the meaning is {expected}", at.join(", "))
            }
        }
    }
}

/// Whether a tensor is the function that the meaning says.
///
/// # Errors
/// The first difference.
///
/// # Panics
/// If the tensor is malformed.
pub fn agree(meaning: &Function, answer: &Tensor, mode: Mode) -> Result<(), Difference> {
    if meaning.extents != answer.extents || meaning.ty != answer.fill.ty() {
        let (is, says) = (&answer.extents, &meaning.extents);
        let what = format!("it is {}{is:?}, and the meaning is {}{says:?}", answer.fill.ty(), meaning.ty);
        return Err(Difference::Shape(what));
    }
    let answer = Function::of(answer);
    let largest = [meaning, &answer].map(largest).into_iter().fold(0.0, f64::max);
    let differ = |at: &[i64], expected: Value, found: Value| match same(expected, found, largest, mode) {
        true => Ok(()),
        false => Err(Difference::Value { at: at.to_vec(), expected, found }),
    };
    for at in meaning.entries.keys().chain(answer.entries.keys()) {
        differ(at, meaning.at(at), answer.at(at))?;
    }
    let everywhere = meaning.extents.iter().try_fold(1u64, |n, e| n.checked_mul(*e));
    let entries = meaning.entries.keys().filter(|at| !answer.entries.contains_key(*at)).count() + answer.entries.len();
    // Somewhere neither has an entry: there, both are their fill values.
    if everywhere.is_none_or(|n| n > entries as u64) {
        differ(&[], meaning.fill, answer.fill)?;
    }
    Ok(())
}

/// The largest finite magnitude of a function's values.
fn largest(f: &Function) -> f64 {
    f.entries.values().chain([&f.fill]).map(|v| v.as_f64().abs()).filter(|x| x.is_finite()).fold(0.0, f64::max)
}

/// Whether two values of one type agree; `largest` is the magnitude to which rounding is relative.
fn same(expected: Value, found: Value, largest: f64, mode: Mode) -> bool {
    let (x, y) = (expected.as_f64(), found.as_f64());
    match (expected.ty(), mode) {
        _ if expected == found => true,
        (ty, _) if !ty.is_float() => false,
        (_, Mode::Strict) => x.is_nan() && y.is_nan(),
        // Where the meaning yields no number, algebraic mode promises nothing.
        (_, Mode::Algebraic) if x.is_nan() => true,
        (Type::F32, _) => (x - y).abs() <= largest * 2f64.powi(-14),
        _ => (x - y).abs() <= largest * 2f64.powi(-38),
    }
}
