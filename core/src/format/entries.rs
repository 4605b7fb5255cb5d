//! Entries: what is stored in a tensor as columns, the exchange form between formats.
//!
//! ```text
//!  coordinates[0]  0 0 2 …      one column a mode, in the order of declaration
//!  coordinates[1]  1 3 0 …
//!  values          5 7 1 …      as long as each column
//! ```
//!
//! Entries may stand in any order and may repeat a coordinate; what is read off a tensor stands in its storage order
//! and does not. An entry may hold the fill value.

use super::{Array, Level, Tensor};
use crate::algebra::{Type, Value};

/// Coordinates and values, a column each, all of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<'a> {
    /// A column a mode, in the order of declaration.
    pub coordinates: Vec<Vec<i64>>,
    /// Their values.
    pub values: Array<'a>,
}

impl<'a> Entries<'a> {
    /// Entries of `rank` modes and type `ty` from (coordinates in the order of declaration, value).
    ///
    /// # Panics
    /// If an entry has not `rank` coordinates.
    pub fn of(rank: usize, ty: Type, entries: impl IntoIterator<Item = (Vec<i64>, Value)>) -> Entries<'static> {
        let mut coordinates = vec![Vec::new(); rank];
        let values = entries.into_iter().map(|(at, value)| {
            assert_eq!(at.len(), rank, "an entry has a coordinate a mode");
            for (column, c) in coordinates.iter_mut().zip(at) {
                column.push(c);
            }
            value
        });
        let values = Array::from_values(ty, values);
        Entries { coordinates, values }
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The coordinates of entry `e`, in the order of declaration.
    ///
    /// # Panics
    /// If there is none.
    pub fn coordinate(&self, e: usize) -> Vec<i64> {
        self.coordinates.iter().map(|column| column[e]).collect()
    }
}

impl Tensor<'_> {
    /// What is stored, fill values among it, in storage order: a column of coordinates a mode, the values borrowed
    /// unless flags leave some out. It takes time and memory proportional to what is stored.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn listed(&self) -> Entries<'_> {
        if self.is_flagged() {
            return self.listed_at(self.stored_positions()).expect("memory for as many values as coordinates");
        }
        let coordinates = self.coordinates_at((0..self.values.len()).collect());
        Entries { coordinates, values: self.values.borrow() }
    }

    /// What is stored at these positions of the last level; `None` if memory does not suffice.
    pub(super) fn listed_at(&self, positions: Vec<usize>) -> Option<Entries<'static>> {
        let values = self.values.gather(&positions)?;
        Some(Entries { coordinates: self.coordinates_at(positions), values })
    }

    /// Whether some level has flags.
    pub(super) fn is_flagged(&self) -> bool {
        self.levels.iter().any(|level| matches!(level, Level::Bitmap { .. } | Level::Bytemap { .. }))
    }

    /// The positions of the last level under flags that are all set, ascending.
    pub(super) fn stored_positions(&self) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.values.len()).collect();
        if !self.is_flagged() {
            return kept;
        }
        // Of each position that is kept, the position in the level at hand.
        let mut at = kept.clone();
        for (l, level) in self.levels.iter().enumerate().rev() {
            let mut set = at.iter().map(|&p| level.is_set(p));
            kept.retain(|_| set.next() == Some(true));
            at.retain(|&p| level.is_set(p));
            self.to_parents(l, &mut at);
        }
        kept
    }

    /// The coordinates of these positions of the last level, a column a mode.
    fn coordinates_at(&self, positions: Vec<usize>) -> Vec<Vec<i64>> {
        let mut coordinates = vec![Vec::new(); self.extents.len()];
        // From the last level up: the position of each entry in the level at hand, then that of its parent.
        let mut at = positions;
        for (l, level) in self.levels.iter().enumerate().rev() {
            coordinates[self.format.order[l]] = match level {
                Level::Dense | Level::Bitmap { .. } | Level::Bytemap { .. } => {
                    let extent = self.level_extent(l).max(1) as usize;
                    at.iter().map(|p| (p % extent) as i64).collect()
                }
                Level::Compressed { crd, .. }
                | Level::Nonunique { crd, .. }
                | Level::Singleton { crd }
                | Level::Hashed { crd, .. } => at.iter().map(|&p| crd.index(p)).collect(),
            };
            self.to_parents(l, &mut at);
        }
        coordinates
    }

    /// From positions of level `l` to their parents'.
    fn to_parents(&self, l: usize, at: &mut [usize]) {
        match &self.levels[l] {
            Level::Dense | Level::Bitmap { .. } | Level::Bytemap { .. } => {
                let extent = self.level_extent(l).max(1) as usize;
                at.iter_mut().for_each(|p| *p /= extent);
            }
            Level::Compressed { pos, crd } | Level::Nonunique { pos, crd } | Level::Hashed { pos, crd, .. } => {
                let parents = parents(pos, crd.len());
                at.iter_mut().for_each(|p| *p = parents[*p]);
            }
            Level::Singleton { .. } => {}
        }
    }

    /// What is stored, fill values among it, in storage order: coordinates in the order of declaration, and the value.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn entries(&self) -> impl Iterator<Item = (Vec<i64>, Value)> + '_ {
        let entries = self.listed();
        (0..entries.len()).map(move |e| (entries.coordinate(e), entries.values.get(e)))
    }
}

/// The parent position of each of `n` positions.
pub(super) fn parents(pos: &Array, n: usize) -> Vec<usize> {
    let mut parents = Vec::with_capacity(n);
    for parent in 1..pos.len() {
        parents.resize(pos.index(parent) as usize, parent - 1);
    }
    parents
}
