//! Loops to machine code through LLVM, and the runtime that the code calls.
//!
//! ```text
//!   Kernel ──emit──▶ LLVM IR ──target──▶ optimized IR ──▶ object ──jit──▶ Compiled ──run──▶ arrays
//!                                                           └───────────▶ a file, with a C header
//! ```
//!
//! | module | what |
//! |---|---|
//! | `abi` | the C ABI: buffers, failures' codes, the table of functions that kernels call |
//! | `emit` | a function of LLVM IR a kernel, or several of a long one; what is known of aliasing is said there |
//! | `target` | the machine, and the passes |
//! | `diagnostics` | what LLVM says meanwhile |
//! | `jit` | objects to callable code |
//! | `room` | whether the addresses that are left suffice to compile |
//! | `compiled` | calling |
//! | `runtime` | memory, sorting, functions of numbers; fenced memory for fuzzing |
//! | `header` | the C header of an object |
//!
//! Invariants: objects in process and ahead of time are made by one path and need no symbol of ours; compiled code never
//! aborts for want of memory; `unsafe` stands only in modules that say why.

pub mod abi;
mod compiled;
mod diagnostics;
mod emit;
mod header;
mod jit;
mod room;
mod runtime;
mod target;

pub use compiled::{Compiled, Limits, Prepared, Take};
pub use header::{Contract, header, symbol};
pub use room::{addresses_left, room};
pub use runtime::Interrupt;

use fiberloom_core::loops::{Kernel, check};
use inkwell::builder::BuilderError;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::FileType;
use std::fmt;
use target::Machine;

/// How code is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// How much work goes into it.
    pub opt_level: OptLevel,
    /// For which CPU.
    pub cpu: Cpu,
    /// Statements, those in blocks counted, that one function holds where a kernel can be cut. Affects the time of compilation,
    /// never results.
    pub long: usize,
    /// Whether a call can be asked to end: [`compile`] alone heeds it ([`Compiled::run_until`]).
    pub interruptible: bool,
}

impl Options {
    /// What [`Options::long`] is unless said: LLVM's time is then proportional to a kernel's length.
    pub const LONG: usize = 256;
}

impl Default for Options {
    fn default() -> Options {
        Options { opt_level: OptLevel::default(), cpu: Cpu::default(), long: Options::LONG, interruptible: false }
    }
}

/// How much work goes into making code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OptLevel {
    /// As little as possible: for fuzzing, where each kernel runs once on little data.
    None,
    /// All that makes it faster.
    #[default]
    Full,
}

/// For which CPU code is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cpu {
    /// The one on which this runs, with all its features.
    #[default]
    Host,
    /// Any x86-64: for objects that are carried to other machines. Only [`object`], [`assembly`] and [`llvm_ir`] differ by
    /// more than speed.
    Baseline,
}

/// Why no code was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The kernel is not well-formed: what `loops::check` would have refused.
    Kernel(String),
    /// The process may take fewer addresses than compiling takes at most, in bytes.
    Memory {
        /// What compiling takes at most.
        needed: u64,
        /// What is left.
        left: u64,
    },
    /// LLVM refused: a defect of this crate, or an installation that lacks something.
    Llvm(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Kernel(what) => write!(f, "the loops are not well-formed: {what}"),
            Error::Memory { needed, left } => {
                let (needed, left) = (needed >> 20, left >> 20);
                write!(
                    f,
                    "compiling takes up to {needed} MiB, and the limit on this process's addresses leaves {left} MiB"
                )
            }
            Error::Llvm(what) => write!(f, "LLVM: {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<BuilderError> for Error {
    fn from(e: BuilderError) -> Error {
        Error::Llvm(e.to_string())
    }
}

/// The name of kernels' functions in process, where each has a linker of its own.
const IN_PROCESS: &str = "fl_kernel";

/// Compiles a kernel into executable memory.
///
/// # Errors
/// [`Error::Kernel`] if it is not well-formed, [`Error::Memory`] if too few addresses are left.
pub fn compile(kernel: &Kernel, options: &Options) -> Result<Compiled, Error> {
    let object = made(kernel, IN_PROCESS, options, |machine, module| machine.write(module, FileType::Object))?;
    Ok(Compiled::new(kernel, jit::Code::load(&object, IN_PROCESS)?))
}

/// The kernel as optimized LLVM IR.
///
/// # Errors
/// As for [`compile`].
pub fn llvm_ir(kernel: &Kernel, options: &Options) -> Result<String, Error> {
    made(kernel, &symbol(kernel), &alone(options), |_, module| Ok(module.print_to_string().to_string()))
}

/// The kernel as assembly of x86-64.
///
/// # Errors
/// As for [`compile`].
pub fn assembly(kernel: &Kernel, options: &Options) -> Result<String, Error> {
    let text = write(kernel, options, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The kernel as an object file that exports [`symbol`]; [`header`] declares it.
///
/// # Errors
/// As for [`compile`].
pub fn object(kernel: &Kernel, options: &Options) -> Result<Vec<u8>, Error> {
    write(kernel, options, FileType::Object)
}

fn write(kernel: &Kernel, options: &Options, what: FileType) -> Result<Vec<u8>, Error> {
    made(kernel, &symbol(kernel), &alone(options), |machine, module| machine.write(module, what))
}

/// The options of code that other callers than [`Compiled`] call, who have a table of functions and nothing behind it.
fn alone(options: &Options) -> Options {
    Options { interruptible: false, ..*options }
}

/// What `take` makes of the kernel's optimized module, in which its function is called `symbol`.
fn made<T>(
    kernel: &Kernel,
    symbol: &str,
    options: &Options,
    take: impl FnOnce(&Machine, &Module) -> Result<T, Error>,
) -> Result<T, Error> {
    check(kernel).map_err(Error::Kernel)?;
    room::suffices(kernel)?;
    let machine = Machine::new(options)?;
    let context = Context::create();
    let listener = diagnostics::Listener::new(&context);
    let module = emit::module(&context, kernel, symbol, (&machine, options))?;
    machine.optimize(&module, room::length(&kernel.body))?;
    let taken = take(&machine, &module)?;
    listener.heard().map(|()| taken)
}
