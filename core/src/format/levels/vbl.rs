//! `vbl`, variable block list: blocks of consecutive coordinates.
//!
//! ```text
//!  pos   one more than there are parent positions; from 0, never falling: pos[parent]..pos[parent + 1] are a fiber's blocks
//!  crd   the last coordinate of each block, strictly ascending within a fiber
//!  ofs   one more than there are blocks, of pos's type: a block's positions are ofs[block]..ofs[block + 1], one a coordinate
//! ```

use super::{At, Kind, Level, Step, Store, check_list, entries};
use crate::format::blocks::{self, coordinate};
use crate::format::check::{Above, structure::check_blocks};
use crate::format::entries::parents;
use crate::format::{Error, Malformed, room};
use crate::looplet::Looplet;

pub(super) struct Vbl;

impl Kind for Vbl {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Sequence(&[Looplet::FILL, Looplet::VALUES]))
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Fibers("pos"), Step::Each("crd"), Step::Fibers("ofs")]
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        check_list(at, &above)?;
        let [pos, crd, ofs] = at.arrays();
        Ok(Above::of(check_blocks(at.l, (pos, crd, ofs), false)? as u64))
    }

    fn assemble(&self, store: &mut Store, l: usize, _: u64) -> Result<Level<'static>, Error> {
        let (pos, crd) = store.list(l..l + 1)?;
        let [pos, crd, ofs] = store.blocks(blocks::of_list(&pos, &crd)?)?;
        Ok(Level::Vbl { pos, crd, ofs })
    }

    fn parent(&self, at: At, position: usize) -> usize {
        parent(at, position)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        to_parents(at, positions)
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        let [_, crd, ofs] = at.arrays();
        let blocks = parents(ofs)?;
        room::collected(positions.iter().map(|&p| coordinate(crd, ofs, blocks[p], p)))
    }
}

/// The parent of a position of a block.
pub(super) fn parent(at: At, position: usize) -> usize {
    let [pos, _, ofs] = at.arrays();
    entries::parent(pos, entries::parent(ofs, position))
}

/// Replaces positions of blocks by their parents'.
pub(super) fn to_parents(at: At, positions: &mut [usize]) -> Result<(), Error> {
    let [pos, _, ofs] = at.arrays();
    let (blocks, fibers) = (parents(ofs)?, parents(pos)?);
    positions.iter_mut().for_each(|p| *p = fibers[blocks[*p]]);
    Ok(())
}
