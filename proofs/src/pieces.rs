//! Laws of intervals and of levels that list where their pieces end, `core::stream::{Interval, Pieces}`, on their `Concrete` reading.
//!
//! ```text
//!   coordinate   0 1 2 3 4       blocks 1..3, 4..5       positions  . 1 2 . 3        a stranger's block stands before, another behind
//! ```
//!
//! Data of a law: a fiber of coordinates below [`EXTENT`], in any pieces that its level may have, in the middle of arrays. What a
//! coordinate's position is by the definition of the format is written down as pieces are chosen.

use crate::choose::Choose;
use crate::stream::Broken;
use fiberloom_loops::BufferId;
use fiberloom_loops::stream::{Concrete, Interval, Kind, ListFiber, Pieces, Places, View};

/// Coordinates are below this.
pub const EXTENT: usize = 5;
/// Turns that any loop may take.
const FUEL: u32 = 64;

/// Which level it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// One position a piece.
    Runs,
    /// Variable block lists.
    Blocks,
    /// Blocks of two coordinates, aligned.
    Aligned,
    /// Either.
    Packed,
}

impl Level {
    /// The same of the stream; positions begin as array 1 says.
    pub fn kind(self) -> Kind {
        match self {
            Level::Runs => Kind::Runs,
            Level::Blocks => Kind::Blocks(Places::Listed(BufferId(1))),
            Level::Aligned => Kind::Blocks(Places::Aligned(2)),
            Level::Packed => Kind::Packed(BufferId(1)),
        }
    }
}

/// A fiber in pieces: one of another fiber stands before it and one behind it.
#[derive(Clone, Copy, Debug)]
pub struct Fiber {
    level: Level,
    crd: [i64; EXTENT + 2],
    ofs: [i64; EXTENT + 3],
    pieces: usize,
    /// Of each coordinate the position, if it has one.
    at: [Option<i64>; EXTENT],
}

impl Fiber {
    /// Any fiber of a level: at each coordinate, whether something is stored there and whether a piece ends.
    pub fn choose(c: &mut impl Choose, level: Level) -> Fiber {
        let mut fiber = Fiber { level, crd: [0; EXTENT + 2], ofs: [0; EXTENT + 3], pieces: 0, at: [None; EXTENT] };
        // The stranger before has one position.
        (fiber.crd[0], fiber.ofs[1]) = (EXTENT as i64 - 1, 1);
        if level == Level::Aligned {
            return fiber.aligned(c);
        }
        let (mut next, mut begin) = (1, 0);
        while begin < EXTENT {
            let length = 1 + c.upto(EXTENT - begin - 1);
            let stored = level != Level::Blocks || c.flag();
            let each = level == Level::Blocks || level == Level::Packed && length > 1 && c.flag();
            let end = begin + length;
            if stored {
                let positions = if each { length as i64 } else { 1 };
                for i in 0..length {
                    fiber.at[begin + i] = Some(next + if each { i as i64 } else { 0 });
                }
                fiber.pieces += 1;
                next += positions;
                (fiber.crd[fiber.pieces], fiber.ofs[fiber.pieces + 1]) = (end as i64 - 1, next);
            }
            begin = end;
        }
        (fiber.crd[fiber.pieces + 1], fiber.ofs[fiber.pieces + 2]) = (0, next + 1);
        fiber
    }

    /// Any of its blocks; the stranger's before them stands at place 0, and the extent cuts off the last.
    fn aligned(mut self, c: &mut impl Choose) -> Fiber {
        for begin in (0..EXTENT).step_by(2) {
            if c.flag() {
                self.pieces += 1;
                self.crd[self.pieces] = begin as i64 / 2;
                (begin..EXTENT.min(begin + 2)).for_each(|i| self.at[i] = Some((2 * self.pieces + i - begin) as i64));
            }
        }
        self
    }

    /// Its arrays: where pieces end, where their positions begin.
    pub fn arrays(&self) -> [&[i64]; 2] {
        [&self.crd[..self.pieces + 2], &self.ofs[..self.pieces + 3]]
    }

    fn with<T>(
        &self,
        from: i64,
        f: impl FnOnce(&mut Concrete, &Pieces<i64>) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let arrays = self.arrays();
        let (mut d, kind) = (Concrete::new(&arrays, FUEL), self.level.kind());
        let view = View { start: Some(from), ..View::default() };
        let (crd, end) = (BufferId(0), 1 + self.pieces as i64);
        let list = ListFiber { view, ..ListFiber::unique(crd, 1, end) };
        let pieces = Pieces::open(&mut d, "p", kind, list, EXTENT as i64);
        let held = f(&mut d, &pieces);
        d.fault().map_or(held, Err)
    }
}

/// The operations that laws are about; the compiler's, or a wrong one that a law must catch.
#[derive(Clone, Copy)]
pub struct Operations {
    /// One past the last coordinate of the piece at hand.
    pub end: fn(&Pieces<i64>, &mut Concrete) -> i64,
    /// To the next piece where a condition holds.
    pub leave_if: fn(&Pieces<i64>, &mut Concrete, bool),
    /// The block at hand.
    pub block: fn(&Pieces<i64>, &mut Concrete) -> Interval<i64>,
    /// The block that is at hand for certain.
    pub certain_block: fn(&Pieces<i64>, &mut Concrete) -> Interval<i64>,
    /// How many pieces there are yet.
    pub left: fn(&Pieces<i64>, &mut Concrete) -> i64,
    /// Whether a piece has a position for each coordinate, what that is more than it, and its only one.
    pub packed: fn(&Pieces<i64>, &mut Concrete) -> (bool, i64, i64),
    /// Where the coordinate is that the fiber was opened at.
    pub find: fn(&Pieces<i64>, &mut Concrete, i64) -> (bool, i64),
}

/// What the compiler emits.
pub const PIECES: Operations = Operations {
    end: |p, d| p.end(d),
    leave_if: |p, d, c| p.leave_if(d, &c),
    block: |p, d| p.block(d, "p"),
    certain_block: |p, d| p.certain_block(d, "p"),
    left: |p, d| p.left(d),
    packed: |p, d| p.packed(d, "p"),
    find: |p, d, at| {
        let (found, position) = p.find(d, "p", &at);
        (found.unwrap_or(true), position)
    },
};

/// *Pieces cover*: from any coordinate on, each piece ends behind where it is come to, and up to there it says the position of each
/// coordinate; a loop that stops between ends (`stops` says where: others' pieces end there) leaves only what it has come to the end of.
pub fn pieces_cover(fiber: &Fiber, start: i64, stops: &[bool; EXTENT], ops: Operations) -> Result<(), Broken> {
    let extent = EXTENT as i64;
    fiber.with(start, |d, pieces| {
        let mut from = start;
        while from < extent {
            let end = (ops.end)(pieces, d);
            let stop = (from + 1..extent).find(|i| stops[*i as usize]).unwrap_or(extent).min(end);
            if stop <= from {
                return Err("a piece ends before it is come to");
            }
            for i in from..stop.min(extent) {
                let position = match fiber.level {
                    Level::Runs => Some(pieces.number(d, "p")),
                    Level::Blocks | Level::Aligned => {
                        let Interval { start, stop, base } = (ops.block)(pieces, d);
                        (start <= i && i < stop).then_some(base + i)
                    }
                    Level::Packed => {
                        let (lookup, base, begin) = (ops.packed)(pieces, d);
                        Some(if lookup { base + i } else { begin })
                    }
                };
                if position != fiber.at[i as usize] {
                    return Err("a coordinate of a piece stands elsewhere");
                }
            }
            (ops.leave_if)(pieces, d, end <= stop);
            from = stop;
        }
        Ok(())
    })
}

/// *Blocks hold everything*: from block to block, as many as are left, all coordinates that have positions are come to in order, each
/// where it stands, and no other is.
pub fn blocks_hold_everything(fiber: &Fiber, ops: Operations) -> Result<(), Broken> {
    fiber.with(0, |d, pieces| {
        let (mut from, mut turns, left) = (0, 0, (ops.left)(pieces, d));
        while pieces.valid(d) {
            let Interval { start, stop, base } = (ops.certain_block)(pieces, d);
            if start < from
                || stop > EXTENT as i64
                || fiber.at[from as usize..start as usize].iter().any(Option::is_some)
            {
                return Err("what has a position is passed over");
            }
            if (start..stop).any(|i| fiber.at[i as usize] != Some(base + i)) {
                return Err("a coordinate of a block stands elsewhere");
            }
            (from, turns) = (stop, turns + 1);
            pieces.leave(d);
        }
        match fiber.at[from as usize..].iter().any(Option::is_some) || turns != left {
            true => Err("there are more blocks, or fewer, than were left"),
            false => Ok(()),
        }
    })
}

/// *What is asked is found*: the position of the coordinate that a fiber is opened at, if it has one.
pub fn what_is_asked_is_found(fiber: &Fiber, at: i64, ops: Operations) -> Result<(), Broken> {
    let (found, position) = fiber.with(at, |d, pieces| Ok((ops.find)(pieces, d, at)))?;
    match fiber.at[at as usize] {
        None if found => Err("a coordinate is found that has no position"),
        Some(_) if !found => Err("a coordinate is not found"),
        Some(p) if p != position => Err("a coordinate is found elsewhere"),
        _ => Ok(()),
    }
}

/// How an interval is opened: of a band, or of a ragged level; the compiler's way, or a wrong one.
pub type Opening = fn(&mut Concrete, bool) -> Interval<i64>;

/// What the compiler emits, for the second of three fibers.
pub const INTERVAL: Opening = |d, band| Interval::open(d, "B", (BufferId(0), band.then_some(BufferId(1))), &1, None);

/// *An interval holds its coordinates*: those from the first on, one position each, and no other.
pub fn interval_holds(first: i64, length: i64, band: bool, open: Opening) -> Result<(), Broken> {
    let (pos, firsts) = ([0, 2, 2 + length, 4 + length], [3, first, 0]);
    let arrays: [&[i64]; 2] = [&pos, &firsts];
    let mut d = Concrete::new(&arrays, FUEL);
    let Interval { start, stop, base } = open(&mut d, band);
    let first = if band { first } else { 0 };
    let wrong = (0..EXTENT as i64).any(|i| {
        let wanted = (first <= i && i < first + length).then_some(2 + i - first);
        (start <= i && i < stop).then_some(base + i) != wanted
    });
    match d.fault() {
        Some(fault) => Err(fault),
        None if wrong => Err("a coordinate of an interval stands elsewhere"),
        None => Ok(()),
    }
}

/// Every law of pieces on one choice of data.
pub fn laws(c: &mut impl Choose) {
    let level = [Level::Runs, Level::Blocks, Level::Packed, Level::Aligned][c.upto(3)];
    let (fiber, start, stops) = chosen(c, level);
    assert_eq!(pieces_cover(&fiber, start, &stops, PIECES), Ok(()), "{fiber:?} from {start}, {stops:?}");
    assert_eq!(what_is_asked_is_found(&fiber, start, PIECES), Ok(()), "{fiber:?} at {start}");
    if matches!(level, Level::Blocks | Level::Aligned) {
        assert_eq!(blocks_hold_everything(&fiber, PIECES), Ok(()), "{fiber:?}");
    }
}

fn chosen(c: &mut impl Choose, level: Level) -> (Fiber, i64, [bool; EXTENT]) {
    let fiber = Fiber::choose(c, level);
    let start = c.upto(EXTENT - 1) as i64;
    let mut stops = [false; EXTENT];
    stops.iter_mut().skip(1).for_each(|stop| *stop = c.flag());
    (fiber, start, stops)
}

/// The law of intervals on one choice of data.
pub fn interval_laws(c: &mut impl Choose) {
    let (first, band) = (c.upto(EXTENT), c.flag());
    let length = c.upto(EXTENT - if band { first } else { 0 });
    assert_eq!(interval_holds(first as i64, length as i64, band, INTERVAL), Ok(()), "{first} {length} {band}");
}

/// Bounds: fibers of runs, of blocks, aligned or not, and of packed pieces over 5 coordinates, every start, every set of stops; loops unwound 65
/// times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn piece_laws() {
    laws(&mut crate::choose::Any);
}

/// Bounds: every interval of 5 coordinates, of a band and of a ragged level.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn interval_laws_hold() {
    interval_laws(&mut crate::choose::Any);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_piece() {
        let runs = every(laws);
        assert!(runs > 10_000, "only {runs} choices");
    }

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_interval() {
        assert!(every(interval_laws) > 40);
    }

    /// Pieces and intervals that are wrong in one thing each.
    pub fn wrong() -> Vec<Wrong> {
        let covers = |what: &str, level, ops| {
            Wrong::on_all("pieces", what, move |c| {
                let (fiber, start, stops) = chosen(c, level);
                pieces_cover(&fiber, start, &stops, ops).err().into_iter().collect::<Vec<_>>()
            })
        };
        let asks = |what: &str, level, ops| {
            Wrong::on_all("pieces", what, move |c| {
                let fiber = Fiber::choose(c, level);
                what_is_asked_is_found(&fiber, c.upto(EXTENT - 1) as i64, ops).err().into_iter().collect::<Vec<_>>()
            })
        };
        let hold = |what: &str, ops| {
            Wrong::on_all("pieces", what, move |c| {
                let fiber = Fiber::choose(c, Level::Blocks);
                blocks_hold_everything(&fiber, ops).err().into_iter().collect::<Vec<_>>()
            })
        };
        let holds = |what: &str, open: Opening| {
            Wrong::on_all("an interval", what, move |c| {
                let (first, band) = (c.upto(EXTENT) as i64, c.flag());
                let length = c.upto(EXTENT - if band { first as usize } else { 0 }) as i64;
                interval_holds(first, length, band, open).err().into_iter().collect::<Vec<_>>()
            })
        };
        let early = Operations { end: |p, d| p.end(d) - 1, ..PIECES };
        let begins = Operations {
            block: |p, d| {
                let block = p.block(d, "p");
                Interval { start: block.start - 1, ..block }
            },
            ..PIECES
        };
        let late = Operations {
            certain_block: |p, d| {
                let block = p.certain_block(d, "p");
                Interval { stop: block.stop + 1, ..block }
            },
            ..PIECES
        };
        let fewer = Operations { left: |p, d| p.left(d) - 1, ..PIECES };
        let find_all = Operations { find: |p, d, at| (true, (PIECES.find)(p, d, at).1), ..PIECES };
        let one_of_all = Operations { packed: |p, d| (false, 0, p.packed(d, "p").2), ..PIECES };
        let each_of_all = Operations { packed: |p, d| (true, p.packed(d, "p").1, 0), ..PIECES };
        vec![
            covers("a run ends one coordinate early", Level::Runs, early),
            covers("a piece that has ended is not left", Level::Runs, Operations { leave_if: |_, _, _| {}, ..PIECES }),
            covers(
                "a piece is left before it has ended",
                Level::Runs,
                Operations { leave_if: |p, d, _| p.leave_if(d, &true), ..PIECES },
            ),
            covers("a block begins one coordinate early", Level::Blocks, begins),
            covers("an aligned block begins one coordinate early", Level::Aligned, begins),
            covers("a piece has one position for all", Level::Packed, one_of_all),
            covers("a piece has a position for each", Level::Packed, each_of_all),
            hold("a block ends one coordinate late", late),
            hold("one block fewer is left", fewer),
            asks("what is before a block is in it", Level::Blocks, find_all),
            asks("what is between aligned blocks is in one", Level::Aligned, find_all),
            asks(
                "a run is found one behind",
                Level::Runs,
                Operations { find: |p, d, at| (true, (PIECES.find)(p, d, at).1 + 1), ..PIECES },
            ),
            asks("nothing is found", Level::Packed, Operations { find: |_, _, _| (false, 0), ..PIECES }),
            holds("a band begins at 0", |d, _| Interval::open(d, "B", (BufferId(0), None), &1, None)),
            holds("it is another fiber's", |d, band| {
                Interval::open(d, "B", (BufferId(0), band.then_some(BufferId(1))), &0, None)
            }),
        ]
    }
}
