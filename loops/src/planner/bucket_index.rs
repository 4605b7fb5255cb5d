//! Bucket indices of loop-invariant lists that each iteration of a loop around searches: which lists have one, and a bound on its length
//! (`lower/bucket_index.rs`).

use super::{Context, levels};
use crate::choose::{
    Facts,
    scope::Scope,
    symbol::{Meaning, Sym},
};
use crate::plan::{Block, List};
use fiberloom_core::algebra::Op as Fn;
use fiberloom_core::format::Holds;
use fiberloom_core::iteration::background;
use fiberloom_core::map::Map;
use fiberloom_core::notation::concrete::{AccessId, Index, Iterated, Nest};
use fiberloom_core::notation::syntax::Protocol;

/// The maximum number of slots for each entry of the list. More slots make it rarer that a bucket has an entry before the target, which
/// is unpredictable; with this many it is about one in a hundred.
const STORED: i64 = 64;

/// The lists of a nest that have bucket indices, each with a bound on the number of slots.
pub(super) fn bucket_indices(cx: &Context, nest: &Nest) -> Vec<(AccessId, List, Sym)> {
    let sought = |a: &AccessId| {
        let plain = cx.program.tensor(*a).format.levels.first().is_some_and(|kind| kind.is_plain());
        plain && sought_in(cx, nest, *a).is_some()
    };
    let of = |a: AccessId| {
        let (sought, symbols) = (sought_in(cx, nest, a)?, &cx.symbols);
        let slots = symbols.op(Fn::FloorDiv, [sought, symbols.int(cx.sought.into())]);
        let most = symbols.min(slots, symbols.times(entries(cx, (a, 0)), symbols.int(STORED)));
        // The whole list is opened without statements.
        let list = levels::unopened(cx, &mut Block::default(), &Scope::default(), a);
        Some((a, List { bucket_index: None, ..list }, most))
    };
    nest.rhs.accesses().into_iter().filter(sought).filter_map(of).collect()
}

/// The number of an operand's coordinates in a level.
fn entries(cx: &Facts, of: (AccessId, usize)) -> Sym {
    cx.symbols.of(Meaning::Length(levels::array(cx, of, Holds::Coordinates)))
}

/// An estimate of the number of searches in an access's first list, if there may be many: the number of blocks, bands or entries of a
/// needed access along the same loop.
fn sought_in(cx: &Context, nest: &Nest, a: AccessId) -> Option<Sym> {
    let w = cx.program.level_var(&cx.program.accesses[a.0], 0);
    let order = [nest.order(), nest.rhs.around(a)?].concat();
    let at = order.iter().position(|v| cx.program.root_map(w) == Map::var(*v)).filter(|at| *at > 0)?;
    let lists = match cx.program.protocol(a, 0) {
        Some(Iterated::As(Protocol::Gallop | Protocol::Locate)) => true,
        Some(Iterated::As(Protocol::Walk)) | None => false,
        Some(Iterated::Spread) => return None,
    };
    let leads = |b: AccessId| {
        let (set, _) = background(&nest.rhs, &[b], &|x| cx.fill(x), cx.simplify);
        set.needed().is_some()
    };
    let others = nest.rhs.accesses().into_iter().filter(|b| *b != a);
    let counted = others.filter_map(|b| listed_along(cx, b, order[at], lists).filter(|_| leads(b)));
    counted.reduce(|m, n| cx.symbols.max(m, n))
}

/// The number of an access's blocks or bands along a loop; with `lists`, also the number of its entries.
fn listed_along(cx: &Context, b: AccessId, v: Index, lists: bool) -> Option<Sym> {
    let (format, access) = (&cx.program.tensor(b).format, &cx.program.accesses[b.0]);
    let along = |l: &usize| cx.program.follows(cx.program.level_var(access, *l), v);
    let l = (0..format.rank()).find(along)?;
    let kind = format.levels[l];
    let counts = kind.is_in_blocks() || kind.is_interval() || lists && kind.is_list();
    (counts && kind.holds(Holds::Coordinates)).then(|| entries(cx, (b, l)))
}
