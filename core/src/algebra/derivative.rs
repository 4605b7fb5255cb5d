//! How built-in functions move: the column of derivatives in their table.
//!
//! ```text
//!  f(x, y)   along x:  w · ∂f/∂x        along y:  w · ∂f/∂y
//! ```
//!
//! Each entry is linear in its weight `w`. With a tangent for `w` it is a term of the tangent of `f`; with a gradient of `f`'s value it is what
//! reaches the argument: both directions read one column. Source of the formulas: differentiation by hand;
//! `semantics/src/algebra/dual.rs` has them a second time, and is compared with differences of values.

use super::Op;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// How a function's value moves if its arguments do.
#[derive(Clone, Copy, Debug)]
pub enum Derivative {
    /// Not at all: it is no float, or it is constant between its jumps.
    Nothing,
    /// For each argument the weight times the derivative; `None` where an argument moves nothing.
    Along(&'static [Option<fn() -> Slope>]),
    /// As its construct says: `coalesce`, which evaluates its arguments one by one.
    Construct,
    /// It has none.
    Missing,
}

/// An expression of a derivative, over a weight and the arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Slope {
    /// What is multiplied with the derivative.
    Weight,
    /// The value of the call.
    Value,
    /// An argument, from 0 on.
    Argument(usize),
    /// A number of the argument's type.
    Number(f64),
    /// A built-in function.
    Call(Op, Vec<Slope>),
}

/// The weight.
pub(super) const W: Slope = Slope::Weight;
/// The value of the call.
pub(super) const V: Slope = Slope::Value;
/// The first argument.
pub(super) const X: Slope = Slope::Argument(0);
/// The second argument.
pub(super) const Y: Slope = Slope::Argument(1);

/// A number.
pub(super) fn n(x: f64) -> Slope {
    Slope::Number(x)
}

/// A function of one expression.
pub(super) fn of(op: Op, x: Slope) -> Slope {
    Slope::Call(op, vec![x])
}

/// A function of two expressions.
pub(super) fn both(op: Op, x: Slope, y: Slope) -> Slope {
    Slope::Call(op, vec![x, y])
}

/// An expression times itself.
pub(super) fn square(x: Slope) -> Slope {
    x.clone() * x
}

macro_rules! operators {
    ($($name:ident $method:ident),*) => {$(
        impl $name for Slope {
            type Output = Slope;

            fn $method(self, other: Slope) -> Slope {
                both(Op::$name, self, other)
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Slope {
    type Output = Slope;

    fn neg(self) -> Slope {
        of(Op::Neg, self)
    }
}
