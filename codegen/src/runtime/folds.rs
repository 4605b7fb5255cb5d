//! What pieces of a parallel loop's iterations have folded, in the order of iterations, whichever thread ran them.
//!
//! ```text
//!   pieces     0    1    2    3          3 and 1 may be done first: they wait
//!   so far    [0][0+1][0+1+2] …          a piece is folded as soon as those before it are
//! ```
//!
//! Variables are folded in a frame, elements of arrays in the kernel's arrays. A thread folds elements into arrays of its own; a piece that
//! waits takes them with it.
#![allow(unsafe_code)] // Frames and arrays of machine code.

use super::sync::Mutex;
use super::{Block, Session};
use crate::abi::Buffer;
use fiberloom_loops::BufferId;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::PoisonError;

/// Folds what a later piece has left in its frame into the frame of the pieces before.
pub(super) type FoldFrames = unsafe extern "C" fn(*mut i64, *const i64);

/// Folds elements of arrays into those of another table of buffers.
pub(super) type FoldArrays = unsafe extern "C" fn(*mut Buffer, *const Buffer);

/// The words of a frame.
pub(super) type Frame = Vec<MaybeUninit<i64>>;

/// An array into whose elements iterations fold, as generated code describes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Folded {
    /// The number of the buffer.
    pub buffer: i64,
    /// The size of an element.
    pub bytes: i64,
    /// The bits with which elements begin.
    pub begins: u64,
}

/// How the pieces of a loop are folded.
#[derive(Clone, Copy)]
pub(super) struct Folding<'l> {
    pub frames: Option<FoldFrames>,
    /// The arrays, how they are folded, and the kernel's buffers.
    pub arrays: &'l [Folded],
    pub fold_arrays: Option<FoldArrays>,
    pub buffers: *mut Buffer,
}

/// What the pieces of a loop have folded.
pub(super) struct Folds<'l> {
    of: Folding<'l>,
    so_far: Mutex<SoFar>,
}

// SAFETY: the kernel's buffers are used under a lock.
unsafe impl Sync for Folds<'_> {}

struct SoFar {
    /// The first iteration that is not folded.
    next: i64,
    /// A frame with what the iterations before it have folded.
    whole: Option<Frame>,
    /// The pieces that ran behind it, by their first iterations.
    waiting: BTreeMap<i64, Waiting>,
}

/// A piece that ran: where it ends, its frame, and a block for each array.
struct Waiting {
    past: i64,
    frame: Frame,
    blocks: Vec<Option<Block>>,
}

impl Folding<'_> {
    /// Whether there is anything to fold.
    pub fn is_some(&self) -> bool {
        self.frames.is_some() || !self.arrays.is_empty()
    }

    /// The number of elements of all arrays.
    pub fn elements(&self) -> u64 {
        // SAFETY: these are the kernel's buffers, which waits.
        self.arrays.iter().map(|a| unsafe { (*self.buffers.add(a.buffer as usize)).capacity as u64 }).sum()
    }
}

impl<'l> Folds<'l> {
    /// Those of a loop whose first iteration is `lo`.
    pub fn of(of: Folding<'l>, lo: i64) -> Folds<'l> {
        Folds { of, so_far: Mutex::new(SoFar { next: lo, whole: None, waiting: BTreeMap::new() }) }
    }

    /// Gives a thread arrays of its own for its next piece, in which nothing is folded. Whether memory suffices.
    pub fn begin(&self, session: &mut Session) -> bool {
        self.of.arrays.iter().all(|a| {
            // SAFETY: a buffer of the kernel's, whose capacity stays while the loop runs.
            let room = unsafe { (*self.of.buffers.add(a.buffer as usize)).capacity };
            session.make(BufferId(a.buffer as u32), room, a.bytes as usize, Some(a.begins)).is_ok()
        })
    }

    /// Notes a piece that ran, with its frame. Its arrays are those of `session`; without one, it has folded into the kernel's.
    pub fn note(&self, (first, past): (i64, i64), frame: &[MaybeUninit<i64>], session: Option<&mut Session>) {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = session.filter(|_| !self.of.arrays.is_empty()) else {
            so_far.waiting.insert(first, Waiting { past, frame: frame.to_vec(), blocks: vec![] });
            return self.advance(&mut so_far, None);
        };
        if first == so_far.next {
            self.fold_arrays(session.buffers());
            self.fold_frame(&mut so_far, frame.to_vec());
            so_far.next = past;
        } else {
            let blocks = self.of.arrays.iter().map(|a| session.give_up(BufferId(a.buffer as u32))).collect();
            so_far.waiting.insert(first, Waiting { past, frame: frame.to_vec(), blocks });
        }
        self.advance(&mut so_far, Some(session));
    }

    /// Folds the pieces that wait for no other. Their arrays are freed.
    fn advance(&self, so_far: &mut SoFar, session: Option<&mut Session>) {
        while let Some(Waiting { past, frame, blocks }) = so_far.waiting.remove(&so_far.next) {
            if let Some(session) = &session {
                // SAFETY: the table has as many buffers as the kernel, and is this thread's.
                let mut table = unsafe { session.table() }.to_vec();
                for (a, block) in self.of.arrays.iter().zip(&blocks) {
                    table[a.buffer as usize].data = block.map_or(std::ptr::null_mut(), |block| block.start().as_ptr());
                }
                self.fold_arrays(table.as_ptr());
                blocks.into_iter().flatten().for_each(|block| session.free(block));
            }
            self.fold_frame(so_far, frame);
            so_far.next = past;
        }
    }

    fn fold_arrays(&self, later: *const Buffer) {
        if let Some(fold) = self.of.fold_arrays {
            // SAFETY: both tables have arrays with as many elements; the lock is held, and the kernel waits.
            unsafe { fold(self.of.buffers, later) }
        }
    }

    fn fold_frame(&self, so_far: &mut SoFar, later: Frame) {
        match (&mut so_far.whole, self.of.frames) {
            (whole @ None, _) => *whole = Some(later),
            // SAFETY: both are frames of the kernel, in which iterations have set what they fold.
            (Some(whole), Some(fold)) => unsafe { fold(whole.as_mut_ptr().cast(), later.as_ptr().cast()) },
            (Some(_), None) => {}
        }
    }

    /// Frees the arrays of pieces that wait for one that failed.
    pub fn give_up(self, session: &Session) {
        let so_far = self.so_far.into_inner().unwrap_or_else(PoisonError::into_inner);
        let blocks = so_far.waiting.into_values().flat_map(|piece| piece.blocks);
        blocks.flatten().for_each(|block| session.free(block));
    }

    /// A frame with what all pieces have folded; `None` if none ran.
    pub fn end(self) -> Option<Frame> {
        self.so_far.into_inner().unwrap_or_else(PoisonError::into_inner).whole
    }
}
