//! Reverses a loop in which a fold's range begins later in each iteration and keeps its end: in reverse, the range grows (`incremental.rs`).
//!
//! ```text
//!   for i in 0..n_I                                for back in 0..n_I
//!     t = 0.0                                        t = 0.0
//!     for k in i..n_K                      ──▶       for q in 0..n_K - (n_I - 1) + back
//!       t = t + x_vals[k]                              t = t + x_vals[n_K - 1 - q]
//!     y_vals[i] = t                                  y_vals[n_I - 1 - back] = t
//! ```
//!
//! Iterations have to be independent: each sets what it reads, or reads what no iteration stores, and stores to places of its own. The
//! fold may have to be regrouped, since its values come in reverse order.

use super::incremental::{bound, grows, touches};
use super::substitute::uses;
use crate::arith::{binary, int, minus, plus};
use crate::folds::{folded_with, regroups};
use crate::names::Vars;
use crate::{BufferId, Expr, How, Kernel, Stmt, Var, map_blocks, map_exprs};
use fiberloom_core::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Reverses loops whose folds begin later in each iteration.
pub fn downward(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    let hints = kernel.hints.keys().copied().collect();
    let reads = uses(&body, kernel.vars.len());
    let elements = kernel.buffers.iter().map(|b| b.ty).collect();
    let reassociate = kernel.reassociate;
    kernel.body = Downward { vars: Vars::of(&mut kernel.vars), hints, reads, elements, reassociate }.block(body);
}

struct Downward<'k> {
    vars: Vars<'k>,
    /// Loops that a schedule asks to unroll or vectorize: they stay as they are.
    hints: BTreeSet<Var>,
    /// The number of reads of each variable in the kernel.
    reads: Vec<usize>,
    /// The type of each buffer's elements.
    elements: Vec<Type>,
    reassociate: bool,
}

impl Downward<'_> {
    fn block(&mut self, stmts: Vec<Stmt>) -> Vec<Stmt> {
        let block = map_blocks(stmts, &mut |inner| self.block(inner));
        block.into_iter().map(|stmt| self.turned(stmt)).collect()
    }

    /// The loop in reverse, if one of its folds begins later in each iteration.
    fn turned(&mut self, stmt: Stmt) -> Stmt {
        let Stmt::For { var: i, lo, hi, how: How::Serial, body } = stmt else { return stmt };
        if self.hints.contains(&i) || !self.may_turn(i, &lo, &hi, &body) {
            return Stmt::For { var: i, lo, hi, how: How::Serial, body };
        }
        let last = minus(plus(lo.clone(), hi.clone()), int(1));
        let back = self.vars.fresh("back", Type::I64);
        let at = binary(Op::Sub, last.clone(), Expr::Var(back));
        let fold = |stmt: Stmt, of: &mut Self| match stmt {
            Stmt::For { var: k, lo, hi, how, body } if grows(&lo, i) && is_near(&lo) => {
                of.fold(k, (lo, hi, how, body), (i, &last, back))
            }
            other => other,
        };
        let body: Vec<Stmt> = body.into_iter().map(|stmt| fold(stmt, self)).collect();
        let body = replaced(body, i, &at);
        Stmt::For { var: back, lo, hi, how: How::Serial, body }
    }

    /// A fold in reverse, with `i` replaced by `last - back`.
    fn fold(
        &mut self,
        k: Var,
        (lo, hi, how, body): (Expr, Expr, How, Vec<Stmt>),
        (i, last, back): (Var, &Expr, Var),
    ) -> Stmt {
        let name = self.vars.again(k);
        let at = binary(Op::Sub, minus(hi.clone(), int(1)), Expr::Var(name));
        let count = up_to(&hi, &lo, (i, last, back));
        Stmt::For { var: name, lo: int(0), hi: count, how, body: replaced(body, k, &at) }
    }

    fn may_turn(&self, i: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
        let begins_later = |stmt: &Stmt| matches!(stmt, Stmt::For { lo, .. } if grows(lo, i) && is_near(lo));
        let ends_later = |stmt: &Stmt| bound(stmt).is_some_and(|bound| grows(bound, i));
        let folds = body.iter().filter(|stmt| begins_later(stmt));
        let plain = !lo.loads() && !hi.loads();
        let none_grows = !body.iter().any(ends_later);
        let own = Own::of(i, body);
        plain
            && none_grows
            && body.iter().any(begins_later)
            && folds.into_iter().all(|stmt| self.is_fold(stmt, &own))
            && own.is_by_itself(body, &self.reads)
    }

    /// Whether a loop only folds, in any order, up to an end that is the same in each iteration.
    fn is_fold(&self, stmt: &Stmt, own: &Own) -> bool {
        let Stmt::For { var, hi, how: How::Serial | How::Vector, body, .. } = stmt else { return false };
        !self.hints.contains(var) && own.is_fixed(hi) && self.only_folds(body)
    }

    /// Whether statements change variables and buffers only by folding into them, each with one function whose values may come in any
    /// order, and do not read them otherwise.
    fn only_folds(&self, body: &[Stmt]) -> bool {
        let own = Own::of(Var(u32::MAX), body);
        let variable = |v: &Var| {
            let folded = folded_with(body, *v);
            folded.is_some_and(|op| regroups(op, self.vars.ty(*v), self.reassociate))
        };
        let buffer = |b: &BufferId| {
            let mut found = None;
            let folds = stores_fold(body, *b, &mut found);
            folds && found.is_some_and(|op| regroups(op, self.elements[b.0 as usize], self.reassociate))
        };
        own.defined.iter().all(|v| !self.hints.contains(v))
            && own.set.iter().all(variable)
            && own.stored.keys().all(buffer)
            && is_counted(body)
    }
}

/// Whether statements change a buffer only by folding values into its elements with `found`, and do not read it otherwise.
fn stores_fold(block: &[Stmt], b: BufferId, found: &mut Option<Op>) -> bool {
    block.iter().all(|stmt| match stmt {
        Stmt::Store(to, at, e) if *to == b => {
            let held = Expr::Load(b, Box::new(at.clone()));
            let Expr::Op(op, args) = e else { return false };
            let [first, second] = &args[..] else { return false };
            let other = if *first == held { second } else { first };
            let joins = (*first == held || *second == held) && *found.get_or_insert(*op) == *op;
            joins && !other.loads_from(b) && !at.loads()
        }
        _ => stmt.exprs().all(|e| !e.loads_from(b)) && stmt.blocks().all(|inner| stores_fold(inner, b, found)),
    })
}

/// Whether all loops in a block are counted, and it calls nothing.
fn is_counted(block: &[Stmt]) -> bool {
    block.iter().all(|stmt| !matches!(stmt, Stmt::Call(_) | Stmt::While(..)) && stmt.blocks().all(is_counted))
}

/// The variables and buffers that an iteration of a loop changes.
struct Own {
    i: Var,
    defined: BTreeSet<Var>,
    set: BTreeSet<Var>,
    /// The loops in it that begin at 0, with their ends.
    loops: BTreeMap<Var, Expr>,
    /// The index at which an iteration stores to each buffer; `None` if there are several.
    stored: BTreeMap<BufferId, Option<Expr>>,
}

impl Own {
    fn of(i: Var, body: &[Stmt]) -> Own {
        let (defined, set, loops, stored) = Default::default();
        let mut own = Own { i, defined, set, loops, stored };
        own.note(body);
        own
    }

    fn note(&mut self, block: &[Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::Let(v, _) => _ = self.defined.insert(*v),
                Stmt::Set(v, _) => {
                    self.defined.insert(*v);
                    self.set.insert(*v);
                }
                Stmt::For { var, lo, hi, .. } => {
                    self.defined.insert(*var);
                    if *lo == int(0) {
                        self.loops.insert(*var, hi.clone());
                    }
                }
                Stmt::Store(b, at, _) => {
                    let held = self.stored.entry(*b).or_insert_with(|| Some(at.clone()));
                    *held = held.take().filter(|held| held == at);
                }
                Stmt::If(..) | Stmt::While(..) | Stmt::Call(_) | Stmt::Comment(_) => {}
            }
            stmt.blocks().for_each(|inner| self.note(inner));
        }
    }

    /// Whether an expression is the same in each iteration, and before the loop.
    fn is_fixed(&self, e: &Expr) -> bool {
        let mut fixed = !e.loads();
        e.each(&mut |e| fixed &= !matches!(e, Expr::Var(v) if *v == self.i || self.defined.contains(v)));
        fixed
    }

    /// Whether no iteration reads what another one leaves.
    fn is_by_itself(&self, body: &[Stmt], reads: &[usize]) -> bool {
        let here = uses(body, reads.len());
        let left = |v: &Var| reads.get(v.0 as usize) != here.get(v.0 as usize);
        let own_places = self.stored.values().all(|at| at.as_ref().is_some_and(|at| self.is_own(at)));
        own_places && self.set.iter().all(|v| !left(v) && begins(body, *v)) && self.reads_own(body) && is_plain(body)
    }

    /// Whether each iteration has an index of its own: it steps with the loop, or is in a row that does.
    fn is_own(&self, at: &Expr) -> bool {
        let row = |e: &Expr| match e {
            Expr::Op(Op::Mul, args) => self.steps(&args[0]).then(|| args[1].clone()),
            _ => None,
        };
        let in_row = |e: &Expr, j: &Expr| {
            let Expr::Var(j) = j else { return false };
            row(e).is_some_and(|width| self.is_fixed(&width) && self.loops.get(j) == Some(&width))
        };
        self.steps(at)
            || matches!(at, Expr::Op(Op::Add, args) if in_row(&args[0], &args[1]) || in_row(&args[1], &args[0]))
    }

    /// Whether an expression is the loop's variable plus a fixed expression.
    fn steps(&self, e: &Expr) -> bool {
        match e {
            Expr::Var(v) => *v == self.i,
            Expr::Op(Op::Add, args) => {
                let [a, b] = [&args[0], &args[1]];
                args.len() == 2 && (self.steps(a) && self.is_fixed(b) || self.is_fixed(a) && self.steps(b))
            }
            Expr::Op(Op::Sub, args) => self.steps(&args[0]) && self.is_fixed(&args[1]),
            _ => false,
        }
    }

    /// Whether an iteration reads stored buffers only at its own index.
    fn reads_own(&self, block: &[Stmt]) -> bool {
        let own = |e: &Expr| {
            let mut own = true;
            e.each(&mut |e| {
                own &= match e {
                    Expr::Load(b, at) => self.stored.get(b).is_none_or(|place| place.as_ref() == Some(at)),
                    Expr::Among(_, b, _) => !self.stored.contains_key(b),
                    _ => true,
                }
            });
            own
        };
        block.iter().all(|stmt| stmt.exprs().all(own) && stmt.blocks().all(|inner| self.reads_own(inner)))
    }
}

/// Whether statements call nothing.
fn is_plain(block: &[Stmt]) -> bool {
    block.iter().all(|stmt| !matches!(stmt, Stmt::Call(_)) && stmt.blocks().all(is_plain))
}

/// Whether the first use of a variable in a block is to set it.
pub(crate) fn begins(block: &[Stmt], v: Var) -> bool {
    let touches = |stmt: &Stmt| touches(stmt, v);
    match block.iter().find(|stmt| touches(stmt)) {
        Some(Stmt::Set(_, e)) => !e.reads(v),
        // Only one statement of the block uses it.
        Some(stmt) if block.iter().filter(|stmt| touches(stmt)).count() == 1 => {
            !stmt.exprs().any(|e| e.reads(v))
                && stmt.blocks().all(|inner| !inner.iter().any(touches) || begins(inner, v))
        }
        Some(_) => false,
        None => true,
    }
}

/// Whether each number in a bound is less than 2⁶²: its distance to a coordinate fits 64 bits, as its arguments' do.
fn is_near(bound: &Expr) -> bool {
    match bound {
        Expr::Const(c) => c.as_i64().is_some_and(|c| c.unsigned_abs() < 1 << 62),
        Expr::Op(_, args) => args.iter().all(is_near),
        _ => true,
    }
}

/// The distance from a bound that grows with `i` to `end`, as an expression that grows with `back`, where `i` is `last - back`.
fn up_to(end: &Expr, bound: &Expr, (i, last, back): (Var, &Expr, Var)) -> Expr {
    let to = (i, last, back);
    match bound {
        Expr::Var(v) if *v == i => plus(minus(end.clone(), last.clone()), Expr::Var(back)),
        Expr::Op(Op::Add, args) if args[0].reads(i) => up_to(&minus(end.clone(), args[1].clone()), &args[0], to),
        Expr::Op(Op::Add, args) => up_to(&minus(end.clone(), args[0].clone()), &args[1], to),
        Expr::Op(Op::Sub, args) => up_to(&plus(end.clone(), args[1].clone()), &args[0], to),
        Expr::Op(op @ (Op::Min | Op::Max), args) => {
            let other = if *op == Op::Min { Op::Max } else { Op::Min };
            binary(other, up_to(end, &args[0], to), up_to(end, &args[1], to))
        }
        fixed => minus(end.clone(), fixed.clone()),
    }
}

/// Statements with a variable replaced by an expression.
fn replaced(block: Vec<Stmt>, v: Var, by: &Expr) -> Vec<Stmt> {
    map_exprs(block, &|e| in_place(e, v, by))
}

/// An expression with a variable replaced by another expression.
pub(super) fn in_place(e: &Expr, v: Var, by: &Expr) -> Expr {
    e.with(&|e| (*e == Expr::Var(v)).then(|| by.clone()))
}
