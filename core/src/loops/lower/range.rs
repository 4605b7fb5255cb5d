//! Ranges of a loop: the parts of a concatenation, each with a loop of its own, and the view of a fiber that such a loop has.
//!
//! ```text
//!  forall l: concat(l; i: B[i], k: F[k]) * x[l]
//!    ─▶  for l in 0..I    B[l] * x[l]           the whole of B; x stops at I
//!        for l in I..N    F[l - I] * x[l]       the whole of F, at other coordinates; x is searched for I
//! ```
//!
//! Ranges are split before a lattice is built: they ascend, no two overlap, and inside of each the body is one expression. A search at a
//! fiber's begin, and a stop at its end, are emitted only where extents do not exclude entries outside of the range.
//!
//! Several loops may walk one list, such as a list of coordinates `|L|·i + j`. The loop over `i` views it in blocks, if it would visit
//! its whole extent otherwise; the loop over `j` then views one block. If other lists lead the loop over `i`, or it must visit its
//! whole extent, each of its iterations views a piece, and a cursor, the finger, stays where the last piece ended.

use super::{Context, Expr, binary, held, int, plus, times};
use crate::algebra::{Op, Type};
use crate::loops::choose::{
    along, coordinate as symbols, fingers,
    given::Given,
    range::{Bound, Piece, Range},
    scope::{Asked, Finger, Scope},
    split,
    symbol::Sym,
};
use crate::loops::lower::{choice, compare, coordinate, cut, fiber, structure};
use crate::loops::plan::{self, Cut};
use crate::loops::{Symbolic, Term};
use crate::map::{ClassId, Map, Size};
use crate::notation::concrete::{AccessId, Concat, Index, Limit};
use crate::stream::{Domain, Shift, State, View};

/// The range of a loop within the limits of its variable.
pub(super) fn limited(cx: &Context, d: &mut Symbolic, scope: &mut Scope, v: Index) -> Range {
    let range = cx.program.vars[v.0].limits.iter().fold(along::whole(cx, v), |range, limit| match limit {
        Limit::Below { at, extent } => as_far(cx, d, scope, v, (at, *extent), range),
        Limit::Pieces { cut, turns } => {
            let hi = cx.bound(cut::turns(cx, d, scope, *cut, turns));
            Range { hi, ..range }
        }
        Limit::Within(within) => cut::within(cx, d, scope, within, range),
    });
    scope.ranges.insert(v, (range.lo.at, range.hi.at));
    range
}

/// The part of a range of a loop over `v` in which a coordinate is below its extent.
fn as_far(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    v: Index,
    (at, extent): (&Map<Index>, ClassId),
    range: Range,
) -> Range {
    let line = along::line(cx, at.clone(), v);
    let known = cx.extents.known_extent(extent);
    if along::reach(cx, &line, &range.hi).is_some_and(|past| past == known) {
        return range;
    }
    let c = coordinate::mapped(cx, scope, &line.c).expect("bound outside");
    let left = binary(Op::Sub, cx.extent(extent), c);
    let r = coordinate::of_size(cx, &line.r);
    let steps = if r == int(1) { left } else { cx.expr(symbols::ceiling(cx, cx.sym(left), cx.sym(r))) };
    let within = binary(Op::Max, binary(Op::Min, steps, cx.expr(range.hi.at)), int(0));
    Range { hi: cx.bound(held(d, "limit", within)), ..range }
}

/// Splits a part of a loop over `v` into ranges, and adds the values to compute before them to `given`. In each range, every
/// concatenation along `v` that is not guarded is one of its parts, and every level with phases is in one of them.
pub(super) fn pieces(cx: &Context, given: &mut Given, v: Index, piece: Piece) -> Vec<Piece> {
    let mut pieces = vec![];
    split(cx, given, v, piece, &mut pieces);
    pieces
}

/// As `pieces`; the values to compute before the ranges are emitted here.
pub(super) fn pieces_here(cx: &Context, d: &mut Symbolic, v: Index, piece: Piece) -> Vec<Piece> {
    let mut given = Given::default();
    let pieces = pieces(cx, &mut given, v, piece);
    cx.emit_given(d, given);
    pieces
}

fn split(cx: &Context, given: &mut Given, v: Index, piece: Piece, pieces: &mut Vec<Piece>) {
    let found = split::may_cut(cx, v, &piece);
    if found.is_empty() {
        return pieces.push(piece);
    }
    let fits = |cut: &Cut| *cut == Cut::Whole || found.contains(cut);
    let cut = cx.book.enter_if(fits, || split::cut_of(cx, v, &piece, &found));
    let parts = match cut {
        Cut::Choice => choices(cx, given, v, &piece),
        Cut::Comparison => compare::decided(cx, given, v, &piece),
        Cut::Phases | Cut::Hull | Cut::Tested => structure::phases(cx, given, v, &piece, cut),
        Cut::Whole => vec![],
    };
    let budget = piece.scope.budget.shared(parts.len());
    if cut == Cut::Whole {
        pieces.push(piece);
    }
    for mut part in parts {
        part.scope.budget = budget;
        split(cx, given, v, part, pieces);
    }
    cx.book.leave();
}

/// Splits a piece into the parts of its first concatenation along `v`.
fn choices(cx: &Context, given: &mut Given, v: Index, piece: &Piece) -> Vec<Piece> {
    let along = |c: &Concat| split::is_along(cx, &piece.scope, v, c);
    let found = split::outermost(&piece.body, &along).first().map(|c| (*c).clone());
    let Some(c) = found else { return vec![piece.clone()] };
    let cuts = cuts(cx, given, &piece.scope, v, &piece.range, &c);
    let empty = |part: &Piece| part.range.lo.size.is_some() && part.range.lo.size == part.range.hi.size;
    let choice = |(n, pair): (usize, &[Bound])| {
        let part = piece.within(pair[0].clone(), pair[1].clone());
        (!empty(&part)).then(|| {
            let body = cx.simplify.simplify(&along::chosen(cx, &piece.body, &c, n));
            let mut part = Piece { body, ..part };
            choice::mark_strays(&mut part, c.parts.iter().map(|(w, _)| *w));
            part
        })
    };
    cuts.windows(2).enumerate().filter_map(choice).collect()
}

/// The bound along `v` that corresponds to a coordinate of an access's level: the first value of `v` in the piece's range at which the
/// level's coordinate is not below it.
pub(super) fn coordinate_of(
    cx: &Context,
    given: &mut Given,
    v: Index,
    piece: &Piece,
    (a, level): (AccessId, usize),
    at: Sym,
) -> Bound {
    let Range { lo, hi } = &piece.range;
    let w = cx.program.level_var(&cx.program.accesses[a.0], level);
    let line = along::line(cx, cx.program.root_map(w), v);
    let r = symbols::of_size(cx, &line.r);
    let same = along::is_zero(cx, &piece.scope, &line.c) && r == cx.symbols.int(1);
    if same && (at == lo.at || at == hi.at) || along::is_whole(cx, v, piece, (a, level)) {
        return Bound::at(at);
    }
    if same && cx.symbols.ahead(at, hi.at).is_some_and(|n| n >= 0) {
        return hi.clone();
    }
    let moved = symbols::behind(cx, &piece.scope, at, &line.c).expect("bound outside");
    let within = cx.symbols.min(cx.symbols.max(symbols::steps_to(cx, moved, r), lo.at), hi.at);
    Bound::at(given.define(cx, "cut", Type::I64, within))
}

/// The bounds along `v`, inside of a range, between the parts of a concatenation, the range's ends included.
pub(super) fn cuts(cx: &Context, given: &mut Given, scope: &Scope, v: Index, range: &Range, c: &Concat) -> Vec<Bound> {
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
        let moved = symbols::behind(cx, scope, symbols::of_size(cx, &before), &line.c).expect("bound outside");
        let at = symbols::steps_to(cx, moved, symbols::of_size(cx, &line.r));
        // A cut at an end of the range, or outside of it, needs no clamping.
        let ahead = |end: &Bound| cx.extents.known(&size.as_ref()?.plus(&end.size.as_ref()?.negative())).value();
        let end = match (ahead(&range.hi), ahead(&range.lo)) {
            (Some(0..), _) => Some(&range.hi),
            (_, Some(..=0)) => Some(&range.lo),
            _ => None,
        };
        cuts.push(match end {
            _ if all => Bound { at: given.held(cx, "cut", at), size },
            Some(end) => end.clone(),
            None => {
                let last = cuts.last().expect("it begins somewhere").at;
                let within = cx.symbols.min(cx.symbols.max(at, last), range.hi.at);
                Bound::at(given.held(cx, "cut", within))
            }
        });
    }
    cuts.push(range.hi.clone());
    cuts
}

/// Defines fingers at the begins of lists.
pub(super) fn point_fingers(cx: &Context, d: &mut Symbolic, scope: &mut Scope, fingers: Vec<plan::Finger>) {
    for plan::Finger { list: (a, level), through } in fingers {
        let begin = fiber::unopened(cx, d, scope, a).begin;
        let at = d.state(&format!("p_{}", cx.program.tensor(a).name), begin);
        scope.fingers.insert((a, level), Finger { at, through });
    }
}

/// The finger on an access's level, if the loops around are exactly the loops that it was made for.
fn finger(scope: &Scope, of: (AccessId, usize), v: Index) -> Option<State> {
    let Finger { at, through } = scope.fingers.get(&of)?;
    let (last, outer) = through.split_last()?;
    (*last == v && scope.order.ends_with(outer)).then_some(*at)
}

/// The view in which a loop over a range of `v` walks the fiber of an access's level that it opens.
pub(super) fn view(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    (a, level): (AccessId, usize),
    v: Index,
    range: &Range,
) -> View<Term> {
    let tensor = cx.program.tensor(a);
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
    let mut fixed = |name: &str, e: Expr| Term::fixed(held(d, name, e));
    // Between two steps there are no coordinates in view. The step at a range's end may not fit 64 bits: the coordinate behind the step
    // before it does.
    let strides = !blocks && r != int(1);
    let mut reached = |name: &str, at: &Bound, size: Option<Size>, short: bool| match size {
        Some(size) if size.value().is_some() || !short => fixed(name, coordinate::of_size(cx, &size)),
        Some(size) => fixed(name, coordinate::of_size(cx, &size.plus(&line.r.negative()).plus(&Size::number(1)))),
        None => {
            let at = plus(c.clone(), times(cx.expr(at.at), r.clone()));
            fixed(name, if short { cx.expr(symbols::behind_last(cx, cx.sym(at), cx.sym(r.clone()))) } else { at })
        }
    };
    let from_zero = range.lo.at == Sym::ZERO;
    let start = (!begins).then(|| reached("start", &range.lo, first, strides && !from_zero));
    let (hi, past) = match scope.is_loose(w) && !(ends || along::falls(&line.c)) {
        true => (symbols::until(cx, scope, &line, &range.hi, &extent), None),
        false => (range.hi.clone(), past),
    };
    let stop = (!ends).then(|| reached("stop", &hi, past, strides));
    let shift = match &start {
        Some(start) if from_zero => Some(Shift::Up(start.clone())),
        _ if c == int(0) => None,
        _ if along::falls(&line.c) => {
            Some(Shift::Down(fixed("shift", coordinate::of_size(cx, &line.c.constant.negative()))))
        }
        _ => Some(Shift::Up(fixed("shift", c.clone()))),
    };
    let mut factor = |name: &str| fixed(name, r.clone());
    let stride = strides.then(|| factor("stride"));
    let blocks = blocks.then(|| factor("length"));
    let extent = covers.then(|| fixed("extent", coordinate::of_size(cx, &extent)));
    let finger = finger(scope, (a, level), v);
    let marks = blocks.is_none() && finger.is_none() && start.is_some();
    let mark = cx.prepared.marks.get(&(a, level)).filter(|_| marks).and_then(|mark| mark.here(cx, scope));
    View { start, stop, stride, blocks, extent, shift, finger, mark }
}

/// The part of a range of a loop in which a guard holds.
fn holding(cx: &Context, scope: &Scope, asked: &Asked, range: &Range) -> Range {
    let (first, past) = scope.ranges[&asked.by];
    let joined = |op: Op, part: (&Option<Sym>, &Bound), of: &Bound, whole: Sym| match part {
        (Some(_), bound) if of.at == whole => bound.clone(),
        (Some(at), _) if of.at != *at => cx.bound(binary(op, cx.expr(*at), cx.expr(of.at))),
        _ => of.clone(),
    };
    let [from, to] = &asked.ends;
    let lo = joined(Op::Max, (from, &asked.range.lo), &range.lo, first);
    Range { lo, hi: joined(Op::Min, (to, &asked.range.hi), &range.hi, past) }
}
