//! Laws of the stream of a compressed fiber, `core::stream::List`, on its `Concrete` reading.
//!
//! Data of a law: a fiber of up to [`ENTRIES`] entries with coordinates below [`EXTENT`], at a place in longer arrays,
//! so that reading beside the fiber is seen. Sources: the streams paper, section 5 (lawful, strictly monotonic);
//! that `seek` equals repeated `next`, termination and bounds are this project's.

use crate::choose::Choose;
use fiberloom_core::loops::BufferId;
use fiberloom_core::stream::{Concrete, Domain, List};

/// Most entries of a fiber.
pub const ENTRIES: usize = 4;
/// Coordinates are below this.
pub const EXTENT: usize = 6;
/// Turns that any loop may take: more is "does not end".
const FUEL: u32 = 64;

/// A fiber in the middle of an array: an entry of another fiber stands before it and one behind it.
#[derive(Clone, Copy, Debug)]
pub struct Fiber {
    crd: [i64; ENTRIES + 2],
    len: usize,
}

impl Fiber {
    /// Any fiber within the bounds: for each coordinate, whether it is there.
    pub fn choose(c: &mut impl Choose) -> Fiber {
        let mut fiber = Fiber { crd: [0; ENTRIES + 2], len: 0 };
        fiber.crd[0] = EXTENT as i64 - 1;
        for i in 0..EXTENT {
            if fiber.len < ENTRIES && c.flag() {
                fiber.len += 1;
                fiber.crd[fiber.len] = i as i64;
            }
        }
        fiber.crd[fiber.len + 1] = 0;
        fiber
    }

    /// Place of the first entry at or after `target`: the definition that `seek` is held to.
    fn first_from(&self, target: i64) -> usize {
        let mut p = 1;
        while p <= self.len && self.crd[p] < target {
            p += 1;
        }
        p
    }
}

/// The operations that laws are about; the compiler's, or a wrong one that a law must catch.
#[derive(Clone, Copy)]
pub struct Operations {
    /// To the next entry.
    pub next: fn(&List<i64>, &mut Concrete),
    /// To the first entry at or after a coordinate.
    pub seek: fn(&List<i64>, &mut Concrete, i64),
}

/// What the compiler emits, by binary search.
pub const LIST: Operations = Operations { next: |l, d| l.next(d), seek: |l, d, i| l.seek(d, &i) };
/// What the compiler emits for targets that ascend.
pub const LIST_CATCHING_UP: Operations = Operations { next: |l, d| l.next(d), seek: |l, d, i| l.catch_up(d, &i) };

/// What a law says when it is broken.
pub type Broken = &'static str;

fn with(fiber: &Fiber, law: impl FnOnce(&mut Concrete, &List<i64>) -> Result<(), Broken>) -> Result<(), Broken> {
    let arrays: [&[i64]; 1] = [&fiber.crd];
    let mut d = Concrete::new(&arrays, FUEL);
    let list = List::open(&mut d, "p", BufferId(0), 1, 1 + fiber.len as i64);
    law(&mut d, &list)?;
    d.fault().map_or(Ok(()), Err)
}

/// *Denotation and strict monotonicity*: repeated `next` visits exactly the entries, in strictly ascending order, and
/// ends; no load leaves the fiber.
pub fn visits_every_entry_once(fiber: &Fiber, ops: Operations) -> Result<(), Broken> {
    with(fiber, |d, list| {
        let mut place = 1;
        let mut last = -1;
        while list.valid(d) {
            if place > fiber.len {
                return Err("it goes on behind the last entry");
            }
            let at = list.index(d);
            if at != fiber.crd[place] {
                return Err("it is not at the next entry");
            }
            if at <= last {
                return Err("coordinates do not ascend");
            }
            last = at;
            place += 1;
            (ops.next)(list, d);
        }
        if place == fiber.len + 1 { Ok(()) } else { Err("it ends before the last entry") }
    })
}

/// *Seek equals repeated next*, from any entry to any coordinate at or after the entry's: it lands on the first entry
/// at or after the target, or at the end. So nothing at or after the target is lost (*lawful*), and it is settled.
pub fn seek_is_repeated_next(fiber: &Fiber, start: usize, target: i64, ops: Operations) -> Result<(), Broken> {
    with(fiber, |d, list| {
        for _ in 0..start {
            list.next(d);
        }
        (ops.seek)(list, d, target);
        let wanted = fiber.first_from(target).max(start + 1);
        if list.position(d) as usize != wanted {
            return Err("seek does not land on the first entry at or after its target");
        }
        let there = wanted <= fiber.len && fiber.crd[wanted] == target;
        if list.found(d, &target) != there {
            return Err("found says otherwise than the entry");
        }
        Ok(())
    })
}

/// *Conditional advance*: `next_if(true)` is `next`, `next_if(false)` is nothing.
pub fn next_if_is_next_or_nothing(fiber: &Fiber, condition: bool) -> Result<(), Broken> {
    with(fiber, |d, list| {
        let before = list.position(d);
        list.next_if(d, &condition);
        if list.position(d) == before + condition as i64 { Ok(()) } else { Err("it moved otherwise") }
    })
}

/// *At the end*, an index is the one that was asked for instead, and nothing is loaded.
pub fn exhausted_reads_as_asked(fiber: &Fiber) -> Result<(), Broken> {
    with(fiber, |d, list| {
        for _ in 0..fiber.len {
            list.next(d);
        }
        let far = d.int(i64::MAX);
        if list.index_or(d, far) == i64::MAX { Ok(()) } else { Err("it reads behind its end") }
    })
}

/// Every law of the list on one choice of data.
pub fn laws(c: &mut impl Choose) {
    let fiber = Fiber::choose(c);
    let start = c.upto(fiber.len);
    let target = c.upto(EXTENT) as i64;
    for ops in [LIST, LIST_CATCHING_UP] {
        assert_eq!(visits_every_entry_once(&fiber, ops), Ok(()));
        assert_eq!(seek_is_repeated_next(&fiber, start, target, ops), Ok(()));
    }
    assert_eq!(next_if_is_next_or_nothing(&fiber, target & 1 == 1), Ok(()));
    assert_eq!(exhausted_reads_as_asked(&fiber), Ok(()));
}

/// Bounds: fibers of at most 4 entries below 6, every start, every target up to 6; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn list_laws() {
    laws(&mut crate::choose::Any);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::every;

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn list_laws() {
        let runs = every(laws);
        assert!(runs > 1000, "only {runs} choices");
    }

    fn some_fiber_breaks(law: impl Fn(&mut exhaustigen::Gen) -> Result<(), Broken>) -> bool {
        let mut broken = false;
        every(|c| broken |= law(c).is_err());
        broken
    }

    /// Each law catches a wrong iterator that it is there for.
    #[test]
    fn wrong_iterators_are_caught() {
        let two_steps = Operations {
            next: |l, d| {
                l.next(d);
                l.next(d);
            },
            ..LIST
        };
        assert!(some_fiber_breaks(|c| visits_every_entry_once(&Fiber::choose(c), two_steps)));
        let resting = Operations { next: |_, _| {}, ..LIST };
        assert!(some_fiber_breaks(|c| {
            let fiber = Fiber::choose(c);
            // A list that does not move is at the wrong entry, or behind the last one, after the first turn.
            visits_every_entry_once(&fiber, resting)
        }));
        let beyond = Operations { seek: |l, d, i| l.seek(d, &(i + 1)), ..LIST };
        let short = Operations { seek: |l, d, i| l.seek(d, &(i - 1)), ..LIST };
        let once = Operations {
            seek: |l, d, i| {
                if l.valid(d) && l.index(d) < i {
                    l.next(d);
                }
            },
            ..LIST
        };
        for wrong in [beyond, short, once] {
            assert!(some_fiber_breaks(|c| {
                let fiber = Fiber::choose(c);
                let start = c.upto(fiber.len);
                let target = c.upto(EXTENT) as i64;
                seek_is_repeated_next(&fiber, start, target, wrong)
            }));
        }
    }
}
