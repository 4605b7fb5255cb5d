//! Parallel loops: pieces of the iterations, which threads take one after the other.
//!
//! ```text
//!   lo ├────┼────┼────┼────┼────┤ hi        pieces of as much work (`weight.rs`); who is done takes the next one
//! ```
//!
//! Iterations are independent, so that results do not depend on threads, nor on pieces, unless iterations fold. What is a piece depends on the
//! loop's work and data alone; of a loop that folds, one thread runs the same pieces. If several pieces fail, the first of them does: those before it
//! run to their ends.
#![allow(unsafe_code)] // Machine code runs on several threads.

use super::folds::{FoldArrays, FoldFrames, Folded, Folding, Folds};
use super::joined::{Joined, Joins};
use super::pool::{on_threads, threads};
use super::sync::{AtomicBool, AtomicI64, Mutex};
use super::watch::Times;
use super::weight::{Cuts, Weight};
use super::{Session, Snapshot};
use crate::abi::{Buffer, code};
use fiberloom_loops::Failure;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::Relaxed;

/// How parallel loops are cut into pieces. Results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pieces {
    /// By their work, on `threads()` threads; a loop of little work runs on the caller's.
    #[default]
    Usual,
    /// Each iteration is a piece, however short, as far as that makes no more than 256, on so many threads: for tests.
    Each(usize),
}

/// A function of a kernel that runs the iterations from the first up to the last.
type Turns = unsafe extern "C" fn(*mut Session, *mut Buffer, *const i64, *mut i64, i64, i64) -> i32;

/// The least work of a loop that is worth calling other threads: some 50 µs.
const LEAST: u64 = 1 << 16;

/// The work of a piece, as far as that makes no more than [`MOST`] pieces.
const PIECE: u64 = 1 << 14;

/// The most pieces of a loop.
const MOST: u64 = 256;

/// The least work for each element of arrays into which a loop's iterations fold: a piece sets and folds all of them.
const SPARSE: u64 = 8;

/// A loop, as generated code describes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// Runs some of the iterations.
    pub turns: Turns,
    /// The numbers of the buffers of which each thread has a copy.
    pub own: *const i32,
    pub owns: i64,
    pub lo: i64,
    pub hi: i64,
    /// An estimate of the statements that run.
    pub work: i64,
    /// The arrays to which iterations append.
    pub joined: *const Joined,
    pub joins: i64,
    /// The number of words of the frame, without those that describe a loop.
    pub words: i64,
    /// Whether iterations may run again after some of them ran.
    pub again: i64,
    /// Fold what a later piece has folded into what the pieces before have.
    pub fold: Option<FoldFrames>,
    pub fold_arrays: Option<FoldArrays>,
    /// The arrays into which iterations fold.
    pub folded: *const Folded,
    pub folds: i64,
    /// The arrays that say how the work is spread over the iterations.
    pub weights: *const Weight,
    pub weighs: i64,
}

/// A loop that runs.
struct Loop<'l, 'a> {
    snapshot: &'l Snapshot<'a>,
    turns: Turns,
    params: *const i64,
    frame: *mut i64,
    own: &'l [i32],
    joins: Option<&'l Joins<'l>>,
    /// The number of the frame's words.
    words: usize,
    /// What iterations fold.
    folds: Option<&'l Folds<'l>>,
    times: &'l Times,
    hi: i64,
    /// The pieces.
    cuts: Cuts<'l>,
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
                // Only threads' own frames change while threads run.
                let words = || std::slice::from_raw_parts(self.frame.cast::<MaybeUninit<i64>>(), self.words).to_vec();
                let mut folding = self.folds.map(|_| words());
                while self.folds.is_none_or(|folds| folds.begin(session)) {
                    let Some((first, past)) = self.piece() else { break };
                    let session: *mut Session = session;
                    let run = |frame| self.run_piece((session, buffers, frame), (first, past), true);
                    let code = match (&mut appending, &mut folding) {
                        (Some(appending), _) => appending.piece((first, past), session, run),
                        (None, Some(frame)) => run(frame.as_mut_ptr().cast()),
                        (None, None) => run(self.frame),
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

    /// Runs a piece, and notes what it folds; into arrays of the session, if they are apart, or into the kernel's.
    ///
    /// # Safety
    /// The frame is this thread's own, or iterations only read it; so are the session and its buffers.
    unsafe fn run_piece(
        &self,
        (session, buffers, frame): (*mut Session, *mut Buffer, *mut i64),
        (first, past): (i64, i64),
        apart: bool,
    ) -> i32 {
        // SAFETY: by this function's contract.
        let code = self.times.of(|| unsafe { (self.turns)(session, buffers, self.params, frame, first, past) });
        if let Some(folds) = self.folds.filter(|_| code == 0) {
            // SAFETY: the same; a frame has so many words.
            let left = unsafe { std::slice::from_raw_parts(frame.cast(), self.words) };
            folds.note((first, past), left, apart.then(|| unsafe { &mut *session }));
        }
        code
    }

    /// The next piece; `None` if there is none, or one before it failed.
    fn piece(&self) -> Option<(i64, i64)> {
        let mut past = self.hi;
        let took = |first: i64| {
            (first < self.hi).then(|| {
                past = self.cuts.past(first);
                past
            })
        };
        let first = self.next.fetch_update(Relaxed, Relaxed, took).ok()?;
        (first <= self.first_failed().0).then_some((first, past))
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
    let described = *unsafe { &*of };
    let Counted { turns, lo, hi, .. } = described;
    let n = hi.saturating_sub(lo);
    // A product of extents that does not fit is a large one.
    let work = described.work as u64;
    // SAFETY: generated code passes on the session that it was given; arrays have the lengths beside them.
    let (how, own, joined, arrays, weights) = unsafe {
        let joined = std::slice::from_raw_parts(described.joined, described.joins as usize);
        let weights = std::slice::from_raw_parts(described.weights, described.weighs as usize);
        let arrays = std::slice::from_raw_parts(described.folded, described.folds as usize);
        ((*rt).pieces(), numbers(described.own, described.owns), joined, arrays, weights)
    };
    let folding = Folding { frames: described.fold, arrays, fold_arrays: described.fold_arrays, buffers };
    let (threads, pieces) = match how {
        Pieces::Usual => (threads(), pieces(work, folding.elements())),
        Pieces::Each(threads) => (threads, MOST),
    };
    let weights = if how == Pieces::Usual { weights } else { &[] };
    let pieces = pieces.min(n.max(0) as u64) as i64;
    let times = Times::begin();
    if pieces < 2 || threads < 2 && !folding.is_some() {
        // SAFETY: generated code passes on what it was given.
        let failed = times.of(|| unsafe { turns(rt, buffers, params, frame, lo, hi) });
        times.end(n, 1);
        return failed;
    }
    // SAFETY: the kernel waits.
    let snapshot = unsafe { (*rt).snapshot() };
    let of = Loop {
        snapshot: &snapshot,
        turns,
        params,
        frame,
        own,
        joins: None,
        words: described.words as usize,
        folds: None,
        times: &times,
        hi,
        cuts: Cuts::new((weights, buffers), (lo, hi), pieces),
        next: AtomicI64::new(lo),
        failed: Mutex::new((i64::MAX, 0)),
    };
    let threads = threads.clamp(1, pieces as usize);
    let failed = Call { rt: rt.cast(), buffers, described, joined, folding, of }.run(threads);
    times.end(n, threads);
    failed
}

/// The number of pieces of a loop with this much work, whose iterations fold into arrays with so many elements.
fn pieces(work: u64, elements: u64) -> u64 {
    let all = (work / PIECE).clamp(2, MOST);
    match work / SPARSE.saturating_mul(elements).max(1) {
        _ if work < LEAST => 1,
        _ if elements == 0 => all,
        0 => 1,
        times => all.min(times / 2).max(2),
    }
}

/// A loop, and the kernel that waits for it.
struct Call<'l, 'a> {
    rt: *mut Session<'static>,
    buffers: *mut Buffer,
    described: Counted,
    joined: &'l [Joined],
    folding: Folding<'l>,
    /// The loop without what threads share, of which nothing ran.
    of: Loop<'l, 'a>,
}

impl Call<'_, '_> {
    /// Runs the loop; on one thread, if memory suffices for no more.
    fn run(&self, threads: usize) -> i32 {
        if threads < 2 && self.folding.arrays.is_empty() {
            return self.in_order();
        }
        let Counted { lo, again, .. } = self.described;
        // SAFETY: generated code has set the frame's counters, and waits.
        let joins = (!self.joined.is_empty()).then(|| unsafe {
            let words = std::slice::from_raw_parts(self.of.frame.cast(), self.of.words);
            Joins::of((self.joined, words), self.of.cuts, self.rt)
        });
        let folds = self.folding.is_some().then(|| Folds::of(self.folding, lo));
        let of = self.again(joins.as_ref(), folds.as_ref());
        let begun = AtomicBool::new(false);
        on_threads(threads - 1, &|| {
            begun.fetch_or(of.run(), Relaxed);
        });
        if !self.folding.arrays.is_empty() {
            self.rest(&of);
            begun.store(true, Relaxed);
        }
        let failed = of.first_failed().1;
        let (failed, counted) = match joins.as_ref().map_or(Ok(vec![]), |joins| joins.end(failed)) {
            Ok(counted) => (failed, counted),
            Err(failure) => (code(failure), vec![]),
        };
        // One thread needs less memory; without memory for copies no thread has begun. Elements that are folded stay so.
        let short = failed == code(Failure::Memory) && again != 0 && self.folding.arrays.is_empty();
        // SAFETY: threads are done.
        let undone = short && joins.is_none_or(|joins| unsafe { joins.undo(self.of.snapshot) }.is_ok());
        if undone || !begun.into_inner() {
            return self.in_order();
        }
        match failed {
            0 => self.leave(folds, counted),
            // SAFETY: nothing runs.
            _ => folds.into_iter().for_each(|folds| folds.give_up(unsafe { &*self.rt })),
        }
        failed
    }

    /// Runs the pieces for whose arrays memory did not suffice: they fold into the kernel's own.
    fn rest(&self, of: &Loop) {
        // SAFETY: nothing runs.
        let mut frame = unsafe { std::slice::from_raw_parts(of.frame.cast::<MaybeUninit<i64>>(), of.words) }.to_vec();
        while let Some(piece) = of.piece() {
            let frame = frame.as_mut_ptr().cast();
            // SAFETY: the kernel waits, and nothing else runs.
            match unsafe { of.run_piece((self.rt.cast(), self.buffers, frame), piece, false) } {
                0 => {}
                failed => of.note(piece.0, failed),
            }
        }
    }

    /// Runs all pieces on the caller's thread, one after the other.
    fn in_order(&self) -> i32 {
        let folds = self.folding.is_some().then(|| Folds::of(self.folding, self.described.lo));
        let of = self.again(None, folds.as_ref());
        while let Some(piece) = of.piece() {
            // SAFETY: the kernel waits, and nothing else runs.
            let failed = unsafe { of.run_piece((self.rt.cast(), self.buffers, of.frame), piece, false) };
            if failed != 0 {
                return failed;
            }
        }
        let counters = Joins::counters(self.joined).into_iter();
        // SAFETY: generated code has set the frame's counters.
        let counted = counters.map(|word| (word, unsafe { of.frame.add(word).read() })).collect();
        self.leave(folds, counted);
        0
    }

    /// The loop, of which nothing ran, with what threads share.
    fn again<'s>(&'s self, joins: Option<&'s Joins<'s>>, folds: Option<&'s Folds<'s>>) -> Loop<'s, 's> {
        let (next, failed) = (AtomicI64::new(self.described.lo), Mutex::new((i64::MAX, 0)));
        Loop { joins, folds, next, failed, ..self.of }
    }

    /// Leaves in the kernel's frame what pieces have folded and counted.
    fn leave(&self, folds: Option<Folds>, counted: Vec<(usize, i64)>) {
        let frame = self.of.frame;
        // SAFETY: these are words of the frame, and nothing runs.
        unsafe {
            if let Some(whole) = folds.and_then(Folds::end) {
                frame.cast::<MaybeUninit<i64>>().copy_from_nonoverlapping(whole.as_ptr(), whole.len());
            }
            counted.into_iter().for_each(|(word, value)| frame.add(word).write(value));
        }
    }
}

/// The numbers of buffers, of which there are `count`.
///
/// # Safety
/// There are so many.
unsafe fn numbers<'l>(at: *const i32, count: i64) -> &'l [i32] {
    // SAFETY: by this function's contract.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at, count as usize) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short loop is one piece, whatever it folds into; arrays allow for fewer pieces, and none where they are as long as the loop.
    #[test]
    fn pieces_follow_from_work_and_from_what_each_of_them_costs() {
        assert_eq!([0, 1000, LEAST - 1].map(|work| [0, 5].map(|elements| pieces(work, elements))), [[1, 1]; 3]);
        assert_eq!([LEAST, 10 * PIECE, 1 << 40].map(|work| pieces(work, 0)), [4, 10, MOST]);
        assert_eq!(
            [1, 1000, 10_000, 100_000, 1_000_000].map(|elements| pieces(1_000_000, elements)),
            [61, 61, 6, 2, 1]
        );
    }
}
