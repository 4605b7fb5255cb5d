//! Rewrites of loops, a file each. None changes what loops compute.
//!
//! ```text
//!  dead_code       drops what nothing reads
//!  collapse        a loop over consecutive fibers, and the loop over each, become one            loop collapse
//!  blocks          fibers that are appended whole are one block
//!  substitute      a value that is used once, in the next statement, stands there                forward substitution
//!  monotone        least and greatest values of what rises along a loop take one iteration
//!  ranks           a fold over what is less than something is searched for in sorted keys
//!  downward        a loop whose folds begin later from iteration to iteration runs downward
//!  incremental     a fold goes on from where the iteration before left it                        incremental folds
//!  early_exit      a fold ends where nothing can change it
//!  privatize       a fold in an inner loop has a variable of its own                             privatization
//!  distribute      a long loop that appends becomes a loop for each array                        loop distribution
//!  strip_mine      a short loop that appends writes eight entries at a time                      strip-mining
//!  tiles           folds of products of rows and columns in registers and caches                 tiling
//!  unroll_and_jam  four rows are folded into a row at a time                                     unroll and jam
//!  parallel        independent iterations of outermost loops run on threads
//!
//!  appending       what loops append, for distribution, strips and ranks
//!  places          which elements the iterations of a loop touch
//!  joins           what the iterations of a loop append, to be joined
//!  noted           counters that iterations note anywhere, in lists
//!  block_copies    copies of arrays into which blocks of a GPU fold
//!  seams           rows that pieces fold, where pieces meet
//!  serial          why iterations do not run in parallel
//! ```

mod appending;
mod block_copies;
mod blocks;
mod collapse;
mod dead_code;
mod distribute;
mod downward;
mod early_exit;
mod incremental;
mod joins;
mod monotone;
mod noted;
mod parallel;
mod places;
mod privatize;
mod ranks;
mod seams;
mod serial;
mod strip_mine;
mod substitute;
mod tiles;
mod unroll_and_jam;
mod within;

pub use blocks::blocks;
pub use collapse::{collapse, one_fiber};
pub use dead_code::eliminate_dead_code;
pub use distribute::{Element, distribute, whole_copy};
pub(super) use downward::begins;
pub use downward::downward;
pub use early_exit::early_exits;
pub use incremental::incremental_folds;
pub use monotone::monotone_folds;
pub(crate) use parallel::{Facts, sizes};
pub use parallel::{Outermost, outermost_loops, parallel};
pub use privatize::privatize;
pub use ranks::{ranks, ranks_of};
pub use serial::OneThread;
pub use strip_mine::{strip_mine, strip_mine_by};
pub use substitute::forward;
pub(super) use substitute::uses;
pub use tiles::{Tiles, tiles, tiles_of};
pub use unroll_and_jam::unroll_and_jam;

use super::Kernel;

/// A rewrite of loops, with its name.
pub type Rewrite = (&'static str, fn(&mut Kernel));

/// What is done to loops once they are emitted, in order.
pub const REWRITES: [Rewrite; 15] = [
    ("dead code", eliminate_dead_code),
    ("collapse", collapse),
    ("blocks", blocks),
    ("substitute", forward),
    ("monotone", monotone_folds),
    ("ranks", ranks),
    ("downward", downward),
    ("incremental", incremental_folds),
    ("early exit", early_exits),
    ("privatize", privatize),
    ("distribute", distribute),
    ("strip-mine", strip_mine),
    ("tiles", tiles),
    ("unroll and jam", unroll_and_jam),
    ("parallel", parallel),
];
