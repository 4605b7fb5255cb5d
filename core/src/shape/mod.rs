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
mod magnitude;
mod solve;

pub use crate::map::{ClassId, Map, Size};
pub use crate::notation::typed::Extents;
pub use classes::Classes;
pub use equation::Formula;
pub use magnitude::Magnitude;
pub use solve::{Unsolved, check, known, solve};
