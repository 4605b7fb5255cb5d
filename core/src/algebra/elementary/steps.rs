//! A function as the line of its steps, written down by running it on numbers that are not known yet.
//!
//! ```text
//!  x.fused(2.0, 1.0)      0: argument x      1: the number 2      2: the number 1      3: fused 0 1 2
//! ```

use super::real::{Real, Truth, Whole, Word};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// Which step of a line.
pub type Place = usize;

/// One step; its operands are steps before it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Step {
    /// The first argument, or the second.
    Argument(u32),
    Number(f64),
    Bits(u64),
    Add(Place, Place),
    Sub(Place, Place),
    Mul(Place, Place),
    Div(Place, Place),
    /// a · b + c, rounded once.
    Fused(Place, Place, Place),
    Neg(Place),
    Abs(Place),
    Sqrt(Place),
    Trunc(Place),
    /// The bits of a number.
    BitsOf(Place),
    /// The number of bits.
    NumberOf(Place),
    /// The first is less; no of NaN.
    Below(Place, Place),
    /// The two are equal; no of NaN.
    Equal(Place, Place),
    /// By an answer, one number or another.
    Choose(Place, Place, Place),
    /// The second if the first is an angle below [`Steps::FAR`]; else the function of the first.
    UnlessFar(Place, Place, Whole),
    /// Of bits as whole numbers modulo 2⁶⁴.
    Plus(Place, Place),
    Minus(Place, Place),
    /// Of bits, or of answers, as the two below.
    And(Place, Place),
    Or(Place, Place),
    Xor(Place, Place),
    Left(Place, u32),
    Right(Place, u32),
    /// Of an answer.
    Not(Place),
}

/// A function's steps; the last one is its result.
#[derive(Clone, PartialEq, Debug)]
pub struct Steps(Vec<Step>);

impl Steps {
    /// Angles from here on are far.
    pub const FAR: f64 = super::angle::FAR;

    /// The steps of a function of two arguments, if it is one.
    pub(super) fn of(
        function: impl for<'t> Fn(Kept<'t, f64>, Kept<'t, f64>) -> Option<Kept<'t, f64>>,
    ) -> Option<Steps> {
        let line = Line(RefCell::new(vec![Step::Argument(0), Step::Argument(1)]));
        let result = function(Kept::At(&line, 0), Kept::At(&line, 1))?;
        let at = result.place(&line);
        let mut steps = line.0.into_inner();
        steps.truncate(at + 1);
        Some(Steps(steps))
    }

    /// The steps in order.
    pub fn iter(&self) -> impl Iterator<Item = Step> + '_ {
        self.0.iter().copied()
    }
}

/// A line that is being written.
pub(super) struct Line(RefCell<Vec<Step>>);

impl Line {
    fn push(&self, step: Step) -> Place {
        let mut steps = self.0.borrow_mut();
        steps.push(step);
        steps.len() - 1
    }
}

/// What a step comes to, or what is known of it already.
#[derive(Clone, Copy)]
pub(super) enum Kept<'t, T> {
    Known(T),
    At(&'t Line, Place),
}

/// What may stand in a line by itself.
pub(super) trait Literal: Copy {
    fn step(self) -> Step;
}

impl Literal for f64 {
    fn step(self) -> Step {
        Step::Number(self)
    }
}

impl Literal for u64 {
    fn step(self) -> Step {
        Step::Bits(self)
    }
}

impl<'t, T: Literal> Kept<'t, T> {
    fn place(self, line: &Line) -> Place {
        match self {
            Kept::Known(x) => line.push(x.step()),
            Kept::At(_, place) => place,
        }
    }

    /// A step of one operand.
    fn then<U>(self, known: impl FnOnce(T) -> U, step: impl FnOnce(Place) -> Step) -> Kept<'t, U> {
        match self {
            Kept::Known(x) => Kept::Known(known(x)),
            Kept::At(line, place) => Kept::At(line, line.push(step(place))),
        }
    }

    /// A step of two operands.
    fn with<U>(
        self,
        other: Self,
        known: impl FnOnce(T, T) -> U,
        step: impl FnOnce(Place, Place) -> Step,
    ) -> Kept<'t, U> {
        match (self, other) {
            (Kept::Known(x), Kept::Known(y)) => Kept::Known(known(x, y)),
            (Kept::At(line, _), _) | (_, Kept::At(line, _)) => {
                let (x, y) = (self.place(line), other.place(line));
                Kept::At(line, line.push(step(x, y)))
            }
        }
    }
}

impl<T> From<T> for Kept<'_, T> {
    fn from(x: T) -> Self {
        Kept::Known(x)
    }
}

/// Operators of numbers, also with a number that is known on the right.
macro_rules! of_numbers {
    ($($operator:ident $name:ident;)*) => {
        $(
            impl $operator for Kept<'_, f64> {
                type Output = Self;
                fn $name(self, other: Self) -> Self {
                    self.with(other, $operator::$name, Step::$operator)
                }
            }

            impl $operator<f64> for Kept<'_, f64> {
                type Output = Self;
                fn $name(self, other: f64) -> Self {
                    self.with(Kept::Known(other), $operator::$name, Step::$operator)
                }
            }
        )*
    };
}

of_numbers! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl Neg for Kept<'_, f64> {
    type Output = Self;
    fn neg(self) -> Self {
        self.then(Neg::neg, Step::Neg)
    }
}

impl<'t> Real for Kept<'t, f64> {
    type Word = Kept<'t, u64>;
    type Truth = Kept<'t, bool>;

    fn fused(self, factor: impl Into<Self>, addend: impl Into<Self>) -> Self {
        let (factor, addend) = (factor.into(), addend.into());
        match (self, factor, addend) {
            (Kept::Known(a), Kept::Known(b), Kept::Known(c)) => Kept::Known(a.mul_add(b, c)),
            (Kept::At(line, _), ..) | (_, Kept::At(line, _), _) | (.., Kept::At(line, _)) => {
                let [a, b, c] = [self, factor, addend].map(|x| x.place(line));
                Kept::At(line, line.push(Step::Fused(a, b, c)))
            }
        }
    }

    fn abs(self) -> Self {
        self.then(f64::abs, Step::Abs)
    }

    fn sqrt(self) -> Self {
        self.then(f64::sqrt, Step::Sqrt)
    }

    fn trunc(self) -> Self {
        self.then(f64::trunc, Step::Trunc)
    }

    fn bits(self) -> Kept<'t, u64> {
        self.then(f64::to_bits, Step::BitsOf)
    }

    fn is_below(self, other: impl Into<Self>) -> Kept<'t, bool> {
        self.with(other.into(), |x, y| x < y, Step::Below)
    }

    fn equals(self, other: impl Into<Self>) -> Kept<'t, bool> {
        self.with(other.into(), |x, y| x == y, Step::Equal)
    }

    fn choose(which: Kept<'t, bool>, yes: impl Into<Self>, no: impl Into<Self>) -> Self {
        match which {
            Kept::Known(which) => {
                if which {
                    yes.into()
                } else {
                    no.into()
                }
            }
            Kept::At(line, which) => {
                let (yes, no) = (yes.into().place(line), no.into().place(line));
                Kept::At(line, line.push(Step::Choose(which, yes, no)))
            }
        }
    }

    fn unless_far(self, near: Self, whole: Whole) -> Self {
        self.with(near, |x, near| x.unless_far(near, whole), |x, near| Step::UnlessFar(x, near, whole))
    }
}

/// Operators of bits.
macro_rules! of_bits {
    ($($operator:ident $name:ident $step:ident;)*) => {
        $(
            impl $operator for Kept<'_, u64> {
                type Output = Self;
                fn $name(self, other: Self) -> Self {
                    self.with(other, $operator::$name, Step::$step)
                }
            }
        )*
    };
}

of_bits! {
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
}

impl<'t> Word for Kept<'t, u64> {
    type Real = Kept<'t, f64>;

    fn plus(self, other: impl Into<Self>) -> Self {
        self.with(other.into(), u64::wrapping_add, Step::Plus)
    }

    fn minus(self, other: impl Into<Self>) -> Self {
        self.with(other.into(), u64::wrapping_sub, Step::Minus)
    }

    fn left(self, bits: u32) -> Self {
        self.then(|x| x << bits, |x| Step::Left(x, bits))
    }

    fn right(self, bits: u32) -> Self {
        self.then(|x| x >> bits, |x| Step::Right(x, bits))
    }

    fn real(self) -> Kept<'t, f64> {
        self.then(f64::from_bits, Step::NumberOf)
    }
}

/// Both answers, or one of them.
fn joined<'t>(
    a: Kept<'t, bool>,
    b: Kept<'t, bool>,
    whole: impl Fn(bool, Kept<'t, bool>) -> Kept<'t, bool>,
    step: impl Fn(Place, Place) -> Step,
) -> Kept<'t, bool> {
    match (a, b) {
        (Kept::Known(known), other) | (other, Kept::Known(known)) => whole(known, other),
        (Kept::At(line, a), Kept::At(_, b)) => Kept::At(line, line.push(step(a, b))),
    }
}

impl BitAnd for Kept<'_, bool> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        joined(self, other, |known, other| if known { other } else { Kept::Known(false) }, Step::And)
    }
}

impl BitOr for Kept<'_, bool> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        joined(self, other, |known, other| if known { Kept::Known(true) } else { other }, Step::Or)
    }
}

impl Not for Kept<'_, bool> {
    type Output = Self;
    fn not(self) -> Self {
        match self {
            Kept::Known(x) => Kept::Known(!x),
            Kept::At(line, x) => Kept::At(line, line.push(Step::Not(x))),
        }
    }
}

impl Truth for Kept<'_, bool> {}
