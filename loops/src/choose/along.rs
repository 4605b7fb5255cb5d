//! Variables along a loop: lines `c + r·v`, their values at bounds, and the ends of concatenations along them.

use crate::choose::{
    Facts,
    piece::Piece,
    range::{Bound, Line, Range},
    scope::Scope,
    symbol::Sym,
};
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::{self, AccessId, Concat, Index, Limit};

/// Whether loops have bound an index variable, or all variables on which it depends.
pub fn is_bound(cx: &Facts, scope: &Scope, v: Index) -> bool {
    scope.coordinate(v).is_some() || cx.program.root_map(v).factors.keys().all(|u| scope.coordinate(*u).is_some())
}

/// Whether a map whose variables are bound by loops is 0.
pub fn is_zero(cx: &Facts, scope: &Scope, map: &Map<Index>) -> bool {
    let is_none = |size: &Size| cx.extents.numbered(size) == Size::default();
    let vanishes = |(v, f): (&Index, &Size)| match scope.coordinate(*v) {
        Some(at) => at == Sym::ZERO || is_none(f),
        None => false,
    };
    map.factors.iter().all(vanishes) && is_none(&map.constant)
}

/// Whether a loop over `v` binds `w`, given the variables that are bound outside.
pub fn binds(cx: &Facts, scope: &Scope, v: Index, w: Index) -> bool {
    cx.program.binds(v, w, |u| scope.coordinate(u).is_some())
}

/// A map along a loop over `v`.
pub fn line(cx: &Facts, map: Map<Index>, v: Index) -> Line {
    let mut c = map;
    let r = c.factors.remove(&v).unwrap_or_default();
    // A factor is 0 only if an extent is 0, and then the loops have no iterations: 1 is as good.
    let r = Some(cx.extents.known(&r)).filter(|r| *r != Size::default()).unwrap_or(Size::number(1));
    Line { c, r }
}

/// The value of a line at a bound, in terms of extents, if it is loop-invariant.
pub fn reach(cx: &Facts, line: &Line, at: &Bound) -> Option<Size> {
    let at = at.size.as_ref().filter(|_| line.c.factors.is_empty())?;
    Some(cx.extents.known(&line.c.constant.plus(&line.r.times(at))))
}

/// Whether the blocks that a loop over a range of `v` sees of a level over `w` reach the level's extent: `v` is the outermost part of a
/// split loop, whose parts go on as long as the coordinate is below that extent.
pub fn covers(cx: &Facts, line: &Line, (v, w): (Index, Index), range: &Range, extent: &Size) -> bool {
    let map = cx.program.root_map(w);
    let to_the_end = |u: &Index| {
        cx.program.vars[u.0].limits.iter().any(|limit| match limit {
            Limit::Below { at, extent: end } => {
                at.within(|u| cx.program.root_map(u)) == map && cx.extents.known_extent(*end) == *extent
            }
            Limit::Pieces { .. } | Limit::Within(_) => false,
        })
    };
    let whole = range.hi.size.as_ref() == Some(&cx.extents.known_extent(cx.program.vars[v.0].extent));
    whole && line.c == Map::constant(Size::default()) && map.factors.keys().any(to_the_end)
}

/// The whole extent of a loop.
pub fn whole(cx: &Facts, v: Index) -> Range {
    let extent = cx.program.vars[v.0].extent;
    let size = cx.extents.known_extent(extent);
    let lo = Bound { at: Sym::ZERO, size: Some(Size::default()) };
    Range { lo, hi: Bound { at: cx.extents.name(extent), size: Some(size) } }
}

/// Whether a piece's coordinates are exactly those of an access's level.
pub fn is_whole(cx: &Facts, v: Index, Piece { range, scope, .. }: &Piece, (a, level): (AccessId, usize)) -> bool {
    let tensor = cx.program.tensor(a);
    let w = cx.program.level_var(&cx.program.accesses[a.0], level);
    let line = line(cx, cx.program.root_map(w), v);
    let extent = cx.extents.known_extent(tensor.extents[tensor.format.order[level]]);
    let same = is_zero(cx, scope, &line.c) && cx.extents.numbered(&line.r) == Size::number(1);
    same && range.lo.at == Sym::ZERO && reach(cx, &line, &range.hi) == Some(extent)
}

/// The body with choice `n` of a concatenation in its place, and in that of others that are split at the same
/// coordinates.
pub fn chosen(cx: &Facts, body: &concrete::Expr, of: &Concat, n: usize) -> concrete::Expr {
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
pub fn ends_with(cx: &Facts, a: &Concat, b: &Concat) -> bool {
    let extents = |c: &Concat| -> Vec<Size> {
        let extent = |(u, _): &(Index, _)| cx.extents.known_extent(cx.program.vars[u.0].extent);
        c.parts.iter().map(extent).collect()
    };
    a.of == b.of && extents(a) == extents(b) && a.outside.is_some() == b.outside.is_some()
}

/// Whether no coordinate of a range lies before a window, for the first choice, or behind it, for the last.
pub fn never(cx: &Facts, range: &Range, v: Index, c: &Concat, choice: usize) -> bool {
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

/// Whether a map is a number or a size that is negative or 0.
pub fn falls(map: &Map<Index>) -> bool {
    map.factors.is_empty() && map.constant.terms().all(|(n, _)| n < 0)
}
