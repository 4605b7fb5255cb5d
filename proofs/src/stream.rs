//! Laws of the stream of a list level's fiber, `core::stream::List`, and of finding entries of hashed levels,
//! `core::stream::Table`, on their `Concrete` reading.
//!
//! Data of a law: a fiber of up to [`POSITIONS`] positions with coordinates below [`EXTENT`], each once or repeating,
//! at a place in longer arrays, so that reading beside the fiber is seen. Sources: the streams paper, section 5 (lawful, strictly monotonic);
//! that `seek` equals repeated `next`, termination and bounds are this project's.

use crate::choose::Choose;
use fiberloom_core::format::hash;
use fiberloom_core::loops::BufferId;
use fiberloom_core::stream::{Concrete, Domain, List, ListFiber, Table, bounds};

/// Most positions of a fiber.
pub const POSITIONS: usize = 4;
/// Coordinates are below this.
pub const EXTENT: usize = 6;
/// Turns that any loop may take: more is "does not end".
const FUEL: u32 = 64;

/// A fiber in the middle of an array: an entry of another fiber stands before it and one behind it, with the
/// coordinates of its own first and last position, which must not be taken for theirs.
#[derive(Clone, Copy, Debug)]
pub struct Fiber {
    crd: [i64; POSITIONS + 2],
    len: usize,
    repeats: bool,
}

/// An entry: the positions `begin..end` hold its coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    begin: usize,
    end: usize,
}

impl Fiber {
    /// Any fiber within the bounds: for each coordinate, whether it is there, and whether twice or more.
    pub fn choose(c: &mut impl Choose) -> Fiber {
        let mut fiber = Fiber { crd: [0; POSITIONS + 2], len: 0, repeats: c.flag() };
        for i in 0..EXTENT {
            while fiber.len < POSITIONS && c.flag() {
                fiber.len += 1;
                fiber.crd[fiber.len] = i as i64;
                if !fiber.repeats {
                    break;
                }
            }
        }
        fiber.crd[0] = fiber.crd[1];
        fiber.crd[fiber.len + 1] = fiber.crd[fiber.len];
        fiber
    }

    /// The entry that begins at the first position at or after `target`, if there is one: the definition that `seek`
    /// is held to.
    fn first_from(&self, target: i64) -> Run {
        let mut p = 1;
        while p <= self.len && self.crd[p] < target {
            p += 1;
        }
        self.run(p)
    }

    /// The entry that begins at a position; at the end, an empty one.
    fn run(&self, begin: usize) -> Run {
        let mut end = begin;
        while end <= self.len && self.crd[end] == self.crd[begin] && (self.repeats || end == begin) {
            end += 1;
        }
        Run { begin, end }
    }
}

/// Where a list rests, as it says itself.
fn resting(list: &List<i64>, d: &mut Concrete) -> Run {
    let entry = list.entry(d);
    let begin = entry.position as usize;
    let valid = list.valid(d);
    Run { begin, end: entry.end.map_or(begin + valid as usize, |q| q as usize) }
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
    let list = List::open(
        &mut d,
        "p",
        ListFiber { crd: BufferId(0), begin: 1, end: 1 + fiber.len as i64, repeats: fiber.repeats },
    );
    law(&mut d, &list)?;
    d.fault().map_or(Ok(()), Err)
}

/// *Denotation and strict monotonicity*: repeated `next` visits exactly the entries, in strictly ascending order, and
/// ends; no load leaves the fiber.
pub fn visits_every_entry_once(fiber: &Fiber, ops: Operations) -> Result<(), Broken> {
    with(fiber, |d, list| {
        let mut wanted = fiber.run(1);
        let mut last = -1;
        while list.valid(d) {
            if wanted.begin > fiber.len {
                return Err("it goes on behind the last entry");
            }
            if resting(list, d) != wanted {
                return Err("it is not at the next entry");
            }
            let at = list.index(d);
            if at <= last {
                return Err("coordinates do not ascend");
            }
            last = at;
            wanted = fiber.run(wanted.end);
            (ops.next)(list, d);
        }
        if wanted.begin == fiber.len + 1 { Ok(()) } else { Err("it ends before the last entry") }
    })
}

/// *Seek equals repeated next*, from any entry to any coordinate at or after the entry's: it lands on the first entry
/// at or after the target, or at the end. So nothing at or after the target is lost (*lawful*), and it is settled.
pub fn seek_is_repeated_next(fiber: &Fiber, start: usize, target: i64, ops: Operations) -> Result<(), Broken> {
    with(fiber, |d, list| {
        let mut from = fiber.run(1);
        for _ in 0..start {
            list.next(d);
            from = fiber.run(from.end);
        }
        (ops.seek)(list, d, target);
        let wanted = fiber.first_from(target);
        let wanted = if wanted.begin < from.begin { from } else { wanted };
        if resting(list, d) != wanted {
            return Err("seek does not land on the first entry at or after its target");
        }
        let there = wanted.begin <= fiber.len && fiber.crd[wanted.begin] == target;
        if list.found(d, &target) != there {
            return Err("found says otherwise than the entry");
        }
        Ok(())
    })
}

/// *Conditional advance*: `next_if(true)` is `next`, `next_if(false)` is nothing.
pub fn next_if_is_next_or_nothing(fiber: &Fiber, condition: bool) -> Result<(), Broken> {
    with(fiber, |d, list| {
        if !list.valid(d) {
            return Ok(());
        }
        let before = resting(list, d);
        list.next_if(d, &condition);
        let wanted = if condition { fiber.run(before.end) } else { before };
        if resting(list, d) == wanted { Ok(()) } else { Err("it moved otherwise") }
    })
}

/// *At the end*, an index is the one that was asked for instead, and nothing is loaded.
pub fn exhausted_reads_as_asked(fiber: &Fiber) -> Result<(), Broken> {
    with(fiber, |d, list| {
        while list.valid(d) {
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

/// A hashed level of two parents, with its table.
#[derive(Clone, Copy, Debug)]
pub struct Hashed {
    pos: [i64; 3],
    crd: [i64; POSITIONS],
    table: [i64; 2 * POSITIONS],
}

impl Hashed {
    /// Any within the bounds. Entries are put where the definition of the format says, in the order of positions.
    pub fn choose(c: &mut impl Choose) -> Hashed {
        let mut level = Hashed { pos: [0; 3], crd: [0; POSITIONS], table: [-1; 2 * POSITIONS] };
        let mut n = 0;
        for parent in 0..2 {
            for i in 0..EXTENT as i64 {
                if n < POSITIONS && c.flag() {
                    level.crd[n] = i;
                    let mut slot = hash::slot(parent, i, 2 * POSITIONS as i64) as usize;
                    while level.table[slot] >= 0 {
                        slot = (slot + 1) % level.table.len();
                    }
                    level.table[slot] = n as i64;
                    n += 1;
                }
            }
            level.pos[parent as usize + 1] = n as i64;
        }
        level
    }

    fn with<T>(&self, f: impl FnOnce(&mut Concrete, &Table<i64>) -> T) -> Result<T, Broken> {
        let arrays: [&[i64]; 3] = [&self.pos, &self.crd, &self.table];
        let mut d = Concrete::new(&arrays, FUEL);
        let found = f(&mut d, &Table { crd: BufferId(1), table: BufferId(2), size: self.table.len() as i64 });
        d.fault().map_or(Ok(found), Err)
    }
}

/// *Finding is scanning*: an entry is found exactly if the parent's fiber holds the coordinate, at its position.
pub fn find_is_a_scan(level: &Hashed, parent: i64, at: i64) -> Result<(), Broken> {
    let fiber = level.pos[parent as usize]..level.pos[parent as usize + 1];
    let wanted = fiber.into_iter().find(|p| level.crd[*p as usize] == at);
    let (found, position) = level.with(|d, table| {
        let (begin, end) = bounds(d, BufferId(0), &parent);
        table.find(d, "p", &parent, &ListFiber::unique(BufferId(1), begin, end), &at)
    })?;
    match wanted {
        Some(p) if !found || position != p => Err("an entry is not found where it is"),
        None if found => Err("an entry is found that is not there"),
        _ => Ok(()),
    }
}

/// *A new entry's place* is free, and none before it from the entry's slot on is.
pub fn free_is_the_first_free(level: &Hashed, parent: i64, at: i64) -> Result<(), Broken> {
    let mut wanted = hash::slot(parent, at, level.table.len() as i64) as usize;
    while level.table[wanted] >= 0 {
        wanted = (wanted + 1) % level.table.len();
    }
    let place = level.with(|d, table| table.free(d, &parent, &at))?;
    if place == wanted as i64 { Ok(()) } else { Err("it is not the first free place") }
}

/// Every law of the table on one choice of data.
pub fn table_laws(c: &mut impl Choose) {
    let level = Hashed::choose(c);
    let (parent, at) = (c.flag() as i64, c.upto(EXTENT) as i64);
    assert_eq!(find_is_a_scan(&level, parent, at), Ok(()));
    assert_eq!(free_is_the_first_free(&level, parent, at), Ok(()));
}

/// Bounds: two parents, at most 4 entries below 6 in all, 8 places, every parent and coordinate up to 6.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn hashed_laws() {
    table_laws(&mut crate::choose::Any);
}

/// Bounds: fibers of at most 4 positions below 6, repeating or not, every start, every target up to 6; loops unwound 65 times.
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
    fn hashed_laws() {
        let runs = every(table_laws);
        assert!(runs > 1000, "only {runs} choices");
    }

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
