//! Ends folds as soon as no further iteration can change them.
//!
//! ```text
//!   t = false                                        t = false
//!   while p < end && q < end_2                       while p < end && q < end_2 && !t
//!     t = t || …                            ──▶        t = t || …
//!   for p in A1_pos[i]..A1_pos[i + 1]                p = A1_pos[i]; let end = A1_pos[i + 1]
//!     t = t || x_vals[A1_crd[p]]                     while p < end && !t
//!                                                      t = t || x_vals[A1_crd[p]]; p = p + 1
//! ```
//!
//! *Absorbed*: once `t` is an annihilator of its fold, each further iteration leaves it so. The loops must do nothing else: other
//! variables that they set, such as cursors, are read only by the loops themselves. Loops around them and inside of them end for the same
//! reason.
//!
//! Only folds of truth values and products of whole numbers reach an annihilator often enough to test for it in each iteration, and stay
//! there in any case; for floats, 0 times NaN is NaN. A loop over consecutive memory without a branch, which vectorizes, is not
//! rewritten: the test would cost more.

use super::substitute::uses;
use crate::arith::plus;
use crate::names::Vars;
use crate::{Expr, How, Kernel, Stmt, Var, fold_of, gathers, map_blocks};
use fiberloom_core::algebra::{Mode, Op, Type, Value, properties};
use std::collections::BTreeSet;

/// Ends loops whose folds no further iteration can change.
pub fn early_exits(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    kernel.body = Exits { uses: uses(&body, kernel.vars.len()), vars: Vars::of(&mut kernel.vars) }.block(body);
}

struct Exits<'k> {
    /// The number of reads of each variable in the kernel.
    uses: Vec<usize>,
    vars: Vars<'k>,
}

/// A variable into which values are folded, and the annihilator of the fold.
#[derive(Clone, Copy, PartialEq)]
struct Absorbed {
    t: Var,
    by: Value,
}

impl Exits<'_> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        if self.folded(&stmts).is_empty() {
            return stmts;
        }
        let mut out: Vec<Stmt> = Vec::with_capacity(stmts.len());
        let parts = self.parts(&stmts);
        let mut rest = stmts.into_iter();
        for (n, absorbed) in parts {
            let part: Vec<Stmt> = rest.by_ref().take(n).collect();
            out.extend(match absorbed {
                Some(absorbed) => self.all_ended(part, absorbed),
                None => map_blocks(part, &mut |inner| self.block(inner)),
            });
        }
        out
    }

    /// The parts of a block: the number of statements of each, and the value at which their loops end, if there is one.
    fn parts(&self, mut stmts: &[Stmt]) -> Vec<(usize, Option<Absorbed>)> {
        let mut parts = Vec::new();
        while !stmts.is_empty() {
            let (n, absorbed) = self.region(stmts).map_or((1, None), |(n, absorbed)| (n, Some(absorbed)));
            parts.push((n, absorbed));
            stmts = &stmts[n..];
        }
        parts
    }

    /// The number of statements, from a loop on, that may end together, and the value at which they do: up to the last statement that
    /// reads a variable which those before it set.
    fn region(&self, stmts: &[Stmt]) -> Option<(usize, Absorbed)> {
        let (Stmt::While(..) | Stmt::For { .. }) = &stmts[0] else { return None };
        let absorbed = self.folded(&stmts[..1]).into_iter().find_map(|t| self.absorbed(t, &stmts[..1]))?;
        let mut n = 1;
        loop {
            let region = &stmts[..n];
            if self.absorbed(absorbed.t, region) != Some(absorbed) || !region.iter().all(is_quiet) {
                return None;
            }
            let here = uses(region, self.uses.len());
            let read_elsewhere = |v: &Var| self.uses[v.0 as usize] != here[v.0 as usize];
            let Some(v) = set_by(region).into_iter().find(|v| *v != absorbed.t && read_elsewhere(v)) else {
                return Some((n, absorbed));
            };
            let reads = |s: &Stmt| uses(std::slice::from_ref(s), self.uses.len())[v.0 as usize] > 0;
            n += 1 + stmts[n..].iter().position(reads)?;
        }
    }

    /// The variables that statements fold into with a function that has an annihilator.
    fn folded(&self, stmts: &[Stmt]) -> BTreeSet<Var> {
        let mut all = BTreeSet::new();
        stmts.iter().for_each(|s| s.each_set(&mut |v, e| all.extend(self.folds(v, e).map(|_| v))));
        all
    }

    /// The annihilator, if statements set a variable only by folding into it with functions of that annihilator.
    fn absorbed(&self, t: Var, stmts: &[Stmt]) -> Option<Absorbed> {
        let mut all: Vec<Option<Value>> = Vec::new();
        stmts.iter().for_each(|s| s.each_set(&mut |v, e| all.extend((v == t).then(|| self.folds(t, e)))));
        let by = all.first().copied()??;
        all.iter().all(|found| *found == Some(by)).then_some(Absorbed { t, by })
    }

    /// The annihilator of `f`, if `e` is `f(t, …)`.
    fn folds(&self, t: Var, e: &Expr) -> Option<Value> {
        let (op, _) = fold_of(t, e)?;
        let ty = self.vars.ty(t);
        // Statements behind the loop fold in other values; for floats these may be NaN.
        let asked = ty == Type::Bool || !ty.is_float() && matches!(op, Op::Mul | Op::And | Op::Or);
        if !asked {
            return None;
        }
        // Integers and truth values have the same properties in both modes.
        let known = properties(op, ty, Mode::Strict).annihilators;
        let (_, by, _) = known.into_iter().find(|(at, by, result)| *at == 0 && by == result)?;
        Some(by)
    }

    fn all_ended(&mut self, stmts: Vec<Stmt>, absorbed: Absorbed) -> Vec<Stmt> {
        stmts.into_iter().flat_map(|stmt| self.ended(stmt, absorbed)).collect()
    }

    /// The statement, with loops that end once the fold is absorbed.
    fn ended(&mut self, stmt: Stmt, absorbed: Absorbed) -> Vec<Stmt> {
        let mut changes = false;
        stmt.each_set(&mut |v, _| changes |= v == absorbed.t);
        match stmt {
            stmt if !changes => self.block(vec![stmt]),
            Stmt::While(c, body) => vec![Stmt::While(both(c, absorbed.goes_on()), self.all_ended(body, absorbed))],
            Stmt::For { var, lo, hi, how: How::Serial, body } if !is_streamed(&body) => {
                let (p, end) = (self.vars.fresh("next", Type::I64), self.vars.fresh("end", Type::I64));
                let mut turn = vec![Stmt::Let(var, Expr::Var(p))];
                turn.extend(self.all_ended(body, absorbed));
                turn.push(Stmt::Set(p, plus(Expr::Var(p), Expr::Const(Value::i64(1)))));
                let more = Expr::Op(Op::Lt, vec![Expr::Var(p), Expr::Var(end)]);
                let turns = Stmt::While(both(more, absorbed.goes_on()), turn);
                vec![Stmt::Let(end, hi), Stmt::Set(p, lo), turns]
            }
            Stmt::If(c, yes, no) => {
                vec![Stmt::If(c, self.all_ended(yes, absorbed), self.all_ended(no, absorbed))]
            }
            stmt => vec![stmt],
        }
    }
}

impl Absorbed {
    /// The condition that another iteration may change the variable.
    fn goes_on(self) -> Expr {
        let t = Expr::Var(self.t);
        match self.by {
            by if by.ty() != Type::Bool => Expr::Op(Op::Ne, vec![t, Expr::Const(by)]),
            by if by.is_true() => Expr::Op(Op::Not, vec![t]),
            _ => t,
        }
    }
}

fn both(a: Expr, b: Expr) -> Expr {
    Expr::Op(Op::AndAlso, vec![a, b])
}

/// Whether a statement changes only variables.
fn is_quiet(stmt: &Stmt) -> bool {
    !matches!(stmt, Stmt::Store(..) | Stmt::Call(_)) && stmt.blocks().flatten().all(is_quiet)
}

/// The variables that statements set.
fn set_by(stmts: &[Stmt]) -> BTreeSet<Var> {
    let mut all = BTreeSet::new();
    let mut note = |v, _: &Expr| {
        all.insert(v);
    };
    stmts.iter().for_each(|s| s.each_set(&mut note));
    all
}

/// Whether a loop only folds, and reads consecutive memory.
fn is_streamed(body: &[Stmt]) -> bool {
    body.iter().all(|s| matches!(s, Stmt::Set(..))) && !gathers(body)
}
