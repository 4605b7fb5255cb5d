//! How a loop treats each concatenation and window: as ends of its ranges, as a guard at each coordinate, or by neither. The choice is
//! made before the loop is planned, so that the code is linear in the size of the text.
//!
//! ```text
//!  concat(i + 1; w: v[w], else 0.0)        a window
//!    loose    v[w]                         lists have no entry out of their extent: no range ends where the window does
//!    split    0..N-1: v[i + 1]  N-1..N: 0  a range for each part
//!    asked    inside = i < N - 1           v is present where the guard `inside` holds; the value is select(inside, v[i + 1], 0)
//! ```
//!
//! *Split* multiplies loops: the ends of k concatenations may be in any order, and each range has its own loops. If the ranges would be
//! more than [`RANGES`] or, where there are lists, [`RANGES_OF_LISTS`], and more than the text itself has, concatenations are *asked*
//! (guarded). So are those whose code would have too many lines, including those of the loops around (`budget.rs`).
//!
//! Guarded windows over a whole extent leave one range in which all guards hold, which has no test; in the ranges before and behind it
//! each guard is tested.
//!
//! An access below a guarded part is present only where the guard holds: from the loop on that binds the guard, as far as that is known
//! here, and wherever a level opens at a coordinate (`fiber::locate`), so that no load is out of bounds. Lists are walked under a view
//! that ends where the guarded part does.

use super::{Context, bounds, range};
use crate::choose::{
    access, along,
    piece::Piece,
    range::{Bound, Range},
    scope::{GuardedPart, Scope},
    split,
    split::Along,
    symbol::Sym,
};
use crate::plan::Block;
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::notation::concrete::{self, AccessId, Concat, Index};

/// A concatenation, the range of the loop in which it stands, and the bounds of its parts in that range.
type Ends = (Concat, Range, Vec<Bound>);

/// A loop with guarded concatenations.
struct Asking {
    v: Index,
    whole: Range,
    /// The scope, with the guards so far.
    scope: Scope,
    ends: Vec<Ends>,
}

/// The ranges of a loop over `v`. In each range, the only concatenations along `v` that remain are the guarded ones, and every level with
/// phases is in one phase.
pub(super) fn ranges(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    (v, rest): (Index, &[Index]),
    body: &concrete::Expr,
) -> Vec<Piece> {
    let (body, mut scope) = (body.clone(), scope.clone());
    let range = range::limited(cx, b, &mut scope, v);
    ranges_of(cx, b, (v, rest), Piece { range, body, scope, in_runs: false, gapless: false, keys: 0 })
}

/// The ranges of a whole loop, behind the values that are computed before it.
fn ranges_of(cx: &Context, b: &mut Block, (v, rest): (Index, &[Index]), mut whole: Piece) -> Vec<Piece> {
    loosen(cx, &mut whole, v);
    let along = |c: &Concat| split::is_along(cx, &whole.scope, v, c);
    if split::outermost(&whole.body, &along).is_empty() {
        return range::pieces(cx, b, v, whole);
    }
    if split::is_split(cx, &whole, v) {
        return range::pieces(cx, b, v, whole);
    }
    let pieces = guarded(cx, b, v, rest, whole);
    pieces.into_iter().flat_map(|piece| range::pieces(cx, b, v, piece)).collect()
}

/// Replaces a window along `v` by the expression inside it, where the value outside is the one of lists without an entry.
fn loosen(cx: &Context, piece: &mut Piece, v: Index) {
    let mut loose = Vec::new();
    let along = |c: &Concat| split::is_along(cx, &piece.scope, v, c);
    let body = loosened(cx, &piece.body, &piece.body, &along, &mut loose);
    if !loose.is_empty() {
        piece.body = cx.simplify.simplify(&body);
        loose.into_iter().for_each(|w| piece.scope.loosen(w));
    }
}

fn loosened(
    cx: &Context,
    e: &concrete::Expr,
    whole: &concrete::Expr,
    along: Along,
    loose: &mut Vec<Index>,
) -> concrete::Expr {
    let made = e.clone().map_parts(&mut vec![], &mut |part, _| loosened(cx, &part, whole, along, loose));
    let concrete::Expr::Concat(c, _) = e else { return made };
    let concrete::Expr::Concat(made_of, _) = &made else { unreachable!("parts are mapped") };
    let ([(w, inside)], Some(outside)) = (&made_of.parts[..], &made_of.outside) else { return made };
    let under = access::under(cx, inside, *w);
    // A bucket index covers no coordinate outside of the extent, so a list that has one is searched inside the window only.
    let lists = || under.iter().all(|a| access::is_listed_under(cx, *a, *w) && !cx.prepared.bucket_indices.contains(a));
    // Another concatenation over the same variable would be evaluated outside of the window, too.
    let once = || split::concats_of(whole, *w).into_iter().all(|other| other == **c);
    if along(c) && split::is_quiet(cx, (*w, inside), &under, outside) && lists() && once() {
        loose.push(*w);
        return inside.clone();
    }
    made
}

/// The ranges of a loop with guarded concatenations. If the loop visits its whole extent, one range is where all windows hold.
fn guarded(cx: &Context, b: &mut Block, v: Index, rest: &[Index], piece: Piece) -> Vec<Piece> {
    let mut of = Asking { v, whole: piece.range.clone(), scope: piece.scope.clone(), ends: Vec::new() };
    let body = asking(cx, b, &mut of, &piece.body, &piece.range);
    let asked = Piece { body: cx.simplify.simplify(&body), scope: of.scope, ..piece.clone() };
    let innermost = rest.is_empty() && !piece.body.has_loops();
    let worth = innermost || access::is_all_located(cx, &piece.scope, &piece.body);
    let around = || worth && piece.scope.affords(cx, &piece.body, 3) && split::is_full(cx, v, &asked);
    let within = split::within_windows(cx, v, &piece, &asked.scope);
    let Some((body, holds)) = within.filter(|_| around()) else { return vec![asked] };
    let joined = |op: Fn, ends: Vec<Bound>, end: &Bound| {
        let mut inner: Vec<Sym> = ends.into_iter().map(|b| b.at).filter(|at| *at != end.at).collect();
        inner.dedup();
        inner.into_iter().reduce(|a, b| cx.symbols.op(op, [a, b]))
    };
    let (starts, stops) = holds.into_iter().map(|range| (range.lo, range.hi)).unzip();
    let mut bound = |name: &str, at: Sym| Bound::at(b.define(cx, name, Type::I64, at));
    let first = joined(Fn::Max, starts, &piece.range.lo).map(|at| bound("first", at));
    let lo = first.clone().unwrap_or(piece.range.lo.clone());
    let last = joined(Fn::Min, stops, &piece.range.hi);
    let last = last.map(|at| bound("last", cx.symbols.max(at, lo.at)));
    let hi = last.clone().unwrap_or(piece.range.hi.clone());
    let mut middle = Piece { body, ..piece.within(lo.clone(), hi.clone()) };
    let parts = asked.scope.guarded_parts().iter().filter(|asked| asked.by == v);
    range::mark_strays(&mut middle, parts.map(|asked| asked.part));
    // The ranges before and behind it are short.
    let mut short = asked;
    short.scope.budget = short.scope.budget.spent();
    let before = first.map(|_| short.within(piece.range.lo.clone(), lo));
    let behind = last.map(|_| short.within(hi, piece.range.hi.clone()));
    before.into_iter().chain([middle]).chain(behind).collect()
}

/// The expression with its concatenations along the loop's variable guarded, within a range of the loop.
fn asking(cx: &Context, b: &mut Block, of: &mut Asking, e: &concrete::Expr, range: &Range) -> concrete::Expr {
    let concrete::Expr::Concat(c, ty) = e else {
        return e.clone().map_parts(&mut vec![], &mut |part, _| asking(cx, b, of, &part, range));
    };
    if !split::is_along(cx, &of.scope, of.v, c) {
        let made = (**c).clone().map(|part| asking(cx, b, of, &part, range));
        return concrete::Expr::Concat(Box::new(made), *ty);
    }
    let cuts = bounds_between(cx, b, of, range, c);
    let before = c.outside.is_some() as usize;
    let mut parts = Vec::new();
    for (n, (w, part)) in c.parts.iter().enumerate() {
        let range = Range { lo: cuts[n + before].clone(), hi: cuts[n + before + 1].clone() };
        let part = asking(cx, b, of, part, &range);
        ask_for(cx, of, (*w, &part), range);
        parts.push((*w, part));
    }
    let outside = c.outside.as_ref().map(|outside| asking(cx, b, of, outside, range));
    if let ([(w, inside)], Some(outside)) = (&parts[..], &outside)
        && split::computes_quiet(cx, (*w, inside), &access::under(cx, inside, *w), outside)
    {
        return inside.clone();
    }
    concrete::Expr::Concat(Box::new(Concat { of: c.of.clone(), parts, outside }), *ty)
}

/// The bounds between the parts of a concatenation in a range; equal concatenations share them, so that they are computed once.
fn bounds_between(cx: &Context, b: &mut Block, of: &mut Asking, range: &Range, c: &Concat) -> Vec<Bound> {
    let same = |(other, within, _): &&Ends| {
        along::ends_with(cx, other, c) && within.lo.at == range.lo.at && within.hi.at == range.hi.at
    };
    if let Some((.., cuts)) = of.ends.iter().find(same) {
        return cuts.clone();
    }
    let cuts = bounds::cuts(cx, b, &of.scope, of.v, range, c);
    of.ends.push((c.clone(), range.clone(), cuts.clone()));
    cuts
}

/// Records that a part holds only in a range. Below the part, lists under its own variable have no entries elsewhere, other lists are
/// walked in that range, and every other access is present only there.
fn ask_for(cx: &Context, of: &mut Asking, (w, part): (Index, &concrete::Expr), range: Range) {
    let (v, scope) = (of.v, &mut of.scope);
    let extent = |c| cx.extents.known_extent(c);
    let here = |of: &&GuardedPart| of.by == v;
    let within = |of: &GuardedPart, a: &AccessId| of.under.contains(a) || of.walked.contains(a);
    let known = |a: &AccessId| scope.guarded_parts().iter().filter(here).any(|of| within(of, a));
    let (inner, mut under): (Vec<AccessId>, _) = access::under(cx, part, w).into_iter().partition(known);
    let exact = |a: &AccessId| {
        let tensor = cx.program.tensor(*a);
        let mode = cx.program.accesses[a.0].vars.iter().position(|u| *u == w);
        let same = |m: usize| extent(tensor.extents[m]) == extent(cx.program.vars[w.0].extent);
        access::is_listed_under(cx, *a, w) && mode.is_some_and(same)
    };
    if !under.is_empty() && under.iter().all(exact) {
        scope.loosen(w);
        under.clear();
    }
    let lists = access::walked(cx, scope, part, v);
    let (walked, under) = under.into_iter().partition(|a| lists.contains(a));
    let end = |at: &Bound, of: &Bound| (at.at != of.at).then_some(at.at);
    let ends = [end(&range.lo, &of.whole.lo), end(&range.hi, &of.whole.hi)];
    scope.guard(GuardedPart { by: v, part: w, range, ends, under, walked, inner, inside: None });
}

/// Binds a loop's variable, and defines the guards that depend on it.
pub(super) fn bind(cx: &Context, b: &mut Block, scope: &mut Scope, v: Index, at: Sym) {
    scope.bind(v, at);
    let symbols = &cx.symbols;
    let mut answers: Vec<([Option<Sym>; 2], Sym)> = Vec::new();
    for n in 0..scope.guarded_parts().len() {
        let GuardedPart { by, ends, .. } = scope.guarded_parts()[n].clone();
        let above = ends[0].map(|lo| symbols.op(Fn::Le, [lo, at]));
        let below = ends[1].map(|hi| symbols.op(Fn::Lt, [at, hi]));
        let inside = symbols.all(above.into_iter().chain(below));
        let Some(inside) = inside.filter(|_| by == v) else { continue };
        let known = answers.iter().find(|(of, _)| *of == ends).map(|(_, inside)| *inside);
        let inside = known.unwrap_or_else(|| {
            let inside = b.define(cx, "inside", Type::Bool, inside);
            answers.push((ends, inside));
            inside
        });
        scope.answer(n, inside);
    }
}
