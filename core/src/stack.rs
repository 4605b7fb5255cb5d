//! Room on the stack for the recursion of passes, which is as deep as a program nests: threads of a caller's may have little.

/// What the deepest program that is accepted needs, in bytes.
const NEEDED: usize = 4 << 20;

/// Runs `f` where there is room on the stack: on one of its own, if there is not enough on the thread's.
pub fn with_room<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED, 2 * NEEDED, f)
}
