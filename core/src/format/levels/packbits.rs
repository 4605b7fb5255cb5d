//! `packbits`: as runs, with consecutive runs of one coordinate joined to one piece, which has a position for each of its coordinates;
//! any other piece has one position for all of them.
//!
//! ```text
//!  pos   pos[parent]..pos[parent + 1] are a fiber's pieces
//!  crd   the last coordinate of each piece, strictly ascending within a fiber, which reaches the end of its extent
//!  ofs   one more than there are pieces, of pos's type: a piece's positions are ofs[piece]..ofs[piece + 1]
//! ```

use super::{At, Kind, Level, Spread, Step, Store, vbl};
use crate::format::blocks::{self, coordinates};
use crate::format::check::{Above, structure::check_runs};
use crate::format::entries::parents;
use crate::format::{Error, Malformed, room};
use crate::looplet::{Looplet, Values};

pub(super) struct Packbits;

impl Kind for Packbits {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Switch(&[Looplet::Run(Values::Stored), Looplet::VALUES]))
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Fibers("pos"), Step::Each("crd"), Step::Fibers("ofs")]
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let [pos, crd, ofs] = at.arrays();
        check_runs(at, (pos, crd, Some(ofs)), &above)
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        let (pos, crd) = store.runs(l, extent)?;
        self.of_runs(store, &pos, &crd)
    }

    fn of_runs(&self, store: &mut Store, pos: &[i64], crd: &[i64]) -> Result<Level<'static>, Error> {
        let [pos, crd, ofs] = store.blocks(blocks::pieces(pos, crd)?)?;
        Ok(Level::Packbits { pos, crd, ofs })
    }

    fn parent(&self, at: At, position: usize) -> usize {
        vbl::parent(at, position)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        vbl::to_parents(at, positions)
    }

    fn spread(&self, at: At, positions: &[usize]) -> Result<Vec<Spread>, Error> {
        let [pos, crd, ofs] = at.arrays();
        let (pieces, fibers, mut all) = (parents(ofs)?, parents(pos)?, Vec::new());
        for (entry, &p) in positions.iter().enumerate() {
            let (piece, parent) = (pieces[p], fibers[pieces[p]]);
            let own = coordinates(pos, crd, ofs, (parent, piece), p);
            room::more(&mut all, own.clone().count())?;
            all.extend(own.map(|coordinate| Spread { entry, parent, coordinate }));
        }
        Ok(all)
    }

    fn multiply(&self, at: At, positions: &[usize], counts: &mut [u64]) -> Result<(), Error> {
        let [pos, crd, ofs] = at.arrays();
        let (pieces, fibers) = (parents(ofs)?, parents(pos)?);
        for (n, &p) in counts.iter_mut().zip(positions) {
            let own = coordinates(pos, crd, ofs, (fibers[pieces[p]], pieces[p]), p);
            *n = n.saturating_mul((own.end() + 1 - own.start()) as u64);
        }
        Ok(())
    }
}
