//! The ground of an expression: its value where nothing is stored, if it is the same everywhere.
//!
//! ```text
//!  T[κ…]       T's fill value                      i, computed T     no single value
//!  f(e…)       f of the grounds, or the value if one of them annihilates
//!  ⊕(j: e)     the ground of e, folded once per coordinate of j
//! ```

use super::{Refusal, World};
use crate::algebra::Numeric;
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::notation::typed::{Expr, Fun, Kind, Role, TensorId, VarId};

/// The value of `op`, of result type `ty`, if argument `k` is `by`, whatever the others are; `None` if that is not a single value. In
/// `algebraic` mode up to the sign of zero, and for a product, if the others are finite.
pub(super) fn annihilated<V: Numeric>(op: Op, k: usize, by: &V, ty: Type, mode: Mode) -> Option<Value> {
    let by = by.unmoved()?;
    let zero = by.value.as_f64() == 0.0;
    let whole = !by.value.ty().is_float();
    let zeroes = match op {
        Op::Mul if !whole => zero && mode == Mode::Algebraic,
        Op::Div | Op::FloorDiv | Op::CopySign if !whole => k == 0 && zero && mode == Mode::Algebraic,
        Op::Div | Op::Rem | Op::FloorDiv | Op::FloorRem => zero && whole,
        Op::Mul | Op::And | Op::AndAlso => zero,
        Op::Mask => zero && (k == 0 || by.value == Value::zero(ty)),
        _ => false,
    };
    let holds = matches!(op, Op::Add | Op::Or | Op::OrElse) && ty == Type::Bool && !zero;
    match by.error() == 0.0 {
        true if zeroes => Some(Value::zero(ty)),
        true if holds => Some(by.value),
        _ => None,
    }
}

impl<V: Numeric> World<'_, V> {
    /// The value of `e` where nothing is stored; `None` if it is not the same everywhere, or is missing.
    pub(super) fn ground(&self, e: &Expr) -> Result<Option<V>, Refusal> {
        self.step()?;
        match &e.kind {
            Kind::Literal(value) => Ok(Some(V::given(*value))),
            Kind::Index(_) | Kind::Local(_) => Ok(None),
            Kind::Size(s) => self.size(*s, e.span).map(Some),
            Kind::Access(t, _) if self.is_computed(*t) => Ok(None),
            Kind::Access(t, _) => Ok(Some(self.function(*t)?.fill)),
            Kind::Call(Fun::Op(Op::Coalesce), args) => args.first().map_or(Ok(None), |a| self.ground(a)),
            Kind::Call(fun, args) => {
                let grounds = args.iter().map(|a| self.ground(a)).collect::<Result<Vec<_>, _>>()?;
                if let Some(all) = grounds.iter().copied().collect::<Option<Vec<V>>>() {
                    return self.apply(*fun, &all).map(Some);
                }
                let Fun::Op(op) = fun else { return Ok(None) };
                if let (Op::Select, [_, Some(yes), Some(no)]) = (op, &grounds[..]) {
                    return Ok(one_value([Some(*yes), Some(*no)].into_iter()));
                }
                let settled = |(k, g): (usize, &Option<V>)| annihilated(*op, k, g.as_ref()?, e.ty, self.mode);
                Ok(grounds.iter().enumerate().find_map(settled).map(V::given))
            }
            Kind::Reduce { fun, vars, body, start } => {
                let Some(n) = self.count(vars) else { return Ok(None) };
                let start = start.as_ref().map(|s| self.ground(s)).transpose()?;
                let grounds = (start.is_none_or(|s| s.is_some()), self.ground(body)?);
                match (start.flatten(), grounds) {
                    (_, (false, _)) => Ok(None),
                    (None, _) if n == 0 => Ok(self.identity(*fun, e.ty, e.span).ok()),
                    (start, _) if n == 0 => self.folded(*fun, body, start, 0),
                    (_, (_, None)) => Ok(None),
                    (start, (_, Some(term))) => {
                        let (begin, more) = start.map_or((term, n - 1), |start| (start, n));
                        let sum = self.again(*fun, begin, &term, more)?;
                        self.folded(*fun, body, Some(sum), n.min(u64::MAX.into()) as u64)
                    }
                }
            }
            Kind::Collapse { body, .. } | Kind::Split { body, .. } | Kind::Slice { body, .. } => self.ground(body),
            Kind::Concat { parts, .. } => {
                let grounds = parts.iter().map(|p| self.ground(p)).collect::<Result<Vec<_>, _>>()?;
                Ok(one_value(grounds.into_iter()))
            }
        }
    }

    /// Whether a function of the program computes the tensor, so that it has no entries.
    pub(super) fn is_computed(&self, t: TensorId) -> bool {
        matches!(self.program.tensors[t.index()].role, Role::Computed(_))
    }

    /// The number of coordinates of these variables, if their extents are known.
    pub(super) fn count(&self, vars: &[VarId]) -> Option<u128> {
        vars.iter().try_fold(1u128, |n, v| n.checked_mul(self.extents.var(*v)?.into()))
    }

    /// `term` folded into `sum`, `n` times one after the other: the same bits as step by step, in fewer steps where that is certain.
    pub(super) fn again(&self, fun: Fun, mut sum: V, term: &V, mut n: u128) -> Result<V, Refusal> {
        use Op::*;
        match fun {
            // On whole numbers these functions commute and associate: the term is doubled repeatedly.
            Fun::Op(Add | Mul | Min | Max | And | Or | Xor | Gcd | AndAlso | OrElse)
                if !sum.value().ty().is_float() =>
            {
                let mut power = *term;
                while n > 0 {
                    if n & 1 == 1 {
                        sum = self.apply(fun, &[sum, power])?;
                    }
                    power = self.apply(fun, &[power, power])?;
                    n >>= 1;
                }
                return Ok(sum);
            }
            Fun::Op(Add) if n > 0 => {
                if let Some(exact) = sum.plus_exactly(term, n) {
                    return Ok(exact);
                }
            }
            _ => {}
        }
        for _ in 0..n {
            self.step()?;
            let next = self.apply(fun, &[sum, *term])?;
            if next == sum {
                // Further steps change nothing.
                break;
            }
            sum = next;
        }
        Ok(sum)
    }
}

/// The common value of all of these, if they have one.
pub(super) fn one_value<V: Numeric>(mut all: impl Iterator<Item = Option<V>>) -> Option<V> {
    let first = all.next()??;
    all.all(|other| other.is_some_and(|n| n.is_exactly(&first))).then_some(first)
}
