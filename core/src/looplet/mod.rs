//! Looplets: what one level of a tensor looks like along one index variable, for `fiberloom show looplets`.
//!
//! ```text
//!   Lookup                      a value at every coordinate, in constant time
//!   Run                         one value for all coordinates
//!   Spike                       the fill, and a value at the last coordinate
//!   Sequence(Run, Lookup)       phases, one behind the other
//!   Stepper(Spike)              a part again and again, each up to where the next begins
//!   Switch(Run, Lookup)         one of these, as data say
//!   Switch(found)               one coordinate, bound already: there or not
//! ```
//!
//! Each level composes its own in its file (`core/src/format/levels/`). What a level can do follows from the composition, and lowering
//! emits the loops that it describes: neither asks which level has it. Where values of a part are is a property of the part that is not
//! printed. "Then fill" behind a stepper is implied by exhaustion. Source: the looplets paper, section 3.

use std::fmt;

/// One fiber along one index variable, or a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looplet {
    /// A value at every coordinate.
    Lookup(Values),
    /// One value for all coordinates.
    Run(Values),
    /// A stored value at the last coordinate, and the fill before it.
    Spike,
    /// Phases, one behind the other.
    Sequence(&'static [Looplet]),
    /// Parts of one kind in ascending order, as many as are stored.
    Stepper(&'static Looplet),
    /// One of these, as data say.
    Switch(&'static [Looplet]),
    /// What is stored at the one coordinate that is asked for.
    Found,
}

/// Where the values of a part are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// Each at a position of its own.
    Stored,
    /// As stored, in blocks of so many coordinates that begin at multiples of that.
    Aligned(i64),
    /// At the positions of the mirrored coordinates.
    Mirrored,
    /// Nowhere: they are computed where they are asked for.
    Computed,
    /// Nowhere: they are the fill.
    Fill,
}

impl Looplet {
    /// Nothing but the fill.
    pub const FILL: Looplet = Looplet::Run(Values::Fill);
    /// A stored value at every coordinate.
    pub const VALUES: Looplet = Looplet::Lookup(Values::Stored);

    /// The same fiber where its coordinate is known before the level is opened.
    pub fn bound(self) -> Looplet {
        match self {
            Looplet::Lookup(_) => self,
            Looplet::Sequence([before @ Looplet::Lookup(_), Looplet::Lookup(_)]) => *before,
            _ => Looplet::Switch(&[Looplet::Found]),
        }
    }

    /// Whether a stored value may stand for several coordinates.
    pub fn shares(&self) -> bool {
        let own = matches!(self, Looplet::Run(Values::Stored) | Looplet::Lookup(Values::Mirrored));
        own || self.parts().iter().any(Looplet::shares)
    }

    fn parts(&self) -> &'static [Looplet] {
        match self {
            Looplet::Sequence(parts) | Looplet::Switch(parts) => parts,
            Looplet::Stepper(part) => std::slice::from_ref(*part),
            Looplet::Lookup(_) | Looplet::Run(_) | Looplet::Spike | Looplet::Found => &[],
        }
    }
}

impl fmt::Display for Looplet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Looplet::Lookup(_) => "Lookup",
            Looplet::Run(_) => "Run",
            Looplet::Spike => "Spike",
            Looplet::Sequence(_) => "Sequence",
            Looplet::Stepper(_) => "Stepper",
            Looplet::Switch(_) => "Switch",
            Looplet::Found => "found",
        })?;
        let parts: Vec<String> = self.parts().iter().map(Looplet::to_string).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, "({})", parts.join(", ")) }
    }
}
