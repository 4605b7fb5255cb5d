//! What programs and loops mean: the reference that every engine is compared with.
//!
//! Uses the types and the printers of `fiberloom-core`, and none of its passes.
#![forbid(unsafe_code)]

pub mod loops;

/// The checked interpreter of loops.
pub use loops as machine;
