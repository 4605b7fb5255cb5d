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

use super::{Context, bounds, structure};
use crate::choose::{access, piece::Piece, range::Bound, scope::Phase, split::Cut, symbol::Sym};
use crate::plan::Block;
use crate::stream::Interval;
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::concrete::{AccessId, Index};

/// Splits a range into phases.
pub(super) fn phases(cx: &Context, b: &mut Block, v: Index, piece: &Piece, cut: Cut) -> Vec<Piece> {
    let phased = access::phased(cx, &piece.scope, &piece.body, v);
    let mut piece = piece.clone();
    for a in &phased {
        if piece.scope.interval(*a).is_none() {
            let interval = structure::interval(cx, b, &piece.scope, *a);
            piece.scope.found(*a, interval);
        }
    }
    match cut {
        Cut::Phases => phases_of(cx, b, v, &piece, phased[0]),
        Cut::Hull => hull(cx, b, v, piece, &phased),
        _ => {
            phased.iter().for_each(|a| piece.scope.enter(*a, Phase::Guarded));
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
        asked.scope.enter(a, Phase::Guarded);
        return vec![asked];
    }
    let [start, stop] = [start, stop].map(|at| bounds::coordinate_of(cx, b, v, piece, (a, depth), at));
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
    all.iter().for_each(|a| middle.scope.enter(*a, Phase::Guarded));
    let ends = all.iter().map(|a| {
        let Interval { start, stop, .. } = *piece.scope.interval(*a).expect("found before");
        [start, stop].map(|at| bounds::coordinate_of(cx, b, v, &piece, (*a, depth(*a)), at).at)
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
