//! Folds four rows at a time into one row, instead of one after the other.
//!
//! ```text
//!   for p in A1_pos[i]..A1_pos[i + 1]                  let begin = A1_pos[i]
//!     let j = A1_crd[p]                                let last = A1_pos[i + 1]
//!     let a = A_vals[p]                                let groups = max(last - begin, 0) >> 2
//!     for k in 0..n_K                          ──▶     for group in 0..groups
//!       C[i*n_K + k] = C[i*n_K + k] + a * …              let p = begin + group * 4
//!                                                        let j = A1_crd[p]
//!                                                        let a = A_vals[p]        … three more of p, j, a
//!                                                        for k in 0..n_K
//!                                                          C[i*n_K + k] = (((C[i*n_K + k] + a * …) + a_2 * …) + …) + …
//!                                                      for p in begin + groups * 4..last  …  (as before)
//! ```
//!
//! *Unroll and jam*: an element of the target row is loaded and stored once for four rows. The function needs no property: values are
//! folded into each element in the same order as before, and elements are independent, each of one iteration of the inner loop. A row
//! whose length is a constant is left alone: it stays in registers.

use super::blocks::{is_fixed, steps_with};
use crate::arith::{int, minus, plus, times};
use crate::names::Vars;
use crate::{BufferId, Expr, How, Iteration, Kernel, Stmt, Var, map_blocks};
use fiberloom_core::algebra::{Op, Type};
use std::collections::BTreeMap;

/// log₂ of the number of rows at a time: as many as leave registers for the rest of the loop.
const SHIFT: u32 = 2;

/// Folds rows into a row four at a time.
pub fn unroll_and_jam(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    let mut jam = Jam { vars: Vars::of(&mut kernel.vars) };
    kernel.body = jam.block(body);
}

struct Jam<'k> {
    vars: Vars<'k>,
}

/// A loop that folds a row into the same row in each iteration.
struct Rows<'s> {
    iteration: Var,
    range: [&'s Expr; 2],
    /// The values that the loop over rows names.
    named: Vec<(Var, &'s Expr)>,
    column: Var,
    columns: [&'s Expr; 2],
    /// The values that the loop over columns names.
    element: Vec<(Var, &'s Expr)>,
    into: (BufferId, &'s Expr),
    fold: (Op, &'s Expr),
}

impl Jam<'_> {
    fn block(&mut self, block: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(block.len());
        for stmt in block {
            match rows(&stmt) {
                Some(rows) => out.extend(self.jammed(&rows, &stmt)),
                None => out.extend(map_blocks(vec![stmt], &mut |inner| self.block(inner))),
            }
        }
        out
    }

    /// The loop over groups of rows, then the loop over the remaining rows, one by one.
    fn jammed(&mut self, rows: &Rows, stmt: &Stmt) -> Vec<Stmt> {
        let mut fresh = |name| self.vars.fresh(name, Type::I64);
        let [begin, last, groups, group] = ["begin", "last", "groups", "group"].map(&mut fresh);
        let length = Expr::Op(Op::Max, vec![minus(Expr::Var(last), Expr::Var(begin)), int(0)]);
        let first = |n: Var| plus(Expr::Var(begin), times(Expr::Var(n), int(1 << SHIFT)));
        let body = self.group(rows, (0..1 << SHIFT).map(|row| plus(first(group), int(row))));
        let mut rest = stmt.clone();
        if let Stmt::For { lo, hi, .. } = &mut rest {
            (*lo, *hi) = (first(groups), Expr::Var(last));
        }
        vec![
            Stmt::Let(begin, rows.range[0].clone()),
            Stmt::Let(last, rows.range[1].clone()),
            Stmt::Let(groups, Expr::Op(Op::Shr, vec![length, int(SHIFT as i64)])),
            Stmt::For { var: group, lo: int(0), hi: Expr::Var(groups), how: How::Serial, body },
            rest,
        ]
    }

    /// The body that folds in the rows of these iterations together.
    fn group(&mut self, rows: &Rows, turns: impl Iterator<Item = Expr>) -> Vec<Stmt> {
        let (column, (b, at)) = (self.vars.again(rows.column), rows.into);
        let place = at.renamed(&BTreeMap::from([(rows.column, column)]));
        let (mut body, mut element) = (vec![], vec![]);
        let mut folded = Expr::Load(b, Box::new(place.clone()));
        for iteration in turns {
            let own = self.vars.again(rows.iteration);
            let mut now = BTreeMap::from([(rows.iteration, own), (rows.column, column)]);
            body.push(Stmt::Let(own, iteration));
            body.extend(rows.named.iter().map(|said| self.vars.said_again(*said, &mut now)));
            element.extend(rows.element.iter().map(|said| self.vars.said_again(*said, &mut now)));
            folded = Expr::Op(rows.fold.0, vec![folded, rows.fold.1.renamed(&now)]);
        }
        element.push(Stmt::Store(b, place, folded));
        let [lo, hi] = rows.columns.map(Expr::clone);
        body.push(Stmt::For { var: column, lo, hi, how: How::Serial, body: element });
        body
    }
}

/// The loop, if it only folds a row into the same row in each iteration.
fn rows(stmt: &Stmt) -> Option<Rows<'_>> {
    let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return None };
    let iteration = Iteration::of(*var, body);
    let [Stmt::For { var: column, lo: from, hi: to, how: How::Serial, body: inner }] = iteration.inside[..] else {
        return None;
    };
    let columns = Iteration::of(*column, inner);
    let [stored] = &columns.stores[..] else { return None };
    if !iteration.sets.is_empty() || !iteration.stores.is_empty() || !columns.only_stores() {
        return None;
    }
    let ((op, folded), b, at) = (stored.fold()?, stored.buffer, stored.at);
    let moving = iteration.moving().into_iter().chain(columns.named.iter().map(|(v, _)| *v)).collect();
    let elsewhere = iteration.named.iter().chain(&columns.named).all(|(_, e)| !e.loads_from(b));
    let one_row = elsewhere && steps_with(at, *column, &moving) && !folded.loads_from(b);
    let as_long = is_fixed(from, &moving) && is_fixed(to, &moving);
    let in_registers = matches!((from, to), (Expr::Const(_), Expr::Const(_)));
    (one_row && as_long && !in_registers).then_some(Rows {
        iteration: *var,
        range: [lo, hi],
        named: iteration.named,
        column: *column,
        columns: [from, to],
        element: columns.named,
        into: (b, at),
        fold: (op, folded),
    })
}
