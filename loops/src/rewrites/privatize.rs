//! Gives a fold in an inner loop a variable of its own.
//!
//! ```text
//!   for j in 0..n_J                                  for j in 0..n_J
//!     for p in A1_pos[j]..A1_pos[j + 1]                part = -0.0
//!       t = t + A_vals[p] * x_vals[j]          ──▶     for p in A1_pos[j]..A1_pos[j + 1]
//!                                                        part = part + A_vals[p] * x_vals[j]
//!                                                      t = t + part
//! ```
//!
//! With one variable, the first iteration of a fiber waits for the last of the previous fiber, and vector lanes have to be combined after
//! each fiber. With two, only the fold of `part` into `t` waits, once for each fiber. The function must be associative and commutative,
//! and have an identity, with which `part` begins and which changes nothing when it is folded into `t`.

use crate::names::Vars;
use crate::{Expr, How, Iteration, Kernel, Stmt, Var, fold_of, map_blocks};
use fiberloom_core::algebra::{Mode, Op, Type, Value, identity, neutral, properties};

/// Gives folds in nested loops variables of their own.
pub fn privatize(kernel: &mut Kernel) {
    let mode = if kernel.reassociate { Mode::Algebraic } else { Mode::Strict };
    let body = std::mem::take(&mut kernel.body);
    kernel.body = Partials { mode, vars: Vars::of(&mut kernel.vars) }.block(body, None);
}

struct Partials<'k> {
    mode: Mode,
    vars: Vars<'k>,
}

/// A loop's fold: the variable, the function, and the function's identity.
#[derive(Clone, Copy)]
struct Fold {
    t: Var,
    op: Op,
    begins: Value,
}

impl Partials<'_> {
    /// Rewrites a block; `begun` are the variables that the current iteration of the loop around has set so far, `None` outside of loops.
    fn block(&mut self, block: Vec<Stmt>, begun: Option<&[Var]>) -> Vec<Stmt> {
        let mut begun = begun.map(<[Var]>::to_vec);
        let mut out: Vec<Stmt> = Vec::with_capacity(block.len());
        for stmt in block {
            if let (Stmt::Set(t, _), Some(begun)) = (&stmt, &mut begun) {
                begun.push(*t);
            }
            let goes_on = |fold: &Fold| begun.as_ref().is_some_and(|begun| !begun.contains(&fold.t));
            match self.fold(&stmt).filter(goes_on) {
                Some(fold) => out.extend(self.apart(stmt, fold)),
                None => {
                    let inside = if let Stmt::If(..) = stmt { begun.as_deref() } else { Some(&[][..]) };
                    out.extend(map_blocks(vec![stmt], &mut |inner| self.block(inner, inside)));
                }
            }
        }
        out
    }

    /// The fold of a loop that does nothing else.
    fn fold(&self, stmt: &Stmt) -> Option<Fold> {
        let Stmt::For { var, how: How::Serial, body, .. } = stmt else { return None };
        let iteration = Iteration::of(*var, body);
        let [(t, e)] = iteration.sets[..] else { return None };
        let (op, folded) = fold_of(t, e)?;
        let ty = self.vars.ty(t);
        let properties = properties(op, ty, self.mode);
        let fits = iteration.only_sets() && properties.associative && properties.commutative;
        let only = iteration.named.iter().all(|(_, e)| !e.reads(t)) && !folded.reads(t);
        let identity = identity(op, ty).filter(|_| fits && only && ty != Type::Bool)?;
        // A loop may have no iterations, so the identity must leave every `t` unchanged: gcd(−6, 0) is 6.
        let stays = properties.identities.contains(&(1, identity));
        stays.then_some(Fold { t, op, begins: neutral(op, ty)? })
    }

    /// The loop with a variable of its own, which is folded into `t` behind the loop.
    fn apart(&mut self, mut stmt: Stmt, Fold { t, op, begins }: Fold) -> [Stmt; 3] {
        let part = self.vars.fresh("part", self.vars.ty(t));
        let into = |v: Var, e: Expr| Stmt::Set(v, Expr::Op(op, vec![Expr::Var(v), e]));
        if let Stmt::For { body, .. } = &mut stmt
            && let Some(set) = body.iter_mut().find(|stmt| matches!(stmt, Stmt::Set(..)))
            && let Stmt::Set(_, Expr::Op(_, args)) = set
            && let Some(folded) = args.pop()
        {
            *set = into(part, folded);
        }
        [Stmt::Set(part, Expr::Const(begins)), stmt, into(t, Expr::Var(part))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, read};

    /// A kernel over a matrix in compressed rows, rewritten.
    fn rewritten(mode: &str, body: &str) -> String {
        let text = format!(
            "kernel k(n_I, n_J){mode}
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, w_vals: i64
  result s_vals: f64, n_vals: i64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in w@1: i64[n_J] {{dense}} at dense, w_vals
  out s@2: f64[] dense at s_vals
  out n@3: i64[] dense at n_vals

  alloc s_vals[1]
  alloc n_vals[1]
  t = 0.0
  n = 0
{body}
  s_vals[0] = t
  n_vals[0] = n
  finish s_vals[1]
  finish n_vals[1]
"
        );
        let mut kernel = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(check(&kernel), Ok(()), "{text}");
        privatize(&mut kernel);
        assert_eq!(check(&kernel), Ok(()), "{kernel}");
        kernel.to_string()
    }

    const SUM: &str = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      t = t + A_vals[p] * f64(j)
    }
  }";

    #[test]
    fn rows_are_summed_for_themselves() {
        let apart = "  for i in 0..n_I {
    part = -0.0
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      part = part + A_vals[p] * f64(j)
    }
    t = t + part
  }
";
        let got = rewritten(" reassociate", SUM);
        assert!(got.contains(apart), "{got}");
        let most = SUM.replace("t = t + A_vals[p] * f64(j)", "t = max(t, A_vals[p])");
        assert!(rewritten("", &most).contains("part = -inf"), "a maximum rounds nothing");
        let whole = SUM.replace("t = t + A_vals[p] * f64(j)", "n = n + w_vals[j]");
        assert!(rewritten("", &whole).contains("n = n + part"), "whole numbers are added in any order");
    }

    /// Other folds are not rewritten: sums that round; folds that begin for each row anyway, or are in no outer loop; folds whose value
    /// is read in an iteration, or that share it with another fold; differences.
    #[test]
    fn other_folds_stay() {
        let begins = SUM.replace("    for p", "    t = 0.0\n    for p");
        let perhaps =
            begins.replace("    for p", "    if 0 < i {\n    for p").replace("    }\n  }", "    }\n    }\n  }");
        let alone = "  for p in A1_pos[0]..A1_pos[n_I] {\n    t = t + A_vals[p]\n  }".to_string();
        let is_read = SUM.replace("f64(j)", "t");
        let named = SUM.replace("let j = A1_crd[p]", "let j = t").replace("f64(j)", "j");
        let twice = SUM.replace("t = t +", "n = n + 1\n      t = t +");
        let less = SUM.replace("t = t +", "t = t -");
        let turned = SUM.replace("t + A_vals[p] * f64(j)", "A_vals[p] * f64(j) + t");
        let signed = SUM.replace("t = t + A_vals[p] * f64(j)", "n = gcd(n, w_vals[j])");
        for body in [begins, perhaps, alone, is_read, named, twice, less, turned, signed] {
            assert_ne!(body, SUM);
            let got = rewritten(" reassociate", &body);
            assert!(!got.contains("part"), "{got}");
        }
        assert!(!rewritten("", SUM).contains("part"));
    }
}
