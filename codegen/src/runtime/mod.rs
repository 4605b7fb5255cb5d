//! The functions that compiled kernels call while they run: memory for results and workspaces, sorting, and functions on numbers.
//!
//! ```text
//!   Compiled::run ──▶ Session ── table ──▶ entries (extern "C") ──▶ Memory: Heap | Fence
//!                        │                                                   sort, math, threads
//!                        └── blocks[BufferId] ──▶ results become Vec without a copy; the rest is freed
//! ```
//!
//! Invariants: an entry never panics and never aborts: it returns the code of a failure; the bytes of all blocks never
//! exceed the limit; a session frees whatever it still owns when it is dropped.

mod entries;
pub(crate) mod fence;
mod folds;
pub(crate) mod interrupt;
mod joined;
mod math;
pub(crate) mod memory;
mod parallel;
mod pool;
mod session;
mod sort;
mod sync;
mod watch;
mod weight;

pub use interrupt::Interrupt;
pub(crate) use interrupt::NEVER;
pub use parallel::Pieces;
pub use pool::{on_pool, set_threads, threads};
pub(crate) use session::{Block, Session, Snapshot, lent};
pub use watch::{LoopRun, watched};
