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
//! Source: the offset and slice iterators of the shape paper (section 7). The factor is at least 1; what stands before `start` is below
//! `c`, so that no coordinate is negative.

use super::domain::{Arith, Compare, Domain, State};

/// How the coordinates of a fiber are seen. `None` everywhere: as they are.
#[derive(Clone, Debug)]
pub struct View<I> {
    /// `c`; `None`: 0.
    pub shift: Option<Shift<I>>,
    /// `r`; `None`: 1.
    pub stride: Option<I>,
    /// The first coordinate, as stored, that is seen; `None`: there are none before.
    pub start: Option<I>,
    /// One past the last, as stored; `None`: there are none behind.
    pub stop: Option<I>,
    /// A position of the fiber before which nothing is seen: the cursor itself, whoever opened the list first having set it.
    pub finger: Option<State>,
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
        View { shift: None, stride: None, start: None, stop: None, finger: None }
    }
}

impl<I: Clone> View<I> {
    /// Whether every entry of the fiber is seen.
    pub fn is_whole(&self) -> bool {
        self.stride.is_none() && self.start.is_none() && self.stop.is_none()
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

    /// The coordinate, as stored, that is seen at `i`.
    pub fn stored<D: Domain<I = I>>(&self, d: &mut D, i: &I) -> I {
        let scaled = self.stride.as_ref().map_or_else(|| i.clone(), |r| d.arith(Arith::Mul, i, r));
        self.shift.as_ref().map_or(scaled.clone(), |c| c.stored(d, &scaled))
    }

    /// The coordinate at which a stored one is seen.
    pub fn seen<D: Domain<I = I>>(&self, d: &mut D, stored: I) -> I {
        let shifted = self.shift.as_ref().map_or(stored.clone(), |c| c.seen(d, &stored));
        self.stride.as_ref().map_or(shifted.clone(), |r| d.arith(Arith::Div, &shifted, r))
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
