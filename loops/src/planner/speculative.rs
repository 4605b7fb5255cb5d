//! Speculative stores: a branch on whether lists meet is unpredictable and costs more than the value.
//!
//! ```text
//!   C_vals[c] = A_vals[p] * B_vals[q]       at every step
//!   c = c + i64(A_crd[p] == B_crd[q])       kept where both have an entry
//! ```
//!
//! The values take a few instructions to compute, and are appended to the last list, which has room for one more.

use super::{
    Context,
    arrive::{self, Forall, Here, follow},
    choice,
    destination::Destination,
    output::Arrival,
    value,
};
use crate::choose::{coordinate, scope::Scope, symbol::Sym};
use crate::plan::{Block, Driver, Op};
use fiberloom_core::algebra::Type;
use fiberloom_core::iteration::Point;
use fiberloom_core::notation::concrete::Index;

/// Plans the loop over an intersection that stores a value at every step, and keeps it where the lists meet.
pub(super) fn store_always(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    meets(cx, b, f, point, &mut |b, at, here, kept| {
        store_speculatively(cx, b, (f.scope(), f.frame.destination), point, (f.frame.v, at, here), kept);
    });
}

/// Steps through the lists of an intersection. `body` gets a coordinate of the first list, the current entries of lists, and the
/// condition that they meet there. Two lists are intersected by blocks, stepping through the left one; stepping through the right one
/// would be correct, too.
pub(super) fn meets(
    cx: &Context,
    b: &mut Block,
    f: &Forall,
    point: &Point,
    body: &mut impl FnMut(&mut Block, Sym, Vec<Here>, Sym),
) {
    let (at, met) = (f.coordinate(cx), cx.symbols.read("met", Type::Bool));
    match point.leaders[..] {
        [first, second] if f.fibers[&first].has_lanes() && f.fibers[&second].has_lanes() => {
            let entries = [first, second].map(|a| f.entry(cx, a));
            let here = [first, second].into_iter().zip(entries);
            let here = here.map(|(access, entry)| Here { access, entry: entry.positions(), present: None }).collect();
            let body = Block::of(|b| body(b, at, here, met));
            b.push(Op::MeetLanes { lists: [f.lists[&first], f.lists[&second]], at, met, entries, body });
        }
        _ => {
            let body = Block::of(|b| {
                let here = arrive::resting(cx, b, f, &point.leaders);
                body(b, at, here, met);
            });
            b.push(Op::Meet { lists: f.names(&point.leaders), at, met, body });
        }
    }
}

/// Plans the loop over a list beside blocks of its follower, then the loop behind the follower's end.
pub(super) fn follow_in_lanes(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    let (leader, follower) = (point.leaders[0], point.followers[0]);
    let (at, met) = (f.coordinate(cx), cx.symbols.read("met", Type::Bool));
    let entries = [leader, follower].map(|a| f.entry(cx, a));
    let block = Block::of(|b| {
        let present = [(leader, entries[0], None), (follower, entries[1], Some(met))];
        let here = present.map(|(access, entry, present)| Here { access, entry: entry.positions(), present });
        let scope = arrive::come_to_entries(cx, b, f.scope(), (f.frame.v, at), here);
        arrive::go_on(cx, b, f.frame, &point.body, scope, Driver::Stored);
    });
    b.push(Op::MeetLanes { lists: [f.lists[&leader], f.lists[&follower]], at, met, entries, body: block });
    let body = cx.simplify.replace(&point.body, &|x| (x == follower).then(|| cx.fill(x)));
    arrive::alone_in_loop(cx, b, f, &Point { body, ..point.clone() });
}

/// Plans the loop over a list that stores a value at each entry, and keeps it if the followers' entries satisfy the point's condition.
pub(super) fn store_decided(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    let at = f.coordinate(cx);
    let body = Block::of(|b| {
        let mut here = arrive::resting(cx, b, f, &point.leaders);
        for &a in &point.followers {
            b.push(Op::ComeNear { list: f.lists[&a], at });
            here.push(follow(cx, b, f, a, at));
        }
        let kept = arrive::enough(cx, point, &here);
        store_speculatively(cx, b, (f.scope(), f.frame.destination), point, (f.frame.v, at, here), kept);
    });
    b.push(Op::Along { list: f.lists[&point.leaders[0]], at, body });
}

/// Stores the value at a coordinate speculatively: it is kept where `kept` holds.
pub(super) fn store_speculatively(
    cx: &Context,
    b: &mut Block,
    (scope, destination): (&Scope, &Destination),
    point: &Point,
    (v, at, here): (Index, Sym, Vec<Here>),
    kept: Sym,
) {
    let (output, insertion) = destination.appends(v).expect("speculative stores append");
    let mut scope = scope.clone();
    choice::bind(cx, b, &mut scope, v, at);
    for Here { access, entry, present } in here {
        scope.walk(access, entry, present);
    }
    let searched = value::locate(cx, b, &mut scope, &point.body, false);
    debug_assert!(searched.is_empty(), "speculative values need no search");
    let at = output.next_var(insertion).and_then(|w| coordinate::of(cx, &scope, w)).expect("its loops are bound");
    let value = value::value(cx, b, &scope, &point.body);
    let arrival = Arrival { at, driver: Driver::Stored, positions: vec![] };
    output.visit(cx, b, insertion, arrival, |b, insertion| output.store_if(b, &insertion, value, kept));
}
