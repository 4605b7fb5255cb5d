//! `band`: the values of an interval of coordinates.
//!
//! ```text
//!  pos    as of a compressed level
//!  first  one per parent position: a fiber's coordinates are consecutive from first[parent] on, all of them in the extent
//! ```

use super::{At, Kind, Level, Step, Store};
use crate::format::check::{Above, structure::check_intervals};
use crate::format::entries::parents;
use crate::format::{Error, Malformed, room};
use crate::looplet::Looplet;

pub(super) struct Band;

impl Kind for Band {
    fn looplet(&self) -> Looplet {
        Looplet::Sequence(&[Looplet::FILL, Looplet::VALUES, Looplet::FILL])
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Each("first"), Step::Fibers("pos")]
    }

    fn is_short(&self) -> bool {
        true
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let [pos, first] = at.arrays();
        check_intervals(at, pos, Some(first), &above)
    }

    fn assemble(&self, store: &mut Store, l: usize, _: u64) -> Result<Level<'static>, Error> {
        let (pos, first) = store.intervals(l, false)?;
        Ok(Level::Band { pos, first })
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        let [pos, first] = at.arrays();
        let parents = parents(pos)?;
        let within = |p: usize| p as i64 - pos.index(parents[p]);
        room::collected(positions.iter().map(|&p| first.index(parents[p]) + within(p)))
    }
}
