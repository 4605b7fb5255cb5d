//! Bucket indices (`stream::Directory`) of loop-invariant lists that each iteration of a loop around searches: to begin another operand's
//! blocks or bands, or because the lists gallop or are located beside another list.
//!
//! ```text
//!   y[i] = sum(j: A[i,j] * x[j])              A {dense, vbl}, x {compressed}
//!     ─▶  x0_by[s] = the position in x at which bucket s begins      once; a bucket is a range of 2^k coordinates
//!         for i { for block of row i { p = x0_by[start >> …]; … } }
//! ```
//!
//! The kernel computes the length of buckets from the number of entries. The number of slots is bounded by the number of searches, which
//! pay for them ([`super::Options::sought`]), and by the number of entries, beyond which more slots do not help ([`STORED`]). With few
//! searches the index has one slot, and they search exponentially as without an index. So a search takes a constant number of steps where
//! entries do not crowd in one bucket, and never more than an exponential search.
//!
//! Invariant: the target of a search is at most the list's extent, unless the index knows that extent. A loop that goes further is cut
//! where the list ends. If a window lies elsewhere, the rest of the loop is empty, and may begin anywhere: the lists of such a window
//! have indices that know their extents ([`super::fiber::Scope::stray`]).

use super::output::alloc;
use super::{Context, binary, int, times};
use crate::algebra::Op;
use crate::iteration::background;
use crate::loops::lower::fiber;
use crate::loops::plan;
use crate::loops::{Expr, Holds, Role, Symbolic, Term};
use crate::map::Map;
use crate::notation::concrete::{AccessId, Index, Iterated, Nest};
use crate::notation::syntax::Protocol;
use crate::stream::{Directory, Domain};
use std::collections::BTreeMap;

/// The maximum number of slots for each entry of the list. More slots make it rarer that a bucket has an entry before the target, which
/// is unpredictable; with this many it is about one in a hundred.
const STORED: i64 = 64;

/// Emits the bucket indices for the lists of a nest.
pub(super) fn directories(cx: &Context, d: &mut Symbolic, nest: &Nest) -> BTreeMap<AccessId, Directory<Term>> {
    let mut all = BTreeMap::new();
    let sought = |a: &AccessId| {
        let plain = cx.program.tensor(*a).format.levels.first().is_some_and(|kind| kind.is_plain());
        plain && sought_in(cx, nest, *a).is_some()
    };
    let choose = || nest.rhs.accesses().into_iter().filter(sought).map(plan::Directory).collect();
    for plan::Directory(a) in cx.book.decide_all(choose) {
        let tensor = cx.program.tensor(a);
        let [pos, crd] = ["pos", "crd"].map(|name| *fiber::levels(cx, a)[0].named(name));
        let Some(sought) = sought_in(cx, nest, a) else { continue };
        let extent = Term::fixed(cx.extent(tensor.extents[tensor.format.order[0]]));
        let most = binary(
            Op::Min,
            binary(Op::FloorDiv, sought, int(cx.sought.into())),
            times(Expr::Capacity(crd), int(STORED)),
        );
        let most = d.snapshot("most", Term::fixed(most));
        let shift = Directory::shift(d, &extent, &most);
        let places = Directory::places(d, &extent, &shift);
        let table = d.buffer(&format!("{}0_by", tensor.name), d.element(pos), Role::Workspace);
        let places = d.place(&places);
        alloc(d, table, places, None);
        let directory = Directory { table, shift, extent: None };
        let list = fiber::unopened(cx, d, &Default::default(), a);
        directory.make(d, &format!("p_{}", tensor.name), list, &extent);
        all.insert(a, directory);
    }
    all
}

/// An estimate of the number of searches in an access's first list, if there may be many: the number of blocks, bands or entries of a
/// needed access along the same loop.
fn sought_in(cx: &Context, nest: &Nest, a: AccessId) -> Option<Expr> {
    let w = cx.program.level_var(&cx.program.accesses[a.0], 0);
    let order = [&nest.order[..], &nest.rhs.around(a)?].concat();
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
    counted.reduce(|m, n| binary(Op::Max, m, n))
}

/// The number of an access's blocks or bands along a loop; with `lists`, also the number of its entries.
fn listed_along(cx: &Context, b: AccessId, v: Index, lists: bool) -> Option<Expr> {
    let (format, access) = (&cx.program.tensor(b).format, &cx.program.accesses[b.0]);
    let along = |l: &usize| cx.program.follows(cx.program.level_var(access, *l), v);
    let l = (0..format.rank()).find(along)?;
    let crd = fiber::levels(cx, b)[l].array(Holds::Coordinates)?;
    let begins = format.levels[l].is_in_blocks() || format.levels[l].is_interval();
    (begins || lists && format.levels[l].is_list()).then_some(Expr::Capacity(crd))
}
