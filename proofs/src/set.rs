//! Laws of sets of coordinates, `core::stream::Set`, on their `Concrete` reading.
//!
//! Data of a law: up to [`INSERTED`] insertions, each of one coordinate or of it and some behind it, among coordinates that stand at the
//! borders of words, of words of words and of blocks.

use crate::choose::Choose;
use crate::stream::Broken;
use fiberloom_loops::stream::{Concrete, Set, written};
use std::cell::Cell;
use std::collections::BTreeSet;

/// Most insertions.
pub const INSERTED: usize = 3;

/// Coordinates are below this: there are two blocks.
pub const EXTENT: i64 = 32_832;

/// Where coordinates stand: the first, the ends of a word, of a word of words, and of a block.
const BORDERS: [i64; 8] = [0, 62, 63, 64, 4095, 4096, 32_767, 32_768];

/// How many coordinates behind one are inserted with it.
const DISTANCES: [Option<i64>; 4] = [None, Some(0), Some(3), Some(62)];

/// Turns that all loops may take together.
const FUEL: u32 = 4096;

/// The arrays of a set.
const SET: Set = Set { bits: written(0), words: written(1), blocks: written(2) };

/// The operations that laws are about; the compiler's, or a wrong one that a law must catch.
#[derive(Clone, Copy)]
pub struct Operations {
    /// Whether a coordinate is not in the set.
    pub absent: fn(&mut Concrete, i64) -> bool,
    /// Inserts one that is not.
    pub insert: fn(&mut Concrete, i64),
    /// Inserts a coordinate and those behind it.
    pub insert_all: fn(&mut Concrete, i64, i64),
    /// Removes all.
    pub drain: fn(&mut Concrete) -> Vec<i64>,
}

/// What the compiler emits.
pub const COMPILED: Operations = Operations {
    absent: |d, at| SET.absent(d, &at),
    insert: |d, at| SET.insert(d, &at),
    insert_all: |d, first, distance| SET.insert_all(d, &first, &distance),
    drain,
};

fn drain(d: &mut Concrete) -> Vec<i64> {
    let mut all = vec![];
    SET.drain(d, "at", &mut |_, at| all.push(at));
    all
}

/// The same, two by two.
fn drain_pairs(d: &mut Concrete) -> Vec<i64> {
    let mut all = vec![];
    SET.drain_pairs(d, &mut |_, at, there| all.extend(there.unwrap_or(true).then_some(at)));
    all
}

/// An insertion: a coordinate, and how many behind it come with it.
type Insertion = (i64, Option<i64>);

/// *A set is what was inserted*: a coordinate is absent exactly until it is inserted, and what is drained is every coordinate that was,
/// once, ascending; *a set is as it was*: drained, its arrays are clear, so that it serves again.
pub fn a_set_is_what_was_inserted(insertions: &[Insertion], ops: Operations) -> Result<(), Broken> {
    let room = Set::SHIFTS.map(|shift| vec![Cell::new(0); ((EXTENT + (1 << shift) - 1) >> shift) as usize]);
    let arrays = room.each_ref().map(|cells| &cells[..]);
    let mut d = Concrete::new(&[], FUEL).over(&arrays);
    for drain in [ops.drain, drain_pairs] {
        let mut inserted = BTreeSet::new();
        for (at, distance) in insertions {
            match distance {
                None => {
                    let absent = (ops.absent)(&mut d, *at);
                    if absent != inserted.insert(*at) {
                        return Err("what is absent was inserted, or what was not is there");
                    }
                    if absent {
                        (ops.insert)(&mut d, *at);
                    }
                }
                Some(distance) => {
                    (ops.insert_all)(&mut d, *at, *distance);
                    inserted.extend(*at..=at + distance);
                }
            }
        }
        let drained = drain(&mut d);
        d.fault().map_or(Ok(()), Err)?;
        if drained != inserted.into_iter().collect::<Vec<_>>() {
            return Err("what is drained is not what was inserted, ascending");
        }
        if room.iter().flatten().any(|cell| cell.get() != 0) {
            return Err("something is left in a set");
        }
    }
    Ok(())
}

fn insertions(c: &mut impl Choose) -> Vec<Insertion> {
    let count = c.upto(INSERTED);
    let mut one = || {
        let (at, distance) = (BORDERS[c.upto(BORDERS.len() - 1)], DISTANCES[c.upto(DISTANCES.len() - 1)]);
        // What comes with the last stays in the extent.
        (at, distance.map(|distance| distance.min(EXTENT - 1 - at)))
    };
    (0..count).map(|_| one()).collect()
}

/// The law on one choice of data.
pub fn laws(c: &mut impl Choose) {
    let insertions = insertions(c);
    assert_eq!(a_set_is_what_was_inserted(&insertions, COMPILED), Ok(()), "{insertions:?}");
}

/// Bounds: three insertions at eight borders of words and blocks, of one coordinate or of up to 63; loops unwound 4,097 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(4098)]
fn set_laws() {
    laws(&mut crate::choose::Any);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_few_insertions() {
        let runs = every(laws);
        assert!(runs > 30_000, "only {runs} choices");
    }

    /// Sets that are wrong in one thing each.
    pub fn wrong() -> Vec<Wrong> {
        let wrong: [(&str, Operations); 7] = [
            ("what is inserted is not noted in the words of words", Operations { insert: only_bits, ..COMPILED }),
            ("of those behind only those of one word are inserted", Operations { insert_all: one_word, ..COMPILED }),
            ("the last of those behind is left out", Operations { insert_all: one_less, ..COMPILED }),
            ("whatever is asked is absent", Operations { absent: |_, _| true, ..COMPILED }),
            ("it is asked one coordinate on", Operations { absent: |d, at| SET.absent(d, &(at ^ 1)), ..COMPILED }),
            ("what is drained is drained in turn", Operations { drain: turned, ..COMPILED }),
            ("the first that is drained stays", Operations { drain: one_stays, ..COMPILED }),
        ];
        let on_all = |(what, ops): (&str, Operations)| {
            Wrong::on_all("a set", what, |c| {
                a_set_is_what_was_inserted(&insertions(c), ops).err().into_iter().collect::<Vec<_>>()
            })
        };
        wrong.into_iter().map(on_all).collect()
    }

    fn only_bits(d: &mut Concrete, at: i64) {
        // The first word of words stands for the bits of every other.
        Set { words: SET.blocks, ..SET }.insert(d, &at);
    }

    fn one_word(d: &mut Concrete, first: i64, distance: i64) {
        SET.insert_all(d, &first, &distance.min(63 - first % 64));
    }

    fn one_less(d: &mut Concrete, first: i64, distance: i64) {
        SET.insert_all(d, &first, &(distance - 1).max(0));
    }

    fn one_stays(d: &mut Concrete) -> Vec<i64> {
        let all = drain(d);
        all.first().iter().for_each(|at| SET.insert(d, at));
        all
    }

    fn turned(d: &mut Concrete) -> Vec<i64> {
        let mut all = drain(d);
        all.reverse();
        all
    }
}
