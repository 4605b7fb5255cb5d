//! Parallel loops as PTX, the assembly language of NVIDIA's GPUs.
//!
//! ```text
//!   Kernel ──device_loops──▶ DeviceLoop … ──emit──▶ LLVM IR ──NVPTX──▶ PTX: one entry a loop, and what it is launched with
//! ```
//!
//! The host runs the rest of the kernel. An entry's iterations are spread over any number of threads: each runs every so many of them. Its
//! arguments are in the order of [`DeviceEntry::arguments`]; buffers are addresses in global memory.

use crate::target::Machine;
use crate::{Error, diagnostics, emit, room, symbol};
use fiberloom_loops::{
    BufferId, DeviceArgument, DeviceEntry, DeviceLoop, DeviceLoops, Gpu, Kernel, Runner, Var, check, device_loops,
};
use inkwell::context::Context;
use inkwell::targets::FileType;
use std::fmt;

/// LLVM's features for a GPU: the least version of PTX that knows it.
pub(crate) fn features(gpu: Gpu) -> &'static str {
    match gpu {
        Gpu::Sm70 => "+ptx60",
        Gpu::Sm80 => "+ptx70",
        Gpu::Sm90 => "+ptx78",
    }
}

/// The parallel loops of a kernel as PTX.
#[derive(Clone, PartialEq, Debug)]
pub struct Ptx {
    /// The text, as LLVM prints it.
    pub text: String,
    /// The entries, in the order of the loops.
    pub entries: Vec<DeviceEntry>,
    /// The loops that stay on the host: the variable's name, and the reason.
    pub refused: Vec<(String, String)>,
    /// The loops that a schedule deals out to units that do not run their iterations: the variable's name, the unit's, and what runs them.
    pub not_dealt: Vec<(String, &'static str, String)>,
}

/// The text, and before it, as comments, why loops stay on the host, and which run otherwise than a schedule says.
impl fmt::Display for Ptx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entries.is_empty() && self.refused.is_empty() {
            writeln!(f, "// No loop has independent iterations that take time: all of the program runs on the host.")?;
        }
        for (var, why) in &self.refused {
            writeln!(f, "// The loop over {var} runs on the host: {why}.")?;
        }
        for (var, unit, what) in &self.not_dealt {
            writeln!(f, "// The loop over {var} is not dealt out to {unit}s: {what}.")?;
        }
        f.write_str(&self.text)
    }
}

impl Ptx {
    /// The C header that says what each entry is launched with.
    pub fn header(&self, kernel: &Kernel) -> String {
        let name = symbol(kernel);
        let mut text = format!("/* {}, for GPUs, compiled by Fiberloom. */\n", kernel.name);
        text += &format!("#ifndef FL_DEVICE_{name}\n#define FL_DEVICE_{name}\n");
        for entry in &self.entries {
            text += &launch(kernel, entry);
        }
        text + "\n#endif\n"
    }
}

/// How an entry is launched: in words, its name, and the places of its arguments.
fn launch(kernel: &Kernel, entry: &DeviceEntry) -> String {
    let DeviceEntry { name, arguments, writes, .. } = entry;
    let buffer = |b: &BufferId| &kernel.buffers[b.0 as usize];
    let var = |var: &Var| &kernel.vars[var.0 as usize].0;
    let mut text = format!(
        "\n/*\n * The loop over {}: `{name}`, with any number of blocks{} in one dimension, and 64-bit arguments:\n *\n",
        var(&entry.var),
        match entry.runner {
            Runner::Thread => " and threads",
            Runner::Warp => " of whole warps (32 threads; a warp runs an iteration)",
            Runner::Block => " of whole warps (32 threads; a block runs an iteration)",
        }
    );
    if entry.shared > 0 {
        text += &format!(
            " *   A block has {} bytes of shared memory, which the code itself reserves: none is asked for at the launch.\n *\n",
            entry.shared
        );
    }
    let mut places = String::new();
    for (place, argument) in arguments.iter().enumerate() {
        let (called, what) = match argument {
            DeviceArgument::Data(b) => {
                let how = if writes.contains(b) { "read and written" } else { "only read" };
                (
                    buffer(b).name.clone(),
                    format!("the address of its elements in the GPU's memory, {}, {how}", buffer(b).ty),
                )
            }
            DeviceArgument::Copies(b) => (
                buffer(b).name.clone(),
                format!(
                    "the address of a copy for each thread, {}: element e of thread t of n at e * n + t",
                    buffer(b).ty
                ),
            ),
            DeviceArgument::Length(b) => (format!("{}_length", buffer(b).name), "its number of elements".to_string()),
            DeviceArgument::Value(v) => (var(v).clone(), format!("{}, extended by zeros", kernel.vars[v.0 as usize].1)),
            DeviceArgument::Fold(v) => {
                let what = format!(
                    "the address of a {} that holds it, before and behind the loop",
                    kernel.vars[v.0 as usize].1
                );
                (var(v).clone(), what)
            }
            DeviceArgument::First => ("first".to_string(), "the first iteration".to_string()),
            DeviceArgument::Last => ("last".to_string(), "one past the last iteration".to_string()),
            DeviceArgument::Status => (
                "status".to_string(),
                "the address of a uint64_t, all bits set before; a failure sets it to (iteration - first) << 4 | code"
                    .to_string(),
            ),
        };
        text += &format!(" *   {place}  {called}: {what}\n");
        places += &format!("    {name}_{called}_ = {place},\n");
    }
    text + " */\nenum {\n" + &places + &format!("    {name}_arguments_ = {}\n}};\n", arguments.len())
}

/// The parallel loops of a kernel as PTX for a GPU.
///
/// # Errors
/// [`Error::Kernel`] if the kernel is not well-formed, [`Error::Memory`] if too few addresses are left.
pub fn ptx(kernel: &Kernel, gpu: Gpu) -> Result<Ptx, Error> {
    let made = made(kernel, gpu, |machine, module| machine.write(module, FileType::Assembly))?;
    let (DeviceLoops { kernels, refused, not_dealt }, text) = made;
    let entries = kernels.iter().enumerate().map(|(n, each)| entry(kernel, n, each)).collect();
    let name = |var: Var| kernel.vars[var.0 as usize].0.clone();
    let refused = refused.into_iter().map(|(var, why)| (name(var), why)).collect();
    let not_dealt = not_dealt.into_iter().map(|(var, deal, what)| (name(var), deal.name(), what)).collect();
    Ok(Ptx { text: String::from_utf8_lossy(&text).into_owned(), entries, refused, not_dealt })
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
fn entry(kernel: &Kernel, n: usize, each: &DeviceLoop) -> DeviceEntry {
    each.entry(format!("{}_{n}", symbol(kernel)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::code;
    use fiberloom_loops::Failure;

    /// What emitted code reports is what the host understands.
    #[test]
    fn a_report_says_which_failure_it_was() {
        for failure in Failure::ALL {
            assert_eq!(DeviceEntry::report(5, failure), 5 << 4 | code(failure) as u64);
            assert_eq!(DeviceEntry::reported(5 << 4 | code(failure) as u64), Some(failure));
        }
        assert_eq!(DeviceEntry::reported(u64::MAX), None);
    }
}
