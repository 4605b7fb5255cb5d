//! Elements that blocks of a GPU fold into, where a schedule wants a temporary for each block: a block folds into a copy of its own, and then
//! the copy into the array.
//!
//! ```text
//!   block temporary for b in 0..n                  block temporary for b in 0..n
//!                                                    for e in 0..64
//!                                                      h_block[e] = 0.0
//!     lane racing for t in 0..1024          ──▶      lane racing for t in 0..1024
//!       h[c[t]] = h[c[t]] + w[t]                       h_block[c[t]] = h_block[c[t]] + w[t]
//!                                                    for e in 0..64
//!                                                      h[e] = h[e] + h_block[e]
//! ```
//!
//! A copy is a workspace that an iteration has to itself, so that it lies in the block's shared memory (`device/shared.rs`), where its threads
//! fold at once. Its length is a number. Where no loop inside is dealt out, one thread runs the iteration, and folds into the array.

use super::appending::in_no_loop;
use super::parallel::{Facts, is_dealt};
use crate::arith::int;
use crate::device::SHARED_BYTES;
use crate::folds::array_in_pieces;
use crate::ir::{map_blocks, map_exprs};
use crate::names::{Vars, workspace};
use crate::{BufferId, Claim, Deal, Entry, Expr, How, Kernel, Stmt, Var};
use fiberloom_core::algebra::{Op, Value};

/// Lets blocks fold into copies where a schedule wants it; a comment says of an array why it has none.
pub(super) fn copies_of_blocks(kernel: &mut Kernel) {
    let wants = |var: &Var| {
        kernel.hints.get(var).is_some_and(|of| of.claim == Claim::Temporary && of.deal == Some(Deal::Block))
    };
    let wanted: Vec<Var> = kernel.hints.keys().copied().filter(wants).collect();
    if wanted.is_empty() {
        return;
    }
    let facts = Facts::of(kernel, &kernel.body);
    let body = std::mem::take(&mut kernel.body);
    kernel.body = in_no_loop(body, &mut |stmt| match &stmt {
        Stmt::For { var, body, .. } if wanted.contains(var) && body.iter().any(|inner| has_dealt(kernel, inner)) => {
            of_loop(kernel, &facts, stmt)
        }
        _ => vec![stmt],
    });
}

/// Whether a statement is, or has in it, a loop that is dealt out to units of a GPU.
fn has_dealt(kernel: &Kernel, stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { var, .. } if is_dealt(kernel, *var))
        || stmt.blocks().flatten().any(|inner| has_dealt(kernel, inner))
}

/// A loop whose blocks have copies of the arrays into which its iterations fold.
fn of_loop(kernel: &mut Kernel, facts: &Facts, stmt: Stmt) -> Vec<Stmt> {
    let how = facts.independent(kernel, &stmt).unwrap_or(How::Serial);
    let Stmt::For { var, lo, hi, how: before, mut body } = stmt else { return vec![stmt] };
    let (mut out, mut left) = (vec![], SHARED_BYTES);
    for array in how.arrays() {
        let Some((op, identity)) = array_in_pieces(kernel, &body, *array) else { continue };
        let of = &kernel.buffers[array.0 as usize];
        let (name, ty) = (of.name.clone(), of.ty);
        let length = facts.size(*array);
        let bytes = length.and_then(|length| length.checked_mul(ty.bytes() as u64));
        let (Some(length), Some(bytes)) = (length, bytes) else {
            let why = "the array's length is not a number that is known before it runs";
            out.push(Stmt::Comment(format!("no block has a copy of {name}: {why}")));
            continue;
        };
        let Some(rest) = left.checked_sub(bytes.next_multiple_of(8)) else {
            let why = format!("{bytes} bytes are more than {left}, which a block has left to share");
            out.push(Stmt::Comment(format!("no block has a copy of {name}: {why}")));
            continue;
        };
        left = rest;
        let copy = workspace(kernel, &format!("{name}_block"), ty);
        let copies = Copy { array: *array, copy, length, fold: (op, identity) };
        let mut vars = Vars::of(&mut kernel.vars);
        out.push(Stmt::Call(Entry::Alloc { buffer: copy, len: int(length as i64), fill: None }));
        body = copies.around(body, &mut vars);
    }
    out.push(Stmt::For { var, lo, hi, how: before, body });
    out
}

/// A block's copy of an array.
struct Copy {
    array: BufferId,
    copy: BufferId,
    length: u64,
    /// The function that folds, and what changes nothing.
    fold: (Op, Value),
}

impl Copy {
    /// An iteration that folds into the copy.
    fn around(&self, body: Vec<Stmt>, vars: &mut Vars) -> Vec<Stmt> {
        let load = |b, at| Expr::Load(b, Box::new(Expr::Var(at)));
        let mut each = |store: &dyn Fn(Var) -> Stmt| {
            let var = vars.index("element");
            Stmt::For { var, lo: int(0), hi: int(self.length as i64), how: How::Serial, body: vec![store(var)] }
        };
        let begin = each(&|at| Stmt::Store(self.copy, Expr::Var(at), Expr::Const(self.fold.1)));
        let end = each(&|at| {
            let both = vec![load(self.array, at), load(self.copy, at)];
            Stmt::Store(self.array, Expr::Var(at), Expr::Op(self.fold.0, both))
        });
        std::iter::once(begin).chain(self.moved(body)).chain([end]).collect()
    }

    /// Statements that touch the copy in the place of the array.
    fn moved(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        let loads = |e: &Expr| {
            e.with(&|e| match e {
                Expr::Load(b, at) if *b == self.array => Some(Expr::Load(self.copy, at.clone())),
                _ => None,
            })
        };
        self.stores(map_exprs(block, &loads))
    }

    fn stores(&self, block: Vec<Stmt>) -> Vec<Stmt> {
        let each = |stmt| match stmt {
            Stmt::Store(b, at, e) if b == self.array => Stmt::Store(self.copy, at, e),
            other => other,
        };
        map_blocks(block.into_iter().map(each).collect(), &mut |inner| self.stores(inner))
    }
}
