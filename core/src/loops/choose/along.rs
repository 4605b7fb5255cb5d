//! Variables along a loop: lines `c + r·v`, what they reach, and where concatenations along them end.

use crate::algebra::Op;
use crate::loops::Expr;
use crate::loops::arith::{binary, int, plus, times};
use crate::loops::choose::{
    Facts, access,
    keys::{Key, Less, Side},
    range::{Bound, Line, Piece, Range},
    scope::Scope,
};
use crate::map::{ClassId, Map, Size};
use crate::notation::concrete::{self, AccessId, Concat, Index, Origin};

/// The coordinate of `w` at the first turn of a piece, and one behind its last: at the next step it may not fit 64 bits.
pub fn ends(cx: &Facts, piece: &Piece, v: Index, w: Index) -> [Expr; 2] {
    let (c, r) = along(cx, piece, v, w);
    let at = |bound: &Bound| plus(times(bound.at.clone(), r.clone()), c.clone());
    [at(&piece.range.lo), behind_last(at(&piece.range.hi), &r)]
}

/// Whether a key compares the loop's own variable, over its whole extent, with another variable of that extent: no clamping is
/// needed. A variable without roots may be the extent itself, which is not within it.
pub fn is_within(cx: &Facts, v: Index, piece: &Piece, key: &Key) -> bool {
    let concrete::Expr::Index(u) = key.with else { return false };
    let [own, other] = [v, u].map(|u| &cx.program.vars[u.0]);
    key.side == Side { w: v, less: Less::Nothing }
        && own.extent == other.extent
        && !matches!(other.origin, Origin::Computed(_))
        && !cx.program.roots(u).is_empty()
        && piece.range.lo.at == int(0)
        && piece.range.hi.at == cx.extents.at(own.extent)
}

/// The terms of a size as expressions, each with whether it is subtracted; a number comes last.
pub fn terms_of(cx: &Facts, size: &Size) -> Vec<(bool, Expr)> {
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

/// A size as an expression.
pub fn of_size(cx: &Facts, size: &Size) -> Expr {
    sum(terms_of(cx, size))
}

/// A map, if loops have bound its variables.
pub fn mapped(cx: &Facts, scope: &Scope, map: &Map<Index>) -> Option<Expr> {
    let mut terms = vec![];
    for (v, f) in &map.factors {
        let at = scope.coordinate(*v)?;
        terms.extend(terms_of(cx, f).into_iter().map(|(minus, f)| (minus, times(at.clone(), f))));
    }
    terms.extend(terms_of(cx, &map.constant));
    Some(sum(terms))
}

/// An index variable's value, if loops have bound it.
pub fn coordinate(cx: &Facts, scope: &Scope, v: Index) -> Option<Expr> {
    let bound = scope.coordinate(v).cloned();
    bound.or_else(|| mapped(cx, scope, &cx.program.root_map(v)))
}

/// Whether a loop over `v` binds `w`, all that is bound outside given.
pub fn binds(cx: &Facts, scope: &Scope, v: Index, w: Index) -> bool {
    cx.program.binds(v, w, |u| scope.coordinate(u).is_some())
}

/// A map along a loop over `v`.
pub fn line(cx: &Facts, map: Map<Index>, v: Index) -> Line {
    let mut c = map;
    let r = c.factors.remove(&v).unwrap_or_default();
    // A factor is 0 only if an extent is, and then the loops have no turns: 1 is as right.
    let r = Some(cx.extents.known(&r)).filter(|r| *r != Size::default()).unwrap_or(Size::number(1));
    Line { c, r }
}

/// Whether a loop over `v` steps over coordinates of an access's next level.
pub fn strides(cx: &Facts, scope: &Scope, a: AccessId, v: Index) -> bool {
    let next = access::next_var(cx, scope, a);
    next.is_some_and(|(_, w)| line(cx, cx.program.root_map(w), v).r != Size::number(1))
}

/// The value of a line at a bound, in terms of extents, if it is loop-invariant.
pub fn reach(cx: &Facts, line: &Line, at: &Bound) -> Option<Size> {
    let at = at.size.as_ref().filter(|_| line.c.factors.is_empty())?;
    Some(cx.extents.known(&line.c.constant.plus(&line.r.times(at))))
}

/// The whole extent of a loop.
pub fn whole(cx: &Facts, v: Index) -> Range {
    let extent = cx.program.vars[v.0].extent;
    let size = cx.extents.known_extent(extent);
    let lo = Bound { at: int(0), size: Some(Size::default()) };
    Range { lo, hi: Bound { at: cx.extents.at(extent), size: Some(size) } }
}

/// `at - c`, or a number that no coordinate reaches where that does not fit 64 bits; `at` is not negative. `None` if no
/// loop has bound a variable of `c` yet.
pub fn behind(cx: &Facts, scope: &Scope, at: Expr, c: &Map<Index>) -> Option<Expr> {
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
pub fn is_whole(cx: &Facts, v: Index, Piece { range, scope, .. }: &Piece, (a, level): (AccessId, usize)) -> bool {
    let tensor = cx.program.tensor(a);
    let w = cx.program.level_var(&cx.program.accesses[a.0], level);
    let line = line(cx, cx.program.root_map(w), v);
    let extent = cx.extents.known_extent(tensor.extents[tensor.format.order[level]]);
    let same = mapped(cx, scope, &line.c) == Some(int(0)) && of_size(cx, &line.r) == int(1);
    same && range.lo.at == int(0) && reach(cx, &line, &range.hi) == Some(extent)
}

/// A variable along `v` in a piece: `c + r·v`.
pub fn along(cx: &Facts, piece: &Piece, v: Index, w: Index) -> (Expr, Expr) {
    let line = line(cx, cx.program.root_map(w), v);
    (mapped(cx, &piece.scope, &line.c).expect("bound outside"), of_size(cx, &line.r))
}

/// The first `v` at which `c + r·v` is not before `at`.
pub fn steps(at: Expr, c: Expr, r: Expr) -> Expr {
    steps_to(if c == int(0) { at } else { binary(Op::Sub, at, c) }, r)
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

/// The end of a range, or the first coordinate at which a line leaves an extent, if that comes before: the line may not fit 64 bits
/// behind it.
pub fn until(cx: &Facts, scope: &Scope, line: &Line, hi: &Bound, extent: &Size) -> Bound {
    let left = behind(cx, scope, of_size(cx, extent), &line.c).expect("bound outside");
    Bound::at(binary(Op::Min, hi.at.clone(), steps_to(left, of_size(cx, &line.r))))
}

/// Whether a map is a number or a size that is negative or 0.
pub fn falls(map: &Map<Index>) -> bool {
    map.factors.is_empty() && map.constant.terms().all(|(n, _)| n < 0)
}

/// One more than the coordinate a step of `r` before one, whether or not that one fits 64 bits.
pub fn behind_last(at: Expr, r: &Expr) -> Expr {
    match r {
        Expr::Const(r) => plus(at, int(1 - r.bits() as i64)),
        r => plus(binary(Op::Sub, at, r.clone()), int(1)),
    }
}

/// `a / b`, rounded up.
pub fn ceiling(a: Expr, b: Expr) -> Expr {
    let rest = binary(Op::FloorRem, a.clone(), b.clone());
    binary(Op::Add, binary(Op::FloorDiv, a, b), binary(Op::Min, rest, int(1)))
}

/// The least number of steps of `r` that reach `at`, which is not the least number of 64 bits.
pub fn steps_to(at: Expr, r: Expr) -> Expr {
    if r == int(1) { at } else { plus(binary(Op::FloorDiv, plus(at, int(-1)), r), int(1)) }
}

/// A sum of terms, some subtracted.
pub fn sum(terms: Vec<(bool, Expr)>) -> Expr {
    let mut terms = terms.into_iter();
    let Some((minus, first)) = terms.next() else { return int(0) };
    let first = match (minus, first) {
        (false, e) => e,
        (true, Expr::Const(n)) => int((n.bits() as i64).wrapping_neg()),
        (true, e) => binary(Op::Sub, int(0), e),
    };
    terms.fold(first, |sum, (minus, e)| if minus { binary(Op::Sub, sum, e) } else { plus(sum, e) })
}
