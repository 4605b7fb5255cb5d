//! Parallel loops that something else runs in the place of the interpreter.

use super::memory::Buffer;
use fiberloom_loops::{BufferId, Failure, Var};

/// What runs parallel loops in the place of the interpreter.
pub trait Device {
    /// Runs the iterations of a loop; `false` if it is none of the device's.
    ///
    /// # Errors
    /// The failure of the first iteration that fails, or the rule that one of them breaks.
    fn run(&self, each: &mut Parallel) -> Result<bool, Ended>;
}

/// The reason why a device's loop ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The kernel ends itself.
    Failed(Failure),
    /// The device found something wrong.
    Broken(String),
}

/// A parallel loop at which the interpreter has come, and what its iterations see.
pub struct Parallel<'m, 'a> {
    /// The loop's variable, which tells it from other loops.
    pub var: Var,
    /// The first iteration, and the one past the last.
    pub bounds: (i64, i64),
    pub(super) vars: &'m mut [u64],
    pub(super) set: &'m [bool],
    pub(super) buffers: &'m mut [Buffer<'a>],
}

impl Parallel<'_, '_> {
    /// The bits of a variable, if it is set.
    pub fn value(&self, var: Var) -> Option<u64> {
        let at = var.0 as usize;
        self.set[at].then(|| self.vars[at])
    }

    /// Sets a variable that has a value.
    pub fn set_value(&mut self, var: Var, bits: u64) {
        self.vars[var.0 as usize] = bits;
    }

    /// The number of elements for which a buffer has room.
    pub fn len(&self, buffer: BufferId) -> u64 {
        self.buffers[buffer.0 as usize].room() as u64
    }

    /// The bits of an element, if it is set.
    pub fn get(&self, buffer: BufferId, at: u64) -> Option<u64> {
        self.buffers[buffer.0 as usize].load(at as i64).ok()
    }

    /// The bytes of an operand.
    pub fn operand(&self, buffer: BufferId) -> Option<Vec<u8>> {
        match &self.buffers[buffer.0 as usize] {
            Buffer::Operand(array) => Some(array.bytes()),
            Buffer::Made(_) => None,
        }
    }

    /// Sets an element of a buffer that is no operand, and has it.
    pub fn set(&mut self, buffer: BufferId, at: u64, bits: u64) {
        // A buffer that cannot be written is one that the device did not write.
        let _ = self.buffers[buffer.0 as usize].store(at as i64, bits);
    }
}
