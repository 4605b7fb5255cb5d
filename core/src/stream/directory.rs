//! A directory of a list: where in it each stretch of `2^s` coordinates begins, so that who seeks a coordinate begins near by.
//!
//! ```text
//!   crd           3  4  9  |  21 23            s = 3: the stretches 0..8, 8..16, 16..24, and that of the extent, 24
//!   directory     0  2  3  5                   seek(22): from position 3, where 16..24 begins; one leap, not a search
//! ```
//!
//! It is made once for a list in which many are sought, and costs as much as it has places. How many those are says who makes it:
//! with one there is nothing to know, and a search in the whole list as if there was no directory.
//!
//! Invariants: as many places as `extent >> s`, and one; each holds the first position whose coordinate is not before its stretch, or
//! the list's end. What is sought is not negative, nor greater than the extent.

use super::domain::{Arith, Compare, Domain};
use super::list::{List, ListFiber};
use crate::loops::BufferId;

/// A directory that is made, or is to be.
#[derive(Clone, Debug)]
pub struct Directory<I> {
    /// Positions, by stretch.
    pub table: BufferId,
    /// The logarithm of how many coordinates a stretch has.
    pub shift: I,
}

impl<I: Clone> Directory<I> {
    /// The shortest stretches, as their logarithm, of which an extent has no more than `most`, besides that of the extent itself.
    pub fn shift<D: Domain<I = I>>(d: &mut D, extent: &I, most: &I) -> I {
        let none = d.int(0);
        let shift = d.state("log", none);
        let many = |d: &mut D| {
            let s = d.get(shift);
            let stretches = d.arith(Arith::Shr, extent, &s);
            d.compare(Compare::Lt, most, &stretches)
        };
        d.repeat(&many, &mut |d| {
            let one = d.int(1);
            d.advance(shift, one);
        });
        let shift = d.get(shift);
        d.snapshot("shift", shift)
    }

    /// How many places it has.
    pub fn places<D: Domain<I = I>>(d: &mut D, extent: &I, shift: &I) -> I {
        let (last, one) = (d.arith(Arith::Shr, extent, shift), d.int(1));
        d.arith(Arith::Add, &last, &one)
    }

    /// Makes it, of a list of which all is seen: who goes from stretch to stretch leaps over what is between.
    pub fn make<D: Domain<I = I>>(&self, d: &mut D, name: &str, list: ListFiber<I>, extent: &I) {
        let list = List::open(d, name, list);
        let (none, places) = (d.int(0), Self::places(d, extent, &self.shift));
        d.count("stretch", none, places, &mut |d, stretch| {
            let begin = d.arith(Arith::Shl, &stretch, &self.shift);
            let begin = d.snapshot("from", begin);
            list.gallop(d, &begin);
            let here = list.entry(d).position;
            d.store(self.table, &stretch, &here);
        });
    }

    /// A position of the list behind none whose stored coordinate is `at` or greater.
    pub fn near<D: Domain<I = I>>(&self, d: &mut D, at: &I) -> I {
        let stretch = d.arith(Arith::Shr, at, &self.shift);
        d.load(self.table, &stretch)
    }
}
