//! Coordinates as expressions: index variables, lines `c + r·v`, sizes, and how many steps of a loop reach a coordinate.

use super::{Context, Expr, binary, int, plus, times};
use crate::algebra::Op;
use crate::loops::choose::{
    along,
    range::{Bound, Line, Piece, Range},
    scope::Scope,
};
use crate::map::{ClassId, Map, Size};
use crate::notation::concrete::Index;

/// The coordinate of `w` at the first turn of a piece, and one behind its last: at the next step it may not fit 64 bits.
pub(super) fn ends(cx: &Context, piece: &Piece, v: Index, w: Index) -> [Expr; 2] {
    let (c, r) = line_of(cx, piece, v, w);
    let at = |bound: &Bound| plus(times(cx.expr(bound.at), r.clone()), c.clone());
    [at(&piece.range.lo), behind_last(at(&piece.range.hi), &r)]
}

/// The terms of a size as expressions, each with whether it is subtracted; a number comes last.
pub(super) fn terms_of(cx: &Context, size: &Size) -> Vec<(bool, Expr)> {
    let size = cx.extents.numbered(size);
    let term = |(n, extents): (i64, &[ClassId])| {
        let factor = int(n.saturating_abs());
        (n < 0, extents.iter().fold(factor, |product, e| times(product, cx.extent(*e))))
    };
    let mut terms: Vec<(bool, Expr)> = size.terms().map(term).collect();
    // Added terms first, so that the sum does not begin with a negation.
    terms.sort_by_key(|(minus, e)| (*minus, matches!(e, Expr::Const(_))));
    terms
}

/// A size as an expression.
pub(super) fn of_size(cx: &Context, size: &Size) -> Expr {
    sum(terms_of(cx, size))
}

/// A map, if loops have bound its variables.
pub(super) fn mapped(cx: &Context, scope: &Scope, map: &Map<Index>) -> Option<Expr> {
    let mut terms = vec![];
    for (v, f) in &map.factors {
        let at = cx.expr(scope.coordinate(*v)?);
        terms.extend(terms_of(cx, f).into_iter().map(|(minus, f)| (minus, times(at.clone(), f))));
    }
    terms.extend(terms_of(cx, &map.constant));
    Some(sum(terms))
}

/// An index variable's value, if loops have bound it.
pub(super) fn of(cx: &Context, scope: &Scope, v: Index) -> Option<Expr> {
    let bound = scope.coordinate(v).map(|at| cx.expr(at));
    bound.or_else(|| mapped(cx, scope, &cx.program.root_map(v)))
}

/// `at - c`, or a number that no coordinate reaches where that does not fit 64 bits; `at` is not negative. `None` if no
/// loop has bound a variable of `c` yet.
pub(super) fn behind(cx: &Context, scope: &Scope, at: Expr, c: &Map<Index>) -> Option<Expr> {
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

/// A variable along `v` in a piece: `c + r·v`.
pub(super) fn line_of(cx: &Context, piece: &Piece, v: Index, w: Index) -> (Expr, Expr) {
    let line = along::line(cx, cx.program.root_map(w), v);
    (mapped(cx, &piece.scope, &line.c).expect("bound outside"), of_size(cx, &line.r))
}

/// The first `v` at which `c + r·v` is not before `at`.
pub(super) fn steps(at: Expr, c: Expr, r: Expr) -> Expr {
    steps_to(if c == int(0) { at } else { binary(Op::Sub, at, c) }, r)
}

/// The end of a range, or the first coordinate at which a line leaves an extent, if that comes before: the line may not fit 64 bits
/// behind it.
pub(super) fn until(cx: &Context, scope: &Scope, line: &Line, hi: &Bound, extent: &Size) -> Bound {
    let left = behind(cx, scope, of_size(cx, extent), &line.c).expect("bound outside");
    cx.bound(binary(Op::Min, cx.expr(hi.at), steps_to(left, of_size(cx, &line.r))))
}

/// One more than the coordinate a step of `r` before one, whether or not that one fits 64 bits.
pub(super) fn behind_last(at: Expr, r: &Expr) -> Expr {
    match r {
        Expr::Const(r) => plus(at, int(1 - r.bits() as i64)),
        r => plus(binary(Op::Sub, at, r.clone()), int(1)),
    }
}

/// `a / b`, rounded up.
pub(super) fn ceiling(a: Expr, b: Expr) -> Expr {
    let rest = binary(Op::FloorRem, a.clone(), b.clone());
    binary(Op::Add, binary(Op::FloorDiv, a, b), binary(Op::Min, rest, int(1)))
}

/// The least number of steps of `r` that reach `at`, which is not the least number of 64 bits.
pub(super) fn steps_to(at: Expr, r: Expr) -> Expr {
    if r == int(1) { at } else { plus(binary(Op::FloorDiv, plus(at, int(-1)), r), int(1)) }
}

/// A sum of terms, some subtracted.
pub(super) fn sum(terms: Vec<(bool, Expr)>) -> Expr {
    let mut terms = terms.into_iter();
    let Some((minus, first)) = terms.next() else { return int(0) };
    let first = match (minus, first) {
        (false, e) => e,
        (true, Expr::Const(n)) => int((n.bits() as i64).wrapping_neg()),
        (true, e) => binary(Op::Sub, int(0), e),
    };
    terms.fold(first, |sum, (minus, e)| if minus { binary(Op::Sub, sum, e) } else { plus(sum, e) })
}

/// The number of coordinates of a range.
pub(super) fn length(cx: &Context, range: &Range) -> Expr {
    let [lo, hi] = [cx.expr(range.lo.at), cx.expr(range.hi.at)];
    if lo == int(0) { hi } else { binary(Op::Sub, hi, lo) }
}
