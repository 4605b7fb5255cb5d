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
    /// The entries of these lists, as weights of the coordinates of one loop.
    Weight(Vec<Weight>),
    /// Nothing: there is one piece.
    Nothing,
}

impl Counted {
    /// How many searches find an edge of a piece.
    pub fn searches(&self) -> usize {
        match self {
            Counted::Entries { ends, .. } => ends.len(),
            Counted::Weight(_) => 1,
            Counted::Coordinates | Counted::Nothing => 0,
        }
    }
}

/// The number of entries that a list has below each coordinate of a loop: of a level that is located, or of a list of coordinates, which is
/// then the only weight.
#[derive(Clone, Debug)]
pub struct Weight {
    /// The list.
    pub list: (AccessId, usize),
    /// The index in its positions of the first coordinate of the loop that is within the level; of a list of coordinates, the first's.
    pub begin: Sym,
    /// The index behind the last such coordinate.
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
    /// The entries that are counted, in the piece.
    pub list: Option<Listed>,
}

/// The entries of a counted list in a piece.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The list.
    pub of: (AccessId, usize),
    /// The position of the first entry in the piece.
    pub begin: Sym,
    /// The position behind the last.
    pub end: Sym,
    /// Whether the loops are over tiles. In a tile that begins behind a piece, or ends before it, a fiber at the piece's edge has none
    /// of its entries.
    pub in_tiles: bool,
}

/// Whether the parents of a level's positions are searched: the level is a list below other levels.
pub fn is_searched(cx: &Facts, a: AccessId, level: usize) -> bool {
    let kind = cx.kind(a, level);
    !kind.is_located() && kind.holds(Holds::Positions)
}
