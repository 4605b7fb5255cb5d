//! `blocked`: blocks of four coordinates, aligned, each with a position for every coordinate; block CSR with blocks of 1 × 4 is
//! `{dense, blocked}`.
//!
//! ```text
//!  pos   one more than there are parent positions; from 0, never falling: pos[parent]..pos[parent + 1] are a fiber's blocks
//!  crd   the number of each block, coordinate div 4, strictly ascending within a fiber
//! ```
//!
//! Position = block · 4 + coordinate mod 4. If the extent is no multiple of 4, the last block is cut off: its positions behind the extent
//! are empty, as below a flag that is not set.

use super::{At, Kind, Level, Step, Store, entries};
use crate::format::check::{Above, Source, Unset, list, malformed};
use crate::format::entries::parents;
use crate::format::{Error, Malformed, room};
use crate::looplet::{Looplet, Values};
use std::rc::Rc;

/// The number of coordinates in a block: 256 bits hold as many doubles.
const SIZE: usize = 4;

pub(super) struct Blocked;

impl Kind for Blocked {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Sequence(&[Looplet::FILL, Looplet::Lookup(Values::Aligned(SIZE as i64))]))
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Fibers("pos"), Step::Each("crd"), Step::Times(SIZE as u64)]
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let ([pos, crd], extent) = (at.arrays(), at.extent());
        list::check(at.l, pos, crd, extent.div_ceil(SIZE as u64), &above)?;
        let Some(positions) = crd.len().checked_mul(SIZE) else {
            return malformed(Some(at.l), 0, "the number of positions does not fit 63 bits");
        };
        let mut unset = None;
        if self.leaves_out(at) {
            let mut flags = room::repeated(true, positions).map_err(|_| Malformed::unchecked(at.l))?;
            flags.iter_mut().enumerate().for_each(|(p, flag)| *flag = self.is_set(at, p));
            unset = Some(Unset { of: Source::Listed(Rc::new(flags)), each: 1 });
        }
        Ok(Above { unset, ..Above::of(positions as u64) })
    }

    fn assemble(&self, store: &mut Store, l: usize, _: u64) -> Result<Level<'static>, Error> {
        let blocks = room::collected(store.columns[l].iter().map(|c| c / SIZE as i64))?;
        let column = std::mem::replace(&mut store.columns[l], blocks);
        let (pos, crd) = store.list(l..l + 1)?;
        store.at.iter_mut().zip(&column).for_each(|(p, c)| *p = *p * SIZE + *c as usize % SIZE);
        store.positions *= SIZE as u64;
        store.columns[l] = column;
        Ok(Level::Blocked { pos: store.positions_of(&pos)?, crd: store.coordinates_of(&crd)? })
    }

    fn leaves_out(&self, at: At) -> bool {
        !at.extent().is_multiple_of(SIZE as u64)
    }

    fn is_set(&self, at: At, position: usize) -> bool {
        let [_, crd] = at.arrays();
        ((crd.index(position / SIZE) as u64) * SIZE as u64 + (position % SIZE) as u64) < at.extent()
    }

    fn parent(&self, at: At, position: usize) -> usize {
        let [pos, _] = at.arrays();
        entries::parent(pos, position / SIZE)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        let [pos, _] = at.arrays();
        let parents = parents(pos)?;
        positions.iter_mut().for_each(|p| *p = parents[*p / SIZE]);
        Ok(())
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        let [_, crd] = at.arrays();
        room::collected(positions.iter().map(|&p| crd.index(p / SIZE) * SIZE as i64 + (p % SIZE) as i64))
    }
}
