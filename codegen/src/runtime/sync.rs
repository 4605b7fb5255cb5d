//! What threads of a parallel loop share memory by: the system's locks and atomics. `proofs/threads` compiles the files
//! beside this one again, with those of a scheduler that chooses who goes on.

pub(super) use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
pub(super) use std::sync::{Mutex, MutexGuard, RwLock};

/// Stands between two accesses to memory where the scheduler is to try that another thread goes on. Here it does
/// nothing.
#[inline(always)]
pub(super) fn between() {}
