//! `dense`: a value at every coordinate.
//!
//! ```text
//!  position = parent · extent + coordinate
//! ```

use super::{At, Kind, Level, Step, Store};
use crate::format::check::{Above, Unset, spread};
use crate::format::{Error, Malformed, room};
use crate::looplet::Looplet;

pub(super) struct Dense;

impl Kind for Dense {
    fn looplet(&self) -> Looplet {
        Looplet::VALUES
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Spread]
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let positions = spread(at.l, above.positions, at.extent())?;
        Ok(Above { unset: Unset::spread(above.unset, at.extent()), ..Above::of(positions) })
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        store.spread(l, extent)?;
        Ok(Level::Dense)
    }

    fn parent(&self, at: At, position: usize) -> usize {
        parent(at, position)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        to_parents(at, positions);
        Ok(())
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        column(at, positions)
    }
}

/// The parent of a position of a located level.
pub(super) fn parent(at: At, position: usize) -> usize {
    position / at.extent().max(1) as usize
}

/// Replaces positions of a located level by their parents'.
pub(super) fn to_parents(at: At, positions: &mut [usize]) {
    let extent = at.extent().max(1) as usize;
    positions.iter_mut().for_each(|p| *p /= extent);
}

/// The coordinates of positions of a located level.
pub(super) fn column(at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
    let extent = at.extent().max(1) as usize;
    room::collected(positions.iter().map(|p| (p % extent) as i64))
}
