//! A warp an iteration, whose lanes share the loops that a schedule names (`lane for`).
//!
//! ```text
//!   t = 0.0                                    t = 0.0
//!                                              if lane != 0 { t = -0.0 }                    which changes no sum
//!   lane for p in pos[i]..pos[i + 1]   ──▶     at = pos[i] + lane
//!     t = t + A[p]                             while at < pos[i + 1] { let p = at; t = t + A[p]; at = at + 32 }
//!                                              t = the fold of all lanes' t                 a `Join`: shuffles
//!   y[i] = t                                   if lane == 0 { y[i] = t }
//! ```
//!
//! All lanes run all other statements, on the same values; one of them stores. So iterations may not read what they write, nor fail. Lanes
//! also share a loop whose iterations, and those of the loops around it, are shown to be independent (`lane parallel for`): each lane stores
//! what its own iterations store. (Bell and Garland, *Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors*, SC
//! 2009, call this form of a product a vector kernel.)

use super::{Folded, Used, grid, marked};
use crate::arith::{binary, int};
use crate::rewrites::{begins, uses};
use crate::{BufferId, Deal, Expr, Kernel, Stmt, Var, accumulates};
use fiberloom_core::algebra::{Op, Value, neutral};
use std::collections::BTreeSet;

/// The lanes of a warp.
pub(super) const WARP: i64 = 32;

/// A fold over the lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// The variable of the loop behind which the lanes join what they have.
    pub behind: Var,
    /// What each lane has a part of, and all of it afterwards.
    pub into: Var,
    /// The function that joins two parts.
    pub op: Op,
}

/// A loop that lanes share, by its variable: into what it folds, with which function, from which value on.
pub(super) type Shared = (Var, Vec<(Var, Op, Value)>);

/// The loops of an iteration with this body that lanes share: none, if one of its statements forbids it. The iteration is a part of one
/// whose body is `whole`.
pub(super) fn shared(kernel: &Kernel, (whole, body): (&[Stmt], &[Stmt]), atomics: &[Folded]) -> Vec<Shared> {
    if !are_apart(kernel, body, atomics) {
        return vec![];
    }
    let mut found = Find { kernel, whole: uses(whole, kernel.vars.len()), all: vec![] };
    body.iter().for_each(|stmt| found.find(stmt, true));
    found.all
}

/// Whether no lane of a warp that runs these statements reads what another writes: an array that is read and written is touched in one loop
/// alone whose iterations lanes share, and which are independent.
pub(super) fn are_apart(kernel: &Kernel, body: &[Stmt], atomics: &[Folded]) -> bool {
    let all = Used::apart(body, atomics);
    let mut parts = Parts { kernel, atomics, rest: Used::default(), shared: vec![] };
    body.iter().for_each(|stmt| parts.note(stmt, true));
    let touching = |b: &BufferId| parts.shared.iter().filter(|of| of.buffers.contains(b)).count();
    all.written.intersection(&all.loaded).all(|b| !parts.rest.buffers.contains(b) && touching(b) == 1)
}

/// What an iteration uses: in each loop with independent iterations that lanes share, and elsewhere.
struct Parts<'k> {
    kernel: &'k Kernel,
    atomics: &'k [Folded],
    rest: Used,
    shared: Vec<Used>,
}

impl Parts<'_> {
    /// Notes a statement; `apart`: no iteration of a loop around it waits for another.
    fn note(&mut self, stmt: &Stmt, apart: bool) {
        let mut inside = apart && !matches!(stmt, Stmt::While(..));
        self.rest.note_here(stmt, self.atomics);
        if let Stmt::For { var, how, body, .. } = stmt {
            inside = apart && how.is_apart();
            if apart && grid::is_dealt(self.kernel, (*var, how), Deal::Lane) {
                return self.shared.push(Used::apart(body, self.atomics));
            }
        }
        stmt.blocks().flatten().for_each(|inner| self.note(inner, inside));
    }
}

struct Find<'k> {
    kernel: &'k Kernel,
    /// The number of reads of each variable.
    whole: Vec<usize>,
    all: Vec<Shared>,
}

impl Find<'_> {
    /// Finds loops in a statement; `apart`: no iteration of a loop around it waits for another.
    fn find(&mut self, stmt: &Stmt, apart: bool) {
        let mut inside = apart && !matches!(stmt, Stmt::While(..));
        if let Stmt::For { var, body, how, .. } = stmt {
            inside = apart && how.is_apart();
            if marked(self.kernel, *var) == Some(Deal::Lane) {
                if apart && grid::is_dealt(self.kernel, (*var, how), Deal::Lane) {
                    return self.all.push((*var, vec![]));
                }
                if let Some(folds) = self.folds(body) {
                    return self.all.push((*var, folds));
                }
            }
        }
        stmt.blocks().flatten().for_each(|inner| self.find(inner, inside));
    }

    /// Into what a loop's body folds, if it does nothing else that is seen behind it.
    fn folds(&self, body: &[Stmt]) -> Option<Vec<(Var, Op, Value)>> {
        let mut set = BTreeSet::new();
        body.iter().for_each(|stmt| stmt.each_set(&mut |v, _| _ = set.insert(v)));
        Used::of(body).written.is_empty().then_some(())?;
        let here = uses(body, self.whole.len());
        // Each iteration sets these before it reads them, and nothing else reads them.
        set.retain(|v| here[v.0 as usize] != self.whole[v.0 as usize] || !begins(body, *v));
        set.into_iter()
            .map(|v| {
                let op = accumulates(self.kernel, body, v)?;
                Some((v, op, neutral(op, self.kernel.vars[v.0 as usize].1)?))
            })
            .collect()
    }
}

/// An iteration's statements for a lane of its warp, and the folds over lanes. `new` makes a variable.
pub(super) fn spread(
    body: &[Stmt],
    shared: &[Shared],
    lane: Var,
    new: &mut dyn FnMut(&str) -> Var,
) -> (Vec<Stmt>, Vec<Join>) {
    let mut spread = Spread { shared, lane, new, joins: vec![] };
    (spread.block(body), spread.joins)
}

struct Spread<'s> {
    shared: &'s [Shared],
    lane: Var,
    new: &'s mut dyn FnMut(&str) -> Var,
    joins: Vec<Join>,
}

impl Spread<'_> {
    fn block(&mut self, block: &[Stmt]) -> Vec<Stmt> {
        block.iter().flat_map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        vec![match stmt {
            Stmt::For { var, lo, hi, how, body } => {
                let shared = self.shared.iter().find(|(shared, _)| shared == var);
                if let Some((_, folds)) = shared {
                    return self.share(*var, [lo, hi], body, folds);
                }
                let body = self.block(body);
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how: how.clone(), body }
            }
            Stmt::Store(..) => Stmt::If(self.is_first(), vec![stmt.clone()], vec![]),
            Stmt::If(c, yes, no) => Stmt::If(c.clone(), self.block(yes), self.block(no)),
            Stmt::While(c, body) => Stmt::While(c.clone(), self.block(body)),
            Stmt::Let(..) | Stmt::Set(..) | Stmt::Call(_) | Stmt::Comment(_) => stmt.clone(),
        }]
    }

    /// A loop of which each lane runs every 32nd iteration.
    fn share(&mut self, var: Var, [lo, hi]: [&Expr; 2], body: &[Stmt], folds: &[(Var, Op, Value)]) -> Vec<Stmt> {
        let start = |(into, _, start): &(Var, Op, Value)| Stmt::Set(*into, Expr::Const(*start));
        let turn = ([lo, hi], Expr::Var(self.lane), int(WARP));
        let (at, run) = grid::every(var, turn, body.to_vec(), self.new);
        self.joins.extend(folds.iter().map(|(into, op, _)| Join { behind: at, into: *into, op: *op }));
        let mut out: Vec<Stmt> = vec![];
        if !folds.is_empty() {
            out.push(Stmt::If(self.is_first(), vec![], folds.iter().map(start).collect()));
        }
        out.extend(run);
        out
    }

    fn is_first(&self) -> Expr {
        binary(Op::Eq, Expr::Var(self.lane), int(0))
    }
}
