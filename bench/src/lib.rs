//! Kernels against the same loops written by hand in Rust and against other systems: values first, then time.
//!
//! ```text
//!  generate: matrices ──▶ kernels: fiberloom's, by_hand, peer ──▶ measure: pairs, medians ──▶ report: table, JSON, plot
//! ```
//!
//! All sides compute from the same arrays and make their results anew on every call. `bench/README.md` says how to read
//! what comes out and how to add a kernel.

pub mod arrays;
pub mod bandwidth;
pub mod by_hand;
pub mod compile_time;
pub mod formats;
pub mod generate;
pub mod kernels;
pub mod measure;
pub mod memory;
pub mod peer;
pub mod plot;
pub mod relations;
pub mod report;
