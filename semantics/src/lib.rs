//! The meaning of programs and loops: the reference with which every engine is compared.
//!
//! Uses the types and the printers of `fiberloom-core`, but none of its passes.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod iteration;
pub mod loops;
pub mod notation;
pub mod ptx;
pub mod relation;
pub mod shape;
pub mod stream;

pub use algebra::{Difference, agree};
/// The reference semantics of programs.
pub use notation as meaning;

/// The checked interpreter of loops.
pub use loops as machine;
