//! The position in a result that loops have reached.

use super::Expr;
use super::triangle::Row;
use crate::arith::yes;
use crate::{BufferId, Stmt, Symbolic, Var};

/// The position in a result that loops have reached.
#[derive(Clone, Debug)]
pub(super) struct Insertion {
    /// The next level.
    pub level: usize,
    pub position: Expr,
    /// Whether loops certainly visit every position of the level above.
    pub covered: bool,
    /// Below a last level that is appended to: the coordinate to append with the value.
    pub pending: Option<Expr>,
    /// Below a list, or a last level that is appended to: the position of its parent.
    pub parent: Expr,
    /// Above a triangle, below the level of its rows: the row.
    pub row: Option<Row>,
    /// Below a symmetric level: the side of the diagonal on which the coordinate is.
    pub sides: Option<Sides>,
    /// Below triangles: the condition that the coordinates are inside of them.
    pub inside: Option<Expr>,
    /// Whether a loop counts to some coordinate, so that the value may be the fill value.
    pub counted: bool,
    /// The coordinates of the chain's levels above.
    pub chain: Vec<(usize, Expr)>,
    /// The flags of the bytemaps and bitmaps above, up to the last list: they are set when something is stored.
    pub marks: Vec<(BufferId, Expr)>,
    /// A variable that is set when something is stored.
    pub written: Option<Var>,
}

impl Insertion {
    /// The position of the parent of the level above, if that level is appended to.
    pub fn parent(&self) -> Expr {
        self.parent.clone()
    }

    /// The coordinate of a level of the chain above.
    pub fn chained(&self, level: usize) -> Option<&Expr> {
        self.chain.iter().find(|(l, _)| *l == level).map(|(_, at)| at)
    }

    pub fn mark(&self, d: &mut Symbolic) {
        for (flags, at) in &self.marks {
            d.emit(Stmt::Store(*flags, at.clone(), yes()));
        }
    }
}

/// The side of the diagonal on which a coordinate of a symmetric row lies.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    /// Whether the coordinate is behind the diagonal.
    pub is_behind: Expr,
    /// The position of a coordinate behind the diagonal.
    pub position: Expr,
}
