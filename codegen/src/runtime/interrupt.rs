//! Asking a call to end.

use std::sync::atomic::{AtomicU8, Ordering};

/// Where a call is asked to end, by another thread. Once asked, whoever looks ends.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Interrupt(AtomicU8);

/// Where nobody asks.
pub(crate) static NEVER: Interrupt = Interrupt::new();

impl Interrupt {
    /// One that was not asked yet.
    pub const fn new() -> Interrupt {
        Interrupt(AtomicU8::new(0))
    }

    /// Asks it to end.
    pub fn ask(&self) {
        // The code that a kernel returns then has all bits set, too: `abi::INTERRUPTED`.
        self.0.store(u8::MAX, Ordering::Relaxed);
    }

    /// Whether it was asked to.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
}
