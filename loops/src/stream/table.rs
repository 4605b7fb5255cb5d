//! Searches in a hashed level: open addressing, one table for the whole level.
//!
//! ```text
//!   slot(parent, coordinate)
//!            ▼
//!   table: … 7 −1 3 12 −1 …     an entry's position, at the first place from its slot on that was free; or −1
//! ```
//!
//! Invariants: the number of places is a power of two, and at most half of them are taken, so that every search ends.

use super::BufferId;
use super::domain::{Arith, Compare, Domain};
use super::list::ListFiber;
use fiberloom_core::format::hash::{COORDINATE, PARENT};

/// The arrays of a hashed level.
#[derive(Clone, Debug)]
pub struct Table<I> {
    /// Coordinates by position.
    pub crd: BufferId,
    /// Positions by hash.
    pub table: BufferId,
    /// Number of places in `table`.
    pub size: I,
}

/// The place in a table of `size` places at which the search for a coordinate below a parent begins: `format::hash::slot`.
pub fn slot<D: Domain>(d: &mut D, (parent, at): (&D::I, &D::I), size: &D::I) -> D::I {
    let (p, c, half, one) = (d.int(PARENT), d.int(COORDINATE), d.int(32), d.int(1));
    let parent = d.arith(Arith::Mul, parent, &p);
    let mixed = d.arith(Arith::Xor, &parent, at);
    let h = d.arith(Arith::Mul, &mixed, &c);
    let h = d.snapshot("h", h);
    let high = d.arith(Arith::Shr, &h, &half);
    let h = d.arith(Arith::Xor, &h, &high);
    let mask = d.arith(Arith::Sub, size, &one);
    d.arith(Arith::And, &h, &mask)
}

impl<I: Clone> Table<I> {
    /// The first place from an entry's slot on for which `stop(place)` holds; the table wraps around.
    fn probe<D: Domain<I = I>>(
        &self,
        d: &mut D,
        (parent, at): (&I, &I),
        stop: &dyn Fn(&mut D, &I) -> D::B,
    ) -> crate::stream::State {
        let first = slot(d, (parent, at), &self.size);
        let s = d.state("slot", first);
        d.repeat(
            &|d| {
                let place = d.get(s);
                let position = d.load(self.table, &place);
                let stop = stop(d, &position);
                d.not(stop)
            },
            &mut |d| {
                let (place, one) = (d.get(s), d.int(1));
                let next = d.arith(Arith::Add, &place, &one);
                let mask = d.arith(Arith::Sub, &self.size, &one);
                let next = d.arith(Arith::And, &next, &mask);
                d.set(s, next);
            },
        );
        s
    }

    /// The condition that the fiber below `parent` has an entry at a coordinate, and the entry's position if so.
    pub fn find<D: Domain<I = I>>(&self, d: &mut D, name: &str, parent: &I, fiber: &ListFiber<I>, at: &I) -> (D::B, I) {
        let (begin, end) = (d.snapshot("begin", fiber.begin.clone()), d.snapshot("end", fiber.end.clone()));
        let s = self.probe(d, (parent, at), &|d, position| {
            let zero = d.int(0);
            let free = d.compare(Compare::Lt, position, &zero);
            let from = d.compare(Compare::Le, &begin, position);
            let inside = d.and(from, &|d| {
                let to = d.compare(Compare::Lt, position, &end);
                d.and(to, &|d| {
                    let c = d.load(self.crd, position);
                    d.compare(Compare::Eq, &c, at)
                })
            });
            d.or(free, inside)
        });
        let place = d.get(s);
        let position = d.load(self.table, &place);
        let position = d.snapshot(name, position);
        let zero = d.int(0);
        let found = d.compare(Compare::Le, &zero, &position);
        (d.snapshot_bool("found", found), position)
    }

    /// The place for a new entry.
    pub fn free<D: Domain<I = I>>(&self, d: &mut D, parent: &I, at: &I) -> I {
        let s = self.probe(d, (parent, at), &|d, position| {
            let zero = d.int(0);
            d.compare(Compare::Lt, position, &zero)
        });
        d.get(s)
    }
}
