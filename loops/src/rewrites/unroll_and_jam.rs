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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, read};

    /// A kernel over a matrix in compressed rows and a dense one, rewritten.
    fn rewritten(body: &str) -> String {
        let text = format!(
            "kernel k(n_I, n_J, n_K)
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, B_vals: f64
  result C_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in B@1: f64[n_J, n_K] {{dense, dense}} at dense, dense, B_vals
  out C@2: f64[n_I, n_K] {{dense, dense}} at dense, dense, C_vals

  alloc C_vals[n_I * n_K] = 0.0
{body}
  finish C_vals[n_I * n_K]
"
        );
        let mut kernel = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(check(&kernel), Ok(()), "{text}");
        unroll_and_jam(&mut kernel);
        assert_eq!(check(&kernel), Ok(()), "{kernel}");
        kernel.to_string()
    }

    const PRODUCT: &str = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      let a = A_vals[p]
      for k in 0..n_K {
        C_vals[i * n_K + k] = C_vals[i * n_K + k] + a * B_vals[j * n_K + k]
      }
    }
  }";

    #[test]
    fn four_rows_at_a_time() {
        let jammed = "    let begin = A1_pos[i]
    let last = A1_pos[i + 1]
    let groups = max(last - begin, 0) >> 2
    for group in 0..groups {
      let p_2 = begin + group * 4
      let j_2 = A1_crd[p_2]
      let a_2 = A_vals[p_2]
      let p_3 = begin + group * 4 + 1
      let j_3 = A1_crd[p_3]
      let a_3 = A_vals[p_3]
      let p_4 = begin + group * 4 + 2
      let j_4 = A1_crd[p_4]
      let a_4 = A_vals[p_4]
      let p_5 = begin + group * 4 + 3
      let j_5 = A1_crd[p_5]
      let a_5 = A_vals[p_5]
      for k_2 in 0..n_K {
        C_vals[i * n_K + k_2] = C_vals[i * n_K + k_2] + a_2 * B_vals[j_2 * n_K + k_2] + a_3 * B_vals[j_3 * n_K + k_2] + a_4 * B_vals[j_4 * n_K + k_2] + a_5 * B_vals[j_5 * n_K + k_2]
      }
    }
    for p in begin + groups * 4..last {
      let j = A1_crd[p]
";
        let got = rewritten(PRODUCT);
        assert!(got.contains(jammed), "{got}");
    }

    /// Other loops are not rewritten: loops that fold into another row in each iteration, or into no row; loops whose terms read the
    /// array that is folded into; loops over rows whose length depends on the iteration, or is a constant; two rows; iterations that set
    /// a variable.
    #[test]
    fn other_loops_stay() {
        let moves = PRODUCT.replace("C_vals[i * n_K + k]", "C_vals[j * n_K + k]");
        let stays = PRODUCT.replace("C_vals[i * n_K + k]", "C_vals[i]");
        let strides = PRODUCT.replace("C_vals[i * n_K + k]", "C_vals[i * n_K + 2 * k]");
        let itself = PRODUCT.replace("B_vals[j * n_K + k]", "C_vals[j * n_K + k]");
        let named = PRODUCT.replace("let a = A_vals[p]", "let a = C_vals[p]");
        let ragged = PRODUCT.replace("0..n_K", "0..j");
        let known = PRODUCT.replace("0..n_K", "0..32");
        let two = PRODUCT.replace("      for k", "      C_vals[i] = 0.0\n      for k");
        let sets =
            PRODUCT.replace("  for i", "  n = 0\n  for i").replace("      for k", "      n = n + 1\n      for k");
        let other = PRODUCT.replace("= C_vals[i * n_K + k] +", "= C_vals[i * n_K + k + 1] +");
        for body in [moves, stays, strides, itself, named, ragged, known, two, sets, other] {
            let got = rewritten(&body);
            assert!(!got.contains("group"), "{got}");
        }
    }
}
