//! Levels that are not lists: intervals of values, mirrored triangles, runs.
//!
//! ```text
//!  forall j: B[i,j] * x[j], B a band      for j in 0..start       nothing: B is the fill value 0, which annihilates
//!                                         for j in start..stop    B at base + j
//!                                         for j in stop..n_J      nothing
//!
//!  forall i: r[i] * s[i], both runs       while from < n
//!                                           stop = min(end of r's run, end of s's run)
//!                                           for i in from..stop     r and s are constant
//!                                           r and s step, if their run ended
//! ```
//!
//! A phase is a range of its own, split before a lattice is built (`range`). Each interval in a loop multiplies the number of phases.
//! Where more than [`PHASES`] meet, or the statement would have too many lines (`budget.rs`), one loop runs from the first coordinate of
//! all intervals to the last, and tests each interval.

use super::{Context, Expr, Holds, ahead, binary, int, minus, plus, times};
use crate::algebra::{Op, Type};
use crate::format::triangle::Triangle;
use crate::loops::choose::{
    access,
    given::Given,
    range::{Bound, Piece},
    scope::{Phase, Scope},
    symbol::Sym,
};
use crate::loops::lower::{coordinate, fiber, nest, range};
use crate::loops::plan::Cut;
use crate::loops::{Symbolic, Term};
use crate::notation::concrete::{AccessId, Index};
use crate::stream::Interval;

/// The number of positions in a triangle of `i` rows, which is also the number in the rows before row `i`.
pub(super) fn triangle(i: Expr) -> Expr {
    binary(Op::Shr, times(i.clone(), plus(i, int(1))), int(1))
}

/// In the upper triangle of `n` rows, the position of the first value of a row less that value's coordinate.
pub(super) fn upper(n: &Expr, row: &Expr) -> Expr {
    minus(times(row.clone(), n.clone()), triangle(row.clone()))
}

/// The interval of an access's next level, which stores where each interval begins and ends.
pub(super) fn listed_interval(cx: &Context, d: &mut Symbolic, scope: &Scope, a: AccessId) -> Interval<Expr> {
    let fiber = scope.fiber(a);
    let (parent, present) = (Term::fixed(cx.expr(fiber.position)), cx.present(&fiber).map(Term::fixed));
    let level = &fiber::levels(cx, a)[fiber.depth];
    let arrays = (*level.named("pos"), level.array(Holds::Coordinates));
    let Interval { start, stop, base } =
        Interval::open(d, &cx.program.tensor(a).name, arrays, &parent, present.as_ref());
    Interval { start: d.place(&start), stop: d.place(&stop), base: d.place(&base) }
}

/// The interval of an access's next level.
fn interval(cx: &Context, given: &mut Given, scope: &Scope, a: AccessId) -> Interval<Sym> {
    let level = &fiber::levels(cx, a)[scope.fiber(a).depth];
    match level.array(Holds::Positions) {
        Some(_) => given.interval(cx, a, scope, level.array(Holds::Coordinates).is_none()),
        None => of_triangle(cx, given, scope, a),
    }
}

/// The interval of a row of a triangle; for a symmetric level, the part up to the diagonal.
fn of_triangle(cx: &Context, given: &mut Given, scope: &Scope, a: AccessId) -> Interval<Sym> {
    let (fiber, tensor) = (scope.fiber(a), cx.program.tensor(a));
    let symbol = |e: Expr| cx.sym(e);
    let row = row(cx, scope, a);
    let n = cx.extent(tensor.extents[tensor.format.order[fiber.depth]]);
    let above = times(cx.expr(fiber.above), triangle(n.clone()));
    let kind = tensor.format.levels[fiber.depth];
    let is_upper = kind.triangle() == Some(Triangle::Upper);
    let before = if is_upper { upper(&n, &row) } else { triangle(row.clone()) };
    let base = given.define(cx, &format!("base_{}", tensor.name), Type::I64, symbol(plus(above, before)));
    let (start, stop) = if is_upper { (row, n) } else { (int(0), plus(row, int(1))) };
    let of = |e: Expr| if kind.is_mirrored() { e } else { cx.if_present(&fiber, e) };
    Interval { start: symbol(of(start)), stop: symbol(of(stop)), base }
}

/// The coordinate in the level above an access's next level.
fn row(cx: &Context, scope: &Scope, a: AccessId) -> Expr {
    let above = cx.program.level_var(&cx.program.accesses[a.0], scope.fiber(a).depth - 1);
    coordinate::of(cx, scope, above).expect("levels above are open")
}

/// Opens an access's next level, which is neither a list nor located, at a coordinate. Returns whether the access may be absent there.
pub(super) fn open_computed(cx: &Context, d: &mut Symbolic, scope: &mut Scope, a: AccessId, at: Expr) -> bool {
    let fiber = scope.fiber(a);
    let kind = cx.program.tensor(a).format.levels[fiber.depth];
    match scope.phase(a).cloned() {
        None | Some(Phase::Asked) if kind.is_stepped() && scope.interval(a).is_none() => {
            return nest::stepped::open_at(cx, d, scope, a, at);
        }
        Some(Phase::Packed { base, step }) => {
            let position = plus(cx.expr(base), times(cx.expr(step), at));
            scope.descend(a, (cx.sym(position), None), vec![]);
        }
        Some(Phase::Inside(base)) => scope.descend(a, (cx.sym(plus(cx.expr(base), at)), None), vec![]),
        Some(Phase::Mirrored) => {
            let position = mirrored(cx, scope, a, at);
            scope.descend(a, (cx.sym(position), None), vec![]);
        }
        Some(Phase::Asked) | None if kind.is_mirrored() => {
            let Interval { stop, base, .. } = known_interval(cx, d, scope, a);
            if ahead(&stop, &at).is_some_and(|n| n > 0) {
                scope.descend(a, (cx.sym(plus(base, at)), None), fiber.present);
                return false;
            }
            let below = binary(Op::Lt, at.clone(), stop);
            let mirrored = mirrored(cx, scope, a, at.clone());
            let position = Expr::Op(Op::Select, vec![below, plus(base, at), mirrored]);
            scope.descend(a, (cx.sym(position), None), fiber.present);
        }
        Some(Phase::Asked) | None => {
            let Interval { start, stop, base } = known_interval(cx, d, scope, a);
            let below = binary(Op::Lt, at.clone(), stop);
            let found = match start == int(0) {
                true => below,
                false => binary(Op::AndAlso, binary(Op::Le, start, at.clone()), below),
            };
            let found = d.define("found", Type::Bool, found);
            scope.descend(a, (cx.sym(plus(base, at)), None), vec![cx.sym(found)]);
            return true;
        }
    }
    false
}

/// The interval of an access's next level: loaded by a loop around, or else loaded here.
fn known_interval(cx: &Context, d: &mut Symbolic, scope: &Scope, a: AccessId) -> Interval<Expr> {
    if let Some(known) = scope.interval(a) {
        return cx.interval(known);
    }
    let mut given = Given::default();
    let found = interval(cx, &mut given, scope, a);
    cx.emit_given(d, given);
    cx.interval(&found)
}

/// The position of a coordinate behind the diagonal of a symmetric level: the position of its mirror image.
fn mirrored(cx: &Context, scope: &Scope, a: AccessId, at: Expr) -> Expr {
    let (fiber, tensor) = (scope.fiber(a), cx.program.tensor(a));
    let n = cx.extent(tensor.extents[tensor.format.order[fiber.depth]]);
    let above = times(cx.expr(fiber.above), triangle(n));
    plus(plus(above, triangle(at)), row(cx, scope, a))
}

/// Splits a range into phases.
pub(super) fn phases(cx: &Context, given: &mut Given, v: Index, piece: &Piece, cut: Cut) -> Vec<Piece> {
    let phased = access::phased(cx, &piece.scope, &piece.body, v);
    let mut piece = piece.clone();
    for a in &phased {
        if piece.scope.interval(*a).is_none() {
            let interval = interval(cx, given, &piece.scope, *a);
            piece.scope.found(*a, interval);
        }
    }
    match cut {
        Cut::Phases => phases_of(cx, given, v, &piece, phased[0]),
        Cut::Hull => hull(cx, given, v, piece, &phased),
        _ => {
            phased.iter().for_each(|a| piece.scope.enter(*a, Phase::Asked));
            vec![piece]
        }
    }
}

fn phases_of(cx: &Context, given: &mut Given, v: Index, piece: &Piece, a: AccessId) -> Vec<Piece> {
    let depth = piece.scope.fiber(a).depth;
    let Interval { start, stop, base } = *piece.scope.interval(a).expect("found before");
    let kind = cx.program.tensor(a).format.levels[depth];
    let symmetric = kind.is_mirrored();
    // A symmetric fiber may be absent, and has the fill value in both phases then: it is tested at each coordinate.
    if symmetric && piece.scope.fiber(a).may_miss() {
        let mut asked = piece.clone();
        asked.scope.enter(a, Phase::Asked);
        return vec![asked];
    }
    let [start, stop] = [start, stop].map(|at| range::coordinate_of(cx, given, v, piece, (a, depth), at));
    let mut ends = vec![piece.range.lo.clone(), start, stop, piece.range.hi.clone()];
    if kind.is_in_blocks() {
        // The range does not extend beyond the block's end.
        ends.remove(2);
    }
    let mut pieces = vec![];
    for (n, pair) in ends.windows(2).enumerate().filter(|(_, pair)| pair[0].at != pair[1].at) {
        let mut part = piece.within(pair[0].clone(), pair[1].clone());
        match n {
            1 => part.scope.enter(a, Phase::Inside(base)),
            _ if symmetric => part.scope.enter(a, Phase::Mirrored),
            _ => part.body = cx.simplify.replace(&part.body, &|x| (x == a).then(|| cx.fill(a))),
        }
        pieces.push(part);
    }
    pieces
}

/// Splits a range in three: from the first coordinate of all intervals to the last, where each interval is tested, and the ranges before
/// and behind, where all have the fill value.
fn hull(cx: &Context, given: &mut Given, v: Index, piece: Piece, all: &[AccessId]) -> Vec<Piece> {
    let depth = |a: AccessId| piece.scope.fiber(a).depth;
    let mut middle = piece.clone();
    all.iter().for_each(|a| middle.scope.enter(*a, Phase::Asked));
    let ends = all.iter().map(|a| {
        let Interval { start, stop, .. } = *piece.scope.interval(*a).expect("found before");
        [start, stop].map(|at| range::coordinate_of(cx, given, v, &piece, (*a, depth(*a)), at).at)
    });
    let joined = |[lo, hi]: [Sym; 2], [start, stop]: [Sym; 2]| [cx.symbols.min(lo, start), cx.symbols.max(hi, stop)];
    let [lo, hi] = ends.collect::<Vec<_>>().into_iter().reduce(joined).expect("many intervals");
    let [lo, hi] = [("first", lo), ("last", hi)].map(|(name, at)| Bound::at(given.define(cx, name, Type::I64, at)));
    let outside = |lo: Bound, hi: Bound| {
        let mut part = piece.within(lo, hi);
        part.body = cx.simplify.replace(&part.body, &|x| all.contains(&x).then(|| cx.fill(x)));
        part
    };
    let before = outside(piece.range.lo.clone(), lo.clone());
    let behind = outside(hi.clone(), piece.range.hi.clone());
    (middle.range.lo, middle.range.hi) = (lo, hi);
    vec![before, middle, behind]
}
