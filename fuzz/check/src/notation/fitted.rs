//! Entries that a structured format can hold, of any.

use fiberloom_core::algebra::Value;
use fiberloom_core::format::{Format, LevelKind};
use std::collections::BTreeMap;

/// Those of the entries that stand where the format's triangles have a place, and of those that its symmetric levels mirror
/// one of each two, twice. The later ones win.
pub fn fitted(format: &Format, entries: Vec<(Vec<i64>, Value)>) -> Vec<(Vec<i64>, Value)> {
    let mut all: BTreeMap<Vec<i64>, Value> = entries.into_iter().collect();
    for l in 1..format.rank() {
        let (outer, inner) = (format.order[l - 1], format.order[l]);
        match format.levels[l] {
            LevelKind::Lower => all.retain(|at, _| at[inner] <= at[outer]),
            LevelKind::Upper => all.retain(|at, _| at[inner] >= at[outer]),
            LevelKind::Symmetric => {
                all.retain(|at, _| at[inner] <= at[outer]);
                let mirrored = |(at, value): (&Vec<i64>, &Value)| {
                    let mut at = at.clone();
                    at.swap(outer, inner);
                    (at, *value)
                };
                let others: Vec<_> = all.iter().map(mirrored).collect();
                all.extend(others);
            }
            _ => {}
        }
    }
    all.into_iter().collect()
}
