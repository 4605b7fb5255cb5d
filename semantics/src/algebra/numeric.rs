//! What the meaning computes with: numbers, or dual numbers.

use super::{Number, Reason, number};
use fiberloom_core::algebra::{Mode, Op, Value};
use std::fmt::Debug;

/// A value of an evaluation. The meaning is one text over this trait, so that values and their derivatives are evaluated alike.
pub trait Numeric: Copy + PartialEq + Debug {
    /// A value that is given, not computed, and does not move.
    fn given(value: Value) -> Self;

    /// The value itself.
    fn value(&self) -> Value;

    /// The number, if it does not move: then it may be what an annihilator takes it for.
    fn unmoved(&self) -> Option<&Number>;

    /// `op` applied to arguments of its types; `None` for other types.
    fn apply(op: Op, args: &[Self], mode: Mode) -> Option<Self>;

    /// As [`Number::computed`].
    #[must_use]
    fn computed(self) -> Self;

    /// As [`Number::stored`].
    #[must_use]
    fn stored(self) -> Self;

    /// The same value, about which nothing is promised.
    #[must_use]
    fn promising_nothing(self, reason: Reason) -> Self;

    /// As [`Number::reordered`].
    #[must_use]
    fn reordered(self, n: u64) -> Self;

    /// As [`Number::plus_exactly`].
    fn plus_exactly(&self, term: &Self, n: u128) -> Option<Self>;

    /// As [`Number::is_exactly`].
    fn is_exactly(&self, other: &Self) -> bool;

    /// As [`Number::multiplies_as`].
    fn multiplies_as(&self, other: &Self) -> bool;

    /// The reason why nothing is promised about the value, if so.
    fn reason(&self) -> Option<Reason>;

    /// Whether nothing is promised about the value.
    fn is_unpromised(&self) -> bool {
        self.reason().is_some()
    }
}

impl Numeric for Number {
    fn given(value: Value) -> Number {
        Number::given(value)
    }

    fn value(&self) -> Value {
        self.value
    }

    fn unmoved(&self) -> Option<&Number> {
        Some(self)
    }

    fn apply(op: Op, args: &[Number], mode: Mode) -> Option<Number> {
        number::apply(op, args, mode)
    }

    fn computed(self) -> Number {
        Number::computed(self)
    }

    fn stored(self) -> Number {
        Number::stored(self)
    }

    fn promising_nothing(self, reason: Reason) -> Number {
        Number::unpromised(self.value, reason)
    }

    fn reordered(self, n: u64) -> Number {
        Number::reordered(self, n)
    }

    fn plus_exactly(&self, term: &Number, n: u128) -> Option<Number> {
        Number::plus_exactly(self, term, n)
    }

    fn is_exactly(&self, other: &Number) -> bool {
        Number::is_exactly(self, other)
    }

    fn multiplies_as(&self, other: &Number) -> bool {
        Number::multiplies_as(self, other)
    }

    fn reason(&self) -> Option<Reason> {
        Number::reason(self)
    }
}
