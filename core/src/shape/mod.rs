//! Shapes: extents, how they are solved for, and the index maps of shape operators.
//!
//! ```text
//!  declarations, bare indices ──▶ Classes: which extents are equal
//!  shape operators ─────────────▶ equations between classes      ──▶ solved to a fixpoint, in every direction
//!  other indices ───────────────▶ bounds: an interval each            that is determined
//! ```
//!
//! [`Classes::of`] finds everything that the program alone decides, [`solve`] the rest, once the data's extents are
//! known. Both give the same messages.
mod bounds;
mod classes;
mod equation;
mod map;
mod solve;

pub use classes::{ClassId, Classes};
pub use equation::Formula;
pub use map::{Map, Size};
pub use solve::{Extents, Unsolved, check, known, solve};
