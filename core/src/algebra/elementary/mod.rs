//! Exponentials, logarithms, powers and angles: one text, which every engine computes bit for bit.
//!
//! ```text
//!                       ┌── R = f64 ─────▶ a value                       the meaning, the interpreter, the runtime
//!  a function of R: Real┤
//!                       └── R = Kept ────▶ Steps, one line of them       machine code, in lanes where loops are
//! ```
//!
//! | file | functions |
//! |---|---|
//! | `exponential.rs` | `exp expm1` |
//! | `logarithm.rs` | `log log1p log2 log10` |
//! | `power.rs` | `pow` |
//! | `angle.rs`, `arc.rs` | `sin cos tan`; `asin acos atan atan2` |
//! | `hyperbolic.rs` | `sinh cosh tanh asinh acosh atanh hypot` |
//! | `narrow.rs` | those of `f32` for which less suffices |
//! | `real.rs`, `steps.rs` | the arithmetic, and its steps written down |
//!
//! Invariants: a function is one line of steps without a branch, each of which rounds as IEEE 754 says; `fused` is one
//! rounding on every machine, in software where it has to be. Results are off by less than the units in the last place
//! that `docs/algebra.md` says, on every argument.

mod angle;
mod arc;
mod exponential;
mod hyperbolic;
mod logarithm;
mod narrow;
mod power;
mod real;
mod steps;

use super::{Op, Type};
pub use real::Whole;
use real::{Real, Word};
pub use steps::{Place, Step, Steps};

/// An elementary function of `f64`; `None` of any other function. Of a unary one, `y` is `x` again.
pub fn elementary(op: Op, x: f64, y: f64) -> Option<f64> {
    wide(op, x, y)
}

/// An elementary function of `f32`; `None` of any other function. Of a unary one, `y` is `x` again.
pub fn elementaryf(op: Op, x: f32, y: f32) -> Option<f32> {
    of_f32(op, x as f64, y as f64).map(|z| z as f32)
}

/// The steps of an elementary function; `None` of any other. Arguments of `f32` are made `f64`, and the result `f32`.
pub fn steps(op: Op, ty: Type) -> Option<Steps> {
    Steps::of(|x, y| if ty == Type::F32 { of_f32(op, x, y) } else { wide(op, x, y) })
}

/// The functions of `f64`.
fn wide<R: Real>(op: Op, x: R, y: R) -> Option<R> {
    Some(match op {
        Op::Exp => exponential::exp(x),
        Op::Expm1 => exponential::expm1(x),
        Op::Log => logarithm::log(x),
        Op::Log1p => logarithm::log1p(x),
        Op::Log2 => logarithm::log2(x),
        Op::Log10 => logarithm::log10(x),
        Op::Pow => power::pow(x, y),
        Op::Sin => angle::sin(x),
        Op::Cos => angle::cos(x),
        Op::Tan => angle::tan(x),
        Op::Asin => arc::asin(x),
        Op::Acos => arc::acos(x),
        Op::Atan => arc::atan(x),
        Op::Atan2 => arc::atan2(x, y),
        Op::Sinh => hyperbolic::sinh(x),
        Op::Cosh => hyperbolic::cosh(x),
        Op::Tanh => hyperbolic::tanh(x),
        Op::Asinh => hyperbolic::asinh(x),
        Op::Acosh => hyperbolic::acosh(x),
        Op::Atanh => hyperbolic::atanh(x),
        Op::Hypot => hyperbolic::hypot(x, y),
        _ => return None,
    })
}

/// The functions of `f32`, before they are rounded.
fn of_f32<R: Real>(op: Op, x: R, y: R) -> Option<R> {
    Some(match op {
        Op::Exp => narrow::exp(x),
        Op::Expm1 => narrow::expm1(x),
        Op::Log => narrow::log(x),
        Op::Log1p => narrow::log1p(x),
        Op::Log2 => narrow::log2(x),
        Op::Log10 => narrow::log10(x),
        Op::Pow => narrow::pow(x, y),
        Op::Sin => narrow::sin(x),
        Op::Cos => narrow::cos(x),
        Op::Tan => narrow::tan(x),
        Op::Sinh => narrow::sinh(x),
        Op::Cosh => narrow::cosh(x),
        Op::Tanh => narrow::tanh(x),
        _ => return wide(op, x, y),
    })
}

/// The polynomial of these coefficients, the constant one first.
#[inline(always)]
fn polynomial<R: Real, const N: usize>(x: R, coefficients: [f64; N]) -> R {
    let last = R::from(coefficients[N - 1]);
    coefficients[..N - 1].iter().rev().fold(last, |sum, c| sum.fused(x, *c))
}

/// The lesser of a number and a bound; NaN stays.
#[inline(always)]
fn lesser<R: Real>(x: R, bound: f64) -> R {
    R::choose(R::from(bound).is_below(x), bound, x)
}

/// A sum, and what rounding took from it.
#[inline(always)]
fn sum<R: Real>(x: R, y: R) -> (R, R) {
    let sum = x + y;
    let of_y = sum - x;
    (sum, (x - (sum - of_y)) + (y - of_y))
}

/// Two to the power of a whole number from −1022 to 1023.
#[inline(always)]
fn two<R: Real>(n: R::Word) -> R {
    n.plus(1023).left(52).real()
}

/// A number that is not negative, with the sign of another.
#[inline(always)]
fn with_sign<R: Real>(x: R, of: R) -> R {
    (x.bits() | (of.bits() & (1u64 << 63).into())).real()
}
