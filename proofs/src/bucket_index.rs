//! Laws of bucket indices of lists, `core::stream::BucketIndex`, and of lists that look themselves up in one, on their `Concrete` reading.
//!
//! Data of a law: a fiber of up to [`POSITIONS`] positions below an extent of up to [`EXTENT`], each coordinate once, in the middle of a
//! longer array, and stretches of every length from one coordinate to more than there are.

use crate::choose::Choose;
use crate::stream::{Broken, Fiber, LISTS, Operations as Moves};
use fiberloom_loops::stream::{BucketIndex, Concrete, Domain, List, ListFiber, TABLE, View};

/// Most positions of a fiber.
pub const POSITIONS: usize = 4;
/// Extents are up to this.
pub const EXTENT: usize = 6;
/// A bucket index that knows its extent is asked this far behind it.
const BEHIND: usize = 3;
/// The logarithm of the longest stretch: one that holds all.
const LONGEST: usize = 3;
/// Turns that all loops may take together.
const FUEL: u32 = 64;

/// The operations that laws are about; the compiler's, or a wrong one that a law must catch.
#[derive(Clone, Copy)]
pub struct Operations {
    /// The logarithm of a stretch, of an extent and of how many there may be.
    pub shift: fn(&mut Concrete, i64, i64) -> i64,
    /// Writes the bucket index of a list of an extent.
    pub make: fn(&mut Concrete, &BucketIndex<i64>, ListFiber<i64>, i64),
    /// What a list that has a bucket index is.
    pub with: fn(ListFiber<i64>, BucketIndex<i64>) -> ListFiber<i64>,
}

/// What the compiler emits.
pub const BUCKET_INDEX: Operations = Operations {
    shift: |d, extent, most| BucketIndex::shift(d, &extent, &most),
    make: |d, bucket_index, list, extent| bucket_index.make(d, "p", list, &extent),
    with: |list, bucket_index| ListFiber { bucket_index: Some(bucket_index), ..list },
};

/// *Stretches are as short as may be*: so that there are no more than `most` of them below the extent, and one less would be more.
pub fn stretches_are_short(extent: i64, most: i64, ops: Operations) -> Result<(), Broken> {
    let mut d = Concrete::new(&[], FUEL);
    let shift = (ops.shift)(&mut d, extent, most);
    d.fault().map_or(Ok(()), Err)?;
    if !(0..64).contains(&shift) || extent >> shift > most {
        return Err("there are too many stretches");
    }
    if shift > 0 && extent >> (shift - 1) <= most { Err("stretches are too long") } else { Ok(()) }
}

/// A fiber with what its bucket index is made of.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The fiber.
    pub fiber: Fiber,
    /// Its coordinates are below this.
    pub extent: usize,
    /// The logarithm of a stretch.
    pub shift: usize,
    /// Whether the bucket index knows the extent.
    pub known: bool,
}

impl Listed {
    /// A fiber in which each coordinate stands once.
    fn unique(c: &mut impl Choose) -> Listed {
        let extent = c.upto(EXTENT);
        Listed { fiber: Fiber::of(c, POSITIONS, extent, false), extent, shift: c.upto(LONGEST), known: c.flag() }
    }

    /// The last coordinate that it may be asked for.
    fn last(&self) -> usize {
        if self.known { self.extent + BEHIND } else { self.extent }
    }

    /// Its bucket index, made in a table that has just as many places as it is to have.
    fn made<'a>(&self, arrays: &'a [&'a [i64]], ops: Operations) -> (Concrete<'a>, ListFiber<i64>) {
        let (extent, shift) = (self.extent as i64, self.shift as i64);
        let places = BucketIndex::places(&mut Concrete::new(&[], FUEL), &extent, &shift);
        let mut d = Concrete::new(arrays, FUEL).with_table(places as usize);
        let bucket_index = BucketIndex { table: TABLE, shift, extent: self.known.then_some(extent) };
        (ops.make)(&mut d, &bucket_index, self.fiber.from(1), extent);
        (d, (ops.with)(self.fiber.from(1), bucket_index))
    }
}

/// *Each stretch begins where it says*: every place has the first position whose coordinate is not before it, the last one that of the
/// extent's stretch; and all is in bounds.
pub fn stretches_begin_there(of: &Listed, ops: Operations) -> Result<(), Broken> {
    let arrays = [of.fiber.array()];
    let (d, _) = of.made(&arrays, ops);
    d.fault().map_or(Ok(()), Err)?;
    let first = |stretch: usize| of.fiber.first_from((stretch << of.shift) as i64).begin as i64;
    let wanted: Vec<i64> = (0..=of.extent >> of.shift).map(first).collect();
    if d.table() == wanted { Ok(()) } else { Err("a stretch does not begin where it says") }
}

/// *A bucket index changes nothing*: from each entry to each coordinate, up to the extent itself, and behind it where the bucket index knows
/// it, a list with a bucket index comes to where one without does, however it moves; so does one that is opened where a view begins, with
/// a finger or without; and one that ends early does not leave its end.
pub fn a_bucket_index_changes_nothing(
    of: &Listed,
    [start, target]: [usize; 2],
    ops: Operations,
    moves: Moves,
) -> Result<(), Broken> {
    let fiber = &of.fiber;
    let (arrays, target) = ([fiber.array()], target as i64);
    let (mut d, list) = of.made(&arrays, ops);
    let d = &mut d;
    let wanted = fiber.first_from(target).begin as i64;
    let rests = |d: &mut Concrete, list: &List<i64>, at: i64, broken| {
        let there = list.entry(d).position == at;
        d.fault().map_or(if there { Ok(()) } else { Err(broken) }, Err)
    };

    let walked = List::open(d, "p", list.clone());
    (0..start).for_each(|_| walked.next(d));
    let from = walked.entry(d).position;
    (moves.seek)(&walked, d, target);
    rests(d, &walked, wanted.max(from), "a list with a bucket index comes to elsewhere")?;

    let view = View { start: Some(target), ..View::default() };
    let opened = List::open(d, "p", ListFiber { view: view.clone(), ..list.clone() });
    rests(d, &opened, wanted, "one that is opened within does not begin there")?;
    let finger = d.state("p", from);
    let opened = List::open(d, "p", ListFiber { view: View { finger: Some(finger), ..view }, ..list.clone() });
    rests(d, &opened, wanted.max(from), "a finger is not moved there")?;

    let whole = List::open(d, "p", list);
    let (end, part) = (whole.entry(d).position + start as i64, whole.upto(d, start as i64));
    (moves.seek)(&part, d, target);
    rests(d, &part, wanted.min(end), "a part of a list is left")
}

/// *Leaps too*: from an entry before a coordinate.
pub fn leaps_land_there(of: &Listed, target: usize, ops: Operations) -> Result<(), Broken> {
    let (arrays, target) = ([of.fiber.array()], target as i64);
    let (mut d, list) = of.made(&arrays, ops);
    let list = List::open(&mut d, "p", list);
    if list.index_or(&mut d, target) < target {
        list.leap(&mut d, &target);
        if list.entry(&mut d).position != of.fiber.first_from(target).begin as i64 {
            return Err("a leap does not land there");
        }
    }
    d.fault().map_or(Ok(()), Err)
}

/// Every law, on one choice of data.
pub fn laws(c: &mut impl Choose) {
    let of = Listed::unique(c);
    let (start, target) = (c.upto(POSITIONS), c.upto(of.last()));
    assert_eq!(stretches_begin_there(&of, BUCKET_INDEX), Ok(()), "{of:?}");
    for moves in LISTS {
        assert_eq!(
            a_bucket_index_changes_nothing(&of, [start, target], BUCKET_INDEX, moves),
            Ok(()),
            "{of:?} {start} {target}"
        );
    }
    assert_eq!(leaps_land_there(&of, target, BUCKET_INDEX), Ok(()), "{of:?} {target}");
}

/// An extent of any size: a power of two, one less or one more; and any number of stretches from none to nine.
fn sizes(c: &mut impl Choose) -> (i64, i64) {
    let (power, beside, most) = (c.upto(62), c.upto(2), c.upto(9));
    (((1i64 << power) - 1).saturating_add(beside as i64), most as i64)
}

/// How long stretches are, on one choice of sizes.
pub fn shift_laws(c: &mut impl Choose) {
    let (extent, most) = sizes(c);
    assert_eq!(stretches_are_short(extent, most, BUCKET_INDEX), Ok(()), "{extent} {most}");
}

/// Bounds: a list of at most 4 entries below an extent of at most 6, stretches of 1, 2, 4 or 8 coordinates, any entry and any target
/// up to the extent, or up to three behind it where the bucket index knows it; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn bucket_index_laws() {
    laws(&mut crate::choose::Any);
}

/// Bounds: extents of 2^k and beside them, k up to 62, and from none to nine stretches; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn bucket_index_shift_laws() {
    shift_laws(&mut crate::choose::Any);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_list_and_stretch() {
        let runs = every(laws);
        assert!(runs > 30_000, "only {runs} choices");
    }

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_extent() {
        assert_eq!(every(shift_laws), 63 * 3 * 10);
    }

    const WRONG_STRETCHES: [(&str, Operations); 2] = [
        (
            "there is a stretch too many",
            Operations { shift: |d, n, most| BucketIndex::shift(d, &n, &(most + 1)), ..BUCKET_INDEX },
        ),
        (
            "there are half as many stretches as may be",
            Operations { shift: |d, n, most| BucketIndex::shift(d, &n, &(most / 2)), ..BUCKET_INDEX },
        ),
    ];

    /// Directories that are wrong in one thing each.
    pub fn wrong() -> Vec<Wrong> {
        let wrong: [(&str, Operations); 5] = [
            (
                "the first entry is in no stretch",
                Operations {
                    make: |d, bucket_index, f, extent| {
                        (BUCKET_INDEX.make)(d, bucket_index, ListFiber { begin: (f.begin + 1).min(f.end), ..f }, extent)
                    },
                    ..BUCKET_INDEX
                },
            ),
            (
                "the last stretch has no place",
                Operations {
                    make: |d, bucket_index, f, extent| bucket_index.make(d, "p", f, &(extent - 1)),
                    ..BUCKET_INDEX
                },
            ),
            (
                "who looks it up takes stretches for shorter",
                Operations {
                    with: |f, bucket_index| {
                        let shift = (bucket_index.shift - 1).max(0);
                        ListFiber { bucket_index: Some(BucketIndex { shift, ..bucket_index }), ..f }
                    },
                    ..BUCKET_INDEX
                },
            ),
            (
                "who looks it up goes behind the extent",
                Operations {
                    with: |f, bucket_index| ListFiber {
                        bucket_index: Some(BucketIndex { extent: None, ..bucket_index }),
                        ..f
                    },
                    ..BUCKET_INDEX
                },
            ),
            (
                "who looks it up takes the extent for greater",
                Operations {
                    with: |f, bucket_index| {
                        let extent = bucket_index.extent.map(|extent| extent + 1);
                        ListFiber { bucket_index: Some(BucketIndex { extent, ..bucket_index }), ..f }
                    },
                    ..BUCKET_INDEX
                },
            ),
        ];
        let of = "a list with a bucket index";
        let lists = wrong.map(|(what, ops)| Wrong::on_all(of, what, |c| broken_on_lists(c, ops)));
        let sizes = WRONG_STRETCHES.map(|(what, ops)| Wrong::on_all(of, what, |c| broken_on_sizes(c, ops)));
        lists.into_iter().chain(sizes).collect()
    }

    fn broken_on_lists(c: &mut impl Choose, ops: Operations) -> Vec<Broken> {
        let of = Listed::unique(c);
        let (start, target) = (c.upto(POSITIONS), c.upto(of.last()));
        let moved = LISTS.map(|moves| a_bucket_index_changes_nothing(&of, [start, target], ops, moves));
        let others = [stretches_begin_there(&of, ops), leaps_land_there(&of, target, ops)];
        let mut said: Vec<Broken> = moved.into_iter().chain(others).filter_map(Result::err).collect();
        said.sort();
        said.dedup();
        said
    }

    fn broken_on_sizes(c: &mut impl Choose, ops: Operations) -> Vec<Broken> {
        let (extent, most) = sizes(c);
        stretches_are_short(extent, most, ops).err().into_iter().collect()
    }
}
