//! Windows of lists: the next window begins shortly behind the begin of the last one, so its begin is searched from there.
//!
//! ```text
//!   y[i,j] = sum(k, l: A[i+k, j+l] * F[k,l])      for i: for j: for k:   window j.. of row i+k: not far behind that of j-1, same k
//!                                                    A1_from[k]           a position for each k, in a table
//! ```
//!
//! A mark is a guess: it is tested before use, so no order of loops has to be proved. A list gets a table where a gain is likely: a loop
//! moves the window, and between it and the list's own loop there is at most one loop, a short one, over rows.

use super::output::alloc;
use super::{BufferId, Context, int};
use crate::algebra::{Type, Value};
use crate::loops::choose::{scope::Scope, windows};
use crate::loops::plan;
use crate::loops::{Role, Symbolic, Term};
use crate::notation::concrete::{AccessId, Index, Nest};
use crate::stream::Mark;
use std::collections::BTreeMap;

/// The positions at which windows began: one for each iteration of the loop `by`, or a single one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    table: BufferId,
    by: Option<Index>,
}

impl Marks {
    /// The table's element for this window, if the loop `by` is around it.
    pub fn here(&self, cx: &Context, scope: &Scope) -> Option<Mark<Term>> {
        let at = match self.by {
            Some(k) => cx.expr(scope.coordinate(k)?),
            None => int(0),
        };
        Some(Mark { table: self.table, at: Term::fixed(at) })
    }
}

/// Allocates empty tables for the windows of a nest.
pub(super) fn marks(cx: &Context, d: &mut Symbolic, nest: &Nest) -> BTreeMap<(AccessId, usize), Marks> {
    let mut marks = BTreeMap::new();
    for plan::Marks { list: (a, l), by } in cx.book.decide_all(|| windows::marked_in(cx, nest)) {
        let table = d.buffer(&format!("{}{l}_from", cx.program.tensor(a).name), Type::I64, Role::Workspace);
        let len = by.map_or(1, |k| cx.extents.constants[&cx.program.vars[k.0].extent]);
        alloc(d, table, int(len), Some(Value::i64(0)));
        marks.insert((a, l), Marks { table, by });
    }
    marks
}
