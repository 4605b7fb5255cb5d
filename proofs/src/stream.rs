//! Laws of the stream of a list level's fiber, `core::stream::List`, and of finding entries of hashed levels,
//! `core::stream::Table`, on their `Concrete` reading.
//!
//! Data of a law: a fiber of up to [`POSITIONS`] positions with coordinates below [`EXTENT`], each once or repeating,
//! at a place in longer arrays, so that reading beside the fiber is seen. Sources: the streams paper, section 5 (lawful, strictly monotonic);
//! that `seek` equals repeated `next`, termination and bounds are this project's.

use crate::choose::Choose;
use fiberloom_core::format::hash;
use fiberloom_loops::BufferId;
use fiberloom_loops::stream::{Concrete, Domain, EntryRun, List, ListFiber, Table, bounds, each};

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
pub(crate) struct Run {
    /// Its first position.
    pub begin: usize,
    end: usize,
}

impl Fiber {
    /// Whether an entry may be several positions.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// Any fiber within the bounds.
    pub fn choose(c: &mut impl Choose) -> Fiber {
        Fiber::within(c, POSITIONS, EXTENT)
    }

    /// Any of so many positions at most, below an extent: for each coordinate, whether it is there, and whether twice or
    /// more.
    pub fn within(c: &mut impl Choose, positions: usize, extent: usize) -> Fiber {
        let repeats = c.flag();
        Fiber::of(c, positions, extent, repeats)
    }

    /// The same, where it is known whether coordinates may repeat.
    pub fn of(c: &mut impl Choose, positions: usize, extent: usize, repeats: bool) -> Fiber {
        let mut fiber = Fiber { crd: [0; POSITIONS + 2], len: 0, repeats };
        for i in 0..extent {
            while fiber.len < positions && c.flag() {
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

    /// What is left of it from a position on, as a level describes it; its coordinates are in buffer 0.
    pub fn from(&self, begin: i64) -> ListFiber<i64> {
        ListFiber { repeats: self.repeats, ..ListFiber::unique(BufferId(0), begin, 1 + self.len as i64) }
    }

    /// The array that it lies in.
    pub fn array(&self) -> &[i64] {
        &self.crd
    }

    /// The same, up to the entry behind it.
    pub fn and_beside(&self) -> &[i64] {
        &self.crd[..self.len + 2]
    }

    /// The coordinate of each entry and its positions.
    pub fn entries(&self) -> impl Iterator<Item = (i64, std::ops::Range<usize>)> {
        let next = |run: &Run| self.run(run.end);
        let runs = std::iter::successors(Some(self.run(1)), move |run| Some(next(run)));
        runs.take_while(|run| run.begin <= self.len).map(|run| (self.crd[run.begin], run.begin..run.end))
    }

    /// The entry that begins at the first position at or after `target`, if there is one: the definition that `seek`
    /// is held to.
    pub(crate) fn first_from(&self, target: i64) -> Run {
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
    Run { begin, end: entry.run.map_or(begin + valid as usize, |run| run.end(d) as usize) }
}

/// The operations that laws are about; the compiler's, or a wrong one that a law must catch.
#[derive(Clone, Copy)]
pub struct Operations {
    /// To the next entry.
    pub next: fn(&List<i64>, &mut Concrete),
    /// To the next entry where a condition holds.
    pub next_if: fn(&List<i64>, &mut Concrete, bool),
    /// To the first entry at or after a coordinate.
    pub seek: fn(&List<i64>, &mut Concrete, i64),
    /// Whether it rests on an entry at a coordinate.
    pub found: fn(&List<i64>, &mut Concrete, i64) -> bool,
    /// The entry's coordinate, or at the end another.
    pub index_or: fn(&List<i64>, &mut Concrete, i64) -> i64,
}

/// What the compiler emits, with seeks by binary search.
pub const LIST: Operations = Operations {
    next: |l, d| l.next(d),
    next_if: |l, d, c| l.next_if(d, &c),
    seek: |l, d, i| l.seek(d, &i),
    found: |l, d, i| l.found(d, &i),
    index_or: |l, d, i| l.index_or(d, i),
};
/// What the compiler emits for targets that ascend.
const LIST_CATCHING_UP: Operations = Operations { seek: |l, d, i| l.catch_up(d, &i), ..LIST };
/// What the compiler emits for targets that ascend about as fast as the list does.
const LIST_COMING_NEAR: Operations = Operations { seek: |l, d, i| l.come_near(d, &i), ..LIST };
/// What the compiler emits where a list gallops.
const LIST_GALLOPING: Operations = Operations { seek: |l, d, i| l.gallop(d, &i), ..LIST };

/// All that it emits.
pub const LISTS: [Operations; 4] = [LIST, LIST_CATCHING_UP, LIST_COMING_NEAR, LIST_GALLOPING];

/// What a law says when it is broken.
pub type Broken = &'static str;

/// *Termination* and *positions in bounds* are part of every law: what breaks them is a fault of the domain, and comes
/// before what else is wrong.
fn with(fiber: &Fiber, law: impl FnOnce(&mut Concrete, &List<i64>) -> Result<(), Broken>) -> Result<(), Broken> {
    let arrays: [&[i64]; 1] = [&fiber.crd];
    let mut d = Concrete::new(&arrays, FUEL);
    let list = List::open(&mut d, "p", fiber.from(1));
    let held = law(&mut d, &list);
    d.fault().map_or(held, Err)
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
        if (ops.found)(list, d, target) != there {
            return Err("found says otherwise than the entry");
        }
        Ok(())
    })
}

/// The positions of every entry that may have several, as who stands below it comes to them: that finds where it ends.
pub fn positions<D: Domain>(d: &mut D, list: &List<D::I>, visit: &mut dyn FnMut(&mut D, D::I)) {
    d.repeat(&|d| list.valid(d), &mut |d| {
        let entry = list.entry(d);
        if let Some(EntryRun::Open(run)) = entry.run {
            let below = ListFiber::of_run(list.coordinates(), run, entry.position);
            each(d, "q", &below, &mut |d, entry, _| visit(d, entry.position));
        }
        list.next(d);
    });
}

/// *Runs are walked*: what stands below comes to each position of each entry once, in order, and the list goes on behind; whether
/// or not someone has asked for the first entry's end before.
pub fn runs_are_walked(fiber: &Fiber, asked: bool) -> Result<(), Broken> {
    with(fiber, |d, list| {
        let mut seen = vec![];
        if let Some(run) = list.entry(d).run.filter(|_| asked) {
            run.end(d);
        }
        positions(d, list, &mut |_, position| seen.push(position as usize));
        let wanted = if fiber.repeats { 1..fiber.len + 1 } else { 0..0 };
        if seen == wanted.collect::<Vec<_>>() { Ok(()) } else { Err("a run is not walked") }
    })
}

/// *Conditional advance*: `next_if(true)` is `next`, `next_if(false)` is nothing.
pub fn next_if_is_next_or_nothing(fiber: &Fiber, condition: bool, ops: Operations) -> Result<(), Broken> {
    with(fiber, |d, list| {
        if !list.valid(d) {
            return Ok(());
        }
        let before = resting(list, d);
        (ops.next_if)(list, d, condition);
        let wanted = if condition { fiber.run(before.end) } else { before };
        if resting(list, d) == wanted { Ok(()) } else { Err("it moved otherwise") }
    })
}

/// *At the end*, an index is the one that was asked for instead, and nothing is loaded.
pub fn exhausted_reads_as_asked(fiber: &Fiber, ops: Operations) -> Result<(), Broken> {
    with(fiber, |d, list| {
        while list.valid(d) {
            list.next(d);
        }
        if (ops.index_or)(list, d, i64::MAX) == i64::MAX { Ok(()) } else { Err("it reads behind its end") }
    })
}

/// Every law of the list on one choice of data.
pub fn laws(c: &mut impl Choose) {
    let fiber = Fiber::choose(c);
    let start = c.upto(fiber.len);
    let target = c.upto(EXTENT) as i64;
    for ops in LISTS {
        assert_eq!(visits_every_entry_once(&fiber, ops), Ok(()));
        assert_eq!(seek_is_repeated_next(&fiber, start, target, ops), Ok(()));
    }
    assert_eq!(next_if_is_next_or_nothing(&fiber, target & 1 == 1, LIST), Ok(()));
    assert_eq!(exhausted_reads_as_asked(&fiber, LIST), Ok(()));
    assert_eq!(runs_are_walked(&fiber, target & 1 == 1), Ok(()));
}

/// The longest list that is searched.
const FAR: usize = 48;

/// *A search finds what a scan finds*, however far it is. A search of a list that repeats nothing only compares, so that what it does depends
/// on how long the list is and where in it the target stands: the coordinates 1, 3, 5 and so on stand for all others.
pub fn search_is_a_scan(len: usize, target: i64, ops: Operations) -> Result<(), Broken> {
    let mut crd = [0; FAR];
    (0..FAR).for_each(|p| crd[p] = 2 * p as i64 + 1);
    let arrays: [&[i64]; 1] = [&crd[..len]];
    let mut d = Concrete::new(&arrays, FUEL);
    let list = List::open(&mut d, "p", ListFiber::unique(BufferId(0), 0, len as i64));
    (ops.seek)(&list, &mut d, target);
    let wanted = (target / 2).min(len as i64);
    let landed = list.entry(&mut d).position == wanted;
    d.fault().map_or(if landed { Ok(()) } else { Err("a search does not land where a scan does") }, Err)
}

/// Every way to search, on one choice of a length and a target.
pub fn search_laws(c: &mut impl Choose) {
    let (len, target) = (c.upto(FAR), c.upto(2 * FAR + 1) as i64);
    LISTS.into_iter().for_each(|ops| assert_eq!(search_is_a_scan(len, target, ops), Ok(())));
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

/// Finding and placing entries; the compiler's, or a wrong one. Arguments are the parent and the coordinate.
#[derive(Clone, Copy)]
pub struct Lookup {
    /// Whether there is an entry, and its position.
    pub find: fn(&Table<i64>, &mut Concrete, i64, i64) -> (bool, i64),
    /// The place for a new one.
    pub free: fn(&Table<i64>, &mut Concrete, i64, i64) -> i64,
}

/// What the compiler emits.
pub const TABLE: Lookup = Lookup {
    find: |table, d, parent, at| {
        let (begin, end) = bounds(d, BufferId(0), &parent);
        table.find(d, "p", &parent, &ListFiber::unique(BufferId(1), begin, end), &at)
    },
    free: |table, d, parent, at| table.free(d, &parent, &at),
};

/// *Finding is scanning*: an entry is found exactly if the parent's fiber holds the coordinate, at its position.
pub fn find_is_a_scan(level: &Hashed, parent: i64, at: i64, lookup: Lookup) -> Result<(), Broken> {
    let fiber = level.pos[parent as usize]..level.pos[parent as usize + 1];
    let wanted = fiber.into_iter().find(|p| level.crd[*p as usize] == at);
    let (found, position) = level.with(|d, table| (lookup.find)(table, d, parent, at))?;
    match wanted {
        Some(p) if !found || position != p => Err("an entry is not found where it is"),
        None if found => Err("an entry is found that is not there"),
        _ => Ok(()),
    }
}

/// *A new entry's place* is free, and none before it from the entry's slot on is.
pub fn free_is_the_first_free(level: &Hashed, parent: i64, at: i64, lookup: Lookup) -> Result<(), Broken> {
    let mut wanted = hash::slot(parent, at, level.table.len() as i64) as usize;
    while level.table[wanted] >= 0 {
        wanted = (wanted + 1) % level.table.len();
    }
    let place = level.with(|d, table| (lookup.free)(table, d, parent, at))?;
    if place == wanted as i64 { Ok(()) } else { Err("it is not the first free place") }
}

/// Every law of the table on one choice of data.
pub fn table_laws(c: &mut impl Choose) {
    let level = Hashed::choose(c);
    let (parent, at) = (c.flag() as i64, c.upto(EXTENT) as i64);
    assert_eq!(find_is_a_scan(&level, parent, at, TABLE), Ok(()));
    assert_eq!(free_is_the_first_free(&level, parent, at, TABLE), Ok(()));
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

/// Bounds: lists of at most 48 entries, every target; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn list_search_laws() {
    search_laws(&mut crate::choose::Any);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;
    use fiberloom_loops::stream::Domain;

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

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn list_search_laws() {
        let runs = every(search_laws);
        assert!(runs > 1000, "only {runs} choices");
    }

    /// Lists and tables that are wrong in one thing each.
    pub fn wrong() -> Vec<Wrong> {
        [wrong_lists(), wrong_tables()].into_iter().flatten().collect()
    }

    fn said(law: Result<(), Broken>) -> Vec<Broken> {
        law.err().into_iter().collect()
    }

    fn wrong_lists() -> Vec<Wrong> {
        let visits =
            |what: &str, ops| Wrong::on_all("a list", what, |c| said(visits_every_entry_once(&Fiber::choose(c), ops)));
        let seeks = |what: &str, ops| {
            Wrong::on_all("a list", what, |c| {
                let fiber = Fiber::choose(c);
                let start = c.upto(fiber.len);
                said(seek_is_repeated_next(&fiber, start, c.upto(EXTENT) as i64, ops))
            })
        };
        let two_steps = |l: &List<i64>, d: &mut Concrete| {
            l.next(d);
            l.next(d);
        };
        let once = |l: &List<i64>, d: &mut Concrete, i| {
            if l.valid(d) && l.index(d) < i {
                l.next(d);
            }
        };
        let unchecked = |l: &List<i64>, d: &mut Concrete, i| {
            d.repeat(&|d| l.index(d) < i, &mut |d| l.next(d));
        };
        let waiting = |l: &List<i64>, d: &mut Concrete, i| {
            d.repeat(&|d| l.valid(d) && l.index(d) < i, &mut |_| {});
        };
        let near = |l: &List<i64>, d: &mut Concrete, i| {
            (0..8).for_each(|_| {
                if l.valid(d) && l.index(d) < i {
                    l.next(d)
                }
            });
        };
        let searches = |what: &str, ops| {
            Wrong::on_all("a list", what, |c| said(search_is_a_scan(c.upto(FAR), c.upto(2 * FAR + 1) as i64, ops)))
        };
        let always = Operations { next_if: |l, d, _| l.next(d), ..LIST };
        let behind = Operations { index_or: |l, d, _| l.index(d), ..LIST };
        vec![
            visits("next takes two steps", Operations { next: two_steps, ..LIST }),
            visits("next rests", Operations { next: |_, _| {}, ..LIST }),
            Wrong::on_all("a list", "next_if moves under no condition", |c| {
                said(next_if_is_next_or_nothing(&Fiber::choose(c), c.flag(), always))
            }),
            seeks("seek goes beyond", Operations { seek: |l, d, i| l.seek(d, &(i + 1)), ..LIST }),
            seeks("seek falls short", Operations { seek: |l, d, i| l.seek(d, &(i - 1)), ..LIST }),
            seeks("seek takes one step", Operations { seek: once, ..LIST }),
            seeks("seek does not ask for the end", Operations { seek: unchecked, ..LIST }),
            searches("seek comes to the next few", Operations { seek: near, ..LIST }),
            seeks("seek waits", Operations { seek: waiting, ..LIST }),
            seeks("found does not ask for the end", Operations { found: |l, d, i| l.index(d) == i, ..LIST }),
            Wrong::on_all("a list", "index_or does not ask for the end", |c| {
                said(exhausted_reads_as_asked(&Fiber::choose(c), behind))
            }),
        ]
    }

    fn wrong_tables() -> Vec<Wrong> {
        let looks = |what: &str, lookup: Lookup| {
            Wrong::on_all("a table", what, |c| {
                let level = Hashed::choose(c);
                let (parent, at) = (c.flag() as i64, c.upto(EXTENT) as i64);
                let found = find_is_a_scan(&level, parent, at, lookup);
                said(found.and_then(|()| free_is_the_first_free(&level, parent, at, lookup)))
            })
        };
        let any_parent = Lookup {
            find: |t, d, parent, at| t.find(d, "p", &parent, &ListFiber::unique(BufferId(1), 0, 9), &at),
            ..TABLE
        };
        let slot = |t: &Table<i64>, d: &mut Concrete, parent, at| {
            let slot = hash::slot(parent, at, t.size);
            let position = d.load(t.table, &slot);
            let (begin, end) = bounds(d, BufferId(0), &parent);
            let here = begin <= position && position < end && d.load(t.crd, &position) == at;
            (here, position)
        };
        let taken = Lookup { free: |t, _, parent, at| hash::slot(parent, at, t.size), ..TABLE };
        let larger = |t: &Table<i64>, d: &mut Concrete, parent, at| {
            (TABLE.find)(&Table { size: 2 * t.size, ..t.clone() }, d, parent, at)
        };
        vec![
            looks("another parent's entry is taken for one's own", any_parent),
            looks("an entry is looked for in its own slot alone", Lookup { find: slot, ..TABLE }),
            looks("a new entry is put where another is", taken),
            looks("the table is taken for a larger one", Lookup { find: larger, ..TABLE }),
        ]
    }
}
