//! Formats and the tensors stored in them.
//!
//! ```text
//!  Format  {dense, compressed} order(0, 1)          one level a mode, in storage order
//!  Tensor  extents · fill · Level₀ … Level₍ᵣ₋₁₎ · values
//!
//!  level       arrays             positions of parent's fiber      coordinate
//!  dense       –                  parent · extent + coordinate
//!  compressed  pos crd            pos[parent] .. pos[parent + 1]   crd[position]  strictly ascending
//!  nonunique   pos crd            pos[parent] .. pos[parent + 1]   crd[position]  tuples with the singletons that
//!  singleton   crd                parent                           crd[position]    follow: strictly ascending
//!  hashed      pos crd table      pos[parent] .. pos[parent + 1]   crd[position]  table finds the position of it
//!  bitmap      words              parent · extent + coordinate     a bit a position: whether anything is stored
//!  bytemap     flags              parent · extent + coordinate     a byte a position: whether anything is stored
//!  band        pos first          pos[parent] .. pos[parent + 1]   first[parent] and those that follow
//!  ragged      pos                pos[parent] .. pos[parent + 1]   0 and those that follow
//!  lower       –                  those of a row of a triangle     0 .. i + 1
//!  upper       –                  the same                         i .. extent
//!  symmetric   –                  as lower                         0 .. i + 1, and the same mirrored
//!  runs        pos crd            pos[parent] .. pos[parent + 1]   .. crd[position] + 1, from where the last run ended
//!  vbl         pos crd ofs        those of blocks pos[parent] ..   .. crd[block] + 1, as many as a block has positions
//!  blocked     pos crd            those of blocks pos[parent] ..   4 · crd[block] and the three behind it, up to the extent
//!  packbits    pos crd ofs        those of pieces pos[parent] ..   as vbl; a piece of one position: as a run
//! ```
//!
//! `docs/format.md` draws each. `function` has no arrays: the operand is a call, or is stored as hashed.
//!
//! Entries (a column of coordinates per mode, a column of values) are the exchange form between formats: [`Tensor::listed`] lists a
//! tensor's, [`Entries::assemble`] builds a tensor from them.
//!
//! A level maps a parent position to the positions of a fiber; the root's only position is 0; the positions of the
//! last level number the values. [`Tensor::check`] is the invariant of every tensor; a [`Checked`] one has passed it.
mod array;
mod assemble;
mod blocks;
mod check;
mod checked;
mod construct;
mod convert;
mod element;
mod elements;
mod entries;
pub mod hash;
mod level;
mod levelled;
mod levels;
mod mirror;
mod pattern;
mod permutation;
pub mod room;
mod sort;
mod spell;
mod tensor;
pub mod triangle;

pub use array::Array;
pub use assemble::rounding;
pub use assemble::{Assembly, Duplicates, Error, added};
pub use checked::Checked;
pub use element::Element;
pub use elements::Elements;
pub use entries::Entries;
pub use level::{Format, NAMES};
pub use levels::{Arrays, Holds, LevelKind, Step};
pub use permutation::Permutation;
pub use spell::NoFormat;
pub use tensor::{Lengths, Level, Malformed, Tensor};
