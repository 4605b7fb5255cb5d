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
    /// Entries below coordinates of one loop, of lists whose positions stand in these arrays from one place on, up to another.
    Weight(Vec<(BufferId, Expr, Expr)>),
    /// Nothing: there is one piece.
    Nothing,
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
