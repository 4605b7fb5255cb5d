//! A view of a fiber: its entries at coordinates `c + r·i`, as entries at `i`.
//!
//! ```text
//!   crd      0   3   4   9   10   15             c = 3, r = 3, i in 0..3
//!   start        ▲                               one search
//!   i            0   ✗   2    ✗                  entries between the steps are skipped
//!   stop                      ▲ 12               nothing is read from here on
//! ```
//!
//! If each iteration of an outer loop sees the next piece, a cursor, the *finger*, stays where the last piece ended, and the next piece
//! continues from there.
//!
//! ```text
//!   crd      0   3   4   9   10   15             pieces 0..5, 5..10, 10..15
//!                            ▲                   after the second
//! ```
//!
//! If the pieces of a fiber overlap, as windows do, a *mark* in a table stores where the last one began, and the search for the next
//! begins there, unless the mark is behind its begin.
//!
//! ```text
//!   crd      0   3   4   9   10   15             windows 0..5, 1..6, 2..7
//!                ▲                               after the second; a table has one for each fiber of an iteration
//! ```
//!
//! *In blocks*, all entries from `c + L·i` to before `c + L·(i + 1)` are one entry at `i`: the outer projection of a split list. The
//! inner projection is a view of that entry's positions, shifted by `c + L·i`.
//!
//! ```text
//!   crd      0   3   4   9   10   15             L = 5, the list as |L|·i + j
//!   i        0           1   2    3              one division a block; no block is empty
//!            p           q                       the current block is positions p..q; in it j is 0, 3, 4
//! ```
//!
//! Source: the offset, slice and projection iterators of the shape paper (section 7). The factor is at least 1. Entries
//! below `c` stand before `start`, so that no coordinate in view is negative.

use super::BufferId;
use super::domain::{Arith, Compare, Domain, State};

/// A view of a fiber. With `None` everywhere, it shows all entries at their stored coordinates.
#[derive(Clone, Debug)]
pub struct View<I> {
    /// The shift `c`; `None`: 0.
    pub shift: Option<Shift<I>>,
    /// The stride `r`; `None`: 1.
    pub stride: Option<I>,
    /// The length `L` of blocks; a view in blocks has no stride.
    pub blocks: Option<I>,
    /// The level's extent, if the last of the blocks goes further: there it ends, since what is behind may not fit 64 bits.
    pub extent: Option<I>,
    /// The first stored coordinate in view; `None`: no entry is before the view.
    pub start: Option<I>,
    /// One past the last stored coordinate in view; `None`: no entry is behind the view.
    pub stop: Option<I>,
    /// The cursor, at a position before which nothing is in view. It is set before the list is first opened.
    pub finger: Option<State>,
    /// The table element that may hold a position near the view's begin. Any number in it is safe.
    pub mark: Option<Mark<I>>,
}

/// An element of a table of positions.
#[derive(Clone, Debug)]
pub struct Mark<I> {
    /// The table.
    pub table: BufferId,
    /// The element's index.
    pub at: I,
}

/// The distance between stored coordinates and those in view, up or down.
#[derive(Clone, Debug)]
pub enum Shift<I> {
    /// The entry at `i` is stored at `i + c`.
    Up(I),
    /// The entry at `i` is stored at `i - c`.
    Down(I),
}

impl<I: Clone> Shift<I> {
    fn stored<D: Domain<I = I>>(&self, d: &mut D, seen: &I) -> I {
        match self {
            Shift::Up(c) => d.arith(Arith::Add, seen, c),
            Shift::Down(c) => d.arith(Arith::Sub, seen, c),
        }
    }

    fn seen<D: Domain<I = I>>(&self, d: &mut D, stored: &I) -> I {
        match self {
            Shift::Up(c) => d.arith(Arith::Sub, stored, c),
            Shift::Down(c) => d.arith(Arith::Add, stored, c),
        }
    }
}

impl<I> Default for View<I> {
    fn default() -> View<I> {
        View {
            shift: None,
            stride: None,
            blocks: None,
            extent: None,
            start: None,
            stop: None,
            finger: None,
            mark: None,
        }
    }
}

impl<I: Clone> View<I> {
    /// Whether the view shows every entry of the fiber as an entry of its own.
    pub fn is_whole(&self) -> bool {
        self.stride.is_none() && self.blocks.is_none() && self.start.is_none() && self.stop.is_none()
    }

    /// The condition that a stored coordinate is in the view's range; `None` if it always is.
    pub fn sees<D: Domain<I = I>>(&self, d: &mut D, stored: &I) -> Option<D::B> {
        let below = |d: &mut D| self.stop.as_ref().map(|stop| d.compare(Compare::Lt, stored, stop));
        let Some(start) = &self.start else { return below(d) };
        let above = d.compare(Compare::Le, start, stored);
        if self.stop.is_none() {
            return Some(above);
        }
        Some(d.and(above, &|d| below(d).expect("it stops")))
    }

    /// The distance between stored coordinates of successive `i`; `None`: 1.
    fn factor(&self) -> Option<&I> {
        self.stride.as_ref().or(self.blocks.as_ref())
    }

    /// The stored coordinate at `i`; in blocks, the first one that may be in block `i`.
    pub fn stored<D: Domain<I = I>>(&self, d: &mut D, i: &I) -> I {
        let scaled = self.factor().map_or_else(|| i.clone(), |r| d.arith(Arith::Mul, i, r));
        self.shift.as_ref().map_or(scaled.clone(), |c| c.stored(d, &scaled))
    }

    /// The coordinate in view of a stored one.
    pub fn seen<D: Domain<I = I>>(&self, d: &mut D, stored: I) -> I {
        let shifted = self.shift.as_ref().map_or(stored.clone(), |c| c.seen(d, &stored));
        self.factor().map_or(shifted.clone(), |r| d.arith(Arith::Div, &shifted, r))
    }

    /// The condition that a stored coordinate is on the stride; `None` if every one is.
    pub fn on<D: Domain<I = I>>(&self, d: &mut D, stored: &I) -> Option<D::B> {
        let r = self.stride.as_ref()?;
        let shifted = self.shift.as_ref().map_or(stored.clone(), |c| c.seen(d, stored));
        let rest = d.arith(Arith::Rem, &shifted, r);
        let zero = d.int(0);
        Some(d.compare(Compare::Eq, &rest, &zero))
    }
}
