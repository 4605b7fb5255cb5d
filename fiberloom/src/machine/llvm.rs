//! By LLVM.

use crate::error::Error;
use fiberloom_codegen as codegen;
use fiberloom_codegen::device::Ptx;
pub(crate) use fiberloom_codegen::{Compiled, Prepared, Take, on_pool, room};
pub use fiberloom_codegen::{Interrupt, LoopRun, addresses_left, set_threads, threads, watched};
use fiberloom_core::notation::typed;
use fiberloom_core::shape::Classes;
use fiberloom_loops::{Bound, DeviceEntry, Failure, Gpu, Kernel, Sound};

/// Refuses what takes machine code where there is none: here there is.
pub(crate) fn is_there() -> Result<(), Error> {
    Ok(())
}

/// Machine code of a kernel, whose calls can be interrupted.
pub(crate) fn compile(kernel: &Sound) -> Result<Compiled, Error> {
    let options = codegen::Options { interruptible: true, ..Default::default() };
    codegen::compile(kernel, &options).map_err(refused)
}

/// What machine code is called with.
pub(crate) fn prepare<'a>(compiled: &Compiled, bound: &Bound<'a>) -> Prepared<'a> {
    compiled.prepare(&bound.params, &bound.operands)
}

/// One call within so many bytes, and what `results` makes of the arrays that it made; nothing if `interrupt` ended it.
///
/// # Safety
/// As of [`Compiled::run_until`].
#[allow(unsafe_code)]
pub(crate) unsafe fn run<R>(
    compiled: &Compiled,
    prepared: &Prepared,
    (memory, interrupt): (u64, Option<&Interrupt>),
    results: impl FnOnce(Take) -> R,
) -> Result<Option<R>, Failure> {
    let limits = codegen::Limits { memory: memory.try_into().unwrap_or(usize::MAX), ..Default::default() };
    // SAFETY: by this function's contract.
    unsafe { compiled.run_until(prepared, &limits, interrupt, results) }
}

/// The optimized LLVM IR of a kernel.
pub(crate) fn llvm_ir(kernel: &Kernel) -> Result<String, Error> {
    codegen::llvm_ir(kernel, &codegen::Options::default()).map_err(refused)
}

/// The assembly of a kernel.
pub(crate) fn assembly(kernel: &Kernel) -> Result<String, Error> {
    codegen::assembly(kernel, &codegen::Options::default()).map_err(refused)
}

/// An object file of a program's kernel for any x86-64, and the C header that declares it.
pub(crate) fn object(kernel: &Kernel, program: &typed::Program, classes: &Classes) -> Result<(Vec<u8>, String), Error> {
    let options = codegen::Options { cpu: codegen::Cpu::Baseline, ..Default::default() };
    let contract = codegen::Contract::of(kernel, program, classes);
    Ok((codegen::object(kernel, &options).map_err(refused)?, codegen::header(kernel, &contract)))
}

/// The parallel loops of a kernel as PTX for a GPU, and its entries.
pub(crate) fn device_code(kernel: &Kernel, gpu: Gpu) -> Result<(String, Vec<DeviceEntry>), Error> {
    let Ptx { text, entries, .. } = codegen::device::ptx(kernel, gpu).map_err(refused)?;
    Ok((text, entries))
}

/// The parallel loops of a kernel as PTX for a GPU, and as comments why others stay on the host.
pub(crate) fn ptx(kernel: &Kernel, gpu: Gpu) -> Result<String, Error> {
    Ok(codegen::device::ptx(kernel, gpu).map_err(refused)?.to_string())
}

/// The parallel loops of a kernel as PTX for a GPU, and the C header that says what each entry is launched with.
pub(crate) fn device_files(kernel: &Kernel, gpu: Gpu) -> Result<(Vec<u8>, String), Error> {
    let ptx = codegen::device::ptx(kernel, gpu).map_err(refused)?;
    if ptx.entries.is_empty() {
        let why: Vec<String> = ptx.refused.iter().map(|(var, why)| format!("that over `{var}`: {why}")).collect();
        let why = if why.is_empty() { "none has independent iterations that take time".into() } else { why.join("; ") };
        return Err(Error::Call(format!("no loop of the program is for a GPU: {why}")));
    }
    let header = ptx.header(kernel);
    Ok((ptx.text.into_bytes(), header))
}

/// What code generation refuses: a lack of memory, or a defect.
fn refused(error: codegen::Error) -> Error {
    match error {
        codegen::Error::Memory { .. } => Error::Stopped(error.to_string()),
        codegen::Error::Kernel(_) | codegen::Error::Llvm(_) => Error::Defect(error.to_string()),
    }
}
