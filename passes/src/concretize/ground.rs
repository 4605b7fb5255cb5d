//! The value of an expression where nothing is stored, if it is the same everywhere: every access is its fill.
//!
//! ```text
//!   f(e…)       f of the values of its arguments; some of them may suffice
//!   ⊕(j: e)     the value of e, folded once per coordinate of j; extents are known when a kernel is planned
//! ```

use super::given::Given;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::iteration::literal;
use fiberloom_core::notation::concrete::{Expr, Index, Origin, Program};
use fiberloom_core::notation::typed::Fun;

/// The most values that are folded one after the other.
const STEPS: u128 = 1 << 16;

/// Evaluates expressions where nothing is stored.
#[derive(Clone, Copy)]
pub(super) struct Ground<'s> {
    pub program: &'s Program,
    pub given: Given<'s>,
}

impl Ground<'_> {
    /// The value of an expression where nothing is stored, if it is the same everywhere.
    pub fn background(self, rhs: &Expr) -> Option<Value> {
        self.ground(&self.given.simplify.replace(rhs, &|a| Some(self.program.tensor(a).fill)))
    }

    /// The value of an expression without accesses, if it is the same everywhere.
    fn ground(self, e: &Expr) -> Option<Value> {
        match e {
            Expr::Literal(value) => Some(*value),
            Expr::Index(v) => self.extent_of(*v),
            Expr::Access(..) | Expr::Column(_) | Expr::Where(..) => None,
            Expr::Call(fun, args, ty) => self.called(*fun, args, *ty),
            Expr::Reduce(fun, vars, body, ty) => self.fold_again(*fun, None, self.ground(body)?, vars, *ty),
            Expr::Fold(fold, ty) => {
                let start = fold.start.as_ref().map(|start| self.ground(start));
                let start = start.map_or(Some(None), |known| known.map(Some))?;
                self.fold_again(fold.fun, start, self.ground(&fold.body)?, &fold.vars, *ty)
            }
            Expr::Concat(concat, _) => {
                let mut values = concat.exprs().map(|part| self.ground(part));
                let first = values.next()??;
                values.all(|v| v.is_some_and(|v| v == first)).then_some(first)
            }
        }
    }

    /// The value of a call. Reads extents, each of which makes a kernel of its own, only where all other arguments are known and do not
    /// decide.
    fn called(self, fun: Fun, args: &[Expr], ty: Type) -> Option<Value> {
        let known = |a: &Expr| match a {
            Expr::Index(_) => a.clone(),
            a => self.ground(a).map_or_else(|| a.clone(), Expr::Literal),
        };
        let args: Vec<Expr> = args.iter().map(known).collect();
        let decided = self.applied(fun, args.clone(), ty);
        let is_fixed = |a: &Expr| match a {
            Expr::Index(v) => self.program.roots(*v).is_empty(),
            a => literal(a).is_some(),
        };
        if decided.is_some() || !args.iter().all(is_fixed) {
            return decided;
        }
        let values = args.iter().map(|a| self.ground(a).map(Expr::Literal)).collect::<Option<Vec<Expr>>>()?;
        self.applied(fun, values, ty)
    }

    /// The value of a variable that is mapped to an extent, if that is known.
    fn extent_of(self, v: Index) -> Option<Value> {
        let Origin::Mapped(map) = &self.program.vars[v.0].origin else { return None };
        let mut terms = map.constant.terms().filter(|_| map.factors.is_empty());
        let (Some((1, [class])), None) = (terms.next(), terms.next()) else { return None };
        Some(Value::i64(i64::try_from(self.given.sizes.extent(*class)?).ok()?))
    }

    fn applied(self, fun: Fun, args: Vec<Expr>, ty: Type) -> Option<Value> {
        literal(&self.given.simplify.call(fun, args, ty))
    }

    /// `term` folded once for each coordinate of the variables.
    fn fold_again(self, fun: Fun, start: Option<Value>, term: Value, vars: &[Index], ty: Type) -> Option<Value> {
        let extents = vars.iter().map(|v| self.given.sizes.extent(self.program.vars[v.0].extent));
        let n = extents.into_iter().try_fold(1u128, |n, extent| n.checked_mul(extent?.into()))?;
        match start {
            Some(start) => self.again(fun, start, term, n, ty),
            None if n == 0 => self.given.simplify.begins(fun, ty),
            None => self.again(fun, term, term, n - 1, ty),
        }
    }

    /// Folds `term` into `sum`, `n` times: by doubling where the order does not matter and nothing rounds.
    fn again(self, fun: Fun, mut sum: Value, mut term: Value, mut n: u128, ty: Type) -> Option<Value> {
        use Op::{Add, And, AndAlso, Gcd, Max, Min, Mul, Or, OrElse, Xor};
        let apply = |a: Value, b: Value| self.applied(fun, vec![Expr::Literal(a), Expr::Literal(b)], ty);
        let any_order = matches!(fun, Fun::Op(Add | Mul | Min | Max | And | Or | Xor | Gcd | AndAlso | OrElse));
        if any_order && !ty.is_float() {
            while n > 0 {
                if n & 1 == 1 {
                    sum = apply(sum, term)?;
                }
                (term, n) = (apply(term, term)?, n >> 1);
            }
            return Some(sum);
        }
        for _ in 0..n.min(STEPS) {
            let next = apply(sum, term)?;
            if next == sum {
                return Some(sum);
            }
            (sum, n) = (next, n - 1);
        }
        (n == 0).then_some(sum)
    }
}
