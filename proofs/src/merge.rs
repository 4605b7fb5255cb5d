//! Laws of the loops over several lists, `core::stream::merge`, on their `Concrete` reading.
//!
//! ```text
//!   x   0   2 3        intersect   visits 2 3           with positions in both
//!   y     1 2 3   5    unite_two   visits 0 1 2 3, then what is left of x and of y: 5; so does unite_flat
//!                      wide        visits 0 1 2 3 5     present: x, y, xy, xy, y
//! ```
//!
//! Data of a law: fibers as in `stream.rs`, repeating or not. *Termination* and *positions in bounds* are faults of the
//! domain. [`unites`] and [`comes_to_all`] are harnesses: they ask turn by turn, and keep nothing. Loops over any number of
//! lists gather those in vectors of a known length, which is all the memory that Kani sees taken.

use crate::stream::{Broken, EXTENT, Fiber};
use fiberloom_loops::BufferId;
use fiberloom_loops::stream::{
    Concrete, List, ListFiber, Side, intersect, leap, meet, meet_lanes, unite_flat, unite_two, wide,
};
use fiberloom_semantics::stream::{Polynomial, Semiring};
use std::ops::Range;

/// Turns of loops in all: more is "does not end".
const FUEL: u32 = 200;

/// A turn: a coordinate, and the positions of each list's entry that the loop said to be there.
#[derive(Clone, PartialEq, Debug)]
pub struct Visit {
    /// The coordinate.
    pub at: i64,
    /// By list.
    pub entries: Vec<Option<Range<usize>>>,
}

/// What a loop is for: at which coordinates a body finds something, and what it would compute there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// x · y · …
    All,
    /// x + y + …
    Any,
    /// x · (y + …)
    FirstAndAny,
}

impl Of {
    /// From the values of the lists that are present.
    pub fn value(self, of: &[Option<Polynomial>]) -> Option<Polynomial> {
        let all = |of: &[Option<Polynomial>]| {
            of.iter().cloned().collect::<Option<Vec<_>>>()?.into_iter().reduce(|x, y| x.times(&y))
        };
        let any = |of: &[Option<Polynomial>]| of.iter().flatten().cloned().reduce(|x, y| x.plus(&y));
        match self {
            Of::All => all(of),
            Of::Any => any(of),
            Of::FirstAndAny => all(&[of[0].clone(), any(&of[1..])]),
        }
    }

    fn wants(self, present: &[bool]) -> bool {
        let one = |present: &bool| present.then(Polynomial::one);
        self.value(&present.iter().map(one).collect::<Vec<_>>()).is_some()
    }
}

/// What a loop's body is told: a coordinate, and which lists rest on it.
type Body<'b> = &'b mut dyn FnMut(&mut Concrete, i64, &[bool]);

/// A loop over lists.
#[derive(Clone, Copy)]
pub struct Merge {
    /// What people call it.
    pub name: &'static str,
    /// What it is for.
    pub of: Of,
    /// The loop.
    run: fn(&mut Concrete, &[&List<i64>], Body),
    /// Whether each turn is at a coordinate of its own, or only none falls.
    once: bool,
}

/// Every coordinate that all lists have.
pub const INTERSECT: Merge = Merge {
    name: "intersect",
    of: Of::All,
    run: |d, lists, body| intersect(d, lists, &mut |d, at| body(d, *at, &vec![true; lists.len()])),
    once: true,
};
/// The same, all lists galloping.
pub const LEAP: Merge = Merge { name: "leap", run: |d, lists, body| leaping(d, lists, body, |_| true), ..INTERSECT };
/// The same, the first list walking.
pub const LEAP_BESIDE: Merge =
    Merge { name: "leap beside a walk", run: |d, lists, body| leaping(d, lists, body, |n| n > 0), ..INTERSECT };

fn leaping(d: &mut Concrete, lists: &[&List<i64>], body: Body, gallops: fn(usize) -> bool) {
    let with: Vec<(&List<i64>, bool)> = lists.iter().enumerate().map(|(n, list)| (*list, gallops(n))).collect();
    leap(d, &with, &mut |d, at| body(d, *at, &vec![true; lists.len()]));
}

/// The same, with the turns that find nothing: which lists are there is not known at those.
pub const MEET: Merge = Merge {
    name: "meet",
    of: Of::All,
    run: |d, lists, body| meet(d, lists, &mut |d, at, here| body(d, *at, &vec![*here; lists.len()])),
    once: false,
};
/// Every coordinate that one of two lists has; the tails are this module's.
pub const UNITE_TWO: Merge = Merge {
    name: "unite_two",
    of: Of::Any,
    run: |d, lists, body| {
        unite_two(d, lists[0], lists[1], &mut |d, side, at| {
            body(d, *at, &[side != Side::Second, side != Side::First]);
        });
    },
    once: true,
};
/// The same by few branches, of lists in which none repeats.
pub const UNITE_FLAT: Merge = Merge {
    name: "unite_flat",
    of: Of::Any,
    run: |d, lists, body| {
        flat::<2>(d, lists[0], lists[1], &mut |d, side, at| {
            body(d, *at, &[side != Side::Second, side != Side::First]);
        })
    },
    once: true,
};
/// Every coordinate that any list has.
pub const WIDE: Merge = Merge {
    name: "wide",
    of: Of::Any,
    run: |d, lists, body| wide(d, lists, &|_, valid| valid.contains(&true), &mut |d, at, here| body(d, *at, here)),
    once: true,
};
/// The same until the first list or all others are exhausted.
pub const WIDE_WHILE_FIRST: Merge = Merge {
    name: "wide, while it can still be wanted",
    of: Of::FirstAndAny,
    run: |d, lists, body| {
        let live = |_: &mut Concrete, valid: &[bool]| valid[0] && valid[1..].contains(&true);
        wide(d, lists, &live, &mut |d, at, here| body(d, *at, here));
    },
    once: true,
};

/// *Settled*, *in bounds*, *termination*: the turns of a loop, then what is left of each list if it is a union; at each
/// turn the lists that are said to be present rest on its coordinate.
///
/// # Errors
/// The law that is broken.
pub fn visits(merge: &Merge, fibers: &[Fiber]) -> Result<Vec<Visit>, Broken> {
    let arrays: Vec<&[i64]> = fibers.iter().map(Fiber::array).collect();
    let mut d = Concrete::new(&arrays, FUEL);
    let opened = |(n, fiber): (usize, &Fiber)| ListFiber { crd: BufferId(n as u32), ..fiber.from(1) };
    let lists: Vec<List<i64>> =
        fibers.iter().enumerate().map(opened).map(|fiber| List::open(&mut d, "p", fiber)).collect();
    let mut visits = Vec::new();
    let mut rested = Ok(());
    let entry = |d: &mut Concrete, n: usize| {
        let entry = lists[n].entry(d);
        let end = entry.run.map_or(entry.position + 1, |run| run.end(d));
        entry.position as usize..end as usize
    };
    (merge.run)(&mut d, &lists.iter().collect::<Vec<_>>(), &mut |d, at, present| {
        if (0..lists.len()).any(|n| present[n] && !lists[n].found(d, &at)) {
            rested = Err("a list that is said to be present rests elsewhere");
        }
        visits.push(Visit { at, entries: (0..lists.len()).map(|n| present[n].then(|| entry(d, n))).collect() });
    });
    for n in (0..lists.len()).filter(|_| merge.of == Of::Any) {
        while lists[n].valid(&mut d) && d.fault().is_none() {
            let mut entries = vec![None; lists.len()];
            entries[n] = Some(entry(&mut d, n));
            visits.push(Visit { at: lists[n].index(&mut d), entries });
            lists[n].next(&mut d);
        }
    }
    d.fault().map_or(rested, Err)?;
    Ok(visits)
}

/// *Strict monotonicity*: turns ascend, each coordinate having one; or, of a loop that may wait, none falls and each
/// coordinate has one turn at which something is found.
pub fn ascends(merge: &Merge, visits: &[Visit]) -> Result<(), Broken> {
    let found = visits.iter().filter(|v| merge.once || v.entries.iter().any(Option::is_some));
    if !visits.is_sorted_by_key(|v| v.at) {
        return Err("coordinates fall");
    }
    if found.is_sorted_by(|v, w| v.at < w.at) { Ok(()) } else { Err("a coordinate has two turns") }
}

/// *Denotation*: what is found is what all lists have, or any, or the first with any other; with their positions.
pub fn finds(merge: &Merge, fibers: &[Fiber], visits: &[Visit]) -> Result<(), Broken> {
    let wanted = |entries: &[Option<_>]| merge.of.wants(&entries.iter().map(Option::is_some).collect::<Vec<_>>());
    let mut all: Vec<i64> = fibers.iter().flat_map(|f| f.entries().map(|(i, _)| i)).collect();
    all.sort();
    all.dedup();
    let entry = |f: &Fiber, at| f.entries().find(|(i, _)| *i == at).map(|(_, positions)| positions);
    let there = all.iter().map(|at| Visit { at: *at, entries: fibers.iter().map(|f| entry(f, *at)).collect() });
    let found = visits.iter().filter(|v| wanted(&v.entries)).cloned();
    if found.eq(there.filter(|v| wanted(&v.entries))) { Ok(()) } else { Err("it finds other entries") }
}

/// Every law of a loop.
///
/// # Errors
/// The first that is broken.
pub fn laws(merge: &Merge, fibers: &[Fiber]) -> Result<(), Broken> {
    let visits = visits(merge, fibers)?;
    ascends(merge, &visits)?;
    finds(merge, fibers, &visits)
}

/// `unite_flat` with a patience so short that it tries again within small lists.
pub fn flat<const PATIENCE: i64>(
    d: &mut Concrete,
    a: &List<i64>,
    b: &List<i64>,
    body: &mut dyn FnMut(&mut Concrete, Side, &i64),
) {
    unite_flat(d, a, b, PATIENCE, &mut |d, at, present| {
        let side = match present {
            None | Some([true, true]) => Side::Both,
            Some([true, false]) => Side::First,
            Some(_) => Side::Second,
        };
        body(d, side, at);
    });
}

/// A loop over two lists, as `unite_two`.
pub type Unite = fn(&mut Concrete, &List<i64>, &List<i64>, &mut dyn FnMut(&mut Concrete, Side, &i64));

/// *A union of two*, turn by turn: each is at the least coordinate above the last one's, says which lists have it, and
/// the loop goes on until one list has no more.
///
/// # Errors
/// What is otherwise.
pub fn unites(a: &Fiber, b: &Fiber, unite: Unite) -> Result<(), Broken> {
    let arrays = [a.array(), b.array()];
    let mut d = Concrete::new(&arrays, FUEL);
    let x = List::open(&mut d, "x", a.from(1));
    let y = List::open(&mut d, "y", ListFiber { crd: BufferId(1), ..b.from(1) });
    let above = |fiber: &Fiber, last: i64| fiber.entries().map(|(i, _)| i).find(|i| *i > last).unwrap_or(i64::MAX);
    let mut last = -1;
    let mut held = Ok(());
    unite(&mut d, &x, &y, &mut |_, side, at| {
        let (i, j) = (above(a, last), above(b, last));
        let wanted = if i == j {
            Side::Both
        } else if i < j {
            Side::First
        } else {
            Side::Second
        };
        if (side, *at) != (wanted, i.min(j)) {
            held = Err("a turn is not at the next coordinate, or names other lists");
        }
        last = *at;
    });
    if above(a, last).max(above(b, last)) != i64::MAX {
        held = Err("it ends before either list");
    }
    d.fault().map_or(held, Err)
}

/// A loop over two lists: its body is told a coordinate, and which lists rest on it.
pub type Pair = fn(&mut Concrete, [&List<i64>; 2], &mut dyn FnMut(&mut Concrete, i64, [bool; 2]));

/// Every coordinate of both.
pub const INTERSECT_TWO: Pair = |d, [x, y], body| intersect(d, &[x, y], &mut |d, at| body(d, *at, [true, true]));
/// The same, both galloping.
pub const LEAP_TWO: Pair = |d, [x, y], body| {
    leap(d, &[(x, true), (y, true)], &mut |d, at| body(d, *at, [true, true]));
};
/// Every coordinate of either.
pub const WIDE_OF_TWO: Pair = |d, [x, y], body| {
    wide(d, &[x, y], &|_, valid| valid[0] || valid[1], &mut |d, at, here| body(d, *at, [here[0], here[1]]));
};

/// *A loop of two comes to all it should*, turn by turn: each is at the least coordinate above the last one's that both lists
/// have, or either, and says which; the loop goes on until there is none.
///
/// # Errors
/// What is otherwise.
pub fn comes_to_all(a: &Fiber, b: &Fiber, both: bool, pair: Pair) -> Result<(), Broken> {
    let arrays = [a.array(), b.array()];
    let mut d = Concrete::new(&arrays, FUEL);
    let x = List::open(&mut d, "x", a.from(1));
    let y = List::open(&mut d, "y", ListFiber { crd: BufferId(1), ..b.from(1) });
    let has = |fiber: &Fiber, at: i64| fiber.entries().any(|(i, _)| i == at);
    let there = |at: i64| [has(a, at), has(b, at)];
    let wanted = |at: &i64| if both { there(*at) == [true, true] } else { there(*at) != [false, false] };
    let next = |last: i64| (last + 1..EXTENT as i64).find(wanted);
    let mut last = -1;
    let mut held = Ok(());
    pair(&mut d, [&x, &y], &mut |_, at, present| {
        if next(last) != Some(at) || present != there(at) {
            held = Err("a turn is not at the next coordinate that is wanted, or names other lists");
        }
        last = at;
    });
    if next(last).is_some() {
        held = Err("it ends before the last coordinate that is wanted");
    }
    d.fault().map_or(held, Err)
}

/// Bounds: two fibers of at most 2 positions below 3, repeating or not.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(10)]
fn intersects_two_lists() {
    let [a, b] = [(); 2].map(|()| Fiber::within(&mut crate::choose::Any, 2, 3));
    assert_eq!(comes_to_all(&a, &b, true, INTERSECT_TWO), Ok(()));
}

/// *Two lists meet by lanes*, turn by turn: each is at an entry of the first, the next one at which something is found at the least that
/// both have, and the second's entry is said then; the loop goes on until there is none.
///
/// # Errors
/// What is otherwise.
pub fn meets(a: &Fiber, b: &Fiber) -> Result<(), Broken> {
    let arrays = [a.array(), b.array()];
    let mut d = Concrete::new(&arrays, FUEL);
    let x = List::open(&mut d, "x", a.from(1));
    let y = List::open(&mut d, "y", ListFiber { crd: BufferId(1), ..b.from(1) });
    let entry = |fiber: &Fiber, at: i64| fiber.entries().find(|(i, _)| *i == at).map(|(_, run)| run.start as i64);
    let next = |last: i64| (last + 1..EXTENT as i64).find(|at| entry(a, *at).is_some() && entry(b, *at).is_some());
    let (mut last, mut found) = (-1, -1);
    let mut held = Ok(());
    meet_lanes(&mut d, &x, &y, &mut |_, at, entries, met| {
        let [p, q] = entries.map(|entry| entry.position);
        if *at <= last || entry(a, *at) != Some(p) {
            held = Err("a turn is not at a later entry of the first list");
        }
        if *met && (next(found) != Some(*at) || entry(b, *at) != Some(q)) {
            held = Err("what is found is not the next that both have, or is said to be elsewhere");
        }
        last = *at;
        found = if *met { *at } else { found };
    });
    if next(found).is_some() {
        held = Err("it ends before the last coordinate that both have");
    }
    d.fault().map_or(held, Err)
}

/// Bounds: two fibers of at most 2 positions below 3, of which none repeats.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(10)]
fn two_lists_meet_by_lanes() {
    let [a, b] = [(); 2].map(|()| Fiber::within(&mut crate::choose::Any, 2, 3));
    if !a.repeats() && !b.repeats() {
        assert_eq!(meets(&a, &b), Ok(()));
    }
}

/// Bounds: two fibers of at most 2 positions below 3, repeating or not.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(10)]
fn leaps_over_two_lists() {
    let [a, b] = [(); 2].map(|()| Fiber::within(&mut crate::choose::Any, 2, 3));
    assert_eq!(comes_to_all(&a, &b, true, LEAP_TWO), Ok(()));
}

/// Bounds: two fibers of at most 2 positions below 3, repeating or not.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(10)]
fn widens_over_two_lists() {
    let [a, b] = [(); 2].map(|()| Fiber::within(&mut crate::choose::Any, 2, 3));
    assert_eq!(comes_to_all(&a, &b, false, WIDE_OF_TWO), Ok(()));
}

/// Bounds: two fibers of at most 3 positions below 4, repeating or not; `unite_flat` of those in which none repeats.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(10)]
fn unites_two_lists() {
    let [a, b] = [(); 2].map(|()| Fiber::within(&mut crate::choose::Any, 3, 4));
    assert_eq!(unites(&a, &b, |d, x, y, body| unite_two(d, x, y, body)), Ok(()));
    if !a.repeats() && !b.repeats() {
        assert_eq!(unites(&a, &b, flat::<2>), Ok(()));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;
    use fiberloom_loops::stream::Domain;

    /// Bounds: all pairs of lists of at most 4 positions below 5, repeating or not.
    #[test]
    fn two_lists() {
        let runs = every(|c| {
            let fibers = [(); 2].map(|()| Fiber::within(c, 4, 5));
            for merge in [INTERSECT, LEAP, LEAP_BESIDE, MEET, UNITE_TWO, WIDE, WIDE_WHILE_FIRST] {
                assert_eq!(laws(&merge, &fibers), Ok(()), "{} of {fibers:?}", merge.name);
            }
            if !fibers.iter().any(Fiber::repeats) {
                assert_eq!(laws(&UNITE_FLAT, &fibers), Ok(()), "{fibers:?}");
                assert_eq!(meets(&fibers[0], &fibers[1]), Ok(()), "{fibers:?}");
            }
        });
        assert_eq!(runs, 157 * 157);
    }

    /// Bounds: all triples of lists of at most 3 positions below 3, repeating or not.
    #[test]
    fn three_lists() {
        let runs = every(|c| {
            let fibers = [(); 3].map(|()| Fiber::within(c, 3, 3));
            for merge in [INTERSECT, LEAP, LEAP_BESIDE, MEET, WIDE, WIDE_WHILE_FIRST] {
                assert_eq!(laws(&merge, &fibers), Ok(()), "{} of {fibers:?}", merge.name);
            }
        });
        assert_eq!(runs, 28 * 28 * 28);
    }

    /// Bounds: those of the harness; every choice is run.
    #[test]
    fn unites_two_lists() {
        let of = |unite: Unite, repeating: bool| {
            every(|c| {
                let [a, b] = [(); 2].map(|()| Fiber::within(c, 3, 4));
                if repeating || !a.repeats() && !b.repeats() {
                    assert_eq!(unites(&a, &b, unite), Ok(()), "{a:?} {b:?}");
                }
            })
        };
        assert_eq!(of(|d, x, y, body| unite_two(d, x, y, body), true), 50 * 50);
        for unite in [flat::<1>, flat::<2>, flat::<9>] {
            assert_eq!(of(unite, false), 50 * 50);
        }
    }

    /// Bounds: those of the harnesses, and longer lists: at most 3 positions below 4.
    #[test]
    fn loops_of_two_come_to_all() {
        for (positions, extent, pairs) in [(2, 3, 17 * 17), (3, 4, 50 * 50)] {
            let runs = every(|c| {
                let [a, b] = [(); 2].map(|()| Fiber::within(c, positions, extent));
                assert_eq!(comes_to_all(&a, &b, true, INTERSECT_TWO), Ok(()), "{a:?} {b:?}");
                assert_eq!(comes_to_all(&a, &b, true, LEAP_TWO), Ok(()), "{a:?} {b:?}");
                assert_eq!(comes_to_all(&a, &b, false, WIDE_OF_TWO), Ok(()), "{a:?} {b:?}");
            });
            assert_eq!(runs, pairs);
        }
    }

    fn both_valid(d: &mut Concrete, l: &[&List<i64>]) -> bool {
        l[0].valid(d) && l[1].valid(d)
    }

    /// Both lists move on at every turn, or where they agree.
    fn step(d: &mut Concrete, l: &[&List<i64>], body: Body, always: bool) {
        d.repeat(&|d| both_valid(d, l), &mut |d| {
            let at = l[0].index(d);
            let equal = at == l[1].index(d);
            if equal {
                body(d, at, &[true, true]);
            }
            l.iter().filter(|_| always || equal).for_each(|l| l.next(d));
        });
    }

    /// The second list may be exhausted before the first.
    fn unchecked(d: &mut Concrete, l: &[&List<i64>], body: Body) {
        d.repeat(&|d| l[0].valid(d), &mut |d| {
            let at = l[0].index(d);
            l[1].seek(d, &at);
            if at == l[1].index(d) {
                body(d, at, &[true, true]);
            }
            l[0].next(d);
        });
    }

    /// The second list goes behind where the first is.
    fn beyond(d: &mut Concrete, l: &[&List<i64>], body: Body) {
        d.repeat(&|d| both_valid(d, l), &mut |d| {
            let (x, y) = (l[0].index(d), l[1].index(d));
            if x == y {
                body(d, x, &[true, true]);
                l[1].next(d);
            } else if y < x {
                return l[1].gallop(d, &(x + 1));
            }
            l[0].next(d);
        });
    }

    fn late(d: &mut Concrete, l: &[&List<i64>], body: Body) {
        intersect(d, l, &mut |d, at| {
            l[0].next(d);
            body(d, *at, &[true, true]);
        });
    }

    /// A union of which one list moves on at a turn, that with the smaller coordinate or that with the larger.
    fn one(d: &mut Concrete, l: &[&List<i64>], body: Body, smaller: bool) {
        d.repeat(&|d| both_valid(d, l), &mut |d| {
            let (x, y) = (l[0].index(d), l[1].index(d));
            let (first, second) = if smaller { (x <= y, y <= x) } else { (x >= y, y >= x) };
            body(d, if first { x } else { y }, &[first, second]);
            l[if first { 0 } else { 1 }].next(d);
        });
    }

    /// Loops that are wrong in one thing each, on two lists of at most 2 positions below 3; unions turn by turn on those of the harness.
    pub fn wrong() -> Vec<Wrong> {
        type Run = fn(&mut Concrete, &[&List<i64>], Body);
        let loops: [(&str, Of, Run); 7] = [
            ("a list leaps beyond where the others are", Of::All, beyond),
            ("both lists move on at every turn", Of::All, |d, l, body| step(d, l, body, true)),
            ("only lists that agree move on", Of::All, |d, l, body| step(d, l, body, false)),
            ("the second list's end is not asked for", Of::All, unchecked),
            ("the body comes after the advance", Of::All, late),
            ("where both have an entry, one moves on", Of::Any, |d, l, body| one(d, l, body, true)),
            ("the larger coordinate comes first", Of::Any, |d, l, body| one(d, l, body, false)),
        ];
        let pairs: [(&str, bool, Pair); 2] = [
            ("it goes on while either list lasts", true, |d, [x, y], body| {
                WIDE_OF_TWO(d, [x, y], &mut |d, at, _| body(d, at, [true, true]));
            }),
            ("it ends with the first list", false, |d, [x, y], body| {
                wide(d, &[x, y], &|_, valid| valid[0], &mut |d, at, here| body(d, *at, [here[0], here[1]]));
            }),
        ];
        let unions: [(&str, Unite); 2] = [
            ("the lists are taken for one another", |d, x, y, body| unite_two(d, y, x, body)),
            ("it has no turn", |_, _, _, _| {}),
        ];
        let looped = |(what, of, run): (&str, Of, Run)| {
            Wrong::on_all("a loop", what, |c| {
                let fibers = [(); 2].map(|()| Fiber::within(c, 2, 3));
                laws(&Merge { name: "wrong", of, run, once: true }, &fibers).err().into_iter().collect::<Vec<_>>()
            })
        };
        let united = |(what, unite): (&str, Unite)| {
            Wrong::on_all("a union", what, |c| {
                let [a, b] = [(); 2].map(|()| Fiber::within(c, 3, 4));
                unites(&a, &b, unite).err().into_iter().collect::<Vec<_>>()
            })
        };
        let paired = |(what, both, pair): (&str, bool, Pair)| {
            Wrong::on_all("a loop of two", what, |c| {
                let [a, b] = [(); 2].map(|()| Fiber::within(c, 2, 3));
                comes_to_all(&a, &b, both, pair).err().into_iter().collect::<Vec<_>>()
            })
        };
        let (loops, pairs) = (loops.into_iter().map(looped), pairs.into_iter().map(paired));
        loops.chain(pairs).chain(unions.into_iter().map(united)).collect()
    }
}
