//! What is proved of the iterators that are emitted: laws as named definitions, each with a harness whose one body is
//! run by Kani (`cargo kani`, symbolically) and by `cargo test` (exhaustively, within the bounds written beside it).
//!
//! ```text
//!   law(choose)  ──┬ choose = every value within bounds, one after the other      cargo test
//!                  └ choose = kani::any() with kani::assume()                     cargo kani
//! ```
//!
//! The ledger is `proofs/README.md`: what is shown, by whom, within which bounds, and what is not.

pub mod choose;
#[cfg(test)]
mod readings;
pub mod stream;
