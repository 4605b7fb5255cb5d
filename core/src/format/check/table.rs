//! Tables of hashed levels: every position is found, and nothing else is there.
//!
//! A position is found if no place is empty from where its search begins to where it stands; that takes one walk over
//! the table, however long its clusters are.

use super::malformed;
use crate::format::entries::parents;
use crate::format::hash::slot;
use crate::format::{Array, Malformed, room};

/// The table of a level whose `pos` and `crd` have been checked.
pub(super) fn check(l: usize, pos: &Array, crd: &Array, table: &Array) -> Result<(), Malformed> {
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
    // How many places directly before the one at hand are taken.
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
