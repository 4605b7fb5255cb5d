//! What stands around launched loops: the host's part of a kernel.
//!
//! A device runs loops whose iterations share nothing, and ask for nothing. What workspaces take is found before (`rooms.rs`); loops that append
//! are two, of which the first counts (`twice.rs`); those that fold into variables have parts of them (`parts.rs`); and what an iteration
//! sorts, loops sort (`sorts.rs`).

use super::parts::in_parts;
use super::rooms::with_room;
use super::sorts::by_loops;
use super::twice::Twice;
use super::{DeviceLoops, Used, find};
use crate::arith::int;
use crate::{BufferId, Entry, How, Kernel, Stmt, map_blocks};
use std::collections::BTreeSet;

/// The kernel whose parallel loops a device can run, where it can: what each makes is the same. The others are as they were.
#[must_use]
pub fn for_device(kernel: &Kernel) -> Kernel {
    let mut made = kernel.clone();
    let body = std::mem::take(&mut made.body);
    made.body = block(&mut made, body);
    made
}

fn block(kernel: &mut Kernel, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match &stmt {
            Stmt::For { var, how: how @ How::Parallel { .. }, .. } => match launched(kernel, &stmt) {
                Ok(made) => {
                    without_guess(&mut out, how.joined().iter().filter(|j| j.counter(*var).is_some()).map(|j| j.array));
                    out.extend(made);
                }
                Err(_) => out.push(stmt),
            },
            _ => out.extend(map_blocks(vec![stmt], &mut |inner| block(kernel, inner))),
        }
    }
    out
}

/// Lets arrays begin with no room, where nothing has touched them: what they need is known when it is counted.
fn without_guess(before: &mut [Stmt], arrays: impl Iterator<Item = BufferId>) {
    let mut left: BTreeSet<BufferId> = arrays.collect();
    for stmt in before.iter_mut().rev() {
        match stmt {
            Stmt::Call(Entry::Alloc { buffer, len, fill: None }) if left.remove(buffer) => *len = int(0),
            stmt => {
                let mut used = Used::of(std::slice::from_ref(stmt));
                used.buffers.append(&mut used.lengths);
                left.retain(|b| !used.buffers.contains(b) && !calls(stmt, *b));
            }
        }
    }
}

/// Whether a statement calls the runtime with a buffer.
fn calls(stmt: &Stmt, b: BufferId) -> bool {
    matches!(stmt, Stmt::Call(entry) if entry.buffers().any(|other| other == b))
        || stmt.blocks().flatten().any(|inner| calls(inner, b))
}

/// Why a device does not run a parallel loop in any form.
pub(super) fn obstacle(kernel: &Kernel, stmt: &Stmt) -> Option<String> {
    launched(&mut kernel.clone(), stmt).err()
}

/// A parallel loop as a device runs it, with the statements around it.
///
/// # Errors
/// What a device has not, in words; then the kernel is as it was.
fn launched(kernel: &mut Kernel, stmt: &Stmt) -> Result<Vec<Stmt>, String> {
    let (vars, buffers, hints) = (kernel.vars.len(), kernel.buffers.len(), kernel.hints.clone());
    let made = made(kernel, stmt).and_then(|made| {
        let mut loops = DeviceLoops::default();
        made.iter().for_each(|stmt| find(kernel, stmt, &mut loops));
        loops.refused.pop().map_or(Ok(made), |(_, why)| Err(why))
    });
    if made.is_err() {
        kernel.vars.truncate(vars);
        kernel.buffers.truncate(buffers);
        kernel.hints = hints;
    }
    made
}

fn made(kernel: &mut Kernel, stmt: &Stmt) -> Result<Vec<Stmt>, String> {
    let mut made = with_room(kernel, stmt.clone())?;
    for rewrite in [Twice::of, |kernel: &mut Kernel, stmt: Stmt| Ok(by_loops(kernel, vec![stmt])), in_parts] {
        let each = made.into_iter().map(|stmt| rewrite(kernel, stmt));
        made = each.collect::<Result<Vec<Vec<Stmt>>, String>>()?.concat();
    }
    Ok(made)
}
