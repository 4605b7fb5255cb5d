//! Lists that are fixed while others move: each is scattered into a position map (`stream::PositionMap`), and looked up there.
//!
//! ```text
//!  forall i: forall j: forall k: t[] += A[i,j] * A[j,k] * A[i,k spread]
//!    ─▶  for i {
//!          for p in row i { at[crd[p]] = p + 1 }               once for each i, with every j in it
//!          for j in row i { for k in row j { if at[k] != 0 { … vals[at[k] - 1] } } }
//!          for p in row i { at[crd[p]] = 0 }
//!        }
//! ```
//!
//! Invariant: a list is removed from its map in the scope in which it was scattered, so that one map serves a level. The list is not
//! merged with each of the others: beside lists with a total of m entries it costs m steps, and twice its own number of entries.
//!
//! If the other list is much longer, the loop searches exponentially in that one instead, for each entry of the fixed list. The kernel
//! compares the lengths. Two lists of an outermost loop, such as those of a dot product, are treated likewise.

use super::{
    Context,
    destination::{self, Destination, Frame},
    levels, value,
};
use crate::choose::{
    access, condition,
    scope::Scope,
    symbol::{Name, Sym},
    tables,
    walk::{self, Leap},
};
use crate::plan::{Block, Flags, Op};
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::notation::concrete::{self, AccessId, Index};

/// The factor by which a list must be longer to be searched exponentially: one search costs about as much as this many entries.
const LONGER: i64 = 32;

/// Scatters the lists of a body whose fibers are fixed during the loop over `v`, but not during the loops around it.
pub(super) fn lay(
    cx: &Context,
    b: &mut Block,
    scope: &mut Scope,
    v: Index,
    body: &concrete::Expr,
    destination: &Destination,
) -> Vec<Name> {
    let mut all = Vec::new();
    // The loops that compute a bound do not intersect lists.
    let stays = |a: AccessId| {
        let (level, _) = access::next_var(cx, scope, a).filter(|(_, w)| *w != v)?;
        let some = cx.prepared.tables.contains_key(&(a, level)) && !scope.is_laid(a);
        (some && !matches!(destination, Destination::Bound { .. })).then_some((a, level))
    };
    let stay: Vec<(AccessId, usize)> = body.accesses().into_iter().filter_map(stays).collect();
    for (a, level) in stay {
        let it = cx.symbols.name();
        let list = levels::unopened(cx, b, scope, a);
        let flagged = cx.prepared.tables[&(a, level)].flagged;
        let conditions = flagged.then(|| tables::needed_of(cx, scope, a, body, destination::effect(cx, destination)));
        let flags = conditions.as_ref().map(|conditions| flags(cx, scope, a, conditions));
        b.push(Op::Scatter { it, list, flags });
        conditions.into_iter().for_each(|conditions| scope.lay_holding(a, conditions));
        scope.lay(a);
        all.push(it);
    }
    all
}

/// The flags of a scattered list's entries for which the conditions hold.
fn flags(cx: &Context, scope: &Scope, a: AccessId, conditions: &[concrete::Expr]) -> Flags {
    let (mut body, position) = (Block::default(), cx.symbols.read("p", Type::I64));
    let mut open = scope.clone();
    open.descend(a, (position, None), vec![]);
    let all: Vec<Sym> = conditions.iter().map(|c| value::value(cx, &mut body, &open, c)).collect();
    let cond = cx.symbols.all(all).unwrap_or(cx.symbols.bool(true));
    Flags { position, body, cond }
}

/// The value to fold without testing whether the searched entries exist, if every one of them is looked up by value: where an entry is
/// absent the map holds the fill value, with which the body has the correct value. A test would be an unpredictable branch.
pub(super) fn folded_branch_free(
    cx: &Context,
    b: &mut Block,
    (scope, searched): (&Scope, &[AccessId]),
    body: &concrete::Expr,
) -> Option<Sym> {
    let known = |a: &AccessId| scope.fiber(*a).value.is_some();
    let anyway = !body.has_loops() && condition::cheap(body) && searched.iter().all(known);
    anyway.then(|| value::value(cx, b, scope, body))
}

/// For two lists that an innermost loop intersects: the condition that one is so much longer that the loop searches it exponentially, and
/// the scope for that. If one list is scattered, only the other is considered; if both are walked, each is, but only in an outermost
/// loop, where the lengths are compared once.
pub(super) fn leaped(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    Frame { v, rest, destination }: Frame,
    body: &concrete::Expr,
) -> Vec<(Sym, Scope)> {
    let symbols = &cx.symbols;
    let mut length = |a: AccessId| {
        let list = levels::unopened(cx, b, scope, a);
        symbols.sub(list.end, list.begin)
    };
    let far = |Leap { far, near }: Leap| {
        let [length, other] = [far, near].map(&mut length);
        (symbols.op(Fn::Gt, [length, symbols.times(other, symbols.int(LONGER))]), scope.leaping(far, near))
    };
    let folds = rest.is_empty() && !body.has_loops() && matches!(destination, Destination::Scalar { .. });
    let can = if folds { walk::may_leap(cx, scope, v, body, destination::effect(cx, destination)) } else { vec![] };
    can.into_iter().map(far).collect()
}
