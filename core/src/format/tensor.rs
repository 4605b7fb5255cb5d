//! A stored tensor, and the check of its invariants.

use super::{Array, Format, LevelKind};
use crate::algebra::Value;

/// The arrays of one level.
#[derive(Clone, Debug, PartialEq)]
pub enum Level<'a> {
    /// Nothing is stored.
    Dense,
    /// A fiber's positions are `pos[parent]..pos[parent + 1]`, their coordinates `crd[position]`.
    /// Both arrays are `I32` or `I64`, each by itself.
    Compressed {
        /// One more than there are parent positions; from 0, never falling.
        pos: Array<'a>,
        /// Strictly ascending within a fiber, in the mode's extent.
        crd: Array<'a>,
    },
    /// As compressed, coordinates not falling.
    Nonunique {
        /// As compressed.
        pos: Array<'a>,
        /// Not falling within a fiber.
        crd: Array<'a>,
    },
    /// One coordinate a parent position.
    Singleton {
        /// By position.
        crd: Array<'a>,
    },
    /// As dense, with a flag a position.
    Bytemap {
        /// Truth values.
        flags: Array<'a>,
    },
    /// As dense, with a bit a position.
    Bitmap {
        /// Bit p % 64 of word p / 64.
        words: Array<'a>,
    },
    /// As compressed, with a table by hash.
    Hashed {
        /// As compressed.
        pos: Array<'a>,
        /// As compressed.
        crd: Array<'a>,
        /// Positions by hash, −1 where free.
        table: Array<'a>,
    },
}

impl<'a> Level<'a> {
    /// Its kind.
    pub fn kind(&self) -> LevelKind {
        match self {
            Level::Dense => LevelKind::Dense,
            Level::Compressed { .. } => LevelKind::Compressed,
            Level::Nonunique { .. } => LevelKind::Nonunique,
            Level::Singleton { .. } => LevelKind::Singleton,
            Level::Bytemap { .. } => LevelKind::Bytemap,
            Level::Bitmap { .. } => LevelKind::Bitmap,
            Level::Hashed { .. } => LevelKind::Hashed,
        }
    }

    /// Its arrays, in the order in which kernels take them.
    pub fn arrays(&self) -> Vec<&Array<'a>> {
        match self {
            Level::Dense => vec![],
            Level::Compressed { pos, crd } | Level::Nonunique { pos, crd } => vec![pos, crd],
            Level::Singleton { crd } => vec![crd],
            Level::Bytemap { flags } => vec![flags],
            Level::Bitmap { words } => vec![words],
            Level::Hashed { pos, crd, table } => vec![pos, crd, table],
        }
    }

    /// The same arrays, borrowed.
    pub fn borrow(&self) -> Level<'_> {
        match self {
            Level::Dense => Level::Dense,
            Level::Compressed { pos, crd } => Level::Compressed { pos: pos.borrow(), crd: crd.borrow() },
            Level::Nonunique { pos, crd } => Level::Nonunique { pos: pos.borrow(), crd: crd.borrow() },
            Level::Singleton { crd } => Level::Singleton { crd: crd.borrow() },
            Level::Bytemap { flags } => Level::Bytemap { flags: flags.borrow() },
            Level::Bitmap { words } => Level::Bitmap { words: words.borrow() },
            Level::Hashed { pos, crd, table } => {
                Level::Hashed { pos: pos.borrow(), crd: crd.borrow(), table: table.borrow() }
            }
        }
    }

    /// The same arrays, owned.
    pub fn into_owned(self) -> Level<'static> {
        let own = Array::into_owned;
        match self {
            Level::Dense => Level::Dense,
            Level::Compressed { pos, crd } => Level::Compressed { pos: own(pos), crd: own(crd) },
            Level::Nonunique { pos, crd } => Level::Nonunique { pos: own(pos), crd: own(crd) },
            Level::Singleton { crd } => Level::Singleton { crd: own(crd) },
            Level::Bytemap { flags } => Level::Bytemap { flags: own(flags) },
            Level::Bitmap { words } => Level::Bitmap { words: own(words) },
            Level::Hashed { pos, crd, table } => Level::Hashed { pos: own(pos), crd: own(crd), table: own(table) },
        }
    }
}

/// A tensor in some format: a function from coordinates to values that is `fill` wherever nothing is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a> {
    /// Extent of each mode, in the order of declaration. Below 2⁶³.
    pub extents: Vec<u64>,
    /// One level a mode.
    pub format: Format,
    /// The levels' arrays, in storage order.
    pub levels: Vec<Level<'a>>,
    /// One value a position of the last level; one for a scalar.
    pub values: Array<'a>,
    /// The value of what is not stored.
    pub fill: Value,
}

/// What is wrong with a stored tensor: the first offending place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Storage level, or `None` for the values.
    pub level: Option<usize>,
    /// Place in the array that is wrong.
    pub position: usize,
    /// What is wrong and what was expected.
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

    /// Number of stored values.
    pub fn stored(&self) -> usize {
        self.values.len()
    }
}
