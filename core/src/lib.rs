//! What Fiberloom's programs, formats, schedules and loops *are*, and the passes between them.
//!
//! Each module imports those before it only (`cargo xtask tidy`):
//!
//! ```text
//!  algebra ─▶ looplet ─▶ format ─▶ notation ─▶ shape ─▶ iteration ─▶ schedule ─▶ stream ─▶ loops
//!  scalars    fibers     levels    programs    extents  lattices     orders      iterators what runs
//! ```
//!
//! [`check`] makes typed programs of syntax, [`gradient`] programs of derivatives of these, [`concretize`] concrete ones of typed, [`loops::lower`] loops of those. Index maps
//! ([`map`]) stand below all but scalars: programs, extents and loops are made of them.
//!
//! Beside them stand [`lower()`], the passes in a row, [`plan()`], what the planner decides as commands, and what their texts have in common (`text.rs`).
//!
//! Invariants, as absences: this crate does no I/O, knows no LLVM, holds no `unsafe`, and reads no text but its own
//! prints. What each noun *means* stands in `fiberloom-semantics`, which uses these types and none of these passes.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod check;
pub mod concretize;
pub mod format;
pub mod gradient;
pub mod iteration;
pub mod looplet;
pub mod loops;
pub mod map;
pub mod notation;
pub mod schedule;
pub mod shape;
pub mod stack;
pub mod stream;

mod pipeline;
mod plan;
mod text;
mod words;

pub use loops::lower::{Options, Widths};
pub use loops::{REWRITES, Rewrite};
pub use pipeline::{Lowered, Unplanned, lower, lower_by, lower_planned};
pub use plan::{give, plan};
pub use words::{counted, nearest};
