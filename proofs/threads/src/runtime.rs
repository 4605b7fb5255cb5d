//! The runtime's files once more, with the locks, atomics and threads of the scheduler.

#[path = "../../../codegen/src/runtime/entries.rs"]
mod entries;
#[path = "../../../codegen/src/runtime/folds.rs"]
mod folds;
#[allow(dead_code)] // Not all of it is used here.
#[path = "../../../codegen/src/runtime/interrupt.rs"]
mod interrupt;
#[path = "../../../codegen/src/runtime/joined.rs"]
mod joined;
mod kernel;
#[path = "../../../codegen/src/runtime/math.rs"]
mod math;
#[allow(dead_code)] // Not all of it is used here.
#[path = "../../../codegen/src/runtime/memory.rs"]
mod memory;
#[path = "../../../codegen/src/runtime/parallel.rs"]
mod parallel;
#[allow(dead_code)] // Not all of it is used here.
#[path = "../../../codegen/src/runtime/session.rs"]
mod session;
#[path = "../../../codegen/src/runtime/sort.rs"]
mod sort;
#[allow(dead_code)] // Not all of it is used here.
#[path = "../../../codegen/src/runtime/watch.rs"]
mod watch;
#[path = "../../../codegen/src/runtime/weight.rs"]
mod weight;

pub use kernel::{Iteration, Kernel, Made, Map};
pub(crate) use memory::Memory;
pub use parallel::Pieces;
use session::{Block, Session, Snapshot};
pub(crate) use sync::between;

/// What `codegen/src/runtime/sync.rs` has.
mod sync {
    pub(super) use shuttle::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
    pub(super) use shuttle::sync::{Mutex, MutexGuard, RwLock};
    use std::sync::atomic::Ordering::Relaxed;

    /// Another thread may go on here.
    pub(crate) fn between() {
        // The scheduler chooses before each access to an atomic.
        AtomicUsize::new(0).load(Relaxed);
    }
}

/// What `codegen/src/runtime/pool.rs` has, without a pool: each loop makes its threads.
mod pool {
    /// The usual number of threads.
    pub(super) fn threads() -> usize {
        3
    }

    /// Runs `work` on the caller's thread and on `others` others at once.
    pub(super) fn on_threads(others: usize, work: &(dyn Fn() + Sync)) {
        shuttle::thread::scope(|scope| {
            (0..others).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}
