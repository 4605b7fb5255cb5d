//! Values that are written where they may not stay, since a branch would cost more: nobody can predict where lists meet.
//!
//! ```text
//!   C_vals[c] = A_vals[p] * B_vals[q]       at every step
//!   c = c + i64(A_crd[p] == B_crd[q])       kept where both are
//! ```
//!
//! They take a few instructions, and go right to the end of a list, which has room for one more.

use super::{Context, Driven, Expr, Forall, Here, Sink};
use crate::iteration::Point;
use crate::loops::lower::fiber::{Scope, placed};
use crate::notation::concrete::{AccessId, Index, Nest};
use crate::stream::{Domain, Entry, List, Symbolic, Term, meet, meet_lanes};

impl Context<'_> {
    /// Whether an intersection's values are so cheap, and go right to the end of a list, that they are better written
    /// always and kept where the lists meet than written behind a branch, which is hard to predict.
    pub(super) fn tentative(&self, scope: &Scope, sink: &Sink, point: &Point, (v, rest): (Index, &[Index])) -> bool {
        let Sink::Store { nest: Nest { places: None, fold: None, .. }, .. } = sink else { return false };
        let last = sink.appends(v).is_some_and(|(output, slot)| output.appends_last(slot));
        let steps = !point.leaders.iter().any(|a| self.gallops(scope, *a));
        last && steps && self.is_flat(scope, point, rest)
    }

    /// Whether an intersection with lists of which one must be there, and which follow, is such: nobody can say whether one is, nor
    /// how far each must be brought.
    pub(super) fn decides_tentatively(&self, f: &Forall, point: &Point) -> bool {
        let plain = |a: &AccessId| self.protocol(f.scope(), *a).is_none() && !f.lists[a].repeats();
        let decide = !point.beside.lists().is_empty() && point.followers.iter().all(plain);
        decide && self.tentative(f.scope(), f.sink, point, (f.v, f.rest))
    }

    /// An intersection whose values are written at every step, and kept where the lists meet.
    pub(super) fn store_always(&self, d: &mut Symbolic, f: &Forall, point: &Point) {
        self.meets(d, f, point, &mut |d, at, here, kept| {
            let (at, kept) = (d.place(at), d.place(kept));
            self.store_tentatively(d, (f.scope(), f.sink), point, (f.v, at, here), kept);
        });
    }

    /// Steps through the lists of an intersection, told of a coordinate of the first, where lists rest, and whether they meet there.
    /// Two lists meet by blocks; which of two is stepped through does not matter, so that it is the left one.
    pub(super) fn meets(
        &self,
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
                        entry: placed(d, entry),
                        present: None,
                    };
                    let here = point.leaders.iter().zip(&entries).map(here).collect();
                    body(d, at, here, met);
                });
            }
            _ => meet(d, &lists, &mut |d, at, met| {
                let here = self.resting(d, f, &point.leaders);
                body(d, at, here, met);
            }),
        }
    }

    /// Whether beside a list goes one other, whose entries may be compared several at once with each of the first's: what is done
    /// there is little enough to stand twice, as nothing is behind the other's end.
    pub(super) fn has_follower_in_lanes(&self, f: &Forall, point: &Point) -> bool {
        let [leader] = point.leaders[..] else { return false };
        let [follower] = point.followers[..] else { return false };
        let lanes = [leader, follower].iter().all(|a| f.lists[a].has_lanes());
        let plain = self.protocol(f.scope(), follower).is_none() && !self.gallops(f.scope(), follower);
        let one = point.beside.lists().is_empty() && point.body.accesses().contains(&follower);
        lanes && plain && one && f.rest.is_empty() && self.is_open(f.scope(), point)
    }

    /// The entries of a list, beside blocks of one that follows, and behind its end.
    pub(super) fn follow_in_lanes(&self, d: &mut Symbolic, f: &Forall, point: &Point) {
        let (a, b) = (point.leaders[0], point.followers[0]);
        let (leader, follower) = (&f.lists[&a], &f.lists[&b]);
        meet_lanes(d, leader, follower, &mut |d, at, entries, met| {
            let (at, met) = (d.place(at), d.place(met));
            let here = [(a, &entries[0], None), (b, &entries[1], Some(met))].map(|(access, entry, present)| Here {
                access,
                entry: placed(d, entry),
                present,
            });
            let scope = self.come_to_entries(d, f.scope(), (f.v, at), here);
            self.go_on(d, f.v, f.rest, &point.body, scope, f.sink, Driven::Stored);
        });
        let body = self.simplify.replace(&point.body, &|x| (x == b).then(|| self.fill(x)));
        self.alone(d, f, &Point { body, ..point.clone() });
    }

    /// The entries of a list at which values are written, and kept where one of those that follow is too.
    pub(super) fn store_decided(&self, d: &mut Symbolic, f: &Forall, point: &Point) {
        let leader = &f.lists[&point.leaders[0]];
        d.repeat(&|d| leader.valid(d), &mut |d| {
            let at = leader.index(d);
            let at = d.snapshot("at", at);
            let mut here = self.resting(d, f, &point.leaders);
            for &a in &point.followers {
                f.lists[&a].come_near(d, &at);
                here.push(self.follow(d, f, a, &at));
            }
            let (at, kept) = (d.place(&at), self.enough(point, &here));
            self.store_tentatively(d, (f.scope(), f.sink), point, (f.v, at, here), kept);
            leader.next(d);
        });
    }

    /// Writes the value at a coordinate, to stay where it is to be kept.
    pub(super) fn store_tentatively(
        &self,
        d: &mut Symbolic,
        (scope, sink): (&Scope, &Sink),
        point: &Point,
        (v, at, here): (Index, Expr, Vec<Here>),
        kept: Expr,
    ) {
        let (output, slot) = sink.appends(v).expect("tentative stores append");
        let mut scope = scope.clone();
        for Here { access, entry, present } in here {
            scope.descend(access, entry, present);
        }
        scope.bind(v, at);
        let searched = self.locate(d, &mut scope, &point.body, false);
        debug_assert!(searched.is_empty(), "tentative values need no search");
        let at = output.next_var(slot).and_then(|w| self.coordinate(&scope, w)).expect("its loops are bound");
        let value = self.value(d, &scope, &point.body);
        output.visit(d, slot, at, Driven::Stored, &mut |d, slot| {
            output.store_if(d, &slot, value.clone(), kept.clone());
        });
    }
}
