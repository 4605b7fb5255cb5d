//! The room of arrays: how many positions the levels of a result have, and how its arrays are made and grow.

use super::triangle::triangle;
use super::{BufferId, Expr, binary, held, int, times};
use crate::{Entry, Failure, Symbolic};
use fiberloom_core::algebra::{Op, Value};
use fiberloom_core::format::LevelKind;

/// For each level of a result, the number of its positions per position of the level above. The positions of a triangle are those of all
/// its rows.
pub(super) fn widths(d: &mut Symbolic, kinds: &[LevelKind], extents: &[Expr]) -> Vec<Expr> {
    let mut widths = extents.to_vec();
    let triangles = extents.iter().enumerate().filter(|(l, _)| kinds[*l].is_triangle());
    for (l, n) in triangles {
        let most = 1 << 31;
        if !matches!(n, Expr::Const(n) if n.bits() as i64 <= most) {
            let fail = |d: &mut Symbolic| d.call(Entry::Fail(Failure::Overflow));
            d.when(binary(Op::Gt, n.clone(), int(most)), fail, |_| {});
        }
        widths[l - 1] = held(d, "rows", triangle(n.clone()));
        widths[l] = int(1);
    }
    widths
}

pub(super) fn product(factors: &[Expr]) -> Expr {
    factors.iter().cloned().fold(int(1), times)
}

pub(super) fn alloc(d: &mut Symbolic, buffer: BufferId, len: Expr, fill: Option<Value>) {
    d.call(Entry::Alloc { buffer, len, fill });
}

/// Grows a buffer to `len` elements, if it has less room.
pub(super) fn reserve(d: &mut Symbolic, buffer: BufferId, len: Expr) {
    reserve_more(d, buffer, len.clone(), len);
}

/// Grows a buffer to `len` elements, if it has room for less than `needed`.
pub(super) fn reserve_more(d: &mut Symbolic, buffer: BufferId, needed: Expr, len: Expr) {
    let full = binary(Op::Gt, needed, Expr::Capacity(buffer));
    d.when(full, |d| d.call(Entry::Reserve { buffer, len }), |_| {});
}
