//! A view of a fiber: its entries at coordinates `c + r·i`, as entries at `i`.
//!
//! ```text
//!   crd      0   3   4   9   10   15             c = 3, r = 3, i in 0..3
//!   start        ▲                               sought once
//!   i            0   ✗   2    ✗                  what is between the steps is passed over
//!   stop                      ▲ 12               nothing from here on is looked at
//! ```
//!
//! Where each turn of an outer loop sees the next piece, a *finger* stays where the last one ended: it is moved on, and what
//! is behind it is not looked at again.
//!
//! ```text
//!   crd      0   3   4   9   10   15             pieces 0..5, 5..10, 10..15
//!                            ▲                   after the second
//! ```
//!
//! Where the pieces of a fiber overlap, as windows do, a *mark* in a table says where the last one began, and the next one is looked for
//! from there on, if that is not too far.
//!
//! ```text
//!   crd      0   3   4   9   10   15             windows 0..5, 1..6, 2..7
//!                ▲                               after the second: a table has such for each fiber that a turn comes to
//! ```
//!
//! Seen *in blocks*, all that is stored from `c + L·i` to before `c + L·(i + 1)` is one entry at `i`: the outer projection of a
//! list that is split. The inner one is a view of that entry's positions, shifted by `c + L·i`.
//!
//! ```text
//!   crd      0   3   4   9   10   15             L = 5, the list as |L|·i + j
//!   i        0           1   2    3              where a block begins is divided, once a block; there is none that is empty
//!            p           q                       the block at hand is the positions p..q; in it j is 0, 3, 4
//! ```
//!
//! Source: the offset, slice and projection iterators of the shape paper (section 7). The factor is at least 1; what stands before
//! `start` is below `c`, so that no coordinate is negative.

use super::domain::{Arith, Compare, Domain, State};
use crate::loops::BufferId;

/// How the coordinates of a fiber are seen. `None` everywhere: as they are.
#[derive(Clone, Debug)]
pub struct View<I> {
    /// `c`; `None`: 0.
    pub shift: Option<Shift<I>>,
    /// `r`; `None`: 1.
    pub stride: Option<I>,
    /// `L`, where it is seen in blocks, which have no stride.
    pub blocks: Option<I>,
    /// The first coordinate, as stored, that is seen; `None`: there are none before.
    pub start: Option<I>,
    /// One past the last, as stored; `None`: there are none behind.
    pub stop: Option<I>,
    /// A position of the fiber before which nothing is seen: the cursor itself, whoever opened the list first having set it.
    pub finger: Option<State>,
    /// Where it was begun before, which may be near: whatever stands there is right.
    pub mark: Option<Mark<I>>,
}

/// A place of a table of positions.
#[derive(Clone, Debug)]
pub struct Mark<I> {
    /// The table.
    pub table: BufferId,
    /// Where in it.
    pub at: I,
}

/// A number that coordinates are moved by, or back by.
#[derive(Clone, Debug)]
pub enum Shift<I> {
    /// What is seen at `i` is stored at `i + c`.
    Up(I),
    /// What is seen at `i` is stored at `i - c`.
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
        View { shift: None, stride: None, blocks: None, start: None, stop: None, finger: None, mark: None }
    }
}

impl<I: Clone> View<I> {
    /// Whether every entry of the fiber is seen, by itself.
    pub fn is_whole(&self) -> bool {
        self.stride.is_none() && self.blocks.is_none() && self.start.is_none() && self.stop.is_none()
    }

    /// Whether a stored coordinate is neither before what is seen nor behind; `None` where none is.
    pub fn sees<D: Domain<I = I>>(&self, d: &mut D, stored: &I) -> Option<D::B> {
        let below = |d: &mut D| self.stop.as_ref().map(|stop| d.compare(Compare::Lt, stored, stop));
        let Some(start) = &self.start else { return below(d) };
        let above = d.compare(Compare::Le, start, stored);
        if self.stop.is_none() {
            return Some(above);
        }
        Some(d.and(above, &|d| below(d).expect("it stops")))
    }

    /// By how much stored coordinates ascend from one that is seen to the next; `None`: 1.
    fn factor(&self) -> Option<&I> {
        self.stride.as_ref().or(self.blocks.as_ref())
    }

    /// The coordinate, as stored, that is seen at `i`; the first that may be, in blocks.
    pub fn stored<D: Domain<I = I>>(&self, d: &mut D, i: &I) -> I {
        let scaled = self.factor().map_or_else(|| i.clone(), |r| d.arith(Arith::Mul, i, r));
        self.shift.as_ref().map_or(scaled.clone(), |c| c.stored(d, &scaled))
    }

    /// The coordinate at which a stored one is seen.
    pub fn seen<D: Domain<I = I>>(&self, d: &mut D, stored: I) -> I {
        let shifted = self.shift.as_ref().map_or(stored.clone(), |c| c.seen(d, &stored));
        self.factor().map_or(shifted.clone(), |r| d.arith(Arith::Div, &shifted, r))
    }

    /// Whether a stored coordinate is one of the steps; `None` where every one is.
    pub fn on<D: Domain<I = I>>(&self, d: &mut D, stored: &I) -> Option<D::B> {
        let r = self.stride.as_ref()?;
        let shifted = self.shift.as_ref().map_or(stored.clone(), |c| c.seen(d, stored));
        let rest = d.arith(Arith::Rem, &shifted, r);
        let zero = d.int(0);
        Some(d.compare(Compare::Eq, &rest, &zero))
    }
}
