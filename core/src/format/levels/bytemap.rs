//! `bytemap`: as bitmap, with a byte per position.
//!
//! ```text
//!  flags   Bool, one a position
//! ```

use super::{At, Kind, Level, Step, Store, dense};
use crate::algebra::Type;
use crate::format::check::{Above, check_bools, check_flags, list, spread};
use crate::format::{Array, Error, Malformed};
use crate::looplet::Looplet;

pub(super) struct Bytemap;

impl Kind for Bytemap {
    fn looplet(&self) -> Looplet {
        Looplet::VALUES
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Spread, Step::Each("flags")]
    }

    fn is_flagged(&self) -> bool {
        true
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let ([flags], positions) = (at.arrays(), spread(at.l, above.positions, at.extent())?);
        list::length_and_type(at.l, "flags", flags, positions, &[Type::Bool])?;
        check_bools(Some(at.l), flags)?;
        check_flags(at, positions, above)
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        store.spread(l, extent)?;
        let mut flags: Vec<u8> = store.zeros(store.positions, 1)?;
        store.at.iter().for_each(|p| flags[*p] = 1);
        Ok(Level::Bytemap { flags: Array::Bool(flags.into()) })
    }

    fn is_set(&self, at: At, p: usize) -> bool {
        let [flags] = at.arrays();
        flags.get(p).is_true()
    }

    fn parent(&self, at: At, position: usize) -> usize {
        dense::parent(at, position)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        dense::to_parents(at, positions);
        Ok(())
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        dense::column(at, positions)
    }
}
