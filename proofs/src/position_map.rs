//! Laws of lists that are laid on tables, `core::stream::PositionMap`, on their `Concrete` reading.
//!
//! Data of a law: two fibers of up to [`POSITIONS`] positions below [`EXTENT`], each at a place in a longer array; the second is laid
//! on the table that the first was taken up from, as one table serves every row of a level.

use crate::choose::Choose;
use crate::stream::{Broken, Fiber};
use fiberloom_loops::BufferId;
use fiberloom_loops::stream::{Concrete, ListFiber, PositionMap, TABLE};

/// Most positions of a fiber.
pub const POSITIONS: usize = 3;
/// Coordinates are below this.
pub const EXTENT: usize = 5;
/// Turns that all loops may take together.
const FUEL: u32 = 64;

/// The operations that laws are about; the compiler's, or a wrong one that a law must catch.
#[derive(Clone, Copy)]
pub struct Operations {
    /// Lays a list.
    pub lay: fn(&mut Concrete, ListFiber<i64>) -> PositionMap<i64>,
    /// Whether there is an entry, and its position.
    pub ask: fn(&mut Concrete, i64) -> (bool, i64),
    /// Takes it up again.
    pub clear_map: fn(&mut Concrete, PositionMap<i64>),
}

/// What the compiler emits.
pub const POSITION_MAP: Operations =
    Operations { lay, ask: |d, at| PositionMap::ask(d, TABLE, &at), clear_map: |d, laid| laid.clear_map(d) };

fn lay(d: &mut Concrete, fiber: ListFiber<i64>) -> PositionMap<i64> {
    let list = PositionMap::open(d, fiber, TABLE);
    list.lay(d);
    list
}

/// *Asking is scanning*: what is laid has an entry exactly where the fiber has one, at its position (the last of several), whatever
/// was laid on the table before; and *a table is as it was*: taken up, nothing is left.
pub fn one_table_serves(fibers: &[Fiber; 2], ops: Operations) -> Result<(), Broken> {
    let arrays = [fibers[0].array(), fibers[1].array()];
    let mut d = Concrete::new(&arrays, FUEL).with_table(EXTENT);
    for (n, fiber) in fibers.iter().enumerate() {
        let laid = (ops.lay)(&mut d, ListFiber { crd: BufferId(n as u32), ..fiber.from(1) });
        let asked = (0..EXTENT as i64).try_for_each(|at| {
            let wanted = fiber.entries().find(|(c, _)| *c == at).map(|(_, positions)| positions.end as i64 - 1);
            let (found, position) = (ops.ask)(&mut d, at);
            match wanted {
                Some(p) if !found || position != p => Err("what is laid is not asked where it is"),
                None if found => Err("what is not laid is there"),
                _ => Ok(()),
            }
        });
        (ops.clear_map)(&mut d, laid);
        d.fault().map_or(asked, Err)?;
        if d.table().iter().any(|place| *place != 0) {
            return Err("something is left on a table");
        }
    }
    Ok(())
}

/// The law on one choice of data.
pub fn laws(c: &mut impl Choose) {
    let fibers = [(); 2].map(|()| Fiber::within(c, POSITIONS, EXTENT));
    assert_eq!(one_table_serves(&fibers, POSITION_MAP), Ok(()), "{fibers:?}");
}

/// Bounds: two fibers of at most 3 positions below 5, repeating or not; loops unwound 65 times.
#[cfg(kani)]
#[kani::proof]
#[kani::unwind(66)]
fn position_map_laws() {
    laws(&mut crate::choose::Any);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::choose::every;
    use crate::wrong::Wrong;

    /// Bounds: as stated on the harness; every choice is run.
    #[test]
    fn every_pair_of_fibers() {
        let runs = every(laws);
        assert!(runs > 1000, "only {runs} choices");
    }

    /// Lists that are laid wrongly in one thing each.
    pub fn wrong() -> Vec<Wrong> {
        let wrong: [(&str, Operations); 5] = [
            ("a table is not cleared", Operations { clear_map: |_, _| {}, ..POSITION_MAP }),
            (
                "the first entry is not laid",
                Operations { lay: |d, f| lay(d, ListFiber { begin: f.begin + 1, ..f }), ..POSITION_MAP },
            ),
            (
                "the next fiber's entry is laid too",
                Operations { lay: |d, f| lay(d, ListFiber { end: f.end + 1, ..f }), ..POSITION_MAP },
            ),
            (
                "it is asked one place on",
                Operations {
                    ask: |d, at| PositionMap::ask(d, TABLE, &(at + 1).min(EXTENT as i64 - 1)),
                    ..POSITION_MAP
                },
            ),
            (
                "whatever is asked is there",
                Operations { ask: |d, at| (true, PositionMap::ask(d, TABLE, &at).1), ..POSITION_MAP },
            ),
        ];
        let on_all = |(what, ops): (&str, Operations)| {
            Wrong::on_all("a laid list", what, |c| {
                let fibers = [(); 2].map(|()| Fiber::within(c, POSITIONS, EXTENT));
                one_table_serves(&fibers, ops).err().into_iter().collect::<Vec<_>>()
            })
        };
        wrong.into_iter().map(on_all).collect()
    }
}
