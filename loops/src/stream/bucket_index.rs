//! The bucket index of a list: the position at which each bucket of `2^s` coordinates begins, so that a search starts near its target.
//!
//! ```text
//!   crd           3  4  9  |  21 23            s = 3: the buckets 0..8, 8..16, 16..24, and the bucket of the extent, 24
//!   bucket index  0  2  3  5                   seek(22): searches exponentially from position 3, where 16..24 begins
//! ```
//!
//! The index is filled once for a list that is searched many times, at the cost of one exponential search per slot. The caller chooses the
//! number of slots. With one slot, a search gallops through the whole list, as without a bucket index.
//!
//! Invariants: there are `(extent >> s) + 1` slots. Each holds the first position whose coordinate is not before its bucket, or the
//! list's end. No target is negative; a target behind the extent is looked up only if the bucket index knows its extent.

use super::BufferId;
use super::domain::{Arith, Compare, Domain};
use super::list::{List, ListFiber};

/// A bucket index, filled or to be filled.
#[derive(Clone, Debug)]
pub struct BucketIndex<I> {
    /// The first position of each bucket.
    pub table: BufferId,
    /// `s`: log₂ of the number of coordinates of a bucket.
    pub shift: I,
    /// The list's extent, if targets may be behind it; else `None`.
    pub extent: Option<I>,
}

impl<I: Clone> BucketIndex<I> {
    /// The least `s` for which an extent has at most `most` buckets, besides the bucket of the extent itself.
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

    /// The number of slots.
    pub fn places<D: Domain<I = I>>(d: &mut D, extent: &I, shift: &I) -> I {
        let (last, one) = (d.arith(Arith::Shr, extent, shift), d.int(1));
        d.arith(Arith::Add, &last, &one)
    }

    /// Fills the bucket index from a list that is wholly in view, by exponential search from bucket to bucket.
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

    /// A position at or before the first whose stored coordinate is `at` or greater.
    pub fn near<D: Domain<I = I>>(&self, d: &mut D, at: &I) -> I {
        let within = self.extent.as_ref().map(|extent| d.arith(Arith::Min, at, extent));
        let at = within.as_ref().unwrap_or(at);
        let stretch = d.arith(Arith::Shr, at, &self.shift);
        d.load(self.table, &stretch)
    }
}
