//! A list laid on a table: the position of each entry where its coordinate says, so that it is asked and not walked.
//!
//! ```text
//!   positions  3 4 5           lay      table: 4 . . 5 6 .       the position and one, or 0
//!   coordinates 0 3 4          ask(3)   ─▶ 5 − 1 = 4             no loop
//!                              take up  table: . . . . . .       as before
//! ```
//!
//! Invariant: a table is 0 wherever no list is laid that has an entry there. So one table serves each list of a level in turn, and
//! costs as much as the list has entries, twice; not as much as its extent.

use super::domain::{Arith, Compare, Domain};
use super::list::ListFiber;
use crate::loops::BufferId;

/// A list that is laid.
#[derive(Clone, Debug)]
pub struct Spread<I> {
    fiber: ListFiber<I>,
    table: BufferId,
}

impl<I: Clone> Spread<I> {
    /// Lays a list, whose coordinates are all below the table's length.
    pub fn lay<D: Domain<I = I>>(d: &mut D, fiber: ListFiber<I>, table: BufferId) -> Spread<I> {
        let (begin, end) = (d.snapshot("begin", fiber.begin.clone()), d.snapshot("end", fiber.end.clone()));
        let laid = Spread { fiber: ListFiber { begin, end, ..fiber }, table };
        laid.each(d, &|d, position| {
            let one = d.int(1);
            d.arith(Arith::Add, position, &one)
        });
        laid
    }

    /// Whether the list that lies on a table has an entry at a coordinate, and its position if so.
    pub fn ask<D: Domain<I = I>>(d: &mut D, table: BufferId, at: &I) -> (D::B, I) {
        let place = d.load(table, at);
        let (place, one) = (d.snapshot("place", place), d.int(1));
        (d.compare(Compare::Le, &one, &place), d.arith(Arith::Sub, &place, &one))
    }

    /// Takes the list up again.
    pub fn take_up<D: Domain<I = I>>(self, d: &mut D) {
        self.each(d, &|d, _| d.int(0));
    }

    /// Writes something where each entry's coordinate says, made of its position.
    fn each<D: Domain<I = I>>(&self, d: &mut D, value: &dyn Fn(&mut D, &I) -> I) {
        let ListFiber { crd, begin, end, .. } = &self.fiber;
        d.count("q", begin.clone(), end.clone(), &mut |d, position| {
            let (at, value) = (d.load(*crd, &position), value(d, &position));
            d.store(self.table, &at, &value);
        });
    }
}
