//! What loops do with a variable, or with the elements of an array, if they do nothing but fold into it.
//!
//! ```text
//!   for i in 0..n_I
//!     t = t + x_vals[i]                                accumulates: `t`, with `+`
//!     y_vals[J[i]] = max(y_vals[J[i]], x_vals[i])      array_in_pieces: `y_vals`, with `max`, from −∞ on
//! ```

use super::{BufferId, Expr, Kernel, Stmt, Var};
use fiberloom_core::algebra::{Op, Type, Value, neutral};

/// The function with which a vector loop's body accumulates into `v`, if it does nothing else with `v`: `v` occurs only in statements `v
/// = f(v, e)` or `v = f(e, v)` with one `f`, whose folds may be regrouped (`+` and `*` of floats only in a kernel that reassociates). Any
/// other variable that such a body sets is private to its iteration.
pub fn accumulates(kernel: &Kernel, body: &[Stmt], v: Var) -> Option<Op> {
    let mut found = None;
    let ty = kernel.vars.get(v.0 as usize)?.1;
    (folds(body, v, &mut found) && regroups(found?, ty, kernel.reassociate)).then_some(found?)
}

/// The function with which a body folds into `v`, if it does nothing else with `v` and pieces of its iterations can be folded one by one;
/// and the value with which a piece begins, which changes nothing.
pub fn fold_in_pieces(kernel: &Kernel, body: &[Stmt], v: Var) -> Option<(Op, Value)> {
    let (op, ty) = (accumulates(kernel, body, v)?, kernel.vars.get(v.0 as usize)?.1);
    // What is 0 before the loop stays 0; a piece may leave the floats, and 0 times infinity is NaN.
    let stays = !(op == Op::Mul && ty.is_float());
    Some((op, neutral(op, ty).filter(|_| stays)?))
}

/// The function with which a body folds into elements of an array, if it does nothing else with it and pieces of its iterations can be
/// folded one by one; and the value with which the elements begin in a piece.
pub fn array_in_pieces(kernel: &Kernel, body: &[Stmt], b: BufferId) -> Option<(Op, Value)> {
    let (mut found, ty) = (None, kernel.buffers.get(b.0 as usize)?.ty);
    let only = folds_elements(body, b, &mut found);
    let op = found.filter(|op| only && ty != Type::Bool && regroups(*op, ty, kernel.reassociate))?;
    Some((op, neutral(op, ty).filter(|_| !(op == Op::Mul && ty.is_float()))?))
}

/// Whether statements touch elements of an array only in folds with `found`.
pub(crate) fn folds_elements(stmts: &[Stmt], b: BufferId, found: &mut Option<Op>) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Store(to, at, e) if *to == b => !at.loads_from(b) && goes_on(e, (b, at), found),
        Stmt::Call(entry) if entry.buffers().any(|other| other == b) => false,
        _ => stmt.exprs().all(|e| !e.loads_from(b)) && stmt.blocks().all(|block| folds_elements(block, b, found)),
    })
}

/// Whether an expression folds values into an element with `found`, one or several.
fn goes_on(e: &Expr, (b, at): (BufferId, &Expr), found: &mut Option<Op>) -> bool {
    let Some((op, values)) = folded_values(e, (b, at)) else { return false };
    *found.get_or_insert(op) == op && values.iter().all(|value| !value.loads_from(b))
}

/// The values that a statement folds into the element `at` of `b`, and the function: those of `y[i] = y[i] + v + w` are v and w.
pub fn folded_values<'e>(e: &'e Expr, (b, at): (BufferId, &Expr)) -> Option<(Op, Vec<&'e Expr>)> {
    let Expr::Op(op, args) = e else { return None };
    let [first, second] = &args[..] else { return None };
    let (so_far, folded) = if first.loads_from(b) { (first, second) } else { (second, first) };
    let is_there = matches!(so_far, Expr::Load(from, place) if *from == b && **place == *at);
    let mut values = if is_there { vec![] } else { folded_values(so_far, (b, at)).filter(|(same, _)| same == op)?.1 };
    values.push(folded);
    Some((*op, values))
}

/// Whether values that are folded with a function may come in another order.
pub fn regroups(op: Op, ty: Type, reassociate: bool) -> bool {
    match op {
        Op::Min | Op::Max | Op::And | Op::Or | Op::Xor | Op::AndAlso | Op::OrElse => true,
        Op::Add | Op::Mul => !ty.is_float() || reassociate,
        _ => false,
    }
}

/// The function with which statements fold into a variable, if they do nothing else with it.
pub fn folded_with(block: &[Stmt], v: Var) -> Option<Op> {
    let mut found = None;
    folds(block, v, &mut found).then_some(found?)
}

/// Whether `v` occurs only in folds with `found`.
fn folds(stmts: &[Stmt], v: Var, found: &mut Option<Op>) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Set(w, e) if *w == v => match e {
            Expr::Op(op, args) if args.len() == 2 && *found.get_or_insert(*op) == *op => {
                let itself = args.iter().filter(|a| **a == Expr::Var(v)).count();
                itself == 1 && args.iter().filter(|a| **a != Expr::Var(v)).all(|a| !a.reads(v))
            }
            _ => false,
        },
        _ => stmt.exprs().all(|e| !e.reads(v)) && stmt.blocks().all(|block| folds(block, v, found)),
    })
}
