//! `upper`: as lower, with the coordinates from i on.

use super::{At, Kind, Level, Step, Store};
use crate::format::check::{Above, structure::check_triangles};
use crate::format::triangle::{self, Triangle};
use crate::format::{Error, Malformed, room};
use crate::looplet::Looplet;

pub(super) struct Upper;

impl Kind for Upper {
    fn looplet(&self) -> Looplet {
        Looplet::Sequence(&[Looplet::FILL, Looplet::VALUES, Looplet::FILL])
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Triangles]
    }

    fn triangle(&self) -> Option<Triangle> {
        Some(Triangle::Upper)
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        check_triangles(at, above)
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        store.triangles(l, extent)?;
        Ok(Level::Upper)
    }

    fn parent(&self, at: At, position: usize) -> usize {
        triangle::parent(Triangle::Upper, at.extent(), position)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        positions.iter_mut().for_each(|p| *p = triangle::parent(Triangle::Upper, at.extent(), *p));
        Ok(())
    }

    fn column(&self, at: At, positions: &[usize]) -> Result<Vec<i64>, Error> {
        let coordinate = |&p: &usize| triangle::within(Triangle::Upper, at.extent(), p).1.1 as i64;
        room::collected(positions.iter().map(coordinate))
    }
}
