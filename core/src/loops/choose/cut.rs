//! Cuts of a loop's coordinates, by coordinates, by one operand's entries, or by weight, while loops count their pieces.

use crate::loops::{BufferId, Expr};
use crate::notation::concrete::AccessId;
use crate::stream::State;

/// A cut whose loops have not begun yet.
#[derive(Clone, Debug)]
pub struct Opened {
    /// How much there is to count.
    pub count: Expr,
    /// What is counted.
    pub of: Of,
    /// Where the search of a piece's edge begins, for each level that is searched: where the edge before was found. Any place will do.
    pub hints: Vec<State>,
}

#[derive(Clone, Debug)]
pub enum Of {
    /// Coordinates, of these extents.
    Coordinates(Vec<Expr>),
    /// Entries of an access, from level `first` on: those of the last of the levels begin at `begin`. For each level whose parents are
    /// searched, where these end.
    Entries { access: AccessId, first: usize, begin: Expr, ends: Vec<Expr> },
    /// Entries below coordinates of one loop, of these lists.
    Weight(Vec<Weight>),
    /// Nothing: there is one piece.
    Nothing,
}

/// What says how many entries of a list stand below coordinates of a loop.
#[derive(Clone, Debug)]
pub struct Weight {
    /// The positions of the list.
    pub pos: BufferId,
    /// Where in them those of the first coordinate are that has some.
    pub begin: Expr,
    /// Where those behind the last are.
    pub end: Expr,
    /// How many coordinates of the loop stand before the first that has some: 0 but for a window.
    pub before: Expr,
}

/// A piece.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its first coordinates, outermost first.
    pub lo: Vec<Expr>,
    /// Those behind it.
    pub hi: Vec<Expr>,
    /// The list that is counted, its level, and the positions of its entries in the piece.
    pub list: Option<(AccessId, usize, Expr, Expr)>,
}
