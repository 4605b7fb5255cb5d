//! Entries that the lanes of a warp load side by side, and hand to one another.
//!
//! ```text
//!   for p in lo..hi {                        begin = lo
//!     t = t + A[p] * X[crd[p] + k]           while begin < hi {
//!   }                                ──▶       mine = min(begin + lane, hi - 1)
//!                                              a = A[mine]; c = crd[mine]                     each lane has an entry
//!                                              for p in begin..min(begin + 32, hi) {
//!                                                a_2 = a of lane p - begin; c_2 = …           a `Hand`: shuffles
//!                                                t = t + a_2 * X[c_2 + k]
//!                                              }
//!                                              begin = begin + 32
//!                                            }
//! ```
//!
//! What the first lane would store at `p` the lane `p - begin` keeps, and all store theirs side by side behind the turn.
//!
//! A warp whose lanes all run a loop over the same entries would load one entry after the other, each from a segment of memory with thirty
//! others. All lanes come to each shuffle: the loop stands where what decides the way has one value in all lanes.

use super::Used;
use super::lanes::Shared;
use crate::{BufferId, Expr, Kernel, Stmt, Var};
use fiberloom_core::algebra::Op;
use std::collections::BTreeSet;

/// A value that a lane takes from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hand {
    /// The variable that is defined as the value.
    pub into: Var,
    /// The number of the lane whose value it is.
    pub from: Var,
}

/// What has one value in all lanes of a warp.
pub(super) struct Alike<'k> {
    kernel: &'k Kernel,
    /// The arrays that iterations write.
    written: BTreeSet<BufferId>,
    /// Those that one statement writes, and none reads.
    stored_once: BTreeSet<BufferId>,
    /// The variables that may have several.
    varying: BTreeSet<Var>,
}

impl<'k> Alike<'k> {
    /// Of a part of an iteration that is `whole`, with this body, of which lanes share some loops.
    pub fn of(kernel: &'k Kernel, whole: &[Stmt], body: &[Stmt], shared: &[Shared]) -> Alike<'k> {
        let Used { written, loaded, .. } = Used::of(whole);
        let stored_once = written.difference(&loaded).copied().filter(|b| stores(whole, *b) == 1).collect();
        let mut alike =
            Alike { kernel, written, stored_once, varying: shared.iter().map(|shared| shared.var).collect() };
        loop {
            let before = alike.varying.len();
            body.iter().for_each(|stmt| alike.note(stmt, true, shared));
            if alike.varying.len() == before {
                return alike;
            }
        }
    }

    /// Notes the variables that a statement defines; `together`: all lanes come there.
    fn note(&mut self, stmt: &Stmt, together: bool, shared: &[Shared]) {
        let together = match stmt {
            Stmt::Let(v, e) | Stmt::Set(v, e) => {
                if !together || !self.is(e) {
                    self.varying.insert(*v);
                }
                together
            }
            Stmt::For { var, lo, hi, .. } => {
                let folds = shared.iter().any(|of| of.var == *var && !of.folds.is_empty());
                let inside = together && !folds && self.is(lo) && self.is(hi);
                if !inside {
                    self.varying.insert(*var);
                }
                inside
            }
            Stmt::If(c, ..) | Stmt::While(c, _) => together && self.is(c),
            Stmt::Store(..) | Stmt::Call(_) | Stmt::Comment(_) => together,
        };
        stmt.blocks().flatten().for_each(|inner| self.note(inner, together, shared));
    }

    /// Whether an expression has one value in all lanes.
    pub fn is(&self, e: &Expr) -> bool {
        let mut all = true;
        e.each(&mut |e| match e {
            Expr::Var(v) => all &= !self.varying.contains(v),
            Expr::Load(b, _) | Expr::Among(_, b, _) => all &= !self.written.contains(b),
            Expr::Const(_) | Expr::Capacity(_) | Expr::Op(..) => {}
        });
        all
    }

    /// Whether one statement of iterations writes an array, and none reads it.
    pub fn is_stored_once(&self, b: BufferId) -> bool {
        self.stored_once.contains(&b)
    }

    /// The arrays of which each iteration of a loop loads the element at the loop's variable.
    pub fn entries(&self, var: Var, body: &[Stmt]) -> Vec<BufferId> {
        let asked = self.kernel.hints.get(&var).is_some_and(|hints| hints.unroll > 0 || hints.lanes);
        let mut all = BTreeSet::new();
        if !asked {
            body.iter().flat_map(Stmt::exprs).for_each(|e| self.note_entries(var, e, &mut all));
        }
        all.into_iter().collect()
    }

    fn note_entries(&self, var: Var, e: &Expr, all: &mut BTreeSet<BufferId>) {
        match e {
            Expr::Load(b, at) if **at == Expr::Var(var) && !self.written.contains(b) => _ = all.insert(*b),
            Expr::Load(_, at) => self.note_entries(var, at, all),
            Expr::Among(_, _, parts) => parts.iter().for_each(|part| self.note_entries(var, part, all)),
            Expr::Op(Op::AndAlso | Op::OrElse | Op::Select, args) => self.note_entries(var, &args[0], all),
            Expr::Op(_, args) => args.iter().for_each(|arg| self.note_entries(var, arg, all)),
            Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => {}
        }
    }
}

/// The number of statements that write an array.
fn stores(block: &[Stmt], b: BufferId) -> usize {
    let each = |stmt: &Stmt| {
        let own = matches!(stmt, Stmt::Store(of, ..) if *of == b);
        usize::from(own) + stmt.blocks().map(|inner| stores(inner, b)).sum::<usize>()
    };
    block.iter().map(each).sum()
}
