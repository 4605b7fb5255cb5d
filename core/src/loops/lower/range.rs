//! Ranges of a loop: the parts of a concatenation, each with a loop of its own, and what of a fiber such a loop sees.
//!
//! ```text
//!  forall l: concat(l; i: B[i], k: F[k]) * x[l]
//!    ─▶  for l in 0..I    B[l] * x[l]           B all of it; x stops at I
//!        for l in I..N    F[l - I] * x[l]       F all of it, at other coordinates; x is searched for I
//! ```
//!
//! Ranges are split before a lattice is built: they ascend, no two overlap, and inside of each the body is one
//! expression. A search at a fiber's begin, and a stop at its end, are emitted only where extents do not exclude
//! entries outside of the range.
//!
//! Several loops may walk one list, such as that of coordinates `|L|·i + j`. The loop over `i` sees it in blocks, if it
//! would visit its whole extent otherwise; the loop over `j` then sees one block. If the loop over `i` is led by other
//! lists, or has to visit its whole extent, each of its turns sees a piece, and a cursor, the finger, stays where the
//! last piece ended.

use super::fiber::{Asked, Block, Finger, Scope};
use super::{Context, Expr, ahead, binary, held, int, plus, times};
use crate::algebra::{Op, Type};
use crate::loops::lower::choice;
use crate::loops::lower::compare;
use crate::loops::lower::cut;
use crate::loops::lower::fiber;
use crate::loops::lower::structure;
use crate::loops::plan::{self, Cut};
use crate::loops::{Symbolic, Term};
use crate::map::{ClassId, Map, Size};
use crate::notation::concrete::{self, AccessId, Concat, Index, Limit};
use crate::stream::{Domain, Shift, State, View};

/// Where a range begins or ends.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    /// Its value.
    pub at: Expr,
    /// The value in terms of extents, if it is loop-invariant.
    size: Option<Size>,
}

/// Coordinates of one loop.
#[derive(Clone, Debug)]
pub(super) struct Range {
    /// The first.
    pub lo: Bound,
    /// One past the last.
    pub hi: Bound,
}

impl Range {
    /// The number of coordinates.
    pub fn len(&self) -> Expr {
        if self.lo.at == int(0) { self.hi.at.clone() } else { binary(Op::Sub, self.hi.at.clone(), self.lo.at.clone()) }
    }
}

impl Bound {
    /// A bound that is not known in terms of extents.
    pub fn at(at: Expr) -> Bound {
        Bound { at, size: None }
    }
}

/// A range of a loop, in which the body is one expression.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Its coordinates.
    pub range: Range,
    /// The body in this range.
    pub body: concrete::Expr,
    /// Where accesses stand, and the phases of levels that open here.
    pub scope: Scope,
    /// Whether all stepped levels are in one run each throughout the range, which is known not to be empty.
    pub in_runs: bool,
    /// Whether each such range stores at most one run, and begins where the range before ends.
    pub gapless: bool,
    /// Number of comparisons that have split the loop so far.
    pub keys: usize,
}

impl Piece {
    /// The same between other bounds.
    pub fn within(&self, lo: Bound, hi: Bound) -> Piece {
        Piece { range: Range { lo, hi }, in_runs: false, gapless: false, ..self.clone() }
    }
}

/// A variable along a loop over `v`: `c + r·v`, where `c` is bound outside.
struct Line {
    c: Map<Index>,
    r: Size,
}

/// The terms of a size as expressions, each with whether it is subtracted; a number comes last.
fn terms_of(cx: &Context, size: &Size) -> Vec<(bool, Expr)> {
    let size = cx.extents.numbered(size);
    let term = |(n, extents): (i64, &[ClassId])| {
        let factor = int(n.saturating_abs());
        (n < 0, extents.iter().fold(factor, |product, e| times(product, cx.extents.at(*e))))
    };
    let mut terms: Vec<(bool, Expr)> = size.terms().map(term).collect();
    // Added terms first, so that the sum does not begin with a negation.
    terms.sort_by_key(|(minus, e)| (*minus, matches!(e, Expr::Const(_))));
    terms
}

fn of_size(cx: &Context, size: &Size) -> Expr {
    sum(terms_of(cx, size))
}

/// A map, if loops have bound its variables.
pub(super) fn mapped(cx: &Context, scope: &Scope, map: &Map<Index>) -> Option<Expr> {
    let mut terms = vec![];
    for (v, f) in &map.factors {
        let at = scope.coordinate(*v)?;
        terms.extend(terms_of(cx, f).into_iter().map(|(minus, f)| (minus, times(at.clone(), f))));
    }
    terms.extend(terms_of(cx, &map.constant));
    Some(sum(terms))
}

/// An index variable's value, if loops have bound it.
pub(super) fn coordinate(cx: &Context, scope: &Scope, v: Index) -> Option<Expr> {
    let bound = scope.coordinate(v).cloned();
    bound.or_else(|| mapped(cx, scope, &cx.program.root_map(v)))
}

/// Whether a loop over `v` binds `w`, all that is bound outside given.
pub(super) fn binds(cx: &Context, scope: &Scope, v: Index, w: Index) -> bool {
    cx.program.binds(v, w, |u| scope.coordinate(u).is_some())
}

fn line(cx: &Context, map: Map<Index>, v: Index) -> Line {
    let mut c = map;
    let r = c.factors.remove(&v).unwrap_or_default();
    // A factor is 0 only if an extent is, and then the loops have no turns: 1 is as right.
    let r = Some(cx.extents.known(&r)).filter(|r| *r != Size::default()).unwrap_or(Size::number(1));
    Line { c, r }
}

/// Whether a loop over `v` steps over coordinates of an access's next level.
pub(super) fn strides(cx: &Context, scope: &Scope, a: AccessId, v: Index) -> bool {
    let next = fiber::next_var(cx, scope, a);
    next.is_some_and(|(_, w)| line(cx, cx.program.root_map(w), v).r != Size::number(1))
}

/// The value of a line at a bound, in terms of extents, if it is loop-invariant.
fn reach(cx: &Context, line: &Line, at: &Bound) -> Option<Size> {
    let at = at.size.as_ref().filter(|_| line.c.factors.is_empty())?;
    Some(cx.extents.known(&line.c.constant.plus(&line.r.times(at))))
}

/// The whole extent of a loop.
pub(super) fn whole(cx: &Context, v: Index) -> Range {
    let extent = cx.program.vars[v.0].extent;
    let size = cx.extents.known(&Size::unknown(extent));
    let lo = Bound { at: int(0), size: Some(Size::default()) };
    Range { lo, hi: Bound { at: cx.extents.at(extent), size: Some(size) } }
}

/// The extent of a loop, as far as its limits let it go.
pub(super) fn limited(cx: &Context, d: &mut Symbolic, scope: &mut Scope, v: Index) -> Range {
    let range = cx.program.vars[v.0].limits.iter().fold(whole(cx, v), |range, limit| match limit {
        Limit::Below { at, extent } => as_far(cx, d, scope, v, (at, *extent), range),
        Limit::Pieces { cut, turns } => {
            let hi = Bound::at(cut::turns(d, scope, *cut, turns));
            Range { hi, ..range }
        }
        Limit::Within(within) => cut::within(cx, d, scope, within, range),
    });
    scope.ranges.insert(v, (range.lo.at.clone(), range.hi.at.clone()));
    range
}

/// A range of a loop over `v`, as far as a coordinate is below its extent.
fn as_far(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    v: Index,
    (at, extent): (&Map<Index>, ClassId),
    range: Range,
) -> Range {
    let line = line(cx, at.clone(), v);
    let known = cx.extents.known(&Size::unknown(extent));
    if reach(cx, &line, &range.hi).is_some_and(|past| past == known) {
        return range;
    }
    let c = mapped(cx, scope, &line.c).expect("bound outside");
    let left = binary(Op::Sub, cx.extents.at(extent), c);
    let r = of_size(cx, &line.r);
    let steps = if r == int(1) { left } else { ceiling(left, r) };
    let within = binary(Op::Max, binary(Op::Min, steps, range.hi.at.clone()), int(0));
    Range { hi: Bound::at(held(d, "limit", within)), ..range }
}

/// The ranges of a part of a loop over `v`: in each, every concatenation along `v` that is not asked is one of its choices, and
/// every level with phases is in one of them.
pub(super) fn pieces(cx: &Context, d: &mut Symbolic, v: Index, piece: Piece) -> Vec<Piece> {
    let mut pieces = vec![];
    split(cx, d, v, piece, &mut pieces);
    pieces
}

fn split(cx: &Context, d: &mut Symbolic, v: Index, piece: Piece, pieces: &mut Vec<Piece>) {
    let found = may_cut(cx, v, &piece);
    if found.is_empty() {
        return pieces.push(piece);
    }
    let fits = |cut: &Cut| *cut == Cut::Whole || found.contains(cut);
    let cut = cx.book.enter_if(fits, || cut_of(cx, v, &piece, &found));
    let parts = match cut {
        Cut::Choice => choices(cx, d, v, &piece),
        Cut::Comparison => compare::decided(cx, d, v, &piece),
        Cut::Phases | Cut::Hull | Cut::Tested => structure::phases(cx, d, v, &piece, cut),
        Cut::Whole => vec![],
    };
    let budget = piece.scope.budget.shared(parts.len());
    if cut == Cut::Whole {
        pieces.push(piece);
    }
    for mut part in parts {
        part.scope.budget = budget;
        split(cx, d, v, part, pieces);
    }
    cx.book.leave();
}

/// What may end ranges of a piece, what comes first first.
fn may_cut(cx: &Context, v: Index, piece: &Piece) -> Vec<Cut> {
    if find(&piece.body, &|c: &Concat| choice::is_along(cx, &piece.scope, v, c)).is_some() {
        return vec![Cut::Choice];
    }
    let compared = compare::first_key(cx, v, piece).map(|_| Cut::Comparison);
    let phased = !structure::phased(cx, &piece.scope, &piece.body, v).is_empty();
    let phases = if phased { &[Cut::Phases, Cut::Hull, Cut::Tested][..] } else { &[] };
    compared.into_iter().chain(phases.iter().copied()).collect()
}

/// What ends ranges of a piece, of what may.
fn cut_of(cx: &Context, v: Index, piece: &Piece, found: &[Cut]) -> Cut {
    match found {
        [Cut::Comparison, ..] if compare::decides(cx, piece) => Cut::Comparison,
        [Cut::Choice, ..] => Cut::Choice,
        [.., Cut::Tested] => structure::phases_or_hull(cx, v, piece),
        _ => Cut::Whole,
    }
}

/// The choices of the first concatenation along `v`.
fn choices(cx: &Context, d: &mut Symbolic, v: Index, piece: &Piece) -> Vec<Piece> {
    let along = |c: &Concat| choice::is_along(cx, &piece.scope, v, c);
    let Some(c) = find(&piece.body, &along).cloned() else { return vec![piece.clone()] };
    let cuts = cuts(cx, d, &piece.scope, v, &piece.range, &c);
    let empty = |part: &Piece| part.range.lo.size.is_some() && part.range.lo.size == part.range.hi.size;
    let choice = |(n, pair): (usize, &[Bound])| {
        let part = piece.within(pair[0].clone(), pair[1].clone());
        (!empty(&part)).then(|| {
            let body = cx.simplify.simplify(&chosen(cx, &piece.body, &c, n));
            let mut part = Piece { body, ..part };
            choice::mark_strays(&mut part, c.parts.iter().map(|(w, _)| *w));
            part
        })
    };
    cuts.windows(2).enumerate().filter_map(choice).collect()
}

/// The bound along `v` of a coordinate of an access's level: the first in the piece's range that is not before it.
pub(super) fn coordinate_of(
    cx: &Context,
    d: &mut Symbolic,
    v: Index,
    piece: &Piece,
    (a, level): (AccessId, usize),
    at: Expr,
) -> Bound {
    let Range { lo, hi } = &piece.range;
    let w = cx.program.level_var(&cx.program.accesses[a.0], level);
    let line = line(cx, cx.program.root_map(w), v);
    let r = of_size(cx, &line.r);
    let same = mapped(cx, &piece.scope, &line.c) == Some(int(0)) && r == int(1);
    if same && (at == lo.at || at == hi.at) || is_whole(cx, v, piece, (a, level)) {
        return Bound::at(at);
    }
    if same && ahead(&at, &hi.at).is_some_and(|n| n >= 0) {
        return hi.clone();
    }
    let moved = behind(cx, &piece.scope, at, &line.c).expect("bound outside");
    let within = binary(Op::Min, binary(Op::Max, steps_to(moved, r), lo.at.clone()), hi.at.clone());
    Bound::at(d.define("cut", Type::I64, within))
}

/// `at - c`, or a number that no coordinate reaches where that does not fit 64 bits; `at` is not negative. `None` if no
/// loop has bound a variable of `c` yet.
fn behind(cx: &Context, scope: &Scope, at: Expr, c: &Map<Index>) -> Option<Expr> {
    let less = mapped(cx, scope, c)?;
    let constant = cx.extents.known(&c.constant);
    let rises = c.factors.values().all(|f| f.terms().all(|(n, _)| n > 0))
        && constant.terms().all(|(n, extents)| n > 0 || extents.is_empty());
    let number = constant.terms().find(|(_, extents)| extents.is_empty()).map_or(0, |(n, _)| n);
    let most = match rises {
        true if number >= 0 => None,
        true => Some(int(i64::MAX + number)),
        false => Some(plus(binary(Op::Min, less.clone(), int(0)), int(i64::MAX))),
    };
    let at = match (at, most) {
        (at, None) => at,
        (Expr::Const(n), Some(Expr::Const(most))) => int((n.bits() as i64).min(most.bits() as i64)),
        (at, Some(most)) => binary(Op::Min, at, most),
    };
    Some(match less {
        Expr::Const(c) => plus(at, int((c.bits() as i64).wrapping_neg())),
        less => binary(Op::Sub, at, less),
    })
}

/// Whether a piece's coordinates are exactly those of an access's level.
pub(super) fn is_whole(
    cx: &Context,
    v: Index,
    Piece { range, scope, .. }: &Piece,
    (a, level): (AccessId, usize),
) -> bool {
    let tensor = cx.program.tensor(a);
    let w = cx.program.level_var(&cx.program.accesses[a.0], level);
    let line = line(cx, cx.program.root_map(w), v);
    let extent = cx.extents.known(&Size::unknown(tensor.extents[tensor.format.order[level]]));
    let same = mapped(cx, scope, &line.c) == Some(int(0)) && of_size(cx, &line.r) == int(1);
    same && range.lo.at == int(0) && reach(cx, &line, &range.hi) == Some(extent)
}

/// A variable along `v` in a piece: `c + r·v`.
pub(super) fn along(cx: &Context, piece: &Piece, v: Index, w: Index) -> (Expr, Expr) {
    let line = line(cx, cx.program.root_map(w), v);
    (mapped(cx, &piece.scope, &line.c).expect("bound outside"), of_size(cx, &line.r))
}

/// The first `v` at which `c + r·v` is not before `at`.
pub(super) fn steps(at: Expr, c: Expr, r: Expr) -> Expr {
    steps_to(if c == int(0) { at } else { binary(Op::Sub, at, c) }, r)
}

/// The bounds along `v`, inside of a range, between the parts of a concatenation, the range's ends included.
pub(super) fn cuts(cx: &Context, d: &mut Symbolic, scope: &Scope, v: Index, range: &Range, c: &Concat) -> Vec<Bound> {
    let of = c.of.within(|u| cx.program.root_map(u));
    let line = line(cx, of, v);
    let extents: Vec<Size> = c.parts.iter().map(|(u, _)| Size::unknown(cx.program.vars[u.0].extent)).collect();
    let total = extents.iter().fold(Size::default(), |sum, e| sum.plus(e));
    // Offsets between choices; a window also has a choice before it and behind it.
    let mut before = Size::default();
    let mut ends = if c.outside.is_some() { vec![before.clone()] } else { vec![] };
    for extent in &extents[..extents.len() - c.outside.is_none() as usize] {
        before = before.plus(extent);
        ends.push(before.clone());
    }
    let all = reach(cx, &line, &range.lo) == Some(Size::default())
        && reach(cx, &line, &range.hi) == Some(cx.extents.known(&total));
    let mut cuts = vec![range.lo.clone()];
    for before in ends {
        // The first coordinate at which c + r·v reaches the offset.
        let steps = line.r.value() != Some(1);
        let beyond = before.plus(&line.c.constant.negative());
        let size = (line.c.factors.is_empty() && !steps).then(|| cx.extents.known(&beyond));
        let moved = behind(cx, scope, of_size(cx, &before), &line.c).expect("bound outside");
        let at = steps_to(moved, of_size(cx, &line.r));
        // A cut that is at an end of the range, or outside, needs no clamping.
        let ahead = |end: &Bound| cx.extents.known(&size.as_ref()?.plus(&end.size.as_ref()?.negative())).value();
        let end = match (ahead(&range.hi), ahead(&range.lo)) {
            (Some(0..), _) => Some(&range.hi),
            (_, Some(..=0)) => Some(&range.lo),
            _ => None,
        };
        cuts.push(match end {
            _ if all => Bound { at: held(d, "cut", at), size },
            Some(end) => end.clone(),
            None => {
                let last = cuts.last().expect("it begins somewhere").at.clone();
                let within = binary(Op::Min, binary(Op::Max, at, last), range.hi.at.clone());
                Bound::at(held(d, "cut", within))
            }
        });
    }
    cuts.push(range.hi.clone());
    cuts
}

/// The body with choice `n` of a concatenation in its place, and in that of others that are split at the same
/// coordinates.
pub(super) fn chosen(cx: &Context, body: &concrete::Expr, of: &Concat, n: usize) -> concrete::Expr {
    let again = |e: &concrete::Expr| chosen(cx, e, of, n);
    match body {
        concrete::Expr::Concat(c, _) if ends_with(cx, c, of) => again(c.choices().nth(n).expect("a range for each")),
        concrete::Expr::Concat(c, ty) => concrete::Expr::Concat(Box::new((**c).clone().map(|e| again(&e))), *ty),
        concrete::Expr::Call(fun, args, ty) => concrete::Expr::Call(*fun, args.iter().map(again).collect(), *ty),
        concrete::Expr::Reduce(op, vars, inner, ty) => {
            concrete::Expr::Reduce(*op, vars.clone(), Box::new(again(inner)), *ty)
        }
        concrete::Expr::Fold(fold, ty) => concrete::Expr::Fold(Box::new((**fold).clone().map(|e| again(&e))), *ty),
        concrete::Expr::Where(made, ty) => concrete::Expr::Where(Box::new((**made).clone().map(|e| again(&e))), *ty),
        concrete::Expr::Literal(_)
        | concrete::Expr::Index(_)
        | concrete::Expr::Access(..)
        | concrete::Expr::Column(_) => body.clone(),
    }
}

/// Whether two concatenations are split at the same coordinates.
pub(super) fn ends_with(cx: &Context, a: &Concat, b: &Concat) -> bool {
    let extents = |c: &Concat| -> Vec<Size> {
        let extent = |(u, _): &(Index, _)| cx.extents.known(&Size::unknown(cx.program.vars[u.0].extent));
        c.parts.iter().map(extent).collect()
    };
    a.of == b.of && extents(a) == extents(b) && a.outside.is_some() == b.outside.is_some()
}

/// Whether no coordinate of a range lies before a window, for the first choice, or behind it, for the last.
pub(super) fn never(cx: &Context, range: &Range, v: Index, c: &Concat, choice: usize) -> bool {
    let line = line(cx, c.of.within(|u| cx.program.root_map(u)), v);
    let not_negative = |size: Size| cx.extents.known(&size).value().is_some_and(|n| n >= 0);
    let extents = c.parts.iter().map(|(u, _)| Size::unknown(cx.program.vars[u.0].extent));
    let total = || extents.fold(Size::default(), |sum, e| sum.plus(&e));
    match choice {
        _ if c.outside.is_none() => false,
        0 => reach(cx, &line, &range.lo).is_some_and(not_negative),
        n if n > c.parts.len() => {
            reach(cx, &line, &range.hi).is_some_and(|past| not_negative(total().plus(&past.negative())))
        }
        _ => false,
    }
}

/// Fingers for the lists of which each turn of the outermost of these loops sees the piece behind the one
/// before: coordinates `c + J·u + v` in a loop over `u` around one over `v` of extent `J`. No loop between the two
/// sees a piece again, and no other loop walks the list.
pub(super) fn fingers(cx: &Context, scope: &Scope, order: &[Index], body: &concrete::Expr) -> Vec<plan::Finger> {
    let finger = |a: AccessId| {
        let (level, w) = fiber::next_var(cx, scope, a)?;
        let list = cx.program.tensor(a).format.levels[level].is_list();
        let free = list && !scope.in_blocks.contains(&a) && !scope.fingers.contains_key(&(a, level));
        let sums = body.around(a).filter(|_| free)?;
        let order: Vec<Index> = order.iter().copied().chain(sums).collect();
        let through = in_pieces(cx, scope, w, &order)?.to_vec();
        Some(plan::Finger { list: (a, level), through })
    };
    body.accesses().into_iter().filter_map(finger).collect()
}

/// Points cursors at the begins of lists.
pub(super) fn point_fingers(cx: &Context, d: &mut Symbolic, scope: &mut Scope, fingers: Vec<plan::Finger>) {
    for plan::Finger { list: (a, level), through } in fingers {
        let begin = fiber::unopened(cx, d, scope, a).begin;
        let at = d.state(&format!("p_{}", cx.program.tensor(a).name), begin);
        scope.fingers.insert((a, level), Finger { at, through });
    }
}

/// The loops, from the first up to the last that moves `w`, if together they visit its coordinates in order, piece
/// by piece.
fn in_pieces<'o>(cx: &Context, scope: &Scope, w: Index, order: &'o [Index]) -> Option<&'o [Index]> {
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

/// The accesses of a body whose next level is a list that a loop over `v` may see in blocks: the loops inside visit
/// exactly the coordinates between two of `v`.
pub(super) fn in_blocks(cx: &Context, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    let mut all = body.accesses();
    all.retain(|a| {
        let Some((level, w)) = fiber::next_var(cx, scope, *a) else { return false };
        let walked = fiber::protocol(cx, scope, *a).is_none() && cx.program.tensor(*a).format.levels[level].is_list();
        walked && cx.program.computed(w).is_none() && goes_between(cx, scope, &cx.program.root_map(w), v)
    });
    all
}

/// Whether the variables of a map that are bound inside of the loop over `v` cover exactly the coordinates between
/// two of its turns.
fn goes_between(cx: &Context, scope: &Scope, map: &Map<Index>, v: Index) -> bool {
    let factor = |u: &Index| map.factors.get(u).map(|f| cx.extents.known(f)).filter(|f| *f != Size::default());
    let free = |u: &&Index| **u != v && scope.coordinate(**u).is_none();
    let mut inner: Vec<Index> = map.factors.keys().filter(free).copied().collect();
    let Some(mut length) = factor(&v).filter(|_| !inner.is_empty()) else { return false };
    while !inner.is_empty() {
        let fills = |u: &Index| {
            let extent = cx.extents.known(&Size::unknown(cx.program.vars[u.0].extent));
            factor(u).is_some_and(|f| cx.extents.known(&f.times(&extent)) == length)
        };
        let Some(next) = inner.iter().position(fills) else { return false };
        length = factor(&inner.remove(next)).expect("it fills");
    }
    true
}

/// The block, with these positions, of an access's next level at the loop over `v`, which is bound.
pub(super) fn block(cx: &Context, scope: &Scope, a: AccessId, v: Index, (begin, end): (Expr, Expr)) -> Block {
    let (_, w) = fiber::next_var(cx, scope, a).expect("a list comes next");
    let map = cx.program.root_map(w);
    let length = cx.extents.known(&map.factors[&v]);
    Block { begin, end, from: reached(scope, map), length }
}

/// The part of a map whose variables loops have bound.
fn reached(scope: &Scope, mut map: Map<Index>) -> Map<Index> {
    map.factors.retain(|u, _| scope.coordinate(*u).is_some());
    map
}

/// The finger on an access's level, if the loops around are exactly those that it was made for.
fn finger(scope: &Scope, of: (AccessId, usize), v: Index) -> Option<State> {
    let Finger { at, through } = scope.fingers.get(&of)?;
    let (last, outer) = through.split_last()?;
    (*last == v && scope.order.ends_with(outer)).then_some(*at)
}

/// The end of a range, or the first coordinate at which a line leaves an extent, if that comes before: the line may not fit 64 bits
/// behind it.
fn until(cx: &Context, scope: &Scope, line: &Line, hi: &Bound, extent: &Size) -> Bound {
    let left = behind(cx, scope, of_size(cx, extent), &line.c).expect("bound outside");
    Bound::at(binary(Op::Min, hi.at.clone(), steps_to(left, of_size(cx, &line.r))))
}

/// The view under which a loop over a range of `v` walks the fiber of an access's level that it opens.
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
    let shared = scope.walked_in(a, v).map(|asked| holding(scope, asked, range));
    let range = shared.as_ref().unwrap_or(range);
    let mut line = line(cx, cx.program.root_map(w), v);
    let blocks = line.c.factors.keys().any(|u| scope.coordinate(*u).is_none());
    line.c = reached(scope, line.c);
    let extent = cx.extents.known(&Size::unknown(tensor.extents[tensor.format.order[level]]));
    let (first, past) = (reach(cx, &line, &range.lo), reach(cx, &line, &range.hi));
    // A block whose coordinates are those of this range needs neither search nor stop.
    let block = scope.block(a).filter(|block| block.from == line.c && range.lo.at == int(0));
    let length = range.hi.size.as_ref().map(|size| cx.extents.known(&line.r.times(size)));
    let begins = block.is_some() || first.as_ref().and_then(|s| s.value()).is_some_and(|s| s <= 0);
    let ends = block.is_some_and(|block| Some(&block.length) == length.as_ref())
        || past.as_ref().is_some_and(|s| s.plus(&extent.negative()).value().is_some_and(|n| n >= 0));
    let c = mapped(cx, scope, &line.c).expect("bound outside");
    let r = of_size(cx, &line.r);
    let mut fixed = |name: &str, e: Expr| Term::fixed(held(d, name, e));
    // Between two steps nothing is seen. That at a range's end may not fit 64 bits: what is behind the one before it does.
    let strides = !blocks && r != int(1);
    let mut reached = |name: &str, at: &Bound, size: Option<Size>, short: bool| match size {
        Some(size) if size.value().is_some() || !short => fixed(name, of_size(cx, &size)),
        Some(size) => fixed(name, of_size(cx, &size.plus(&line.r.negative()).plus(&Size::number(1)))),
        None => {
            let at = plus(c.clone(), times(at.at.clone(), r.clone()));
            fixed(name, if short { behind_last(at, &r) } else { at })
        }
    };
    let from_zero = range.lo.at == int(0);
    let start = (!begins).then(|| reached("start", &range.lo, first, strides && !from_zero));
    let (hi, past) = match scope.is_loose(w) && !(ends || falls(&line.c)) {
        true => (until(cx, scope, &line, &range.hi, &extent), None),
        false => (range.hi.clone(), past),
    };
    let stop = (!ends).then(|| reached("stop", &hi, past, strides));
    let shift = match &start {
        Some(start) if from_zero => Some(Shift::Up(start.clone())),
        _ if c == int(0) => None,
        _ if falls(&line.c) => Some(Shift::Down(fixed("shift", of_size(cx, &line.c.constant.negative())))),
        _ => Some(Shift::Up(fixed("shift", c.clone()))),
    };
    let mut factor = |name: &str| fixed(name, r.clone());
    let stride = strides.then(|| factor("stride"));
    let blocks = blocks.then(|| factor("length"));
    let finger = finger(scope, (a, level), v);
    let marks = blocks.is_none() && finger.is_none() && start.is_some();
    let mark = cx.prepared.marks.get(&(a, level)).filter(|_| marks).and_then(|mark| mark.here(scope));
    View { start, stop, stride, blocks, shift, finger, mark }
}

/// The coordinates of a range of a loop at which a part holds.
fn holding(scope: &Scope, asked: &Asked, range: &Range) -> Range {
    let (first, past) = &scope.ranges[&asked.by];
    let joined = |op: Op, part: (&Option<Expr>, &Bound), of: &Bound, whole: &Expr| match part {
        (Some(_), bound) if of.at == *whole => bound.clone(),
        (Some(at), _) if of.at != *at => Bound::at(binary(op, at.clone(), of.at.clone())),
        _ => of.clone(),
    };
    let [from, to] = &asked.ends;
    let lo = joined(Op::Max, (from, &asked.range.lo), &range.lo, first);
    Range { lo, hi: joined(Op::Min, (to, &asked.range.hi), &range.hi, past) }
}

/// Whether a map is a number or a size that is negative or 0.
fn falls(map: &Map<Index>) -> bool {
    map.factors.is_empty() && map.constant.terms().all(|(n, _)| n < 0)
}

/// One more than the coordinate a step of `r` before one, whether or not that one fits 64 bits.
pub(super) fn behind_last(at: Expr, r: &Expr) -> Expr {
    match r {
        Expr::Const(r) => plus(at, int(1 - r.bits() as i64)),
        r => plus(binary(Op::Sub, at, r.clone()), int(1)),
    }
}

/// `a / b`, rounded up.
fn ceiling(a: Expr, b: Expr) -> Expr {
    let rest = binary(Op::FloorRem, a.clone(), b.clone());
    binary(Op::Add, binary(Op::FloorDiv, a, b), binary(Op::Min, rest, int(1)))
}

/// The least number of steps of `r` that reach `at`, which is not the least number of 64 bits.
fn steps_to(at: Expr, r: Expr) -> Expr {
    if r == int(1) { at } else { plus(binary(Op::FloorDiv, plus(at, int(-1)), r), int(1)) }
}

/// A sum of terms, some subtracted.
fn sum(terms: Vec<(bool, Expr)>) -> Expr {
    let mut terms = terms.into_iter();
    let Some((minus, first)) = terms.next() else { return int(0) };
    let first = match (minus, first) {
        (false, e) => e,
        (true, Expr::Const(n)) => int((n.bits() as i64).wrapping_neg()),
        (true, e) => binary(Op::Sub, int(0), e),
    };
    terms.fold(first, |sum, (minus, e)| if minus { binary(Op::Sub, sum, e) } else { plus(sum, e) })
}

/// The first concatenation of a body, from the outside in, for which `of` holds.
fn find<'e>(e: &'e concrete::Expr, of: &impl Fn(&Concat) -> bool) -> Option<&'e Concat> {
    match e {
        concrete::Expr::Concat(c, _) if of(c) => Some(c),
        concrete::Expr::Concat(c, _) => c.exprs().find_map(|part| find(part, of)),
        concrete::Expr::Call(_, args, _) => args.iter().find_map(|a| find(a, of)),
        concrete::Expr::Reduce(_, _, body, _) => find(body, of),
        concrete::Expr::Fold(fold, _) => fold.parts().find_map(|part| find(part, of)),
        concrete::Expr::Where(..)
        | concrete::Expr::Literal(_)
        | concrete::Expr::Index(_)
        | concrete::Expr::Access(..)
        | concrete::Expr::Column(_) => None,
    }
}
