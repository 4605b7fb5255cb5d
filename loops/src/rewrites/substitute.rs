//! Substitutes a value that is used once, in the next statement, for its name.
//!
//! Before: `j = A1_crd[p]`, `t = t + A_vals[p] * x_vals[j]`; after: `t = t + A_vals[p] * x_vals[A1_crd[p]]`. No
//! statement stands between the two, so no load can see another store. A value deeper than [`DEEPEST`] stays a `let`,
//! which bounds the depth of expressions. A value that loads is not substituted as an arm of a `select`: arms are
//! evaluated only where they are chosen, which would take a branch.

use crate::check::is_shallow;
use crate::{Expr, Kernel, Stmt, Var};
use fiberloom_core::algebra::Op;

/// The depth of the deepest value that is substituted.
const DEEPEST: usize = 64;

/// Substitutes values everywhere in the kernel.
pub fn forward(kernel: &mut Kernel) {
    let uses = uses(&kernel.body, kernel.vars.len());
    kernel.body = block(std::mem::take(&mut kernel.body), &uses);
}

fn block(stmts: Vec<Stmt>, uses: &[usize]) -> Vec<Stmt> {
    let mut out: Vec<Stmt> = Vec::with_capacity(stmts.len());
    for mut stmt in stmts {
        match &mut stmt {
            Stmt::If(_, t, e) => {
                *t = block(std::mem::take(t), uses);
                *e = block(std::mem::take(e), uses);
            }
            Stmt::While(_, body) | Stmt::For { body, .. } => *body = block(std::mem::take(body), uses),
            _ => {}
        }
        while let Some(Stmt::Let(v, value)) = out.last()
            && uses[v.0 as usize] == 1
            && is_shallow(value, DEEPEST)
            && replace(&mut stmt, *v, value)
        {
            out.pop();
        }
        out.push(stmt);
    }
    out
}

/// Substitutes `value` for `v` in a statement's own expressions; returns whether it was there.
fn replace(stmt: &mut Stmt, v: Var, value: &Expr) -> bool {
    let exprs: Vec<&mut Expr> = match stmt {
        Stmt::Let(_, e) | Stmt::Set(_, e) | Stmt::If(e, _, _) => vec![e],
        Stmt::Store(_, at, e) => vec![at, e],
        Stmt::For { lo, hi, .. } => vec![lo, hi],
        _ => return false,
    };
    exprs.into_iter().any(|e| substitute(e, v, value))
}

fn substitute(e: &mut Expr, v: Var, value: &Expr) -> bool {
    match e {
        Expr::Var(w) if *w == v => {
            *e = value.clone();
            true
        }
        Expr::Load(_, at) => substitute(at, v, value),
        Expr::Among(_, _, parts) => parts.iter_mut().any(|a| substitute(a, v, value)),
        Expr::Op(Op::Select, args) if value.loads() => substitute(&mut args[0], v, value),
        Expr::Op(_, args) => args.iter_mut().any(|a| substitute(a, v, value)),
        _ => false,
    }
}

/// The number of reads of each of `vars` variables in a block.
pub(crate) fn uses(block: &[Stmt], vars: usize) -> Vec<usize> {
    fn count(stmt: &Stmt, uses: &mut [usize]) {
        let mut reads = |e: &Expr| {
            if let Expr::Var(v) = e {
                uses[v.0 as usize] += 1;
            }
        };
        stmt.exprs().for_each(|e| e.each(&mut reads));
        stmt.blocks().flatten().for_each(|s| count(s, uses));
    }
    let mut uses = vec![0; vars];
    block.iter().for_each(|stmt| count(stmt, &mut uses));
    uses
}
