//! Entries: the stored values of a tensor and their coordinates, as columns; the exchange form between formats.
//!
//! ```text
//!  coordinates[0]  0 0 2 …      one column a mode, in the order of declaration
//!  coordinates[1]  1 3 0 …
//!  values          5 7 1 …      as long as each column
//! ```
//!
//! Entries may be in any order and may repeat a coordinate; those listed from a tensor are in its storage order, at distinct coordinates.
//! An entry may hold the fill value. A value that is stored once for several coordinates, as in a run, gives an entry for each.

use super::levels::At;
use super::{Array, Error, Malformed, Tensor, room};
use crate::algebra::{Type, Value};
use std::cmp::Ordering;

/// Coordinates and values, a column each, all of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<'a> {
    /// A column of coordinates per mode, in the order of declaration.
    pub coordinates: Vec<Vec<i64>>,
    /// The entries' values.
    pub values: Array<'a>,
}

impl<'a> Entries<'a> {
    /// Entries of `rank` modes and type `ty` from (coordinates in the order of declaration, value).
    ///
    /// # Errors
    /// [`Error::Malformed`] names the first entry without exactly `rank` coordinates or with a value of another type; [`Error::Memory`].
    pub fn of(
        rank: usize,
        ty: Type,
        entries: impl IntoIterator<Item = (Vec<i64>, Value)>,
    ) -> Result<Entries<'static>, Error> {
        let mut coordinates = vec![Vec::new(); rank];
        let mut values = Vec::new();
        for (position, (at, value)) in entries.into_iter().enumerate() {
            let malformed = |what| Err(Error::Malformed(Malformed { level: None, position, what }));
            if at.len() != rank {
                return malformed(format!("{} coordinates, {rank} expected", at.len()));
            }
            if value.ty() != ty {
                return malformed(format!("a value of type {}, {ty} expected", value.ty()));
            }
            for (column, c) in coordinates.iter_mut().zip(at) {
                room::push(column, c)?;
            }
            room::push(&mut values, value)?;
        }
        Ok(Entries { coordinates, values: Array::collected(ty, values)? })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The coordinates of entry `e`, in the order of declaration.
    ///
    /// # Panics
    /// If there is no entry `e`.
    pub fn coordinate(&self, e: usize) -> Vec<i64> {
        self.coordinates.iter().map(|column| column[e]).collect()
    }
}

/// One of the coordinates that a position stands for.
pub(super) struct Spread {
    /// The index of its entry.
    pub(super) entry: usize,
    pub(super) parent: usize,
    pub(super) coordinate: i64,
}

impl Tensor<'_> {
    /// The stored entries, fill values among them, in storage order. The values are borrowed unless flags leave some out. This takes time
    /// and memory proportional to the number of entries.
    ///
    /// # Errors
    /// [`Error::Malformed`]: see [`Tensor::check`]. [`Error::Memory`].
    pub fn listed(&self) -> Result<Entries<'_>, Error> {
        self.check()?;
        self.listed_all()
    }

    /// As [`Tensor::listed`], of a tensor that is known to be well-formed.
    pub(super) fn listed_all(&self) -> Result<Entries<'_>, Error> {
        if self.leaves_out() || self.format.levels.iter().any(|kind| kind.shares()) {
            return self.listed_at(self.stored_positions()?);
        }
        let (_, coordinates) = self.coordinates_at(room::collected(0..self.values.len())?)?;
        Ok(Entries { coordinates, values: self.values.borrow() })
    }

    /// The number of coordinates with a stored value: a run stores one value for all of its coordinates. The tensor must be well-formed.
    ///
    /// # Errors
    /// If memory does not suffice for one number per value.
    pub fn stored_coordinates(&self) -> Result<u64, Error> {
        if !self.leaves_out() && !self.format.levels.iter().any(|kind| kind.shares()) {
            return Ok(self.values.len() as u64);
        }
        let mut at = self.stored_positions()?;
        let mut counts: Vec<u64> = room::collected(at.iter().map(|_| 1))?;
        for l in (0..self.levels.len()).rev() {
            let level = self.format.levels[l].of();
            level.multiply(self.at(l), &at, &mut counts)?;
            level.to_parents(self.at(l), &mut at)?;
        }
        Ok(counts.into_iter().fold(0, u64::saturating_add))
    }

    /// The entries at these positions of the last level.
    pub(super) fn listed_at(&self, positions: Vec<usize>) -> Result<Entries<'static>, Error> {
        let (positions, coordinates) = self.coordinates_at(positions)?;
        let bytes = positions.len() as u128 * self.values.ty().bytes() as u128;
        Ok(Entries { coordinates, values: self.values.gather(&positions).ok_or(Error::Memory { bytes })? })
    }

    /// Whether some level may have positions at which nothing is stored.
    pub(super) fn leaves_out(&self) -> bool {
        (0..self.levels.len()).any(|l| self.format.levels[l].of().leaves_out(self.at(l)))
    }

    /// Whether all flags above a position of the last level, and its own, are set.
    pub(super) fn is_stored(&self, mut p: usize) -> bool {
        (0..self.levels.len()).rev().all(|l| {
            let level = self.format.levels[l].of();
            let set = level.is_set(self.at(l), p);
            p = level.parent(self.at(l), p);
            set
        })
    }

    /// Level `l`.
    pub(super) fn at(&self, l: usize) -> At<'_> {
        At { tensor: self, l }
    }

    /// The positions of the last level whose flags, their own and those above, are all set; ascending.
    pub(super) fn stored_positions(&self) -> Result<Vec<usize>, Error> {
        let mut kept: Vec<usize> = room::collected(0..self.values.len())?;
        if !self.leaves_out() {
            return Ok(kept);
        }
        // The position in the current level of each position that is kept.
        let mut at = room::copied(&kept)?;
        for l in (0..self.levels.len()).rev() {
            let (level, here) = (self.format.levels[l].of(), self.at(l));
            if level.leaves_out(here) {
                let mut set = at.iter().map(|&p| level.is_set(here, p));
                kept.retain(|_| set.next() == Some(true));
                at.retain(|&p| level.is_set(here, p));
            }
            level.to_parents(here, &mut at)?;
        }
        Ok(kept)
    }

    /// The coordinates of these positions of the last level, a column per mode, and the position of each. A position that stands for
    /// several coordinates is repeated for each. In storage order.
    fn coordinates_at(&self, mut positions: Vec<usize>) -> Result<(Vec<usize>, Vec<Vec<i64>>), Error> {
        // A column per level, outermost first.
        let mut columns: Vec<Vec<i64>> = vec![];
        // From the last level up: each entry's position in the current level, then its parent's.
        let mut at = room::copied(&positions)?;
        for l in (0..self.levels.len()).rev() {
            let level = self.format.levels[l];
            let column = if level.shares() {
                let spread = level.of().spread(self.at(l), &at)?;
                let again = |column: &Vec<i64>| room::collected(spread.iter().map(|s| column[s.entry]));
                columns = columns.iter().map(again).collect::<Result<_, _>>()?;
                positions = room::collected(spread.iter().map(|s| positions[s.entry]))?;
                at = room::collected(spread.iter().map(|s| s.parent))?;
                room::collected(spread.iter().map(|s| s.coordinate))?
            } else {
                let column = level.of().column(self.at(l), &at)?;
                level.of().to_parents(self.at(l), &mut at)?;
                column
            };
            columns.insert(0, column);
        }
        if self.format.levels.iter().any(|kind| kind.shares()) {
            let mut order: Vec<usize> = room::collected(0..positions.len())?;
            let before = |a: usize, b: usize| {
                let levels = columns.iter().map(|c| c[a].cmp(&c[b]));
                levels.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
            };
            order.sort_unstable_by(|&a, &b| before(a, b));
            let sorted = |c: &Vec<i64>| room::collected(order.iter().map(|&e| c[e]));
            columns = columns.iter().map(sorted).collect::<Result<_, _>>()?;
            positions = room::collected(order.iter().map(|&e| positions[e]))?;
        }
        let mut coordinates = vec![Vec::new(); columns.len()];
        self.format.order.iter().zip(columns).for_each(|(&mode, column)| coordinates[mode] = column);
        Ok((positions, coordinates))
    }

    /// The stored entries, fill values among them, in storage order: coordinates in the order of declaration, and the value.
    ///
    /// # Panics
    /// If the tensor is malformed or memory does not suffice, which [`Tensor::listed`] reports as an error.
    pub fn entries(&self) -> impl Iterator<Item = (Vec<i64>, Value)> + '_ {
        pairs(self.listed_all().expect("memory for what is stored"))
    }

    /// The first `n` of [`Tensor::entries`], or all if there are fewer; none if memory does not suffice. Lists no more than these.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn first_entries(&self, n: usize) -> impl Iterator<Item = (Vec<i64>, Value)> + '_ {
        let all = self.values.len().min(n);
        let positions = if self.leaves_out() { self.stored_positions() } else { room::collected(0..all) };
        let listed = positions.and_then(|mut positions| {
            positions.truncate(n);
            self.listed_at(positions)
        });
        // A position may stand for several coordinates.
        listed.into_iter().flat_map(pairs).take(n)
    }
}

fn pairs(entries: Entries<'_>) -> impl Iterator<Item = (Vec<i64>, Value)> + '_ {
    (0..entries.len()).map(move |e| (entries.coordinate(e), entries.values.get(e)))
}

/// The parent of a position, in a level with this `pos`.
pub(super) fn parent(pos: &Array, p: usize) -> usize {
    let (mut lo, mut hi) = (0, pos.len() - 1);
    while lo + 1 < hi {
        let middle = lo + (hi - lo) / 2;
        if pos.index(middle) as usize <= p { lo = middle } else { hi = middle }
    }
    lo
}

/// The parent of each position of a level with this `pos`.
pub(super) fn parents(pos: &Array) -> Result<Vec<usize>, Error> {
    let mut parents = room::room(pos.index(pos.len() - 1) as usize)?;
    for parent in 1..pos.len() {
        parents.resize(pos.index(parent) as usize, parent - 1);
    }
    Ok(parents)
}
