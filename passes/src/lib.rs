//! Passes from a program's syntax to its concrete program.
//!
//! ```text
//!  syntax ──check──▶ typed ──concretize──▶ concrete          schedule: orders of loops, storage of temporaries, what commands make of both
//!     ▲                │
//!     └───gradient─────┘                                     derivatives, as programs
//! ```
//!
//! Each module imports those before it only (`cargo xtask tidy`): [`schedule`], [`check`], [`gradient`], [`concretize`]. No loop is known
//! here: `fiberloom-loops` plans and emits them.
#![forbid(unsafe_code)]

pub mod check;
pub mod concretize;
pub mod gradient;
pub mod schedule;
