//! `symmetric`: as lower; a value at (i, j) is also the value at (j, i).

use super::{At, Kind, Level, Spread, Step, Store};
use crate::format::check::{Above, structure::check_triangles};
use crate::format::triangle::{self, Triangle};
use crate::format::{Error, Malformed, room};
use crate::looplet::{Looplet, Values};

pub(super) struct Symmetric;

impl Kind for Symmetric {
    fn looplet(&self) -> Looplet {
        Looplet::Sequence(&[Looplet::VALUES, Looplet::Lookup(Values::Mirrored)])
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Triangles]
    }

    fn triangle(&self) -> Option<Triangle> {
        Some(Triangle::Symmetric)
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        check_triangles(at, above)
    }

    fn assemble(&self, store: &mut Store, l: usize, extent: u64) -> Result<Level<'static>, Error> {
        store.triangles(l, extent)?;
        Ok(Level::Symmetric)
    }

    fn parent(&self, at: At, position: usize) -> usize {
        triangle::parent(Triangle::Symmetric, at.extent(), position)
    }

    fn to_parents(&self, at: At, positions: &mut [usize]) -> Result<(), Error> {
        positions.iter_mut().for_each(|p| *p = triangle::parent(Triangle::Symmetric, at.extent(), *p));
        Ok(())
    }

    fn spread(&self, at: At, positions: &[usize]) -> Result<Vec<Spread>, Error> {
        let mut all = Vec::new();
        for (entry, &p) in positions.iter().enumerate() {
            let (which, (i, j)) = triangle::within(Triangle::Symmetric, at.extent(), p);
            let first = which * at.extent();
            let at = |i: u64, j: u64| Spread { entry, parent: (first + i) as usize, coordinate: j as i64 };
            room::more(&mut all, 2)?;
            all.push(at(i, j));
            all.extend((i != j).then(|| at(j, i)));
        }
        Ok(all)
    }

    fn multiply(&self, at: At, positions: &[usize], counts: &mut [u64]) -> Result<(), Error> {
        for (n, &p) in counts.iter_mut().zip(positions) {
            let (_, (i, j)) = triangle::within(Triangle::Symmetric, at.extent(), p);
            *n = n.saturating_mul(1 + (i != j) as u64);
        }
        Ok(())
    }
}
