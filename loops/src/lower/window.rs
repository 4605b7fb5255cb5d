//! Windows of lists: the next window begins shortly behind the begin of the last one, so its begin is searched from there.
//!
//! ```text
//!   y[i,j] = sum(k, l: A[i+k, j+l] * F[k,l])      for i: for j: for k:   window j.. of row i+k: not far behind that of j-1, same k
//!                                                    A1_from[k]           a position for each k, in a table
//! ```
//!
//! A mark is a guess: it is tested before use, so no order of loops has to be proved. A list gets a table where a gain is likely: a loop
//! moves the window, and between it and the list's own loop there is at most one loop, a short one, over rows.

use super::room::alloc;
use super::{BufferId, Context, int};
use crate::{Role, Symbolic, plan};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::notation::concrete::AccessId;
use std::collections::BTreeMap;

/// Allocates empty tables for the positions at which windows began: one for each iteration of a loop, or a single one.
pub(super) fn marks(cx: &Context, d: &mut Symbolic, marks: &[plan::Marks]) -> BTreeMap<(AccessId, usize), BufferId> {
    let allocate = |plan::Marks { list: (a, l), by }: &plan::Marks| {
        let table = d.buffer(&format!("{}{l}_from", cx.program.tensor(*a).name), Type::I64, Role::Workspace);
        let len = by.map_or(1, |k| cx.extents.constants[&cx.program.vars[k.0].extent]);
        alloc(d, table, int(len), Some(Value::i64(0)));
        ((*a, *l), table)
    };
    marks.iter().map(allocate).collect()
}
