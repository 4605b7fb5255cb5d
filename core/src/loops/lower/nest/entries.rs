//! Loops over the entries of one list.
//!
//! ```text
//!   for p in begin..end           a whole fiber, without repetitions, or if the destination accepts repeated coordinates
//!   p, of a view                  a window, steps, a block: by search, or by testing each entry of a short fiber
//!   p … while crd[p] = crd[q]     the positions of an entry of the level above, whose end is found by walking
//! ```

use super::{Driven, Here, Sink, placed};
use crate::iteration::Point;
use crate::loops::choose::{
    scope::Scope,
    walk::{self, Alone, Listed, Loop},
};
use crate::loops::lower::{Context, nest, nest::tentative};
use crate::loops::plan::{How, Pass, Walk};
use crate::loops::{Symbolic, Term};
use crate::notation::concrete::Index;
use crate::stream::{Arith, Compare, Domain, Entry, ListFiber, each};
use std::ops::RangeInclusive;

/// The length up to which testing each entry of a fiber takes less time than searching for the entries in view.
const SIFTED: i64 = 32;

/// The lengths of fibers that are tested for gaps: at most the number of bits of a word.
const GAPLESS: RangeInclusive<i64> = 4..=63;

/// Emits the loop over a single list: it is counted, with no comparison of coordinates, for a whole fiber without repetitions.
pub(super) fn each_entry(
    cx: &Context,
    d: &mut Symbolic,
    point: &Point,
    (v, rest): (Index, &[Index]),
    fiber: &ListFiber<Term>,
    scope: &Scope,
    sink: &Sink,
) {
    let of = of_one(cx, (v, rest), scope, sink);
    let (sifts, gapless) = (of.sifts(cx, point, known(fiber)), of.goes_in_bulk(cx, point, known(fiber)));
    let how = match (sifts, gapless) {
        (true, _) => How::Sift,
        (_, true) => How::Gapless,
        _ => How::Each,
    };
    let can = |how| how == How::Each || how == How::Sift && sifts || how == How::Gapless && gapless;
    let choose = || Walk { point: 0, how };
    let walk = cx.book.enter_if(|walk: &Walk| walk.point == 0 && can(walk.how), choose);
    each_so(cx, d, point, (v, rest), fiber, (scope, sink), walk.how);
    cx.book.leave();
}

/// The properties of a fiber that is walked alone, for the choice of its walk.
fn known(fiber: &ListFiber<Term>) -> Alone {
    let view = &fiber.view;
    let piece = view.start.is_some() && view.stride.is_none() && view.finger.is_none();
    Alone { repeats: fiber.repeats, whole: view.is_whole(), piece, open: fiber.run.is_some() }
}

/// The description of a loop over a single list, for the choice of its walk.
fn of_one<'a>(cx: &Context, (v, rest): (Index, &'a [Index]), scope: &'a Scope, sink: &Sink) -> Loop<'a> {
    // The choice for a single list does not use these properties of lists.
    let list = &|_| Listed { lanes: false, repeats: true };
    Loop { rest, scope, goal: sink.goal(v), effect: nest::effect(cx, sink), list }
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

/// Emits the loop over a fiber without gaps, whose coordinates are inserted in bulk. Its body has no branch, so that each coordinate gets
/// a value.
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
    let scratch = scratch.said(d, &from, distance).expect("it was asked whether there is a set");
    let sink = Sink::Scatter { nest, scratch: &*scratch };
    d.count(&name, fiber.begin.clone(), fiber.end.clone(), &mut |d, position| {
        let further = d.arith(Arith::Sub, &position, &fiber.begin);
        let at = d.arith(Arith::Add, &first, &further);
        let entry = (Entry { position, run: None }, at);
        cx.book.under(Pass::Gapless, || come_to_entry(cx, d, point, (v, &[]), entry, scope, &sink));
        debug_assert!(d.is_straight(), "a coordinate that is inserted in bulk may have no value");
    });
}

/// Emits the loop over all entries of a fiber: each is stored, and kept if it is in view.
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
        let (at, kept, entry) = (d.place(&at), d.place(&kept), (cx.sym(d.place(&position)), None));
        let here = vec![Here { access: a, entry, present: None }];
        tentative::store_tentatively(cx, d, (scope, sink), point, (v, at, here), kept);
    });
}

/// Emits the loop over the entries of a fiber that are in view.
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
    if walk::is_single(cx, scope, a) && fiber.view.is_whole() {
        return fiber.single(d, &mut come_to);
    }
    let name = format!("p_{}", cx.program.tensor(a).name);
    let one_by_one = of_one(cx, (v, rest), scope, sink).one_by_one(cx, point, known(fiber));
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
    let (at, entry) = (d.place(&at), placed(cx, d, &entry));
    let here = Here { access: point.leaders[0], entry, present: None };
    let scope = nest::come_to_entries(cx, d, scope, (v, at), [here]);
    nest::go_on(cx, d, v, rest, &point.body, scope, sink, Driven::Stored);
}
