//! Coordinates: of index variables, of lines `c + r·v`, of sizes, and the numbers of steps of a loop that reach one.

use crate::choose::{
    Facts, along,
    piece::Piece,
    range::{Bound, Line, Range},
    scope::Scope,
    symbol::Sym,
};
use fiberloom_core::algebra::Op;
use fiberloom_core::map::{ClassId, Map, Size};
use fiberloom_core::notation::concrete::Index;

/// The value of an index variable, if loops have bound it.
pub fn of(cx: &Facts, scope: &Scope, v: Index) -> Option<Sym> {
    scope.coordinate(v).or_else(|| mapped(cx, scope, &cx.program.root_map(v)))
}

/// The value of a map, if loops have bound its variables.
pub fn mapped(cx: &Facts, scope: &Scope, map: &Map<Index>) -> Option<Sym> {
    let mut terms = vec![];
    for (v, f) in &map.factors {
        let at = scope.coordinate(*v)?;
        terms.extend(terms_of(cx, f).into_iter().map(|(minus, f)| (minus, cx.symbols.times(at, f))));
    }
    terms.extend(terms_of(cx, &map.constant));
    Some(sum(cx, terms))
}

/// The value of a size.
pub fn of_size(cx: &Facts, size: &Size) -> Sym {
    sum(cx, terms_of(cx, size))
}

/// The terms of a size, each with a flag that says whether it is subtracted; a number comes last.
fn terms_of(cx: &Facts, size: &Size) -> Vec<(bool, Sym)> {
    let size = cx.extents.numbered(size);
    let term = |(n, extents): (i64, &[ClassId])| {
        let factor = cx.symbols.int(n.saturating_abs());
        (n < 0, extents.iter().fold(factor, |product, e| cx.symbols.times(product, cx.extents.name(*e))))
    };
    let mut terms: Vec<(bool, Sym)> = size.terms().map(term).collect();
    // Added terms first, so that the sum does not begin with a negation.
    terms.sort_by_key(|(minus, e)| (*minus, cx.symbols.number(*e).is_some()));
    terms
}

/// The sum of terms, of which those with a flag are subtracted.
fn sum(cx: &Facts, terms: Vec<(bool, Sym)>) -> Sym {
    let mut terms = terms.into_iter();
    let Some((minus, first)) = terms.next() else { return Sym::ZERO };
    let first = match (minus, cx.symbols.number(first)) {
        (false, _) => first,
        (true, Some(n)) => cx.symbols.int(n.wrapping_neg()),
        (true, None) => cx.symbols.sub(Sym::ZERO, first),
    };
    terms.fold(first, |sum, (minus, e)| if minus { cx.symbols.sub(sum, e) } else { cx.symbols.plus(sum, e) })
}

/// The end of the part of a loop over `v` in which a coordinate is below its extent, if the loop's end is behind it.
pub fn limit(cx: &Facts, scope: &Scope, v: Index, (at, extent): (&Map<Index>, ClassId), hi: &Bound) -> Option<Sym> {
    let line = along::line(cx, at.clone(), v);
    let known = cx.extents.known_extent(extent);
    if along::reach(cx, &line, hi).is_some_and(|past| past == known) {
        return None;
    }
    let symbols = &cx.symbols;
    let c = mapped(cx, scope, &line.c).expect("bound outside");
    let left = symbols.sub(cx.extents.name(extent), c);
    let r = of_size(cx, &line.r);
    let steps = if r == symbols.int(1) { left } else { ceiling(cx, left, r) };
    Some(symbols.max(symbols.min(steps, hi.at), Sym::ZERO))
}

/// The number of coordinates of a range.
pub fn length(cx: &Facts, range: &Range) -> Sym {
    cx.symbols.minus(range.hi.at, range.lo.at)
}

/// The coordinates of `w` at the first iteration of a piece, and one past its last: the coordinate of the next step may not fit 64 bits.
pub fn ends(cx: &Facts, piece: &Piece, v: Index, w: Index) -> [Sym; 2] {
    let (c, r) = line_of(cx, piece, v, w);
    let at = |bound: &Bound| cx.symbols.plus(cx.symbols.times(bound.at, r), c);
    [at(&piece.range.lo), behind_last(cx, at(&piece.range.hi), r)]
}

/// A variable along `v` in a piece: `c + r·v`, as (c, r).
pub fn line_of(cx: &Facts, piece: &Piece, v: Index, w: Index) -> (Sym, Sym) {
    let line = along::line(cx, cx.program.root_map(w), v);
    (mapped(cx, &piece.scope, &line.c).expect("bound outside"), of_size(cx, &line.r))
}

/// `at - c`, or a number beyond all coordinates if that does not fit 64 bits; `at` is not negative. `None` if no loop has bound a
/// variable of `c` yet.
pub fn behind(cx: &Facts, scope: &Scope, at: Sym, c: &Map<Index>) -> Option<Sym> {
    let symbols = &cx.symbols;
    let less = mapped(cx, scope, c)?;
    let constant = cx.extents.known(&c.constant);
    let rises = c.factors.values().all(|f| f.terms().all(|(n, _)| n > 0))
        && constant.terms().all(|(n, extents)| n > 0 || extents.is_empty());
    let number = constant.terms().find(|(_, extents)| extents.is_empty()).map_or(0, |(n, _)| n);
    let most = match rises {
        true if number >= 0 => None,
        true => Some(symbols.int(i64::MAX + number)),
        false => Some(symbols.plus(symbols.min(less, Sym::ZERO), symbols.int(i64::MAX))),
    };
    let at = match most {
        None => at,
        Some(most) => joined(cx, Op::Min, at, most),
    };
    Some(symbols.less(at, less))
}

/// The minimum or maximum of two; a number, if both are numbers.
pub fn joined(cx: &Facts, op: Op, a: Sym, b: Sym) -> Sym {
    match (cx.symbols.number(a), cx.symbols.number(b)) {
        (Some(a), Some(b)) => cx.symbols.int(if op == Op::Min { a.min(b) } else { a.max(b) }),
        _ => cx.symbols.op(op, [a, b]),
    }
}

/// The first `v` at which `c + r·v` is not below `at`.
pub fn steps(cx: &Facts, at: Sym, c: Sym, r: Sym) -> Sym {
    steps_to(cx, cx.symbols.minus(at, c), r)
}

/// The least number of steps of `r` that reach `at`, which is not the least integer.
pub fn steps_to(cx: &Facts, at: Sym, r: Sym) -> Sym {
    let one = cx.symbols.int(1);
    if r == one {
        return at;
    }
    let before = cx.symbols.plus(at, cx.symbols.int(-1));
    cx.symbols.plus(cx.symbols.op(Op::FloorDiv, [before, r]), one)
}

/// The end of a range, or the first coordinate at which a line leaves an extent, if that is earlier: behind it the line may not fit 64
/// bits.
pub fn until(cx: &Facts, scope: &Scope, line: &Line, hi: &Bound, extent: &Size) -> Bound {
    let left = behind(cx, scope, of_size(cx, extent), &line.c).expect("bound outside");
    Bound::at(cx.symbols.min(hi.at, steps_to(cx, left, of_size(cx, &line.r))))
}

/// The coordinate behind the blocks of a line, at most the extent: where the last of them ends may not fit 64 bits. Blocks without
/// coordinates end where they begin, so that no entry is in one.
pub fn clipped(cx: &Facts, scope: &Scope, line: &Line, hi: &Bound, extent: &Size) -> Sym {
    let (symbols, extent, length) = (&cx.symbols, of_size(cx, extent), of_size(cx, &line.r));
    let c = mapped(cx, scope, &line.c).expect("bound outside");
    let left = behind(cx, scope, extent, &line.c).expect("bound outside");
    let within = symbols.op(Op::Lt, [hi.at, steps_to(cx, left, length)]);
    let empty = symbols.op(Op::Lt, [length, symbols.int(1)]);
    let fits = if symbols.number(length).is_some() { within } else { symbols.or(within, empty) };
    symbols.select(fits, symbols.plus(c, symbols.times(hi.at, length)), extent)
}

/// One more than the coordinate that is a step of `r` before `at`, even if `at` does not fit 64 bits.
pub fn behind_last(cx: &Facts, at: Sym, r: Sym) -> Sym {
    match cx.symbols.number(r) {
        Some(r) => cx.symbols.plus(at, cx.symbols.int(1 - r)),
        None => cx.symbols.plus(cx.symbols.sub(at, r), cx.symbols.int(1)),
    }
}

/// `a / b`, rounded up.
pub fn ceiling(cx: &Facts, a: Sym, b: Sym) -> Sym {
    let rest = cx.symbols.op(Op::FloorRem, [a, b]);
    cx.symbols.op(Op::Add, [cx.symbols.op(Op::FloorDiv, [a, b]), cx.symbols.min(rest, cx.symbols.int(1))])
}
