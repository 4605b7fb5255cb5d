//! Ends of ranges along a loop: the coordinates at which a level's coordinate, or a part of a concatenation, is reached.

use super::Context;
use crate::choose::{
    along, coordinate,
    piece::Piece,
    range::{Bound, Range},
    scope::Scope,
    symbol::Sym,
};
use crate::plan::Block;
use fiberloom_core::algebra::Type;
use fiberloom_core::map::Size;
use fiberloom_core::notation::concrete::{AccessId, Concat, Index};

/// The bound along `v` that corresponds to a coordinate of an access's level: the first value of `v` in the piece's range at which the
/// level's coordinate is not below it.
pub(super) fn coordinate_of(
    cx: &Context,
    b: &mut Block,
    v: Index,
    piece: &Piece,
    (a, level): (AccessId, usize),
    at: Sym,
) -> Bound {
    let Range { lo, hi } = &piece.range;
    let w = cx.program.level_var(&cx.program.accesses[a.0], level);
    let line = along::line(cx, cx.program.root_map(w), v);
    let r = coordinate::of_size(cx, &line.r);
    let same = along::is_zero(cx, &piece.scope, &line.c) && r == cx.symbols.int(1);
    if same && (at == lo.at || at == hi.at) || along::is_whole(cx, v, piece, (a, level)) {
        return Bound::at(at);
    }
    if same && cx.symbols.ahead(at, hi.at).is_some_and(|n| n >= 0) {
        return hi.clone();
    }
    let moved = coordinate::behind(cx, &piece.scope, at, &line.c).expect("bound outside");
    let within = cx.symbols.min(cx.symbols.max(coordinate::steps_to(cx, moved, r), lo.at), hi.at);
    Bound::at(b.define(cx, "cut", Type::I64, within))
}

/// The bounds along `v`, inside of a range, between the parts of a concatenation, the range's ends included.
pub(super) fn cuts(cx: &Context, b: &mut Block, scope: &Scope, v: Index, range: &Range, c: &Concat) -> Vec<Bound> {
    let of = c.of.within(|u| cx.program.root_map(u));
    let line = along::line(cx, of, v);
    let extents: Vec<Size> = c.parts.iter().map(|(u, _)| Size::unknown(cx.program.vars[u.0].extent)).collect();
    let total = extents.iter().fold(Size::default(), |sum, e| sum.plus(e));
    // The offsets between parts; a window also has an outside before it and behind it.
    let mut before = Size::default();
    let mut ends = if c.outside.is_some() { vec![before.clone()] } else { vec![] };
    for extent in &extents[..extents.len() - c.outside.is_none() as usize] {
        before = before.plus(extent);
        ends.push(before.clone());
    }
    let all = along::reach(cx, &line, &range.lo) == Some(Size::default())
        && along::reach(cx, &line, &range.hi) == Some(cx.extents.known(&total));
    let mut cuts = vec![range.lo.clone()];
    for before in ends {
        // The first coordinate at which c + r·v reaches the offset.
        let steps = line.r.value() != Some(1);
        let beyond = before.plus(&line.c.constant.negative());
        let size = (line.c.factors.is_empty() && !steps).then(|| cx.extents.known(&beyond));
        let moved = coordinate::behind(cx, scope, coordinate::of_size(cx, &before), &line.c).expect("bound outside");
        let at = coordinate::steps_to(cx, moved, coordinate::of_size(cx, &line.r));
        // A cut at an end of the range, or outside of it, needs no clamping.
        let ahead = |end: &Bound| cx.extents.known(&size.as_ref()?.plus(&end.size.as_ref()?.negative())).value();
        let end = match (ahead(&range.hi), ahead(&range.lo)) {
            (Some(0..), _) => Some(&range.hi),
            (_, Some(..=0)) => Some(&range.lo),
            _ => None,
        };
        cuts.push(match end {
            _ if all => Bound { at: b.held(cx, "cut", at), size },
            Some(end) => end.clone(),
            None => {
                let last = cuts.last().expect("it begins somewhere").at;
                let within = cx.symbols.min(cx.symbols.max(at, last), range.hi.at);
                Bound::at(b.held(cx, "cut", within))
            }
        });
    }
    cuts.push(range.hi.clone());
    cuts
}
