//! A warp an iteration, whose lanes share the loops that a schedule names (`warp for`).
//!
//! ```text
//!   t = 0.0                                    t = 0.0
//!                                              if lane != 0 { t = 0.0 }                     the function's identity
//!   warp for p in pos[i]..pos[i + 1]   ──▶     at = pos[i] + lane
//!     t = t + A[p]                             while at < pos[i + 1] { let p = at; t = t + A[p]; at = at + 32 }
//!                                              t = the fold of all lanes' t                 a `Join`: shuffles
//!   y[i] = t                                   if lane == 0 { y[i] = t }
//! ```
//!
//! All lanes run all other statements, on the same values; one of them stores. So iterations may not read what they write, nor fail. (Bell and
//! Garland, *Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors*, SC 2009, call this form of a product a vector
//! kernel.)

use super::Used;
use crate::algebra::{Op, Value, identity};
use crate::loops::arith::{binary, int};
use crate::loops::{BufferId, Expr, Kernel, Stmt, Var, accumulates};
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

/// The loops of an iteration that lanes share: none, if one of its statements forbids it.
pub(super) fn shared(kernel: &Kernel, body: &[Stmt]) -> Vec<Shared> {
    let used = Used::of(body);
    if used.reads_what_it_writes() {
        return vec![];
    }
    let mut all = vec![];
    body.iter().for_each(|stmt| find(kernel, stmt, &mut all));
    all
}

fn find(kernel: &Kernel, stmt: &Stmt, all: &mut Vec<Shared>) {
    if let Stmt::For { var, body, .. } = stmt
        && kernel.hints.get(var).is_some_and(|hints| hints.warp)
        && let Some(folds) = folds(kernel, body)
    {
        return all.push((*var, folds));
    }
    stmt.blocks().flatten().for_each(|inner| find(kernel, inner, all));
}

/// Into what a loop's body folds, if it does nothing else that is seen behind it.
fn folds(kernel: &Kernel, body: &[Stmt]) -> Option<Vec<(Var, Op, Value)>> {
    let mut set = BTreeSet::new();
    body.iter().for_each(|stmt| stmt.each_set(&mut |v, _| _ = set.insert(v)));
    Used::of(body).written.is_empty().then_some(())?;
    set.into_iter()
        .map(|v| {
            let op = accumulates(kernel, body, v)?;
            Some((v, op, identity(op, kernel.vars[v.0 as usize].1)?))
        })
        .collect()
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
        let (at, end) = ((self.new)("at"), (self.new)("end"));
        let start = |(into, _, start): &(Var, Op, Value)| Stmt::Set(*into, Expr::Const(*start));
        let mut each = vec![Stmt::Let(var, Expr::Var(at))];
        each.extend(body.iter().cloned());
        each.push(Stmt::Set(at, binary(Op::Add, Expr::Var(at), int(WARP))));
        self.joins.extend(folds.iter().map(|(into, op, _)| Join { behind: at, into: *into, op: *op }));
        vec![
            Stmt::If(self.is_first(), vec![], folds.iter().map(start).collect()),
            Stmt::Let(end, hi.clone()),
            Stmt::Set(at, binary(Op::Add, lo.clone(), Expr::Var(self.lane))),
            Stmt::While(binary(Op::Lt, Expr::Var(at), Expr::Var(end)), each),
        ]
    }

    fn is_first(&self) -> Expr {
        binary(Op::Eq, Expr::Var(self.lane), int(0))
    }
}

impl Used {
    /// Whether statements load elements of a buffer that they store to.
    fn reads_what_it_writes(&self) -> bool {
        let loaded = |b: &BufferId| self.loaded.contains(b);
        self.written.iter().any(loaded)
    }
}
