//! A kernel of one parallel loop, whose iterations are Rust's: what generated code does before the loop, in it and
//! behind it.
#![allow(unsafe_code)] // The other side of the runtime is machine code, in whose place this stands.

use super::folds::Folded;
use super::interrupt::NEVER;
use super::joined::Joined;
use super::parallel::{Counted, parallel};
use super::sync::{AtomicUsize, between};
use super::{Pieces, Session};
use crate::abi::{Buffer, code, failure};
use crate::memory::Watched;
use fiberloom_loops::{BufferId, Failure};
use std::sync::atomic::Ordering::Relaxed;

/// The buffers: how often each iteration ran; how many values there were behind each; the values that iterations
/// append, and the place of each; the elements into which they fold; a workspace of which each thread has a copy, with
/// a place for each iteration to use, and a one.
const RAN: usize = 0;
const NOTES: usize = 1;
const VALUES: usize = 2;
const PLACES: usize = 3;
const ELEMENTS: usize = 4;
const OWN: usize = 5;
const BUFFERS: usize = 6;

/// The words of the frame: the number of values, and what iterations fold.
const COUNT: usize = 0;
const FOLDED: usize = 1;
const WORDS: usize = 2;

/// The work of a loop that is cut into four pieces: the least that is.
const WORK: i64 = 1 << 16;

/// A map x ↦ times · x + plus of numbers modulo 2³². Such maps fold by composition, and their order shows in what they
/// come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Map {
    /// The factor.
    pub times: u32,
    /// What is added.
    pub plus: u32,
}

impl Map {
    /// The identity.
    const SAME: Map = Map { times: 1, plus: 0 };

    /// The map's value.
    pub fn of(self, x: u32) -> u32 {
        self.times.wrapping_mul(x).wrapping_add(self.plus)
    }

    fn then(self, later: Map) -> Map {
        Map { times: self.times.wrapping_mul(later.times), plus: later.of(self.plus) }
    }

    fn bits(self) -> u64 {
        u64::from(self.times) << 32 | u64::from(self.plus)
    }

    fn from_bits(bits: u64) -> Map {
        Map { times: (bits >> 32) as u32, plus: bits as u32 }
    }
}

/// A kernel of one loop.
pub struct Kernel<'b> {
    /// The number of iterations.
    pub iterations: i64,
    /// How they are cut: as usual, into four pieces for three threads.
    pub pieces: Pieces,
    /// The bytes that all arrays may take.
    pub memory: usize,
    /// Whether iterations append, and note how many values there are. One value, −1, stands there before the loop.
    pub appends: bool,
    /// Whether they fold into a variable.
    pub folds: bool,
    /// How many elements they fold into. Element e is 2 · x + e before the loop.
    pub elements: usize,
    /// An iteration. It may run again.
    pub body: &'b (dyn Fn(&mut Iteration) -> Result<(), Failure> + Sync),
}

/// What a kernel made.
#[derive(Debug)]
pub struct Made {
    /// The failure that it ended with.
    pub ended: Result<(), Failure>,
    /// How often each iteration ran to where it is counted.
    pub ran: Vec<i64>,
    /// The values, −1 first; none if the kernel failed.
    pub values: Vec<i64>,
    /// The place of each value, as the iteration knew it that appended it.
    pub places: Vec<i64>,
    /// How many values there were behind each iteration that noted it.
    pub notes: Vec<i32>,
    /// What iterations folded into the variable.
    pub folded: Map,
    /// What they folded into elements.
    pub elements: Vec<Map>,
}

/// An iteration that runs on a thread.
pub struct Iteration {
    /// Its number.
    pub number: i64,
    session: *mut Session<'static>,
    buffers: *mut Buffer,
    frame: *mut i64,
}

impl Iteration {
    /// Notes that it runs. Another thread may go on between a read and a write.
    pub fn runs(&mut self) {
        // SAFETY: the workspace has two elements, and is the thread's own.
        let own = unsafe { self.at::<i64>(OWN, 0) };
        // SAFETY: the same.
        unsafe { own.write(self.number) };
        between();
        // SAFETY: the same; the array has an element for each iteration.
        let (ran, one) = unsafe { (self.at::<i64>(RAN, own.read()), own.add(1).read()) };
        // SAFETY: the same.
        let before = unsafe { ran.read() };
        between();
        // SAFETY: the same.
        unsafe { ran.write(before + one) };
    }

    /// Notes that it ran, by way of the last of so many elements of the workspace, for which room is made.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn runs_with(&mut self, elements: i64) -> Result<(), Failure> {
        // SAFETY: the workspace is the thread's own, and has so many elements now; the array has one for each iteration.
        unsafe {
            (*self.session).grow(BufferId(OWN as u32), elements, size_of::<i64>())?;
            let last = self.at::<i64>(OWN, elements - 1);
            last.write(self.number);
            between();
            self.at::<i64>(RAN, last.read()).write(1);
        }
        Ok(())
    }

    /// Appends a value.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn append(&mut self, value: i64) -> Result<(), Failure> {
        // SAFETY: the frame is the thread's own; so are the arrays, in which there is room now.
        unsafe {
            let count = *self.frame.add(COUNT);
            for b in [VALUES, PLACES] {
                (*self.session).grow(BufferId(b as u32), count + 1, size_of::<i64>())?;
            }
            self.at::<i64>(VALUES, count).write(value);
            self.at::<i64>(PLACES, count).write(count);
            *self.frame.add(COUNT) = count + 1;
        }
        Ok(())
    }

    /// Notes how many values there are.
    pub fn note(&mut self) {
        // SAFETY: the array has an element more than there are iterations; no other iteration writes this one.
        unsafe { self.at::<i32>(NOTES, self.number + 1).write(*self.frame.add(COUNT) as i32) }
    }

    /// Folds a map into the variable.
    pub fn fold(&mut self, map: Map) {
        // SAFETY: the frame is the thread's own.
        unsafe { fold(self.frame.add(FOLDED).cast(), map) }
    }

    /// Folds a map into an element. Another thread may go on meanwhile.
    pub fn fold_into(&mut self, element: usize, map: Map) {
        // SAFETY: there are so many elements, and they are the thread's own while pieces run.
        let element = unsafe { self.at::<u64>(ELEMENTS, element as i64) };
        // SAFETY: the same.
        let before = Map::from_bits(unsafe { element.read() });
        between();
        // SAFETY: the same.
        unsafe { element.write(before.then(map).bits()) };
    }

    /// # Safety
    /// The buffer has such elements, and so many.
    unsafe fn at<T>(&self, buffer: usize, place: i64) -> *mut T {
        // SAFETY: by this function's contract.
        unsafe { (*self.buffers.add(buffer)).data.cast::<T>().add(place as usize) }
    }
}

/// # Safety
/// A map's bits are there, and nobody else uses them.
unsafe fn fold(into: *mut u64, later: Map) {
    // SAFETY: by this function's contract.
    unsafe { into.write(Map::from_bits(into.read()).then(later).bits()) }
}

/// Some of the iterations, as generated code runs them.
unsafe extern "C" fn turns(
    session: *mut Session,
    buffers: *mut Buffer,
    params: *const i64,
    frame: *mut i64,
    first: i64,
    past: i64,
) -> i32 {
    // SAFETY: the runtime passes on what the kernel gave it.
    let kernel = unsafe { &*params.cast::<Kernel>() };
    if kernel.folds {
        // SAFETY: of a loop that folds, the frame is the thread's own.
        unsafe { frame.add(FOLDED).write(Map::SAME.bits() as i64) };
    }
    for number in first..past {
        let mut iteration = Iteration { number, session: session.cast(), buffers, frame };
        if let Err(failure) = (kernel.body)(&mut iteration) {
            return code(failure);
        }
    }
    0
}

/// Folds the variable of a later frame into an earlier one's.
unsafe extern "C" fn fold_frames(frame: *mut i64, later: *const i64) {
    // SAFETY: both are frames of the kernel.
    unsafe { fold(frame.add(FOLDED).cast(), Map::from_bits(later.add(FOLDED).read() as u64)) }
}

/// Folds the elements of a later table into an earlier one's.
unsafe extern "C" fn fold_elements(buffers: *mut Buffer, later: *const Buffer) {
    // SAFETY: both are tables of the kernel's buffers, with as many elements.
    unsafe {
        let (into, from) = (*buffers.add(ELEMENTS), (*later.add(ELEMENTS)).data.cast::<u64>());
        (0..into.capacity as usize)
            .for_each(|e| fold(into.data.cast::<u64>().add(e), Map::from_bits(from.add(e).read())));
    }
}

impl Kernel<'_> {
    /// Runs the kernel, on threads of the scheduler.
    ///
    /// # Panics
    /// If memory is used by who should not, or not given back.
    pub fn run(&self) -> Made {
        let memory = Watched::default();
        let left = AtomicUsize::new(self.memory);
        let made = self.call(&memory, &left);
        assert_eq!(memory.wrong(), Vec::<String>::new());
        assert_eq!(left.load(Relaxed), self.memory, "the bytes that are left of the limit");
        made
    }

    fn call(&self, memory: &Watched, left: &AtomicUsize) -> Made {
        let (mut buffers, mut blocks) = ([Buffer::EMPTY; BUFFERS], [None; BUFFERS]);
        let buffers = buffers.as_mut_ptr();
        // SAFETY: the buffers outlive the session, and nobody else has them.
        let mut session = unsafe { Session::new(memory, buffers, &mut blocks, (left, &NEVER, self.pieces)) };
        let mut frame = [1, 0];
        let ended = self.prepare(&mut session, buffers).and_then(|()| {
            let called = (&raw mut session, buffers, (&raw const *self).cast(), frame.as_mut_ptr());
            // SAFETY: the session has the kernel's buffers, which `prepare` has made.
            match failure(unsafe { self.enter(called) }) {
                Some(failure) => Err(failure),
                None => Ok(()),
            }
        });
        let count = if ended.is_ok() && self.appends { frame[COUNT] } else { 0 };
        let n = self.iterations;
        // SAFETY: the kernel has ended, and has set so many elements; if it failed, what was allocated reads as
        // something.
        unsafe {
            Made {
                ended,
                ran: elements(&session, RAN, n),
                values: elements(&session, VALUES, count),
                places: elements(&session, PLACES, count),
                notes: elements(&session, NOTES, if count > 0 { n + 1 } else { 0 }),
                folded: Map::from_bits(frame[FOLDED] as u64),
                elements: elements(&session, ELEMENTS, self.elements as i64).into_iter().map(Map::from_bits).collect(),
            }
        }
    }

    /// What the kernel does before the loop.
    fn prepare(&self, session: &mut Session, buffers: *mut Buffer) -> Result<(), Failure> {
        let id = |b: usize| BufferId(b as u32);
        session.make(id(RAN), self.iterations, size_of::<i64>(), Some(0))?;
        session.make(id(OWN), 2, size_of::<i64>(), Some(1))?;
        session.make(id(ELEMENTS), self.elements as i64, size_of::<u64>(), None)?;
        // SAFETY: these elements are there.
        let element = |b: usize, n: usize| unsafe { (*buffers.add(b)).data.cast::<u64>().add(n) };
        for e in 0..self.elements {
            // SAFETY: the same.
            unsafe { element(ELEMENTS, e).write(Map { times: 2, plus: e as u32 }.bits()) };
        }
        if self.appends {
            session.make(id(NOTES), self.iterations + 1, size_of::<i32>(), Some(1))?;
            session.make(id(VALUES), 1, size_of::<i64>(), Some(-1_i64 as u64))?;
            session.make(id(PLACES), 1, size_of::<i64>(), Some(0))?;
        }
        Ok(())
    }

    /// Calls the runtime, which runs the loop.
    ///
    /// # Safety
    /// The session's buffers are the kernel's, and made.
    unsafe fn enter(
        &self,
        (session, buffers, params, frame): (*mut Session, *mut Buffer, *const i64, *mut i64),
    ) -> i32 {
        let appended = |buffer: usize, bytes: usize, counter: i64, holds: i64| Joined {
            buffer: buffer as i64,
            bytes: bytes as i64,
            counter,
            times: 1,
            plus: i64::from(counter < 0),
            holds,
        };
        let joined = [
            appended(NOTES, size_of::<i32>(), -1, COUNT as i64),
            appended(VALUES, size_of::<i64>(), COUNT as i64, -1),
            appended(PLACES, size_of::<i64>(), COUNT as i64, COUNT as i64),
        ];
        let folded = [Folded { buffer: ELEMENTS as i64, bytes: size_of::<u64>() as i64, begins: Map::SAME.bits() }];
        let own = [OWN as i32];
        let described = Counted {
            turns,
            own: own.as_ptr(),
            owns: 1,
            lo: 0,
            hi: self.iterations,
            work: WORK,
            joined: joined.as_ptr(),
            joins: if self.appends { joined.len() as i64 } else { 0 },
            words: WORDS as i64,
            again: 1,
            fold: self.folds.then_some(fold_frames),
            fold_arrays: (self.elements > 0).then_some(fold_elements),
            folded: folded.as_ptr(),
            folds: i64::from(self.elements > 0),
            weights: [].as_ptr(),
            weighs: 0,
        };
        // SAFETY: by this function's contract; what is described stays until the loop has run.
        unsafe { parallel(session.cast(), buffers, params, frame, &described) }
    }
}

/// The first elements of a buffer; none if it was not allocated.
///
/// # Safety
/// It has elements of this type, and so many if it has any.
unsafe fn elements<T: Copy>(session: &Session, buffer: usize, count: i64) -> Vec<T> {
    let Buffer { data, capacity, .. } = session.buffer(BufferId(buffer as u32));
    let count = count.clamp(0, capacity) as usize;
    // SAFETY: by this function's contract.
    if count == 0 { vec![] } else { unsafe { std::slice::from_raw_parts(data.cast(), count) }.to_vec() }
}
