//! Looplets: what one level of a tensor looks like along one index variable, for `fiberloom show looplets`.
//!
//! ```text
//!   dense, bytemap, bitmap    Lookup            a value at every coordinate, in O(1)
//!   function                  Lookup            computed, wherever it is asked for
//!   lists                     Stepper(Spike)    entries in ascending order; between and behind them the fill
//!   runs                      Stepper(Run)      a value for all coordinates up to one, then the next
//!   vbl, blocked              Stepper(Sequence(Run, Lookup))      the fill, then a block of values, then the next two
//!   packbits                  Stepper(Switch(Run, Lookup))        a value for all coordinates up to one, or one for each
//!   band, lower, upper        Sequence(Run, Lookup, Run)     the fill, an interval of values, the fill
//!   ragged                    Sequence(Lookup, Run)
//!   symmetric                 Sequence(Lookup, Lookup)       up to the diagonal, and mirrored behind it
//!   …of a coordinate that is bound already
//!                             Switch(found)     searched by bisection, in the hash table or by comparison: there or not
//! ```
//!
//! Each level says in its file (`core/src/format/levels/`) which it is, and lowering emits the loops that these describe: it does not
//! ask which level has one.
//! "Then fill" behind a stepper is implied by exhaustion. Source: the looplets paper, section 3.

use std::fmt;

/// One fiber along one index variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looplet {
    /// A value at every coordinate, each with a position of its own.
    Lookup,
    /// A value at every coordinate, computed where it is asked for.
    Computed,
    /// Spikes in ascending order.
    Stepper,
    /// Runs, one behind the other.
    Runs,
    /// Blocks of values, with the fill before each.
    Blocks,
    /// Blocks of so many coordinates, which begin at multiples of that, with the fill before each.
    Aligned(i64),
    /// Runs and blocks of values, one behind the other.
    Packed,
    /// Phases: an interval of values, with the fill before and behind it.
    Interval,
    /// Phases: an interval of values from the first coordinate on, then the fill.
    Prefix,
    /// Phases: up to the diagonal, and behind it what stands at the mirrored coordinates.
    Mirrored,
    /// One coordinate, present or not.
    Switch,
}

impl Looplet {
    /// The same fiber where its coordinate is known before the level is opened.
    pub fn bound(self) -> Looplet {
        match self {
            Looplet::Lookup | Looplet::Computed | Looplet::Mirrored => Looplet::Lookup,
            _ => Looplet::Switch,
        }
    }
}

impl fmt::Display for Looplet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Looplet::Lookup | Looplet::Computed => "Lookup",
            Looplet::Stepper => "Stepper(Spike)",
            Looplet::Runs => "Stepper(Run)",
            Looplet::Blocks | Looplet::Aligned(_) => "Stepper(Sequence(Run, Lookup))",
            Looplet::Packed => "Stepper(Switch(Run, Lookup))",
            Looplet::Interval => "Sequence(Run, Lookup, Run)",
            Looplet::Prefix => "Sequence(Lookup, Run)",
            Looplet::Mirrored => "Sequence(Lookup, Lookup)",
            Looplet::Switch => "Switch(found)",
        })
    }
}
