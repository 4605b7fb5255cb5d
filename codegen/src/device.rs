//! Parallel loops as PTX, the assembly language of NVIDIA's GPUs.
//!
//! ```text
//!   Kernel ──device_loops──▶ DeviceLoop … ──emit──▶ LLVM IR ──NVPTX──▶ PTX: one entry a loop, and what it is launched with
//! ```
//!
//! The host runs the rest of the kernel, as [`for_device`](fiberloom_loops::for_device) makes it. An entry's iterations are spread over any number of threads: each runs every so many of them. Its
//! arguments are in the order of [`DeviceEntry::arguments`]; buffers are addresses in global memory.

mod header;

use crate::target::Machine;
use crate::{Error, diagnostics, emit, room, symbol};
use fiberloom_loops::{DeviceEntry, DeviceLoop, DeviceLoops, Gpu, Kernel, Var, check, device_loops};
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
        self.remarks().iter().try_for_each(|remark| writeln!(f, "// {remark}"))?;
        f.write_str(&self.text)
    }
}

impl Ptx {
    /// Why loops stay on the host, and which run otherwise than a schedule says, a sentence each.
    fn remarks(&self) -> Vec<String> {
        let none = self.entries.is_empty() && self.refused.is_empty();
        let none = none.then(|| {
            "No loop has independent iterations that take time: all of the program runs on the host.".to_string()
        });
        let refused = self.refused.iter().map(|(var, why)| format!("The loop over {var} runs on the host: {why}."));
        let not_dealt = |(var, unit, what): &(String, &str, String)| {
            format!("The loop over {var} is not dealt out to {unit}s: {what}.")
        };
        none.into_iter().chain(refused).chain(self.not_dealt.iter().map(not_dealt)).collect()
    }
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
