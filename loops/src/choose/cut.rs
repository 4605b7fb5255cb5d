//! Cuts of loops into pieces: what they count, and the edges of a piece.

use crate::choose::{
    Facts,
    symbol::{Name, Sym},
};
use fiberloom_core::format::Holds;
use fiberloom_core::notation::concrete::AccessId;

/// A cut whose loops have not begun yet.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The total that is divided among the pieces.
    pub count: Sym,
    /// What is counted.
    pub of: Counted,
    /// For each search, where that for a piece's edge begins: where the previous edge was found. Any value is correct. None if each piece has
    /// its own.
    pub hints: Vec<Name>,
}

/// What a cut counts.
#[derive(Clone, Debug)]
pub enum Counted {
    /// The coordinates of loops.
    Coordinates,
    /// The entries of an access, from level `first` on. The positions in the last of the levels begin at `begin`. `ends` has, for each
    /// level whose parents are searched, the position at which these parents end.
    Entries { access: AccessId, first: usize, begin: Sym, ends: Vec<Sym> },
    /// The entries that these accesses store before a coordinate, or a tuple of coordinates.
    Weight(Vec<Weight>),
    /// Nothing: there is one piece.
    Nothing,
}

impl Counted {
    /// How many searches for an edge of a piece go on from the edge before.
    pub fn searches(&self) -> usize {
        match self {
            Counted::Entries { ends, .. } => ends.len(),
            Counted::Weight(_) | Counted::Coordinates | Counted::Nothing => 0,
        }
    }

    /// The lists, of loops over so many coordinates, of which the search for an edge finds the position, too.
    pub fn found(&self, cx: &Facts, loops: usize) -> Vec<(AccessId, usize)> {
        let Counted::Weight(weights) = self else { return vec![] };
        let last = weights.iter().map(|weight| (weight.of.0, weight.of.1 + loops - 1));
        last.filter(|(a, level)| cx.kind(*a, *level).is_list()).collect()
    }
}

/// The entries that an access stores, of a level that [`Format::weighed`] names.
///
/// [`Format::weighed`]: fiberloom_core::format::Format::weighed
#[derive(Clone, Debug)]
pub struct Weight {
    /// The access, and the level over the first of the loops.
    pub of: (AccessId, usize),
    /// The position of the first coordinate of that loop that is within the level.
    pub begin: Sym,
    /// The position behind the last such coordinate.
    pub end: Sym,
    /// The number of coordinates of the loop before the level begins: 0 unless the loop is a window.
    pub before: Sym,
}

/// A piece.
#[derive(Clone, Debug)]
pub struct Edges {
    /// The first coordinates of the piece, outermost first.
    pub lo: Vec<Sym>,
    /// The coordinates behind the piece.
    pub hi: Vec<Sym>,
    /// The lists of which it is known where the piece begins and ends.
    pub lists: Vec<Listed>,
}

/// The entries of a list in a piece.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The list.
    pub of: (AccessId, usize),
    /// The position of the first entry in the piece.
    pub begin: Sym,
    /// The position behind the last.
    pub end: Sym,
    /// Whether a fiber at the piece's edge may lie outside of it: where loops are over tiles, or the list has no such fiber.
    pub may_be_outside: bool,
}

/// Whether the parents of a level's positions are searched: the level is a list below other levels.
pub fn is_searched(cx: &Facts, a: AccessId, level: usize) -> bool {
    let kind = cx.kind(a, level);
    !kind.is_located() && kind.holds(Holds::Positions)
}
