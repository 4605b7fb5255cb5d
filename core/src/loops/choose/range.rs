//! Ranges of a loop.

use crate::loops::choose::{scope::Scope, symbol::Sym};
use crate::map::{Map, Size};
use crate::notation::concrete::{self, Index};

/// Where a range begins or ends.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Its value.
    pub at: Sym,
    /// The value in terms of extents, if it is loop-invariant.
    pub size: Option<Size>,
}

/// Coordinates of one loop.
#[derive(Clone, Debug)]
pub struct Range {
    /// The first.
    pub lo: Bound,
    /// One past the last.
    pub hi: Bound,
}

impl Bound {
    /// A bound that is not known in terms of extents.
    pub fn at(at: Sym) -> Bound {
        Bound { at, size: None }
    }
}

/// A range of a loop, in which the body is one expression.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its coordinates.
    pub range: Range,
    /// The body in this range.
    pub body: concrete::Expr,
    /// Where accesses stand, and the phases of levels that open here.
    pub scope: Scope,
    /// Whether all stepped levels are in one run each throughout the range, which is known not to be empty.
    pub in_runs: bool,
    /// Whether each such range stores at most one run, and begins where the range before ends.
    pub gapless: bool,
    /// Number of comparisons that have split the loop so far.
    pub keys: usize,
}

impl Piece {
    /// The same between other bounds.
    pub fn within(&self, lo: Bound, hi: Bound) -> Piece {
        Piece { range: Range { lo, hi }, in_runs: false, gapless: false, ..self.clone() }
    }
}

/// A variable along a loop over `v`: `c + r·v`, where `c` is bound outside.
pub struct Line {
    pub c: Map<Index>,
    pub r: Size,
}
