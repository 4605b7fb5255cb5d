//! What each built-in function computes.
//!
//! Integers are computed exactly in 128 bits and wrapped; `f32` and `f64` each in their own type, rounded once;
//! exponentials, logarithms, powers and angles as `elementary` says. A NaN that is computed is the one of
//! [`f64::NAN`]'s bits, so that equal answers are equal bits.

use super::op::typed;
use super::{Mode, Op, Type, Value};

/// What a call of `op` in a program comes to: [`apply`], but in `algebraic` mode 0/x is 0 for every float x. `None` if
/// the arguments have not the types that the operation takes.
pub fn evaluate(op: Op, args: &[Value], mode: Mode) -> Option<Value> {
    let value = apply(op, args)?;
    let annihilated = matches!(op, Op::Div | Op::FloorDiv) && mode == Mode::Algebraic && !args[0].is_true();
    Some(if annihilated { Value::zero(value.ty()) } else { value })
}

/// `op` applied, as loops and `strict` mode do: floats have IEEE 754's quotients. `None` if the arguments have not the types that the operation takes.
///
/// `coalesce` is its first argument: what is `missing` has no value and never comes here.
pub fn apply(op: Op, args: &[Value]) -> Option<Value> {
    let ty = typed(op, args.len(), |i| args[i].ty())?;
    let result = match (op, args) {
        (Op::Coalesce, [a, ..]) => *a,
        (Op::Convert(to), [a]) => convert(*a, to),
        (Op::Select, [c, a, b]) => *if c.is_true() { a } else { b },
        (Op::Mask, [c, a]) => {
            if c.is_true() {
                *a
            } else {
                Value::zero(ty)
            }
        }
        (Op::Ldexp, [a, n]) => ldexp(*a, n.as_i128()?),
        (_, [a, b]) if op.is_comparison() => compare(op, *a, *b),
        (_, [a]) if op.asks_float() => ask(op, a.as_f64()),
        (_, [a, ..]) => match a.ty() {
            Type::F32 => float32(op, *a, args.last()?),
            Type::F64 => float64(op, *a, args.last()?),
            _ => integer(op, *a, args.last()?)?,
        },
        _ => return None,
    };
    Some(if result.is_nan() { Value::from_f64(ty, f64::NAN) } else { result })
}

/// The value of type `to` that is nearest to `a` in `to`'s range; `x != 0` for `bool`.
fn convert(a: Value, to: Type) -> Value {
    match (a.as_i128(), to.range()) {
        _ if to == Type::Bool => Value::bool(a.is_true()),
        (Some(x), Some((least, greatest))) => Value::from_i128(to, x.clamp(least, greatest)),
        (Some(x), None) => Value::from_i128(to, x),
        // A cast of Rust's saturates, and makes NaN 0.
        (None, Some((least, greatest))) => Value::from_i128(to, (a.as_f64() as i128).clamp(least, greatest)),
        (None, None) => Value::from_f64(to, a.as_f64()),
    }
}

/// x · 2ⁿ, rounded once.
fn ldexp(a: Value, n: i128) -> Value {
    // Beyond these exponents every float has long become 0 or infinite.
    let n = n.clamp(-10_000, 10_000) as i32;
    match a.ty() {
        Type::F32 => f32_value(libm::ldexpf(a.as_f64() as f32, n)),
        ty => Value::from_f64(ty, libm::ldexp(a.as_f64(), n)),
    }
}

fn compare(op: Op, a: Value, b: Value) -> Value {
    let order = match (a.as_i128(), b.as_i128()) {
        (Some(x), Some(y)) => Some(x.cmp(&y)),
        _ => a.as_f64().partial_cmp(&b.as_f64()),
    };
    Value::bool(match op {
        Op::Lt => order.is_some_and(|o| o.is_lt()),
        Op::Le => order.is_some_and(|o| o.is_le()),
        Op::Gt => order.is_some_and(|o| o.is_gt()),
        Op::Ge => order.is_some_and(|o| o.is_ge()),
        Op::Eq => order.is_some_and(|o| o.is_eq()),
        _ => order.is_none_or(|o| o.is_ne()),
    })
}

fn ask(op: Op, x: f64) -> Value {
    Value::bool(match op {
        Op::SignBit => x.is_sign_negative() && !x.is_nan(),
        Op::IsNan => x.is_nan(),
        Op::IsInf => x.is_infinite(),
        _ => x.is_finite(),
    })
}

/// Functions of integers and of `bool`; of a unary one, `b` is `a` again.
fn integer(op: Op, a: Value, b: &Value) -> Option<Value> {
    let ty = a.ty();
    let (x, y) = (a.as_i128()?, b.as_i128()?);
    let wide = match op {
        Op::Add if ty == Type::Bool => x | y,
        Op::Mul if ty == Type::Bool => x & y,
        Op::Add => x + y,
        Op::Sub => x - y,
        // Wraps at 128 bits too, which does not change the low ones.
        Op::Mul => x.wrapping_mul(y),
        Op::Div => x.checked_div(y).unwrap_or(0),
        Op::Rem => x.checked_rem(y).unwrap_or(0),
        Op::Pow => power(x, y),
        Op::Min => x.min(y),
        Op::Max => x.max(y),
        Op::And | Op::AndAlso => x & y,
        Op::Or | Op::OrElse => x | y,
        Op::Xor => x ^ y,
        Op::Shl => x << (y & (ty.bits() as i128 - 1)),
        Op::Shr => x >> (y & (ty.bits() as i128 - 1)),
        Op::Neg => -x,
        Op::Not if ty == Type::Bool => 1 - x,
        Op::Not => !x,
        Op::Abs => x.abs(),
        Op::Sign => x.signum(),
        Op::Gcd => gcd(x.unsigned_abs(), y.unsigned_abs()) as i128,
        // Rounding down differs from rounding toward zero where there is a rest of the other sign.
        Op::FloorDiv => {
            let rest = x.checked_rem(y).unwrap_or(0);
            x.checked_div(y).unwrap_or(0) - (rest != 0 && (rest < 0) != (y < 0)) as i128
        }
        Op::FloorRem => {
            let rest = x.checked_rem(y).unwrap_or(0);
            if rest != 0 && (rest < 0) != (y < 0) { rest + y } else { rest }
        }
        Op::TrailingZeros => a.bits().trailing_zeros() as i128,
        _ => return None,
    };
    Some(Value::from_i128(ty, wide))
}

/// xʸ in the low 64 bits; 0 for negative `y`, unless `x` is ±1.
fn power(x: i128, y: i128) -> i128 {
    if y < 0 {
        return match x {
            1 => 1,
            -1 => 1 - 2 * (y & 1),
            _ => 0,
        };
    }
    let (mut base, mut rest, mut product) = (x, y, 1i128);
    while rest > 0 {
        if rest & 1 == 1 {
            product = product.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        rest >>= 1;
    }
    product
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn f32_value(x: f32) -> Value {
    Value::from_bits(Type::F32, x.to_bits() as u64)
}

/// What [`floats`] calls for `f64`.
mod wide {
    pub use super::super::{elementary, floor_div, floor_rem};
    pub use libm::{ceil, copysign, floor, fmaximum, fminimum, fmod, nextafter, roundeven, sqrt, trunc};
}

/// What [`floats`] calls for `f32`.
mod narrow {
    pub use super::super::{elementaryf as elementary, floor_divf as floor_div, floor_remf as floor_rem};
    pub use libm::{
        ceilf as ceil, copysignf as copysign, floorf as floor, fmaximumf as fmaximum, fminimumf as fminimum,
        fmodf as fmod, nextafterf as nextafter, roundevenf as roundeven, sqrtf as sqrt, truncf as trunc,
    };
}

/// The functions of one float type, each computed in that type; of a unary one, `b` is `a` again.
macro_rules! floats {
    ($name:ident, $float:ty, $library:ident, $read:expr, $write:expr) => {
        fn $name(op: Op, a: Value, b: &Value) -> Value {
            let (x, y): ($float, $float) = ($read(a), $read(*b));
            $write(match op {
                Op::Add => x + y,
                Op::Sub => x - y,
                Op::Mul => x * y,
                Op::Div => x / y,
                Op::Rem => $library::fmod(x, y),
                Op::FloorDiv => $library::floor_div(x, y),
                Op::FloorRem => $library::floor_rem(x, y),
                // NaN wins, and −0.0 is less than 0.0.
                Op::Min => $library::fminimum(x, y),
                Op::Max => $library::fmaximum(x, y),
                Op::Neg => -x,
                Op::Abs => x.abs(),
                Op::Sign if x > 0.0 => 1.0,
                Op::Sign if x < 0.0 => -1.0,
                Op::Sign => {
                    if x.is_nan() {
                        x
                    } else {
                        0.0
                    }
                }
                Op::CopySign if y.is_nan() => x.abs(),
                Op::CopySign => $library::copysign(x, y),
                Op::Floor => $library::floor(x),
                Op::Ceil => $library::ceil(x),
                Op::Round => $library::roundeven(x),
                Op::Trunc => $library::trunc(x),
                Op::NextAfter => $library::nextafter(x, y),
                Op::Sqrt => $library::sqrt(x),
                _ => $library::elementary(op, x, y).expect("`typed` admits no other function of floats"),
            })
        }
    };
}

floats!(float64, f64, wide, Value::as_f64, |x| Value::from_f64(Type::F64, x));
floats!(float32, f32, narrow, |v: Value| v.as_f64() as f32, f32_value);
