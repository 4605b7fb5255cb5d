//! Accesses at a loop: the levels that open, their looplets, and the lists that are walked.

use crate::choose::{Facts, along, scope::Scope, symbol::Sym};
use crate::plan::{self};
use fiberloom_core::format::{Holds, LevelKind};
use fiberloom_core::iteration::{Point, background};
use fiberloom_core::map::Size;
use fiberloom_core::notation::concrete::{self, AccessId, Index, Iterated, Limit, Origin};
use fiberloom_core::notation::syntax::Protocol;

/// The accesses of an expression with a coordinate that depends on `w`.
pub fn under(cx: &Facts, e: &concrete::Expr, w: Index) -> Vec<AccessId> {
    let depends = |u: &Index| depends(cx, *u, w);
    cx.program.reads(e).into_iter().filter(|a| cx.program.accesses[a.0].vars.iter().any(depends)).collect()
}

/// Whether a variable is `w` or depends on it.
pub fn depends(cx: &Facts, u: Index, w: Index) -> bool {
    u == w
        || match &cx.program.vars[u.0].origin {
            Origin::Loop => false,
            Origin::Mapped(map) | Origin::Part(map) => map.factors.keys().any(|u| depends(cx, *u, w)),
            Origin::Computed(c) => cx.program.under(&c.of).into_iter().any(|u| depends(cx, u, w)),
        }
}

/// Whether exactly one level of an access depends on `w`, and it is a list over `w` itself.
pub fn is_listed_under(cx: &Facts, a: AccessId, w: Index) -> bool {
    let (access, format) = (&cx.program.accesses[a.0], &cx.program.tensor(a).format);
    let mut levels = (0..format.rank()).filter(|l| depends(cx, cx.program.level_var(access, *l), w));
    let list = |l: usize| {
        let spread = cx.program.protocol(a, l) == Some(Iterated::Spread);
        cx.program.level_var(access, l) == w && format.levels[l].is_list() && !spread
    };
    levels.next().is_some_and(list) && levels.next().is_none()
}

/// Whether every level of a body that is not open yet is located.
pub fn is_all_located(cx: &Facts, scope: &Scope, body: &concrete::Expr) -> bool {
    let located = |a: &AccessId| {
        let levels = &cx.program.tensor(*a).format.levels;
        levels[scope.fiber(*a).depth..].iter().all(|kind| kind.is_located())
    };
    body.accesses().iter().all(located)
}

/// Whether a variable depends on a guarded part.
pub fn is_of_asked(cx: &Facts, scope: &Scope, u: Index) -> bool {
    scope.guarded_parts().iter().any(|asked| depends(cx, u, asked.part))
}

/// Whether a variable depends on a part behind which a range may begin.
pub fn is_of_stray(cx: &Facts, scope: &Scope, u: Index) -> bool {
    scope.strays().any(|w| depends(cx, u, w))
}

/// The guards of those guarded parts on which a variable depends.
pub fn guards_around(cx: &Facts, scope: &Scope, u: Index) -> Vec<Sym> {
    let asked = scope.guarded_parts().iter().filter(|asked| depends(cx, u, asked.part));
    asked.filter_map(|asked| asked.inside).collect()
}

/// The variable of an access's next level, if it has one.
pub fn next_var(cx: &Facts, scope: &Scope, a: AccessId) -> Option<(usize, Index)> {
    let access = &cx.program.accesses[a.0];
    let level = scope.fiber(a).depth;
    (level < access.vars.len()).then(|| (level, cx.program.level_var(access, level)))
}

/// The protocol of an access's next level, if it has one.
pub fn protocol(cx: &Facts, scope: &Scope, a: AccessId) -> Option<Iterated> {
    cx.program.protocol(a, scope.fiber(a).depth)
}

/// The accesses of a body whose next level is a list over `v`.
pub fn lists(cx: &Facts, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    opened_by(cx, scope, body, v, LevelKind::is_list)
}

/// The accesses of a body whose next level is over `v`, and whose kind satisfies `such`.
pub fn opened_by(
    cx: &Facts,
    scope: &Scope,
    body: &concrete::Expr,
    v: Index,
    such: impl Fn(LevelKind) -> bool,
) -> Vec<AccessId> {
    let mut all = body.accesses();
    all.retain(|a| match next_var(cx, scope, *a) {
        Some((l, w)) => along::binds(cx, scope, v, w) && such(cx.program.tensor(*a).format.levels[l]),
        None => false,
    });
    all
}

/// The lists over `v` that are walked. The others are searched: hashed ones that are intersected with other lists, those in position
/// maps, and those with the protocol `locate`.
pub fn walked(cx: &Facts, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    let mut lists = lists(cx, scope, body, v);
    let asked = |a: AccessId| protocol(cx, scope, a) == Some(Iterated::As(Protocol::Locate));
    lists.retain(|a| !asked(*a) && !scope.is_laid(*a));
    let hashed = |a: AccessId| {
        let kind = cx.program.tensor(a).format.levels[scope.fiber(a).depth];
        kind.has_table() && protocol(cx, scope, a).is_none()
    };
    if !lists.iter().any(|a| hashed(*a)) {
        return lists;
    }
    let fill = |a: AccessId| cx.fill(a);
    let (sequence, _) = background(body, &lists, &fill, cx.simplify);
    for part in sequence.intersections() {
        if part.iter().any(|a| !hashed(*a)) {
            lists.retain(|a| !(hashed(*a) && part.contains(a)));
        }
    }
    lists
}

/// The looplets of a body's accesses along `v`: one for each level that opens when `v` is bound.
pub fn looplets(cx: &Facts, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<plan::Fiber> {
    let mut all = Vec::new();
    for a in body.accesses() {
        let access = &cx.program.accesses[a.0];
        let mut along = false;
        for l in scope.fiber(a).depth..access.vars.len() {
            let w = cx.program.level_var(access, l);
            let here = along::binds(cx, scope, v, w);
            if !here && !along::is_bound(cx, scope, w) {
                break;
            }
            let looplet = cx.program.tensor(a).format.levels[l].looplet();
            let looplet = if along || !here { looplet.bound() } else { looplet };
            all.push(plan::Fiber { level: (a, l), looplet });
            along = true;
        }
    }
    all
}

/// Whether these loops visit no coordinate of `w` twice: one of them moves it, or each moves it by the whole range of the next one. (A
/// window, `i + k`, visits most coordinates again; nothing is known about computed coordinates.)
pub fn comes_once(cx: &Facts, w: Index, loops: &[Index]) -> bool {
    if cx.program.computed(w).is_some() {
        return false;
    }
    let map = cx.program.root_map(w);
    let factors: Vec<_> = loops.iter().filter_map(|u| Some((*u, map.factors.get(u)?.clone()))).collect();
    let beyond = |(_, outer): &(Index, Size), (u, inner): &(Index, Size)| {
        let extent = Size::unknown(cx.program.vars[u.0].extent);
        cx.extents.known(outer) == cx.extents.known(&inner.times(&extent))
    };
    let ascends = factors.windows(2).all(|pair| beyond(&pair[1], &pair[0]));
    ascends || factors.windows(2).all(|pair| beyond(&pair[0], &pair[1]))
}

/// Whether an access's levels from `from` on are all located, under coordinates that are not computed.
pub fn is_located(cx: &Facts, a: AccessId, from: usize) -> bool {
    let (access, format) = (&cx.program.accesses[a.0], &cx.program.tensor(a).format);
    let counted = |l: usize| cx.program.computed(cx.program.level_var(access, l)).is_none();
    (from..format.rank()).all(|l| format.levels[l].is_located() && counted(l))
}

/// Whether an access's next level gallops to the coordinates of other lists.
pub fn gallops(cx: &Facts, scope: &Scope, a: AccessId) -> bool {
    protocol(cx, scope, a) == Some(Iterated::As(Protocol::Gallop)) || scope.leaps(a)
}

/// Whether a point's value needs neither a loop nor a search.
pub fn is_open(cx: &Facts, scope: &Scope, point: &Point) -> bool {
    let open = |a: AccessId| {
        let walked = point.leaders.contains(&a) || point.followers.contains(&a);
        is_located(cx, a, scope.fiber(a).depth + walked as usize)
    };
    !point.body.has_loops() && point.body.accesses().into_iter().all(open)
}

/// The accesses of a body whose next level has pieces along `v`, and has no phase yet.
pub fn stepped_along(cx: &Facts, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    in_no_phase(scope, opened_by(cx, scope, body, v, LevelKind::is_stepped))
}

/// Keeps the accesses whose next level has no phase yet.
fn in_no_phase(scope: &Scope, mut all: Vec<AccessId>) -> Vec<AccessId> {
    all.retain(|a| scope.phase(*a).is_none() && !scope.is_pending(*a));
    all
}

/// The accesses of a body whose next level has phases along `v`, and has no phase yet.
pub fn phased(cx: &Facts, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    let phases = |kind: LevelKind| kind.is_interval() || kind.is_mirrored() || kind.is_in_blocks();
    let mut all = in_no_phase(scope, opened_by(cx, scope, body, v, phases));
    // A block has phases once a stepped loop has reached it.
    let blocks = |a: AccessId| cx.kind(a, scope.fiber(a).depth).is_in_blocks();
    all.retain(|a| !blocks(*a) || scope.interval(*a).is_some());
    all
}

/// Whether these loops, the last of which is over a level with coordinates, visit none of the level's entries twice. The pieces of a cut have no
/// coordinates in common.
pub fn visits_once(cx: &Facts, (a, level): plan::Level, loops: &[Index]) -> bool {
    let access = &cx.program.accesses[a.0];
    let counts_pieces = |v: &Index| cx.program.vars[v.0].limits.iter().any(|l| matches!(l, Limit::Pieces { .. }));
    let loops: Vec<Index> = loops.iter().copied().filter(|v| !counts_pieces(v)).collect();
    let above: Vec<Index> = (0..=level).map(|l| cx.program.level_var(access, l)).collect();
    let moves = |u: &Index| above.iter().any(|w| cx.program.follows(*w, *u));
    // Below a position that several coordinates share, entries are visited once for each coordinate.
    let shared = cx.program.tensor(a).format.levels[..level].iter().any(|kind| kind.shares());
    let above_once = || above.iter().all(|w| comes_once(cx, *w, &loops));
    let listed = cx.kind(a, level).holds(Holds::Coordinates);
    listed && !shared && loops.iter().all(moves) && above_once()
}

/// Whether a loop over `v` skips coordinates of an access's next level.
pub fn strides(cx: &Facts, scope: &Scope, a: AccessId, v: Index) -> bool {
    let next = next_var(cx, scope, a);
    next.is_some_and(|(_, w)| along::line(cx, cx.program.root_map(w), v).r != Size::number(1))
}
