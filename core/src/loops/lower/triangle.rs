//! Positions in triangles.

use super::{Expr, binary, int, minus, plus, times};
use crate::algebra::Op;

/// The number of positions in a triangle of `i` rows, which is also the number in the rows before row `i`.
pub(super) fn triangle(i: Expr) -> Expr {
    binary(Op::Shr, times(i.clone(), plus(i, int(1))), int(1))
}

/// In the upper triangle of `n` rows, the position of the first value of a row less that value's coordinate.
pub(super) fn upper(n: &Expr, row: &Expr) -> Expr {
    minus(times(row.clone(), n.clone()), triangle(row.clone()))
}
