//! Parallel loops as PTX, the assembly language of NVIDIA's GPUs.
//!
//! ```text
//!   Kernel ──device_loops──▶ DeviceLoop … ──emit──▶ LLVM IR ──NVPTX──▶ PTX: one entry a loop, and what it is launched with
//! ```
//!
//! The host runs the rest of the kernel. An entry's iterations are spread over any number of threads: each runs every so many of them. Its
//! arguments are in the order of [`Entry::arguments`]; buffers are addresses in global memory.

use crate::target::Machine;
use crate::{Error, diagnostics, emit, room, symbol};
use fiberloom_core::loops::{BufferId, DeviceLoop, DeviceLoops, Kernel, Var, check, device_loops};
use inkwell::context::Context;
use inkwell::targets::FileType;
use std::fmt;

/// A generation of GPUs, as compilers name it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Gpu {
    /// Volta, and all later ones.
    #[default]
    Sm70,
    /// Ampere.
    Sm80,
    /// Hopper.
    Sm90,
}

impl Gpu {
    /// All of them.
    pub const ALL: [Gpu; 3] = [Gpu::Sm70, Gpu::Sm80, Gpu::Sm90];

    /// The name that compilers have for it.
    pub fn name(self) -> &'static str {
        match self {
            Gpu::Sm70 => "sm_70",
            Gpu::Sm80 => "sm_80",
            Gpu::Sm90 => "sm_90",
        }
    }

    /// LLVM's features: the least version of PTX that knows the GPU.
    pub(crate) fn features(self) -> &'static str {
        match self {
            Gpu::Sm70 => "+ptx60",
            Gpu::Sm80 => "+ptx70",
            Gpu::Sm90 => "+ptx78",
        }
    }
}

/// An argument of an entry. All are 64 bits wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// The address of a buffer's first element.
    Data(BufferId),
    /// The address of every thread's copy of a workspace, interleaved: element `e` of thread `t` of `n` is at `e · n + t`.
    Copies(BufferId),
    /// The number of elements of a buffer, or of one copy of a workspace.
    Length(BufferId),
    /// The value of a variable: an integer, extended by its sign; a float's bits; `true` is 1.
    Value(Var),
    /// The loop's first iteration.
    First,
    /// One past the loop's last iteration.
    Last,
    /// The address of a `u64` that begins with all bits set. A failure of iteration `i` sets it to the least of what it was and
    /// `(i - first) << 4 | code`.
    Status,
}

/// An entry of a module, which runs the iterations of one loop.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The entry's name.
    pub name: String,
    /// The loop's variable, which tells it from other loops of the kernel.
    pub var: Var,
    /// The entry's arguments, in order.
    pub arguments: Vec<Argument>,
    /// The buffers that iterations write.
    pub writes: Vec<BufferId>,
}

/// The parallel loops of a kernel as PTX.
#[derive(Clone, PartialEq, Debug)]
pub struct Ptx {
    /// The text, as LLVM prints it.
    pub text: String,
    /// The entries, in the order of the loops.
    pub entries: Vec<Entry>,
    /// The loops that stay on the host: the variable's name, and the reason.
    pub refused: Vec<(String, String)>,
}

/// The text, and before it, as comments, why loops stay on the host.
impl fmt::Display for Ptx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() && self.refused.is_empty() {
            writeln!(f, "// No loop has independent iterations that take time: all of the program runs on the host.")?;
        }
        for (var, why) in &self.refused {
            writeln!(f, "// The loop over {var} runs on the host: {why}.")?;
        }
        f.write_str(&self.text)
    }
}

/// The parallel loops of a kernel as PTX for a GPU.
///
/// # Errors
/// [`Error::Kernel`] if the kernel is not well-formed, [`Error::Memory`] if too few addresses are left.
pub fn ptx(kernel: &Kernel, gpu: Gpu) -> Result<Ptx, Error> {
    let made = made(kernel, gpu, |machine, module| machine.write(module, FileType::Assembly))?;
    let (DeviceLoops { kernels, refused }, text) = made;
    let entries = kernels.iter().enumerate().map(|(n, each)| entry(kernel, n, each)).collect();
    let named = |(var, why): (Var, String)| (kernel.vars[var.0 as usize].0.clone(), why);
    let refused = refused.into_iter().map(named).collect();
    Ok(Ptx { text: String::from_utf8_lossy(&text).into_owned(), entries, refused })
}

/// The result of `take` on the optimized module of a kernel's parallel loops.
fn made<T>(
    kernel: &Kernel,
    gpu: Gpu,
    take: impl FnOnce(&Machine, &inkwell::module::Module) -> Result<T, Error>,
) -> Result<(DeviceLoops, T), Error> {
    check(kernel).map_err(Error::Kernel)?;
    room::suffices(kernel)?;
    let loops = device_loops(kernel);
    let machine = Machine::device(gpu)?;
    let context = Context::create();
    let listener = diagnostics::Listener::new(&context);
    let named: Vec<_> = loops.kernels.iter().enumerate().map(|(n, each)| (entry(kernel, n, each), each)).collect();
    let module = emit::device::module(&context, &kernel.name, &named, &machine)?;
    machine.optimize(&module, room::length(&kernel.body))?;
    let taken = take(&machine, &module)?;
    listener.heard().map(|()| (loops, taken))
}

/// The entry of a loop, which is the `n`th.
fn entry(kernel: &Kernel, n: usize, each: &DeviceLoop) -> Entry {
    let is_own = |b: &BufferId| each.own.iter().any(|(own, _)| own == b);
    let data = |b: &BufferId| if is_own(b) { Argument::Copies(*b) } else { Argument::Data(*b) };
    let own = each.own.iter().map(|(b, _)| *b);
    let arguments = each.buffers.iter().map(data);
    let arguments = arguments.chain(each.lengths.iter().copied().chain(own).map(Argument::Length));
    let arguments = arguments.chain(each.values.iter().map(|v| Argument::Value(*v)));
    let status = each.fails.then_some(Argument::Status);
    let arguments = arguments.chain([Argument::First, Argument::Last]).chain(status).collect();
    let written = |b: &&BufferId| each.kernel.buffers[b.0 as usize].role != fiberloom_core::loops::Role::Operand;
    let writes = each.buffers.iter().filter(written).copied().collect();
    Entry { name: format!("{}_{n}", symbol(kernel)), var: each.var, arguments, writes }
}
