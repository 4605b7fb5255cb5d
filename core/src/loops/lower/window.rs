//! Windows of lists: the next window begins shortly behind the begin of the last one.
//!
//! ```text
//!   y[i,j] = sum(k, l: A[i+k, j+l] * F[k,l])      for i: for j: for k:   window j.. of row i+k: not far behind that of j-1, same k
//!                                                    A1_from[k]           a position for each k, in a table
//! ```
//!
//! A mark is a guess: it is tested before use, so no order of loops has to be proved. A list gets a table where it is
//! likely to gain: a loop moves the window, and between it and the list's own loop there is at most one, short, over
//! rows.

use super::fiber::Scope;
use super::output::alloc;
use super::{BufferId, Context, int};
use crate::algebra::{Type, Value};
use crate::loops::plan;
use crate::loops::{Role, Symbolic, Term};
use crate::map::Size;
use crate::notation::concrete::{AccessId, Index, Nest};
use crate::stream::Mark;
use std::collections::BTreeMap;

/// The most windows that are marked side by side.
const SHORT: i64 = 1 << 10;

/// Where windows began: a position for each turn of the loop `by`, or a single one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    table: BufferId,
    by: Option<Index>,
}

impl Marks {
    /// The table's element for this window, if the loop `by` is around it.
    pub fn here(&self, scope: &Scope) -> Option<Mark<Term>> {
        let at = match self.by {
            Some(k) => scope.coordinate(k)?.clone(),
            None => int(0),
        };
        Some(Mark { table: self.table, at: Term::fixed(at) })
    }
}

/// Tables for the windows of a nest, with nothing in them.
pub(super) fn marks(cx: &Context, d: &mut Symbolic, nest: &Nest) -> BTreeMap<(AccessId, usize), Marks> {
    let mut marks = BTreeMap::new();
    for plan::Marks { list: (a, l), by } in cx.book.decide_all(|| marked_in(cx, nest)) {
        let table = d.buffer(&format!("{}{l}_from", cx.program.tensor(a).name), Type::I64, Role::Workspace);
        let len = by.map_or(1, |k| cx.extents.constants[&cx.program.vars[k.0].extent]);
        alloc(d, table, int(len), Some(Value::i64(0)));
        marks.insert((a, l), Marks { table, by });
    }
    marks
}

/// The lists of a nest whose windows are marked.
fn marked_in(cx: &Context, nest: &Nest) -> Vec<plan::Marks> {
    let mut all = Vec::new();
    for a in nest.rhs.accesses() {
        let Some(sums) = nest.rhs.around(a) else { continue };
        let order = [&nest.order[..], &sums].concat();
        let (format, access) = (&cx.program.tensor(a).format, &cx.program.accesses[a.0]);
        let level = |l: usize| cx.program.level_var(access, l);
        for l in (0..format.rank()).filter(|l| format.levels[*l].is_plain()) {
            let above: Vec<Index> = (0..l).map(level).collect();
            all.extend(marked_by(cx, level(l), &above, &order).map(|by| plan::Marks { list: (a, l), by }));
        }
    }
    all
}

/// If a loop moves the windows of a list under `w` by one coordinate a turn: the loop between that one and the
/// list's own, if there is one, each turn of which is at another of few fibers. `None` if marks would not pay.
fn marked_by(cx: &Context, w: Index, above: &[Index], order: &[Index]) -> Option<Option<Index>> {
    if cx.program.computed(w).is_some() {
        return None;
    }
    let map = cx.program.root_map(w);
    let steps = |u: &Index| map.factors.get(u).is_some_and(|f| *f == Size::number(1));
    let last = order.iter().rposition(|u| map.factors.contains_key(u))?;
    let moves = order[..last].iter().rposition(|u| map.factors.contains_key(u))?;
    if !steps(&order[last]) || !steps(&order[moves]) {
        return None;
    }
    let leads = |k: &Index| above.iter().any(|u| cx.program.computed(*u).is_none() && cx.program.follows(*u, *k));
    let short = |k: &Index| cx.extents.constants.get(&cx.program.vars[k.0].extent).is_some_and(|n| *n <= SHORT);
    match &order[moves + 1..last] {
        [] => Some(None),
        [k] if leads(k) && short(k) => Some(Some(*k)),
        _ => None,
    }
}
