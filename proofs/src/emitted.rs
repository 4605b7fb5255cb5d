//! The iterators that are emitted, read as indexed streams: the same laws, the same theorem.
//!
//! ```text
//!   core::stream::List   next, seek(i)      ──▶  skip(own order) = next;  skip(i, r) = seek(i + r)
//!   core::stream::merge  a loop over lists  ──▶  the stream of its turns: ready where its body finds an entry
//!                                                │ evaluate
//!                                                ▼
//!                          ⟦x · y⟧ or ⟦x + y⟧ of the lists' streams, by the operators of `semantics::stream`
//! ```
//!
//! An entry is named by its positions in its fiber, so that evaluations can be compared in ℕ⟨X⟩. An entry of a repeating
//! list is the sum of its positions' names: they are the fiber of the level below.

use crate::choose::every;
use crate::merge::{INTERSECT, LEAP, LEAP_BESIDE, MEET, Merge, Of, UNITE_TWO, Visit, WIDE, WIDE_WHILE_FIRST, visits};
use crate::stream::{EXTENT, Fiber, LIST, LISTS, Operations};
use crate::wrong::Wrong;
use fiberloom_loops::stream::{Concrete, List};
use fiberloom_semantics::stream::{
    Bound, END, LAWS, Law, Level, Nested, Polynomial, Relation, Schema, Semiring, Stream, Typed,
};
use std::ops::Range;
use std::rc::Rc;

/// A list that rests at a position. Its state lives in a domain; that of a list which was opened where it rests is the
/// same.
#[derive(Clone, Copy)]
struct Resting {
    fiber: Fiber,
    at: i64,
    ops: Operations,
    /// Added to positions, to tell the lists' names apart.
    names: u32,
}

impl Resting {
    fn ask<T>(&self, f: impl FnOnce(&List<i64>, &mut Concrete) -> T) -> T {
        let arrays = [self.fiber.array()];
        let mut d = Concrete::new(&arrays, 100);
        let list = List::open(&mut d, "p", self.fiber.from(self.at));
        let answer = f(&list, &mut d);
        assert_eq!(d.fault(), None, "at {} of {:?}", self.at, self.fiber);
        answer
    }
}

/// The sum of the names of positions.
fn names(first: u32, positions: Range<usize>) -> Polynomial {
    let name = |p: usize| Polynomial::name(first + p as u32);
    positions.fold(Polynomial::zero(), |sum, p| sum.plus(&name(p)))
}

impl Stream<Polynomial> for Resting {
    fn state(&self) -> Vec<i64> {
        vec![self.at]
    }
    fn index(&self) -> i64 {
        self.ask(|l, d| (self.ops.index_or)(l, d, END))
    }
    fn ready(&self) -> bool {
        self.ask(|l, d| l.valid(d))
    }
    fn value(&self) -> Nested<Polynomial> {
        let positions = self.ask(|l, d| {
            let entry = l.entry(d);
            let end = entry.run.map_or(entry.position + 1, |run| run.end(d));
            entry.position as usize..end as usize
        });
        Nested::Value(names(self.names, positions))
    }
    fn skip(&self, to: Bound) -> Level<Polynomial> {
        let at = self.ask(|l, d| {
            if self.ready() && to == self.order() {
                (self.ops.next)(l, d);
            } else {
                (self.ops.seek)(l, d, to.0.saturating_add(to.1 as i64));
            }
            l.entry(d).position
        });
        Rc::new(Resting { at, ..*self })
    }
}

/// The turns of a loop: a stream whose skip takes turn after turn, at least one where it must move at all.
struct Turns {
    /// Index, and value where the loop's body finds one.
    turns: Rc<[(i64, Option<Polynomial>)]>,
    at: usize,
}

impl Stream<Polynomial> for Turns {
    fn state(&self) -> Vec<i64> {
        vec![self.at as i64]
    }
    fn index(&self) -> i64 {
        self.turns.get(self.at).map_or(END, |turn| turn.0)
    }
    fn ready(&self) -> bool {
        self.turns.get(self.at).is_some_and(|turn| turn.1.is_some())
    }
    fn value(&self) -> Nested<Polynomial> {
        Nested::Value(self.turns[self.at].1.clone().expect("a ready turn"))
    }
    fn skip(&self, to: Bound) -> Level<Polynomial> {
        let further = self.turns.iter().skip(self.at + 1).position(|turn| turn.0 >= to.0);
        let further = further.map_or(self.turns.len(), |n| self.at + 1 + n);
        let at = if self.order() > to { self.at } else { further };
        Rc::new(Turns { turns: self.turns.clone(), at })
    }
}

fn typed(stream: impl Stream<Polynomial> + 'static) -> Typed<Polynomial> {
    Typed { ty: vec![Some('i')], stream: Nested::Stream(Rc::new(stream)) }
}

fn schema() -> Schema {
    [('i', EXTENT as i64)].into()
}

fn list(fiber: &Fiber, ops: Operations, names: u32) -> Typed<Polynomial> {
    typed(Resting { fiber: *fiber, at: 1, ops, names })
}

/// All laws: those of the paper, and the two of streams that are merged.
const ALL: [Law; 6] =
    [Law::Terminates, Law::Monotone, Law::StrictlyMonotone, Law::Lawful, Law::Settled, Law::SkipIsRepeatedNext];

/// Bounds: fibers of at most 4 positions below 6, repeating or not; every state, every skip.
#[test]
fn lists_are_lawful_settled_streams() {
    every(|c| {
        let fiber = Fiber::choose(c);
        let mut wanted = Relation::zero();
        fiber.entries().for_each(|(i, positions)| wanted.add(&[i], &names(0, positions)));
        for ops in LISTS {
            let q = list(&fiber, ops, 0);
            assert_eq!(Law::broken(&ALL, &q, &schema()), [], "{fiber:?}");
            assert_eq!(q.evaluate(), wanted, "{fiber:?}");
        }
    });
}

/// Lists, read as streams, that are wrong in one thing each; and a stream that waits. Each law of the paper, and each of merged
/// streams, catches one; on the same data.
pub fn wrong() -> Vec<Wrong> {
    let said = |broken: Vec<Law>| broken.into_iter().map(|law| format!("{law:?}")).collect::<Vec<_>>();
    let halved = Operations { index_or: |l, d, i| if l.valid(d) { l.index(d) / 2 } else { i }, ..LIST };
    let mirrored = Operations { index_or: |l, d, i| if l.valid(d) { 5 - l.index(d) } else { i }, ..LIST };
    let lists = [
        ("coordinates are mirrored", mirrored),
        ("coordinates are halved", halved),
        ("next rests", Operations { next: |_, _| {}, ..LIST }),
        ("seek goes beyond", Operations { seek: |l, d, i| l.seek(d, &i.saturating_add(1)), ..LIST }),
        ("seek falls short", Operations { seek: |l, d, i| l.seek(d, &(i - 1)), ..LIST }),
        ("seek rests", Operations { seek: |_, _, _| {}, ..LIST }),
    ];
    let of = |(what, ops)| {
        Wrong::on_all("a list as a stream", what, |c| {
            said(Law::broken(&ALL, &list(&Fiber::choose(c), ops, 0), &schema()))
        })
    };
    let waiting = || typed(Turns { turns: [(1, None)].into(), at: 0 });
    let waits =
        Wrong::on_all("turns as a stream", "a turn finds nothing", |_| said(Law::broken(&ALL, &waiting(), &schema())));
    lists.into_iter().map(of).chain([waits]).collect()
}

/// A loop's turns as a stream.
fn turns(merge: &Merge, fibers: &[Fiber]) -> Typed<Polynomial> {
    let visits = visits(merge, fibers).unwrap_or_else(|broken| panic!("{broken} on {fibers:?}"));
    let turn = |visit: &Visit| {
        let of = |n: usize| visit.entries[n].clone().map(|run| names(100 * n as u32, run));
        let values: Vec<_> = (0..fibers.len()).map(of).collect();
        (visit.at, merge.of.value(&values))
    };
    typed(Turns { turns: visits.iter().map(turn).collect(), at: 0 })
}

/// What `semantics::stream` makes of the lists' streams.
fn operator(of: Of, lists: Vec<Typed<Polynomial>>) -> Typed<Polynomial> {
    let mut lists = lists.into_iter();
    let first = lists.next().expect("a list");
    match of {
        Of::All => lists.fold(first, Typed::times),
        Of::Any => lists.fold(first, Typed::plus),
        Of::FirstAndAny => first.times(lists.reduce(Typed::plus).expect("another list")),
    }
}

fn agree(merges: &[Merge], lists: usize, positions: usize, extent: usize) -> usize {
    every(|c| {
        let fibers: Vec<Fiber> = (0..lists).map(|_| Fiber::within(c, positions, extent)).collect();
        for merge in merges {
            let of_lists = fibers.iter().enumerate().map(|(n, f)| list(f, LIST, 100 * n as u32)).collect();
            let model = operator(merge.of, of_lists);
            let turns = turns(merge, &fibers);
            assert_eq!(turns.evaluate(), model.evaluate(), "{} of {fibers:?}", merge.name);
            assert_eq!(Law::broken(&LAWS, &turns, &schema()), [], "{} of {fibers:?}", merge.name);
        }
    })
}

/// Bounds: two lists of at most 3 positions below 4, three of at most 2 below 3; repeating or not.
#[test]
fn loops_evaluate_as_streams_do() {
    assert_eq!(agree(&[INTERSECT, LEAP, LEAP_BESIDE, MEET, UNITE_TWO, WIDE], 2, 3, 4), 2500);
    assert_eq!(agree(&[INTERSECT, LEAP, LEAP_BESIDE, MEET, WIDE, WIDE_WHILE_FIRST], 3, 2, 3), 4913);
}
