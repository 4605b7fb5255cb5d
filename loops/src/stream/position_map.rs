//! The position map of a list: a table with each entry's position at its coordinate, so that the list is looked up instead of walked.
//!
//! ```text
//!   positions  3 4 5           lay      table: 4 . . 5 6 .       position + 1, or 0
//!   coordinates 0 3 4          ask(3)   ─▶ 5 − 1 = 4             no loop
//!                              take up  table: . . . . . .       as before
//! ```
//!
//! Invariant: a table is 0 wherever the list in it has no entry. So one table serves the lists of a level one after the other, at the
//! cost of twice the list's entries, whatever the extent.

use super::BufferId;
use super::domain::{Arith, Compare, Domain};
use super::list::ListFiber;

/// A list and its table.
#[derive(Clone, Debug)]
pub struct PositionMap<I> {
    fiber: ListFiber<I>,
    table: BufferId,
}

impl<I: Clone> PositionMap<I> {
    /// A list to be scattered. All of its coordinates are below the table's length.
    pub fn open<D: Domain<I = I>>(d: &mut D, fiber: ListFiber<I>, table: BufferId) -> PositionMap<I> {
        let (begin, end) = (d.snapshot("begin", fiber.begin.clone()), d.snapshot("end", fiber.end.clone()));
        PositionMap { fiber: ListFiber { begin, end, ..fiber }, table }
    }

    /// The table.
    pub fn table(&self) -> BufferId {
        self.table
    }

    /// Scatters the list's positions into the table.
    pub fn lay<D: Domain<I = I>>(&self, d: &mut D) {
        self.each(d, &mut |d, at, position| {
            let one = d.int(1);
            let place = d.arith(Arith::Add, position, &one);
            d.store(self.table, at, &place);
        });
    }

    /// The condition that the list in a table has an entry at a coordinate, and the entry's position if so.
    pub fn ask<D: Domain<I = I>>(d: &mut D, table: BufferId, at: &I) -> (D::B, I) {
        let place = d.load(table, at);
        Self::entry(d, place)
    }

    /// As [`PositionMap::ask`], at a coordinate that is in the table where `inside` holds; elsewhere there is no entry.
    pub fn ask_within<D: Domain<I = I>>(d: &mut D, table: BufferId, at: &I, inside: &D::B) -> (D::B, I) {
        let none = d.int(0);
        let place = d.select(inside, &|d| d.load(table, at), none);
        Self::entry(d, place)
    }

    fn entry<D: Domain<I = I>>(d: &mut D, place: I) -> (D::B, I) {
        let (place, one) = (d.snapshot("place", place), d.int(1));
        (d.compare(Compare::Le, &one, &place), d.arith(Arith::Sub, &place, &one))
    }

    /// Clears the list's entries from the table.
    pub fn clear_map<D: Domain<I = I>>(&self, d: &mut D) {
        self.each(d, &mut |d, at, _| {
            let none = d.int(0);
            d.store(self.table, at, &none);
        });
    }

    /// A loop over the list's coordinates and positions.
    pub fn each<D: Domain<I = I>>(&self, d: &mut D, f: &mut dyn FnMut(&mut D, &I, &I)) {
        let ListFiber { crd, begin, end, .. } = &self.fiber;
        d.count("q", begin.clone(), end.clone(), &mut |d, position| {
            let at = d.load(*crd, &position);
            f(d, &at, &position);
        });
    }
}
