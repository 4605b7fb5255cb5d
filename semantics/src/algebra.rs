//! The meaning of scalar functions (`scalar.rs`), and the agreement of two answers.
//!
//! Integers and truth values agree when they are equal. Floats in `strict` mode agree when their bits are equal, all NaNs being one. In
//! `algebraic` mode they agree when they differ by no more than reassociating sums and products can make them differ: each value carries
//! its own bound, computed with it (`number.rs`). Where the language promises nothing, any answer agrees; such values are counted by
//! reason ([`Unpromised`]).

mod dual;
mod number;
mod numeric;
mod scalar;

pub use dual::Dual;
pub use number::{Number, Reason, apply};
pub use numeric::Numeric;
pub use scalar::identity;

use crate::meaning::Function;
use fiberloom_core::algebra::{Mode, Value};
use fiberloom_core::format::Tensor;
use std::fmt;

/// The first coordinate at which an answer is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The extents or the type differ from the meaning's.
    Shape(String),
    /// A value differs.
    Value {
        /// The coordinate.
        at: Vec<i64>,
        /// The meaning's value.
        expected: Value,
        /// The answer's value.
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

/// The counts of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Agreement {
    /// The number of values compared: those that are stored, and the fill values.
    pub values: u64,
    /// The number of those about which nothing is promised, so that any answer is right.
    pub unpromised: Unpromised,
}

impl Agreement {
    /// Whether any value was compared whose answer matters, or there was no value.
    pub fn any(&self) -> bool {
        self.values == 0 || self.values > self.unpromised.total()
    }
}

/// The number of values about which nothing is promised, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Unpromised {
    /// The values of which an operation of the meaning gave NaN.
    pub nan: u64,
    /// The values of which a partial result overflows in some order of evaluation.
    pub overflow: u64,
    /// The values of which a discontinuous function (a comparison, a conversion to integers, a division by what may be 0) was decided by
    /// rounding, or by the sign of a computed zero.
    pub rounding: u64,
}

impl Unpromised {
    /// The number of all of them.
    pub fn total(&self) -> u64 {
        self.nan + self.overflow + self.rounding
    }

    fn count(&mut self, value: &Number) {
        match value.reason() {
            None => {}
            Some(Reason::Nan) => self.nan += 1,
            Some(Reason::Overflow) => self.overflow += 1,
            Some(Reason::Rounding) => self.rounding += 1,
        }
    }
}

impl std::ops::AddAssign for Agreement {
    fn add_assign(&mut self, other: Agreement) {
        self.values += other.values;
        self.unpromised += other.unpromised;
    }
}

impl std::ops::AddAssign for Unpromised {
    fn add_assign(&mut self, other: Unpromised) {
        self.nan += other.nan;
        self.overflow += other.overflow;
        self.rounding += other.rounding;
    }
}

/// Prints the counts as `NaN in 3, overflow in 2`.
impl fmt::Display for Unpromised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [("NaN", self.nan), ("overflow", self.overflow), ("decided by rounding", self.rounding)];
        let said: Vec<String> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(reason, n)| format!("{reason} in {n}")).collect();
        f.write_str(if said.is_empty() { "none" } else { "" })?;
        f.write_str(&said.join(", "))
    }
}

/// Whether a tensor is the meaning's function.
///
/// # Errors
/// The first difference.
///
/// # Panics
/// If the tensor is malformed.
pub fn agree(meaning: &Function, answer: &Tensor, mode: Mode) -> Result<Agreement, Difference> {
    if meaning.extents != answer.extents || meaning.ty != answer.fill.ty() {
        let (is, says) = (&answer.extents, &meaning.extents);
        let what = format!("it is {}{is:?}, and the meaning is {}{says:?}", answer.fill.ty(), meaning.ty);
        return Err(Difference::Shape(what));
    }
    compare(meaning, &Function::of(answer), |expected, found| expected.permits(found.value, mode))
}

/// Whether two evaluations of the meaning are the same function: bit for bit, all NaNs being one. In `algebraic` mode the sign of zero
/// may differ, and values about which the first promises nothing.
///
/// # Errors
/// The first difference.
pub fn same(one: &Function, other: &Function, mode: Mode) -> Result<Agreement, Difference> {
    compare(one, other, |a, b| {
        let (x, y) = (a.value, b.value);
        let zeros = || x.ty().is_float() && x.as_f64() == 0.0 && y.as_f64() == 0.0;
        let promised = a.is_unpromised() || !b.is_unpromised();
        let equal = x == y || x.is_nan() && y.is_nan() || mode == Mode::Algebraic && (zeros() || a.is_unpromised());
        equal && promised
    })
}

fn compare(
    meaning: &Function,
    answer: &Function,
    permits: impl Fn(&Number, &Number) -> bool,
) -> Result<Agreement, Difference> {
    let mut compared = Agreement::default();
    let mut differ = |at: &[i64], expected: Number, found: Number| {
        compared.values += 1;
        compared.unpromised.count(&expected);
        match permits(&expected, &found) {
            true => Ok(()),
            false => Err(Difference::Value { at: at.to_vec(), expected: expected.value, found: found.value }),
        }
    };
    let further = || answer.entries.keys().filter(|at| !meaning.entries.contains_key(*at));
    for at in meaning.entries.keys().chain(further()) {
        differ(at, meaning.at(at), answer.at(at))?;
    }
    let entries = meaning.entries.len() + further().count();
    let everywhere = meaning.extents.iter().try_fold(1u64, |n, e| n.checked_mul(*e));
    // At some coordinate neither has an entry: their fill values are compared.
    if everywhere.is_none_or(|n| n > entries as u64) {
        differ(&[], meaning.fill, answer.fill)?;
    }
    Ok(compared)
}
