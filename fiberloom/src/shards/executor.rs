//! What runs boxes.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs tasks that do not depend on one another.
pub trait Executor {
    /// Calls `task` with each number below `count` once, in any order, at once or one after the other, and returns when all calls have.
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync));
}

/// One box after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Executor for Serial {
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        (0..count).for_each(task);
    }
}

/// So many threads, each of which takes the next box when it is done with one.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub NonZeroUsize);

impl Threads {
    /// As many as the machine has for this process; one if that is not known.
    pub fn all() -> Threads {
        Threads(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }
}

impl Executor for Threads {
    fn each(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= count {
                    return;
                }
                task(n);
            }
        };
        std::thread::scope(|scope| {
            // This thread works too.
            (1..self.0.get().min(count)).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}
