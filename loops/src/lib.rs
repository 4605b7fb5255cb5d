//! Loops: the small typed language that engines run.
//!
//! ```text
//!  Kernel ─┬ params    64-bit integers: extents
//!          ├ buffers   operands (read), results and workspaces (made by the kernel)
//!          ├ vars      scalars, each with a type, local to the kernel
//!          ├ body      Stmt*: structured control flow only
//!          └ arguments the buffer of each array of each tensor
//! ```
//!
//! Invariants, checked before a kernel runs ([`Sound`]): expressions are typed; a variable is set before it is read on every path, and a
//! `Let` is set once in its block; operands are never stored to, grown or resized; results and workspaces are allocated before they are
//! used. The checker visits a kernel after its last rewrite and, with debug assertions, after lowering and each rewrite. Checked only by
//! the interpreter, as it runs (`semantics::machine`): every access is in bounds of an allocated buffer, only elements that were written
//! are read, and results end with their length set.
#![forbid(unsafe_code)]

mod arith;
mod bind;
mod check;
mod choose;
mod device;
mod folds;
mod inside;
mod ir;
mod iteration;
pub mod lower;
pub(crate) mod names;
pub mod plan;
mod planner;
mod print;
mod read;
mod rewrites;
pub mod stream;
mod symbolic;
mod weight;
mod work;

pub use crate::stream::{BufferId, LANES, Sought};
pub use arith::linear;
pub use bind::{Bound, assembles, bind, collect, settle, shares_borrowed, taken};
pub use check::{NESTING, Sound, check, private};
pub use device::{
    DeviceArgument, DeviceEntry, DeviceLoop, DeviceLoops, Folded, Gpu, Hand, Join, Runner, SHARED_BYTES, Shuffles,
    WARP, Workspace, device_loops, folds_at_once, for_device,
};
pub use fiberloom_core::text::{DEPTH, LITERALS, is_name};
pub use folds::{accumulates, array_in_pieces, fold_in_pieces, folded_values};
pub use ir::*;
pub use iteration::{Iteration, Stored, fold_of};
pub use lower::{Options, Widths};
pub use print::{expression, headline};
pub use read::read;
pub use rewrites::{
    Element, OneThread, Outermost, REWRITES, Rewrite, Tiles, one_fiber, outermost_loops, ranks_of, strip_mine_by,
    tiles_of, whole_copy,
};
pub use symbolic::{Symbolic, Term};
pub use weight::{Weight, weights};
pub use work::work;

use fiberloom_core::notation::concrete::Program;
use fiberloom_core::shape::Classes;

/// Plans the loops of a concrete program, and emits them; or, if there is the text of a plan, emits that plan.
///
/// # Errors
/// What is wrong with the plan.
pub fn planned(
    program: &Program,
    classes: &Classes,
    options: &lower::Options,
    text: Option<&str>,
) -> Result<(Kernel, plan::Plan), plan::Refused> {
    lower::lower("kernel", program, classes, options, |facts, costs, extents| match text {
        None => {
            let plan = planner::plan(facts, costs);
            plan.check(facts, extents).map_err(|wrong| plan::Refused { line: 0, what: wrong.what })?;
            Ok(plan)
        }
        Some(text) => plan::Plan::read(text, facts),
    })
}
