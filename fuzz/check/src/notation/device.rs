//! Parallel loops of a kernel as code for a GPU, on the machine for it: several shapes and orders of a launch give the same bits.

use super::engines::{Finding, bits};
use super::work::Work;
use fiberloom_codegen::device::{Ptx, ptx};
use fiberloom_core::format::Array;
use fiberloom_loops::{Bound, Deal, DeviceEntry, Failure, Gpu, Kernel, Runner, Sound};
use fiberloom_semantics::machine::{self, Fault};
use fiberloom_semantics::ptx::{Host, Limits, Module, Shape, Simulated};

/// A kernel whose parallel loops are code for a GPU.
pub(super) struct Device<'k> {
    kernel: &'k Sound,
    host: machine::Prepared<'k>,
    module: Module,
    entries: Vec<DeviceEntry>,
}

/// Launches: a few threads that run many iterations each, a warp that is not full, a thread an iteration.
const SHAPES: [Shape; 3] =
    [Shape { blocks: 1, threads: 2 }, Shape { blocks: 3, threads: 33 }, Shape { blocks: 1 << 10, threads: 64 }];

/// The GPUs for which kernels are compiled, one after the other.
fn gpu(kernel: &Sound) -> Gpu {
    Gpu::ALL[kernel.vars.len() % Gpu::ALL.len()]
}

impl<'k> Device<'k> {
    /// Compiles the parallel loops of a kernel, with a warp for each iteration where that can be, if `shares`.
    pub fn of(kernel: &'k Sound, shares: bool) -> Result<Device<'k>, Finding> {
        let mut asked = Kernel::clone(kernel);
        for var in asked.loops().into_iter().filter(|_| shares) {
            asked.hints.entry(var).or_default().deal = Some(Deal::Lane);
        }
        let Ptx { text, entries, .. } = ptx(&asked, gpu(kernel)).map_err(|e| Finding::new("codegen", e))?;
        let module = Module::read(&text).map_err(|e| Finding::new("ptx", format!("{e}\n{text}")))?;
        let host = machine::Prepared::of(kernel).map_err(|e| Finding::new("fault", e))?;
        Ok(Device { kernel, host, module, entries })
    }

    /// Whether a loop is launched.
    pub fn launches(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Whether lanes share an iteration.
    pub fn shares(&self) -> bool {
        self.entries.iter().any(|entry| entry.runner == Runner::Warp)
    }

    /// Whether a block has workspaces in its shared memory.
    pub fn has_shared_memory(&self) -> bool {
        self.entries.iter().any(|entry| entry.shared > 0)
    }

    /// What a launch makes; the same of each shape and order.
    pub fn run(
        &self,
        bound: &Bound,
        limits: &machine::Limits,
        work: &mut Work,
    ) -> Result<Result<Vec<Option<Array<'static>>>, Failure>, Finding> {
        let mut first = None;
        for (shape, seed) in SHAPES.into_iter().zip(1..) {
            let on_device = Limits { steps: limits.steps.saturating_mul(8), seed };
            let launcher = Simulated::new(&self.module, on_device);
            let host = Host::new(self.kernel, &launcher, &self.entries, shape);
            let ran = self.host.run_on(Some(&host), &bound.params, &bound.arrays(), limits);
            work.launched += u64::from(self.launches());
            let ran = match ran {
                Ok(outcome) => Ok(outcome.buffers),
                Err(Fault::Stopped(failure)) => Err(failure),
                Err(fault) => return Err(Finding::new("fault", fault)),
            };
            let one = first.get_or_insert(ran.clone());
            if bits(one) != bits(&ran) {
                return Err(Finding::new("launches", format!("{shape:?} makes {ran:?}, and the first {one:?}")));
            }
        }
        Ok(first.unwrap_or(Ok(vec![])))
    }
}
