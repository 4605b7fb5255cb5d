//! Ranges of a loop.

use crate::loops::choose::{scope::Scope, symbol::Sym};
use crate::map::{Map, Size};
use crate::notation::concrete::{self, Index};

/// The beginning or end of a range.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The bound's value.
    pub at: Sym,
    /// The value in terms of extents, if it is loop-invariant.
    pub size: Option<Size>,
}

/// The coordinates of one loop.
#[derive(Clone, Debug)]
pub struct Range {
    /// The first coordinate.
    pub lo: Bound,
    /// One past the last coordinate.
    pub hi: Bound,
}

impl Bound {
    /// A bound whose value in terms of extents is unknown.
    pub fn at(at: Sym) -> Bound {
        Bound { at, size: None }
    }
}

/// A range of a loop, in which the body is one expression.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The piece's coordinates.
    pub range: Range,
    /// The body in this range.
    pub body: concrete::Expr,
    /// The state of accesses, and the phases of levels that open here.
    pub scope: Scope,
    /// Whether each stepped level has a single run throughout the range, which is known not to be empty.
    pub in_runs: bool,
    /// Whether each such range stores at most one run, and begins where the previous range ends.
    pub gapless: bool,
    /// The number of comparisons that have split the loop so far.
    pub keys: usize,
}

impl Piece {
    /// The piece with other bounds.
    pub fn within(&self, lo: Bound, hi: Bound) -> Piece {
        Piece { range: Range { lo, hi }, in_runs: false, gapless: false, ..self.clone() }
    }
}

/// A variable along a loop over `v`: `c + r·v`, where `c` is bound outside.
pub struct Line {
    pub c: Map<Index>,
    pub r: Size,
}
