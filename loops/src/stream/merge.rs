//! Merges of lists: the loop shapes of the design's section 6, written once for running and emitting.
//!
//! * [`intersect`]: one equality test, advances without branches; [`meet`] leaves the test to its caller.
//! * [`meet_lanes`]: [`meet`] of two lists. Compares each coordinate of the first at once with eight of the second. It visits every
//!   coordinate of the first until the second is exhausted, and so serves a leader with a follower, too.
//! * [`leap`]: the same coordinates as [`intersect`]; some lists gallop to the coordinates of the others.
//! * [`unite_two`]: a decision tree with the advances in its leaves; the rest of either list is the caller's tail.
//! * [`unite_flat`]: the same without branches, except a loop for stretches in which the lists agree; a list without an entry reads
//!   as absent. The body must be cheap: it is evaluated for absent lists too.
//! * [`wide`]: any number of lists, with code that is linear in their number; an exhausted one has the greatest coordinate, one
//!   without an entry reads as absent.

use super::LANES;
use super::domain::{Arith, Compare, Domain, State};
use super::list::{Entry, List};

/// Visits every coordinate at which all lists have an entry: `body(coordinate)`, with the lists resting on it.
pub fn intersect<D: Domain>(d: &mut D, lists: &[&List<D::I>], body: &mut dyn FnMut(&mut D, &D::I)) {
    meet(d, lists, &mut |d, at, here| d.branch(here.clone(), &mut |d| body(d, at), &mut |_| {}));
}

/// Steps through lists until one is exhausted: `body(coordinate of the first, whether all lists rest on it)`. Visits every coordinate at
/// which all have an entry, and some others. The first list's coordinates never descend.
pub fn meet<D: Domain>(d: &mut D, lists: &[&List<D::I>], body: &mut impl FnMut(&mut D, &D::I, &D::B)) {
    d.repeat(&|d| all_valid(d, lists), &mut |d| {
        let at: Vec<D::I> = lists.iter().map(|l| snapshot_index(d, l)).collect();
        let equal: Vec<D::B> = at[1..].iter().map(|x| d.compare(Compare::Eq, &at[0], x)).collect();
        let here = equal.into_iter().reduce(|a, b| d.and(a, &|_| b.clone())).expect("two lists or more");
        body(d, &at[0], &here);
        // A list steps unless it is ahead of another: it steps if it is at or before the least of the others.
        let moves: Vec<D::B> = (0..lists.len())
            .map(|m| {
                let others = (0..lists.len()).filter(|&o| o != m).map(|o| at[o].clone());
                let least = others.reduce(|a, b| d.arith(Arith::Min, &a, &b)).expect("two lists or more");
                d.compare(Compare::Le, &at[m], &least)
            })
            .collect();
        for (list, moves) in lists.iter().zip(&moves) {
            list.next_if(d, moves);
        }
    });
}

/// Steps through the first of two lists until the second is exhausted, comparing each of its coordinates at once with as many of the
/// second's as there are lanes: `body(coordinate of the first, entries of both, whether the second has it too)`. Both lists have lanes
/// ([`List::has_lanes`]); coordinates of the first that the second has are in the second's view.
///
/// ```text
///   first    2   3   5   9           each is compared with the block, which is left when the first is behind its last entry
///   second  [1 3 4 5 7 8 9 11] 15 …
/// ```
pub fn meet_lanes<D: Domain>(
    d: &mut D,
    first: &List<D::I>,
    second: &List<D::I>,
    body: &mut impl FnMut(&mut D, &D::I, [Entry<D::I>; 2], &D::B),
) {
    debug_assert!(first.has_lanes() && second.has_lanes(), "an entry is at one position");
    d.repeat(&|d| all_valid(d, &[first, second]), &mut |d| {
        let block = second.upto(d, LANES);
        let last = block.last(d);
        let beside = first.through(d, &last);
        d.repeat(&|d| beside.valid(d), &mut |d| {
            let at = snapshot_index(d, &beside);
            let (met, entry) = block.among(d, &at);
            let entries = [beside.entry(d), entry];
            body(d, &at, entries, &met);
            beside.next(d);
        });
        block.leave(d);
    });
}

/// Visits every coordinate at which all lists have an entry, as [`intersect`]: `body(coordinate)`. A list that gallops seeks the greatest
/// coordinate at which a list rests, the others step entry by entry: beside a list of m entries, one of n takes O(m log(n / m))
/// comparisons.
pub fn leap<D: Domain>(d: &mut D, lists: &[(&List<D::I>, bool)], body: &mut dyn FnMut(&mut D, &D::I)) {
    if let [first, second] = lists {
        return leap_two(d, *first, *second, body);
    }
    let all: Vec<&List<D::I>> = lists.iter().map(|(list, _)| *list).collect();
    d.repeat(&|d| all_valid(d, &all), &mut |d| {
        let at: Vec<D::I> = all.iter().map(|l| snapshot_index(d, l)).collect();
        let reach = at.iter().cloned().reduce(|a, b| d.arith(Arith::Max, &a, &b)).expect("two lists or more");
        let reach = d.snapshot("reach", reach);
        let equal: Vec<D::B> = at.iter().map(|x| d.compare(Compare::Eq, x, &reach)).collect();
        let here = equal.into_iter().reduce(|a, b| d.and(a, &|_| b.clone())).expect("two lists or more");
        d.branch(
            here,
            &mut |d| {
                body(d, &reach);
                all.iter().for_each(|list| list.next(d));
            },
            &mut |d| {
                for ((list, gallops), at) in lists.iter().zip(&at) {
                    if *gallops {
                        list.gallop(d, &reach);
                    } else {
                        let behind = d.compare(Compare::Lt, at, &reach);
                        list.next_if(d, &behind);
                    }
                }
            },
        );
    });
}

/// [`leap`] of two lists: where their coordinates differ, the one behind moves.
fn leap_two<D: Domain>(
    d: &mut D,
    first: (&List<D::I>, bool),
    second: (&List<D::I>, bool),
    body: &mut dyn FnMut(&mut D, &D::I),
) {
    let on = |d: &mut D, (list, gallops): (&List<D::I>, bool), to: &D::I| {
        if gallops { list.leap(d, to) } else { list.next(d) }
    };
    let (a, b) = (first.0, second.0);
    d.repeat(&|d| all_valid(d, &[a, b]), &mut |d| {
        let (ia, ib) = (snapshot_index(d, a), snapshot_index(d, b));
        let equal = d.compare(Compare::Eq, &ia, &ib);
        d.branch(
            equal,
            &mut |d| {
                body(d, &ia);
                a.next(d);
                b.next(d);
            },
            &mut |d| {
                let behind = d.compare(Compare::Lt, &ia, &ib);
                d.branch(behind, &mut |d| on(d, first, &ib), &mut |d| on(d, second, &ia));
            },
        );
    });
}

/// The lists that have an entry at a coordinate, of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Side {
    Both,
    First,
    Second,
}

/// Visits every coordinate at which one of two lists has an entry, until either is exhausted: `body(which have it, coordinate)`.
pub fn unite_two<D: Domain>(d: &mut D, a: &List<D::I>, b: &List<D::I>, body: &mut dyn FnMut(&mut D, Side, &D::I)) {
    d.repeat(&|d| all_valid(d, &[a, b]), &mut |d| {
        let (ia, ib) = (snapshot_index(d, a), snapshot_index(d, b));
        let equal = d.compare(Compare::Eq, &ia, &ib);
        // Each arm is emitted once, but the closures of nested branches cannot share `body`: a cell lends it to each.
        let body = std::cell::RefCell::new(&mut *body);
        d.branch(
            equal,
            &mut |d| {
                (body.borrow_mut())(d, Side::Both, &ia);
                a.next(d);
                b.next(d);
            },
            &mut |d| {
                let first = d.compare(Compare::Lt, &ia, &ib);
                d.branch(
                    first,
                    &mut |d| {
                        (body.borrow_mut())(d, Side::First, &ia);
                        a.next(d);
                    },
                    &mut |d| {
                        (body.borrow_mut())(d, Side::Second, &ib);
                        b.next(d);
                    },
                );
            },
        );
    });
}

/// The patience of [`unite_flat`]: long enough that tests for agreement cost little, short enough to find stretches
/// that agree.
pub const PATIENCE: i64 = 32;

/// Visits every coordinate of two lists until one is exhausted, with few branches: `body(coordinate, present)`. `present` says for each
/// list whether it rests there, and is `None` where both do. The caller visits the rest of the other list. No entry of a list repeats.
/// After at most `patience` entries of a list, 1 or more, the loop tests again whether the lists agree.
pub fn unite_flat<D: Domain>(
    d: &mut D,
    a: &List<D::I>,
    b: &List<D::I>,
    patience: i64,
    body: &mut impl FnMut(&mut D, &D::I, Option<[&D::B; 2]>),
) {
    let agree = |d: &mut D| {
        let valid = all_valid(d, &[a, b]);
        d.and(valid, &|d| {
            let (ia, ib) = (a.index(d), b.index(d));
            d.compare(Compare::Eq, &ia, &ib)
        })
    };
    d.repeat(&|d| all_valid(d, &[a, b]), &mut |d| {
        d.repeat(&agree, &mut |d| {
            let at = snapshot_index(d, a);
            body(d, &at, None);
            a.next(d);
            b.next(d);
        });
        let stretch = (a.upto(d, patience), b.upto(d, patience));
        d.repeat(&|d| all_valid(d, &[&stretch.0, &stretch.1]), &mut |d| {
            let (ia, ib) = (snapshot_index(d, a), snapshot_index(d, b));
            let least = d.arith(Arith::Min, &ia, &ib);
            let first = d.compare(Compare::Le, &ia, &ib);
            let first = d.snapshot_bool("here", first);
            let second = d.compare(Compare::Le, &ib, &ia);
            let second = d.snapshot_bool("here", second);
            body(d, &least, Some([&first, &second]));
            a.next_if(d, &first);
            b.next_if(d, &second);
        });
    });
}

/// One loop over any number of lists, while `live(valid of each list)` holds: `body(coordinate, present of each list)` at every
/// coordinate at which a list has an entry.
pub fn wide<D: Domain>(
    d: &mut D,
    lists: &[&List<D::I>],
    live: &impl Fn(&mut D, &[D::B]) -> D::B,
    body: &mut impl FnMut(&mut D, &D::I, &[D::B]),
) {
    let far = |d: &mut D| d.int(i64::MAX);
    let at: Vec<State> = lists
        .iter()
        .map(|l| {
            let beyond = far(d);
            let first = l.index_or(d, beyond);
            d.state("at", first)
        })
        .collect();
    let valid = |d: &mut D| {
        let valid: Vec<D::B> = at
            .iter()
            .map(|s| {
                let (x, beyond) = (d.get(*s), far(d));
                d.compare(Compare::Lt, &x, &beyond)
            })
            .collect();
        live(d, &valid)
    };
    d.repeat(&valid, &mut |d| {
        let coordinates: Vec<D::I> = at.iter().map(|s| d.get(*s)).collect();
        let least = coordinates.iter().cloned().reduce(|a, b| d.arith(Arith::Min, &a, &b)).expect("a list or more");
        let least = d.snapshot("least", least);
        let present: Vec<D::B> = coordinates
            .iter()
            .map(|x| {
                let here = d.compare(Compare::Eq, x, &least);
                d.snapshot_bool("here", here)
            })
            .collect();
        body(d, &least, &present);
        for ((list, here), at) in lists.iter().zip(&present).zip(&at) {
            list.next_if(d, here);
            let beyond = far(d);
            let next = list.index_or(d, beyond);
            d.set(*at, next);
        }
    });
}

fn snapshot_index<D: Domain>(d: &mut D, list: &List<D::I>) -> D::I {
    let i = list.index(d);
    d.snapshot("at", i)
}

fn all_valid<D: Domain>(d: &mut D, lists: &[&List<D::I>]) -> D::B {
    let (first, rest) = lists.split_first().expect("a list or more");
    let mut all = first.valid(d);
    for list in rest {
        all = d.and(all, &|d| list.valid(d));
    }
    all
}
