//! Arrays of a result that are an operand's: they are not made, and result and operand share them.
//!
//! ```text
//!   whole      B[i,j] = A[i,j]                      one format: all arrays; there are no loops
//!   levels     B[i,j] = 2 * A[i,j]                  levels, where loops visit exactly A's entries: a value is made for each
//!   entries    C[i,j] = split(v[k], k -> (i,j))     values, in the same order in another format, and coordinates of the variables
//!              R[i,j] = A[i,j]     csr from coo     that both have. The rest is made: positions, rows
//! ```
//!
//! Of *entries*, the loops are those that make all arrays, less the stores into arrays that exist already. That they visit each entry once,
//! in order, follows from the statement; at its end the kernel compares the number that they stored with the operand's
//! ([`Failure::Entries`]).

use super::{Context, Expr, binary};
use crate::algebra::Op;
use crate::format::Format;
use crate::loops::lower;
use crate::loops::{BufferId, Entry, Failure, Holds, Symbolic};
use crate::map::{Map, Size};
use crate::notation::concrete::{self, AccessId, Index, Nest, Place, Role};

/// The arrays of a result's entries that are an operand's.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Coordinates, by level of the result.
    coordinates: Vec<Option<BufferId>>,
    pub(super) values: BufferId,
}

impl Kept {
    /// The array of a level of the result.
    pub fn of(&self, level: usize, holds: Holds) -> Option<BufferId> {
        self.coordinates[level].filter(|_| holds == Holds::Coordinates)
    }

    /// Whether an array is one of them.
    pub fn has(&self, buffer: BufferId) -> bool {
        self.values == buffer || self.coordinates.contains(&Some(buffer))
    }

    /// Ends the kernel if the number of entries is not `count`.
    pub fn compare(&self, d: &mut Symbolic, count: Expr) {
        let differs = binary(Op::Ne, count, Expr::Capacity(self.values));
        d.when(differs, |d| d.call(Entry::Fail(Failure::Entries)), |_| {});
    }
}

/// Whether a nest's result may have arrays of an access's tensor: it is an operand, and the nest neither folds nor scatters.
/// A result that moves has arrays of its own.
fn may_have(cx: &Context, nest: &Nest, a: AccessId) -> bool {
    let moves = cx.moving.contains(&nest.target.tensor);
    let added = nest.places.is_some() || nest.fold.is_some();
    matches!(cx.program.tensor(a).role, Role::Operand(_)) && !added && !moves
}

/// The operand whose values a nest's result copies, of the same type and fill.
fn copied(cx: &Context, nest: &Nest) -> Option<AccessId> {
    let concrete::Expr::Access(a, _) = nest.rhs else { return None };
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let same = (operand.ty, operand.fill) == (result.ty, result.fill);
    (same && may_have(cx, nest, a)).then_some(a)
}

/// The operand that a nest's result is as it stands: the same format under the same variables.
pub(super) fn is_operand(cx: &Context, nest: &Nest) -> Option<Place> {
    let a = copied(cx, nest)?;
    let access = &cx.program.accesses[a.0];
    let same = cx.program.tensor(a).format == cx.program.tensors[nest.target.tensor.0].format
        && access.vars == nest.target.vars;
    same.then_some(access.tensor)
}

/// Whether a result whose loops visit exactly an access's entries can have that access's levels.
pub(super) fn may_share(cx: &Context, nest: &Nest, a: AccessId) -> bool {
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let access = &cx.program.accesses[a.0];
    let rank = result.format.rank();
    let vars =
        |access: &concrete::Access| -> Vec<Index> { (0..rank).map(|l| cx.program.level_var(access, l)).collect() };
    let kinds = operand.format.levels.get(..rank) == Some(&result.format.levels[..])
        && result.format.levels.iter().all(|k| k.is_full() || k.is_plain())
        && result.format.levels.last().is_some_and(|k| k.is_plain());
    may_have(cx, nest, a) && kinds && nest.order == vars(&nest.target) && vars(access) == nest.order
}

/// The arrays of an operand that a nest's result can have if it is that operand in another format or seen in other modes, with all of
/// its entries in their order.
pub(super) fn entries(cx: &Context, nest: &Nest) -> Option<(AccessId, Kept)> {
    let a = copied(cx, nest)?;
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(a));
    let access = &cx.program.accesses[a.0];
    let plain = nest.workspace.is_none() && nest.before.is_none() && nest.both.is_none();
    let same = plain
        && matches!(result.role, Role::Result(_))
        && is_list(&operand.format)
        && is_list(&result.format)
        && is_in_order(cx, access, &nest.order)
        && is_in_order(cx, &nest.target, &nest.order);
    same.then(|| {
        let arrays = lower::arrays_of(cx, access.tensor);
        let of = |l: usize| {
            let v = cx.program.level_var(&nest.target, l);
            let theirs = (0..operand.format.rank()).find(|m| cx.program.level_var(access, *m) == v)?;
            let entry = is_of_entries(&result.format, l) && is_of_entries(&operand.format, theirs);
            arrays.levels[theirs].array(Holds::Coordinates).filter(|_| entry)
        };
        (a, Kept { coordinates: (0..result.format.rank()).map(of).collect(), values: arrays.values })
    })
}

/// Whether loops in this order visit all coordinates of an access's levels in ascending order, from the outermost in: each level's
/// coordinate is one loop's, or counted by several together, up to the level's extent. Further loops inside come to an entry more than
/// once: they count, so that what they store is compared with the fill, and not all of it is appended.
fn is_in_order(cx: &Context, access: &concrete::Access, order: &[Index]) -> bool {
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
    (0..access.vars.len()).all(in_order)
}

/// The number of the current turn of nested loops, counted over all of them.
fn counted_by(cx: &Context, loops: &[Index]) -> Option<Map<Index>> {
    let extent = |v: Index| cx.extents.length(cx.program.vars[v.0].extent);
    let step = |outer: Map<Index>, v: Map<Index>, inner: Size| Map::split((&outer, &v), &inner);
    let (first, inner) = loops.split_first()?;
    Some(inner.iter().fold(Map::var(*first), |outer, v| step(outer, Map::var(*v), extent(*v))))
}

/// Whether a format's values are those of a list's entries, with its fibers one behind the other.
fn is_list(format: &Format) -> bool {
    let kinds = format.levels.iter().all(|k| k.is_full() || k.is_list() && !k.has_table());
    let last = format.rank().checked_sub(1).is_some_and(|l| is_of_entries(format, l));
    kinds
        && last
        && (0..format.rank()).all(|l| !format.is_single(l))
        && format.levels.last().is_some_and(|kind| !kind.begins_chain())
}

/// Whether a level has a coordinate for each entry: the last, and those of its chain.
fn is_of_entries(format: &Format, l: usize) -> bool {
    let last = format.rank() - 1;
    let list = |l: usize| !format.levels[l].is_full();
    list(l) && (l == last || format.chain(last).is_some_and(|chain| chain.contains(&l)))
}
