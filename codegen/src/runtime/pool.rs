//! The threads that parallel loops run on, and the readers of their operands.
//!
//! A pool is made when a loop or a reader first needs it, or a loop needs a larger one, or a reader another number of threads. The caller's
//! thread runs, too. A process that was forked makes a pool of its own: of its parent's, no thread is there. A caller that is a thread of a
//! pool of rayon's uses that pool.

use crate::room::addresses_left;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, TryLockError};

/// The number of threads that was asked for; 0 if none was.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// As many threads as `FIBERLOOM_THREADS` says, else as this process may use processors.
static USUAL: LazyLock<usize> = LazyLock::new(|| {
    let said = std::env::var("FIBERLOOM_THREADS").ok().and_then(|text| text.trim().parse().ok());
    said.filter(|n| *n > 0).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
});

/// A pool of the process with this number.
struct Pool {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

/// Sets the number of threads on which parallel loops run, from the next loop on; 0 for the usual number. Results are the same bits for
/// every number.
pub fn set_threads(n: usize) {
    ASKED.store(n, Relaxed);
}

/// The number of threads on which parallel loops run: the one that was set, else what the environment variable `FIBERLOOM_THREADS` says,
/// else the number of processors that this process may use.
pub fn threads() -> usize {
    match ASKED.load(Relaxed) {
        0 => *USUAL,
        n => n,
    }
}

/// Runs `work` on a thread of the pool that parallel loops run on, so that what it does in parallel runs on that pool; on the caller's
/// thread if there is one thread only, if that is one of a pool of rayon's, or if addresses are limited, of which each thread's heap takes some.
pub fn on_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    if threads() == 1 || rayon::current_thread_index().is_some() || addresses_left().is_some() {
        return work();
    }
    match pool(threads(), threads()) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Runs `work` on the caller's thread and on up to `others` others at once.
pub(super) fn on_threads(others: usize, work: &(dyn Fn() + Sync)) {
    if others == 0 {
        return work();
    }
    if rayon::current_thread_index().is_some() {
        return rayon::scope(|scope| in_scope(scope, others, work));
    }
    match pool(others, usize::MAX) {
        Some(pool) => pool.in_place_scope(|scope| in_scope(scope, others, work)),
        None => work(),
    }
}

fn in_scope<'s>(scope: &Scope<'s>, others: usize, work: &'s (dyn Fn() + Sync)) {
    (0..others).for_each(|_| scope.spawn(|_| work()));
    work();
}

/// A pool with at least this many threads, and at most so many; `None` if there is none.
fn pool(threads: usize, most: usize) -> Option<Arc<ThreadPool>> {
    let process = std::process::id();
    // Only in a process that was forked while another thread had the lock, it stays locked.
    let mut place = (0..1 << 20).find_map(|_| match POOL.try_lock() {
        Ok(place) => Some(place),
        Err(TryLockError::Poisoned(place)) => Some(place.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::hint::spin_loop();
            None
        }
    })?;
    if let Some(pool) =
        place.as_ref().filter(|pool| pool.process == process && (threads..=most).contains(&pool.threads))
    {
        return Some(pool.pool.clone());
    }
    let named = |n| format!("fiberloom-{n}");
    let made = Arc::new(ThreadPoolBuilder::new().num_threads(threads).thread_name(named).build().ok()?);
    let before = place.replace(Pool { process, threads, pool: made.clone() });
    // The threads of a parent's pool cannot be told to end.
    if let Some(pool) = before.filter(|pool| pool.process != process) {
        std::mem::forget(pool);
    }
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiberloom_core::parallel;

    /// As many threads as were asked for; on a thread of a pool those of that pool; with one thread the caller's own.
    #[test]
    fn readers_run_on_the_threads_that_were_asked_for() {
        for (asked, expected) in [(3, 3), (2, 2), (1, 1)] {
            set_threads(asked);
            let least = if addresses_left().is_some() { 1 } else { expected };
            assert_eq!(on_pool(parallel::threads), least);
            let other = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
            assert_eq!(other.install(|| on_pool(parallel::threads)), 4);
        }
        set_threads(0);
    }
}
