//! What may be assumed of each built-in function: the facts from which lowering derives iteration spaces.
//!
//! Every claim holds for all arguments in the mode it is made for, which tests try: on all values of the small types and
//! on boundary values of the others. What is not claimed may still hold.
//!
//! In [`Mode::Strict`] a float function has what IEEE 754 grants it, all NaNs being one. In [`Mode::Algebraic`] claims
//! are up to rounding and the sign of zero, and only for arguments on which the function's value is no NaN; a claim
//! about a function that *hides* NaN (a comparison, `mask`) is therefore the same in both modes.

use super::{Mode, Op, Type, Value};

/// What lowering may assume of a function of type `ty` in a mode. Values are of the argument's type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Properties {
    /// f(a, b) = f(b, a)
    pub commutative: bool,
    /// f(f(a, b), c) = f(a, f(b, c)), up to rounding in algebraic mode
    pub associative: bool,
    /// f(a, a) = a
    pub idempotent: bool,
    /// (position, value): f with that value there is the other argument.
    pub identities: Vec<(usize, Value)>,
    /// (position, value, result): f with that value there is that result.
    pub annihilators: Vec<(usize, Value, Value)>,
}

impl Properties {
    /// With `value` as identity at these positions.
    fn identity(mut self, positions: &[usize], value: Value) -> Properties {
        self.identities.extend(positions.iter().map(|p| (*p, value)));
        self
    }

    /// With `value` at these positions making the result `result`.
    fn annihilator(mut self, positions: &[usize], value: Value, result: Value) -> Properties {
        self.annihilators.extend(positions.iter().map(|p| (*p, value, result)));
        self
    }
}

/// Which argument has the type that a function's properties are asked for: the one behind a condition, else the first.
pub fn subject(op: Op) -> usize {
    matches!(op, Op::Select | Op::Mask) as usize
}

/// The properties of `op` whose [`subject`] has type `ty`. None of a type that it does not take.
pub fn properties(op: Op, ty: Type, mode: Mode) -> Properties {
    if !op.takes(ty) {
        return Properties::default();
    }
    if op.is_comparison() {
        return comparison(op, ty);
    }
    match (op, ty) {
        (Op::Mask, _) => mask(ty, mode),
        (_, Type::Bool) => boolean(op),
        (_, Type::F32 | Type::F64) => float(op, ty, mode),
        _ => integer(op, ty),
    }
}

/// What folding with `op` over an empty extent gives; `None` if the function has no identity. A sum is +0.0 there,
/// although IEEE 754 makes −0.0 the identity of `+`.
pub fn identity(op: Op, ty: Type) -> Option<Value> {
    if !op.takes(ty) {
        return None;
    }
    let (least, greatest) = bounds(ty);
    match op {
        Op::Add | Op::Or | Op::Xor | Op::OrElse | Op::Gcd => Some(Value::zero(ty)),
        Op::Mul | Op::AndAlso => Some(Value::one(ty)),
        Op::And => Some(Value::from_i128(ty, -1)),
        Op::Min => Some(greatest),
        Op::Max => Some(least),
        _ => None,
    }
}

/// The least and the greatest value, infinities counted.
fn bounds(ty: Type) -> (Value, Value) {
    match ty.range() {
        Some((least, greatest)) => (Value::from_i128(ty, least), Value::from_i128(ty, greatest)),
        None => (Value::from_f64(ty, f64::NEG_INFINITY), Value::from_f64(ty, f64::INFINITY)),
    }
}

const FIRST: &[usize] = &[0];
const SECOND: &[usize] = &[1];
const BOTH: &[usize] = &[0, 1];

/// A function that is commutative and associative.
fn abelian() -> Properties {
    Properties { commutative: true, associative: true, ..Properties::default() }
}

/// A function that is commutative, associative and idempotent, with its identity and its annihilator.
fn lattice(identity: Value, annihilator: Value) -> Properties {
    Properties { idempotent: true, ..abelian() }.identity(BOTH, identity).annihilator(BOTH, annihilator, annihilator)
}

fn boolean(op: Op) -> Properties {
    let (no, yes) = (Value::bool(false), Value::bool(true));
    match op {
        Op::Add | Op::Max | Op::Or | Op::OrElse => lattice(no, yes),
        Op::Mul | Op::Min | Op::And | Op::AndAlso => lattice(yes, no),
        Op::Xor => abelian().identity(BOTH, no),
        _ => Properties::default(),
    }
}

fn integer(op: Op, ty: Type) -> Properties {
    let none = Properties::default();
    let value = |x| Value::from_i128(ty, x);
    let (zero, one, ones) = (value(0), value(1), value(-1));
    let (least, greatest) = bounds(ty);
    let signed = ty.is_signed();
    match op {
        Op::Add => abelian().identity(BOTH, zero),
        Op::Mul => abelian().identity(BOTH, one).annihilator(BOTH, zero, zero),
        Op::Sub => none.identity(SECOND, zero),
        // Division by 0 is 0, so a dividend of 0 makes it 0 whatever the divisor.
        Op::Div | Op::FloorDiv => none.identity(SECOND, one).annihilator(BOTH, zero, zero),
        Op::Rem | Op::FloorRem => {
            let rest = none.annihilator(BOTH, zero, zero).annihilator(SECOND, one, zero);
            if signed { rest.annihilator(SECOND, ones, zero) } else { rest }
        }
        Op::Pow => none.identity(SECOND, one).annihilator(FIRST, one, one).annihilator(SECOND, zero, one),
        Op::Min => lattice(greatest, least),
        Op::Max => lattice(least, greatest),
        Op::And => lattice(ones, zero),
        Op::Or => lattice(zero, ones),
        Op::Xor => abelian().identity(BOTH, zero),
        Op::Gcd if signed => abelian().annihilator(BOTH, one, one).annihilator(BOTH, ones, one),
        Op::Gcd => Properties { idempotent: true, ..abelian() }.identity(BOTH, zero).annihilator(BOTH, one, one),
        Op::Shl => none.identity(SECOND, zero).annihilator(FIRST, zero, zero),
        Op::Shr if signed => none.identity(SECOND, zero).annihilator(FIRST, zero, zero).annihilator(FIRST, ones, ones),
        Op::Shr => none.identity(SECOND, zero).annihilator(FIRST, zero, zero),
        _ => none,
    }
}

fn float(op: Op, ty: Type, mode: Mode) -> Properties {
    let granted = strict_float(op, ty);
    let value = |x| Value::from_f64(ty, x);
    let (zero, minus) = (value(0.0), value(-0.0));
    let (below, above) = bounds(ty);
    if mode == Mode::Strict {
        // Where NaN is an argument of one of these, it is the result.
        let spreads = match op {
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem | Op::FloorDiv | Op::FloorRem | Op::Min | Op::Max => true,
            op => matches!(op, Op::Atan2 | Op::NextAfter),
        };
        let nan = value(f64::NAN);
        return if spreads { granted.annihilator(BOTH, nan, nan) } else { granted };
    }
    let associative = Properties { associative: true, ..granted.clone() };
    match op {
        Op::Add => associative.identity(BOTH, zero).annihilator(BOTH, above, above).annihilator(BOTH, below, below),
        Op::Sub => granted
            .identity(SECOND, minus)
            .annihilator(FIRST, above, above)
            .annihilator(FIRST, below, below)
            .annihilator(SECOND, above, below)
            .annihilator(SECOND, below, above),
        Op::Mul => associative.annihilator(BOTH, zero, zero).annihilator(BOTH, minus, zero),
        Op::Div => granted
            .annihilator(FIRST, zero, zero)
            .annihilator(FIRST, minus, zero)
            .annihilator(SECOND, above, zero)
            .annihilator(SECOND, below, zero),
        // What follows from the numerator's test, and the sign that is free.
        Op::FloorDiv | Op::FloorRem | Op::CopySign => {
            granted.annihilator(FIRST, zero, zero).annihilator(FIRST, minus, zero)
        }
        // What is finite is its own rest; an infinite dividend has none.
        Op::Rem => granted
            .identity(SECOND, above)
            .identity(SECOND, below)
            .annihilator(FIRST, zero, zero)
            .annihilator(FIRST, minus, zero),
        Op::Min => granted.annihilator(BOTH, below, below),
        Op::Max => granted.annihilator(BOTH, above, above),
        _ => granted,
    }
}

/// What IEEE 754 grants, apart from what it says of NaN.
fn strict_float(op: Op, ty: Type) -> Properties {
    let none = Properties::default();
    let commutative = Properties { commutative: true, ..none.clone() };
    let value = |x| Value::from_f64(ty, x);
    let (zero, minus, one) = (value(0.0), value(-0.0), value(1.0));
    let (below, above) = bounds(ty);
    match op {
        // 0.0 is no identity of +: −0.0 + 0.0 is 0.0.
        Op::Add => commutative.identity(BOTH, minus),
        Op::Sub => none.identity(SECOND, zero),
        Op::Mul => commutative.identity(BOTH, one),
        Op::Div => none.identity(SECOND, one),
        Op::Pow => none
            .identity(SECOND, one)
            .annihilator(FIRST, one, one)
            .annihilator(SECOND, zero, one)
            .annihilator(SECOND, minus, one),
        Op::Min => Properties { idempotent: true, ..abelian() }.identity(BOTH, above),
        Op::Max => Properties { idempotent: true, ..abelian() }.identity(BOTH, below),
        Op::Hypot => commutative.annihilator(BOTH, above, above).annihilator(BOTH, below, above),
        Op::Ldexp => [zero, minus, above, below, value(f64::NAN)]
            .into_iter()
            .fold(none, |known, fixed| known.annihilator(FIRST, fixed, fixed)),
        _ => none,
    }
}

/// What a part of a fold with `op` begins with: with nothing folded into it, it leaves every value as it is, −0.0 too. It is the identity,
/// but for a sum of floats −0.0. (No value leaves −6 as it is in `gcd`.)
pub fn neutral(op: Op, ty: Type) -> Option<Value> {
    match op {
        Op::Add if ty.is_float() => identity(op, ty).map(|_| Value::from_f64(ty, -0.0)),
        _ => identity(op, ty),
    }
}

/// Comparisons hide NaN, so nothing is claimed that NaN breaks, in either mode.
fn comparison(op: Op, ty: Type) -> Properties {
    let (no, yes) = (Value::bool(false), Value::bool(true));
    let (least, greatest) = bounds(ty);
    let symmetric = matches!(op, Op::Eq | Op::Ne);
    let mut known = Properties { commutative: symmetric, ..Properties::default() };
    known = match op {
        Op::Lt => known.annihilator(SECOND, least, no).annihilator(FIRST, greatest, no),
        Op::Gt => known.annihilator(FIRST, least, no).annihilator(SECOND, greatest, no),
        Op::Le if !ty.is_float() => known.annihilator(FIRST, least, yes).annihilator(SECOND, greatest, yes),
        Op::Ge if !ty.is_float() => known.annihilator(SECOND, least, yes).annihilator(FIRST, greatest, yes),
        _ => known,
    };
    if ty.is_float() {
        let nan = Value::from_f64(ty, f64::NAN);
        known = known.annihilator(BOTH, nan, Value::bool(op == Op::Ne));
    }
    if ty == Type::Bool {
        known = match op {
            Op::Lt => known.identity(FIRST, no),
            Op::Le => known.identity(FIRST, yes),
            Op::Gt => known.identity(SECOND, no),
            Op::Ge => known.identity(SECOND, yes),
            Op::Eq => Properties { associative: true, ..known.identity(BOTH, yes) },
            _ => Properties { associative: true, ..known.identity(BOTH, no) },
        };
    }
    known
}

/// The condition is argument 0, the masked value argument 1.
fn mask(ty: Type, mode: Mode) -> Properties {
    let zero = Value::zero(ty);
    let known = Properties::default()
        .identity(FIRST, Value::bool(true))
        .annihilator(FIRST, Value::bool(false), zero)
        .annihilator(SECOND, zero, zero);
    if ty == Type::Bool {
        return Properties { associative: true, commutative: true, idempotent: true, ..known }
            .identity(SECOND, Value::bool(true));
    }
    if ty.is_float() && mode == Mode::Algebraic {
        return known.annihilator(SECOND, Value::from_f64(ty, -0.0), zero);
    }
    known
}
