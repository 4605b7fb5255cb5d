//! Folds least and greatest values of what rises along a loop in one iteration.
//!
//! ```text
//!   for j in from..j_2                                        for j in from..min(j_2, from + 1)
//!     t = min(t, select(0.0 == m, j, n_N))          ──▶          t = min(t, select(0.0 == m, j, n_N))
//! ```
//!
//! Of values that never fall from one iteration to the next, the first is the least and the last the greatest. So the first coordinate at
//! which a row has its largest value, `min(j: if A[i,j] == m[i] then j else N)`, takes no time for the coordinates between a row's entries.
//! Whole numbers alone: of floats one may be NaN.

use crate::arith::{binary, int, minus, plus};
use crate::names::Vars;
use crate::{Expr, How, Kernel, Stmt, Var, fold_of, map_blocks};
use fiberloom_core::algebra::Op;

/// Leaves one iteration to loops that do nothing but fold such values.
pub fn monotone_folds(kernel: &mut Kernel) {
    let body = std::mem::take(&mut kernel.body);
    kernel.body = block(body, &Vars::of(&mut kernel.vars));
}

/// How values change from one iteration to the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Course {
    Stays,
    Rises,
}

fn block(stmts: Vec<Stmt>, vars: &Vars) -> Vec<Stmt> {
    map_blocks(stmts, &mut |inner| block(inner, vars)).into_iter().map(|stmt| once(stmt, vars)).collect()
}

/// A statement that has one iteration, if it is a loop that folds such values.
fn once(stmt: Stmt, vars: &Vars) -> Stmt {
    let Stmt::For { var, lo, hi, how: How::Serial, body } = stmt else { return stmt };
    let (lo, hi) = match extreme(&body, var, vars) {
        Some(End::First) => (lo.clone(), binary(Op::Min, hi, plus(lo, int(1)))),
        Some(End::Last) => (binary(Op::Max, lo, minus(hi.clone(), int(1))), hi),
        None => (lo, hi),
    };
    Stmt::For { var, lo, hi, how: How::Serial, body }
}

/// The iteration that decides a fold.
enum End {
    First,
    Last,
}

/// The iteration that decides what a body folds, if it does nothing else.
fn extreme(body: &[Stmt], v: Var, vars: &Vars) -> Option<End> {
    let [Stmt::Set(t, e)] = body else { return None };
    let (op, value) = fold_of(*t, e)?;
    if vars.ty(*t).is_float() || value.reads(*t) {
        return None;
    }
    match (op, course(value, v)?) {
        (Op::Min, _) | (Op::Max, Course::Stays) => Some(End::First),
        (Op::Max, Course::Rises) => Some(End::Last),
        _ => None,
    }
}

/// How an expression changes along a loop, if it is known.
fn course(e: &Expr, v: Var) -> Option<Course> {
    match e {
        e if !e.reads(v) => Some(Course::Stays),
        Expr::Var(_) => Some(Course::Rises),
        Expr::Op(Op::Select, args) if !args[0].reads(v) => together(&args[1], &args[2], v),
        Expr::Op(Op::Min | Op::Max, args) => together(&args[0], &args[1], v),
        _ => None,
    }
}

/// How the lesser or the greater of two values changes, or always the first, or always the second.
fn together(a: &Expr, b: &Expr, v: Var) -> Option<Course> {
    Some(course(a, v)?.max(course(b, v)?))
}
