//! Sieves: conditions that outer loops decide. What they rule out is passed over with all of its loops, and inside of what is left
//! they hold.
//!
//! ```text
//!  forall i: y[i] = sum(j: mask(m[i], A[i,j] * x[j]))
//!    ─▶  for i { if m[i] { for j … A[i,j] * x[j] } }         and not: for i { for j … mask(m[i], …) }
//! ```
//!
//! A condition on a loop's own variable is no sieve but an end of its range (`compare.rs`): `sum(j: mask(j == p[i], x[j]))` comes to
//! one coordinate. With the two a statement visits what its conditions leave, which is what `sieve` says in the looplets paper
//! (section 5.2).

use super::fiber::Scope;
use super::{Context, Expr, binary};
use crate::algebra::{Op, Type, Value};
use crate::notation::concrete;
use crate::notation::typed::Fun;
use crate::stream::Symbolic;

impl Context<'_> {
    /// What must hold for a body to have an effect, all of it decided by the loops so far, and the body where it holds; `None` if
    /// nothing must.
    pub(super) fn sieve(
        &self,
        d: &mut Symbolic,
        scope: &Scope,
        body: &concrete::Expr,
        nothing: &dyn Fn(&concrete::Expr) -> bool,
    ) -> Option<(Expr, concrete::Expr)> {
        let (mut body, mut all) = (body.clone(), None);
        while let Some(condition) = self.needed(scope, &body, nothing) {
            body = self.where_it_is(&body, &condition, true);
            let here = self.value(d, scope, &condition);
            all = Some(all.map_or(here.clone(), |all| binary(Op::AndAlso, all, here)));
        }
        all.map(|all| (all, body))
    }

    /// A condition without which a body has no effect, as much of it as loops have decided.
    fn needed(
        &self,
        scope: &Scope,
        body: &concrete::Expr,
        nothing: &dyn Fn(&concrete::Expr) -> bool,
    ) -> Option<concrete::Expr> {
        let mut candidates = Vec::new();
        self.conditions(scope, body, &mut candidates);
        candidates.into_iter().find(|c| nothing(&self.where_it_is(body, c, false))).cloned()
    }

    /// The conditions in an expression that are decided, none inside another.
    fn conditions<'e>(&self, scope: &Scope, e: &'e concrete::Expr, all: &mut Vec<&'e concrete::Expr>) {
        use concrete::Expr::{Access, Call, Concat, Fold, Index, Literal, Reduce};
        match e {
            Literal(_) | Index(_) => {}
            e if e.ty() == Type::Bool && self.is_decided(scope, e) => all.push(e),
            Access(..) => {}
            Call(_, args, _) => args.iter().for_each(|e| self.conditions(scope, e, all)),
            Reduce(_, _, body, _) => self.conditions(scope, body, all),
            Fold(fold, _) => fold.parts().for_each(|e| self.conditions(scope, e, all)),
            Concat(c, _) => c.exprs().for_each(|e| self.conditions(scope, e, all)),
        }
    }

    /// Whether loops have bound all that an expression reads, so that it has its value without any more.
    fn is_decided(&self, scope: &Scope, e: &concrete::Expr) -> bool {
        match e {
            concrete::Expr::Literal(_) => true,
            concrete::Expr::Index(v) => self.coordinate(scope, *v).is_some(),
            concrete::Expr::Access(a, _) => self.next_var(scope, *a).is_none(),
            concrete::Expr::Call(Fun::Op(_), args, _) => args.iter().all(|e| self.is_decided(scope, e)),
            _ => false,
        }
    }

    /// The body where a condition is true, or false.
    fn where_it_is(&self, body: &concrete::Expr, condition: &concrete::Expr, holds: bool) -> concrete::Expr {
        let value = Value::bool(holds);
        let body = body.clone().settled(&|e| (e == condition).then_some(value));
        self.simplify.simplify(&body)
    }
}
