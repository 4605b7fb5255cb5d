//! Blocks: consecutive positions with consecutive coordinates, for which only the last coordinate is stored.
//!
//! ```text
//!   coordinates   0 1   4 5 6        vbl                      runs up to   0 1 2   6   7 8        packbits
//!   positions     0 1   2 3 4                                 positions    0 1 2   3   4 5
//!   crd           1     6            last of each             crd          2       6   8
//!   ofs           0     2     5                               ofs          0       3   4    6
//!                                                             runs of one coordinate: one piece; others: a piece each
//! ```
//!
//! Positions are the same as those of a list, or of runs: blocks save only coordinates.
//!
//! Invariants: `ofs` begins with 0, rises, and counts all positions; a block is behind the one before it in its fiber. A piece of
//! packbits begins where the one before it ended, or at 0, and has one position or one per coordinate.

use super::{Array, Error, room};
use std::ops::RangeInclusive;

/// The blocks of a list: `pos`, `crd` and `ofs`.
pub(super) fn of_list(pos: &[i64], crd: &[i64]) -> Result<[Vec<i64>; 3], Error> {
    grouped(true, pos, crd)
}

/// The pieces of runs: `pos`, `crd` and `ofs`.
pub(super) fn pieces(pos: &[i64], crd: &[i64]) -> Result<[Vec<i64>; 3], Error> {
    grouped(false, pos, crd)
}

/// Joins consecutive coordinates to blocks: all of them, or only those behind a coordinate that is consecutive itself.
fn grouped(all: bool, pos: &[i64], crd: &[i64]) -> Result<[Vec<i64>; 3], Error> {
    let (mut blocks, mut last, mut ofs) = (room::room(pos.len())?, Vec::new(), Vec::new());
    blocks.push(0);
    for fiber in pos.windows(2) {
        // The coordinate of the previous position, and whether the next may join its block.
        let (mut before, mut open) = (-1, false);
        for p in fiber[0]..fiber[1] {
            let c = crd[p as usize];
            let next = c == before + 1;
            if open && next {
                *last.last_mut().expect("one that is open") = c;
            } else {
                room::push(&mut last, c)?;
                room::push(&mut ofs, p)?;
            }
            (before, open) = (c, next || all);
        }
        blocks.push(last.len() as i64);
    }
    room::push(&mut ofs, crd.len() as i64)?;
    Ok([blocks, last, ofs])
}

/// The coordinate of a position in a block.
pub(super) fn coordinate(crd: &Array, ofs: &Array, block: usize, position: usize) -> i64 {
    crd.index(block) - (ofs.index(block + 1) - 1 - position as i64)
}

/// The coordinates that a position in a fiber's piece stands for.
pub(super) fn coordinates(
    pos: &Array,
    crd: &Array,
    ofs: &Array,
    (parent, piece): (usize, usize),
    position: usize,
) -> RangeInclusive<i64> {
    if ofs.index(piece + 1) - ofs.index(piece) > 1 {
        let c = coordinate(crd, ofs, piece, position);
        return c..=c;
    }
    let begins = piece as i64 == pos.index(parent);
    (if begins { 0 } else { crd.index(piece - 1) + 1 })..=crd.index(piece)
}
