//! What scalar functions mean (`scalar.rs`), and when two answers agree.
//!
//! Integers and truth values agree when they are equal. Floats: in `strict` mode when their bits are equal, all NaNs
//! being one; in `algebraic` mode when they differ by no more than reassociating sums and products can make them differ:
//! a bound for each value by itself, computed with it (`number.rs`). Where the language promises nothing anything
//! agrees; such values are counted by reason ([`Unpromised`]).

mod number;
mod scalar;

pub use number::{Number, Reason, apply};
pub use scalar::identity;

use crate::meaning::Function;
use fiberloom_core::algebra::{Mode, Value};
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

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Agreement {
    /// Values that were compared: of all that is stored, and the fill values.
    pub values: u64,
    /// Those of them that nothing is promised about, so that any answer is right.
    pub unpromised: Unpromised,
}

impl Agreement {
    /// Whether any value was compared, or there are none.
    pub fn any(&self) -> bool {
        self.values == 0 || self.values > self.unpromised.total()
    }
}

/// How many values nothing is promised about, by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Unpromised {
    /// An operation of the meaning gave NaN.
    pub nan: u64,
    /// A partial result overflows in some order of evaluation.
    pub overflow: u64,
    /// A function that jumps (a comparison, a conversion to integers, a division by what may be 0) was decided by
    /// rounding, or by the sign of a computed zero.
    pub rounding: u64,
}

impl Unpromised {
    /// All of them.
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

/// As in `5 not compared: NaN in 3, overflow in 2`, without the words in front of the colon.
impl fmt::Display for Unpromised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [("NaN", self.nan), ("overflow", self.overflow), ("decided by rounding", self.rounding)];
        let said: Vec<String> =
            counts.iter().filter(|(_, n)| *n > 0).map(|(reason, n)| format!("{reason} in {n}")).collect();
        f.write_str(if said.is_empty() { "none" } else { "" })?;
        f.write_str(&said.join(", "))
    }
}

/// Whether a tensor is the function that the meaning says.
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

/// Whether two evaluations of the meaning are one function: bit for bit, all NaNs being one, but in `algebraic` mode up
/// to the sign of zero, and where the first promises nothing.
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
    // Somewhere neither has an entry: there, both are their fill values.
    if everywhere.is_none_or(|n| n > entries as u64) {
        differ(&[], meaning.fill, answer.fill)?;
    }
    Ok(compared)
}
