//! Pieces of a loop: its ranges, in each of which the body is one expression.

use crate::choose::{
    range::{Bound, Range},
    scope::Scope,
};
use fiberloom_core::notation::concrete;

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
