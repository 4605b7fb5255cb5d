//! The meaning of scalar functions.
//!
//! Integers are exact: a function is computed on whole numbers and the result taken modulo 2ⁿ. Floats are IEEE 754: an `f32` result is
//! the `f64` result rounded once more, which for the four operations and the square root is correctly rounded (53 ≥ 2·24 + 2 bits).
//! Powers of `f64` with small whole exponents are rounded once. Other transcendental functions come from `libm`, as in every engine.
//!
//! Independent of `core::algebra::apply`, which compilers use; tests compare the two.

use fiberloom_core::algebra::{self, Op, Type, Value};
use std::cmp::Ordering;

/// `op` applied to arguments of its types; `None` for other types.
pub fn apply(op: Op, args: &[Value]) -> Option<Value> {
    let result = match (op, args) {
        (Op::Coalesce, [a, ..]) => Some(*a),
        (Op::Convert(to), [a]) => Some(convert(*a, to)),
        (Op::Select, [c, a, b]) if a.ty() == b.ty() => Some(if c.is_true() { *a } else { *b }),
        (Op::Mask, [c, a]) => Some(if c.is_true() { *a } else { Value::zero(a.ty()) }),
        (Op::Ldexp, [a, n]) => {
            let n = n.as_i128()?.clamp(-5000, 5000) as i32;
            a.ty().is_float().then(|| Value::from_f64(a.ty(), libm::ldexp(a.as_f64(), n)))
        }
        (_, [a]) => unary(op, *a),
        (_, [a, b]) if a.ty() == b.ty() => compared(op, *a, *b).or_else(|| binary(op, *a, *b)),
        _ => None,
    }?;
    // All NaNs are the same value.
    Some(if result.is_nan() { Value::from_f64(result.ty(), f64::NAN) } else { result })
}

/// The value of a fold over nothing.
pub fn identity(op: Op, ty: Type) -> Option<Value> {
    let (least, greatest) = match ty.range() {
        Some((least, greatest)) => (Value::from_i128(ty, least), Value::from_i128(ty, greatest)),
        None => (Value::from_f64(ty, f64::NEG_INFINITY), Value::from_f64(ty, f64::INFINITY)),
    };
    match op {
        Op::Add => Some(Value::zero(ty)),
        Op::Or | Op::Xor if !ty.is_float() => Some(Value::zero(ty)),
        Op::Gcd if ty.is_integer() => Some(Value::zero(ty)),
        Op::OrElse if ty == Type::Bool => Some(Value::zero(ty)),
        Op::AndAlso if ty == Type::Bool => Some(Value::one(ty)),
        Op::And if !ty.is_float() => Some(Value::from_i128(ty, -1)),
        Op::Mul => Some(Value::one(ty)),
        Op::Min => Some(greatest),
        Op::Max => Some(least),
        _ => None,
    }
}

/// The nearest value of the type. Conversion to integers clamps to the range and gives 0 for NaN; to `bool`, everything but 0 is `true`.
fn convert(a: Value, to: Type) -> Value {
    match (to.range(), a.as_i128()) {
        _ if to == Type::Bool => Value::bool(a.is_true()),
        (None, Some(x)) => Value::from_i128(to, x),
        (None, None) => Value::from_f64(to, a.as_f64()),
        (Some((least, most)), x) => {
            let x = x.unwrap_or_else(|| if a.is_nan() { 0 } else { a.as_f64().trunc() as i128 });
            Value::from_i128(to, x.max(least).min(most))
        }
    }
}

fn compared(op: Op, a: Value, b: Value) -> Option<Value> {
    let order = match (a.as_i128(), b.as_i128()) {
        (Some(x), Some(y)) => Some(x.cmp(&y)),
        _ => a.as_f64().partial_cmp(&b.as_f64()),
    };
    Some(Value::bool(match op {
        Op::Lt => order == Some(Ordering::Less),
        Op::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Op::Gt => order == Some(Ordering::Greater),
        Op::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        Op::Eq => order == Some(Ordering::Equal),
        Op::Ne => order != Some(Ordering::Equal),
        _ => return None,
    }))
}

fn unary(op: Op, a: Value) -> Option<Value> {
    let ty = a.ty();
    if ty.is_float() {
        let x = a.as_f64();
        let answer = match op {
            Op::IsNan => Some(x.is_nan()),
            Op::IsInf => Some(x.abs() == f64::INFINITY),
            Op::IsFinite => Some(x.abs() < f64::INFINITY),
            // All NaNs are the same value, without a sign.
            Op::SignBit => Some(x < 0.0 || x == 0.0 && 1.0 / x < 0.0),
            _ => None,
        };
        if answer.is_some() {
            return answer.map(Value::bool);
        }
    }
    if let Some(x) = a.as_i128() {
        return match (op, ty) {
            (Op::Not, Type::Bool) => Some(Value::bool(x == 0)),
            (_, Type::Bool) => None,
            (Op::Neg, _) => Some(Value::from_i128(ty, -x)),
            (Op::Not, _) => Some(Value::from_i128(ty, -1 - x)),
            (Op::Abs, _) => Some(Value::from_i128(ty, if x < 0 { -x } else { x })),
            (Op::Sign, _) => Some(Value::from_i128(ty, (x > 0) as i128 - (x < 0) as i128)),
            (Op::TrailingZeros, Type::I64) => {
                let lowest = (0..64).find(|bit| x >> bit & 1 == 1);
                Some(Value::from_i128(ty, lowest.unwrap_or(64)))
            }
            _ => None,
        };
    }
    let x = a.as_f64();
    Some(Value::from_f64(
        ty,
        match op {
            Op::Neg => -x,
            Op::Abs => x.abs(),
            Op::Sqrt => x.sqrt(),
            Op::Floor => x.floor(),
            Op::Ceil => x.ceil(),
            Op::Round => x.round_ties_even(),
            Op::Trunc => x.trunc(),
            Op::Sign if x == 0.0 || x.is_nan() => x.abs(),
            Op::Sign => {
                if x < 0.0 {
                    -1.0
                } else {
                    1.0
                }
            }
            _ => return elementary(op, x, x, ty).map(|z| Value::from_f64(ty, z)),
        },
    ))
}

fn binary(op: Op, a: Value, b: Value) -> Option<Value> {
    match (a.ty(), a.as_i128(), b.as_i128()) {
        (Type::Bool, Some(x), Some(y)) => truth(op, x != 0, y != 0).map(Value::bool),
        (ty, Some(x), Some(y)) => whole(op, x, y, ty).map(|z| Value::from_i128(ty, z)),
        (ty, ..) => float(op, a.as_f64(), b.as_f64(), ty).map(|z| Value::from_f64(ty, z)),
    }
}

fn truth(op: Op, x: bool, y: bool) -> Option<bool> {
    match op {
        Op::Add | Op::Max | Op::Or | Op::OrElse => Some(x || y),
        Op::Mul | Op::Min | Op::And | Op::AndAlso => Some(x && y),
        Op::Xor => Some(x != y),
        _ => None,
    }
}

/// A function on whole numbers. The caller takes the result modulo the type's width.
fn whole(op: Op, x: i128, y: i128, ty: Type) -> Option<i128> {
    let places = y.rem_euclid(ty.bits() as i128) as u32;
    Some(match op {
        Op::Add => x + y,
        Op::Sub => x - y,
        // Of 64-bit factors only the low 64 bits of the product matter.
        Op::Mul => x.wrapping_mul(y),
        Op::Div | Op::Rem if y == 0 => 0,
        Op::Div => x / y,
        Op::Rem => x % y,
        Op::Min => x.min(y),
        Op::Max => x.max(y),
        Op::And => x & y,
        Op::Or => x | y,
        Op::Xor => x ^ y,
        Op::Shl => x << places,
        Op::Shr => x >> places,
        Op::Pow if y < 0 => match x {
            1 => 1,
            -1 => 1 - 2 * (y % 2).abs(),
            _ => 0,
        },
        Op::Pow => power(x, y),
        Op::Gcd => {
            let (mut m, mut n) = (x.abs(), y.abs());
            while n != 0 {
                (m, n) = (n, m % n);
            }
            m
        }
        Op::FloorDiv | Op::FloorRem if y == 0 => 0,
        // Division by a negative number is that of the negated dividend by its magnitude.
        Op::FloorDiv => (x * y.signum()).div_euclid(y.abs()),
        Op::FloorRem => y.signum() * (x * y.signum()).rem_euclid(y.abs()),
        _ => return None,
    })
}

/// xʸ modulo 2¹²⁸ for y ≥ 0, by the binary digits of y.
fn power(x: i128, y: i128) -> i128 {
    (0..i128::BITS).rev().fold(1i128, |z, digit| {
        let square = z.wrapping_mul(z);
        if y >> digit & 1 == 1 { square.wrapping_mul(x) } else { square }
    })
}

fn float(op: Op, x: f64, y: f64, ty: Type) -> Option<f64> {
    let by_type = |wide: fn(f64, f64) -> f64, narrow: fn(f32, f32) -> f32| match ty {
        Type::F32 => narrow(x as f32, y as f32) as f64,
        _ => wide(x, y),
    };
    Some(match op {
        Op::NextAfter => by_type(libm::nextafter, libm::nextafterf),
        Op::CopySign if y < 0.0 || y == 0.0 && 1.0 / y < 0.0 => -x.abs(),
        Op::CopySign => x.abs(),
        Op::FloorDiv => floored(x, y, ty).0,
        Op::FloorRem => floored(x, y, ty).1,
        Op::Add => x + y,
        Op::Sub => x - y,
        Op::Mul => x * y,
        Op::Div => x / y,
        Op::Rem => x % y,
        Op::Min | Op::Max if x.is_nan() || y.is_nan() => f64::NAN,
        Op::Min if x == y => {
            if x.is_sign_negative() {
                x
            } else {
                y
            }
        }
        Op::Max if x == y => {
            if x.is_sign_negative() {
                y
            } else {
                x
            }
        }
        Op::Min => {
            if x < y {
                x
            } else {
                y
            }
        }
        Op::Max => {
            if x > y {
                x
            } else {
                y
            }
        }
        Op::Pow if ty == Type::F64 && small_power(x, y).is_some() => small_power(x, y)?,
        _ => return elementary(op, x, y, ty),
    })
}

/// An exponential, a logarithm, a power or an angle. The single definition is tested against numbers of many digits.
fn elementary(op: Op, x: f64, y: f64, ty: Type) -> Option<f64> {
    match ty {
        Type::F32 => algebra::elementaryf(op, x as f32, y as f32).map(f64::from),
        _ => algebra::elementary(op, x, y),
    }
}

/// The quotient and remainder of NumPy's `divmod`: rounded down, the remainder with the divisor's sign.
fn floored(x: f64, y: f64, ty: Type) -> (f64, f64) {
    let rounded = |z: f64| Value::from_f64(ty, z).as_f64();
    let rest = x % y;
    if y == 0.0 {
        return (x / y, rest);
    }
    if rest == 0.0 {
        let quotient = rounded(x / y);
        let whole = quotient.round_ties_even();
        return (if whole == 0.0 { 0f64.copysign(quotient) } else { whole }, 0f64.copysign(y));
    }
    let toward_zero = rounded(rounded(x - rest) / y);
    let (quotient, rest) =
        if (rest < 0.0) == (y < 0.0) { (toward_zero, rest) } else { (rounded(toward_zero - 1.0), rounded(rest + y)) };
    let whole = (quotient + 0.5).floor();
    let whole = if quotient - quotient.floor() > 0.5 { whole } else { quotient.floor() };
    (if quotient == 0.0 { 0f64.copysign(x / y) } else { rounded(whole) }, rest)
}

/// xⁿ for whole n from 0 to 7, rounded once, if the result is zero or from 2⁻⁹⁶⁰ to 2⁹⁶⁰: a product of whole numbers, of which 128 bits
/// are kept, and whether there were more.
fn small_power(x: f64, n: f64) -> Option<f64> {
    let n = (0..8).find(|whole| *whole as f64 == n)?;
    let sign = if n % 2 == 1 { x } else { 1.0 };
    if x == 0.0 && n > 0 {
        return Some(0f64.copysign(sign));
    }
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let digits = (x.to_bits() & ((1 << 52) - 1) | 1 << 52) as u128;
    let (mut kept, mut scale, mut more) = (1u128 << 127, -127, false);
    for _ in 0..n {
        let (high, low) = ((kept >> 64) * digits, (kept & u64::MAX as u128) * digits);
        let (top, bottom) = (high + (low >> 64), low as u64);
        let room = top.leading_zeros();
        kept = top << room | (bottom >> (64 - room)) as u128;
        more |= bottom << room != 0;
        scale += exponent - 52 + 64 - room as i32;
    }
    let (whole, rest) = (kept >> 75, kept & ((1 << 75) - 1));
    let up = (rest, more, whole & 1).cmp(&(1 << 74, false, 1)).is_ge();
    let power = libm::ldexp((whole + up as u128) as f64, scale + 75);
    let plain = (2f64.powi(-960)..2f64.powi(960)).contains(&power);
    plain.then(|| power.copysign(sign))
}
