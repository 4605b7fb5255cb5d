//! The stream of a compressed fiber: `crd[p]` for `p` in `pos[parent]..pos[parent + 1]`, strictly ascending.
//!
//! ```text
//!   pos:  … 3    7 …            parent's fiber is positions 3..7
//!   crd:  . . . 0 2 5 9 . .      p rests on one of them, or at the end
//! ```

use super::domain::{Arith, Compare, Domain, State};
use crate::loops::BufferId;

/// An opened compressed fiber.
#[derive(Clone, Debug)]
pub struct List<I> {
    crd: BufferId,
    p: State,
    begin: I,
    end: I,
}

impl<I: Clone> List<I> {
    /// Opens the fiber of positions `begin..end`. `name` is for the variables that people read.
    pub fn open<D: Domain<I = I>>(d: &mut D, name: &str, crd: BufferId, begin: I, end: I) -> List<I> {
        let p = d.state(name, begin.clone());
        List { crd, p, begin, end }
    }

    /// The fiber's positions below a parent position.
    pub fn bounds<D: Domain<I = I>>(d: &mut D, pos: BufferId, parent: &I) -> (I, I) {
        let one = d.int(1);
        let next = d.arith(Arith::Add, parent, &one);
        (d.load(pos, parent), d.load(pos, &next))
    }

    /// Whether it rests on an entry.
    pub fn valid<D: Domain<I = I>>(&self, d: &mut D) -> D::B {
        let p = d.get(self.p);
        d.compare(Compare::Lt, &p, &self.end)
    }

    /// The entry's coordinate; only when valid.
    pub fn index<D: Domain<I = I>>(&self, d: &mut D) -> I {
        let p = d.get(self.p);
        d.load(self.crd, &p)
    }

    /// The entry's coordinate, or `otherwise` at the end.
    pub fn index_or<D: Domain<I = I>>(&self, d: &mut D, otherwise: I) -> I {
        let valid = self.valid(d);
        d.select(&valid, &|d| self.index(d), otherwise)
    }

    /// The entry's position, to be used before the next step.
    pub fn position<D: Domain<I = I>>(&self, d: &mut D) -> I {
        d.get(self.p)
    }

    /// To the next entry.
    pub fn next<D: Domain<I = I>>(&self, d: &mut D) {
        let one = d.int(1);
        d.advance(self.p, one);
    }

    /// To the next entry where `c` holds, without a branch.
    pub fn next_if<D: Domain<I = I>>(&self, d: &mut D, c: &D::B) {
        let x = d.to_int(c);
        d.advance(self.p, x);
    }

    /// To the first entry at or after `target`, by binary search over what is left.
    pub fn seek<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let hi = d.state("hi", self.end.clone());
        d.repeat(
            &|d| {
                let (p, h) = (d.get(self.p), d.get(hi));
                d.compare(Compare::Lt, &p, &h)
            },
            &mut |d| {
                let (p, h) = (d.get(self.p), d.get(hi));
                let two = d.int(2);
                let width = d.arith(Arith::Sub, &h, &p);
                let half = d.arith(Arith::Div, &width, &two);
                let middle = d.arith(Arith::Add, &p, &half);
                let middle = d.snapshot("mid", middle);
                let c = d.load(self.crd, &middle);
                let below = d.compare(Compare::Lt, &c, target);
                d.branch(
                    below,
                    &mut |d| {
                        let one = d.int(1);
                        let next = d.arith(Arith::Add, &middle, &one);
                        d.set(self.p, next);
                    },
                    &mut |d| d.set(hi, middle.clone()),
                );
            },
        );
    }

    /// To the first entry at or after `target`, one by one: for targets that ascend.
    pub fn catch_up<D: Domain<I = I>>(&self, d: &mut D, target: &I) {
        let behind = |d: &mut D| {
            let valid = self.valid(d);
            d.and(valid, &|d| {
                let i = self.index(d);
                d.compare(Compare::Lt, &i, target)
            })
        };
        d.repeat(&behind, &mut |d| self.next(d));
    }

    /// Whether it rests on an entry at `target`.
    pub fn found<D: Domain<I = I>>(&self, d: &mut D, target: &I) -> D::B {
        let valid = self.valid(d);
        d.and(valid, &|d| {
            let i = self.index(d);
            d.compare(Compare::Eq, &i, target)
        })
    }

    /// Every entry that is left, in a counted loop: `body(position, coordinate)`. Leaves the state where it was.
    pub fn each<D: Domain<I = I>>(&self, d: &mut D, name: &str, body: &mut dyn FnMut(&mut D, I)) {
        let from = d.get(self.p);
        d.count(name, from, self.end.clone(), body);
    }

    /// The coordinate at a position of the fiber.
    pub fn coordinate<D: Domain<I = I>>(&self, d: &mut D, position: &I) -> I {
        d.load(self.crd, position)
    }

    /// Number of entries of the whole fiber.
    pub fn length<D: Domain<I = I>>(&self, d: &mut D) -> I {
        d.arith(Arith::Sub, &self.end, &self.begin)
    }
}
