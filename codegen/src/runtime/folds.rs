//! What pieces of a parallel loop's iterations have folded, in the order of iterations, whichever thread ran them.
//!
//! ```text
//!   pieces     0    1    2    3          3 and 1 may be done first: they wait
//!   so far    [0][0+1][0+1+2] …          a piece is folded as soon as those before it are
//! ```
#![allow(unsafe_code)] // Frames of machine code.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// A function of a kernel that folds what a later piece has left in its frame into the frame of the pieces before.
pub(super) type Fold = unsafe extern "C" fn(*mut i64, *const i64);

/// The words of a frame.
pub(super) type Frame = Vec<MaybeUninit<i64>>;

/// What the pieces of a loop have folded.
pub(super) struct Folds {
    fold: Fold,
    so_far: Mutex<SoFar>,
}

struct SoFar {
    /// The first iteration that is not folded.
    next: i64,
    /// A frame with what the iterations before it have folded.
    whole: Option<Frame>,
    /// The pieces that ran behind it: by their first iterations, where they end, and their frames.
    waiting: BTreeMap<i64, (i64, Frame)>,
}

impl Folds {
    /// Those of a loop whose first iteration is `lo`.
    pub fn of(fold: Fold, lo: i64) -> Folds {
        Folds { fold, so_far: Mutex::new(SoFar { next: lo, whole: None, waiting: BTreeMap::new() }) }
    }

    /// Notes the frame of a piece that ran.
    pub fn note(&self, (first, past): (i64, i64), frame: &[MaybeUninit<i64>]) {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.waiting.insert(first, (past, frame.to_vec()));
        let mut next = so_far.next;
        while let Some((past, later)) = so_far.waiting.remove(&next) {
            match &mut so_far.whole {
                None => so_far.whole = Some(later),
                // SAFETY: both are frames of the kernel, in which iterations have set what they fold.
                Some(whole) => unsafe { (self.fold)(whole.as_mut_ptr().cast(), later.as_ptr().cast()) },
            }
            next = past;
        }
        so_far.next = next;
    }

    /// A frame with what all pieces have folded; `None` if none ran.
    pub fn end(self) -> Option<Frame> {
        self.so_far.into_inner().unwrap_or_else(PoisonError::into_inner).whole
    }
}
