//! Laws of directories of lists, `core::stream::Directory`, and of lists that look themselves up in one, on their `Concrete` reading.
//!
//! Data of a law: a fiber of up to [`POSITIONS`] positions below [`EXTENT`], each coordinate once, in the middle of a longer array, and
//! stretches of every length from one coordinate to more than there are.

use crate::choose::Choose;
use crate::stream::{Broken, Fiber, LISTS, Operations as Moves};
use fiberloom_core::stream::{Concrete, Directory, Domain, List, ListFiber, TABLE, View};

/// Most positions of a fiber.
pub const POSITIONS: usize = 4;
/// Coordinates are below this.
pub const EXTENT: usize = 6;
/// The logarithm of the longest stretch: one that holds all.
const LONGEST: usize = 3;
/// Turns that all loops may take together.
const FUEL: u32 = 64;

/// The operations that laws are about; the compiler's, or a wrong one that a law must catch.
#[derive(Clone, Copy)]
pub struct Operations {
    /// The logarithm of a stretch, of an extent and of how many there may be.
    pub shift: fn(&mut Concrete, i64, i64) -> i64,
    /// Writes the directory of a list.
    pub make: fn(&mut Concrete, &Directory<i64>, ListFiber<i64>),
    /// What a list that has a directory is.
    pub with: fn(ListFiber<i64>, Directory<i64>) -> ListFiber<i64>,
}

/// What the compiler emits.
pub const DIRECTORY: Operations = Operations {
    shift: |d, extent, most| Directory::shift(d, &extent, &most),
    make: |d, directory, list| directory.make(d, "p", list, &(EXTENT as i64)),
    with: |list, directory| ListFiber { directory: Some(directory), ..list },
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

/// The fiber's directory, made in a table that has just as many places as it is to have.
fn made<'a>(arrays: &'a [&'a [i64]], fiber: &Fiber, shift: usize, ops: Operations) -> (Concrete<'a>, ListFiber<i64>) {
    let places = Directory::places(&mut Concrete::new(&[], FUEL), &(EXTENT as i64), &(shift as i64));
    let mut d = Concrete::new(arrays, FUEL).with_table(places as usize);
    let directory = Directory { table: TABLE, shift: shift as i64 };
    (ops.make)(&mut d, &directory, fiber.from(1));
    (d, (ops.with)(fiber.from(1), directory))
}

/// *Each stretch begins where it says*: every place has the first position whose coordinate is not before it, the last one that of the
/// extent's stretch; and all is in bounds.
pub fn stretches_begin_there(fiber: &Fiber, shift: usize, ops: Operations) -> Result<(), Broken> {
    let arrays = [fiber.array()];
    let (d, _) = made(&arrays, fiber, shift, ops);
    d.fault().map_or(Ok(()), Err)?;
    let wanted: Vec<i64> = (0..=EXTENT >> shift).map(|s| fiber.first_from((s << shift) as i64).begin as i64).collect();
    if d.table() == wanted { Ok(()) } else { Err("a stretch does not begin where it says") }
}

/// *A directory changes nothing*: from each entry to each coordinate, up to the extent itself, a list with a directory comes to where one
/// without does, however it moves; so does one that is opened where a view begins, with a finger or without; and one that ends early
/// does not leave its end.
pub fn a_directory_changes_nothing(
    fiber: &Fiber,
    [shift, start, target]: [usize; 3],
    ops: Operations,
    moves: Moves,
) -> Result<(), Broken> {
    let (arrays, target) = ([fiber.array()], target as i64);
    let (mut d, list) = made(&arrays, fiber, shift, ops);
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
    rests(d, &walked, wanted.max(from), "a list with a directory comes to elsewhere")?;

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
pub fn leaps_land_there(fiber: &Fiber, [shift, target]: [usize; 2], ops: Operations) -> Result<(), Broken> {
    let (arrays, target) = ([fiber.array()], target as i64);
    let (mut d, list) = made(&arrays, fiber, shift, ops);
    let list = List::open(&mut d, "p", list);
    if list.index_or(&mut d, target) < target {
        list.leap(&mut d, &target);
        if list.entry(&mut d).position != fiber.first_from(target).begin as i64 {
            return Err("a leap does not land there");
        }
    }
    d.fault().map_or(Ok(()), Err)
}

/// A fiber in which each coordinate stands once.
fn unique(c: &mut impl Choose) -> Option<Fiber> {
    Some(Fiber::within(c, POSITIONS, EXTENT)).filter(|fiber| !fiber.repeats())
}

/// Every law, on one choice of data.
pub fn laws(c: &mut impl Choose) {
    let Some(fiber) = unique(c) else { return };
    let (shift, start, target) = (c.upto(LONGEST), c.upto(POSITIONS), c.upto(EXTENT));
    assert_eq!(stretches_begin_there(&fiber, shift, DIRECTORY), Ok(()), "{fiber:?} {shift}");
    for moves in LISTS {
        let held = a_directory_changes_nothing(&fiber, [shift, start, target], DIRECTORY, moves);
        assert_eq!(held, Ok(()), "{fiber:?} {shift} {start} {target}");
    }
    assert_eq!(leaps_land_there(&fiber, [shift, target], DIRECTORY), Ok(()), "{fiber:?} {shift} {target}");
}

/// An extent of any size: a power of two, one less or one more; and any number of stretches from none to nine.
fn sizes(c: &mut impl Choose) -> (i64, i64) {
    let (power, beside, most) = (c.upto(62), c.upto(2), c.upto(9));
    (((1i64 << power) - 1).saturating_add(beside as i64), most as i64)
}

/// How long stretches are, on one choice of sizes.
pub fn shift_laws(c: &mut impl Choose) {
    let (extent, most) = sizes(c);
    assert_eq!(stretches_are_short(extent, most, DIRECTORY), Ok(()), "{extent} {most}");
}

/// Bounds: a list of at most 4 entries below 6, stretches of 1, 2, 4 or 8 coordinates, any entry and any target up to the extent;
/// loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn directory_laws() {
    laws(&mut crate::choose::Any);
}

/// Bounds: extents of 2^k and beside them, k up to 62, and from none to nine stretches; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn directory_shift_laws() {
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
        assert!(runs > 5000, "only {runs} choices");
    }

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_extent() {
        assert_eq!(every(shift_laws), 63 * 3 * 10);
    }

    const WRONG_STRETCHES: [(&str, Operations); 2] = [
        (
            "there is a stretch too many",
            Operations { shift: |d, n, most| Directory::shift(d, &n, &(most + 1)), ..DIRECTORY },
        ),
        (
            "there are half as many stretches as may be",
            Operations { shift: |d, n, most| Directory::shift(d, &n, &(most / 2)), ..DIRECTORY },
        ),
    ];

    /// Directories that are wrong in one thing each.
    pub fn wrong() -> Vec<Wrong> {
        let wrong: [(&str, Operations); 3] = [
            (
                "the first entry is in no stretch",
                Operations {
                    make: |d, directory, f| {
                        (DIRECTORY.make)(d, directory, ListFiber { begin: (f.begin + 1).min(f.end), ..f })
                    },
                    ..DIRECTORY
                },
            ),
            (
                "the last stretch has no place",
                Operations { make: |d, directory, f| directory.make(d, "p", f, &(EXTENT as i64 - 1)), ..DIRECTORY },
            ),
            (
                "who looks it up takes stretches for shorter",
                Operations {
                    with: |f, directory| {
                        let shift = (directory.shift - 1).max(0);
                        ListFiber { directory: Some(Directory { shift, ..directory }), ..f }
                    },
                    ..DIRECTORY
                },
            ),
        ];
        let of = "a list with a directory";
        let lists = wrong.map(|(what, ops)| Wrong::on_all(of, what, |c| broken_on_lists(c, ops)));
        let sizes = WRONG_STRETCHES.map(|(what, ops)| Wrong::on_all(of, what, |c| broken_on_sizes(c, ops)));
        lists.into_iter().chain(sizes).collect()
    }

    fn broken_on_lists(c: &mut impl Choose, ops: Operations) -> Vec<Broken> {
        let Some(fiber) = unique(c) else { return vec![] };
        let (shift, start, target) = (c.upto(LONGEST), c.upto(POSITIONS), c.upto(EXTENT));
        let moved = LISTS.map(|moves| a_directory_changes_nothing(&fiber, [shift, start, target], ops, moves));
        let others = [stretches_begin_there(&fiber, shift, ops), leaps_land_there(&fiber, [shift, target], ops)];
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
