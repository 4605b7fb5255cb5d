//! Laws whose one text is run on every choice of small data, is the body of a Kani harness, and is asked of a solver.
//!
//! ```text
//!                      ┌ Concrete   every choice within bounds: `cargo test`; symbolic choices: `cargo kani`
//!   L::text(d, given) ─┼ Walk       64-bit numbers that a solver chooses, lists of few entries       `proofs/smt`
//!                      └ AnyTurn    integers, lists of any length                                    `proofs/smt`
//! ```
//!
//! A law is written over any domain that takes claims. What an iterator comes to is claimed *at its places*: where it
//! rests, what is stored there and just before. What it must not pass over is claimed of a *witness*: a number that is
//! given, of which nothing is known but what the law assumes. Both hold for lists of any length or not at all.

use crate::choose::Choose;
use crate::stream::{Broken, Fiber};
use fiberloom_loops::BufferId;
use fiberloom_loops::stream::{Arith, Compare, Concrete, Domain, ListFiber};

/// A domain that checks what it is told.
pub trait Claims: Domain {
    /// Claims a truth.
    fn claim(&mut self, what: &'static str, b: Self::B);

    /// Leaves what follows to the data of which this holds.
    fn assume(&mut self, b: Self::B);

    /// a < b
    fn lt(&mut self, a: &Self::I, b: &Self::I) -> Self::B {
        self.compare(Compare::Lt, a, b)
    }

    /// a ≤ b
    fn le(&mut self, a: &Self::I, b: &Self::I) -> Self::B {
        self.compare(Compare::Le, a, b)
    }

    /// a = b
    fn eq(&mut self, a: &Self::I, b: &Self::I) -> Self::B {
        self.compare(Compare::Eq, a, b)
    }

    /// a + c
    fn plus(&mut self, a: &Self::I, c: i64) -> Self::I {
        let c = self.int(c);
        self.arith(Arith::Add, a, &c)
    }

    /// Claims a truth of what is at hand where a condition holds.
    fn claim_where(&mut self, c: Self::B, what: &'static str, b: &dyn Fn(&mut Self) -> Self::B) {
        let broken = self.and(c, &|d| {
            let b = b(d);
            d.not(b)
        });
        let held = self.not(broken);
        self.claim(what, held);
    }

    /// Assumes that a number is in `lo..hi`.
    fn assume_within(&mut self, lo: &Self::I, x: &Self::I, hi: &Self::I) {
        let from = self.le(lo, x);
        self.assume(from);
        let to = self.lt(x, hi);
        self.assume(to);
    }
}

/// What a run of a law is left with where an assumption fails.
const MOOT: &str = "an assumption fails";

impl Claims for Concrete<'_> {
    fn claim(&mut self, what: &'static str, b: bool) {
        if !b {
            self.fail(what);
        }
    }

    fn assume(&mut self, b: bool) {
        if !b {
            self.fail(MOOT);
        }
    }
}

/// How the elements of an array that a law is given are ordered. All are at least 0 and below 2⁶³ − 1, the greatest
/// extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Each is greater than the one before.
    Ascending,
    /// None is less than the one before; equal coordinates are one entry.
    Repeating,
    /// Nothing is known.
    None,
}

/// An array that a law is given: elements `begin..end` of a longer one.
#[derive(Clone, Debug)]
pub struct Place<I> {
    /// The array.
    pub array: BufferId,
    /// Where it begins.
    pub begin: I,
    /// Where it ends.
    pub end: I,
    /// Its order.
    pub order: Order,
}

impl<I: Clone> Place<I> {
    /// As the fiber of a list level.
    pub fn fiber(&self) -> ListFiber<I> {
        let unique = ListFiber::unique(self.array, self.begin.clone(), self.end.clone());
        ListFiber { repeats: self.order == Order::Repeating, ..unique }
    }

    /// The element at a place, which is inside.
    pub fn at<D: Domain<I = I>>(&self, d: &mut D, place: &I) -> I {
        d.load(self.array, place)
    }

    /// Assumes that what it holds is below an extent, which is legal: its last element is.
    pub fn assume_below<D: Claims<I = I>>(&self, d: &mut D, extent: &I) {
        let zero = d.int(0);
        let legal = d.le(&zero, extent);
        d.assume(legal);
        let some = d.lt(&self.begin, &self.end);
        let beyond = d.and(some, &|d| {
            let last = d.plus(&self.end, -1);
            let last = self.at(d, &last);
            d.le(extent, &last)
        });
        let below = d.not(beyond);
        d.assume(below);
    }

    /// Assumes that a number is one of its places.
    pub fn assume_inside<D: Claims<I = I>>(&self, d: &mut D, place: &I) {
        d.assume_within(&self.begin, place, &self.end);
    }
}

/// What a law is given.
#[derive(Clone, Debug)]
pub struct Given<I> {
    /// Arrays.
    pub places: Vec<Place<I>>,
    /// Numbers of which nothing is known.
    pub numbers: Vec<I>,
    /// The number of places of the law's table; 0 where it has none.
    pub table: I,
}

/// A law.
pub trait Law {
    /// What it is called.
    const NAME: &'static str;
    /// The arrays that it takes.
    const ARRAYS: &'static [Order];
    /// How many numbers it takes.
    const NUMBERS: usize;
    /// Whether sums may wrap.
    const WRAPS: bool = false;
    /// Whether it has a table of its own.
    const TABLE: bool = false;

    /// The law itself.
    fn text<D: Claims>(d: &mut D, given: &Given<D::I>);
}

/// Data of a law, as numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Data {
    /// The elements of each array; one that is not its own stands before and one behind.
    pub arrays: Vec<Vec<i64>>,
    /// Its numbers.
    pub numbers: Vec<i64>,
    /// The number of places of its table.
    pub places: usize,
}

impl Data {
    /// Runs a law on it; `None` where an assumption fails.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn run<L: Law>(&self, fuel: u32) -> Result<Option<()>, Broken> {
        self.run_in::<L>(&self.arrays.iter().map(|array| &array[..]).collect::<Vec<_>>(), fuel)
    }

    /// The same, where arrays end with their own elements: none stands behind.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn run_to_the_end<L: Law>(&self, fuel: u32) -> Result<Option<()>, Broken> {
        self.run_in::<L>(&self.arrays.iter().map(|array| &array[..array.len() - 1]).collect::<Vec<_>>(), fuel)
    }

    fn run_in<L: Law>(&self, arrays: &[&[i64]], fuel: u32) -> Result<Option<()>, Broken> {
        let d = Concrete::new(arrays, fuel).with_table(if L::TABLE { self.places } else { 0 });
        let mut d = if L::WRAPS { d } else { d.whose_sums_fit() };
        let place = |(n, order): (usize, &Order)| Place {
            array: BufferId(n as u32),
            begin: 1,
            end: self.arrays[n].len() as i64 - 1,
            order: *order,
        };
        let places = L::ARRAYS.iter().enumerate().map(place).collect();
        let table = d.table().len() as i64;
        L::text(&mut d, &Given { places, numbers: self.numbers.clone(), table });
        match d.fault() {
            None => Ok(Some(())),
            Some(MOOT) => Ok(None),
            Some(fault) => Err(fault),
        }
    }

    /// Any within bounds: arrays of so many elements below an extent, numbers up to it.
    pub fn choose<L: Law>(c: &mut impl Choose, [most, extent]: [usize; 2]) -> Data {
        let mut array = |order: &Order| match order {
            Order::None => {
                let length = c.upto(most);
                (0..length + 2).map(|n| if (1..=length).contains(&n) { c.upto(extent - 1) as i64 } else { 0 }).collect()
            }
            _ => Fiber::of(c, most, extent, *order == Order::Repeating).and_beside().to_vec(),
        };
        let arrays = L::ARRAYS.iter().map(&mut array).collect();
        let numbers = (0..L::NUMBERS).map(|_| c.upto(extent) as i64).collect();
        Data { arrays, numbers, places: extent.min(fiberloom_loops::stream::PLACES) }
    }
}

/// Turns of loops in all.
const FUEL: u32 = 200;

/// A law on one choice of data; `None` where an assumption fails.
///
/// # Errors
/// What is broken.
pub fn holds<L: Law>(c: &mut impl Choose, bounds: [usize; 2]) -> Result<Option<()>, Broken> {
    Data::choose::<L>(c, bounds).run::<L>(FUEL)
}

/// Asserts a law on every choice of data, of which some are not void.
///
/// # Panics
/// If the law is broken, or nothing is assumed.
#[cfg(test)]
pub(crate) fn exhausts<L: Law>(bounds: [usize; 2]) {
    let mut held = 0;
    crate::choose::every(|c| {
        let data = Data::choose::<L>(c, bounds);
        let outcome = data.run::<L>(FUEL).unwrap_or_else(|e| panic!("{}: {e}: {data:?}", L::NAME));
        held += outcome.is_some() as usize;
    });
    assert!(held > 0, "{}: nothing is as it assumes", L::NAME);
}
