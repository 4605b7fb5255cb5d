//! The runtime of parallel loops (`codegen/src/runtime/`) under a scheduler: one thread of the system runs the threads
//! of a loop in turns, and who goes on is chosen at each lock, each atomic and each allocation.
//!
//! ```text
//!   codegen/src/runtime/{parallel, joined, folds, session, …}.rs
//!     ├─ runtime/sync.rs    std::sync         rayon's threads       ─▶  fiberloom-codegen
//!     └─ runtime.rs, sync   shuttle::sync     shuttle's threads     ─▶  this crate: the same files, compiled again
//! ```
//!
//! [`Kernel`] stands in the place of generated code: it describes a loop as that does, and its iterations are Rust's.
//! [`tried`] runs a test under many interleavings. The scheduler knows sequentially consistent atomics only: what
//! weaker orders allow, it does not try. Between two of the points where it chooses, a thread runs alone: two accesses
//! to memory with no such point between them are seen as one.

#[allow(dead_code)] // Not all of it is used here.
#[path = "../../../codegen/src/abi.rs"]
mod abi;
mod memory;
mod runtime;

pub use fiberloom_loops::Failure;
pub use runtime::{Iteration, Kernel, Made, Map, Pieces};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

/// The bytes of a thread's stack.
const STACK: usize = 1 << 17;

/// How many steps must come in a certain order for a mistake to show, at most, for the scheduler that goes by
/// priorities. In each run it changes them one time less.
const DEPTH: usize = 3;

/// Runs a test under so many interleavings that are drawn step by step, and as many that follow from threads'
/// priorities, which change on the way. `FIBERLOOM_TESTS=quick` tries an eighth of them, `long` twenty times as many.
/// Both begin with fixed seeds: the next run tries the same.
///
/// # Panics
/// If the test does in one of them. The scheduler prints it, to be run again by `shuttle::replay`.
pub fn tried(interleavings: usize, test: impl Fn() + Copy + Send + Sync + 'static) {
    let tried = match std::env::var("FIBERLOOM_TESTS").as_deref() {
        Ok("quick") => interleavings.div_ceil(8),
        Ok("long") => interleavings * 20,
        _ => interleavings,
    };
    let config = || {
        let mut config = Config::new();
        (config.stack_size, config.silence_warnings) = (STACK, true);
        config
    };
    Runner::new(RandomScheduler::new_from_seed(1, tried), config()).run(test);
    Runner::new(PctScheduler::new_from_seed(2, DEPTH, tried), config()).run(test);
}
