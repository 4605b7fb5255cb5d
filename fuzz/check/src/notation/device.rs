//! Parallel loops of a kernel as code for a GPU, on the machine for it: several shapes and orders of a launch give the same bits.

use super::engines::{Finding, bits};
use super::work::Work;
use fiberloom_codegen::device::{Ptx, ptx};
use fiberloom_core::format::Array;
use fiberloom_loops::{Bound, Deal, DeviceEntry, DeviceLoops, Failure, Gpu, Join, Kernel, Runner, Sound, device_loops};
use fiberloom_semantics::machine::{self, Fault};
use fiberloom_semantics::ptx::{Host, Limits, Module, Shape, Simulated, WARP};

/// A kernel whose parallel loops are code for a GPU.
pub(super) struct Device<'k> {
    kernel: &'k Sound,
    host: machine::Prepared<'k>,
    module: Module,
    entries: Vec<DeviceEntry>,
    /// Whether parts of a warp run iterations.
    pub has_parts: bool,
}

/// Launches: a few threads that run many iterations each, a warp that is not full, a thread an iteration.
const SHAPES: [Shape; 3] =
    [Shape { blocks: 1, threads: 2 }, Shape { blocks: 3, threads: 33 }, Shape { blocks: 1 << 10, threads: 64 }];

/// The GPUs for which kernels are compiled, one after the other.
fn gpu(kernel: &Sound) -> Gpu {
    Gpu::ALL[kernel.vars.len() % Gpu::ALL.len()]
}

impl<'k> Device<'k> {
    /// The code for a kernel's parallel loops as they are dealt out, and for the same loops with a warp for each iteration, where that can be and
    /// differs. None, if no loop is launched.
    pub fn all(kernel: &'k Sound) -> Result<Vec<Device<'k>>, Finding> {
        let mut shared = Kernel::clone(kernel);
        for var in shared.loops() {
            shared.hints.entry(var).or_default().deal = Some(Deal::Lane);
        }
        let [own, other] = [&Kernel::clone(kernel), &shared].map(|asked| (asked.clone(), device_loops(asked)));
        let shares = |loops: &DeviceLoops| loops.kernels.iter().any(|each| each.runner == Runner::Warp);
        let differs = shares(&other.1) && own.1.kernels != other.1.kernels;
        let launched = [own].into_iter().chain(differs.then_some(other)).filter(|(_, loops)| !loops.kernels.is_empty());
        launched.map(|(asked, loops)| Device::of(kernel, &asked, &loops)).collect()
    }

    /// Compiles the parallel loops of a kernel, dealt out as `asked`.
    fn of(kernel: &'k Sound, asked: &Kernel, loops: &DeviceLoops) -> Result<Device<'k>, Finding> {
        let Ptx { text, entries, .. } = ptx(asked, gpu(kernel)).map_err(|e| Finding::new("codegen", e))?;
        let module = Module::read(&text).map_err(|e| Finding::new("ptx", format!("{e}\n{text}")))?;
        let host = machine::Prepared::of(kernel).map_err(|e| Finding::new("fault", e))?;
        let is_part = |join: &Join| join.lanes < i64::from(WARP);
        let has_parts = loops.kernels.iter().flat_map(|each| &each.shuffles.joins).any(is_part);
        Ok(Device { kernel, host, module, entries, has_parts })
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
            work.launched += 1;
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
