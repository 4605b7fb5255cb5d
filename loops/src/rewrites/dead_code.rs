//! Drops what nothing reads.
//!
//! ```text
//!   for p in A1_pos[i]..A1_pos[i + 1]                for p in A1_pos[i]..A1_pos[i + 1]
//!     let j = A1_crd[p]                     ──▶        t = t + A_vals[p]
//!     t = t + A_vals[p]
//! ```

use super::substitute::uses;
use crate::{BufferId, Entry, Expr, Kernel, Role, Stmt, map_blocks};

/// Drops every `let` whose variable is not read, stores to and allocations of workspaces that are not read, and empty counted loops,
/// until nothing changes. Expressions have no effects.
pub fn eliminate_dead_code(kernel: &mut Kernel) {
    loop {
        let used = uses(&kernel.body, kernel.vars.len());
        let mut read = vec![false; kernel.buffers.len()];
        reads(&kernel.body, &mut read);
        let unread = |b: &BufferId| kernel.buffers[b.0 as usize].role == Role::Workspace && !read[b.0 as usize];
        let keep = |stmt: &Stmt| match stmt {
            Stmt::Let(v, _) => used[v.0 as usize] > 0,
            Stmt::Store(b, ..) | Stmt::Call(Entry::Alloc { buffer: b, .. } | Entry::Reserve { buffer: b, .. }) => {
                !unread(b)
            }
            Stmt::For { body, .. } => !body.is_empty(),
            _ => true,
        };
        let before = size(&kernel.body);
        let body = live(std::mem::take(&mut kernel.body), &keep);
        kernel.body = body;
        if size(&kernel.body) == before {
            return;
        }
    }
}

fn live(block: Vec<Stmt>, keep: &impl Fn(&Stmt) -> bool) -> Vec<Stmt> {
    map_blocks(block.into_iter().filter(keep).collect(), &mut |inner| live(inner, keep))
}

/// Marks the buffers of which elements or the capacity are read.
fn reads(block: &[Stmt], read: &mut [bool]) {
    for stmt in block {
        let mut asks = |e: &Expr| {
            if let Expr::Load(b, _) | Expr::Among(_, b, _) | Expr::Capacity(b) = e {
                read[b.0 as usize] = true;
            }
        };
        stmt.exprs().for_each(|e| e.each(&mut asks));
        if let Stmt::Call(
            entry @ (Entry::Sort { .. } | Entry::SortInto { .. } | Entry::Finish { .. } | Entry::Move { .. }),
        ) = stmt
        {
            entry.buffers().for_each(|b| read[b.0 as usize] = true);
        }
        stmt.blocks().for_each(|inner| reads(inner, read));
    }
}

fn size(block: &[Stmt]) -> usize {
    block.iter().map(|stmt| 1 + stmt.blocks().map(size).sum::<usize>()).sum()
}
