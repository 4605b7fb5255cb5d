//! Lists that are fixed while others move: each is scattered into a position map (`stream::Spread`), and looked up there.
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

use super::nest::Sink;
use super::output::alloc;
use super::{BufferId, Context, Expr, binary, int, times};
use crate::algebra::{Op, Type, Value};
use crate::loops::arith::yes;
use crate::loops::choose::{access, condition, scope::Scope, symbol::Sym, tables, walk};
use crate::loops::lower::{fiber, nest, output};
use crate::loops::plan::{self, Pass};
use crate::loops::{Holds, Role, Stmt, Symbolic, Term};
use crate::notation::concrete::{self, AccessId, Index, Nest};
use crate::stream::Spread;
use std::collections::BTreeMap;

/// The factor by which a list must be longer to be searched exponentially: one search costs about as much as this many entries.
const LONGER: i64 = 32;

/// The position map into which a list is scattered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid {
    pub buffer: BufferId,
    /// Whether the map holds values, and the fill value elsewhere; otherwise it holds positions plus 1, and 0 elsewhere.
    pub by_value: bool,
    /// Flags of the coordinates that have an entry, if most lookups need only these: eight times as many of them stay in a cache.
    pub flags: Option<BufferId>,
}

/// Allocates empty position maps for the lists that a nest scatters.
pub(super) fn tables(cx: &Context, d: &mut Symbolic, nest: &Nest) -> BTreeMap<(AccessId, usize), Laid> {
    let mut tables = BTreeMap::new();
    for plan::Table { list: (a, l), by_value, flagged } in cx.book.decide_all(|| tables::spread_in(cx, nest)) {
        let tensor = cx.program.tensor(a);
        let (ty, none) = match by_value {
            true => (tensor.ty, tensor.fill),
            false => {
                let pos =
                    fiber::levels(cx, a)[l].array(Holds::Positions).expect("lists that are spread have positions");
                (d.element(pos), Value::zero(d.element(pos)))
            }
        };
        let extent = cx.extent(tensor.extents[tensor.format.order[l]]);
        let buffer = d.buffer(&format!("{}{l}_at", tensor.name), ty, Role::Workspace);
        alloc(d, buffer, extent.clone(), Some(none));
        let flags = flagged.then(|| {
            let flags = d.buffer(&format!("{}{l}_is", tensor.name), Type::Bool, Role::Workspace);
            alloc(d, flags, extent, Some(Value::bool(false)));
            flags
        });
        tables.insert((a, l), Laid { buffer, by_value, flags });
    }
    tables
}

/// Scatters the lists of a body whose fibers are fixed during the loop over `v`, but not during the loops around it.
pub(super) fn lay(
    cx: &Context,
    d: &mut Symbolic,
    scope: &mut Scope,
    v: Index,
    body: &concrete::Expr,
    sink: &Sink,
) -> Vec<(AccessId, Laid, Spread<Term>)> {
    let mut all = Vec::new();
    // The loops that compute a bound do not intersect lists.
    let stays = |a: AccessId| {
        let (level, _) = access::next_var(cx, scope, a).filter(|(_, w)| *w != v)?;
        let some = cx.prepared.tables.contains_key(&(a, level)) && !scope.is_laid(a);
        (some && !matches!(sink, Sink::Bound { .. })).then_some(plan::Spread((a, level)))
    };
    for plan::Spread((a, level)) in cx.book.decide_all(|| body.accesses().into_iter().filter_map(stays).collect()) {
        let table = cx.prepared.tables[&(a, level)];
        let fiber = fiber::unopened(cx, d, scope, a);
        let list = Spread::open(d, fiber, table.buffer);
        if table.by_value {
            let values = output::values(cx, a);
            write(d, &list, &|position| Expr::Load(values, Box::new(position)));
        } else {
            list.lay(d);
        }
        if let Some(flags) = table.flags {
            let conditions = tables::needed_of(cx, scope, a, body, nest::effect(cx, sink));
            flag(cx, d, scope, (a, &list, flags), &conditions);
            scope.lay_holding(a, conditions);
        }
        scope.lay(a);
        all.push((a, table, list));
    }
    all
}

/// Sets the flags of a scattered list's entries for which the conditions hold.
fn flag(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    (a, list, flags): (AccessId, &Spread<Term>, BufferId),
    conditions: &[concrete::Expr],
) {
    list.each(d, &mut |d, at, position| {
        let mut open = scope.clone();
        open.descend(a, (cx.sym(d.place(position)), None), vec![]);
        let all = conditions.iter().map(|c| fiber::value(cx, d, &open, c));
        let all = all.reduce(|a, b| binary(Op::AndAlso, a, b)).unwrap_or_else(yes);
        let at = d.place(at);
        d.emit(Stmt::Store(flags, at, all));
    });
}

/// Removes a list from its position map.
pub(super) fn take_up(cx: &Context, d: &mut Symbolic, (a, table, list): (AccessId, Laid, Spread<Term>)) {
    if let Some(flags) = table.flags {
        list.each(d, &mut |d, at, _| {
            let at = d.place(at);
            d.emit(Stmt::Store(flags, at, Expr::Const(Value::bool(false))));
        });
    }
    if table.by_value {
        return write(d, &list, &|_| Expr::Const(cx.fill(a)));
    }
    list.take_up(d);
}

/// Stores a value for each entry at its coordinate.
fn write(d: &mut Symbolic, list: &Spread<Term>, value: &dyn Fn(Expr) -> Expr) {
    list.each(d, &mut |d, at, position| {
        let (at, position) = (d.place(at), d.place(position));
        d.emit(Stmt::Store(list.table(), at, value(position)));
    });
}

/// Opens a scattered list at a coordinate, which may be outside of the map where `inside` does not hold.
pub(super) fn ask(cx: &Context, d: &mut Symbolic, scope: &mut Scope, a: AccessId, (at, inside): (Expr, Option<Expr>)) {
    let table = cx.prepared.tables[&(a, scope.fiber(a).depth)];
    let position = |d: &mut Symbolic, at: Expr| match inside.clone().map(Term::fixed) {
        Some(inside) => Spread::ask_within(d, table.buffer, &Term::fixed(at), &inside),
        None => Spread::ask(d, table.buffer, &Term::fixed(at)),
    };
    if let Some(flags) = table.flags {
        let flag = Expr::Load(flags, Box::new(at.clone()));
        let flag = inside.iter().fold(flag, |flag, inside| binary(Op::AndAlso, inside.clone(), flag));
        let found = d.define("asked", Type::Bool, flag);
        let position = position(d, at).1;
        return scope.descend(a, (cx.sym(d.place(&position)), None), vec![cx.sym(found)]);
    }
    if !table.by_value {
        let (found, position) = position(d, at);
        let (found, position) = (d.place(&found), d.place(&position));
        return scope.descend(a, (cx.sym(position), None), vec![cx.sym(found)]);
    }
    let tensor = cx.program.tensor(a);
    let value = Expr::Load(table.buffer, Box::new(at));
    let value = inside
        .iter()
        .fold(value, |value, inside| Expr::Op(Op::Select, vec![inside.clone(), value, Expr::Const(tensor.fill)]));
    let value = d.define(&tensor.name.to_lowercase(), tensor.ty, value);
    let some = match tensor.fill == Value::bool(false) {
        true => value.clone(),
        false => binary(Op::Ne, value.clone(), Expr::Const(tensor.fill)),
    };
    // The value is kept, so the position is never read.
    scope.descend(a, (Sym::ZERO, None), vec![cx.sym(some)]);
    scope.keep(a, cx.sym(value));
}

/// The value to fold without testing whether the searched entries exist, if every one of them is looked up by value: where an entry is
/// absent the map holds the fill value, with which the body has the correct value. A test would be an unpredictable branch.
pub(super) fn folded_anyway(
    cx: &Context,
    d: &mut Symbolic,
    (scope, searched): (&Scope, &[AccessId]),
    body: &concrete::Expr,
) -> Option<Expr> {
    let known = |a: &AccessId| scope.fiber(*a).value.is_some();
    let anyway = !body.has_loops() && condition::cheap(body) && searched.iter().all(known);
    anyway.then(|| fiber::value(cx, d, scope, body))
}

/// For two lists that an innermost loop intersects: the condition that one is so much longer that the loop searches it exponentially, and
/// the scope for that. If one list is scattered, only the other is considered; if both are walked, each is, but only in an outermost
/// loop, where the lengths are compared once.
pub(super) fn leaped(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    (v, rest): (Index, &[Index]),
    body: &concrete::Expr,
    sink: &Sink,
) -> Vec<(Expr, Scope)> {
    let mut length = |a: AccessId| {
        let fiber = fiber::unopened(cx, d, scope, a);
        let (begin, end) = (d.place(&fiber.begin), d.place(&fiber.end));
        binary(Op::Sub, end, begin)
    };
    let far = |plan::Leap { far, near }: plan::Leap| {
        (binary(Op::Gt, length(far), times(length(near), int(LONGER))), scope.leaping(far, near))
    };
    let folds = rest.is_empty() && !body.has_loops() && matches!(sink, Sink::Scalar { .. });
    let can = || if folds { walk::may_leap(cx, scope, v, body, nest::effect(cx, sink)) } else { vec![] };
    cx.book.decide_all(can).into_iter().map(far).collect()
}

/// Emits the loops in the scope of the first of `leaped` whose condition holds, and in `scope` if none does.
pub(super) fn leap_or_loop(
    cx: &Context,
    d: &mut Symbolic,
    mut leaped: std::vec::IntoIter<(Expr, Scope)>,
    (vars, body): (&[Index], &concrete::Expr),
    scope: Scope,
    sink: &Sink,
) {
    let Some((far, leaping)) = leaped.next() else { return nest::loops(cx, d, vars, body, scope, sink) };
    let leap = |d: &mut Symbolic| {
        cx.book.under(Pass::Leaping, || nest::loops(cx, d, vars, body, leaping, sink));
    };
    d.when(far, leap, |d| leap_or_loop(cx, d, leaped, (vars, body), scope, sink));
}
