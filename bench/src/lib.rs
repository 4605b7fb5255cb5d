//! Kernels against the same loops written by hand in Rust: values first, then time.
//!
//! ```text
//!  generate: matrices ──▶ kernels: fiberloom's, by hand ──▶ measure: pairs, medians ──▶ report: table, JSON
//! ```
//!
//! Both sides compute from the same arrays and make their results anew on every call. A pair is one call of each, the two
//! taking turns at going first; what counts is the median of the pairs' ratios, so that a disturbance of the machine
//! strikes one pair and not one side.

pub mod by_hand;
pub mod compile_time;
pub mod generate;
pub mod kernels;
pub mod measure;
