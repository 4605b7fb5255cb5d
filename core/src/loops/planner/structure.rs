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

use super::{Context, fiber, nest, range};
use crate::algebra::{Op as Fn, Type};
use crate::format::{Holds, triangle::Triangle};
use crate::loops::choose::{
    Facts, access, coordinate,
    range::{Bound, Piece},
    scope::{Phase, Scope},
    split::Cut,
    symbol::Sym,
};
use crate::loops::plan::{Block, Op};
use crate::notation::concrete::{AccessId, Index};
use crate::stream::Interval;

/// The number of positions in a triangle of `i` rows, which is also the number in the rows before row `i`.
fn triangle(cx: &Facts, i: Sym) -> Sym {
    let symbols = &cx.symbols;
    symbols.op(Fn::Shr, [symbols.times(i, symbols.plus(i, symbols.int(1))), symbols.int(1)])
}

/// In the upper triangle of `n` rows, the position of the first value of a row less that value's coordinate.
fn upper(cx: &Facts, n: Sym, row: Sym) -> Sym {
    cx.symbols.minus(cx.symbols.times(row, n), triangle(cx, row))
}

/// The interval of an access's next level.
fn interval(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> Interval<Sym> {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let kind = cx.kind(a, fiber.depth);
    if !kind.holds(Holds::Positions) {
        return of_triangle(cx, b, scope, a);
    }
    let start = if kind.holds(Holds::Coordinates) { symbols.held("start", Type::I64) } else { Sym::ZERO };
    let is = [start, symbols.held("stop", Type::I64), symbols.held("base", Type::I64)];
    let present = fiber::present(cx, &fiber);
    b.push(Op::Interval { of: (a, fiber.depth), parent: fiber.position, present, is });
    let [start, stop, base] = is;
    Interval { start, stop, base }
}

/// The interval of a row of a triangle; for a symmetric level, the part up to the diagonal.
fn of_triangle(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> Interval<Sym> {
    let (fiber, tensor, symbols) = (scope.fiber(a), cx.program.tensor(a), &cx.symbols);
    let row = row(cx, scope, a);
    let n = fiber::extent(cx, (a, fiber.depth));
    let above = symbols.times(fiber.above, triangle(cx, n));
    let kind = cx.kind(a, fiber.depth);
    let is_upper = kind.triangle() == Some(Triangle::Upper);
    let before = if is_upper { upper(cx, n, row) } else { triangle(cx, row) };
    let base = b.define(cx, &format!("base_{}", tensor.name), Type::I64, symbols.plus(above, before));
    let (start, stop) = if is_upper { (row, n) } else { (Sym::ZERO, symbols.plus(row, symbols.int(1))) };
    let present = fiber::present(cx, &fiber).filter(|_| !kind.is_mirrored());
    let of = |at: Sym| present.map_or(at, |present| symbols.select(present, at, Sym::ZERO));
    Interval { start: of(start), stop: of(stop), base }
}

/// The coordinate in the level above an access's next level.
fn row(cx: &Context, scope: &Scope, a: AccessId) -> Sym {
    let above = cx.program.level_var(&cx.program.accesses[a.0], scope.fiber(a).depth - 1);
    coordinate::of(cx, scope, above).expect("levels above are open")
}

/// Opens an access's next level, which is neither a list nor located, at a coordinate. Returns whether the access may be absent there.
pub(super) fn open_computed(cx: &Context, b: &mut Block, scope: &mut Scope, a: AccessId, at: Sym) -> bool {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let kind = cx.kind(a, fiber.depth);
    match scope.phase(a).cloned() {
        None | Some(Phase::Asked) if kind.is_stepped() && scope.interval(a).is_none() => {
            return nest::stepped::open_at(cx, b, scope, a, at);
        }
        Some(Phase::Packed { base, step }) => {
            scope.descend(a, (symbols.plus(base, symbols.times(step, at)), None), vec![]);
        }
        Some(Phase::Inside(base)) => scope.descend(a, (symbols.plus(base, at), None), vec![]),
        Some(Phase::Mirrored) => {
            let position = mirrored(cx, scope, a, at);
            scope.descend(a, (position, None), vec![]);
        }
        Some(Phase::Asked) | None if kind.is_mirrored() => {
            let Interval { stop, base, .. } = known_interval(cx, b, scope, a);
            let own = symbols.plus(base, at);
            if symbols.ahead(stop, at).is_some_and(|n| n > 0) {
                scope.descend(a, (own, None), fiber.present);
                return false;
            }
            let below = symbols.op(Fn::Lt, [at, stop]);
            let position = symbols.select(below, own, mirrored(cx, scope, a, at));
            scope.descend(a, (position, None), fiber.present);
        }
        Some(Phase::Asked) | None => {
            let Interval { start, stop, base } = known_interval(cx, b, scope, a);
            let below = symbols.op(Fn::Lt, [at, stop]);
            let found = match start == Sym::ZERO {
                true => below,
                false => symbols.and(symbols.op(Fn::Le, [start, at]), below),
            };
            let found = b.define(cx, "found", Type::Bool, found);
            scope.descend(a, (symbols.plus(base, at), None), vec![found]);
            return true;
        }
    }
    false
}

/// The interval of an access's next level: loaded by a loop around, or else loaded here.
fn known_interval(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> Interval<Sym> {
    scope.interval(a).cloned().unwrap_or_else(|| interval(cx, b, scope, a))
}

/// The position of a coordinate behind the diagonal of a symmetric level: the position of its mirror image.
fn mirrored(cx: &Context, scope: &Scope, a: AccessId, at: Sym) -> Sym {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let above = symbols.times(fiber.above, triangle(cx, fiber::extent(cx, (a, fiber.depth))));
    symbols.plus(symbols.plus(above, triangle(cx, at)), row(cx, scope, a))
}

/// Splits a range into phases.
pub(super) fn phases(cx: &Context, b: &mut Block, v: Index, piece: &Piece, cut: Cut) -> Vec<Piece> {
    let phased = access::phased(cx, &piece.scope, &piece.body, v);
    let mut piece = piece.clone();
    for a in &phased {
        if piece.scope.interval(*a).is_none() {
            let interval = interval(cx, b, &piece.scope, *a);
            piece.scope.found(*a, interval);
        }
    }
    match cut {
        Cut::Phases => phases_of(cx, b, v, &piece, phased[0]),
        Cut::Hull => hull(cx, b, v, piece, &phased),
        _ => {
            phased.iter().for_each(|a| piece.scope.enter(*a, Phase::Asked));
            vec![piece]
        }
    }
}

fn phases_of(cx: &Context, b: &mut Block, v: Index, piece: &Piece, a: AccessId) -> Vec<Piece> {
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
    let [start, stop] = [start, stop].map(|at| range::coordinate_of(cx, b, v, piece, (a, depth), at));
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
fn hull(cx: &Context, b: &mut Block, v: Index, piece: Piece, all: &[AccessId]) -> Vec<Piece> {
    let depth = |a: AccessId| piece.scope.fiber(a).depth;
    let mut middle = piece.clone();
    all.iter().for_each(|a| middle.scope.enter(*a, Phase::Asked));
    let ends = all.iter().map(|a| {
        let Interval { start, stop, .. } = *piece.scope.interval(*a).expect("found before");
        [start, stop].map(|at| range::coordinate_of(cx, b, v, &piece, (*a, depth(*a)), at).at)
    });
    let joined = |[lo, hi]: [Sym; 2], [start, stop]: [Sym; 2]| [cx.symbols.min(lo, start), cx.symbols.max(hi, stop)];
    let [lo, hi] = ends.collect::<Vec<_>>().into_iter().reduce(joined).expect("many intervals");
    let [lo, hi] = [("first", lo), ("last", hi)].map(|(name, at)| Bound::at(b.define(cx, name, Type::I64, at)));
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
