//! Launches on an NVIDIA GPU, by its driver, which is loaded when the first kernel is made for it.
//!
//! ```text
//!  PTX ──load──▶ Loaded ──session, one a call──▶ Session: a launch uploads what it reads, waits, and brings back what it wrote
//!                   └──operands──▶ Operands: what calls on the same operands have uploaded
//! ```
//!
//! Operands are uploaded once, as no launch writes them: those whose values may change between calls, once a call. They are freed with the
//! call that was bound to them, or where another needs the memory: then the next launch uploads them again.

use super::Uploaded;
use crate::error::Error;
use cudarc::driver::{
    CudaContext, CudaModule, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PushKernelArg, sys,
};
use cudarc::nvrtc::Ptx;
use fiberloom_loops::{BufferId, DeviceArgument, DeviceEntry, Failure, Gpu};
use fiberloom_semantics::machine::Ended;
use fiberloom_semantics::ptx::{Buffer, Counts, Global, Launch, Launcher};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Memory that is left free: drivers need some of it.
const KEPT: usize = 64 << 20;

/// The first GPU of this machine.
struct Found {
    context: Arc<CudaContext>,
    gpu: Gpu,
}

/// The GPU, which is looked for once.
///
/// # Errors
/// [`Error::Device`]: there is no driver or no GPU, or it is too old.
fn found() -> Result<&'static Found, Error> {
    static FOUND: OnceLock<Result<Found, String>> = OnceLock::new();
    FOUND.get_or_init(look).as_ref().map_err(|why| Error::Device(why.clone()))
}

#[allow(unsafe_code)]
fn look() -> Result<Found, String> {
    // SAFETY: the library is the driver's, which does nothing when it is loaded.
    if !unsafe { sys::is_culib_present() } {
        return Err("the engine `nvptx` needs the driver of an NVIDIA GPU, and there is no `libcuda.so`: install NVIDIA's \
                    driver (Debian's package is `libcuda1`), or use `--engine ptx`, which runs the same code on this processor"
            .to_string());
    }
    let context = CudaContext::new(0).map_err(|e| format!("no NVIDIA GPU answers: {}", said(&e)))?;
    let capability =
        context.compute_capability().map_err(|e| format!("the GPU does not say what it is: {}", said(&e)))?;
    let knows = |gpu: &&Gpu| gpu.capability() <= capability;
    let gpu = Gpu::ALL.iter().rev().find(knows).copied().ok_or_else(|| {
        let (major, minor) = capability;
        format!("the GPU has compute capability {major}.{minor}, and 7.0 is the least that code is made for (Volta)")
    })?;
    Ok(Found { context, gpu })
}

/// What the driver says of an error.
fn said(error: &DriverError) -> String {
    let name = error.error_name().ok().and_then(|name| name.to_str().ok());
    let what = error.error_string().ok().and_then(|what| what.to_str().ok());
    match (name, what) {
        (Some(name), Some(what)) => format!("{what} ({name})"),
        _ => format!("error {:?}", error.0),
    }
}

/// What the GPU is, for the compiler.
///
/// # Errors
/// [`Error::Device`]: there is none.
pub(crate) fn target() -> Result<Gpu, Error> {
    found().map(|found| found.gpu)
}

/// A module on the GPU.
pub(crate) struct Loaded {
    stream: Arc<CudaStream>,
    module: Arc<CudaModule>,
}

/// Puts a text on the GPU, compiled by the driver.
///
/// # Errors
/// [`Error::Device`]: there is no GPU, or the driver refuses the text.
pub(crate) fn load(text: &str) -> Result<Loaded, Error> {
    let context = &found()?.context;
    let module = context.load_module(Ptx::from_src(text));
    let module = module.map_err(|e| Error::Device(format!("the driver does not load the program: {}", said(&e))))?;
    Ok(Loaded { stream: context.default_stream(), module })
}

impl Loaded {
    /// What calls on the same operands share, of which none is uploaded yet; of each buffer, when it is.
    pub(crate) fn operands(&self, when: Vec<Uploaded>) -> Operands {
        let held = Arc::default();
        let mut all = lock(&ALL);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&held));
        Operands { when, held }
    }

    /// The launches of one call.
    pub(crate) fn session<'l>(&'l self, operands: &'l Operands) -> Box<dyn Launcher + 'l> {
        let held = std::mem::take(&mut *lock(&operands.held));
        Box::new(Session { loaded: self, operands, held: RefCell::new(held), spent: Cell::default() })
    }
}

/// Buffers in the GPU's memory.
type Held = HashMap<BufferId, Arc<CudaSlice<u8>>>;

/// What calls that are bound to operands keep in the GPU's memory while they do not run.
static ALL: Mutex<Vec<Weak<Mutex<Held>>>> = Mutex::new(vec![]);

/// A list of what is kept; a thread that panicked while it held one has left it whole.
fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The operands of calls in the GPU's memory.
pub(crate) struct Operands {
    when: Vec<Uploaded>,
    /// Those that were uploaded, while no call runs.
    held: Arc<Mutex<Held>>,
}

/// The launches of one call, and the operands that are there for them.
struct Session<'l> {
    loaded: &'l Loaded,
    operands: &'l Operands,
    held: RefCell<Held>,
    spent: Cell<Duration>,
}

/// What is uploaded once is left for the next call.
impl Drop for Session<'_> {
    fn drop(&mut self) {
        let mut held = self.held.take();
        held.retain(|b, _| self.operands.when[b.0 as usize] == Uploaded::Once);
        *lock(&self.operands.held) = held;
    }
}

impl Session<'_> {
    /// What a buffer holds, in the GPU's memory; an operand from an earlier launch.
    fn held(&self, argument: DeviceArgument, buffer: &Buffer) -> Result<Arc<CudaSlice<u8>>, Ended> {
        let operand = match argument {
            DeviceArgument::Data(b) if self.operands.when[b.0 as usize] != Uploaded::EachLaunch => Some(b),
            _ => None,
        };
        if let Some(held) = operand.and_then(|b| self.held.borrow().get(&b).cloned()) {
            return Ok(held);
        }
        // Nothing has no address: it has that of one word.
        let bytes = if buffer.is_empty() { &[0; 8] } else { buffer.bytes() };
        self.suffices(bytes.len())?;
        let held = Arc::new(self.loaded.stream.clone_htod(bytes).map_err(failed)?);
        operand.map(|b| self.held.borrow_mut().insert(b, held.clone()));
        Ok(held)
    }

    /// Refuses what the GPU's memory does not hold, not even without the operands of calls that do not run.
    fn suffices(&self, bytes: usize) -> Result<(), Ended> {
        let fits = || -> Result<bool, Ended> {
            let (free, _) = self.loaded.stream.context().mem_get_info().map_err(failed)?;
            Ok(bytes.saturating_add(KEPT) <= free)
        };
        if fits()? {
            return Ok(());
        }
        lock(&ALL).iter().filter_map(Weak::upgrade).for_each(|kept| lock(&kept).clear());
        // What is freed is free when all that was asked of the GPU before is done.
        self.loaded.stream.synchronize().map_err(failed)?;
        if fits()? { Ok(()) } else { Err(Ended::Failed(Failure::Memory)) }
    }

    /// Launches an entry with these arguments, and waits for its end.
    #[allow(unsafe_code)]
    fn run(&self, launch: &Launch, words: &[u64]) -> Result<(), DriverError> {
        let Loaded { stream, module } = self.loaded;
        let function = module.load_function(launch.entry)?;
        let mut builder = stream.launch_builder(&function);
        words.iter().for_each(|word| {
            builder.arg(word);
        });
        builder.record_kernel_launch(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let shape =
            LaunchConfig { grid_dim: (launch.blocks, 1, 1), block_dim: (launch.threads, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments are as many, and as wide, as the entry has, in its order; addresses are of memory that is as long as
        // the buffers that the kernel was checked with, and that lives until the launch has ended, below.
        let events = unsafe { builder.launch(shape) }?;
        stream.synchronize()?;
        if let Some((begin, end)) = events {
            let milliseconds = f64::from(begin.elapsed_ms(&end)?);
            self.spent.set(self.spent.get() + Duration::from_secs_f64(milliseconds.max(0.0) / 1e3));
        }
        Ok(())
    }
}

impl Launcher for Session<'_> {
    fn launch(&self, entry: &DeviceEntry, launch: &Launch, global: &mut Global) -> Result<Counts, Ended> {
        let stream = &self.loaded.stream;
        let mut held = Vec::new();
        let mut words = launch.arguments.to_vec();
        for (argument, word) in entry.arguments.iter().zip(&mut words).filter(|(argument, _)| argument.is_address()) {
            let there = self.held(*argument, &global.buffers()[held.len()])?;
            *word = there.device_ptr(stream).0;
            held.push(there);
        }
        self.run(launch, &words).map_err(failed)?;
        for (there, buffer) in held.iter().zip(global.buffers_mut()).filter(|(_, b)| b.writable && !b.is_empty()) {
            buffer.fill(&stream.clone_dtoh(&**there).map_err(failed)?);
        }
        Ok(Counts::default())
    }

    fn copies(&self) -> u64 {
        1 << 29
    }

    fn holds(&self, operand: BufferId) -> bool {
        self.held.borrow().contains_key(&operand)
    }

    /// The time that launches took on the GPU, without transfers.
    fn did(&self, _: &Counts) -> Vec<(&'static str, u64)> {
        vec![("gpu_nanoseconds", self.spent.get().as_nanos() as u64)]
    }
}

/// What an error of the driver is to a call.
fn failed(error: DriverError) -> Ended {
    match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Ended::Failed(Failure::Memory),
        _ => Ended::Broken(format!("the GPU: {}", said(&error))),
    }
}
