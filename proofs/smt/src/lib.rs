//! A third reading of the iterators: their coordinates and positions are a solver's terms, and laws are asked of it.
//!
//! ```text
//!             ┌ bounded      64-bit numbers; any coordinates, lists of few entries: every path is walked
//!  L::text ───┤
//!             └ any_length   integers; lists of any length: a loop is any turn of it, with what holds at each
//! ```
//!
//! A law is proved if the solver says of each question that nothing answers it; refuted with data that do, on which the
//! same text is then run in `Concrete`. Anything else is neither.

pub mod any_length;
mod any_turn;
pub mod bounded;
pub mod domain;
mod invariants;
mod word;
