//! A stored tensor, and the check of its invariants.

use super::{Array, Arrays, Format, Holds};
use crate::algebra::{Type, Value};
use std::convert::Infallible;

/// The arrays of one level; the head of the parent module draws them. Arrays of positions and of coordinates are `I32` or `I64`, each
/// independently.
pub type Level<'a> = Arrays<Array<'a>>;

impl<'a> Level<'a> {
    /// The types of the level's arrays of positions and of coordinates, where it has such arrays.
    pub fn index_types(&self) -> (Option<Type>, Option<Type>) {
        let of = |what| self.first(what).map(Array::ty);
        (of(Holds::Positions), of(Holds::Coordinates))
    }

    /// The same arrays, borrowed.
    pub fn borrow(&self) -> Level<'_> {
        let Ok(level) = self.map(|array| Ok::<_, Infallible>(array.borrow()));
        level
    }

    /// The same arrays, owned.
    pub fn into_owned(self) -> Level<'static> {
        let Ok(level) = self.map_into(|array| Ok::<_, Infallible>(array.into_owned()));
        level
    }
}

/// A tensor in some format: a function from coordinates to values that is `fill` wherever nothing is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a> {
    /// Extent of each mode, in the order of declaration. Below 2⁶³.
    pub extents: Vec<u64>,
    /// One level per mode.
    pub format: Format,
    /// The levels' arrays, in storage order.
    pub levels: Vec<Level<'a>>,
    /// One value per position of the last level; one for a scalar.
    pub values: Array<'a>,
    /// The fill value.
    pub fill: Value,
}

/// The first offending place of a malformed tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The storage level; `None` for the values.
    pub level: Option<usize>,
    /// The offending place in the array.
    pub position: usize,
    /// The error, and what was expected.
    pub what: String,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.level {
            Some(l) => write!(f, "level {l}, position {}: {}", self.position, self.what),
            None => write!(f, "values, position {}: {}", self.position, self.what),
        }
    }
}

impl std::error::Error for Malformed {}

/// How long the fibers of a level are, in entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// The longest of them.
    pub longest: u64,
    /// All of them together.
    pub all: u64,
}

impl Lengths {
    fn of<T: Copy + Into<i64>>(positions: &[T]) -> Lengths {
        let each = positions.windows(2).map(|each| each[1].into().saturating_sub(each[0].into()).max(0) as u64);
        each.fold(Lengths { longest: 0, all: 0 }, |sum, length| Lengths {
            longest: sum.longest.max(length),
            all: sum.all.saturating_add(length),
        })
    }

    /// Whether the longest fiber holds more than two shares, where so many workers have equal shares of all entries, of `least` entries or
    /// more: whoever has that fiber works on when the others have ended.
    pub fn are_uneven(self, workers: u64, least: u64) -> bool {
        let share = self.all.div_ceil(workers.max(1)).max(least);
        self.longest > share.saturating_mul(2)
    }
}

impl Tensor<'_> {
    /// Extent of storage level `l`.
    pub fn level_extent(&self, l: usize) -> u64 {
        self.extents[self.format.order[l]]
    }

    /// The same tensor, borrowed.
    pub fn borrow(&self) -> Tensor<'_> {
        Tensor {
            extents: self.extents.clone(),
            format: self.format.clone(),
            levels: self.levels.iter().map(Level::borrow).collect(),
            values: self.values.borrow(),
            fill: self.fill,
        }
    }

    /// The same tensor, owned.
    pub fn into_owned(self) -> Tensor<'static> {
        Tensor {
            extents: self.extents,
            format: self.format,
            levels: self.levels.into_iter().map(Level::into_owned).collect(),
            values: self.values.into_owned(),
            fill: self.fill,
        }
    }

    /// How long the fibers of a storage level are; `None` of a level without positions.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn lengths(&self, level: usize) -> Option<Lengths> {
        match self.levels[level].first(Holds::Positions)? {
            Array::I32(positions) => Some(Lengths::of(positions)),
            Array::I64(positions) => Some(Lengths::of(positions)),
            _ => None,
        }
    }

    /// How many entries stand below the positions of the first level; `None` if another level than dense ones and plain lists is below it,
    /// or none is.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn lengths_of_rows(&self) -> Option<Lengths> {
        let (first, below) = self.levels.split_first()?;
        if !self.format.has_rows() {
            return None;
        }
        // A matrix needs no array of its own.
        if let ([_], Some(Array::I32(positions))) = (below, below[0].first(Holds::Positions)) {
            return Some(Lengths::of(positions));
        }
        let rows = match first.first(Holds::Positions) {
            Some(positions) => positions.get(1).as_i64()?,
            None => i64::try_from(self.level_extent(0)).ok()?,
        };
        let mut ends: Vec<i64> = (0..=rows).collect();
        for (l, level) in below.iter().enumerate() {
            let Some(positions) = level.first(Holds::Positions) else {
                let extent = i64::try_from(self.level_extent(l + 1)).ok()?;
                ends.iter_mut().for_each(|end| *end = end.saturating_mul(extent));
                continue;
            };
            match positions {
                Array::I32(positions) => ends.iter_mut().for_each(|end| *end = positions[*end as usize].into()),
                Array::I64(positions) => ends.iter_mut().for_each(|end| *end = positions[*end as usize]),
                _ => return None,
            }
        }
        Some(Lengths::of(&ends))
    }

    /// The number of stored values: the positions of the last level, except those below a flag that is not set.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn stored(&self) -> usize {
        let all = 0..self.values.len();
        if self.leaves_out() { all.filter(|&p| self.is_stored(p)).count() } else { all.len() }
    }
}
