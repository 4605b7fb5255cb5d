//! `runs`: each value holds for all coordinates up to the end of its run. Every fiber reaches the end of its extent.
//!
//! ```text
//!  pos   as of a compressed level
//!  crd   the last coordinate of each run, strictly ascending within a fiber: a position stands for the coordinates behind
//!        the previous run's last, up to crd[position]
//! ```

use super::{At, Kind, Level, Spread, Step, Store};
use crate::format::check::{Above, structure::check_runs};
use crate::format::entries::parents;
use crate::format::{Array, Error, Malformed, room};
use crate::looplet::{Looplet, Values};

pub(super) struct Runs;

impl Kind for Runs {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Run(Values::Stored))
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Fibers("pos"), Step::Each("crd")]
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let [pos, crd] = at.arrays();
        check_runs(at, (pos, crd, None), &above)
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        let (pos, crd) = store.runs(l, extent)?;
        self.of_runs(store, &pos, &crd)
    }

    fn of_runs(&self, store: &mut Store, pos: &[i64], crd: &[i64]) -> Result<Level<'static>, Error> {
        Ok(Level::Runs { pos: store.positions_of(pos)?, crd: store.coordinates_of(crd)? })
    }

    fn spread(&self, at: At, positions: &[usize]) -> Result<Vec<Spread>, Error> {
        let [pos, crd] = at.arrays();
        let (parents, mut all) = (parents(pos)?, Vec::new());
        for (entry, &p) in positions.iter().enumerate() {
            let (parent, begin) = (parents[p], begin(pos, crd, parents[p], p));
            room::more(&mut all, (crd.index(p) + 1 - begin) as usize)?;
            all.extend((begin..=crd.index(p)).map(|coordinate| Spread { entry, parent, coordinate }));
        }
        Ok(all)
    }

    fn multiply(&self, at: At, positions: &[usize], counts: &mut [u64]) -> Result<(), Error> {
        let [pos, crd] = at.arrays();
        let parents = parents(pos)?;
        for (n, &p) in counts.iter_mut().zip(positions) {
            *n = n.saturating_mul((crd.index(p) + 1 - begin(pos, crd, parents[p], p)) as u64);
        }
        Ok(())
    }
}

/// The first coordinate of a run.
fn begin(pos: &Array, crd: &Array, parent: usize, position: usize) -> i64 {
    if position as i64 == pos.index(parent) { 0 } else { crd.index(position - 1) + 1 }
}
