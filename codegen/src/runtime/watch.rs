//! What parallel loops did: how many pieces ran, and how much of a processor's time each took.
#![allow(unsafe_code)] // The system's clock of a thread.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A parallel loop that ran.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRun {
    /// The number of iterations.
    pub iterations: i64,
    /// The number of threads that took pieces, at most.
    pub threads: usize,
    /// The processor time of each piece, in the order in which they ended. A loop that is short runs as one.
    pub pieces: Vec<Duration>,
}

impl LoopRun {
    /// The part of all time that the longest piece took: 1 if there is one.
    pub fn largest_share(&self) -> f64 {
        let longest = self.pieces.iter().max().map_or(0.0, Duration::as_secs_f64);
        let all: f64 = self.pieces.iter().map(Duration::as_secs_f64).sum();
        if all > 0.0 { longest / all } else { 1.0 }
    }

    /// How much faster than one this many workers would be, each of which takes the next piece when it is done with one, if pieces took as
    /// long as they did. What threads share, memory above all, is not told.
    pub fn gain(&self, workers: usize) -> f64 {
        let mut free = vec![0.0_f64; workers.max(1)];
        let all: f64 = self.pieces.iter().map(Duration::as_secs_f64).sum();
        for piece in &self.pieces {
            if let Some(first) = free.iter_mut().min_by(|a, b| a.total_cmp(b)) {
                *first += piece.as_secs_f64();
            }
        }
        let last = free.into_iter().fold(0.0, f64::max);
        if last > 0.0 { all / last } else { 1.0 }
    }
}

thread_local! {
    /// The loops that this thread's kernels ran since it began to watch, if it does.
    static SEEN: RefCell<Option<Vec<LoopRun>>> = const { RefCell::new(None) };
}

/// Calls kernels, and says which parallel loops they ran, in order.
pub fn watched<R>(call: impl FnOnce() -> R) -> (R, Vec<LoopRun>) {
    let before = SEEN.replace(Some(vec![]));
    let made = call();
    (made, SEEN.replace(before).unwrap_or_default())
}

/// The times of a loop's pieces, while somebody watches.
pub(super) struct Times(Option<Mutex<Vec<Duration>>>);

impl Times {
    /// Those of a loop that begins on this thread.
    pub fn begin() -> Times {
        Times(SEEN.with_borrow(Option::is_some).then(Mutex::default))
    }

    /// Runs a piece.
    pub fn of<R>(&self, piece: impl FnOnce() -> R) -> R {
        let Some(times) = &self.0 else { return piece() };
        let since = processor_time();
        let made = piece();
        times.lock().unwrap_or_else(PoisonError::into_inner).push(processor_time().saturating_sub(since));
        made
    }

    /// Notes that the loop ran.
    pub fn end(self, iterations: i64, threads: usize) {
        let Some(times) = self.0 else { return };
        let pieces = times.into_inner().unwrap_or_else(PoisonError::into_inner);
        SEEN.with_borrow_mut(|seen| {
            if let Some(all) = seen {
                all.push(LoopRun { iterations, threads, pieces });
            }
        });
    }
}

/// How long this thread has run.
fn processor_time() -> Duration {
    let mut now = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the clock is every thread's, and sets what it is given, or fails.
    let set = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, now.as_mut_ptr()) } == 0;
    // SAFETY: the same.
    let now = set.then(|| unsafe { now.assume_init() });
    now.map_or(Duration::ZERO, |now| Duration::new(now.tv_sec as u64, now.tv_nsec as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_take_the_next_piece_when_they_are_done() {
        let of = |pieces: &[u64]| LoopRun {
            iterations: 9,
            threads: 1,
            pieces: pieces.iter().map(|n| Duration::from_secs(*n)).collect(),
        };
        assert_eq!(of(&[1, 1, 1, 1]).gain(2), 2.0);
        assert_eq!(of(&[3, 1, 1, 1]).gain(2), 2.0);
        assert_eq!(of(&[1, 1, 1, 3]).gain(2), 1.5);
        assert_eq!(of(&[2, 2, 2]).gain(64), 3.0);
        assert_eq!(of(&[]).gain(64), 1.0);
        assert_eq!((of(&[1, 3]).largest_share(), of(&[5]).largest_share()), (0.75, 1.0));
    }
}
