//! Speculative stores: a branch on whether lists meet is unpredictable and costs more than the value.
//!
//! ```text
//!   C_vals[c] = A_vals[p] * B_vals[q]       at every step
//!   c = c + i64(A_crd[p] == B_crd[q])       kept where both have an entry
//! ```
//!
//! The values take a few instructions to compute, and are appended to the last list, which has room for one more.

use super::{Context, Driven, Expr, Forall, Here, Sink};
use crate::iteration::Point;
use crate::loops::choose::scope::Scope;
use crate::loops::lower::{choice, coordinate, fiber, fiber::placed, nest, nest::dense};
use crate::loops::{Symbolic, Term};
use crate::notation::concrete::{AccessId, Index};
use crate::stream::{Domain, Entry, List, meet, meet_lanes};

/// Emits the loop over an intersection that stores a value at every step, and keeps it where the lists meet.
pub(super) fn store_always(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point) {
    meets(cx, d, f, point, &mut |d, at, here, kept| {
        let (at, kept) = (d.place(at), d.place(kept));
        store_tentatively(cx, d, (f.scope(), f.sink), point, (f.v, at, here), kept);
    });
}

/// Steps through the lists of an intersection. `body` gets a coordinate of the first list, the current entries of lists, and the
/// condition that they meet there. Two lists are intersected by blocks, stepping through the left one; stepping through the right one
/// would be correct, too.
pub(super) fn meets(
    cx: &Context,
    d: &mut Symbolic,
    f: &Forall,
    point: &Point,
    body: &mut impl FnMut(&mut Symbolic, &Term, Vec<Here>, &Term),
) {
    let lists: Vec<&List<Term>> = point.leaders.iter().map(|a| &f.lists[a]).collect();
    match lists[..] {
        [first, second] if first.has_lanes() && second.has_lanes() => {
            meet_lanes(d, first, second, &mut |d, at, entries, met| {
                let here = |(access, entry): (&AccessId, &Entry<Term>)| Here {
                    access: *access,
                    entry: placed(cx, d, entry),
                    present: None,
                };
                let here = point.leaders.iter().zip(&entries).map(here).collect();
                body(d, at, here, met);
            });
        }
        _ => meet(d, &lists, &mut |d, at, met| {
            let here = nest::resting(cx, d, f, &point.leaders);
            body(d, at, here, met);
        }),
    }
}

/// Emits the loop over a list beside blocks of its follower, then the loop behind the follower's end.
pub(super) fn follow_in_lanes(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point) {
    let (a, b) = (point.leaders[0], point.followers[0]);
    let (leader, follower) = (&f.lists[&a], &f.lists[&b]);
    meet_lanes(d, leader, follower, &mut |d, at, entries, met| {
        let (at, met) = (d.place(at), d.place(met));
        let here = [(a, &entries[0], None), (b, &entries[1], Some(met))].map(|(access, entry, present)| Here {
            access,
            entry: placed(cx, d, entry),
            present,
        });
        let scope = nest::come_to_entries(cx, d, f.scope(), (f.v, at), here);
        nest::go_on(cx, d, f.v, f.rest, &point.body, scope, f.sink, Driven::Stored);
    });
    let body = cx.simplify.replace(&point.body, &|x| (x == b).then(|| cx.fill(x)));
    nest::alone_in_loop(cx, d, f, &Point { body, ..point.clone() });
}

/// Emits the loop over a list that stores a value at each entry, and keeps it if the followers' entries satisfy the point's condition.
pub(super) fn store_decided(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point) {
    let leader = &f.lists[&point.leaders[0]];
    d.repeat(&|d| leader.valid(d), &mut |d| {
        let at = leader.index(d);
        let at = d.snapshot("at", at);
        let mut here = nest::resting(cx, d, f, &point.leaders);
        for &a in &point.followers {
            f.lists[&a].come_near(d, &at);
            here.push(dense::follow(cx, d, f, a, &at));
        }
        let (at, kept) = (d.place(&at), nest::enough(point, &here));
        store_tentatively(cx, d, (f.scope(), f.sink), point, (f.v, at, here), kept);
        leader.next(d);
    });
}

/// Stores the value at a coordinate speculatively: it is kept where `kept` holds.
pub(super) fn store_tentatively(
    cx: &Context,
    d: &mut Symbolic,
    (scope, sink): (&Scope, &Sink),
    point: &Point,
    (v, at, here): (Index, Expr, Vec<Here>),
    kept: Expr,
) {
    let (output, slot) = sink.appends(v).expect("tentative stores append");
    let mut scope = scope.clone();
    choice::bind(cx, d, &mut scope, v, at);
    for Here { access, entry, present } in here {
        scope.walk(access, entry, present.map(|present| cx.sym(present)));
    }
    let searched = fiber::locate(cx, d, &mut scope, &point.body, false);
    debug_assert!(searched.is_empty(), "tentative values need no search");
    let at = output.next_var(slot).and_then(|w| coordinate::of(cx, &scope, w)).expect("its loops are bound");
    let value = fiber::value(cx, d, &scope, &point.body);
    output.visit(d, slot, at, Driven::Stored, &mut |d, slot| {
        output.store_if(d, &slot, value.clone(), kept.clone());
    });
}
