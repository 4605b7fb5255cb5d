//! A compiler for sparse and structured arrays.
//!
//! A program says what is computed; tensors say how they are stored; a [`Kernel`] is loops over exactly those
//! structures, as machine code. Here a sparse matrix in CSR times a vector, on the caller's own arrays:
//!
//! ```
//! use fiberloom::{Array, Format, Level, Options, Program, Tensor, Type, Value};
//!
//! let program = Program::parse(
//!     "tensor A: f64[I, J] csr
//!      tensor x: f64[J] dense
//!      tensor y: f64[I] dense
//!      y[i] = A[i,j] * x[j]",
//! )?;
//!
//! //      1 . 2
//! //  A = . . .   x = 1 2 3
//! //      . 3 4
//! let (pos, crd, values) = ([0i32, 2, 2, 4], [0i32, 2, 1, 2], [1.0, 2.0, 3.0, 4.0]);
//! let zero = Value::zero(Type::F64);
//! let a = Tensor {
//!     extents: vec![3, 3],
//!     format: Format::named("csr", 2).unwrap(),
//!     levels: vec![Level::Dense, Level::Compressed { pos: Array::from(&pos[..]), crd: Array::from(&crd[..]) }],
//!     values: Array::from(&values[..]), // borrowed: nothing is copied
//!     fill: zero,
//! };
//! let x = Tensor::dense(vec![3], zero, Array::from(&[1.0, 2.0, 3.0][..])).unwrap();
//!
//! let kernel = program.compile(&Options::default())?;
//! let outcome = kernel.run(&[("A", &a), ("x", &x)])?;
//! assert_eq!(outcome["y"].values, Array::from(vec![7.0, 0.0, 18.0]));
//!
//! // What is used again is checked once, where it comes into the program: calls on it look at no index.
//! let (a, x) = (a.checked().unwrap(), x.checked().unwrap());
//! assert_eq!(kernel.run(&[("A", &a), ("x", &x)])?["y"], outcome["y"]);
//! # Ok::<(), fiberloom::Error>(())
//! ```
//!
//! ```text
//!  Program::parse ──▶ Program ──compile──▶ Kernel ──bind──▶ Call ──run──▶ Outcome
//!  data::read ──▶ Tensor ──checked──▶ Checked ─────▲          Tensor ──▶ data::write
//! ```
//!
//! Malformed operands, programs and shapes are [`Error`]s; no input makes compiled code read or write out of bounds.
//! The language is described in `docs/language.md`, the compiler in `docs/architecture.md`.

pub mod builder;
mod cache;
pub mod data;
mod error;
mod kernel;
mod program;

pub use error::Error;
pub use fiberloom_core::algebra::{Mode, Type, Value};
pub use fiberloom_core::format::{
    Array, Assembly, Checked, Duplicates, Elements, Entries, Format, Level, LevelKind, Malformed, Tensor, added,
};
pub use fiberloom_core::notation::syntax;
pub use fiberloom_core::notation::typed::Role;
pub use kernel::{Call, Engine, Kernel, Operand, Options, Outcome};
pub use program::Program;
