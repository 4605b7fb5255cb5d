//! `ragged`: as band, with every fiber from coordinate 0 on.
//!
//! ```text
//!  pos    as of a band
//! ```

use super::{At, Kind, Level, Step, Store};
use crate::format::check::{Above, structure::check_intervals};
use crate::format::entries::parents;
use crate::format::{Error, Malformed, room};
use crate::looplet::Looplet;

pub(super) struct Ragged;

impl Kind for Ragged {
    fn looplet(&self) -> Looplet {
        Looplet::Sequence(&[Looplet::VALUES, Looplet::FILL])
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Fibers("pos")]
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let [pos] = at.arrays();
        check_intervals(at, pos, None, &above)
    }

    fn assemble(&self, store: &mut Store, l: usize, _: u64) -> Result<Level<'static>, Error> {
        Ok(Level::Ragged { pos: store.intervals(l, true)?.0 })
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        let [pos] = at.arrays();
        let parents = parents(pos)?;
        room::collected(positions.iter().map(|&p| p as i64 - pos.index(parents[p])))
    }
}
