//! Scalars of a symbolic run.
//!
//! ```text
//!  Scalar ─┬ Known   a value of the language
//!          ├ Truth   a condition
//!          └ Bits    a bit vector: an integer of its type's width and within an interval,
//!                    or a float, an element of the ring of 2⁴ numbers
//! ```
//!
//! Floats of a kernel that reassociates are a commutative ring with a total order: `+`, `−` and `*` are those modulo 2⁴, comparisons those of
//! signed numbers, and an infinity is the last number on its side. Where a kernel does not reassociate, `+`, `−` and `*` are functions
//! of which nothing is known but that they are functions. So is every other function of floats, always.

use super::truth::Truth;
use fiberloom_core::algebra::{Type, Value};
use z3::ast::BV;

/// Bits of a float: products of 8-bit numbers take the solver too long.
pub const RING: u32 = 4;

/// A scalar.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// A value.
    Known(Value),
    /// A `bool`.
    Truth(Truth),
    /// A number of any other type.
    Bits(Bits),
}

/// A number that is a term. Of an integer the term has as many bits as its interval takes: short ones make short questions.
#[derive(Clone, Debug)]
pub struct Bits {
    /// Its type.
    pub ty: Type,
    /// The term; signed if the interval has negative numbers.
    pub term: BV,
    /// The least and the greatest that an integer may be; nothing is known so of a float.
    pub within: (i128, i128),
}

/// Bits of a number of this type.
pub fn width(ty: Type) -> u32 {
    if ty.is_float() { RING } else { ty.bits() }
}

/// All numbers of a type; of a float's nothing is said.
pub fn all(ty: Type) -> (i128, i128) {
    ty.range().unwrap_or((0, 0))
}

/// Bits that hold every number of an interval.
pub fn bits((least, most): (i128, i128)) -> u32 {
    let needed = |x: i128| i128::BITS - (if x < 0 { !x } else { x }).leading_zeros();
    if least < 0 { needed(least).max(needed(most)) + 1 } else { needed(most).max(1) }
}

/// A number in another width: its lowest bits, or more of them.
pub fn resized(term: &BV, signed: bool, to: u32) -> BV {
    let from = term.get_size();
    match to.checked_sub(from) {
        None => term.extract(to - 1, 0),
        Some(0) => term.clone(),
        Some(more) if signed => term.sign_ext(more),
        Some(more) => term.zero_ext(more),
    }
}

impl Bits {
    /// An integer that is within an interval, of its lowest bits: as many as the interval takes, or more.
    pub fn within(ty: Type, term: BV, within: (i128, i128)) -> Scalar {
        if within.0 == within.1 {
            return Scalar::Known(Value::from_i128(ty, within.0));
        }
        let term = resized(&term, false, bits(within));
        Scalar::Bits(Bits { ty, term, within })
    }

    /// A term of a type's width.
    pub fn of(ty: Type, term: BV) -> Scalar {
        Scalar::Bits(Bits { ty, term, within: all(ty) })
    }
}

impl Scalar {
    /// An `i64`.
    pub fn int(x: i64) -> Scalar {
        Scalar::Known(Value::i64(x))
    }

    /// A truth value.
    pub fn truth(truth: Truth) -> Scalar {
        match truth {
            Truth::Known(b) => Scalar::Known(Value::bool(b)),
            open => Scalar::Truth(open),
        }
    }

    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Scalar::Known(value) => value.ty(),
            Scalar::Truth(_) => Type::Bool,
            Scalar::Bits(bits) => bits.ty,
        }
    }

    /// Its value, where that is known.
    pub fn known(&self) -> Option<Value> {
        match self {
            Scalar::Known(value) => Some(*value),
            _ => None,
        }
    }

    /// The least and the greatest that it may be, of an integer or a truth value.
    pub fn within(&self) -> (i128, i128) {
        match self {
            Scalar::Known(value) => value.as_i128().map_or((0, 0), |x| (x, x)),
            Scalar::Truth(_) => (0, 1),
            Scalar::Bits(bits) => bits.within,
        }
    }

    /// Whether it is `true`.
    pub fn is_true(&self) -> Truth {
        match self {
            Scalar::Known(value) => Truth::Known(value.is_true()),
            Scalar::Truth(truth) => truth.clone(),
            Scalar::Bits(_) => !&self.same(&Scalar::Known(Value::zero(self.ty()))),
        }
    }

    /// As a bit vector of its type's width; of a `bool` one bit.
    pub fn term(&self) -> BV {
        self.low(width(self.ty()))
    }

    /// Its lowest bits.
    pub fn low(&self, to: u32) -> BV {
        match self {
            Scalar::Known(value) if value.ty().is_float() => ring(*value),
            Scalar::Known(value) => {
                let mask = if to < u64::BITS { (1 << to) - 1 } else { u64::MAX };
                BV::from_u64(value.as_i128().unwrap_or(0) as u64 & mask, to)
            }
            Scalar::Truth(truth) => truth.term().ite(&BV::from_u64(1, to), &BV::from_u64(0, to)),
            Scalar::Bits(bits) => resized(&bits.term, bits.within.0 < 0, to),
        }
    }

    /// Both in as many bits as the numbers of both take.
    pub fn both(&self, other: &Scalar) -> (BV, BV) {
        let ((a, b), (c, d)) = (self.within(), other.within());
        let to = if self.ty().is_float() { RING } else { bits((a.min(c), b.max(d))) };
        (self.low(to), other.low(to))
    }

    /// This scalar where a condition holds, else another of its type.
    pub fn choose(holds: &Truth, yes: &Scalar, no: &Scalar) -> Scalar {
        let condition = match holds {
            Truth::Known(true) => return yes.clone(),
            Truth::Known(false) => return no.clone(),
            Truth::Open(condition) => condition,
        };
        match (yes, no) {
            (Scalar::Known(a), Scalar::Known(b)) if a == b => yes.clone(),
            _ if yes.ty() == Type::Bool => {
                let (a, b) = (yes.is_true(), no.is_true());
                Scalar::truth(holds.and(&a).or(&(!holds).and(&b)))
            }
            _ => {
                let (yes_term, no_term) = yes.both(no);
                if yes_term == no_term && !yes.ty().is_float() && yes.within() == no.within() {
                    return yes.clone();
                }
                let term = condition.ite(&yes_term, &no_term);
                if yes.ty().is_float() {
                    return if yes_term == no_term { yes.clone() } else { Bits::of(yes.ty(), term) };
                }
                let (a, b) = (yes.within(), no.within());
                Bits::within(yes.ty(), term, (a.0.min(b.0), a.1.max(b.1)))
            }
        }
    }

    /// Whether two scalars of one type are one: floats as elements of the ring.
    pub fn same(&self, other: &Scalar) -> Truth {
        match (self, other) {
            (Scalar::Known(a), Scalar::Known(b)) if a == b => Truth::YES,
            (Scalar::Known(a), Scalar::Known(b)) if !a.ty().is_float() => Truth::Known(a == b),
            _ if self.ty() == Type::Bool => self.is_true().same(&other.is_true()),
            _ => {
                let ((a, b), (c, d)) = (self.within(), other.within());
                if !self.ty().is_float() && (b < c || d < a) {
                    return Truth::NO;
                }
                let (a, b) = self.both(other);
                if a == b { Truth::YES } else { Truth::Open(a.eq(b)) }
            }
        }
    }

    /// Whether an integer is this one.
    pub fn is(&self, x: i64) -> Truth {
        self.same(&Scalar::Known(Value::from_i128(self.ty(), x as i128)))
    }
}

/// A float's place in the ring: small whole numbers are themselves, infinities the ends; of any other nothing is known but
/// that it is one number.
fn ring(value: Value) -> BV {
    let x = value.as_f64();
    let whole = x.fract() == 0.0 && x.abs() < 9e15 && !(x == 0.0 && x.is_sign_negative());
    if whole {
        BV::from_u64((x as i64).rem_euclid(1 << RING) as u64, RING)
    } else if x.is_infinite() {
        BV::from_u64(if x > 0.0 { 7 } else { 8 }, RING)
    } else if x == 0.0 {
        BV::from_u64(0, RING)
    } else {
        BV::new_const(format!("number {:x}", x.to_bits()), RING)
    }
}
