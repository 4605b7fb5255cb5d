//! The entries of one list.
//!
//! ```text
//!   for p in begin..end           a whole fiber, without repetitions, or if the sink accepts a coordinate again
//!   p, of a view                  a window, steps, a block: by search, or by testing each entry of a short fiber
//!   p … while crd[p] = crd[q]     the positions of an entry of the level above, whose end is found by walking
//! ```

use super::{Driven, Here, Sink, placed};
use crate::iteration::Point;
use crate::loops::choose::{access, along, condition, scope::Scope};
use crate::loops::lower::Context;
use crate::loops::lower::nest;
use crate::loops::lower::nest::tentative;
use crate::loops::plan::{How, Pass, Walk};
use crate::loops::{Stmt, Symbolic, Term};
use crate::notation::concrete::{AccessId, Index, Nest};
use crate::stream::{Arith, Compare, Domain, Entry, ListFiber, each};
use std::ops::RangeInclusive;

/// Longest fiber of which testing each entry takes less time than searching for those in view.
const SIFTED: i64 = 32;

/// Lengths of fibers that are tested for gaps: no longer than a word has bits.
const GAPLESS: RangeInclusive<i64> = 4..=63;

/// Whether the block contains a branch or a loop.
fn has_conditions(block: &[Stmt]) -> bool {
    block.iter().any(|stmt| stmt.blocks().next().is_some())
}

/// The loop over a single list: counted, with no comparison of coordinates, if it is a whole fiber in which none
/// repeats.
pub(super) fn each_entry(
    cx: &Context,
    d: &mut Symbolic,
    point: &Point,
    (v, rest): (Index, &[Index]),
    fiber: &ListFiber<Term>,
    scope: &Scope,
    sink: &Sink,
) {
    let sifts = sifts(cx, scope, sink, (point, fiber), (v, rest));
    let gapless = may_be_gapless(cx, (v, rest), point, fiber, scope, sink);
    let how = || match gapless && is_unconditional(cx, d, point, v, fiber, (scope, sink)) {
        _ if sifts => How::Sift,
        true => How::Gapless,
        false => How::Each,
    };
    let can = |how| how == How::Each || how == How::Sift && sifts || how == How::Gapless && gapless;
    let choose = || Walk { point: 0, how: how() };
    let walk = cx.book.enter_if(|walk: &Walk| walk.point == 0 && can(walk.how), choose);
    each_so(cx, d, point, (v, rest), fiber, (scope, sink), walk.how);
    cx.book.leave();
}

fn each_so(
    cx: &Context,
    d: &mut Symbolic,
    point: &Point,
    (v, rest): (Index, &[Index]),
    fiber: &ListFiber<Term>,
    (scope, sink): (&Scope, &Sink),
    how: How,
) {
    if how == How::Sift {
        let length = d.arith(Arith::Sub, &fiber.end, &fiber.begin);
        let most = d.int(SIFTED);
        let short = d.compare(Compare::Le, &length, &most);
        let sift = &mut |d: &mut Symbolic| cx.book.under(Pass::Sifting, || sift(cx, d, (point, fiber), v, scope, sink));
        return d.branch(short, sift, &mut |d| seen(cx, d, point, (v, rest), fiber, scope, sink));
    }
    if how == How::Gapless {
        let distance = distance(d, fiber);
        let no_gap = is_gapless(d, fiber, &distance);
        let all = &mut |d: &mut Symbolic| gapless(cx, d, point, v, (fiber, &distance), scope, sink);
        return d.branch(no_gap, all, &mut |d| seen(cx, d, point, (v, rest), fiber, scope, sink));
    }
    seen(cx, d, point, (v, rest), fiber, scope, sink);
}

/// Whether the body of a fiber without gaps is: every coordinate is inserted in bulk, so it has to be.
fn is_unconditional(
    cx: &Context,
    d: &Symbolic,
    point: &Point,
    v: Index,
    fiber: &ListFiber<Term>,
    (scope, sink): (&Scope, &Sink),
) -> bool {
    let (mut d, steps) = (d.aside(), cx.book.steps_here());
    let distance = distance(&mut d, fiber);
    let made = d.block(|d| gapless(cx, d, point, v, (fiber, &distance), scope, sink));
    cx.book.forget_from(steps);
    !made.iter().any(|stmt| matches!(stmt, Stmt::For { body, .. } if has_conditions(body)))
}

/// Whether a fiber without gaps can be inserted in bulk: its coordinates go to a set, and its values to a workspace
/// without a test.
fn may_be_gapless(
    cx: &Context,
    (v, rest): (Index, &[Index]),
    point: &Point,
    fiber: &ListFiber<Term>,
    scope: &Scope,
    sink: &Sink,
) -> bool {
    let Sink::Scatter { nest: nest @ Nest { places: None, .. }, scratch } = sink else { return false };
    // The end of a run is unknown before it is walked.
    let ends = fiber.is_counted() && fiber.run.is_none();
    ends && scratch.has_set(v, nest.fold.is_some()) && nest::is_flat(cx, scope, point, rest)
}

/// The distance in positions from a fiber's first entry to its last.
fn distance(d: &mut Symbolic, fiber: &ListFiber<Term>) -> Term {
    let length = d.arith(Arith::Sub, &fiber.end, &fiber.begin);
    let one = d.int(1);
    let distance = d.arith(Arith::Sub, &length, &one);
    d.snapshot("distance", distance)
}

/// The condition that a fiber's length is in [`GAPLESS`] and its coordinates are consecutive.
fn is_gapless(d: &mut Symbolic, fiber: &ListFiber<Term>, distance: &Term) -> Term {
    let [least, most] = [*GAPLESS.start(), *GAPLESS.end()].map(|length| d.int(length - 1));
    let some = d.compare(Compare::Le, &least, distance);
    d.and(some, &|d| {
        let few = d.compare(Compare::Le, distance, &most);
        d.and(few, &|d| {
            let last = d.arith(Arith::Add, &fiber.begin, distance);
            let (first, last) = (d.load(fiber.crd, &fiber.begin), d.load(fiber.crd, &last));
            let far = d.arith(Arith::Sub, &last, &first);
            d.compare(Compare::Eq, &far, distance)
        })
    })
}

/// The loop over a fiber without gaps, its coordinates inserted in bulk.
fn gapless(
    cx: &Context,
    d: &mut Symbolic,
    point: &Point,
    v: Index,
    (fiber, distance): (&ListFiber<Term>, &Term),
    scope: &Scope,
    sink: &Sink,
) {
    let Sink::Scatter { nest, scratch } = sink else { unreachable!("it was asked what may have no gap") };
    let name = format!("p_{}", cx.program.tensor(point.leaders[0]).name);
    let first = d.load(fiber.crd, &fiber.begin);
    let first = fiber.view.seen(d, first);
    let first = d.snapshot("first", first);
    let (from, distance) = (d.place(&first), d.place(distance));
    let scratch = scratch.said(d, &from, distance);
    let sink = Sink::Scatter { nest, scratch: &scratch };
    d.count(&name, fiber.begin.clone(), fiber.end.clone(), &mut |d, position| {
        let further = d.arith(Arith::Sub, &position, &fiber.begin);
        let at = d.arith(Arith::Add, &first, &further);
        let entry = (Entry { position, run: None }, at);
        cx.book.under(Pass::Gapless, || come_to_entry(cx, d, point, (v, &[]), entry, scope, &sink));
    });
}

/// Whether each entry of a short fiber is tested, in the place of a search for the first one in view. Values must
/// be cheap and appended to the last list: each is written, and kept if it is in view. Nothing else may be read at
/// a coordinate out of view.
fn sifts(
    cx: &Context,
    scope: &Scope,
    sink: &Sink,
    (point, fiber): (&Point, &ListFiber<Term>),
    (v, rest): (Index, &[Index]),
) -> bool {
    let view = &fiber.view;
    // An entry of several positions has a level below that is opened: its value is not flat.
    let piece = view.start.is_some() && view.stride.is_none() && view.finger.is_none();
    let open = |a: &AccessId| point.leaders.contains(a) || access::next_var(cx, scope, *a).is_none();
    let Sink::Store { nest: Nest { places: None, fold: None, .. }, .. } = sink else { return false };
    let last = sink.appends(v).is_some_and(|(output, slot)| output.appends_last(slot));
    // Levels below must be at coordinates that are bound already: those out of view have no valid one.
    let below = |a: &AccessId| {
        let access = &cx.program.accesses[a.0];
        let depths = scope.fiber(*a).depth + 1..access.vars.len();
        depths.into_iter().all(|l| along::coordinate(cx, scope, cx.program.level_var(access, l)).is_some())
    };
    let open = point.body.accesses().iter().all(open) && point.leaders.iter().all(below);
    piece && last && open && nest::is_flat(cx, scope, point, rest)
}

/// The loop over all entries of a fiber: each is written, and kept if it is in view.
fn sift(
    cx: &Context,
    d: &mut Symbolic,
    (point, fiber): (&Point, &ListFiber<Term>),
    v: Index,
    scope: &Scope,
    sink: &Sink,
) {
    let a = point.leaders[0];
    let (begin, end) = (fiber.begin.clone(), fiber.end.clone());
    d.count(&format!("q_{}", cx.program.tensor(a).name), begin, end, &mut |d, position| {
        let stored = d.load(fiber.crd, &position);
        let stored = d.snapshot("stored", stored);
        let kept = fiber.view.sees(d, &stored).expect("a piece of it");
        let at = fiber.view.seen(d, stored);
        let (at, kept, entry) = (d.place(&at), d.place(&kept), (d.place(&position), None));
        let here = vec![Here { access: a, entry, present: None }];
        tentative::store_tentatively(cx, d, (scope, sink), point, (v, at, here), kept);
    });
}

/// The loop over the entries of a fiber that are in view.
fn seen(
    cx: &Context,
    d: &mut Symbolic,
    point: &Point,
    (v, rest): (Index, &[Index]),
    fiber: &ListFiber<Term>,
    scope: &Scope,
    sink: &Sink,
) {
    let a = point.leaders[0];
    let mut come_to = |d: &mut Symbolic, entry: Entry<Term>, at: Term| {
        come_to_entry(cx, d, point, (v, rest), (entry, at), scope, sink);
    };
    if is_single(cx, scope, a) && fiber.view.is_whole() {
        return fiber.single(d, &mut come_to);
    }
    let name = format!("p_{}", cx.program.tensor(a).name);
    let one_by_one = one_by_one(cx, scope, sink, (point, fiber), (v, rest));
    let positions = one_by_one.then(|| ListFiber { repeats: false, ..fiber.clone() });
    each(d, &name, positions.as_ref().unwrap_or(fiber), &mut come_to);
}

/// Emits the body at an entry of the leading list.
fn come_to_entry(
    cx: &Context,
    d: &mut Symbolic,
    point: &Point,
    (v, rest): (Index, &[Index]),
    (entry, at): (Entry<Term>, Term),
    scope: &Scope,
    sink: &Sink,
) {
    let at = d.snapshot(&cx.program.vars[v.0].name, at);
    let (at, entry) = (d.place(&at), placed(d, &entry));
    let here = Here { access: point.leaders[0], entry, present: None };
    let scope = nest::come_to_entries(cx, d, scope, (v, at), [here]);
    nest::go_on(cx, d, v, rest, &point.body, scope, sink, Driven::Stored);
}

/// Whether an access's next fiber has exactly one entry, at the position of the level above.
fn is_single(cx: &Context, scope: &Scope, a: AccessId) -> bool {
    let fiber = scope.fiber(a);
    let single = cx.kind(a, fiber.depth).continues_chain();
    single && fiber.run.is_none() && fiber.present.is_none() && scope.block(a).is_none()
}

/// Whether entries of several positions are walked position by position, as if each were an entry: the sink accepts
/// the same coordinate again at once, and reading the others again costs nothing.
fn one_by_one(
    cx: &Context,
    scope: &Scope,
    sink: &Sink,
    (point, fiber): (&Point, &ListFiber<Term>),
    (v, rest): (Index, &[Index]),
) -> bool {
    let a = point.leaders[0];
    let (access, below) = (&cx.program.accesses[a.0], scope.fiber(a).depth + 1);
    if cx.program.tensor(a).format.levels.get(below).is_none_or(|kind| !kind.continues_chain()) {
        return false;
    }
    let format = &cx.program.tensor(a).format;
    let inside = !format.repeats(below) && rest == [cx.program.level_var(access, below)];
    let minds = match sink {
        Sink::Store { .. } => sink.appends(v).is_some_and(|(output, slot)| !output.chained(slot.level)),
        Sink::Scalar { .. } | Sink::Scatter { .. } | Sink::Tally(_) => false,
        Sink::Bound { .. } | Sink::Around { .. } => true,
    };
    let read = |b: AccessId| b == a || access::is_located(cx, b, scope.fiber(b).depth);
    let positions = fiber.repeats && fiber.view.is_whole();
    positions && inside && !minds && !condition::has_loops(&point.body) && point.body.accesses().into_iter().all(read)
}
