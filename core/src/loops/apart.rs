//! What is copied from several arrays is copied array by array.
//!
//! ```text
//!   for p in X..Y                                     let shift = c - X
//!     let j = A1_crd[p]                               for q in X..Y
//!     C_vals[c] = A_vals[p]                 ──▶         C_vals[shift + q] = A_vals[q]
//!     C1_crd[c] = i32(j)                              for r in X..Y
//!     c = c + 1                                         C1_crd[shift + r] = i32(A1_crd[r])
//!                                                     c = c + max(Y - X, 0)
//! ```
//!
//! A loop of one copy is one that compilers make a block move of, or of vectors all of one width. Only loops that stand in no
//! other are taken apart: a row's few entries are copied faster together. It needs that each turn appends one entry, and that
//! what is stored comes from one place of one operand, at the loop's position: then no store is seen by a load, and no array is
//! walked twice.

use super::blocks::unique;
use super::lower::plus;
use super::{BufferId, Expr, How, Kernel, Role, Stmt, Var};
use crate::algebra::{Op, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Takes loops of copies apart.
pub fn apart(kernel: &mut Kernel) {
    let operands = (0..kernel.buffers.len()).filter(|b| kernel.buffers[*b].role == Role::Operand);
    let operands: BTreeSet<BufferId> = operands.map(|b| BufferId(b as u32)).collect();
    let body = std::mem::take(&mut kernel.body);
    kernel.body = block(body, &operands, &mut kernel.vars);
}

type Vars = Vec<(String, Type)>;

fn block(stmts: Vec<Stmt>, operands: &BTreeSet<BufferId>, vars: &mut Vars) -> Vec<Stmt> {
    let mut out = Vec::with_capacity(stmts.len());
    for stmt in stmts {
        match stmt {
            Stmt::If(c, yes, no) => out.push(Stmt::If(c, block(yes, operands, vars), block(no, operands, vars))),
            stmt => match Copies::of(&stmt, operands) {
                Some(copies) => out.extend(copies.apart(vars)),
                None => out.push(stmt),
            },
        }
    }
    out
}

/// A loop that appends an entry a turn to several arrays.
struct Copies<'s> {
    var: Var,
    bounds: (&'s Expr, &'s Expr),
    /// How many entries there are so far.
    count: Var,
    /// What is stored in which array.
    stores: Vec<(BufferId, Expr)>,
}

impl<'s> Copies<'s> {
    fn of(stmt: &'s Stmt, operands: &BTreeSet<BufferId>) -> Option<Copies<'s>> {
        let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return None };
        let (Stmt::Set(count, more), body) = body.split_last()? else { return None };
        let (mut lets, mut stores) = (BTreeMap::new(), Vec::new());
        for stmt in body {
            match stmt {
                Stmt::Let(v, e) => drop(lets.insert(*v, within(e, &lets))),
                Stmt::Store(to, Expr::Var(at), e) if at == count => stores.push((*to, within(e, &lets))),
                _ => return None,
            }
        }
        let one_more = *more == plus(Expr::Var(*count), Expr::Const(Value::i64(1)));
        let to: BTreeSet<BufferId> = stores.iter().map(|(to, _)| *to).collect();
        let from: Option<Vec<BufferId>> = stores.iter().map(|(_, e)| copied(e, *var, *count)).collect();
        let from: BTreeSet<BufferId> = from?.into_iter().collect();
        let each = stores.len() > 1 && to.len() == stores.len() && from.len() == stores.len();
        let copies = Copies { var: *var, bounds: (lo, hi), count: *count, stores };
        (one_more && each && from.is_subset(operands) && to.is_disjoint(operands)).then_some(copies)
    }

    fn apart(self, vars: &mut Vars) -> Vec<Stmt> {
        let mut fresh = |name: &str| {
            vars.push((unique(name, vars), Type::I64));
            Var(vars.len() as u32 - 1)
        };
        let difference = |a, b| Expr::Op(Op::Sub, vec![a, b]);
        let (first, past, shift) = (fresh("first"), fresh("past"), fresh("shift"));
        let mut all = vec![
            Stmt::Let(first, self.bounds.0.clone()),
            Stmt::Let(past, self.bounds.1.clone()),
            Stmt::Let(shift, difference(Expr::Var(self.count), Expr::Var(first))),
        ];
        for (to, value) in self.stores {
            let q = fresh("q");
            let value = within(&value, &BTreeMap::from([(self.var, Expr::Var(q))]));
            let store = Stmt::Store(to, plus(Expr::Var(shift), Expr::Var(q)), value);
            let (lo, hi) = (Expr::Var(first), Expr::Var(past));
            all.push(Stmt::For { var: q, lo, hi, how: How::Serial, body: vec![store] });
        }
        let turns = Expr::Op(Op::Max, vec![difference(Expr::Var(past), Expr::Var(first)), Expr::Const(Value::i64(0))]);
        all.push(Stmt::Set(self.count, plus(Expr::Var(self.count), turns)));
        all
    }
}

/// The only buffer that a value is loaded from, if it is loaded from there at `p`, and else asks neither for `p` nor for `count`.
fn copied(e: &Expr, p: Var, count: Var) -> Option<BufferId> {
    match e {
        Expr::Load(b, at) => (**at == Expr::Var(p)).then_some(*b),
        Expr::Op(_, args) => {
            let mut from = None;
            for a in args.iter().filter(|a| !is_fixed(a, p, count)) {
                let b = copied(a, p, count)?;
                from = from.is_none().then_some(Some(b))?;
            }
            from
        }
        Expr::Const(_) | Expr::Var(_) | Expr::Capacity(_) => None,
    }
}

fn is_fixed(e: &Expr, p: Var, count: Var) -> bool {
    match e {
        Expr::Const(_) => true,
        Expr::Var(v) => *v != p && *v != count,
        Expr::Op(_, args) => args.iter().all(|a| is_fixed(a, p, count)),
        Expr::Load(..) | Expr::Capacity(_) => false,
    }
}

/// An expression with values in the places of variables.
fn within(e: &Expr, values: &BTreeMap<Var, Expr>) -> Expr {
    match e {
        Expr::Var(v) => values.get(v).unwrap_or(e).clone(),
        Expr::Load(b, at) => Expr::Load(*b, Box::new(within(at, values))),
        Expr::Op(op, args) => Expr::Op(*op, args.iter().map(|a| within(a, values)).collect()),
        Expr::Const(_) | Expr::Capacity(_) => e.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::{check, read};

    const COPY: &str = "  for p in A0_pos[0]..A0_pos[1] {
    let j = A0_crd[p]
    C_vals[c] = A_vals[p]
    C0_crd[c] = i32(j + n_I)
    c = c + 1
  }";

    /// A kernel over a list whose entries are appended to another.
    fn rewritten(body: &str) -> String {
        let text = format!(
            "kernel k(n_I) reassociate
  operand A0_pos: i32, A0_crd: i32, A_vals: f64
  result C0_pos: i32, C0_crd: i32, C_vals: f64
  in A@0: f64[n_I] {{compressed}} at compressed(A0_pos, A0_crd), A_vals
  out C@1: f64[n_I] {{compressed}} at compressed(C0_pos, C0_crd), C_vals

  alloc C0_pos[2] = 0i32
  alloc C0_crd[capacity(A0_crd)]
  alloc C_vals[capacity(A0_crd)]
  c = 0
{body}
  finish C0_pos[2]
  finish C0_crd[c]
  finish C_vals[c]
"
        );
        let mut kernel = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        apart(&mut kernel);
        assert_eq!(check(&kernel), Ok(()));
        kernel.to_string()
    }

    #[test]
    fn copies_are_made_array_by_array() {
        let apart = "  let first = A0_pos[0]
  let past = A0_pos[1]
  let shift = c - first
  for q in first..past {
    C_vals[shift + q] = A_vals[q]
  }
  for q_2 in first..past {
    C0_crd[shift + q_2] = i32(A0_crd[q_2] + n_I)
  }
  c = c + max(past - first, 0)
";
        let got = rewritten(COPY);
        assert!(got.contains(apart), "{got}");
        let got = rewritten(&format!("  if n_I > 3 {{\n{COPY}\n  }}"));
        assert!(got.contains("let past"), "{got}");
    }

    /// Entries of which some are kept, one array in both, a place that is asked for, another place, rows: all stay.
    #[test]
    fn other_loops_stay() {
        let some = COPY.replace("c = c + 1", "c = c + i64(j > 3)");
        let shared = COPY.replace("A_vals[p]", "f64(A0_crd[p])");
        let place = COPY.replace("i32(j + n_I)", "i32(j + p)");
        let other = COPY.replace("A_vals[p]", "A_vals[p + 1]");
        let elsewhere = COPY.replace("C_vals[c]", "C_vals[c + 1]");
        let reads = COPY.replace("A_vals[p]", "A_vals[p] + C_vals[0]");
        let rows = format!("  for i in 0..n_I {{\n{COPY}\n  }}");
        for body in [some, shared, place, other, elsewhere, reads, rows] {
            let got = rewritten(&body);
            assert!(!got.contains("let past"), "{got}");
        }
    }
}
