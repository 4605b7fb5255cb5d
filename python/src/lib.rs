//! The extension module of the Python package: what must be fast or touches memory is here, the rest is Python.
//!
//! ```text
//!  Python objects ──operand──▶ Given ─────────────┐            einsum: kernels by text and by what operands are
//!   ndarray, SciPy: array      borrowed, kept     ├─kernel──▶ Outcome ──▶ Tensor ──array──▶ ndarray
//!   Tensor: checked once                          │  job: without the lock; long ones on a thread, interruptible
//!  text ──▶ Program ──▶ Kernel ───────────────────┘            quick: those of functions that were called before
//!                          └──shards──▶ Plan: the operands of each box, and one result of what boxes make
//! ```
//!
//! ```text
//!  tables ──arrow, table──▶ Source ──bound──▶ operands, labels ──▶ kernel ──▶ Outcome ──bound──▶ Table, which is a table again
//! ```
//!
//! Invariants: generated code sees addresses of arrays, and no Python object. An array that is borrowed from NumPy is
//! held as long as anything reads it, by an abandoned call too. The index arrays of a [`tensor::Tensor`] cannot be
//! written to: they are its own, or frozen.

mod array;
mod arrow;
mod bound;
mod einsum;
mod error;
mod gradient;
mod job;
mod kernel;
mod operand;
mod quick;
mod scipy;
mod shards;
mod table;
mod tensor;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::einsum::{einsum, kernels_compiled, kernels_kept};
    #[pymodule_export]
    use crate::error::drawn;
    #[pymodule_export]
    use crate::gradient::gradient;
    #[pymodule_export]
    use crate::job::{Interrupt, set_threads, settle, threads};
    #[pymodule_export]
    use crate::kernel::{Bind, Kernel, compile};
    #[pymodule_export]
    use crate::quick::{learn, quick};
    #[pymodule_export]
    use crate::shards::{Plan, plan};
    #[pymodule_export]
    use crate::table::{Table, table_of, table_of_columns};
    #[pymodule_export]
    use crate::tensor::{Tensor, from_levels, from_object, scalar};
}
