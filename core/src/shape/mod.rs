//! Shapes: which extents are equal, what they are, and where indices lead.
//!
//! ```text
//!  classes.rs  sizes and index variables joined by bare accesses        A[i,j], x[j]  ⇒  |j| = J
//!  extents.rs  shape operators as equations, solved to a fixpoint       collapse: |k| = |i|·|j|
//!  range.rs    intervals of index maps: can an index leave its array?
//! ```
//!
//! What the program alone decides is checked with the program; the rest when extents of data are given. (The maps
//! themselves are `notation::typed::Map`.)
mod classes;
mod extents;
mod range;

pub use classes::{ClassId, Classes};
pub use extents::{Extents, Unsolved, check, solve};
