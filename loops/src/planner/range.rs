//! Ranges of a loop: the parts of a concatenation, each with a loop of its own, and the view of a fiber that such a loop has.
//!
//! ```text
//!  forall l: concat(l; i: B[i], k: F[k]) * x[l]
//!    ─▶  for l in 0..I    B[l] * x[l]           the whole of B; x stops at I
//!        for l in I..N    F[l - I] * x[l]       the whole of F, at other coordinates; x is searched for I
//! ```
//!
//! Ranges are split before a lattice is built: they ascend, no two overlap, and inside of each the body is one expression. A search at a
//! fiber's begin, and a stop at its end, are needed only where extents do not exclude entries outside of the range.
//!
//! Several loops may walk one list, such as a list of coordinates `|L|·i + j`. The loop over `i` views it in blocks, if it would visit
//! its whole extent otherwise; the loop over `j` then views one block. If other lists lead the loop over `i`, or it must visit its
//! whole extent, each of its iterations views a piece, and a cursor, the finger, stays where the last piece ended.

use super::{Context, bounds, compare, cut, levels, phases};
use crate::choose::{
    along, coordinate,
    fingers::{self, Moved},
    piece::Piece,
    range::{Bound, Range},
    scope::{Finger, GuardedPart, Scope},
    split::{self, Cut},
    symbol::{Name, Sym},
};
use crate::plan::{Block, Op, View};
use crate::stream::Shift;
use fiberloom_core::algebra::Op as Fn;
use fiberloom_core::map::Size;
use fiberloom_core::notation::concrete::{self, AccessId, Concat, Index, Limit};

/// The range of a loop within the limits of its variable.
pub(super) fn limited(cx: &Context, b: &mut Block, scope: &mut Scope, v: Index) -> Range {
    let range = cx.program.vars[v.0].limits.iter().fold(along::whole(cx, v), |range, limit| match limit {
        Limit::Below { at, extent } => match coordinate::limit(cx, scope, v, (at, *extent), &range.hi) {
            Some(limit) => Range { hi: Bound::at(b.held(cx, "limit", limit)), ..range },
            None => range,
        },
        Limit::Pieces { cut, turns } => Range { hi: Bound::at(cut::turns(cx, b, scope, *cut, turns)), ..range },
        Limit::Within(within) => cut::within(cx, b, scope, within, range),
    });
    scope.ranges.insert(v, (range.lo.at, range.hi.at));
    range
}

/// Splits a part of a loop over `v` into ranges, behind the values that are computed before them. In each range, every
/// concatenation along `v` that is not guarded is one of its parts, and every level with phases is in one of them.
pub(super) fn pieces(cx: &Context, b: &mut Block, v: Index, piece: Piece) -> Vec<Piece> {
    let mut pieces = vec![];
    split(cx, b, v, piece, &mut pieces);
    pieces
}

fn split(cx: &Context, b: &mut Block, v: Index, piece: Piece, pieces: &mut Vec<Piece>) {
    let found = split::may_cut(cx, v, &piece);
    if found.is_empty() {
        return pieces.push(piece);
    }
    let cut = split::cut_of(cx, v, &piece, &found);
    let parts = match cut {
        Cut::Choice => choices(cx, b, v, &piece),
        Cut::Comparison => compare::decided(cx, b, v, &piece),
        Cut::Phases | Cut::Hull | Cut::Tested => phases::phases(cx, b, v, &piece, cut),
        Cut::Whole => vec![],
    };
    // A part with a constant value has no loops inside.
    let loops = parts.iter().filter(|part| !matches!(part.body, concrete::Expr::Literal(_)));
    let budget = piece.scope.budget.shared(loops.count());
    if cut == Cut::Whole {
        pieces.push(piece);
    }
    for mut part in parts {
        part.scope.budget = budget;
        split(cx, b, v, part, pieces);
    }
}

/// Splits a piece into the parts of its first concatenation along `v`.
fn choices(cx: &Context, b: &mut Block, v: Index, piece: &Piece) -> Vec<Piece> {
    let along = |c: &Concat| split::is_along(cx, &piece.scope, v, c);
    let found = split::outermost(&piece.body, &along).first().map(|c| (*c).clone());
    let Some(c) = found else { return vec![piece.clone()] };
    let cuts = bounds::cuts(cx, b, &piece.scope, v, &piece.range, &c);
    let empty = |part: &Piece| part.range.lo.size.is_some() && part.range.lo.size == part.range.hi.size;
    let choice = |(n, pair): (usize, &[Bound])| {
        let part = piece.within(pair[0].clone(), pair[1].clone());
        (!empty(&part)).then(|| {
            let body = cx.simplify.simplify(&along::chosen(cx, &piece.body, &c, n));
            let mut part = Piece { body, ..part };
            mark_strays(&mut part, c.parts.iter().map(|(w, _)| *w));
            part
        })
    };
    cuts.windows(2).enumerate().filter_map(choice).collect()
}

/// Marks parts whose range may begin behind them. If the range does not begin with 0, its ends do not bound where the parts lie; they
/// only make the range empty if the parts lie elsewhere.
pub(super) fn mark_strays(piece: &mut Piece, parts: impl IntoIterator<Item = Index>) {
    if piece.range.lo.at != Sym::ZERO {
        parts.into_iter().for_each(|w| piece.scope.stray(w));
    }
}

/// Defines fingers at the begins of lists.
pub(super) fn point_fingers(cx: &Context, b: &mut Block, scope: &mut Scope, fingers: Vec<Moved>) {
    for Moved { list: (a, level), through } in fingers {
        let (it, begin) = (cx.symbols.name(), levels::unopened(cx, b, scope, a).begin);
        b.push(Op::Finger { it, of: a, begin });
        scope.fingers.insert((a, level), Finger { at: it, through });
    }
}

/// The finger on an access's level, if the loops around are exactly the loops that it was made for.
fn finger(scope: &Scope, of: (AccessId, usize), v: Index) -> Option<Name> {
    let Finger { at, through } = scope.fingers.get(&of)?;
    let (last, outer) = through.split_last()?;
    (*last == v && scope.order.ends_with(outer)).then_some(*at)
}

/// The view in which a loop over a range of `v` walks the fiber of an access's level that it opens.
pub(super) fn view(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    (a, level): (AccessId, usize),
    v: Index,
    range: &Range,
) -> View {
    let (tensor, symbols) = (cx.program.tensor(a), &cx.symbols);
    let w = cx.program.level_var(&cx.program.accesses[a.0], level);
    let shared = scope.walked_in(a, v).map(|asked| holding(cx, scope, asked, range));
    let range = shared.as_ref().unwrap_or(range);
    let mut line = along::line(cx, cx.program.root_map(w), v);
    let blocks = line.c.factors.keys().any(|u| scope.coordinate(*u).is_none());
    line.c = fingers::reached(scope, line.c);
    let extent = cx.extents.known_extent(tensor.extents[tensor.format.order[level]]);
    let (first, past) = (along::reach(cx, &line, &range.lo), along::reach(cx, &line, &range.hi));
    // A block whose coordinates are those of this range needs neither search nor stop.
    let block = scope.block(a).filter(|block| block.from == line.c && range.lo.at == Sym::ZERO);
    let covers = blocks && along::covers(cx, &line, (v, w), range, &extent);
    let length = range.hi.size.as_ref().map(|size| cx.extents.known(&line.r.times(size)));
    let begins = block.is_some() || first.as_ref().and_then(|s| s.value()).is_some_and(|s| s <= 0);
    let ends = block.is_some_and(|block| Some(&block.length) == length.as_ref())
        || covers
        || past.as_ref().is_some_and(|s| s.plus(&extent.negative()).value().is_some_and(|n| n >= 0));
    let c = coordinate::mapped(cx, scope, &line.c).expect("bound outside");
    let r = coordinate::of_size(cx, &line.r);
    // Between two steps there are no coordinates in view. The step at a range's end may not fit 64 bits: the coordinate behind the step
    // before it does.
    let strides = !blocks && r != symbols.int(1);
    let reached = |at: &Bound, size: Option<Size>, short: bool| match size {
        Some(size) if size.value().is_some() || !short => coordinate::of_size(cx, &size),
        Some(size) => coordinate::of_size(cx, &size.plus(&line.r.negative()).plus(&Size::number(1))),
        None => {
            let at = symbols.plus(c, symbols.times(at.at, r));
            if short { coordinate::behind_last(cx, at, r) } else { at }
        }
    };
    let from_zero = range.lo.at == Sym::ZERO;
    let start = (!begins).then(|| b.held(cx, "start", reached(&range.lo, first, strides && !from_zero)));
    let (hi, past) = match scope.is_loose(w) && !(ends || along::falls(&line.c)) {
        true => (coordinate::until(cx, scope, &line, &range.hi, &extent), None),
        false => (range.hi.clone(), past),
    };
    // The end of the last block may not fit 64 bits, unless it is a number.
    let clips = blocks && !(ends || past.as_ref().is_some_and(|s| s.value().is_some()));
    let stop = (!ends).then(|| match clips {
        true => b.held(cx, "stop", coordinate::clipped(cx, scope, &line, &hi, &extent)),
        false => b.held(cx, "stop", reached(&hi, past, strides)),
    });
    let shift = match start {
        Some(start) if from_zero => Some(Shift::Up(start)),
        _ if c == Sym::ZERO => None,
        _ if along::falls(&line.c) => {
            Some(Shift::Down(b.held(cx, "shift", coordinate::of_size(cx, &line.c.constant.negative()))))
        }
        _ => Some(Shift::Up(b.held(cx, "shift", c))),
    };
    let stride = strides.then(|| b.held(cx, "stride", r));
    let blocks = blocks.then(|| b.held(cx, "length", block_length(cx, &line.r)));
    let extent = (covers || clips).then(|| b.held(cx, "extent", coordinate::of_size(cx, &extent)));
    let finger = finger(scope, (a, level), v);
    let marks = blocks.is_none() && finger.is_none() && start.is_some();
    let by = cx.prepared.marks.get(&(a, level)).filter(|_| marks);
    let mark = by.and_then(|by| by.map_or(Some(Sym::ZERO), |k| scope.coordinate(k)));
    View { start, stop, stride, blocks, extent, shift, finger, mark }
}

/// The length of blocks. That of the only block may not fit 64 bits: then it is the greatest number, beyond every coordinate.
fn block_length(cx: &Context, length: &Size) -> Sym {
    let (symbols, all) = (&cx.symbols, coordinate::of_size(cx, length));
    let mut terms = length.terms();
    match (terms.next(), terms.next()) {
        (Some((n, extents)), None) if n > 1 && !extents.is_empty() => {
            let one = extents.iter().fold(Size::number(1), |product, extent| product.times(&Size::unknown(*extent)));
            let over = symbols.op(Fn::Gt, [coordinate::of_size(cx, &one), symbols.int(i64::MAX / n)]);
            symbols.select(over, symbols.int(i64::MAX), all)
        }
        _ => all,
    }
}

/// The part of a range of a loop in which a guard holds.
fn holding(cx: &Context, scope: &Scope, part: &GuardedPart, range: &Range) -> Range {
    let (first, past) = scope.ranges[&part.by];
    let joined = |op: Fn, part: (&Option<Sym>, &Bound), of: &Bound, whole: Sym| match part {
        (Some(_), bound) if of.at == whole => bound.clone(),
        (Some(at), _) if of.at != *at => Bound::at(cx.symbols.op(op, [*at, of.at])),
        _ => of.clone(),
    };
    let [from, to] = &part.ends;
    let lo = joined(Fn::Max, (from, &part.range.lo), &range.lo, first);
    Range { lo, hi: joined(Fn::Min, (to, &part.range.hi), &range.hi, past) }
}
