//! Arithmetic of coordinates and positions, as expressions of loops.

use super::{Expr, Symbolic, Var};
use fiberloom_core::algebra::{Mode, Op, Type, Value};

/// An integer constant.
pub(super) fn int(x: i64) -> Expr {
    Expr::Const(Value::i64(x))
}

/// Names a coordinate or position in a variable, unless it is a variable or a constant.
pub(super) fn held(d: &mut Symbolic, name: &str, e: Expr) -> Expr {
    if matches!(e, Expr::Const(_) | Expr::Var(_)) { e } else { d.define(name, Type::I64, e) }
}

/// `a op b`.
pub(super) fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Op(op, vec![a, b])
}

/// `a == b` or `a != b` for values of one type. In strict mode 0.0 and −0.0 differ, so their inverses are compared too.
pub(super) fn compared(mode: Mode, op: Op, a: Expr, (b, ty): (Expr, Type)) -> Expr {
    if mode == Mode::Algebraic || !ty.is_float() {
        return binary(op, a, b);
    }
    let inverse = |x: &Expr| binary(Op::Div, Expr::Const(Value::one(ty)), x.clone());
    let inverses = binary(op, inverse(&a), inverse(&b));
    binary(if op == Op::Eq { Op::AndAlso } else { Op::OrElse }, binary(op, a, b), inverses)
}

/// `a + b`, with constants combined at the end.
pub(super) fn plus(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (Expr::Const(x), Expr::Const(y)) => int(x.bits().wrapping_add(y.bits()) as i64),
        (Expr::Const(z), e) | (e, Expr::Const(z)) if z.bits() == 0 => e,
        (Expr::Op(Op::Add, mut args), Expr::Const(y)) if matches!(args[1], Expr::Const(_)) => {
            let last = args.pop().expect("two arguments");
            plus(args.remove(0), plus(last, Expr::Const(y)))
        }
        (a, b) => binary(Op::Add, a, b),
    }
}

/// `a - b`, without subtracting 0.
pub(super) fn minus(a: Expr, b: Expr) -> Expr {
    if b == int(0) { a } else { binary(Op::Sub, a, b) }
}

/// `a · b`, without multiplying by 0 or 1.
pub(super) fn times(a: Expr, b: Expr) -> Expr {
    let is = |e: &Expr, x: i64| *e == int(x);
    if is(&a, 0) || is(&b, 0) {
        int(0)
    } else if is(&a, 1) {
        b
    } else if is(&b, 1) {
        a
    } else {
        binary(Op::Mul, a, b)
    }
}

/// `true`, as the value of a flag.
pub(super) fn yes() -> Expr {
    Expr::Const(Value::bool(true))
}

/// The value of an expression where a variable is 0, and by how much it grows with the variable, if it does so linearly.
pub fn linear(e: &Expr, index: Var) -> Option<(Expr, Expr)> {
    match e {
        Expr::Var(v) if *v == index => Some((int(0), int(1))),
        e if !e.reads(index) && !e.loads() => Some((e.clone(), int(0))),
        Expr::Op(Op::Add, args) => {
            let ((a, x), (b, y)) = (linear(&args[0], index)?, linear(&args[1], index)?);
            Some((plus(a, b), plus(x, y)))
        }
        Expr::Op(Op::Mul, args) => {
            let ((a, x), (b, y)) = (linear(&args[0], index)?, linear(&args[1], index)?);
            match (&x, &y) {
                (_, zero) if *zero == int(0) => Some((binary(Op::Mul, a, b.clone()), binary(Op::Mul, x, b))),
                (zero, _) if *zero == int(0) => Some((binary(Op::Mul, a.clone(), b), binary(Op::Mul, a, y))),
                _ => None,
            }
        }
        _ => None,
    }
}
