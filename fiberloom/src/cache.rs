//! Code that was made is kept, keyed by all that it was made from.
//!
//! One map for the process: from (the program as printed, engine, mode, index widths and magnitudes) to code. Looking up takes the
//! hash of the program's text, a microsecond or so. When it holds [`CAPACITY`] kernels it is emptied: whoever holds one
//! keeps it.

use crate::error::Error;
use crate::kernel::{Engine, Options};
use crate::machine::{self, Compiled, Interrupt, Take, Uploaded, gpu};
use crate::program::{Program, for_device};
use fiberloom_core::format::{Array, Holds};
use fiberloom_core::notation::typed::{TURNS, TensorId};
use fiberloom_core::stack::with_room;
use fiberloom_loops::Options as Lowering;
use fiberloom_loops::{self as loops, Bound, DeviceEntry, Failure, Gpu, Role, Sound};
use fiberloom_semantics::{machine as interpreter, ptx};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

const CAPACITY: usize = 1024;

type Key = (String, Engine, Lowering);

/// How many kernels were made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// How many kernels this process has made: those that were in no cache. A call that makes none runs code that was there.
///
/// ```
/// # use fiberloom::{Options, Program, operands};
/// let program = Program::parse("tensor x: f64[N] dense  tensor a: f64[] dense  tensor y: f64[N] dense  y[i] = a[] * x[i]")?;
/// let kernel = program.compile(&Options::default())?;
/// kernel.run(&operands! { x: &[1.0, 2.0], a: 3.0 })?;
/// let before = fiberloom::compiled();
/// kernel.run(&operands! { x: &[1.0, 2.0, 4.0], a: 5.0 })?;
/// assert_eq!(fiberloom::compiled(), before, "numbers and extents are none of a kernel");
/// # Ok::<(), fiberloom::Error>(())
/// ```
pub fn compiled() -> u64 {
    MADE.load(Ordering::Relaxed)
}

static CACHE: LazyLock<Mutex<HashMap<Key, Arc<Code>>>> = LazyLock::new(Mutex::default);

/// Loops, and the machine code that was made of them if the engine is LLVM.
pub(crate) struct Code {
    pub(crate) kernel: Sound,
    compiled: Option<Compiled>,
    /// The code of parallel loops for a GPU, if the engine is one, or the machine for it.
    device: Option<Device>,
}

/// The code of parallel loops for a GPU.
struct Device {
    module: Module,
    entries: Vec<DeviceEntry>,
}

/// What launches run on.
enum Module {
    Simulated(ptx::Module),
    Loaded(gpu::Loaded),
}

/// What is made once for all calls of code on the same operands.
pub(crate) enum Prepared<'a> {
    /// What machine code is called with.
    Machine(machine::Prepared<'a>),
    /// The operands in a GPU's memory.
    OnGpu(gpu::Operands),
    /// Nothing: for the interpreter.
    Nothing,
}

/// What was counted, if something was: names and counts.
pub(crate) type Ops = Option<Vec<(&'static str, u64)>>;

/// Why code stopped.
pub(crate) enum Stop {
    /// The kernel itself says why.
    Failure(Failure),
    /// Something else.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Error(error)
    }
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Error(error) => error,
            Stop::Failure(Failure::Memory) => {
                let what = "results and temporaries take more memory than there is, or than the limit on it allows";
                Error::Stopped(format!("{what}: a sparse format for those that have few entries takes less"))
            }
            Stop::Failure(Failure::Overflow) => {
                Error::Stopped("a product of extents or a number of elements does not fit 63 bits".to_string())
            }
            Stop::Failure(Failure::Positions) => Error::Stopped("a result has too many entries".to_string()),
            Stop::Failure(Failure::Outside) => {
                Error::Stopped("a coordinate that is read from a tensor leaves the one that it is for".to_string())
            }
            Stop::Failure(Failure::Entries) => {
                let what = "a result that has the values of an operand has not as many entries";
                Error::Defect(what.to_string())
            }
            Stop::Failure(Failure::Steps) => {
                let what = "the limit on steps is reached: the loops of one call of a function take at most";
                Error::Stopped(format!("{what} {TURNS} turns"))
            }
            Stop::Failure(Failure::Unheld) => {
                Error::Stopped("a value stands where its result's format has no place for it".to_string())
            }
            Stop::Failure(Failure::Turns) => {
                Error::Stopped(format!("the blocks of a program take at most {TURNS} turns together"))
            }
        }
    }
}

/// The code of a program for an engine other than `meaning`.
pub(crate) fn code(program: &Program, engine: Engine, lowering: &Lowering) -> Result<Arc<Code>, Error> {
    let key = (program.canonical().to_string(), engine, lowering.clone());
    if let Some(code) = cache().get(&key) {
        return Ok(code.clone());
    }
    // Others may look up while this is compiled; two that compile the same keep the later.
    let code = Arc::new(with_room(|| made(program, engine, lowering))?);
    MADE.fetch_add(1, Ordering::Relaxed);
    let mut cache = cache();
    if cache.len() >= CAPACITY {
        cache.clear();
    }
    cache.insert(key, code.clone());
    Ok(code)
}

fn made(program: &Program, engine: Engine, lowering: &Lowering) -> Result<Code, Error> {
    let kernel = program.lowered_for(lowering)?.kernel;
    let kernel = if engine.is_gpu() { for_device(&kernel)? } else { kernel };
    let compiled = match engine {
        Engine::Llvm => Some(machine::compile(&kernel)?),
        _ => None,
    };
    let device = match engine {
        Engine::Ptx => Some(simulated(&kernel)?),
        Engine::Nvptx => Some(on_gpu(&kernel)?),
        _ => None,
    };
    Ok(Code { kernel, compiled, device })
}

/// The code of parallel loops for a GPU, as LLVM prints it and the machine reads it.
fn simulated(kernel: &Sound) -> Result<Device, Error> {
    let (text, entries) = machine::device_code(kernel, Gpu::default())?;
    let module = ptx::Module::read(&text).map_err(|wrong| Error::Defect(wrong.to_string()))?;
    Ok(Device { module: Module::Simulated(module), entries })
}

/// The code of parallel loops for the GPU that is there, and on it.
fn on_gpu(kernel: &Sound) -> Result<Device, Error> {
    let (text, entries) = machine::device_code(kernel, gpu::target()?)?;
    Ok(Device { module: Module::Loaded(gpu::load(&text)?), entries })
}

/// The map; a thread that panicked while it held it has left it whole.
fn cache() -> std::sync::MutexGuard<'static, HashMap<Key, Arc<Code>>> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("kernel", &self.kernel.name).finish_non_exhaustive()
    }
}

impl Code {
    /// What is made once for all calls on these operands; `changing` says of which the values may be others at each call.
    pub(crate) fn prepare<'a>(&self, bound: &Bound<'a>, changing: &dyn Fn(TensorId) -> bool) -> Prepared<'a> {
        match (&self.compiled, &self.device) {
            (Some(compiled), _) => Prepared::Machine(machine::prepare(compiled, bound)),
            (None, Some(Device { module: Module::Loaded(loaded), .. })) => {
                Prepared::OnGpu(loaded.operands(self.uploaded(changing)))
            }
            _ => Prepared::Nothing,
        }
    }

    /// When each buffer goes to a GPU.
    fn uploaded(&self, changing: &dyn Fn(TensorId) -> bool) -> Vec<Uploaded> {
        let of_role = |role: Role| if role == Role::Operand { Uploaded::Once } else { Uploaded::EachLaunch };
        let mut when: Vec<Uploaded> = self.kernel.buffers.iter().map(|buffer| of_role(buffer.role)).collect();
        for argument in self.kernel.arguments.iter().filter(|argument| argument.operand && changing(argument.tensor)) {
            for (b, _) in argument.buffers().filter(|(_, holds)| *holds == Holds::Values) {
                when[b.0 as usize] = Uploaded::EachCall;
            }
        }
        when
    }

    /// One call, and what `results` makes of the arrays that it made. Machine code ends when `interrupt` asks it to.
    ///
    /// # Safety
    /// `bound` binds this code's kernel to tensors that are well-formed, and `prepared` was made of it.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn run<R>(
        &self,
        bound: &Bound,
        prepared: &Prepared,
        (options, interrupt): (&Options, Option<&Interrupt>),
        results: impl FnOnce(Take) -> R,
    ) -> Result<(R, Ops), Stop> {
        match (&self.compiled, prepared) {
            (Some(compiled), Prepared::Machine(prepared)) => {
                // SAFETY: the code is of a kernel that was lowered, and the operands are, by this function's contract.
                let ran = unsafe { machine::run(compiled, prepared, (options.memory, interrupt), results) };
                let ended = || Error::Stopped("the call was asked to end".to_string());
                Ok((ran.map_err(Stop::Failure)?.ok_or_else(ended)?, None))
            }
            _ => {
                let (buffers, ops) = with_room(|| self.interpret(bound, prepared, options))?;
                Ok((results(&mut loops::taken(buffers)), ops))
            }
        }
    }

    /// Whether parallel loops run on a GPU.
    fn is_on_gpu(&self) -> bool {
        self.device.as_ref().is_some_and(|device| matches!(device.module, Module::Loaded(_)))
    }

    /// What runs launches, where the engine has such.
    fn launcher<'c>(&'c self, prepared: &'c Prepared, options: &Options) -> Option<Box<dyn ptx::Launcher + 'c>> {
        let limits = ptx::Limits { steps: options.steps, ..ptx::Limits::default() };
        match (&self.device.as_ref()?.module, prepared) {
            (Module::Simulated(module), _) => Some(Box::new(ptx::Simulated::new(module, limits))),
            (Module::Loaded(loaded), Prepared::OnGpu(operands)) => Some(loaded.session(operands)),
            (Module::Loaded(_), _) => None,
        }
    }

    /// One call of the interpreter.
    fn interpret(
        &self,
        bound: &Bound,
        prepared: &Prepared,
        options: &Options,
    ) -> Result<(Vec<Option<Array<'static>>>, Ops), Stop> {
        let limits = interpreter::Limits { memory: options.memory, steps: options.steps };
        let launcher = self.launcher(prepared, options);
        let host =
            self.device.as_ref().zip(launcher.as_deref()).map(|(device, launcher)| {
                ptx::Host::new(&self.kernel, launcher, &device.entries, ptx::Shape::default())
            });
        let device = host.as_ref().map(|host| host as &dyn interpreter::Device);
        let ran = interpreter::Prepared::of(&self.kernel)
            .and_then(|code| code.run_on(device, &bound.params, &bound.arrays(), &limits));
        match ran {
            Ok(outcome) => {
                let counted = counts(&outcome.ops).into_iter().chain(host.iter().flat_map(ptx::Host::did));
                Ok((outcome.buffers, Some(counted.collect())))
            }
            Err(interpreter::Fault::Stopped(failure)) => Err(Stop::Failure(failure)),
            Err(interpreter::Fault::Device(what)) if self.is_on_gpu() => Err(Error::Device(what).into()),
            Err(interpreter::Fault::Rejected(what) | interpreter::Fault::Device(what)) => {
                Err(Error::Defect(what).into())
            }
            Err(interpreter::Fault::Broken(breach)) => Err(Error::Defect(breach.to_string()).into()),
        }
    }
}

fn counts(ops: &interpreter::Ops) -> Vec<(&'static str, u64)> {
    vec![
        ("loads", ops.loads),
        ("stores", ops.stores),
        ("arithmetic", ops.arithmetic),
        ("comparisons", ops.comparisons),
        ("branches", ops.branches),
        ("calls", ops.calls),
        ("total", ops.total()),
    ]
}
