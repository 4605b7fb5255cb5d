//! Looplets: what one level of a tensor looks like along one index variable.
//!
//! ```text
//!   dense, bytemap, bitmap    Lookup            a value at every coordinate, in O(1)
//!   lists                     Stepper(Spike)    entries in ascending order; between and behind them the fill
//!   …of a coordinate that is bound already
//!                             Switch(found)     sought by bisection, or in the hash table: there or not
//! ```
//!
//! A level is *unfurled* at the loop that binds its variable. "Then fill" behind a stepper is implied by
//! exhaustion. Source: the looplets paper, section 3.

use crate::format::LevelKind;
use std::fmt;

/// One fiber along one index variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looplet {
    /// A value at every coordinate.
    Lookup,
    /// Spikes in ascending order.
    Stepper,
    /// One coordinate, present or not.
    Switch,
}

/// The level as a looplet; `bound` if its coordinate is known before the level is opened. `None` of kinds that are
/// not lowered.
pub fn unfurl(kind: LevelKind, bound: bool) -> Option<Looplet> {
    match kind {
        _ if kind.is_located() => Some(Looplet::Lookup),
        _ if !kind.is_list() => None,
        _ if bound => Some(Looplet::Switch),
        _ => Some(Looplet::Stepper),
    }
}

impl fmt::Display for Looplet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Looplet::Lookup => "Lookup",
            Looplet::Stepper => "Stepper(Spike)",
            Looplet::Switch => "Switch(found)",
        })
    }
}
