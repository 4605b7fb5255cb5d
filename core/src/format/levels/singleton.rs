//! `singleton`: one coordinate per parent position, at the same position. It continues a chain below `nonunique`, else it is a level by
//! itself.
//!
//! ```text
//!  crd   one a position
//! ```

use super::{At, Kind, Level, Link, Step, Store};
use crate::algebra::Type;
use crate::format::check::{Above, list, malformed};
use crate::format::{Array, Error, Malformed};
use crate::looplet::Looplet;

pub(super) struct Singleton;

impl Kind for Singleton {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Spike)
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Each("crd")]
    }

    fn link(&self) -> Option<Link> {
        Some(Link::Next)
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let [crd] = at.arrays();
        list::length_and_type(at.l, "crd", crd, above.positions, &[Type::I32, Type::I64])?;
        match above.chain {
            Some(chain) => chain.check_level(at, crd),
            None => {
                check_single(at.l, crd, at.extent(), &above)?;
                Ok(above)
            }
        }
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        if store.format.is_single(l) {
            return Ok(Level::Singleton { crd: single(store, l, extent)? });
        }
        let crd = store.coordinates(l)?;
        Ok(Level::Singleton { crd: store.coordinates_of(&crd)? })
    }

    fn parent(&self, _: At, position: usize) -> usize {
        position
    }

    fn to_parents(&self, _: At, _: &mut [usize]) -> Result<(), Error> {
        Ok(())
    }
}

/// Checks a singleton in no chain.
fn check_single(l: usize, crd: &Array, extent: u64, above: &Above) -> Result<(), Malformed> {
    if let Some(p) = (0..crd.len()).find(|&p| crd.index(p) < 0 || crd.index(p) as u64 >= extent) {
        return malformed(Some(l), p, format!("coordinate {} is not in 0..{extent}", crd.index(p)));
    }
    match above.first_unset(crd.len(), |p| crd.index(p) != 0) {
        Some(p) => malformed(Some(l), p, "below a flag that is not set the coordinate is 0"),
        None => Ok(()),
    }
}

/// The coordinates of a singleton in no chain, one per parent position.
fn single(store: &mut Store, l: usize, extent: u64) -> Result<Array<'static>, Error> {
    if extent == 0 && store.positions > 0 {
        let what = "a singleton holds one coordinate a parent position; in an extent of 0 is none".to_string();
        return Err(Error::Malformed(Malformed { level: Some(l), position: 0, what }));
    }
    let mut crd: Vec<i64> = store.zeros(store.positions, store.crd_ty.bytes())?;
    let mut before = None;
    for (&p, &c) in store.at.iter().zip(&store.columns[l]) {
        if before == Some(p) && crd[p] != c {
            let (a, what) = (crd[p], "a singleton holds one coordinate a parent position");
            let what = format!("{what}, and parent position {p} has {a} and {c}");
            return Err(Error::Malformed(Malformed { level: Some(l), position: p, what }));
        }
        (crd[p], before) = (c, Some(p));
    }
    store.coordinates_of(&crd)
}
