//! Machine code, as the rest of this crate asks for it: by `fiberloom-codegen`, or refused in a build without LLVM.
#[cfg(feature = "cuda")]
pub(crate) mod gpu;
#[cfg(not(feature = "cuda"))]
#[path = "machine/no_gpu.rs"]
pub(crate) mod gpu;
#[cfg(not(feature = "llvm"))]
#[path = "machine/absent.rs"]
mod made;
#[cfg(feature = "llvm")]
#[path = "machine/llvm.rs"]
mod made;

pub(crate) use made::{
    Compiled, Prepared, Take, assembly, compile, device_code, device_files, is_there, llvm_ir, object, on_pool,
    prepare, ptx, room, run,
};

/// Rows, or bytes, of which so many are worth several threads.
const LONG: u64 = 1 << 16;

/// Does the work on the threads that loops run on, if it is about so much.
pub(crate) fn on_pool_for<R: Send>(much: u64, work: impl FnOnce() -> R + Send) -> R {
    if much < LONG { work() } else { on_pool(work) }
}

/// When a buffer's elements go to a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Uploaded {
    /// With each launch: launches and the host write it.
    EachLaunch,
    /// With the first launch of a call that reads it: an operand whose values may be others at the next call.
    EachCall,
    /// Once for all calls on the same operands.
    Once,
}

pub use made::{Interrupt, LoopRun, addresses_left, set_threads, threads, watched};
