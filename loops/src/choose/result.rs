//! Results that share an operand's arrays.

use crate::choose::Facts;
use crate::plan::Arrays;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::Format;
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::{
    self, AccessId, Assign, Body, Index, Iterated, Limit, Nest, Place, Role, Workspace, WorkspaceKind,
};
use fiberloom_core::notation::syntax::Protocol;

/// The maximum number of rows for which a split's quotients are found by multiplication (`lower/quotient.rs`).
pub const ROWS: i64 = 1 << 27;

/// Whether a tensor's arrays have their lengths set: the tensor is a result, or is moved to one.
pub fn is_finished(cx: &Facts, place: Place) -> bool {
    matches!(cx.program.tensors[place.0].role, Role::Result(_)) || cx.moving.contains(&place)
}

/// The value of a nest's result before anything is stored: the fill value, which a scatter folds into, or the identity of a fold in place.
pub fn initial(cx: &Facts, nest: &Nest) -> Value {
    let tensor = &cx.program.tensors[nest.target.tensor.0];
    match &nest.body {
        Body::Assign(Assign::Fold(fun))
        | Body::Where(Workspace { kind: WorkspaceKind::Row, .. }, Assign::Fold(fun)) => {
            cx.simplify.begins(*fun, tensor.ty).expect("folds in place have an identity")
        }
        _ => tensor.fill,
    }
}

/// Whether a nest's result may share arrays with an access's tensor: that is an operand, and the nest neither folds nor scatters. A
/// result that is moved has arrays of its own.
pub fn may_have(cx: &Facts, nest: &Nest, a: AccessId) -> bool {
    let moves = cx.moving.contains(&nest.target.tensor);
    let added = *nest.assign() != Assign::Once;
    matches!(cx.program.tensor(a).role, Role::Operand(_)) && !added && !moves
}

/// The operand whose values a nest's result copies, of the same type and fill.
pub fn copied(cx: &Facts, nest: &Nest) -> Option<AccessId> {
    let concrete::Expr::Access(a, _) = nest.rhs else { return None };
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let same = (operand.ty, operand.fill) == (result.ty, result.fill);
    (same && may_have(cx, nest, a)).then_some(a)
}

/// The arrays that a statement's result has whatever its loops are.
pub fn arrays(cx: &Facts, nest: &Nest) -> Arrays {
    if nest.workspace().is_some_and(|w| w.kind == WorkspaceKind::Counts) {
        return Arrays::Counted;
    }
    if let Some(was) = cx.taken.get(&nest.target.tensor) {
        return Arrays::Taken(*was);
    }
    entries(cx, nest).map_or(Arrays::Own, Arrays::Entries)
}

/// The operand whose entries a nest's result has, all of them in their order, in another format or with other modes.
fn entries(cx: &Facts, nest: &Nest) -> Option<AccessId> {
    let a = copied(cx, nest)?;
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let access = &cx.program.accesses[a.0];
    let plain = nest.body == Body::Assign(Assign::Once);
    // Loops that look entries up count coordinates, and store values that differ from the fill value.
    let walked = access.protocols.values().all(|protocol| *protocol != Iterated::As(Protocol::Locate));
    let same = plain
        && walked
        && matches!(result.role, Role::Result(_))
        && is_list(&operand.format)
        && is_list(&result.format)
        && is_in_order(cx, access, &nest.loops)
        && is_in_order(cx, &nest.target, &nest.loops);
    same.then_some(a)
}

/// The operand that equals a nest's result: it has the same format and the same variables.
pub fn is_operand(cx: &Facts, nest: &Nest) -> Option<Place> {
    let a = copied(cx, nest)?;
    let access = &cx.program.accesses[a.0];
    let same = cx.program.tensor(a).format == cx.program.tensors[nest.target.tensor.0].format
        && access.vars == nest.target.vars;
    same.then_some(access.tensor)
}

/// Whether a result whose loops visit exactly an access's entries can share that access's levels.
pub fn may_share(cx: &Facts, nest: &Nest, a: AccessId) -> bool {
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let access = &cx.program.accesses[a.0];
    let rank = result.format.rank();
    let vars =
        |access: &concrete::Access| -> Vec<Index> { (0..rank).map(|l| cx.program.level_var(access, l)).collect() };
    let kinds = operand.format.levels.get(..rank) == Some(&result.format.levels[..])
        && result.format.levels.iter().all(|k| k.is_full() || k.is_plain())
        && result.format.levels.last().is_some_and(|k| k.is_plain());
    let mut order = nest.order();
    order.retain(|v| !counts_entries(cx, *v, a));
    may_have(cx, nest, a) && kinds && order == vars(&nest.target) && vars(access) == vars(&nest.target)
}

/// Whether a loop counts pieces of an access's entries: each entry is in one of them.
pub fn counts_entries(cx: &Facts, v: Index, a: AccessId) -> bool {
    let of_entries = |limit: &Limit| {
        let Limit::Pieces { cut, .. } = limit else { return false };
        let concrete::Cut { counted, tensors, .. } = &cx.program.cuts[*cut];
        *counted == concrete::Counted::Entries && tensors.contains(&cx.program.accesses[a.0].tensor)
    };
    cx.program.vars[v.0].limits.iter().any(of_entries)
}

/// Whether loops in this order visit all coordinates of an access's levels once, in ascending order, from the outermost level in. Each
/// level's coordinate is one loop's, or counted by several together, up to the level's extent. No loop is left inside, which would visit
/// an entry again.
pub fn is_in_order(cx: &Facts, access: &concrete::Access, order: &[Index]) -> bool {
    let tensor = &cx.program.tensors[access.tensor.0];
    let mut rest = order;
    let in_order = |l: usize| {
        let v = cx.program.level_var(access, l);
        let Some((own, others)) = rest.split_at_checked(cx.program.roots(v).len()) else { return false };
        rest = others;
        let turns = own.iter().fold(Size::number(1), |n, v| n.times(&cx.extents.length(cx.program.vars[v.0].extent)));
        let all = cx.extents.length(tensor.extents[tensor.format.order[l]]);
        counted_by(cx, own) == Some(cx.program.root_map(v)) && cx.extents.known(&turns) == cx.extents.known(&all)
    };
    (0..access.vars.len()).all(in_order) && rest.is_empty()
}

/// The number of the current iteration of nested loops, counted over all of them.
pub fn counted_by(cx: &Facts, loops: &[Index]) -> Option<Map<Index>> {
    let extent = |v: Index| cx.extents.length(cx.program.vars[v.0].extent);
    let step = |outer: Map<Index>, v: Map<Index>, inner: Size| Map::split((&outer, &v), &inner);
    let (first, inner) = loops.split_first()?;
    Some(inner.iter().fold(Map::var(*first), |outer, v| step(outer, Map::var(*v), extent(*v))))
}

/// Whether a format's values are those of a list's entries, with its fibers one behind the other.
pub fn is_list(format: &Format) -> bool {
    let kinds = format.levels.iter().all(|k| k.is_full() || k.is_list() && !k.has_table());
    let last = format.rank().checked_sub(1).is_some_and(|l| is_of_entries(format, l));
    kinds
        && last
        && (0..format.rank()).all(|l| !format.is_single(l))
        && format.levels.last().is_some_and(|kind| !kind.begins_chain())
}

/// Whether a level has a coordinate for each entry: the last level, and those of its chain.
pub fn is_of_entries(format: &Format, l: usize) -> bool {
    let last = format.rank() - 1;
    let list = |l: usize| !format.levels[l].is_full();
    list(l) && (l == last || format.chain(last).is_some_and(|chain| chain.contains(&l)))
}

/// The nest that copies the old version of a scatter's target to the place into which the scatter folds.
pub fn before(cx: &Facts, nest: &Nest) -> Option<Nest> {
    let (a, target) = (nest.assign().before()?, nest.target.clone());
    let loops: Vec<Index> =
        (0..target.vars.len()).map(|l| cx.program.level_var(&cx.program.accesses[a.0], l)).collect();
    let rhs = concrete::Expr::Access(a, cx.program.tensor(a).ty);
    Some(match nest.workspace() {
        Some(Workspace { kind, .. }) => {
            let body = Body::Where(Workspace { kind: *kind, loops }, Assign::Once);
            Nest { target, loops: vec![], body, rhs }
        }
        None => Nest { target, loops, body: Body::Assign(Assign::Once), rhs },
    })
}
