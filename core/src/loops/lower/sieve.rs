//! Sieves: conditions that outer loops decide. What they rule out is passed over with all of its loops, and inside of
//! what is left they hold.
//!
//! ```text
//!  forall i: y[i] = along::sum(j: mask(m[i], A[i,j] * x[j]))
//!    ─▶  for i { if m[i] { for j … A[i,j] * x[j] } }         and not: for i { for j … mask(m[i], …) }
//! ```
//!
//! A condition on a loop's own variable is no sieve but an end of its range (`compare.rs`):
//! `along::sum(j: mask(j == p[i], x[j]))` comes to one coordinate. With the two a statement visits what its conditions leave,
//! which is what `sieve` says in the looplets paper (section 5.2).
//!
//! Where an innermost loop has come to a coordinate, what a declared `iterate` set takes away is an *omitter point*
//! (functions paper, section 5.2): nothing is computed, and nothing stored. Explicit fills are no members, so that
//! values are asked.
//!
//! ```text
//!  fn f(x, y) … where iterate(x & !y)
//!  forall i: r[i] = f(a[i], b[i])     ─▶  for each entry of a { if a != 0 && !(b != 0) { r[i] = f(a, b) } }
//! ```

use super::{Context, Expr, binary};
use crate::algebra::Op;
use crate::loops::Symbolic;
use crate::loops::choose::{condition, scope::Scope};
use crate::loops::lower::fiber;
use crate::notation::concrete::{self};

/// A condition, computable from what loops around have bound, without which a body has no effect, and the body
/// where it holds; `None` if there is none.
pub(super) fn sieve(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    body: &concrete::Expr,
    nothing: &dyn Fn(&concrete::Expr) -> bool,
) -> Option<(Expr, concrete::Expr)> {
    let (conditions, body) = condition::all_needed(cx, scope, body, nothing);
    let all = conditions.iter().map(|c| fiber::value(cx, d, scope, c));
    all.reduce(|all, c| binary(Op::AndAlso, all, c)).map(|all| (all, body))
}
