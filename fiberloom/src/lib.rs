//! A compiler for sparse and structured arrays.
//!
//! A program says what is computed; tensors say how they are stored; a [`Kernel`] is loops over exactly those
//! structures, as machine code. What is made when:
//!
//! ```text
//!  Program::parse ──▶ Program ──compile──▶ Kernel ─────bind────▶ Call ──────run──────▶ Outcome
//!  text or builder    checked   lowered to loops:   operands fit,      the loops on the     results,
//!                               what cannot be is   extents solved     caller's arrays      new or shared
//!                               refused
//!                     machine code: by Kernel::warm, else by the first run on operands of the same index widths
//!                     each index looked at: by Tensor::checked once, else by every bind
//!
//!  Tensor::csr, …, data::read ──▶ Tensor ──checked──▶ Checked         Tensor ──▶ data::write
//! ```
//!
//! [`Kernel::run`] binds and runs in one step. Five things that a prototype does, each a file in `examples/`:
//!
//! # Compile once, call often
//! ```
#![doc = include_str!("../examples/compile_once.rs")]
//! ```
//! # Call on borrowed arrays
//! ```
#![doc = include_str!("../examples/borrowed_arrays.rs")]
//! ```
//! # Catch an error
//! ```
#![doc = include_str!("../examples/catch_an_error.rs")]
//! ```
//! # Time it
//! ```
#![doc = include_str!("../examples/time_it.rs")]
//! ```
//! # Show its loops
//! ```
#![doc = include_str!("../examples/show_loops.rs")]
//! ```
//!
//! Malformed operands, programs and shapes are [`Error`]s; no input makes compiled code read or write out of bounds.
//! The language is described in `docs/language.md`, the compiler in `docs/architecture.md`.

pub mod builder;
mod cache;
#[cfg(feature = "cli")]
pub mod cli;
mod clock;
pub mod data;
mod kernel;
mod machine;
mod program;
pub mod relation;
pub mod shards;
pub mod show;

use fiberloom_data::error;

pub use cache::compiled;
pub use error::Error;
pub use fiberloom_core::algebra::{Mode, OtherType, Type, Value};
pub use fiberloom_core::format::{
    Array, Assembly, Checked, Duplicates, Element, Elements, Entries, Error as AssemblyError, Format, Level, LevelKind,
    Malformed, NoFormat, Tensor, added,
};
pub use fiberloom_core::notation::spell::Planned;
pub use fiberloom_core::notation::typed::Role;
pub use fiberloom_core::notation::{Diagnostic, Severity, syntax};
pub use fiberloom_loops::Gpu;
pub use fiberloom_lower::Lowered;
pub use fiberloom_semantics::algebra::{Agreement, Unpromised};
pub use kernel::{Call, Engine, Kernel, Operand, Options, Outcome, Shape};
pub use machine::{Interrupt, LoopRun, addresses_left, set_threads, threads, watched};
pub use program::{Given, Program};
