//! Windows of lists: the next window begins shortly behind the beginning of the last one.

use crate::choose::Facts;
use crate::plan::{self};
use fiberloom_core::map::Size;
use fiberloom_core::notation::concrete::{Index, Nest};

/// The most windows with marks side by side.
const SHORT: i64 = 1 << 10;

/// The lists of a nest whose windows are marked.
pub fn marked_in(cx: &Facts, nest: &Nest) -> Vec<plan::Marks> {
    let mut all = Vec::new();
    for a in nest.rhs.accesses() {
        let Some(sums) = nest.rhs.around(a) else { continue };
        let order = [nest.order(), sums].concat();
        let (format, access) = (&cx.program.tensor(a).format, &cx.program.accesses[a.0]);
        let level = |l: usize| cx.program.level_var(access, l);
        for l in (0..format.rank()).filter(|l| format.levels[*l].is_plain()) {
            let above: Vec<Index> = (0..l).map(level).collect();
            all.extend(marked_by(cx, level(l), &above, &order).map(|by| plan::Marks { list: (a, l), by }));
        }
    }
    all
}

/// If a loop moves the windows of a list under `w` by one coordinate per iteration: the loop between it and the list's own loop, if there
/// is one, each of whose iterations is at another of few fibers. `None` if marks do not pay.
pub fn marked_by(cx: &Facts, w: Index, above: &[Index], order: &[Index]) -> Option<Option<Index>> {
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
