//! Proofs with a solver: what is too large to be tried exhaustively is asked of Z3.
//!
//! ```text
//!  rewrites   a kernel before and after each rewrite of loops computes the same, on rows of the data's lengths with any
//!             coordinates and values
//! ```
#![forbid(unsafe_code)]

pub mod rewrites;
