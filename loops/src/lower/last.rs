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
//! [`LevelKind::maker`] says which assembler a level has.
//!
//! [`LevelKind::maker`]: fiberloom_core::format::LevelKind::maker

use super::assembler::{Assembler, Ground};
use super::blocks::{Aligned, Blocks};
use super::interval::Interval;
use super::list::List;
use super::runs::Runs;
use crate::Symbolic;
use fiberloom_core::format::Maker;

/// The assembler of a last level.
pub(super) enum Last {
    List(List),
    Runs(Runs),
    Interval(Interval),
    Blocks(Blocks),
    Aligned(Aligned),
}

impl Last {
    /// The assembler that `maker` names; `list` is the assembler of a list. `None` if the level is not appended to.
    pub fn of(d: &mut Symbolic, maker: Maker, ground: &Ground, list: Option<&List>) -> Option<Last> {
        Some(match maker {
            Maker::Located | Maker::Triangle(_) => return None,
            Maker::List => Last::List(list?.clone()),
            Maker::Runs | Maker::Pieces => Last::Runs(Runs::of(d, ground)),
            Maker::Interval => Last::Interval(Interval::of(d, ground)),
            Maker::Blocks => Last::Blocks(Blocks::of(d, ground)),
            Maker::Aligned(size) => Last::Aligned(Aligned::of(d, ground, size)),
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
