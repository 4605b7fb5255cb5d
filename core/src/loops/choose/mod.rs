//! Choosing: what is decided of loops, each decision from what is known where the loop begins.
//!
//! ```text
//!   facts      the program, its extents, what it is compiled for: the same everywhere in a kernel
//!   scope      what the loops around a place have bound, opened and found absent                    (scope.rs)
//! ```
//!
//! Nothing here emits: what a function decides it returns, and [`lower`](super::lower) writes it down.

mod extent;

use super::lower::Widths;
use crate::iteration::Simplify;
use crate::notation::concrete::{Place, Program};
pub(super) use extent::Extents;
use rustc_hash::FxHashSet;

/// What is known of a kernel before any loop begins.
pub(super) struct Facts<'a> {
    pub program: &'a Program,
    pub simplify: Simplify<'a>,
    pub extents: Extents,
    /// Index widths of what the kernel makes.
    pub made: Widths,
    /// As [`Options::few`](super::lower::Options::few).
    pub few: i64,
    /// As [`Options::sought`](super::lower::Options::sought).
    pub sought: u32,
    /// Tensors whose arrays move.
    pub moving: FxHashSet<Place>,
}
