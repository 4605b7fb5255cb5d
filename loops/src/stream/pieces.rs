//! The streams of levels that are not lists: intervals, and consecutive pieces whose ends are a list.
//!
//! ```text
//!   runs        crd    1     4   6       a piece is one position for all coordinates up to its end
//!               p      ▲
//!
//!   blocks      crd      2       6       a piece is fill, then up to its end an interval with a position for each coordinate;
//!               ofs    0     2       5   behind the last block there is one piece of fill
//!
//!   aligned     crd    0         2       blocks of one length that begin at its multiples: `crd` numbers them, and the first position
//!                                        of a block is its place times the length; the last is cut off at the extent
//!
//!   packed      crd      2   4   6       a piece has one position, or one for each coordinate
//!               ofs    0     3   4   6
//! ```
//!
//! Invariant between calls: the current piece is the first that does not end before the current coordinate.

use super::BufferId;
use super::domain::{Arith, Compare, Domain};
use super::list::{List, ListFiber};

/// An interval of coordinates, each with a position; no coordinate outside has one.
#[derive(Clone, Debug)]
pub struct Interval<I> {
    /// The first coordinate.
    pub start: I,
    /// One past the last.
    pub stop: I,
    /// Position minus coordinate.
    pub base: I,
}

impl<I: Clone> Interval<I> {
    /// The interval of a fiber of a band, whose first coordinates are in `first`, or of a ragged level, where they are 0. A fiber that is
    /// not `present` is empty, and loads nothing.
    pub fn open<D: Domain<I = I>>(
        d: &mut D,
        name: &str,
        (pos, first): (BufferId, Option<BufferId>),
        parent: &I,
        present: Option<&D::B>,
    ) -> Interval<I> {
        let named = |what: &str| format!("{what}_{name}");
        let one = d.int(1);
        let next = d.arith(Arith::Add, parent, &one);
        let begin = if_present(d, present, pos, parent);
        let begin = d.snapshot(&named("begin"), begin);
        let end = if_present(d, present, pos, &next);
        let length = d.arith(Arith::Sub, &end, &begin);
        let Some(first) = first else {
            return Interval { start: d.int(0), stop: d.snapshot(&named("stop"), length), base: begin };
        };
        let start = if_present(d, present, first, parent);
        let start = d.snapshot(&named("start"), start);
        let stop = d.arith(Arith::Add, &start, &length);
        let stop = d.snapshot(&named("stop"), stop);
        let base = d.arith(Arith::Sub, &begin, &start);
        Interval { start, stop, base: d.snapshot(&named("base"), base) }
    }
}

/// An element, or 0 where `present` does not hold.
fn if_present<D: Domain>(d: &mut D, present: Option<&D::B>, array: BufferId, at: &D::I) -> D::I {
    match present {
        None => d.load(array, at),
        Some(present) => {
            let zero = d.int(0);
            d.select(present, &|d| d.load(array, at), zero)
        }
    }
}

/// The beginnings of blocks and of their positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// The coordinates are the last of each block; this array has their first positions.
    Listed(BufferId),
    /// Blocks begin at multiples of this length, as do their positions; the coordinates are numbers of blocks.
    Aligned(i64),
}

/// The kinds of pieces; blocks and packed pieces with the beginnings of their positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One position for each piece.
    Runs,
    /// Fill, then a position for each coordinate.
    Blocks(Places),
    /// One position, or one for each coordinate.
    Packed(BufferId),
}

/// An opened fiber of pieces.
#[derive(Clone, Debug)]
pub struct Pieces<I> {
    kind: Kind,
    list: List<I>,
    extent: I,
}

/// A piece with a position for each coordinate; a packed one may have one for all.
struct Block<I> {
    first: I,
    last: I,
    /// The first position.
    begin: I,
    /// The number of positions.
    length: I,
    /// Position minus coordinate.
    base: I,
}

impl<I: Clone> Block<I> {
    /// The block up to a last coordinate, with the positions from `begin` to `end`.
    fn listed<D: Domain<I = I>>(d: &mut D, last: I, begin: I, end: I) -> Block<I> {
        let (one, length) = (d.int(1), d.arith(Arith::Sub, &end, &begin));
        let before = d.arith(Arith::Sub, &last, &length);
        let behind = d.arith(Arith::Sub, &end, &one);
        let (first, base) = (d.arith(Arith::Add, &before, &one), d.arith(Arith::Sub, &behind, &last));
        Block { first, last, begin, length, base }
    }

    /// The condition that the block has more than one position.
    fn is_lookup<D: Domain<I = I>>(&self, d: &mut D) -> D::B {
        let one = d.int(1);
        d.compare(Compare::Lt, &one, &self.length)
    }
}

impl<I: Clone> Pieces<I> {
    /// Opens a fiber at the first piece that does not end before its view's start.
    pub fn open<D: Domain<I = I>>(d: &mut D, name: &str, kind: Kind, mut fiber: ListFiber<I>, extent: I) -> Pieces<I> {
        if let (Kind::Blocks(Places::Aligned(size)), Some(start)) = (kind, &fiber.view.start) {
            let size = d.int(size);
            fiber.view.start = Some(d.arith(Arith::Div, start, &size));
        }
        Pieces { kind, list: List::open(d, &format!("p_{name}"), fiber), extent }
    }

    /// The kind of its pieces.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// One past the last coordinate of the current piece.
    pub fn end<D: Domain<I = I>>(&self, d: &mut D) -> I {
        let one = d.int(1);
        let last = match self.kind {
            Kind::Blocks(Places::Aligned(size)) => {
                let size = d.int(size);
                let behind = d.arith(Arith::Div, &self.extent, &size);
                let number = self.list.index_or(d, behind);
                let first = d.arith(Arith::Mul, &number, &size);
                self.last_from(d, &first, &size)
            }
            Kind::Blocks(Places::Listed(_)) => {
                let end = d.arith(Arith::Sub, &self.extent, &one);
                self.list.index_or(d, end)
            }
            _ => self.list.index(d),
        };
        d.arith(Arith::Add, &last, &one)
    }

    /// The condition that there is a current piece; for blocks, one with a block in it.
    pub fn valid<D: Domain<I = I>>(&self, d: &mut D) -> D::B {
        self.list.valid(d)
    }

    /// The number of pieces from the current one on.
    pub fn left<D: Domain<I = I>>(&self, d: &mut D) -> I {
        self.list.positions(d)
    }

    /// Steps to the next piece.
    pub fn leave<D: Domain<I = I>>(&self, d: &mut D) {
        self.list.next(d);
    }

    /// Steps to the next piece where `c` holds.
    pub fn leave_if<D: Domain<I = I>>(&self, d: &mut D, c: &D::B) {
        self.list.next_if(d, c);
    }

    /// The number of the current piece; for runs, its position.
    pub fn number<D: Domain<I = I>>(&self, d: &mut D, name: &str) -> I {
        let number = self.list.entry(d).position;
        d.snapshot(&format!("q_{name}"), number)
    }

    /// The last coordinate within the extent of the aligned block that begins at `first`.
    fn last_from<D: Domain<I = I>>(&self, d: &mut D, first: &I, size: &I) -> I {
        let one = d.int(1);
        let most = d.arith(Arith::Sub, size, &one);
        let (last, end) = (d.arith(Arith::Add, first, &most), d.arith(Arith::Sub, &self.extent, &one));
        d.arith(Arith::Min, &last, &end)
    }

    /// The current block. Where `here` does not hold, its array elements are taken as 0.
    fn numbers<D: Domain<I = I>>(&self, d: &mut D, name: &str, here: Option<&D::B>) -> Block<I> {
        let (at, one) = (self.number(d, name), d.int(1));
        let ofs = match self.kind {
            Kind::Blocks(Places::Listed(ofs)) | Kind::Packed(ofs) => ofs,
            Kind::Blocks(Places::Aligned(size)) => return self.aligned(d, name, (at, size), here),
            Kind::Runs => unreachable!("runs have no blocks"),
        };
        let next = d.arith(Arith::Add, &at, &one);
        let mut number = |array: BufferId, at: &I, what: &str| {
            let x = if_present(d, here, array, at);
            d.snapshot(&format!("{what}_{name}"), x)
        };
        let crd = self.list.coordinates();
        let (last, begin, end) = (number(crd, &at, "last"), number(ofs, &at, "begin"), number(ofs, &next, "end"));
        Block::listed(d, last, begin, end)
    }

    /// The current aligned block, at this place in the list.
    fn aligned<D: Domain<I = I>>(&self, d: &mut D, name: &str, (at, size): (I, i64), here: Option<&D::B>) -> Block<I> {
        let (size, one) = (d.int(size), d.int(1));
        let number = if_present(d, here, self.list.coordinates(), &at);
        let first = d.arith(Arith::Mul, &number, &size);
        let first = d.snapshot(&format!("first_{name}"), first);
        let last = self.last_from(d, &first, &size);
        let last = d.snapshot(&format!("last_{name}"), last);
        let begin = d.arith(Arith::Mul, &at, &size);
        let base = d.arith(Arith::Sub, &begin, &first);
        let base = d.snapshot(&format!("base_{name}"), base);
        let before = d.arith(Arith::Sub, &last, &first);
        let length = d.arith(Arith::Add, &before, &one);
        Block { first, last, begin, length, base }
    }

    /// The current block as an interval; behind the last block, empty at the extent. For blocks.
    pub fn block<D: Domain<I = I>>(&self, d: &mut D, name: &str) -> Interval<I> {
        let here = self.list.valid(d);
        let here = d.snapshot_bool("here", here);
        let block = self.numbers(d, name, Some(&here));
        let start = d.select(&here, &|_| block.first.clone(), self.extent.clone());
        let behind = |d: &mut D| {
            let one = d.int(1);
            d.arith(Arith::Add, &block.last, &one)
        };
        let stop = d.select(&here, &behind, self.extent.clone());
        let (start, stop) = (d.snapshot("start", start), d.snapshot("stop", stop));
        Interval { start, stop, base: block.base }
    }

    /// The interval of the current block, which certainly exists. For blocks.
    pub fn certain_block<D: Domain<I = I>>(&self, d: &mut D, name: &str) -> Interval<I> {
        let (block, one) = (self.numbers(d, name, None), d.int(1));
        let (start, stop) = (block.first, d.arith(Arith::Add, &block.last, &one));
        let (start, stop) = (d.snapshot("start", start), d.snapshot("stop", stop));
        Interval { start, stop, base: block.base }
    }

    /// The condition that the current piece has a position for each coordinate; position minus coordinate, if so; its only position, if
    /// not. For packed pieces.
    pub fn packed<D: Domain<I = I>>(&self, d: &mut D, name: &str) -> (D::B, I, I) {
        let block = self.numbers(d, name, None);
        (block.is_lookup(d), block.base, block.begin)
    }

    /// The position of the coordinate at which the fiber was opened, and the condition that it has one; `None` if it always has. The
    /// fiber must be present.
    pub fn find<D: Domain<I = I>>(&self, d: &mut D, name: &str, at: &I) -> (Option<D::B>, I) {
        if self.kind == Kind::Runs {
            return (None, self.number(d, name));
        }
        let here = self.list.valid(d);
        let here = d.snapshot_bool("here", here);
        let block = self.numbers(d, name, Some(&here));
        let own = d.arith(Arith::Add, &block.base, at);
        if let Kind::Packed(_) = self.kind {
            let lookup = block.is_lookup(d);
            let position = d.select(&lookup, &|_| own.clone(), block.begin.clone());
            return (None, d.snapshot(&format!("q_{name}"), position));
        }
        let found = d.and(here, &|d| d.compare(Compare::Le, &block.first, at));
        (Some(d.snapshot_bool("found", found)), own)
    }
}
