//! Workspaces in the memory that the threads of a block share: each block has one, which an iteration has to itself while the block runs it.
//!
//! ```text
//!   alloc w[64]
//!   block parallel for i in 0..n with w
//!     parallel for k in 0..64 { w[k] = … }         every thread fills every so many elements
//!                                                  a barrier
//!     lane parallel for j in 0..m { … w[…] … }     every thread reads what others have filled
//!                                                  a barrier, before the block's next iteration fills w again
//! ```
//!
//! Their lengths are numbers, and all of them fit in what every GPU has for a block. A workspace that is allocated with a value holds it when
//! the block begins.

use super::grid::{self, every};
use super::{Folded, no_atomic};
use crate::arith::int;
use crate::names::Vars;
use crate::rewrites::sizes;
use crate::{BufferId, Entry, Expr, How, Kernel, Stmt, array_in_pieces};
use fiberloom_core::algebra::Value;

/// The bytes of shared memory that every GPU has for a block.
pub const SHARED_BYTES: u64 = 48 << 10;

/// A workspace in shared memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Workspace {
    /// Its place in the kernel's list of buffers.
    pub buffer: BufferId,
    /// Its elements.
    pub len: u64,
    /// What it is allocated with.
    pub(super) fill: Option<Value>,
}

/// What a block needs to run iterations of a launched loop.
pub(super) struct Held {
    pub workspaces: Vec<Workspace>,
    /// The arrays into whose elements threads fold at once, with the functions: those of the launched loop, and workspaces.
    pub atomics: Vec<Folded>,
}

impl Held {
    /// # Errors
    /// Why the workspaces do not lie in shared memory, in words.
    pub fn of(kernel: &Kernel, (how, body): (&How, &[Stmt]), atomics: &[Folded]) -> Result<Held, String> {
        let own = if let How::Parallel { own, .. } = how { &own[..] } else { &[] };
        let sizes = sizes(&kernel.body);
        let mut workspaces = vec![];
        for buffer in own.iter().copied() {
            let Some(Expr::Const(len)) = sizes.get(&buffer) else {
                let name = &kernel.buffers[buffer.0 as usize].name;
                return Err(format!(
                    "the length of the workspace `{name}` is not a number that is known before it runs"
                ));
            };
            workspaces.push(Workspace { buffer, len: len.bits(), fill: filled(&kernel.body, buffer) });
        }
        fit(kernel, &workspaces)?;
        let mut atomics = atomics.to_vec();
        body.iter().try_for_each(|stmt| note_folds(kernel, stmt, own, &mut atomics))?;
        Ok(Held { workspaces, atomics })
    }

    /// The statements with which a thread of a block begins, where workspaces are allocated with values.
    pub fn begin(&self, [_, _, place, size]: grid::Grid, vars: &mut Vars) -> Vec<Stmt> {
        let filled = self.filled().map(|(of, value)| (of.buffer, of.len, value)).collect::<Vec<_>>();
        let each = |(b, len, value): (BufferId, u64, Value)| {
            let at = vars.index("element");
            let store = vec![Stmt::Store(b, Expr::Var(at), Expr::Const(value))];
            let bounds = [&int(0), &int(len as i64)];
            every(at, (bounds, Expr::Var(place), Expr::Var(size)), store, vars).1
        };
        filled.into_iter().flat_map(each).collect()
    }

    /// The workspaces that are allocated with values.
    pub fn filled(&self) -> impl Iterator<Item = (&Workspace, Value)> {
        self.workspaces.iter().filter_map(|of| Some((of, of.fill?)))
    }
}

/// That workspaces fit in shared memory.
fn fit(kernel: &Kernel, workspaces: &[Workspace]) -> Result<(), String> {
    let bytes = |of: &Workspace| of.len.saturating_mul(kernel.buffers[of.buffer.0 as usize].ty.bytes() as u64);
    // Each begins at a multiple of eight.
    let all = workspaces.iter().map(|of| bytes(of).div_ceil(8)).fold(0u64, u64::saturating_add);
    if all <= SHARED_BYTES / 8 {
        return Ok(());
    }
    let each = workspaces.iter().map(|of| format!("`{}` {}", kernel.buffers[of.buffer.0 as usize].name, bytes(of)));
    let each = each.collect::<Vec<_>>().join(", ");
    Err(format!("workspaces take more than the {SHARED_BYTES} bytes of memory that a block shares: {each} bytes"))
}

/// The value with which a buffer is allocated.
fn filled(block: &[Stmt], b: BufferId) -> Option<Value> {
    block.iter().find_map(|stmt| match stmt {
        Stmt::Call(Entry::Alloc { buffer, fill, .. }) if *buffer == b => *fill,
        _ => stmt.blocks().find_map(|inner| filled(inner, b)),
    })
}

/// Notes the workspaces into whose elements all iterations of a loop fold.
fn note_folds(kernel: &Kernel, stmt: &Stmt, own: &[BufferId], atomics: &mut Vec<Folded>) -> Result<(), String> {
    if let Stmt::For { var, how, body, .. } = stmt
        && grid::unit(kernel, (*var, how, body)).is_some()
    {
        let races = kernel.hints.get(var).is_some_and(|hints| hints.claim.races());
        for b in how.arrays().iter().filter(|b| own.contains(b)) {
            let Some((op, _)) = array_in_pieces(kernel, body, *b) else { continue };
            let of = &kernel.buffers[b.0 as usize];
            match no_atomic((format!("elements of `{}`", of.name), of.ty), op, races) {
                Some(why) => return Err(why),
                None => atomics.push((*b, op)),
            }
        }
    }
    stmt.blocks().flatten().try_for_each(|inner| note_folds(kernel, inner, own, atomics))
}
