//! The assemblers of a result's last level, if it is appended to.
//!
//! ```text
//!   list       crd[c] = coordinate; c += 1                                         (list.rs)
//!   runs       a run for each value, and a run of the fill value between them      (runs.rs)
//!   packbits   as runs, divided into pieces                                        (runs.rs, pieces.rs)
//!   interval   a value for each coordinate, and the fill value between them        (interval.rs)
//!   blocks     consecutive coordinates, aligned or not                             (blocks.rs)
//! ```
//!
//! Which assembler a level has follows from its looplet.

use super::assembler::{Assembler, Ground};
use super::blocks::{Aligned, Blocks};
use super::interval::Interval;
use super::list::List;
use super::runs::Runs;
use crate::Symbolic;
use fiberloom_core::looplet::{Looplet, Values};

/// The assembler of a last level.
pub(super) enum Last {
    List(List),
    Runs(Runs),
    Interval(Interval),
    Blocks(Blocks),
    Aligned(Aligned),
}

impl Last {
    /// The assembler of a level; `list` is that of a list. `None` if the level is not appended to.
    pub fn of(d: &mut Symbolic, ground: &Ground, list: Option<&List>) -> Option<Last> {
        let kind = ground.arrays.kind();
        kind.is_appended().then_some(())?;
        Some(match kind.looplet() {
            Looplet::Stepper(Looplet::Spike) => Last::List(list?.clone()),
            Looplet::Stepper(Looplet::Sequence([_, Looplet::Lookup(Values::Aligned(size))])) => {
                Last::Aligned(Aligned::of(d, ground, *size))
            }
            Looplet::Stepper(Looplet::Sequence(_)) => Last::Blocks(Blocks::of(d, ground)),
            Looplet::Stepper(_) => Last::Runs(Runs::of(d, ground)),
            _ => Last::Interval(Interval::of(d, ground)),
        })
    }

    /// This assembler as a trait object.
    pub fn assembler(&self) -> &dyn Assembler {
        match self {
            Last::List(list) => list,
            Last::Runs(runs) => runs,
            Last::Interval(interval) => interval,
            Last::Blocks(blocks) => blocks,
            Last::Aligned(blocks) => blocks,
        }
    }
}
