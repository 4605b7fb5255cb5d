//! A stored tensor, and the check of its invariants.

use super::{Array, Format, LevelKind};
use crate::algebra::{Type, Value};

/// The arrays of one level; the picture is at the head of this module's parent. Arrays of positions and of coordinates
/// are `I32` or `I64`, each by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Level<'a> {
    /// Nothing is stored: position = parent · extent + coordinate.
    Dense,
    /// A fiber's positions are `pos[parent]..pos[parent + 1]`, their coordinates `crd[position]`.
    Compressed {
        /// One more than there are parent positions; from 0, never falling.
        pos: Array<'a>,
        /// Strictly ascending within a fiber, in the mode's extent.
        crd: Array<'a>,
    },
    /// As compressed, but where singletons follow directly a coordinate may repeat: the level and these singletons are
    /// a *chain*, and the tuples of its coordinates are strictly ascending within a fiber.
    Nonunique {
        /// As of a compressed level.
        pos: Array<'a>,
        /// Never falling within a fiber; strictly ascending where no singleton follows.
        crd: Array<'a>,
    },
    /// Position = parent position: one coordinate each.
    Singleton {
        /// One a position.
        crd: Array<'a>,
    },
    /// As dense, with a bit a position. Where it is not set nothing is stored, and what stands below is empty, so that
    /// who ignores the bits reads the same function.
    Bitmap {
        /// `U64`: position p has bit p mod 64 of word p div 64. Bits behind the last position are 0.
        words: Array<'a>,
    },
    /// As bitmap, with a byte a position.
    Bytemap {
        /// `Bool`, one a position.
        flags: Array<'a>,
    },
    /// As compressed, with a table that finds the position of a coordinate in constant time.
    Hashed {
        /// As of a compressed level.
        pos: Array<'a>,
        /// As of a compressed level.
        crd: Array<'a>,
        /// One open-addressing table of the whole level, of `pos`'s type: its length is a power of two, at least twice
        /// the number of positions and at least 2. A place holds a position or −1; the search for a position begins at
        /// [`slot`](super::hash::slot) and goes on place by place, around the end, to the first −1.
        table: Array<'a>,
    },
    /// A fiber's positions are `pos[parent]..pos[parent + 1]`, their coordinates one after the other from
    /// `first[parent]` on.
    Band {
        /// One more than there are parent positions; from 0, never falling.
        pos: Array<'a>,
        /// One a parent position, of the type of coordinates; all of a fiber is in the mode's extent.
        first: Array<'a>,
    },
    /// As band, each fiber from coordinate 0 on.
    Ragged {
        /// As of a band.
        pos: Array<'a>,
    },
    /// Below a dense level of an equal extent: at its coordinate i the coordinates 0 to i. Positions are those of
    /// [`triangle`](super::triangle).
    Lower,
    /// As lower, the coordinates from i on.
    Upper,
    /// As lower, and what stands at (i, j) stands at (j, i) too.
    Symmetric,
    /// A fiber's positions are `pos[parent]..pos[parent + 1]`; each stands for the coordinates behind those of the one
    /// before it up to `crd[position]`. Every fiber reaches the end of its extent.
    Runs {
        /// As of a compressed level.
        pos: Array<'a>,
        /// The last coordinate of each run, strictly ascending within a fiber.
        crd: Array<'a>,
    },
    /// Variable block list: `pos[parent]..pos[parent + 1]` are a fiber's blocks, which hold coordinates one behind the other.
    Vbl {
        /// One more than there are parent positions; from 0, never falling.
        pos: Array<'a>,
        /// The last coordinate of each block, strictly ascending within a fiber.
        crd: Array<'a>,
        /// One more than there are blocks, of `pos`'s type: a block's positions are `ofs[block]..ofs[block + 1]`, one a coordinate.
        ofs: Array<'a>,
    },
    /// As runs, those of one coordinate that follow one another being one piece: `pos[parent]..pos[parent + 1]` are a fiber's
    /// pieces. One with one position stands for all its coordinates, another has a position for each.
    Packbits {
        /// As of a variable block list.
        pos: Array<'a>,
        /// The last coordinate of each piece, strictly ascending within a fiber, which reaches the end of its extent.
        crd: Array<'a>,
        /// As of a variable block list.
        ofs: Array<'a>,
    },
}

impl<'a> Level<'a> {
    /// The kind of level whose arrays these are.
    pub fn kind(&self) -> LevelKind {
        match self {
            Level::Dense => LevelKind::Dense,
            Level::Compressed { .. } => LevelKind::Compressed,
            Level::Nonunique { .. } => LevelKind::Nonunique,
            Level::Singleton { .. } => LevelKind::Singleton,
            Level::Bitmap { .. } => LevelKind::Bitmap,
            Level::Bytemap { .. } => LevelKind::Bytemap,
            Level::Hashed { .. } => LevelKind::Hashed,
            Level::Band { .. } => LevelKind::Band,
            Level::Ragged { .. } => LevelKind::Ragged,
            Level::Lower => LevelKind::Lower,
            Level::Upper => LevelKind::Upper,
            Level::Symmetric => LevelKind::Symmetric,
            Level::Runs { .. } => LevelKind::Runs,
            Level::Vbl { .. } => LevelKind::Vbl,
            Level::Packbits { .. } => LevelKind::Packbits,
        }
    }

    /// Its arrays, in the order in which they are declared.
    pub fn arrays(&self) -> impl Iterator<Item = &Array<'a>> {
        let arrays: [Option<&Array>; 3] = match self {
            Level::Dense | Level::Lower | Level::Upper | Level::Symmetric => [None; 3],
            Level::Compressed { pos, crd } | Level::Nonunique { pos, crd } | Level::Runs { pos, crd } => {
                [Some(pos), Some(crd), None]
            }
            Level::Band { pos, first } => [Some(pos), Some(first), None],
            Level::Ragged { pos } => [Some(pos), None, None],
            Level::Singleton { crd } => [Some(crd), None, None],
            Level::Bitmap { words } => [Some(words), None, None],
            Level::Bytemap { flags } => [Some(flags), None, None],
            Level::Hashed { pos, crd, table: ofs }
            | Level::Vbl { pos, crd, ofs }
            | Level::Packbits { pos, crd, ofs } => [Some(pos), Some(crd), Some(ofs)],
        };
        arrays.into_iter().flatten()
    }

    /// The level of a kind that has the next of these arrays, in the order in which they are declared; none if there are less.
    pub fn of(kind: LevelKind, arrays: &mut impl Iterator<Item = Array<'a>>) -> Option<Level<'a>> {
        let mut next = || arrays.next();
        Some(match kind {
            LevelKind::Dense => Level::Dense,
            LevelKind::Lower => Level::Lower,
            LevelKind::Upper => Level::Upper,
            LevelKind::Symmetric => Level::Symmetric,
            LevelKind::Compressed => Level::Compressed { pos: next()?, crd: next()? },
            LevelKind::Nonunique => Level::Nonunique { pos: next()?, crd: next()? },
            LevelKind::Runs => Level::Runs { pos: next()?, crd: next()? },
            LevelKind::Singleton => Level::Singleton { crd: next()? },
            LevelKind::Bitmap => Level::Bitmap { words: next()? },
            LevelKind::Bytemap => Level::Bytemap { flags: next()? },
            LevelKind::Hashed => Level::Hashed { pos: next()?, crd: next()?, table: next()? },
            LevelKind::Band => Level::Band { pos: next()?, first: next()? },
            LevelKind::Ragged => Level::Ragged { pos: next()? },
            LevelKind::Vbl => Level::Vbl { pos: next()?, crd: next()?, ofs: next()? },
            LevelKind::Packbits => Level::Packbits { pos: next()?, crd: next()?, ofs: next()? },
            LevelKind::Function => return None,
        })
    }

    /// The types of its arrays of positions and of coordinates, where it has such.
    pub fn index_types(&self) -> (Option<Type>, Option<Type>) {
        match self {
            Level::Dense | Level::Bitmap { .. } | Level::Bytemap { .. } => (None, None),
            Level::Lower | Level::Upper | Level::Symmetric => (None, None),
            Level::Singleton { crd } => (None, Some(crd.ty())),
            Level::Ragged { pos } => (Some(pos.ty()), None),
            Level::Compressed { pos, crd }
            | Level::Nonunique { pos, crd }
            | Level::Hashed { pos, crd, .. }
            | Level::Band { pos, first: crd }
            | Level::Vbl { pos, crd, .. }
            | Level::Packbits { pos, crd, .. }
            | Level::Runs { pos, crd } => (Some(pos.ty()), Some(crd.ty())),
        }
    }

    /// Whether something may be stored at position `p`: only of bitmap and bytemap is that a question.
    ///
    /// # Panics
    /// If the level has flags and no position `p`.
    pub fn is_set(&self, p: usize) -> bool {
        match self {
            Level::Bitmap { words: Array::U64(words) } => words[p / 64] >> (p % 64) & 1 == 1,
            Level::Bytemap { flags } => flags.get(p).is_true(),
            _ => true,
        }
    }

    /// The same arrays, borrowed.
    pub fn borrow(&self) -> Level<'_> {
        match self {
            Level::Dense => Level::Dense,
            Level::Compressed { pos, crd } => Level::Compressed { pos: pos.borrow(), crd: crd.borrow() },
            Level::Nonunique { pos, crd } => Level::Nonunique { pos: pos.borrow(), crd: crd.borrow() },
            Level::Singleton { crd } => Level::Singleton { crd: crd.borrow() },
            Level::Bitmap { words } => Level::Bitmap { words: words.borrow() },
            Level::Bytemap { flags } => Level::Bytemap { flags: flags.borrow() },
            Level::Hashed { pos, crd, table } => {
                Level::Hashed { pos: pos.borrow(), crd: crd.borrow(), table: table.borrow() }
            }
            Level::Band { pos, first } => Level::Band { pos: pos.borrow(), first: first.borrow() },
            Level::Ragged { pos } => Level::Ragged { pos: pos.borrow() },
            Level::Lower => Level::Lower,
            Level::Upper => Level::Upper,
            Level::Symmetric => Level::Symmetric,
            Level::Runs { pos, crd } => Level::Runs { pos: pos.borrow(), crd: crd.borrow() },
            Level::Vbl { pos, crd, ofs } => Level::Vbl { pos: pos.borrow(), crd: crd.borrow(), ofs: ofs.borrow() },
            Level::Packbits { pos, crd, ofs } => {
                Level::Packbits { pos: pos.borrow(), crd: crd.borrow(), ofs: ofs.borrow() }
            }
        }
    }

    /// The same arrays, owned.
    pub fn into_owned(self) -> Level<'static> {
        match self {
            Level::Dense => Level::Dense,
            Level::Compressed { pos, crd } => Level::Compressed { pos: pos.into_owned(), crd: crd.into_owned() },
            Level::Nonunique { pos, crd } => Level::Nonunique { pos: pos.into_owned(), crd: crd.into_owned() },
            Level::Singleton { crd } => Level::Singleton { crd: crd.into_owned() },
            Level::Bitmap { words } => Level::Bitmap { words: words.into_owned() },
            Level::Bytemap { flags } => Level::Bytemap { flags: flags.into_owned() },
            Level::Hashed { pos, crd, table } => {
                Level::Hashed { pos: pos.into_owned(), crd: crd.into_owned(), table: table.into_owned() }
            }
            Level::Band { pos, first } => Level::Band { pos: pos.into_owned(), first: first.into_owned() },
            Level::Ragged { pos } => Level::Ragged { pos: pos.into_owned() },
            Level::Lower => Level::Lower,
            Level::Upper => Level::Upper,
            Level::Symmetric => Level::Symmetric,
            Level::Runs { pos, crd } => Level::Runs { pos: pos.into_owned(), crd: crd.into_owned() },
            Level::Vbl { pos, crd, ofs } => {
                Level::Vbl { pos: pos.into_owned(), crd: crd.into_owned(), ofs: ofs.into_owned() }
            }
            Level::Packbits { pos, crd, ofs } => {
                Level::Packbits { pos: pos.into_owned(), crd: crd.into_owned(), ofs: ofs.into_owned() }
            }
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

impl std::error::Error for Malformed {}

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

    /// Number of stored values: of positions of the last level, but for those that a flag above says to be empty.
    ///
    /// # Panics
    /// If the tensor is malformed.
    pub fn stored(&self) -> usize {
        let all = 0..self.values.len();
        if self.is_flagged() { all.filter(|&p| self.is_stored(p)).count() } else { all.len() }
    }
}
