//! What Fiberloom's programs, formats, schedules and loops *are*, and the passes between them.
//!
//! The nine modules stand in the order in which a program passes through them. Imports go both ways between `shape`,
//! `notation`, `schedule` and `iteration`, and between `stream` and `loops`.
//!
//! ```text
//!  algebra ─▶ shape ─▶ format ─▶ notation ─▶ schedule ─▶ iteration ─▶ stream ─▶ looplet ─▶ loops
//!  scalars    index    levels    programs    orders      lattices     iterators fibers     what runs
//!             maps
//! ```
//!
//! Beside them stand [`lower`], the passes in a row, and what their texts have in common (`text.rs`).
//!
//! Invariants, as absences: this crate does no I/O, knows no LLVM, holds no `unsafe`, and reads no text but its own
//! prints. What each noun *means* stands in `fiberloom-semantics`, which uses these types and none of these passes.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod format;
pub mod iteration;
pub mod looplet;
pub mod loops;
pub mod notation;
pub mod schedule;
pub mod shape;
pub mod stack;
pub mod stream;

mod pipeline;
mod text;

pub use loops::lower::{Options, Widths};
pub use pipeline::{Lowered, REWRITES, Rewrite, lower, lower_by, plan};
pub use text::counted;
