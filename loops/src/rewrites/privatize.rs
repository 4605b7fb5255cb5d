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
