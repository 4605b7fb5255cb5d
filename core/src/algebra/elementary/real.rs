//! The arithmetic that elementary functions are written in: what lanes of vectors have on every machine.
//!
//! ```text
//!  Real ──bits──▶ Word        numbers, and their bits as whole numbers
//!   │  ◀──real──
//!   └──is_below, equals──▶ Truth ──choose──▶ one of two numbers
//! ```
//!
//! Nothing branches. Each operation is one of IEEE 754's, or of whole numbers modulo 2⁶⁴: its result is the same bits
//! wherever it runs.

use super::angle::{FAR, far};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A number of twice the precision of `f32`, or what stands for one.
pub trait Real:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Add<f64, Output = Self>
    + Sub<Output = Self>
    + Sub<f64, Output = Self>
    + Mul<Output = Self>
    + Mul<f64, Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// Its bits.
    type Word: Word<Real = Self>;
    /// An answer about it.
    type Truth: Truth;

    /// `self · factor + addend`, rounded once.
    fn fused(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self;
    /// Its magnitude.
    fn abs(self) -> Self;
    /// Its square root.
    fn sqrt(self) -> Self;
    /// Its whole part, rounded toward zero.
    fn trunc(self) -> Self;
    /// Its bits.
    fn bits(self) -> Self::Word;
    /// `self < other`; no of NaN.
    fn is_below(self, other: impl Into<Self>) -> Self::Truth;
    /// `self == other`; no of NaN.
    fn equals(self, other: impl Into<Self>) -> Self::Truth;
    /// One of two numbers.
    fn choose(which: Self::Truth, yes: impl Into<Self>, no: impl Into<Self>) -> Self;
    /// `near`, if `self` is an angle below [`FAR`](super::FAR); else `whole` of it.
    fn unless_far(self, near: Self, whole: Whole) -> Self;
}

/// A function of angles, computed as a whole where an angle is far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The tangent.
    Tan,
}

/// The bits of a number, as a whole number modulo 2⁶⁴.
pub trait Word: Copy + From<u64> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> {
    /// The numbers whose bits they are.
    type Real;

    /// The sum.
    fn plus(self, other: impl Into<Self>) -> Self;
    /// The difference.
    fn minus(self, other: impl Into<Self>) -> Self;
    /// Moved to the left; zeros follow.
    fn left(self, bits: u32) -> Self;
    /// Moved to the right; zeros follow.
    fn right(self, bits: u32) -> Self;
    /// The number of these bits.
    fn real(self) -> Self::Real;
}

/// An answer.
pub trait Truth: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {}

impl Truth for bool {}

impl Word for u64 {
    type Real = f64;

    #[inline(always)]
    fn plus(self, other: impl Into<u64>) -> u64 {
        self.wrapping_add(other.into())
    }

    #[inline(always)]
    fn minus(self, other: impl Into<u64>) -> u64 {
        self.wrapping_sub(other.into())
    }

    #[inline(always)]
    fn left(self, bits: u32) -> u64 {
        self << bits
    }

    #[inline(always)]
    fn right(self, bits: u32) -> u64 {
        self >> bits
    }

    #[inline(always)]
    fn real(self) -> f64 {
        f64::from_bits(self)
    }
}

impl Real for f64 {
    type Word = u64;
    type Truth = bool;

    #[inline(always)]
    fn fused(self, factor: impl Into<f64>, addend: impl Into<f64>) -> f64 {
        self.mul_add(factor.into(), addend.into())
    }

    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }

    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn trunc(self) -> f64 {
        f64::trunc(self)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn is_below(self, other: impl Into<f64>) -> bool {
        self < other.into()
    }

    #[inline(always)]
    fn equals(self, other: impl Into<f64>) -> bool {
        self == other.into()
    }

    #[inline(always)]
    fn choose(which: bool, yes: impl Into<f64>, no: impl Into<f64>) -> f64 {
        if which { yes.into() } else { no.into() }
    }

    #[inline(always)]
    fn unless_far(self, near: f64, whole: Whole) -> f64 {
        if self.abs() < FAR { near } else { far(self, whole) }
    }
}
