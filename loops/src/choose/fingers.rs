//! Lists whose consecutive pieces loops visit: by fingers that stay where the last piece ended, and by blocks.

use crate::choose::{
    Facts, access,
    piece::Piece,
    scope::{Block, Scope},
    symbol::Sym,
};
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::{self, AccessId, Claim, Index};

/// A cursor in a list whose consecutive pieces the loops visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The list.
    pub list: (AccessId, usize),
    /// The loops that move it.
    pub through: Vec<Index>,
}

/// Fingers for the lists of a range: each iteration sees the part behind that of the last one.
pub fn followed(cx: &Facts, piece: &Piece, v: Index) -> Vec<Moved> {
    let lists = access::walked(cx, &piece.scope, &piece.body, v).into_iter().map(|a| (a, piece.scope.fiber(a).depth));
    let free = lists.filter(|list| !piece.scope.fingers.contains_key(list));
    free.map(|list| Moved { list, through: vec![v] }).collect()
}

/// Fingers for lists of which each iteration of the outermost of these loops sees the piece behind the previous one: the coordinates
/// `c + J·u + v`, in a loop over `u` around one over `v` of extent `J`. No loop between the two sees a piece again, and no other loop
/// walks the list. Pieces that are to run in parallel search where they begin, each by itself.
pub fn fingers(cx: &Facts, scope: &Scope, order: &[Index], body: &concrete::Expr) -> Vec<Moved> {
    let finger = |a: AccessId| {
        let (level, w) = access::next_var(cx, scope, a)?;
        let list = cx.program.tensor(a).format.levels[level].is_list();
        let free = list && !scope.in_blocks.contains(&a) && !scope.fingers.contains_key(&(a, level));
        let sums = body.around(a).filter(|_| free)?;
        let order: Vec<Index> = order.iter().copied().chain(sums).collect();
        let through = in_pieces(cx, scope, w, &order)?.to_vec();
        through.iter().all(|u| !is_parallel(cx, *u)).then_some(())?;
        Some(Moved { list: (a, level), through })
    };
    body.accesses().into_iter().filter_map(finger).collect()
}

/// The loops, from the first to the last that moves `w`, if together they visit the coordinates of `w` in order, piece by piece.
pub fn in_pieces<'o>(cx: &Facts, scope: &Scope, w: Index, order: &'o [Index]) -> Option<&'o [Index]> {
    let (map, roots) = (cx.program.root_map(w), cx.program.roots(w));
    let last = order.iter().rposition(|u| roots.contains(u)).filter(|last| *last > 0)?;
    let through = &order[..=last];
    let bound = |u: &Index| through.contains(u) || scope.coordinate(*u).is_some();
    let behind = |pair: &[Index]| {
        let extent = Size::unknown(cx.program.vars[pair[1].0].extent);
        map.factors
            .get(&pair[0])
            .zip(map.factors.get(&pair[1]))
            .is_some_and(|(outer, inner)| cx.extents.known(outer) == cx.extents.known(&inner.times(&extent)))
    };
    (roots.iter().all(bound) && through.windows(2).all(behind)).then_some(through)
}

/// Whether a schedule wants the iterations of a loop on threads.
fn is_parallel(cx: &Facts, v: Index) -> bool {
    let hints = &cx.program.vars[v.0].hints;
    hints.claim != Claim::Nothing && hints.deal.is_none()
}

/// The most iterations of a parallel loop that comes to each of them, where a list would lead it to some.
const PIECES: i64 = 1 << 12;

/// The accesses of a body whose next level is a list that a loop over `v` may see in blocks: the loops inside visit exactly the
/// coordinates between two values of `v`. A parallel loop over few pieces comes to each of them: it goes on in no list.
pub fn in_blocks(cx: &Facts, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    let extent = cx.extents.known_extent(cx.program.vars[v.0].extent).value();
    if is_parallel(cx, v) && extent.is_some_and(|pieces| pieces <= PIECES) {
        return vec![];
    }
    let mut all = body.accesses();
    all.retain(|a| {
        let Some((level, w)) = access::next_var(cx, scope, *a) else { return false };
        let walked = access::protocol(cx, scope, *a).is_none() && cx.program.tensor(*a).format.levels[level].is_list();
        walked && cx.program.computed(w).is_none() && goes_between(cx, scope, &cx.program.root_map(w), v)
    });
    all
}

/// Whether the variables of a map that are bound inside of the loop over `v` cover exactly the coordinates between two of its iterations.
pub fn goes_between(cx: &Facts, scope: &Scope, map: &Map<Index>, v: Index) -> bool {
    let factor = |u: &Index| map.factors.get(u).map(|f| cx.extents.known(f)).filter(|f| *f != Size::default());
    let free = |u: &&Index| **u != v && scope.coordinate(**u).is_none();
    let mut inner: Vec<Index> = map.factors.keys().filter(free).copied().collect();
    let Some(mut length) = factor(&v).filter(|_| !inner.is_empty()) else { return false };
    while !inner.is_empty() {
        let fills = |u: &Index| {
            let extent = cx.extents.known_extent(cx.program.vars[u.0].extent);
            factor(u).is_some_and(|f| cx.extents.known(&f.times(&extent)) == length)
        };
        let Some(next) = inner.iter().position(fills) else { return false };
        length = factor(&inner.remove(next)).expect("it fills");
    }
    true
}

/// The block, with these positions, of an access's next level at the loop over `v`, which is bound.
pub fn block(cx: &Facts, scope: &Scope, a: AccessId, v: Index, (begin, end): (Sym, Sym)) -> Block {
    let (_, w) = access::next_var(cx, scope, a).expect("a list comes next");
    let map = cx.program.root_map(w);
    let length = cx.extents.known(&map.factors[&v]);
    Block { begin, end, from: reached(scope, map), length }
}

/// The part of a map whose variables loops have bound.
pub fn reached(scope: &Scope, mut map: Map<Index>) -> Map<Index> {
    map.factors.retain(|u, _| scope.coordinate(*u).is_some());
    map
}
