//! Proofs with a solver: what is too large to be tried exhaustively is asked of Z3.
//!
//! ```text
//!  a law of ┌ bounded      64-bit numbers; any coordinates, lists of few entries: every path is walked
//!  iterators └ any_length   integers; lists of any length: a loop is any turn of it, with what holds at each
//!
//!  rewrites   a kernel before and after each rewrite of loops computes the same, on rows of the data's lengths with any
//!             coordinates and values
//! ```
//!
//! Of iterators this is a third reading: their coordinates and positions are a solver's terms. A law is proved if the solver says of each
//! question that nothing answers it; refuted with data that do, on which the same text is then run in `Concrete`. Anything else is neither.
#![forbid(unsafe_code)]

pub mod any_length;
mod any_turn;
pub mod bounded;
pub mod domain;
mod invariants;
pub mod rewrites;
mod word;
