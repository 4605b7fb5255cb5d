//! What is proved of streams, and of the iterators that are emitted: laws as named definitions, each with a harness whose one body is
//! run by Kani (`cargo kani`, symbolically) and by `cargo test` (exhaustively, within the bounds written beside it).
//!
//! ```text
//!   law(choose)  ──┬ choose = every value within bounds, one after the other      cargo test
//!                  └ choose = kani::any() with kani::assume()                     cargo kani
//! ```
//!
//! Streams as the paper defines them stand in `semantics/src/stream.rs`, their laws in `semantics/src/stream/law.rs`; what
//! they evaluate to, theorem 6.1, is proved in `proofs/coq/` and checked in `theorem.rs`, and that wrong operators are caught in
//! `mistakes.rs`.
//!
//! The ledger is `proofs/README.md`: what is shown, by whom, within which bounds, and what is not.

pub mod bucket_index;
pub mod choose;
pub mod claims;
#[cfg(test)]
mod emitted;
#[cfg(test)]
mod meaning;
pub mod meets;
pub mod merge;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod nests;
pub mod pieces;
pub mod places;
pub mod product;
#[cfg(test)]
mod readings;

pub mod position_map;
pub mod seeks;
pub mod semiring;
pub mod set;
pub mod stream;
#[cfg(test)]
mod theorem;
pub mod view;
#[cfg(test)]
mod wrong;

/// Whether tests try all that there is: `cargo xtask test --long`.
#[cfg(test)]
fn all_is_tried() -> bool {
    std::env::var("FIBERLOOM_TESTS").is_ok_and(|effort| effort == "long")
}
