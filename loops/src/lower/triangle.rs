//! Positions and rows of triangles.

use super::{Expr, binary, held, int, minus, plus, times};
use crate::Symbolic;
use fiberloom_core::algebra::Op;

/// The number of positions in a triangle of `i` rows, which is also the number in the rows before row `i`.
pub(super) fn triangle(i: Expr) -> Expr {
    binary(Op::Shr, times(i.clone(), plus(i, int(1))), int(1))
}

/// In the upper triangle of `n` rows, the position of the first value of a row less that value's coordinate.
pub(super) fn upper(n: &Expr, row: &Expr) -> Expr {
    minus(times(row.clone(), n.clone()), triangle(row.clone()))
}

/// A row of a triangle.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The position of the row's first value less that value's coordinate.
    pub base: Expr,
    /// The coordinate of the row.
    pub at: Expr,
    /// For a symmetric level: the `base` of the row behind the diagonal.
    pub behind: Option<Expr>,
}

impl Row {
    /// This row with its positions held in variables.
    pub fn held(self, d: &mut Symbolic) -> Row {
        let base = held(d, "base", self.base);
        Row { base, behind: self.behind.map(|behind| held(d, "behind", behind)), ..self }
    }
}
