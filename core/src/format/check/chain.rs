//! Chains: a nonunique level and the singletons below it, whose tuples of coordinates ascend.
//!
//! ```text
//!   nonunique  0 0 0 2      never falls within a fiber
//!   singleton  1 1 3 0      never falls where the levels above are tied with the position before
//!   singleton  0 4 1 1      the last: rises there
//!   tied       . = . .      (before the last level: 0,1 and 0,1)
//! ```

use super::{Above, malformed};
use crate::format::levels::At;
use crate::format::{Array, Malformed};

/// A chain down to some level. Two positions are tied there if they are in one fiber and their coordinates are equal.
pub(in crate::format) struct Chain<'t> {
    /// The `pos` of the nonunique level, which has been checked.
    pos: &'t Array<'t>,
    /// The coordinates of the levels so far, one per position.
    levels: Vec<&'t Array<'t>>,
}

impl<'t> Chain<'t> {
    /// A chain before its first level, where all positions of a fiber are tied.
    pub(in crate::format) fn of(pos: &'t Array<'t>) -> Chain<'t> {
        Chain { pos, levels: vec![] }
    }

    /// Checks a level with these coordinates in the chain; returns its state for the check of the level below.
    pub(in crate::format) fn check_level(self, at: At<'t>, crd: &'t Array<'t>) -> Result<Above<'t>, Malformed> {
        let last = at.tensor.format.chain(at.l).is_some_and(|chain| chain.end == at.l + 1);
        let chain = self.check(at.l, crd, at.extent(), last)?;
        Ok(Above { chain: (!last).then_some(chain), ..Above::of(crd.len() as u64) })
    }

    /// The chain extended by level `l`. No coordinate may fall where positions are tied, and in the `last` level each has to rise there.
    fn check(mut self, l: usize, crd: &'t Array<'t>, extent: u64, last: bool) -> Result<Chain<'t>, Malformed> {
        if !matches!(crd, Array::I32(_) | Array::I64(_)) {
            return malformed(Some(l), 0, format!("crd is of type {}, i32 or i64 expected", crd.ty()));
        }
        for parent in 0..self.pos.len() - 1 {
            let fiber = self.pos.index(parent) as usize..self.pos.index(parent + 1) as usize;
            let begin = fiber.start;
            let mut before = 0;
            for p in fiber {
                let c = crd.index(p);
                let tied = p > begin && self.levels.iter().all(|level| level.index(p - 1) == level.index(p));
                if let Some(what) = wrong(c, before, extent, (tied, last)) {
                    return malformed(Some(l), p, what);
                }
                before = c;
            }
        }
        self.levels.push(crd);
        Ok(self)
    }
}

/// The error in coordinate `c` behind `before`, if there is one; `tied` says whether the levels above are equal.
fn wrong(c: i64, before: i64, extent: u64, (tied, last): (bool, bool)) -> Option<String> {
    match c {
        _ if c < 0 || c as u64 >= extent => Some(format!("coordinate {c} is not in 0..{extent}")),
        _ if tied && c < before => Some(format!("coordinate {c} stands behind {before}: a fiber's entries ascend")),
        _ if tied && c == before && last => Some(format!("coordinate {c} stands twice in one fiber")),
        _ => None,
    }
}
