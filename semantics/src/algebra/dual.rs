//! Dual numbers: a value and its tangent, by how much the value moves if what it is computed of does.
//!
//! ```text
//!  (x, ẋ)          an element x of an operand, with the tangent that the caller gives
//!  f((x, ẋ)…)  =   (f(x…), Σ ∂f/∂xₖ · ẋₖ)        terms whose ẋₖ is 0 apart: what does not move is not multiplied
//! ```
//!
//! Both parts are [`Number`]s, so that the tangent carries its error bound, too. Integers and truth values do not move. Where a function
//! jumps it has the derivative 0 that it has beside the jump; `min` and `max` move as their first argument that attains the value, and
//! `abs` not at all at 0. `nextafter` has no derivative, and its tangent is no number. Where nothing is promised of the value, or it is NaN,
//! nothing is promised of how it moves in `algebraic` mode: another evaluation may have NaN there.

use super::{Number, Numeric, Reason, apply};
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use std::f64::consts::{LN_2, LN_10};

/// A value and its tangent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual {
    /// The value.
    pub value: Number,
    /// How it moves: of the value's type if that is a float, else an exact 0.
    pub tangent: Number,
}

impl Dual {
    /// A value that moves like this; one that is no float does not move.
    pub fn moving(value: Number, tangent: Number) -> Dual {
        let tangent = if value.value.ty().is_float() { tangent } else { still(value.value.ty()) };
        Dual { value, tangent }
    }
}

/// The tangent of what does not move.
fn still(ty: Type) -> Number {
    Number::given(Value::zero(if ty.is_float() { ty } else { Type::F64 }))
}

/// Whether a number is 0 in every evaluation.
fn is_still(tangent: &Number) -> bool {
    tangent.value.as_f64() == 0.0 && tangent.error() == 0.0
}

impl Numeric for Dual {
    fn given(value: Value) -> Dual {
        Dual { value: Number::given(value), tangent: still(value.ty()) }
    }

    fn value(&self) -> Value {
        self.value.value
    }

    fn unmoved(&self) -> Option<&Number> {
        is_still(&self.tangent).then_some(&self.value)
    }

    fn apply(op: Op, args: &[Dual], mode: Mode) -> Option<Dual> {
        let values: Vec<Number> = args.iter().map(|a| a.value).collect();
        let value = apply(op, &values, mode)?;
        let moves = value.value.ty().is_float() && args.iter().any(|a| !is_still(&a.tangent));
        let tangent = if moves { Slope { op, values, value, mode }.tangent(args)? } else { still(value.value.ty()) };
        let is_promised = !moves || mode == Mode::Strict || !value.value.is_nan() && !value.is_unpromised();
        let reason = value.reason().unwrap_or(Reason::Nan);
        let tangent = if is_promised { tangent } else { Number::unpromised(tangent.value, reason) };
        Some(Dual { value, tangent })
    }

    fn computed(self) -> Dual {
        Dual { value: self.value.computed(), tangent: self.tangent.computed() }
    }

    fn stored(self) -> Dual {
        Dual { value: self.value.stored(), tangent: self.tangent.stored() }
    }

    fn promising_nothing(self, reason: Reason) -> Dual {
        let nothing = |n: Number| Number::unpromised(n.value, reason);
        Dual::moving(nothing(self.value), nothing(self.tangent))
    }

    fn reordered(self, n: u64) -> Dual {
        Dual { value: self.value.reordered(n), tangent: self.tangent.reordered(n) }
    }

    fn plus_exactly(&self, term: &Dual, n: u128) -> Option<Dual> {
        let value = self.value.plus_exactly(&term.value, n)?;
        let tangent = match is_still(&term.tangent) {
            true => self.tangent,
            false => self.tangent.plus_exactly(&term.tangent, n)?,
        };
        Some(Dual { value, tangent })
    }

    fn is_exactly(&self, other: &Dual) -> bool {
        self.value.is_exactly(&other.value) && self.tangent.is_exactly(&other.tangent)
    }

    fn multiplies_as(&self, other: &Dual) -> bool {
        self.value.multiplies_as(&other.value) && self.tangent.multiplies_as(&other.tangent)
    }

    fn reason(&self) -> Option<Reason> {
        self.value.reason()
    }
}

/// A call of a built-in, of which derivatives are asked.
struct Slope {
    op: Op,
    values: Vec<Number>,
    value: Number,
    mode: Mode,
}

impl Slope {
    /// `Σ ∂f/∂xₖ · ẋₖ`.
    fn tangent(&self, args: &[Dual]) -> Option<Number> {
        let moved = |k: usize| args[k].tangent;
        let chosen = |holds: Number, a: Number, b: Number| self.of(Op::Select, &[holds, a, b]);
        match self.op {
            Op::Select => chosen(self.values[0], moved(1), moved(2)),
            Op::Mask => self.of(Op::Mask, &[self.values[0], moved(1)]),
            Op::Coalesce => Some(moved(0)),
            Op::Min => chosen(self.of(Op::Le, &self.values)?, moved(0), moved(1)),
            Op::Max => chosen(self.of(Op::Ge, &self.values)?, moved(0), moved(1)),
            Op::Convert(_) => self.of(self.op, &[moved(0)]),
            _ => {
                let moving = args.iter().enumerate().filter(|(_, a)| !is_still(&a.tangent));
                let mut terms = moving.map(|(k, a)| self.along(k, a.tangent));
                let first = terms.next()??;
                terms.try_fold(first, |sum, term| self.of(Op::Add, &[sum, term?]))
            }
        }
    }

    /// `∂f/∂xₖ · t`.
    fn along(&self, k: usize, t: Number) -> Option<Number> {
        use Op::*;
        let (x, y, z) = (self.values[0], *self.values.get(1).unwrap_or(&self.values[0]), self.value);
        let times = |a: Number, b: Number| self.of(Mul, &[a, b]);
        let plus = |a: Number, b: Number| self.of(Add, &[a, b]);
        let minus = |a: Number, b: Number| self.of(Sub, &[a, b]);
        let over = |a: Number, b: Number| self.of(Div, &[a, b]);
        let one = self.literal(1.0);
        let nothing = self.literal(0.0);
        let first = k == 0;
        match self.op {
            Add => Some(t),
            Sub | Rem | FloorRem if first => Some(t),
            Sub => self.of(Neg, &[t]),
            Neg => self.of(Neg, &[t]),
            Mul => times(t, self.values[1 - k]),
            Div if first => over(t, y),
            Div => self.of(Neg, &[over(times(t, x)?, times(y, y)?)?]),
            Rem => self.of(Neg, &[times(t, self.of(Trunc, &[over(x, y)?])?)?]),
            FloorRem => self.of(Neg, &[times(t, self.of(FloorDiv, &[x, y])?)?]),
            Pow if first && y.value.as_f64() == 0.0 => Some(nothing),
            Pow if first => times(t, times(y, self.of(Pow, &[x, minus(y, one)?])?)?),
            Pow if x.value.as_f64() == 0.0 => Some(nothing),
            Pow => times(t, times(z, self.of(Log, &[x])?)?),
            Abs => times(t, self.of(Sign, &[x])?),
            Sqrt => over(t, times(self.literal(2.0), z)?),
            Exp => times(t, z),
            Expm1 => times(t, self.of(Exp, &[x])?),
            Log => over(t, x),
            Log1p => over(t, plus(one, x)?),
            Log2 => over(t, times(x, self.literal(LN_2))?),
            Log10 => over(t, times(x, self.literal(LN_10))?),
            Sin => times(t, self.of(Cos, &[x])?),
            Cos => self.of(Neg, &[times(t, self.of(Sin, &[x])?)?]),
            Tan => times(t, plus(one, times(z, z)?)?),
            Tanh => times(t, minus(one, times(z, z)?)?),
            Asin => over(t, self.of(Sqrt, &[times(minus(one, x)?, plus(one, x)?)?])?),
            Acos => self.of(Neg, &[over(t, self.of(Sqrt, &[times(minus(one, x)?, plus(one, x)?)?])?)?]),
            Atan => over(t, plus(one, times(x, x)?)?),
            Atan2 => {
                let (across, square) = (self.values[1 - k], plus(times(x, x)?, times(y, y)?)?);
                let turned = over(times(t, across)?, square)?;
                if first { Some(turned) } else { self.of(Neg, &[turned]) }
            }
            Sinh => times(t, self.of(Cosh, &[x])?),
            Cosh => times(t, self.of(Sinh, &[x])?),
            Asinh => over(t, self.of(Hypot, &[x, one])?),
            Acosh => over(t, self.of(Sqrt, &[times(minus(x, one)?, plus(x, one)?)?])?),
            Atanh => over(t, times(minus(one, x)?, plus(one, x)?)?),
            Hypot => over(times(t, self.values[k])?, z),
            CopySign if first => times(t, times(self.of(Sign, &[x])?, self.of(CopySign, &[one, y])?)?),
            Ldexp if first => self.of(Ldexp, &[t, y]),
            NextAfter => Some(Number::unpromised(Value::from_f64(z.value.ty(), f64::NAN), Reason::Nan)),
            // The rest is constant between its jumps.
            _ => Some(nothing),
        }
    }

    fn of(&self, op: Op, args: &[Number]) -> Option<Number> {
        apply(op, args, self.mode)
    }

    fn literal(&self, x: f64) -> Number {
        Number::given(Value::from_f64(self.value.value.ty(), x))
    }
}
