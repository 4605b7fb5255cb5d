//! Formats and the tensors stored in them.
//!
//! ```text
//!  Format  {dense, compressed} order(0, 1)          one level a mode, in storage order
//!  Tensor  extents · fill · Level₀ … Level₍ᵣ₋₁₎ · values
//!
//!            dense: nothing stored; position = parent · extent + coordinate
//!       compressed: pos[parent] .. pos[parent+1] are the positions of a fiber, crd[position] their coordinates
//! ```
//!
//! A level maps a parent position to the positions of a fiber; the root's only position is 0; the positions of the
//! last level number the values. [`Tensor::check`] is the invariant of every import and of every produced result.
mod array;
mod level;
mod tensor;

pub use array::Array;
pub use level::{Format, LevelKind, NAMES};
pub use tensor::{Level, Malformed, Tensor};
