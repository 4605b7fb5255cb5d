//! The clock by which calls are timed. WebAssembly alone has none: there every time is 0, and whoever calls has a clock.
#[cfg(not(target_family = "wasm"))]
pub(crate) use std::time::Instant;

/// An instant of no clock.
#[cfg(target_family = "wasm")]
#[derive(Clone, Copy)]
pub(crate) struct Instant;

#[cfg(target_family = "wasm")]
impl Instant {
    /// Now.
    pub(crate) fn now() -> Instant {
        Instant
    }

    /// The time since then.
    pub(crate) fn elapsed(self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
