//! What Fiberloom's programs and formats *are*.
//!
//! Each module imports those before it only (`cargo xtask tidy`):
//!
//! ```text
//!  algebra ─▶ looplet ─▶ format ─▶ notation ─▶ shape ─▶ iteration
//!  scalars    fibers     levels    programs    extents  lattices
//! ```
//!
//! Index maps ([`map`]) stand below all but scalars: programs, extents and loops are made of them. [`text`] is what printed forms have in
//! common, [`parallel`] how work goes to threads.
//!
//! Upon this crate stand `fiberloom-passes`, which makes concrete programs of syntax, and `fiberloom-loops`, which makes loops of concrete
//! programs; `fiberloom-lower` has them in a row.
//!
//! Invariants, as absences: this crate does no I/O, knows no LLVM, holds no `unsafe`, and reads no text but its own
//! prints. What each noun *means* stands in `fiberloom-semantics`, which uses these types and none of the passes.
#![forbid(unsafe_code)]

pub mod algebra;
pub mod format;
pub mod iteration;
pub mod looplet;
pub mod map;
pub mod notation;
pub mod parallel;
pub mod shape;
pub mod stack;
pub mod text;

mod words;

pub use words::{counted, nearest};
