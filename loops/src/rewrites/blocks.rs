//! Joins consecutive fibers that are appended as a whole to one block.
//!
//! ```text
//!   for i in 0..n_I                                   let shift = c - A1_pos[0]
//!     for p in A1_pos[i]..A1_pos[i + 1]                for i in 0..n_I
//!       C_vals[c] = A_vals[p]                   ──▶      C1_pos[i + 1] = shift + A1_pos[i + 1]
//!       c = c + 1                                      for p in A1_pos[0]..A1_pos[n_I]
//!     C1_pos[i + 1] = c                                  C_vals[c] = A_vals[p]
//!                                                        c = c + 1
//! ```
//!
//! Each iteration of the inner loop appends one entry, so at a fiber's end the number of appended entries is the fiber's position,
//! shifted. So one loop copies the positions, which vectorizes, and another the entries, over the consecutive fibers, as in `collapse`. An
//! entry must not depend on its fiber.

use super::collapse::{Known, replaced};
use super::substitute::uses;
use crate::arith::plus;
use crate::names::Vars;
use crate::{BufferId, Expr, How, Kernel, Stmt, Var, bare, map_blocks};
use fiberloom_core::algebra::{Op, Type, Value};
use std::collections::BTreeSet;

/// Joins consecutive fibers that are appended to one block.
pub fn blocks(kernel: &mut Kernel) {
    let known = Known::of(kernel);
    let body = std::mem::take(&mut kernel.body);
    kernel.body = parted(body, &known, &mut Vars::of(&mut kernel.vars));
}

fn parted(block: Vec<Stmt>, known: &Known, vars: &mut Vars) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        match Appending::of(&stmt, known, vars.len()) {
            Some(appending) => out.extend(appending.parted(vars)),
            None => out.extend(map_blocks(vec![stmt], &mut |inner| parted(inner, known, vars))),
        }
    }
    out
}

/// A loop over fibers that appends the entries of each fiber and stores its end.
struct Appending<'s> {
    /// The outer loop.
    fibers: (Var, &'s Expr, &'s Expr),
    /// The fiber's index in `pos`, and the inner loop's bounds.
    at: &'s Expr,
    pos: BufferId,
    bounds: (&'s Expr, &'s Expr),
    /// The inner loop.
    entries: (Var, How, &'s [Stmt]),
    /// The counter of appended entries.
    count: Var,
    /// The result's array of positions, with the index and value of the store to it.
    ends: (BufferId, &'s Expr, &'s Expr),
    /// Whether there may be no fiber: then nothing may be loaded.
    guarded: bool,
}

impl<'s> Appending<'s> {
    fn of(outer: &'s Stmt, known: &Known, vars: usize) -> Option<Appending<'s>> {
        let Stmt::For { var: i, lo, hi, how: How::Serial, body } = outer else { return None };
        let [Stmt::For { var: p, lo: first, hi: last, how, body: entries }, Stmt::Store(ends, place, value)] =
            &body[..]
        else {
            return None;
        };
        let Expr::Load(_, at) = bare(first) else { return None };
        let pos = known.fiber(first, last, at)?;
        let (Stmt::Set(count, more), rest) = entries.split_last()? else { return None };
        let Expr::Var(counted) = bare(value) else { return None };
        let one_more = *more == plus(Expr::Var(*count), Expr::Const(Value::i64(1)));
        let asked = uses(entries, vars)[i.0 as usize] > 0;
        let mut fixed = BTreeSet::from([*i, *p, *count]);
        let simple = rest.iter().all(|stmt| match stmt {
            Stmt::Let(v, e) => fixed.insert(*v) && !e.loads_from(*ends),
            Stmt::Store(b, to, e) => b != ends && !to.loads_from(*ends) && !e.loads_from(*ends),
            _ => false,
        });
        // The fiber's index moves with the outer loop only.
        let steps = steps_with(at, *i, &fixed);
        fixed.remove(i);
        let outside = is_fixed(lo, &fixed) && is_fixed(hi, &fixed) && is_fixed(place, &fixed);
        let guarded = !(**at == Expr::Var(*i) && known.is_whole(lo, hi));
        (counted == count && one_more && !asked && simple && steps && outside).then_some(Appending {
            fibers: (*i, lo, hi),
            at,
            pos,
            bounds: (first, last),
            entries: (*p, how.clone(), entries),
            count: *count,
            ends: (*ends, place, value),
            guarded,
        })
    }

    fn parted(&self, vars: &mut Vars) -> Vec<Stmt> {
        let ((i, lo, hi), (first, last)) = (self.fibers, self.bounds);
        let shift = vars.fresh("shift", Type::I64);
        let at = |like: &Expr, turn: &Expr| replaced(like, self.pos, &with(self.at, i, turn));
        let begin = at(first, lo);
        let moved = Expr::Op(Op::Add, vec![Expr::Var(shift), last.clone()]);
        let moved = match self.ends.2 {
            Expr::Op(op, _) => Expr::Op(*op, vec![moved]),
            _ => moved,
        };
        let ends = Stmt::Store(self.ends.0, self.ends.1.clone(), moved);
        let (p, how, entries) = self.entries.clone();
        let all = vec![
            Stmt::Let(shift, Expr::Op(Op::Sub, vec![Expr::Var(self.count), begin.clone()])),
            Stmt::For { var: i, lo: lo.clone(), hi: hi.clone(), how: How::Serial, body: vec![ends] },
            Stmt::For { var: p, lo: begin, hi: at(last, hi), how, body: entries.to_vec() },
        ];
        if self.guarded {
            let some = Expr::Op(Op::Lt, vec![lo.clone(), hi.clone()]);
            return vec![Stmt::If(some, all, vec![])];
        }
        all
    }
}

/// Whether an expression loads nothing and reads none of the variables in `moving`.
pub(super) fn is_fixed(e: &Expr, moving: &BTreeSet<Var>) -> bool {
    match e {
        Expr::Const(_) => true,
        Expr::Var(v) => !moving.contains(v),
        Expr::Op(_, args) => args.iter().all(|a| is_fixed(a, moving)),
        Expr::Load(..) | Expr::Among(..) | Expr::Capacity(_) => false,
    }
}

/// Whether an expression is `i` plus a loop-invariant value.
pub(super) fn steps_with(e: &Expr, i: Var, moving: &BTreeSet<Var>) -> bool {
    match e {
        Expr::Var(v) => *v == i,
        Expr::Op(Op::Add, args) if is_fixed(&args[0], moving) => steps_with(&args[1], i, moving),
        Expr::Op(Op::Add | Op::Sub, args) => steps_with(&args[0], i, moving) && is_fixed(&args[1], moving),
        _ => false,
    }
}

/// An expression without loads, with a variable replaced by another expression.
pub(super) fn with(e: &Expr, v: Var, other: &Expr) -> Expr {
    match e {
        Expr::Var(w) if *w == v => other.clone(),
        Expr::Op(op, args) => {
            let args: Vec<Expr> = args.iter().map(|a| with(a, v, other)).collect();
            match op {
                Op::Sub if args[0] == args[1] => Expr::Const(Value::i64(0)),
                Op::Add => args.into_iter().reduce(plus).expect("two arguments"),
                _ => Expr::Op(*op, args),
            }
        }
        _ => e.clone(),
    }
}
