//! The meaning of spaces: sets of numbers, and the coordinates that a loop over a lattice visits.
//!
//! ```text
//!  coordinates   the shape paper's section 5.1, set by set
//!  live          the edges of a space that have a coordinate left at or behind a coordinate
//!  walk          its section 6.3: point by point in drop-out order, each until one of its edges has no coordinate left
//! ```
//!
//! Extents are numbers here.

use fiberloom_core::iteration::{Cut, Space, SpaceLattice};
use fiberloom_core::shape::Size;
use std::collections::{BTreeMap, BTreeSet};

/// The contents of levels, and the state of the loops outside.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// The coordinates of each level; a level that is not listed has none.
    pub levels: BTreeMap<String, BTreeSet<u64>>,
    /// The block to which every π₁ belongs.
    pub block: u64,
}

fn number(size: &Size) -> u64 {
    size.value().and_then(|n| u64::try_from(n).ok()).expect("extents are numbers here")
}

/// The coordinates of a space.
///
/// # Panics
/// If an extent in the space is not a number.
pub fn coordinates(space: &Space, data: &Data) -> BTreeSet<u64> {
    let of = |s: &Space| coordinates(s, data);
    match space {
        Space::Empty | Space::Full => BTreeSet::new(),
        Space::Level { name, .. } => data.levels.get(name).cloned().unwrap_or_default(),
        Space::And(a, b) => of(a).intersection(&of(b)).copied().collect(),
        Space::Or(a, b) => of(a).union(&of(b)).copied().collect(),
        Space::Product(a, b, n) => {
            let b = of(b);
            of(a).iter().flat_map(|x| b.iter().map(move |y| x * number(n) + y)).collect()
        }
        Space::Concat(a, b, [m, _]) => of(a).into_iter().chain(of(b).iter().map(|y| number(m) + y)).collect(),
        Space::Outer(s, n) => of(s).iter().map(|x| x / number(n)).collect(),
        Space::Inner(s, n) => {
            let first = data.block * number(n);
            of(s).range(first..first + number(n)).map(|x| x - first).collect()
        }
        Space::Slice(s, Cut { start, end, step }) => {
            let inside = |x: &u64| x >= start && end.is_none_or(|e| *x < e) && (x - start).is_multiple_of(*step);
            of(s).into_iter().filter(inside).map(|x| (x - start) / step).collect()
        }
        Space::Pad(m, s, _) => of(s).iter().map(|x| number(m) + x).collect(),
    }
}

/// For each of the space's edges, in their order, whether it has a coordinate at or behind `from`.
///
/// # Panics
/// As [`coordinates`].
pub fn live(space: &Space, data: &Data, from: u64) -> Vec<bool> {
    live_within(space, data, from, u64::MAX)
}

/// As [`live`], for coordinates from `from` up to but not including `below`.
fn live_within(space: &Space, data: &Data, from: u64, below: u64) -> Vec<bool> {
    let itself = |s: &Space| vec![from < below && coordinates(s, data).range(from..below).next().is_some()];
    let inside = |s: &Space, from: u64, below: u64| live_within(s, data, from, below);
    match space {
        Space::Empty | Space::Full => vec![],
        Space::Level { .. } => itself(space),
        Space::And(a, b) | Space::Or(a, b) => [inside(a, from, below), inside(b, from, below)].concat(),
        Space::Product(a, _, n) => inside(a, from / number(n).max(1), below.div_ceil(number(n).max(1))),
        Space::Concat(a, _, [m, _]) => inside(a, from, below.min(number(m))),
        Space::Pad(m, s, _) => inside(s, from.saturating_sub(number(m)), below.saturating_sub(number(m))),
        Space::Outer(s, n) => [itself(space), inside(s, from * number(n), below.saturating_mul(number(n)))].concat(),
        Space::Inner(s, n) => {
            let first = data.block * number(n);
            let below = below.min(number(n)) + first;
            [itself(space), inside(s, first + from, below)].concat()
        }
        Space::Slice(s, Cut { start, step, .. }) => {
            [itself(space), inside(s, start + step * from, below.saturating_mul(*step).saturating_add(*start))].concat()
        }
    }
}

/// The coordinates that loops over the lattice's points visit, each with its point.
///
/// # Panics
/// As [`coordinates`].
pub fn walk(lattice: &SpaceLattice, data: &Data) -> Vec<(usize, u64)> {
    let (mut visited, mut from) = (vec![], 0);
    for (n, point) in lattice.points.iter().enumerate() {
        let all = coordinates(&point.space, data);
        while live(&point.space, data, from).into_iter().all(|edge| edge) {
            let Some(next) = all.range(from..).next() else { break };
            visited.push((n, *next));
            from = next + 1;
        }
    }
    visited
}
