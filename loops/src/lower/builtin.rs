//! The code of built-in functions in loops.
//!
//! ```text
//!  R[i,j] = A[i,j] / s[i]      ─▶      R_vals[p] = select(a == 0.0, 0.0, a / s)          in algebraic mode
//!                                      R_vals[p] = a / s                                 in strict mode
//! ```
//!
//! Loops divide as IEEE 754 says. In `algebraic` mode 0 divided by anything is 0; only this file emits the test of the numerator, and
//! omits it where a constant operand makes it unnecessary, up to the sign of zero.

use super::{Expr, binary};
use crate::Symbolic;
use fiberloom_core::algebra::{Mode, Op, Value};

/// Applies a built-in to arguments, each of which is evaluated once. It may emit statements that define the arguments.
pub(super) fn builtin(d: &mut Symbolic, op: Op, mut args: Vec<Expr>, mode: Mode) -> Expr {
    if !tests_numerator(op, mode) {
        return Expr::Op(op, args);
    }
    let ty = d.type_of(&args[0]);
    if !ty.is_float() || is_nonzero(&args[0]) || is_nonzero(&args[1]) {
        return Expr::Op(op, args);
    }
    let mut held = |name: &str, e: Expr| match e {
        Expr::Const(_) | Expr::Var(_) => e,
        e => d.define(name, ty, e),
    };
    let divisor = args.pop().map(|e| held("divisor", e)).expect("two arguments: checked");
    let numerator = args.pop().map(|e| held("numerator", e)).expect("two arguments: checked");
    let zero = Expr::Const(Value::zero(ty));
    let is_zero = binary(Op::Eq, numerator.clone(), zero.clone());
    Expr::Op(Op::Select, vec![is_zero, zero, binary(op, numerator, divisor)])
}

/// Whether a mode defines a float quotient with numerator 0 as 0, where IEEE 754 may give another value.
pub(super) fn tests_numerator(op: Op, mode: Mode) -> bool {
    matches!(op, Op::Div | Op::FloorDiv) && mode == Mode::Algebraic
}

/// Whether an expression is a constant that is neither 0 nor NaN.
fn is_nonzero(e: &Expr) -> bool {
    matches!(e, Expr::Const(v) if v.is_true() && !v.is_nan())
}
