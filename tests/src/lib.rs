//! File tests: programs that stand in files, with their data, what they must answer, and what they print.
//!
//! ```text
//!  loops/ issues/ …   *.loom            a program with directives in comments: data, results, prints
//!  errors/            *.loom            the same, with the message that refuses it
//!  conformance/       NAME/case.json    a program, data in files, results computed with NumPy
//! ```
//!
//! Everything goes through the command line, as a user's program does: one test is answered by the reference semantics,
//! by the checked interpreter of loops and by machine code. Expected values are worked out by hand or by NumPy, never by
//! the compiler; `cargo xtask bless` rewrites prints and nothing else. This crate depends on no other crate of the
//! workspace: it reads the files that the command writes by itself. Its runner (`run.rs`) has the command line in it.
#![forbid(unsafe_code)]

pub mod array;
pub mod binary;
pub mod conformance;
pub mod data;
pub mod directive;
pub mod file;

/// The engines that answer every test.
pub const ENGINES: [&str; 4] = ["meaning", "loops", "llvm", "ptx"];

/// Engines that compile, and may refuse what is not lowered yet.
pub const COMPILERS: [&str; 3] = ["loops", "llvm", "ptx"];

/// Exit status of a program that is refused.
pub const REFUSED: i32 = 2;

/// Exit status of a program that reaches a limit.
pub const STOPPED: i32 = 5;

/// Exit status of data that is refused.
pub const REFUSED_DATA: i32 = 3;
