//! A flag that asks a running call to end.

use std::sync::atomic::{AtomicU8, Ordering};

/// A flag that another thread sets to end calls. Once it is set, every call that tests it ends.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU8);

/// A flag that nobody sets.
pub(crate) static NEVER: Interrupt = Interrupt::new();

impl Interrupt {
    /// A flag that is not set.
    pub const fn new() -> Interrupt {
        Interrupt(AtomicU8::new(0))
    }

    /// Sets the flag.
    pub fn ask(&self) {
        // The kernel then returns a code with all bits set, too: `abi::INTERRUPTED`.
        self.0.store(u8::MAX, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}
