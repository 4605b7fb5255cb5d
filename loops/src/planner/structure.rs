//! Levels that are not lists: intervals of values, mirrored triangles, pieces. Each opens at a coordinate, in the phase in which a range is,
//! or by a test.

use super::{Context, levels};
use crate::choose::{
    Facts, coordinate,
    scope::{Phase, Scope},
    symbol::Sym,
};
use crate::plan::{Block, Entry, Found, Kind, List, Op, There, View};
use crate::stream::Interval;
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::format::{Holds, triangle::Triangle};
use fiberloom_core::notation::concrete::AccessId;

/// The number of positions in a triangle of `i` rows, which is also the number in the rows before row `i`.
fn triangle(cx: &Facts, i: Sym) -> Sym {
    let symbols = &cx.symbols;
    symbols.op(Fn::Shr, [symbols.times(i, symbols.plus(i, symbols.int(1))), symbols.int(1)])
}

/// In the upper triangle of `n` rows, the position of the first value of a row less that value's coordinate.
fn upper(cx: &Facts, n: Sym, row: Sym) -> Sym {
    cx.symbols.minus(cx.symbols.times(row, n), triangle(cx, row))
}

/// The interval of an access's next level.
pub(super) fn interval(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> Interval<Sym> {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let kind = cx.kind(a, fiber.depth);
    if !kind.holds(Holds::Positions) {
        return of_triangle(cx, b, scope, a);
    }
    let start = if kind.holds(Holds::Coordinates) { symbols.held("start", Type::I64) } else { Sym::ZERO };
    let is = [start, symbols.held("stop", Type::I64), symbols.held("base", Type::I64)];
    let present = levels::present(cx, &fiber);
    b.push(Op::Interval { of: (a, fiber.depth), parent: fiber.position, present, is });
    let [start, stop, base] = is;
    Interval { start, stop, base }
}

/// The interval of a row of a triangle; for a symmetric level, the part up to the diagonal.
fn of_triangle(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> Interval<Sym> {
    let (fiber, tensor, symbols) = (scope.fiber(a), cx.program.tensor(a), &cx.symbols);
    let row = row(cx, scope, a);
    let n = levels::extent(cx, (a, fiber.depth));
    let above = symbols.times(fiber.above, triangle(cx, n));
    let kind = cx.kind(a, fiber.depth);
    let is_upper = kind.triangle() == Some(Triangle::Upper);
    let before = if is_upper { upper(cx, n, row) } else { triangle(cx, row) };
    let base = b.define(cx, &format!("base_{}", tensor.name), Type::I64, symbols.plus(above, before));
    let (start, stop) = if is_upper { (row, n) } else { (Sym::ZERO, symbols.plus(row, symbols.int(1))) };
    let present = levels::present(cx, &fiber).filter(|_| !kind.is_mirrored());
    let of = |at: Sym| present.map_or(at, |present| symbols.select(present, at, Sym::ZERO));
    Interval { start: of(start), stop: of(stop), base }
}

/// The coordinate in the level above an access's next level.
fn row(cx: &Context, scope: &Scope, a: AccessId) -> Sym {
    let above = cx.program.level_var(&cx.program.accesses[a.0], scope.fiber(a).depth - 1);
    coordinate::of(cx, scope, above).expect("levels above are open")
}

/// Opens an access's next level, which is neither a list nor located, at a coordinate. Returns whether the access may be absent there.
pub(super) fn open_computed(cx: &Context, b: &mut Block, scope: &mut Scope, a: AccessId, at: Sym) -> bool {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let kind = cx.kind(a, fiber.depth);
    match scope.phase(a).cloned() {
        None | Some(Phase::Guarded) if kind.is_stepped() && scope.interval(a).is_none() => {
            return open_at(cx, b, scope, a, at);
        }
        Some(Phase::Packed { base, step }) => {
            scope.descend(a, (symbols.plus(base, symbols.times(step, at)), None), vec![]);
        }
        Some(Phase::Inside(base)) => scope.descend(a, (symbols.plus(base, at), None), vec![]),
        Some(Phase::Mirrored) => {
            let position = mirrored(cx, scope, a, at);
            scope.descend(a, (position, None), vec![]);
        }
        Some(Phase::Guarded) | None if kind.is_mirrored() => {
            let Interval { stop, base, .. } = known_interval(cx, b, scope, a);
            let own = symbols.plus(base, at);
            if symbols.ahead(stop, at).is_some_and(|n| n > 0) {
                scope.descend(a, (own, None), fiber.present);
                return false;
            }
            let below = symbols.op(Fn::Lt, [at, stop]);
            let position = symbols.select(below, own, mirrored(cx, scope, a, at));
            scope.descend(a, (position, None), fiber.present);
        }
        Some(Phase::Guarded) | None => {
            let Interval { start, stop, base } = known_interval(cx, b, scope, a);
            let below = symbols.op(Fn::Lt, [at, stop]);
            let found = match start == Sym::ZERO {
                true => below,
                false => symbols.and(symbols.op(Fn::Le, [start, at]), below),
            };
            let found = b.define(cx, "found", Type::Bool, found);
            scope.descend(a, (symbols.plus(base, at), None), vec![found]);
            return true;
        }
    }
    false
}

/// The interval of an access's next level: loaded by a loop around, or else loaded here.
fn known_interval(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> Interval<Sym> {
    scope.interval(a).cloned().unwrap_or_else(|| interval(cx, b, scope, a))
}

/// The position of a coordinate behind the diagonal of a symmetric level: the position of its mirror image.
fn mirrored(cx: &Context, scope: &Scope, a: AccessId, at: Sym) -> Sym {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let above = symbols.times(fiber.above, triangle(cx, levels::extent(cx, (a, fiber.depth))));
    symbols.plus(symbols.plus(above, triangle(cx, at)), row(cx, scope, a))
}

/// The pieces of an access's next level, from the first one on that does not end before the coordinate `start`.
pub(super) fn pieces_from(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId, start: Option<Sym>) -> (List, Kind) {
    let list = levels::unopened(cx, b, scope, a);
    let kind = Kind::of(cx.kind(a, scope.fiber(a).depth)).expect("the level has pieces");
    (List { view: View { start, ..View::default() }, ..list }, kind)
}

/// Opens an access's next level, which has pieces, at a coordinate, by search. Returns whether the access may be absent there.
fn open_at(cx: &Context, b: &mut Block, scope: &mut Scope, a: AccessId, at: Sym) -> bool {
    let extent = levels::extent(cx, (a, scope.fiber(a).depth));
    let (list, kind) = pieces_from(cx, b, scope, a, Some(at));
    let found = (kind == Kind::Blocks).then(|| cx.symbols.read("found", Type::Bool));
    let entry = Entry::single(cx);
    b.push(Op::Seek { by: Found::Pieces { list, kind, extent }, at, is: There { found, entry } });
    let present = found.map_or(scope.fiber(a).present, |found| vec![found]);
    scope.descend(a, entry.positions(), present);
    found.is_some()
}
