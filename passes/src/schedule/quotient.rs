//! Moves divisors that no loop of a sum changes out of the sum, so that it divides once.
//!
//! ```text
//!  sum(k: S[i,k] * X[k,j] / z[i])    ─▶    sum(k: S[i,k] * X[k,j]) / z[i]
//! ```
//!
//! Applies to floats in `algebraic` mode, where products distribute over sums, and 0 divided by anything is 0.

use super::eliminate::{may_fail, product};
use fiberloom_core::algebra::{Mode, Op};
use fiberloom_core::notation::typed::{Expr, Fun, Kind, VarId};
use fiberloom_core::stack::with_room;

/// The expression with its sums' constant divisors moved outside.
pub(super) fn divided_last(e: &Expr, mode: Mode) -> Expr {
    if mode != Mode::Algebraic {
        return e.clone();
    }
    let inside = with_room(|| e.rebuilt(&mut |part| divided_last(part, mode)));
    let Kind::Reduce { fun: Fun::Op(Op::Add), vars, body, start: None } = &inside.kind else { return inside };
    let mut divisors = vec![];
    let dividend = dividend(body, vars, &mut divisors);
    let free = dividend.free();
    let plain = e.ty.is_float() && body.may_miss().is_none() && vars.iter().all(|v| free.contains(v));
    if !plain || divisors.is_empty() {
        return inside;
    }
    let kind = Kind::Reduce { fun: Fun::Op(Op::Add), vars: vars.clone(), body: Box::new(dividend), start: None };
    let sum = Expr { kind, ..inside.clone() };
    divisors
        .into_iter()
        .fold(sum, |sum, by| Expr { kind: Kind::Call(Fun::Op(Op::Div), vec![sum, by]), ..inside.clone() })
}

/// The product without the divisors that depend on none of these variables; those are added to `divisors`.
fn dividend(e: &Expr, vars: &[VarId], divisors: &mut Vec<Expr>) -> Expr {
    let stays = |by: &Expr| may_fail(by) || by.free().iter().any(|v| vars.contains(v));
    match &e.kind {
        Kind::Call(Fun::Op(Op::Div), args) if !stays(&args[1]) => {
            divisors.push(args[1].clone());
            dividend(&args[0], vars, divisors)
        }
        Kind::Call(Fun::Op(Op::Mul), args) => {
            product(Op::Mul, e, args.iter().map(|a| dividend(a, vars, divisors)).collect())
        }
        _ => e.clone(),
    }
}
