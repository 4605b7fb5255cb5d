//! Arrays to which the iterations of a parallel loop append: each thread appends to arrays of its own, and its parts are moved to their
//! places.
//!
//! ```text
//!   pieces of iterations    0     1   2        3
//!   thread A               [a a a]   [c c c c]               moved once it is known how much the pieces before append;
//!   thread B               [b b]     [d d d]                 then the thread's arrays are empty again, and in its cache
//!   moved                  [a a a|b b|c c c c|d d d]         in the order of iterations
//! ```
//!
//! An element that holds a counter's value is shifted by as much as the counter's part. Where the loop's variable says in which place such
//! an element stands, it stands there already, and is shifted in its place.
#![allow(unsafe_code)] // Raw blocks of several threads.

use super::sync::{Mutex, MutexGuard, RwLock, between};
use super::weight::Cuts;
use super::{Block, Session, Snapshot};
use crate::abi::{Buffer, code};
use fiberloom_loops::{BufferId, Failure};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::PoisonError;

/// An array to which iterations append, as generated code describes it: from element `plus + times * n` on.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Joined {
    /// The number of the buffer.
    pub buffer: i64,
    /// The size of an element.
    pub bytes: i64,
    /// The word of the frame that is `n`; −1: the loop's variable is.
    pub counter: i64,
    pub times: i64,
    pub plus: i64,
    /// The word of the frame whose values the elements are, or −1.
    pub holds: i64,
}

/// What the threads of a loop append to.
pub(super) struct Joins<'l> {
    arrays: &'l [Joined],
    /// The frame's words, and those of them that count.
    frame: &'l [MaybeUninit<i64>],
    counters: Vec<usize>,
    /// The pieces of the iterations.
    cuts: Cuts<'l>,
    known: Mutex<Known>,
    /// The arrays' owner. Who moves parts to them reads; who makes room in them writes.
    owner: RwLock<Owner>,
    /// What threads have left.
    left: Mutex<Vec<Left>>,
}

/// The session of the kernel's own thread, which waits.
struct Owner(*mut Session<'static>);

// SAFETY: it is used under a lock.
unsafe impl Send for Owner {}
// SAFETY: the same.
unsafe impl Sync for Owner {}

/// How far it is known where parts begin.
struct Known {
    /// The first iteration of which that is not known, and the counters' values there.
    next: i64,
    now: Vec<i64>,
    /// The pieces that ran behind it: by their first iterations, where they end, and by how much counters grew.
    ran: BTreeMap<i64, (i64, Vec<i64>)>,
    /// The counters' values at the pieces before it that are not moved yet.
    begins: BTreeMap<i64, Vec<i64>>,
}

/// A piece of the iterations, with the counters' values before and behind it.
struct Piece {
    first: i64,
    past: i64,
    before: Vec<i64>,
    behind: Vec<i64>,
}

/// What a thread has not moved: pieces, and a block for each array.
struct Left {
    pieces: Vec<Piece>,
    blocks: Vec<Option<Block>>,
}

/// A thread's frame, and its pieces that are not moved.
pub(super) struct Appending<'l> {
    joins: &'l Joins<'l>,
    frame: Vec<MaybeUninit<i64>>,
    pieces: Vec<Piece>,
}

impl<'l> Joins<'l> {
    /// Those of a loop with these pieces that appends to these arrays, with this frame.
    ///
    /// # Safety
    /// The kernel has set the frame's counters. The session stays where it is, and nobody else uses its arrays meanwhile.
    pub unsafe fn of(
        (arrays, frame): (&'l [Joined], &'l [MaybeUninit<i64>]),
        cuts: Cuts<'l>,
        owner: *mut Session,
    ) -> Joins<'l> {
        let counters = Joins::counters(arrays);
        // SAFETY: by this function's contract.
        let now = counters.iter().map(|word| unsafe { frame[*word].assume_init() }).collect();
        let known = Mutex::new(Known { next: cuts.first(), now, ran: BTreeMap::new(), begins: BTreeMap::new() });
        let owner = RwLock::new(Owner(owner.cast()));
        Joins { arrays, frame, counters, cuts, known, owner, left: Mutex::default() }
    }

    /// The words of a frame that count what is appended to these arrays.
    pub fn counters(arrays: &[Joined]) -> Vec<usize> {
        let words = arrays.iter().flat_map(|j| [j.counter, j.holds]);
        let mut counters: Vec<usize> = words.filter_map(|word| usize::try_from(word).ok()).collect();
        counters.sort_unstable();
        counters.dedup();
        counters
    }

    /// The numbers of the buffers of which each thread needs one of its own.
    pub fn fresh(&self) -> Vec<i32> {
        self.appended().map(|j| j.buffer as i32).collect()
    }

    /// The arrays of which the loop's variable does not say where a part begins.
    fn appended(&self) -> impl Iterator<Item = &'l Joined> {
        self.arrays.iter().filter(|j| j.counter >= 0)
    }

    /// Begins a thread's work.
    pub fn begin(&'l self) -> Appending<'l> {
        let mut begun = Appending { joins: self, frame: self.frame.to_vec(), pieces: vec![] };
        begun.restart();
        begun
    }

    /// Moves what threads have left, frees it, and gives the counters' values; if the loop failed, it only frees.
    pub fn end(&self, failed: i32) -> Result<Vec<(usize, i64)>, Failure> {
        let all = self.left.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect::<Vec<_>>();
        let moved = all.iter().filter(|_| failed == 0).try_for_each(|Left { pieces, blocks }| {
            let start = |n: usize| blocks[n].map(|block| block.start().as_ptr());
            let mut begins = self.known().begins.clone();
            pieces.iter().try_for_each(|piece| match begins.remove(&piece.first) {
                Some(begin) => self.move_part(piece, &begin, &start),
                None => Ok(()),
            })
        });
        let owner = self.owner.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: threads are done.
        all.into_iter().flat_map(|left| left.blocks).flatten().for_each(|block| unsafe { (*owner.0).free(block) });
        moved.map(|()| self.counters.iter().copied().zip(self.known().now.clone()).collect())
    }

    /// Takes back the room that was made for parts.
    ///
    /// # Safety
    /// Threads are done.
    pub unsafe fn undo(&self, from: &Snapshot) -> Result<(), Failure> {
        let owner = self.owner.write().unwrap_or_else(PoisonError::into_inner);
        let session = owner.0;
        // SAFETY: by this function's contract.
        self.appended().try_for_each(|j| unsafe { (*session).restore(BufferId(j.buffer as u32), from) })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a word among the counters.
    fn place(&self, word: i64) -> usize {
        self.counters.iter().position(|counter| *counter as i64 == word).unwrap_or(0)
    }

    /// Notes a piece that ran, and takes those of `pieces` whose places are known, each with the counters' values there.
    fn placed(&self, ran: &Piece, pieces: &[Piece]) -> Vec<Option<Vec<i64>>> {
        let mut known = self.known();
        let grown = ran.behind.iter().zip(&ran.before).map(|(behind, before)| behind - before).collect();
        known.ran.insert(ran.first, (ran.past, grown));
        loop {
            let next = known.next;
            let Some((past, grown)) = known.ran.remove(&next) else { break };
            let now = known.now.clone();
            known.now.iter_mut().zip(grown).for_each(|(now, by)| *now += by);
            known.begins.insert(next, now);
            known.next = past;
        }
        pieces.iter().map(|piece| known.begins.remove(&piece.first)).collect()
    }

    /// Moves a piece's parts to their places. `start` says where the thread's arrays are.
    fn move_part(&self, piece: &Piece, begin: &[i64], start: &dyn Fn(usize) -> Option<*mut u8>) -> Result<(), Failure> {
        let ends: Vec<i64> =
            begin.iter().zip(piece.behind.iter().zip(&piece.before)).map(|(at, (b, a))| at + b - a).collect();
        self.make_room(&ends)?;
        let moving = self.owner.read().unwrap_or_else(PoisonError::into_inner);
        let session = moving.0;
        for (n, j) in self.arrays.iter().enumerate() {
            // SAFETY: the owner waits.
            let to = unsafe { (*session).buffer(BufferId(j.buffer as u32)) };
            between();
            // SAFETY: the array has room for this part, which nobody else touches.
            unsafe { self.copy(j, &to, (piece, begin, start(n))) }
        }
        Ok(())
    }

    /// Makes room for parts that end at these counters' values. More is likely to come: as much for the rest of the work as so far.
    fn make_room(&self, ends: &[i64]) -> Result<(), Failure> {
        let short = |session: *mut Session, j: &&Joined| {
            // SAFETY: the owner waits, and who makes room has the lock alone.
            let room = unsafe { (*session).buffer(BufferId(j.buffer as u32)).capacity };
            room < j.plus + ends[self.place(j.counter)]
        };
        let owner = self.owner.read().unwrap_or_else(PoisonError::into_inner);
        if !self.appended().any(|j| short(owner.0, &j)) {
            return Ok(());
        }
        drop(owner);
        let (done, now) = {
            let known = self.known();
            (self.cuts.done(known.next), known.now.clone())
        };
        let growing = self.owner.write().unwrap_or_else(PoisonError::into_inner);
        let session = growing.0;
        for j in self.appended().filter(|j| short(session, j)) {
            let (least, now) = (j.plus + ends[self.place(j.counter)], now[self.place(j.counter)]);
            let likely = (1.0625 * now as f64 / done) as i64;
            // SAFETY: nobody else has the lock; threads have no addresses of these arrays.
            unsafe {
                let (b, bytes) = (BufferId(j.buffer as u32), j.bytes as usize);
                let room = (*session).buffer(b).capacity;
                let sizes = [least.max(likely).max(room + room / 16), least.max(room + room / 16), least];
                let mut fits = sizes.into_iter().map(|len| (*session).enlarge(b, len, bytes));
                fits.find(Result::is_ok).unwrap_or(Err(Failure::Memory))?;
            }
        }
        Ok(())
    }

    /// Copies a piece's part of an array to its place, or shifts it where it stands.
    ///
    /// # Safety
    /// There is room for it, and nobody else touches it.
    unsafe fn copy(&self, j: &Joined, to: &Buffer, (piece, begin, start): (&Piece, &[i64], Option<*mut u8>)) {
        let by = usize::try_from(j.holds).map_or(0, |_| {
            let held = self.place(j.holds);
            begin[held] - piece.before[held]
        });
        if j.counter < 0 {
            let place = |turn: i64| j.plus.saturating_add(j.times.saturating_mul(turn)).clamp(0, to.capacity);
            // SAFETY: these elements are in the array.
            return unsafe { shift(to.data, (place(piece.first), place(piece.past)), j.bytes, by) };
        }
        let c = self.place(j.counter);
        let (from, first) = (piece.before[c] + j.plus, begin[c] + j.plus);
        let (count, bytes) = ((piece.behind[c] - piece.before[c]) as usize, j.bytes as usize);
        let Some(start) = start.filter(|_| count > 0) else { return };
        // SAFETY: the thread has room for what it appended, and the array for this part.
        unsafe {
            let from = start.add(from as usize * bytes);
            to.data.add(first as usize * bytes).copy_from_nonoverlapping(from, count * bytes);
            shift(to.data, (first, first + count as i64), j.bytes, by);
        }
    }
}

impl Appending<'_> {
    /// Lets counters begin anew: all that the thread appended is moved.
    fn restart(&mut self) {
        self.pieces.clear();
        self.joins.counters.iter().for_each(|word| _ = self.frame[*word].write(0));
    }

    fn counted(&self) -> Vec<i64> {
        // SAFETY: they were set when the thread began, and kernels only set them.
        self.joins.counters.iter().map(|word| unsafe { self.frame[*word].assume_init() }).collect()
    }

    /// Runs a piece of the iterations in a thread's session, and moves what can be moved.
    pub fn piece(
        &mut self,
        (first, past): (i64, i64),
        session: *mut Session,
        run: impl FnOnce(*mut i64) -> i32,
    ) -> i32 {
        let before = self.counted();
        let failed = run(self.frame.as_mut_ptr().cast());
        if failed != 0 {
            return failed;
        }
        let ran = Piece { first, past, before, behind: self.counted() };
        self.pieces.push(ran);
        let Some(ran) = self.pieces.last() else { return 0 };
        let begins = self.joins.placed(ran, &self.pieces);
        let start = |n: usize| {
            // SAFETY: the thread's own session, which is not running.
            let buffer = unsafe { (*session).buffer(BufferId(self.joins.arrays[n].buffer as u32)) };
            Some(buffer.data).filter(|data| !data.is_null())
        };
        let mut kept = vec![];
        for (piece, begin) in std::mem::take(&mut self.pieces).into_iter().zip(begins) {
            match begin.map(|begin| self.joins.move_part(&piece, &begin, &start)) {
                Some(Err(failure)) => return code(failure),
                Some(Ok(())) => {}
                None => kept.push(piece),
            }
        }
        self.pieces = kept;
        if self.pieces.is_empty() {
            self.restart();
        }
        0
    }

    /// Gives up the thread's arrays.
    pub fn end(self, session: &mut Session) {
        let give = |j: &Joined| if j.counter < 0 { None } else { session.give_up(BufferId(j.buffer as u32)) };
        let blocks = self.joins.arrays.iter().map(give).collect();
        let mut left = self.joins.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.push(Left { pieces: self.pieces, blocks });
    }
}

/// Adds a number to elements, which are integers of 4 or 8 bytes.
///
/// # Safety
/// They are at `data`, aligned, and nobody else touches them.
unsafe fn shift(data: *mut u8, (first, past): (i64, i64), bytes: i64, by: i64) {
    if by == 0 || past <= first {
        return;
    }
    let (first, count) = (first as usize, (past - first) as usize);
    // SAFETY: by this function's contract.
    unsafe {
        match bytes {
            4 => {
                let all = std::slice::from_raw_parts_mut(data.cast::<i32>().add(first), count);
                all.iter_mut().for_each(|x| *x = x.wrapping_add(by as i32));
            }
            _ => {
                let all = std::slice::from_raw_parts_mut(data.cast::<i64>().add(first), count);
                all.iter_mut().for_each(|x| *x = x.wrapping_add(by));
            }
        }
    }
}
