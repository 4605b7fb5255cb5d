//! Levels of accesses: their arrays, the fibers that they open, the values below them.

use super::Context;
use crate::choose::{
    Facts, access,
    scope::{self, Scope},
    symbol::{Array, Sym},
};
use crate::plan::{Block, BucketIndex, List, Op, View};
use fiberloom_core::algebra::{Op as Fn, Type, Value};
use fiberloom_core::format::Holds;
use fiberloom_core::iteration::Sequence;
use fiberloom_core::notation::concrete::{self, AccessId};

/// An array of an access's level.
pub(super) fn array(cx: &Facts, (a, level): (AccessId, usize), what: Holds) -> Array {
    Array::Level(cx.program.accesses[a.0].tensor, level, what)
}

/// The extent of an access's level.
pub(super) fn extent(cx: &Facts, (a, level): (AccessId, usize)) -> Sym {
    let tensor = cx.program.tensor(a);
    cx.extents.name(tensor.extents[tensor.format.order[level]])
}

/// The condition under which an access has a fiber; `None` if it always has.
pub(super) fn present(cx: &Facts, fiber: &scope::Fiber) -> Option<Sym> {
    let all = fiber.present.iter().rev().copied();
    all.reduce(|older, newer| cx.symbols.and(newer, older))
}

/// The flag at a position of a level that has flags: false where nothing is stored.
pub(super) fn flag(cx: &Facts, of: (AccessId, usize), position: Sym) -> Option<Sym> {
    let (kind, symbols) = (cx.kind(of.0, of.1), &cx.symbols);
    if kind.holds(Holds::Flags) {
        return Some(symbols.load(array(cx, of, Holds::Flags), position));
    }
    if !kind.holds(Holds::Words) {
        return None;
    }
    let word = symbols.op(Fn::FloorDiv, [position, symbols.int(64)]);
    let bit = symbols.op(Fn::FloorRem, [position, symbols.int(64)]);
    let bit = symbols.op(Fn::Convert(Type::U64), [bit]);
    let shifted = symbols.op(Fn::Shr, [symbols.load(array(cx, of, Holds::Words), word), bit]);
    let one = symbols.value(Value::from_bits(Type::U64, 1));
    Some(symbols.op(Fn::Eq, [symbols.op(Fn::And, [shifted, one]), one]))
}

/// The whole fiber that an access opens next, of a list or of the ends of runs and blocks. Where the fiber is absent, the result is
/// empty.
pub(super) fn unopened(cx: &Context, b: &mut Block, scope: &Scope, a: AccessId) -> List {
    let (fiber, symbols) = (scope.fiber(a), &cx.symbols);
    let (of, parent) = ((a, fiber.depth), fiber.position);
    let (begin, end) = if cx.kind(a, fiber.depth).holds(Holds::Positions) {
        let at = |parent: Sym| symbols.load(array(cx, of, Holds::Positions), parent);
        (at(parent), at(symbols.add(parent, symbols.int(1))))
    } else {
        let end = fiber.run.map(|run| {
            let it = symbols.read("end", Type::I64);
            b.push(Op::RunEnd { it, run });
            it
        });
        (parent, end.unwrap_or_else(|| symbols.plus(parent, symbols.int(1))))
    };
    let (begin, end) = scope.block(a).map_or((begin, end), |block| (block.begin, block.end));
    let repeats = cx.program.tensor(a).format.repeats(fiber.depth);
    let within = |at: Sym| present(cx, &fiber).map_or(at, |present| symbols.select(present, at, Sym::ZERO));
    let (begin, end) = (within(begin), within(end));
    List { of, begin, end, repeats, view: View::default(), run: None, bucket_index: bucket_index(cx, scope, a) }
}

/// The fiber below an entry whose run of positions has no known end, if walking it one by one may find the end.
pub(super) fn of_run(cx: &Context, scope: &Scope, a: AccessId) -> Option<List> {
    let fiber = scope.fiber(a);
    let (depth, begin) = (fiber.depth, fiber.position);
    let once = !fiber.may_miss() && scope.block(a).is_none() && !cx.program.tensor(a).format.repeats(depth);
    let run = fiber.run.filter(|_| once && cx.kind(a, depth).continues_chain())?;
    let (of, view) = ((a, depth), View::default());
    Some(List { of, begin, end: run.open?, repeats: false, view, run: Some(run), bucket_index: None })
}

/// The bucket index of the list that an access opens next, if it has one that may be used here: with the list's extent, if the loop's
/// range may begin behind it; none if the loop goes beyond the extent.
pub(super) fn bucket_index(cx: &Context, scope: &Scope, a: AccessId) -> Option<BucketIndex> {
    let first = scope.fiber(a).depth == 0 && scope.block(a).is_none();
    if !first || !cx.prepared.bucket_indices.contains(&a) {
        return None;
    }
    let Some((level, w)) = access::next_var(cx, scope, a) else { return Some(BucketIndex { extent: None }) };
    if scope.is_loose(w) || access::is_of_asked(cx, scope, w) {
        return None;
    }
    let extent = access::is_of_stray(cx, scope, w).then(|| extent(cx, (a, level)));
    Some(BucketIndex { extent })
}

/// A sequence expression as a condition; `present` gives the condition that a list has an entry.
pub(super) fn holds(cx: &Facts, s: &Sequence, present: &impl std::ops::Fn(AccessId) -> Sym) -> Sym {
    let constant = |c: bool| cx.symbols.bool(c);
    let mut and = |a, b| cx.symbols.and(a, b);
    let mut or = |a, b| cx.symbols.or(a, b);
    s.fold(&mut |a| present(a), &constant, &mut and, &mut or)
}

/// The value of an access whose levels are all open.
pub(super) fn load(cx: &Facts, fiber: &scope::Fiber, a: AccessId) -> Sym {
    fiber.value.unwrap_or_else(|| load_from(cx, fiber, cx.program.accesses[a.0].tensor))
}

/// The value of a tensor at a fiber whose levels are all open: the fill value where nothing is stored. The tensor has the structure of
/// the access's.
pub(super) fn load_from(cx: &Facts, fiber: &scope::Fiber, tensor: concrete::Place) -> Sym {
    let load = cx.symbols.load(Array::Values(tensor), fiber.position);
    let fill = cx.symbols.value(cx.program.tensors[tensor.0].fill);
    present(cx, fiber).map_or(load, |present| cx.symbols.select(present, load, fill))
}
