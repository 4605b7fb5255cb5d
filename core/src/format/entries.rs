//! Entries: what is stored in a tensor as columns, the exchange form between formats.
//!
//! ```text
//!  coordinates[0]  0 0 2 …      one column a mode, in the order of declaration
//!  coordinates[1]  1 3 0 …
//!  values          5 7 1 …      as long as each column
//! ```
//!
//! Entries may stand in any order and may repeat a coordinate; what is read off a tensor stands in its storage order
//! and does not. An entry may hold the fill value. What is stored once for several coordinates, as a run, is an entry at each.

use super::{Array, Level, Tensor, blocks, triangle};
use crate::algebra::{Type, Value};
use std::cmp::Ordering;

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

/// One of the coordinates that a position stands for.
struct Spread {
    /// Which of the entries it is.
    entry: usize,
    parent: usize,
    coordinate: i64,
}

impl Tensor<'_> {
    /// What is stored, fill values among it, in storage order: a column of coordinates a mode, the values borrowed
    /// unless flags leave some out. It takes time and memory proportional to what is stored.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn listed(&self) -> Entries<'_> {
        if self.is_flagged() || self.format.levels.iter().any(|kind| kind.shares()) {
            return self.listed_at(self.stored_positions()).expect("memory for as many values as coordinates");
        }
        let positions = (0..self.values.len()).collect();
        let (_, coordinates) = self.coordinates_at(positions).expect("memory for as many coordinates as values");
        Entries { coordinates, values: self.values.borrow() }
    }

    /// What is stored at these positions of the last level; `None` if memory does not suffice.
    pub(super) fn listed_at(&self, positions: Vec<usize>) -> Option<Entries<'static>> {
        let (positions, coordinates) = self.coordinates_at(positions)?;
        Some(Entries { coordinates, values: self.values.gather(&positions)? })
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

    /// The coordinates of these positions of the last level, a column a mode, and the position of each: one that stands for
    /// several coordinates comes as often. In storage order. `None` if memory does not suffice.
    fn coordinates_at(&self, mut positions: Vec<usize>) -> Option<(Vec<usize>, Vec<Vec<i64>>)> {
        // A column a level, outermost first.
        let mut columns: Vec<Vec<i64>> = vec![];
        // From the last level up: the position of each entry in the level at hand, then that of its parent.
        let mut at = positions.clone();
        for l in (0..self.levels.len()).rev() {
            let column = match &self.levels[l] {
                Level::Runs { .. } | Level::Packbits { .. } | Level::Symmetric => {
                    let spread = self.spread(l, &at)?;
                    let again = |column: &Vec<i64>| spread.iter().map(|s| column[s.entry]).collect();
                    columns = columns.iter().map(again).collect();
                    positions = spread.iter().map(|s| positions[s.entry]).collect();
                    at = spread.iter().map(|s| s.parent).collect();
                    spread.iter().map(|s| s.coordinate).collect()
                }
                _ => {
                    let column = self.column(l, &at);
                    self.to_parents(l, &mut at);
                    column
                }
            };
            columns.insert(0, column);
        }
        if self.format.levels.iter().any(|kind| kind.shares()) {
            let mut order: Vec<usize> = (0..positions.len()).collect();
            order.sort_by(|&a, &b| columns.iter().map(|c| c[a].cmp(&c[b])).fold(Ordering::Equal, Ordering::then));
            columns = columns.iter().map(|c| order.iter().map(|&e| c[e]).collect()).collect();
            positions = order.iter().map(|&e| positions[e]).collect();
        }
        let mut coordinates = vec![Vec::new(); columns.len()];
        self.format.order.iter().zip(columns).for_each(|(&mode, column)| coordinates[mode] = column);
        Some((positions, coordinates))
    }

    /// The coordinates in level `l` of positions that stand for one each.
    fn column(&self, l: usize, at: &[usize]) -> Vec<i64> {
        match &self.levels[l] {
            Level::Dense | Level::Bitmap { .. } | Level::Bytemap { .. } => {
                let extent = self.level_extent(l).max(1) as usize;
                at.iter().map(|p| (p % extent) as i64).collect()
            }
            Level::Compressed { crd, .. }
            | Level::Nonunique { crd, .. }
            | Level::Singleton { crd }
            | Level::Hashed { crd, .. } => at.iter().map(|&p| crd.index(p)).collect(),
            Level::Band { pos, first } => {
                let parents = parents(pos);
                at.iter().map(|&p| first.index(parents[p]) + p as i64 - pos.index(parents[p])).collect()
            }
            Level::Ragged { pos } => {
                let parents = parents(pos);
                at.iter().map(|&p| p as i64 - pos.index(parents[p])).collect()
            }
            Level::Vbl { crd, ofs, .. } => {
                let blocks = parents(ofs);
                at.iter().map(|&p| blocks::coordinate(crd, ofs, blocks[p], p)).collect()
            }
            Level::Lower | Level::Upper => at.iter().map(|&p| self.in_triangle(l, p).1.1 as i64).collect(),
            Level::Runs { .. } | Level::Packbits { .. } | Level::Symmetric => {
                unreachable!("their positions stand for several coordinates")
            }
        }
    }

    /// Of a position of a triangle: which of the triangles, and its coordinates there.
    fn in_triangle(&self, l: usize, p: usize) -> (u64, (u64, u64)) {
        let n = self.level_extent(l);
        let all = triangle::positions(n).expect("a checked tensor").max(1);
        (p as u64 / all, triangle::coordinates(self.format.levels[l], n, p as u64 % all))
    }

    /// What entries at these positions of level `l` stand for; `None` if memory does not suffice.
    fn spread(&self, l: usize, at: &[usize]) -> Option<Vec<Spread>> {
        let mut all: Vec<Spread> = Vec::new();
        match &self.levels[l] {
            Level::Runs { pos, crd } => {
                let parents = parents(pos);
                for (entry, &p) in at.iter().enumerate() {
                    let parent = parents[p];
                    let begin = if p as i64 == pos.index(parent) { 0 } else { crd.index(p - 1) + 1 };
                    all.try_reserve((crd.index(p) + 1 - begin) as usize).ok()?;
                    all.extend((begin..=crd.index(p)).map(|coordinate| Spread { entry, parent, coordinate }));
                }
            }
            Level::Packbits { pos, crd, ofs } => {
                let (pieces, fibers) = (parents(ofs), parents(pos));
                for (entry, &p) in at.iter().enumerate() {
                    let (piece, parent) = (pieces[p], fibers[pieces[p]]);
                    let own = blocks::coordinates(pos, crd, ofs, (parent, piece), p);
                    all.try_reserve(own.clone().count()).ok()?;
                    all.extend(own.map(|coordinate| Spread { entry, parent, coordinate }));
                }
            }
            _ => {
                for (entry, &p) in at.iter().enumerate() {
                    let (which, (i, j)) = self.in_triangle(l, p);
                    let first = which * self.level_extent(l);
                    let at = |i: u64, j: u64| Spread { entry, parent: (first + i) as usize, coordinate: j as i64 };
                    all.try_reserve(2).ok()?;
                    all.push(at(i, j));
                    all.extend((i != j).then(|| at(j, i)));
                }
            }
        }
        Some(all)
    }

    /// From positions of level `l` to their parents'.
    fn to_parents(&self, l: usize, at: &mut [usize]) {
        match &self.levels[l] {
            Level::Dense | Level::Bitmap { .. } | Level::Bytemap { .. } => {
                let extent = self.level_extent(l).max(1) as usize;
                at.iter_mut().for_each(|p| *p /= extent);
            }
            Level::Compressed { pos, .. }
            | Level::Nonunique { pos, .. }
            | Level::Hashed { pos, .. }
            | Level::Runs { pos, .. }
            | Level::Band { pos, .. }
            | Level::Ragged { pos } => {
                let parents = parents(pos);
                at.iter_mut().for_each(|p| *p = parents[*p]);
            }
            Level::Vbl { pos, ofs, .. } | Level::Packbits { pos, ofs, .. } => {
                let (blocks, fibers) = (parents(ofs), parents(pos));
                at.iter_mut().for_each(|p| *p = fibers[blocks[*p]]);
            }
            Level::Lower | Level::Upper | Level::Symmetric => {
                let n = self.level_extent(l);
                at.iter_mut().for_each(|p| {
                    let (which, (i, _)) = self.in_triangle(l, *p);
                    *p = (which * n + i) as usize;
                });
            }
            Level::Singleton { .. } => {}
        }
    }

    /// What is stored, fill values among it, in storage order: coordinates in the order of declaration, and the value.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn entries(&self) -> impl Iterator<Item = (Vec<i64>, Value)> + '_ {
        pairs(self.listed())
    }

    /// The first of [`Tensor::entries`], so many of them or all; none if memory does not suffice. No more are listed.
    pub fn first_entries(&self, n: usize) -> impl Iterator<Item = (Vec<i64>, Value)> + '_ {
        let mut positions =
            if self.is_flagged() { self.stored_positions() } else { (0..self.values.len().min(n)).collect() };
        positions.truncate(n);
        // A position may stand for several coordinates.
        self.listed_at(positions).into_iter().flat_map(pairs).take(n)
    }
}

fn pairs(entries: Entries<'_>) -> impl Iterator<Item = (Vec<i64>, Value)> + '_ {
    (0..entries.len()).map(move |e| (entries.coordinate(e), entries.values.get(e)))
}

/// The parent of each position that a level with this `pos` has.
pub(super) fn parents(pos: &Array) -> Vec<usize> {
    let mut parents = Vec::with_capacity(pos.index(pos.len() - 1) as usize);
    for parent in 1..pos.len() {
        parents.resize(pos.index(parent) as usize, parent - 1);
    }
    parents
}
