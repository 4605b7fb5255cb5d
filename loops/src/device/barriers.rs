//! Barriers of a block: where its threads wait for one another.
//!
//! ```text
//!   parallel for k in 0..64 { w[k] = … }              parallel for k in 0..64 { w[k] = … }
//!                                              ──▶    barrier
//!   parallel for j in 0..m { … w[…] … }               parallel for j in 0..m { … w[…] … }
//! ```
//!
//! Between two accesses of one array by threads of a block, of which one writes, a barrier stands, but where both are by the first thread, or
//! both are read-modify-writes. Iterations of a parallel loop are independent: none is needed between those of one. All threads come to each
//! barrier, as it stands in no loop that is dealt out to them, and conditions around have the same value in all threads.

use super::{Folded, folds_at_once, grid};
use crate::arith::int;
use crate::{BufferId, Expr, Kernel, Stmt, Var, folded_values};
use std::collections::BTreeSet;

/// How threads of a block access an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Way {
    /// They read it.
    Read,
    /// The first thread writes it.
    First,
    /// Each writes elements of its own.
    Each,
    /// They fold into its elements.
    Atomic,
}

impl Way {
    /// Whether a barrier has to stand between two accesses of an array.
    fn waits_for(self, before: Way) -> bool {
        self != before || self == Way::Each
    }
}

/// The accesses since the last barrier.
pub(super) type Accesses = BTreeSet<(BufferId, Way)>;

/// Puts barriers into what the threads of a block run.
pub(super) struct Barriers<'k> {
    pub kernel: &'k Kernel,
    /// The arrays that iterations write.
    pub written: &'k BTreeSet<BufferId>,
    /// The arrays into whose elements threads fold at once.
    pub atomics: &'k [Folded],
    /// The variable that is set where a barrier stands.
    pub meet: Var,
}

impl Barriers<'_> {
    /// The iteration of a launched loop with barriers. A block that has run one runs another: of it only these workspaces are the same.
    pub fn iteration(&self, body: &[Stmt], before: Accesses, workspaces: &[BufferId]) -> Vec<Stmt> {
        let kept = |after: &Accesses| after.iter().filter(|(b, _)| workspaces.contains(b)).copied().collect();
        self.settled(before, |state| self.block(body, state), kept).0
    }

    /// What is the same before and behind a loop's body, whatever the number of iterations; and the body.
    fn settled(
        &self,
        mut before: Accesses,
        body: impl Fn(&mut Accesses) -> Vec<Stmt>,
        kept: impl Fn(&Accesses) -> Accesses,
    ) -> (Vec<Stmt>, Accesses) {
        loop {
            let mut state = before.clone();
            let made = body(&mut state);
            let next: Accesses = before.union(&kept(&state)).copied().collect();
            if next == before {
                return (made, before.union(&state).copied().collect());
            }
            before = next;
        }
    }

    fn block(&self, block: &[Stmt], state: &mut Accesses) -> Vec<Stmt> {
        let mut out = vec![];
        for stmt in block {
            let here = self.accesses(stmt);
            let waits =
                here.iter().any(|(b, way)| state.iter().any(|(other, before)| b == other && way.waits_for(*before)));
            if waits {
                out.push(Stmt::Set(self.meet, int(0)));
                state.clear();
            }
            state.extend(here);
            out.push(self.inside(stmt, state));
        }
        out
    }

    /// A statement with barriers in its blocks.
    fn inside(&self, stmt: &Stmt, state: &mut Accesses) -> Stmt {
        match stmt {
            Stmt::If(c, yes, no) => {
                let mut other = state.clone();
                let (yes, no) = (self.block(yes, state), self.block(no, &mut other));
                state.extend(other);
                Stmt::If(c.clone(), yes, no)
            }
            Stmt::While(c, body) => {
                // The condition is evaluated behind each iteration.
                let again = |state: &mut Accesses| {
                    let mut made = self.block(body, state);
                    made.extend(self.block(&[Stmt::If(c.clone(), vec![], vec![])], state));
                    made.pop();
                    made
                };
                let (body, after) = self.settled(std::mem::take(state), again, Accesses::clone);
                *state = after;
                Stmt::While(c.clone(), body)
            }
            Stmt::For { var, lo, hi, how, body } if grid::unit(self.kernel, (*var, how, body)).is_none() => {
                let kept = |after: &Accesses| if how.is_apart() { Accesses::new() } else { after.clone() };
                let (body, after) = self.settled(std::mem::take(state), |state| self.block(body, state), kept);
                *state = after;
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how: how.clone(), body }
            }
            _ => stmt.clone(),
        }
    }

    /// The accesses of arrays that are written, of a statement without its blocks; with them, of a loop that is dealt out.
    fn accesses(&self, stmt: &Stmt) -> Accesses {
        let mut all = Accesses::new();
        match stmt {
            Stmt::For { var, how, body, .. } if grid::unit(self.kernel, (*var, how, body)).is_some() => {
                self.note(stmt, Way::Each, &mut all);
            }
            _ => self.note_here(stmt, Way::First, &mut all),
        }
        all
    }

    fn note(&self, stmt: &Stmt, stores: Way, all: &mut Accesses) {
        self.note_here(stmt, stores, all);
        stmt.blocks().flatten().for_each(|inner| self.note(inner, stores, all));
    }

    fn note_here(&self, stmt: &Stmt, stores: Way, all: &mut Accesses) {
        let mut reads = |e: &Expr| {
            e.each(&mut |e| {
                if let Expr::Load(b, _) | Expr::Among(_, b, _) = e
                    && self.written.contains(b)
                {
                    all.insert((*b, Way::Read));
                }
            });
        };
        match stmt {
            Stmt::Store(b, at, e) if folds_at_once(self.atomics, (*b, at), e) => {
                reads(at);
                folded_values(e, (*b, at)).into_iter().flat_map(|(_, values)| values).for_each(reads);
                all.insert((*b, Way::Atomic));
            }
            _ => {
                stmt.exprs().for_each(reads);
                if let Stmt::Store(b, ..) = stmt {
                    all.insert((*b, stores));
                }
            }
        }
    }
}

/// Whether statements have a barrier: they set its variable.
pub(super) fn has_barrier(block: &[Stmt], meet: Var) -> bool {
    let mut found = false;
    block.iter().for_each(|stmt| stmt.each_set(&mut |v, _| found |= v == meet));
    found
}
