//! Splits of a vector into a matrix entry by entry (`lower/quotient.rs`).

use super::Context;
use crate::choose::result::ROWS;
use crate::plan::Split;
use fiberloom_core::notation::concrete::{self, Nest};

/// The split, if a nest whose result has an operand's entries only splits a vector's coordinates into rows and columns of 32-bit
/// coordinates.
pub(super) fn splits(cx: &Context, nest: &Nest) -> Option<Split> {
    let concrete::Expr::Access(of, _) = nest.rhs else { return None };
    let (result, operand) = (&cx.program.tensors[nest.target.tensor.0], cx.program.tensor(of));
    let [level] = operand.format.levels[..] else { return None };
    let [row, column] = nest.order()[..] else { return None };
    // Both loops must determine the coordinate: otherwise a loop comes to each entry more than once.
    let counted = cx.program.roots(cx.program.accesses[of.0].vars[0]);
    if !level.is_plain() || ![row, column].iter().all(|v| counted.contains(v)) {
        return None;
    }
    let [outer, inner] = result.format.levels[..] else { return None };
    let entries = outer.begins_chain() && inner.continues_chain() || outer.is_full() && inner.is_plain();
    let extent = |v: concrete::Index| cx.extents.name(cx.program.vars[v.0].extent);
    (entries && cx.narrow).then(|| Split { of, rows: extent(row), columns: extent(column) })
}

/// Whether rows are certainly few enough.
pub(super) fn is_certain(cx: &Context, split: &Split) -> bool {
    cx.symbols.constant(split.rows).and_then(|rows| rows.as_i128()).is_some_and(|rows| rows <= ROWS.into())
}
