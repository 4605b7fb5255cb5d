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
mod appending;
mod arith;
mod bind;
mod blocks;
mod carry;
mod check;
mod choose;
mod copies;
mod downward;
mod exit;
mod flatten;
mod inline;
mod inside;
mod ir;
mod jam;
pub mod lower;
pub(crate) mod names;
mod partial;
pub mod plan;
mod planner;
mod print;
mod ranks;
mod read;
mod strips;
mod symbolic;
#[cfg(test)]
mod tests;
mod tiles;
mod turn;

pub use crate::stream::{BufferId, LANES, Sought};
pub use crate::text::{DEPTH, LITERALS, is_name};
pub use bind::{Bound, assembles, bind, collect, settle, shares_borrowed, taken};
pub use blocks::blocks;
pub use carry::carries;
pub use check::{NESTING, Sound, accumulates, check, private};
pub use copies::{Element, copies, whole_copy};
pub use downward::downward;
pub use exit::exits;
pub use flatten::{bare, flatten, one_fiber, sweep};
pub use inline::inline;
pub use ir::*;
pub use jam::jam;
pub use partial::partials;
pub use print::{expression, headline};
pub use ranks::{ranks, ranks_of};
pub use read::read;
pub use strips::{strips, strips_of};
pub use symbolic::{Symbolic, Term};
pub use tiles::{Tiles, tiles, tiles_of};
pub use turn::{Stored, Turn, fold_of};

use crate::notation::concrete::Program;
use crate::shape::Classes;

/// Plans the loops of a concrete program, and emits them; or, if there is the text of a plan, emits that plan.
///
/// # Errors
/// What is wrong with the plan.
pub(crate) fn planned(
    program: &Program,
    classes: &Classes,
    options: &lower::Options,
    text: Option<&str>,
) -> Result<(Kernel, plan::Plan), plan::Refused> {
    lower::lower("kernel", program, classes, options, |facts, costs, extents| match text {
        None => {
            let plan = planner::plan(facts, costs);
            plan.check(program, &facts.symbols, extents)
                .map_err(|wrong| plan::Refused { line: 0, what: wrong.what })?;
            Ok(plan)
        }
        Some(text) => plan::Plan::read(text, facts),
    })
}
