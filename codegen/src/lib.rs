//! Compiles loops to machine code through LLVM, and provides the runtime that the code calls.
//!
//! ```text
//!   Kernel ──emit──▶ LLVM IR ──target──▶ optimized IR ──▶ object ──jit──▶ Compiled ──run──▶ arrays
//!                                                           └───────────▶ a file, with a C header
//! ```
//!
//! | module | what |
//! |---|---|
//! | `abi` | the C ABI: buffers, failures' codes, the table of functions that kernels call |
//! | `emit` | one function of LLVM IR per kernel, or several of a long kernel; describes aliasing to LLVM |
//! | `target` | the machine, and the passes |
//! | `diagnostics` | LLVM's errors and warnings |
//! | `device` | parallel loops as PTX, for NVIDIA GPUs |
//! | `jit` | objects to callable code |
//! | `room` | whether the remaining addresses suffice to compile |
//! | `compiled` | calling |
//! | `runtime` | memory, sorting, functions of numbers; fenced memory for fuzzing |
//! | `header` | the C header of an object |
//!
//! Invariants: objects in process and ahead of time come from one path and need no symbol of ours; compiled code never aborts for lack of
//! memory; `unsafe` occurs only in modules that say why.

pub mod abi;
mod compiled;
pub mod device;
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
pub use runtime::{Interrupt, LoopRun, Pieces, on_pool, set_threads, threads, watched};

use fiberloom_loops::{Kernel, check};
use inkwell::builder::BuilderError;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::FileType;
use std::fmt;
use target::Machine;

/// Options of compilation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// The optimization level.
    pub opt_level: OptLevel,
    /// The CPU to compile for.
    pub cpu: Cpu,
    /// The most statements, including those in blocks, of a function where a kernel can be cut. Affects the time of compilation, never
    /// results.
    pub long: usize,
    /// Whether a call can be interrupted. Only [`compile`] respects this ([`Compiled::run_until`]).
    pub interruptible: bool,
}

impl Options {
    /// The default of [`Options::long`], which keeps LLVM's time proportional to a kernel's length.
    pub const LONG: usize = 256;
}

impl Default for Options {
    fn default() -> Options {
        Options { opt_level: OptLevel::default(), cpu: Cpu::default(), long: Options::LONG, interruptible: false }
    }
}

/// How much to optimize.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OptLevel {
    /// As little as possible: for fuzzing, where each kernel runs once on little data.
    None,
    /// With all optimizations.
    #[default]
    Full,
}

/// The CPU to compile for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cpu {
    /// The CPU of this machine, with all its features.
    #[default]
    Host,
    /// Any x86-64 CPU, for objects that run on other machines. Only for [`object`], [`assembly`] and [`llvm_ir`] does this matter beyond
    /// speed.
    Baseline,
}

/// The reason why there is no code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The kernel is not well-formed: `loops::check` would have refused it.
    Kernel(String),
    /// The process may take fewer addresses than compiling may need.
    Memory {
        /// The bytes that compiling may need.
        needed: u64,
        /// The bytes that are left.
        left: u64,
    },
    /// LLVM refused: this crate has a defect, or the installation lacks something.
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

/// The name of a kernel's function in process, where each kernel has its own linker.
const IN_PROCESS: &str = "fl_kernel";

/// Compiles a kernel into executable memory.
///
/// # Errors
/// [`Error::Kernel`] if the kernel is not well-formed, [`Error::Memory`] if too few addresses are left.
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

/// The options for code that is called without [`Compiled`]: such callers have only the table of functions.
fn alone(options: &Options) -> Options {
    Options { interruptible: false, ..*options }
}

/// The result of `take` on the kernel's optimized module, in which its function is called `symbol`.
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
