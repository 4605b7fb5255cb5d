//! Parallel loops: pieces of the iterations, which threads take one after the other.
//!
//! ```text
//!   lo ├────┼────┼────┼────┼────┤ hi        pieces of equal numbers of iterations; who is done takes the next one
//! ```
//!
//! Iterations are independent, so that results do not depend on pieces or threads. If several pieces fail, the first of them does: those
//! before it run to their ends.
#![allow(unsafe_code)] // Machine code runs on several threads.

use super::joined::{Joined, Joins};
use super::pool::{on_threads, threads};
use super::{Session, Snapshot};
use crate::Pieces;
use crate::abi::{Buffer, code};
use fiberloom_core::loops::Failure;
use std::mem::MaybeUninit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

/// A function of a kernel that runs the iterations from the first up to the last.
type Turns = unsafe extern "C" fn(*mut Session, *mut Buffer, *const i64, *mut i64, i64, i64) -> i32;

/// The least work of a loop that is worth calling other threads: some 50 µs.
const LEAST: u64 = 1 << 16;

/// The work of a piece, as far as that makes no more than [`MOST`] pieces.
const PIECE: u64 = 1 << 14;

/// The most pieces of a loop.
const MOST: u64 = 256;

/// A loop, as generated code describes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// Runs some of the iterations.
    turns: Turns,
    /// The numbers of the buffers of which each thread has a copy.
    own: *const i32,
    owns: i64,
    lo: i64,
    hi: i64,
    /// An estimate of the statements that run.
    work: i64,
    /// The arrays to which iterations append.
    joined: *const Joined,
    joins: i64,
    /// The number of words of the frame, without those that describe a loop.
    words: i64,
    /// Whether iterations may run again after some of them ran.
    again: i64,
}

/// A loop that runs.
struct Loop<'l, 'a> {
    snapshot: &'l Snapshot<'a>,
    turns: Turns,
    params: *const i64,
    frame: *mut i64,
    own: &'l [i32],
    joins: Option<&'l Joins<'l>>,
    hi: i64,
    /// The iterations of a piece.
    step: i64,
    /// The first iteration of the next piece.
    next: AtomicI64,
    /// The first piece that failed, by its first iteration, with its code.
    failed: Mutex<(i64, i32)>,
}

// SAFETY: threads only read what is here, but for atomics and the mutex; params and the frame stay as they are while the loop runs.
unsafe impl Sync for Loop<'_, '_> {}

impl Loop<'_, '_> {
    /// Takes pieces until there are none; whether memory sufficed to begin.
    fn run(&self) -> bool {
        let fresh = self.joins.map(Joins::fresh).unwrap_or_default();
        // SAFETY: iterations are independent, as `loops::check` and the rewrite that makes parallel loops promise; the kernel waits.
        let ran = unsafe {
            self.snapshot.session((self.own, &fresh), |session, buffers| {
                let mut appending = self.joins.map(Joins::begin);
                while let Some((first, past)) = self.piece() {
                    let session: *mut Session = session;
                    let run = |frame| (self.turns)(session, buffers, self.params, frame, first, past);
                    let code = match &mut appending {
                        Some(appending) => appending.piece((first, past), session, run),
                        None => run(self.frame),
                    };
                    if code != 0 {
                        self.note(first, code);
                    }
                }
                if let Some(appending) = appending {
                    appending.end(session);
                }
            })
        };
        ran.is_some()
    }

    /// The next piece; `None` if there is none, or one before it failed.
    fn piece(&self) -> Option<(i64, i64)> {
        let took = |first: i64| (first < self.hi).then(|| first.saturating_add(self.step));
        let first = self.next.fetch_update(Relaxed, Relaxed, took).ok()?;
        (first <= self.first_failed().0).then(|| (first, first.saturating_add(self.step).min(self.hi)))
    }

    fn note(&self, first: i64, code: i32) {
        let mut failed = self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if first < failed.0 {
            *failed = (first, code);
        }
    }

    fn first_failed(&self) -> (i64, i32) {
        *self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Runs a loop whose iterations are independent; see `abi::Slot`.
pub(super) unsafe extern "C" fn parallel(
    rt: *mut Session,
    buffers: *mut Buffer,
    params: *const i64,
    frame: *mut i64,
    of: *const Counted,
) -> i32 {
    // SAFETY: generated code describes the loop, and waits.
    let Counted { turns, own, owns, lo, hi, work, joined, joins, words, again } = *unsafe { &*of };
    // SAFETY: generated code gives a function of its own, and what that asks for.
    let serially = move || unsafe { turns(rt, buffers, params, frame, lo, hi) };
    let n = hi.saturating_sub(lo);
    // A product of extents that does not fit is a large one.
    let work = work as u64;
    // SAFETY: generated code passes on the session that it was given.
    let (threads, least, piece) = match unsafe { (*rt).pieces() } {
        Pieces::Usual => (threads(), LEAST, PIECE),
        Pieces::Each(threads) => (threads, 0, 0),
    };
    if work < least || n < 2 || threads < 2 {
        return serially();
    }
    let pieces = work.checked_div(piece).unwrap_or(MOST).clamp(2, MOST).min(n as u64) as i64;
    // SAFETY: generated code passes on the session that it was given; `own` has so many numbers.
    let (snapshot, own, joins) = unsafe {
        let own = if owns == 0 { &[][..] } else { std::slice::from_raw_parts(own, owns as usize) };
        let arrays = std::slice::from_raw_parts(joined, joins as usize);
        let words = std::slice::from_raw_parts(frame.cast::<MaybeUninit<i64>>(), words as usize);
        ((*rt).snapshot(), own, (!arrays.is_empty()).then(|| Joins::of((arrays, words), (lo, hi), rt)))
    };
    let of = Loop {
        snapshot: &snapshot,
        turns,
        params,
        frame,
        own,
        joins: joins.as_ref(),
        hi,
        step: n / pieces + i64::from(n % pieces != 0),
        next: AtomicI64::new(lo),
        failed: Mutex::new((i64::MAX, 0)),
    };
    let others = threads.clamp(1, pieces as usize) - 1;
    let begun = AtomicBool::new(false);
    on_threads(others, &|| {
        begun.fetch_or(of.run(), Relaxed);
    });
    let failed = of.first_failed().1;
    let Some(joins) = joins else {
        // Without memory for copies no thread has begun.
        return if begun.load(Relaxed) { failed } else { serially() };
    };
    let failed = match joins.end(failed) {
        Ok(counted) if failed == 0 => {
            // SAFETY: these are words of the frame, which generated code passes on.
            counted.into_iter().for_each(|(word, value)| unsafe { frame.add(word).write(value) });
            0
        }
        Ok(_) => failed,
        Err(failure) => code(failure),
    };
    // One thread needs less memory.
    let short = failed == code(Failure::Memory) && again != 0;
    // SAFETY: threads are done.
    if !begun.load(Relaxed) || short && unsafe { joins.undo(&snapshot) }.is_ok() { serially() } else { failed }
}
