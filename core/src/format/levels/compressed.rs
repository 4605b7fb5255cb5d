//! `compressed`: a list of coordinates.
//!
//! ```text
//!  pos   one more than there are parent positions; from 0, never falling: a fiber's positions are pos[parent]..pos[parent + 1]
//!  crd   one a position, strictly ascending within a fiber, in the mode's extent
//! ```

use super::{At, Kind, Level, Step, Store, check_list};
use crate::format::check::Above;
use crate::format::{Error, Malformed};
use crate::looplet::Looplet;

pub(super) struct Compressed;

impl Kind for Compressed {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Spike)
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Fibers("pos"), Step::Each("crd")]
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        check_list(at, &above)
    }

    fn assemble(&self, store: &mut Store, l: usize, _: u64) -> Result<Level<'static>, Error> {
        let (pos, crd) = store.list(l..l + 1)?;
        Ok(Level::Compressed { pos: store.positions_of(&pos)?, crd: store.coordinates_of(&crd)? })
    }
}
