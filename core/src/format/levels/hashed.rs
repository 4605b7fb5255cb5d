//! `hashed`: as compressed, with a table that finds the position of a coordinate in constant time.
//!
//! ```text
//!  pos    as of a compressed level
//!  crd    as of a compressed level
//!  table  one open-addressing table of the whole level, of pos's type: its length is a power of two, at least twice the number of
//!         positions and at least 2. A place holds a position or −1; the search for a position begins at its slot (format/hash.rs)
//!         and goes on place by place, around the end, to the first −1
//! ```
//!
//! A position is found if no place is empty from where its search begins to where it is stored. One walk over the table checks all
//! positions, however long its clusters are.

use super::{At, Kind, Level, Step, Store, check_list};
use crate::format::check::{Above, malformed};
use crate::format::entries::parents;
use crate::format::hash::slot;
use crate::format::{Array, Error, Malformed, room};
use crate::looplet::Looplet;

pub(super) struct Hashed;

impl Kind for Hashed {
    fn looplet(&self) -> Looplet {
        Looplet::Stepper(&Looplet::Spike)
    }

    fn steps(&self) -> &'static [Step] {
        &[Step::Any("table"), Step::Fibers("pos"), Step::Each("crd")]
    }

    fn has_table(&self) -> bool {
        true
    }

    fn check<'t>(&self, at: At<'t>, above: Above<'t>) -> Result<Above<'t>, Malformed> {
        let below = check_list(at, &above)?;
        let [pos, crd, table] = at.arrays();
        check_table(at.l, pos, crd, table)?;
        Ok(below)
    }

    fn assemble(&self, store: &mut Store, l: usize, _: u64) -> Result<Level<'static>, Error> {
        let (pos, crd) = store.list(l..l + 1)?;
        let (pos, crd) = (store.positions_of(&pos)?, store.coordinates_of(&crd)?);
        let table = table(store, &pos, &crd)?;
        Ok(Level::Hashed { pos, crd, table })
    }
}

/// The table of a level's positions and coordinates.
fn table(store: &mut Store, pos: &Array, crd: &Array) -> Result<Array<'static>, Error> {
    let n = crd.len();
    let size = (2 * n).next_power_of_two().max(2);
    let mut table: Vec<i64> = store.zeros(size as u64, store.pos_ty.bytes())?;
    table.fill(-1);
    for (p, parent) in parents(pos)?.into_iter().enumerate() {
        let mut at = slot(parent as i64, crd.index(p), size as i64) as usize;
        while table[at] >= 0 {
            at = (at + 1) % size;
        }
        table[at] = p as i64;
    }
    store.positions_of(&table)
}

/// Checks the table of a level whose `pos` and `crd` have been checked.
fn check_table(l: usize, pos: &Array, crd: &Array, table: &Array) -> Result<(), Malformed> {
    let (size, n) = (table.len(), crd.len());
    if !size.is_power_of_two() || size < 2 || size / 2 < n {
        let what = format!("the table has {size} places; a power of two, at least 2 and twice {n}, is expected");
        return malformed(Some(l), size, what);
    }
    if table.ty() != pos.ty() {
        return malformed(Some(l), 0, format!("the table is of type {}, and pos of type {}", table.ty(), pos.ty()));
    }
    let parents = parents(pos).map_err(|_| Malformed::unchecked(l))?;
    let mut found = room::repeated(false, n).map_err(|_| Malformed::unchecked(l))?;
    // The number of taken places directly before the current one.
    let mut taken = (0..size).rev().take_while(|&at| table.index(at) != -1).count();
    for at in 0..size {
        let p = table.index(at);
        if p == -1 {
            taken = 0;
            continue;
        }
        if p < 0 || p as u64 >= n as u64 {
            return malformed(Some(l), at, format!("the table's place {at} holds {p}, not -1 or a position below {n}"));
        }
        let p = p as usize;
        if std::mem::replace(&mut found[p], true) {
            return malformed(Some(l), at, format!("position {p} stands twice in the table, at place {at} too"));
        }
        let begin = slot(parents[p] as i64, crd.index(p), size as i64) as usize;
        if (at.wrapping_sub(begin) & (size - 1)) > taken {
            let what = format!("position {p} stands in the table's place {at}, and its search begins at {begin}");
            return malformed(Some(l), at, format!("{what}: it is not found"));
        }
        taken += 1;
    }
    match found.iter().position(|f| !f) {
        Some(p) => malformed(Some(l), p, format!("position {p} is not in the table")),
        None => Ok(()),
    }
}
