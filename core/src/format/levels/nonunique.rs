//! `nonunique`: as compressed, but a coordinate may repeat where singletons follow directly. The level and these singletons are a
//! *chain*, in which the tuples of coordinates are strictly ascending within a fiber. The outer level of COO.
//!
//! ```text
//!  pos   as of a compressed level
//!  crd   never falling within a fiber; strictly ascending where no singleton follows
//! ```

use super::{At, Kind, Level, Link, Step, Store};
use crate::format::check::{Above, Chain, list};
use crate::format::{Error, Malformed};
use crate::looplet::Looplet;

pub(super) struct Nonunique;

impl Kind for Nonunique {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Spike)
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Fibers("pos"), Step::Each("crd")]
    }

    fn link(&self) -> Option<Link> {
        Some(Link::First)
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let [pos, crd] = at.arrays();
        list::check_pos(at.l, pos, crd.len(), &above)?;
        Chain::of(pos).check_level(at, crd)
    }

    fn assemble(&self, store: &mut Store, l: usize, _: u64) -> Result<Level<'static>, Error> {
        let (pos, crd) = store.list(store.format.chain(l).expect("it begins one"))?;
        Ok(Level::Nonunique { pos: store.positions_of(&pos)?, crd: store.coordinates_of(&crd)? })
    }
}
