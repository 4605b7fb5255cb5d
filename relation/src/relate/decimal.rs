//! Decimals compared, whatever digits they have: as whole numbers of any size are, without any.
//!
//! ```text
//!  a < b        a has p digits, b has q, p < q, n = 10^(q − p)
//!  a · n < b    may not fit 64 bits; its sides over n do:
//!
//!  a <  b    a <  ⌈b / n⌉        a <= b    a <= ⌊b / n⌋        a == b    b % n == 0 && a == b / n
//!  a >= b    a >= ⌈b / n⌉        a >  b    a >  ⌊b / n⌋
//! ```
//!
//! A literal is divided, or multiplied, here; what 64 bits do not hold is less, or greater, than all that they hold.
//!
//! Where a side is a sum or a product that 64 bits may not hold, the difference of both is asked, about and exactly:
//!
//! ```text
//!  f = the difference in floats        d = the difference in 64 bits, which wraps        a < b    if |f| < 2⁶¹ then d < 0 else f < 0
//! ```
//!
//! `d` is exact where the difference is less than 2⁶³, whatever the sides are, and `f` has its sign where it is not, as long as its error is
//! less than 2⁶¹: of sides up to 2¹⁰⁰.

use super::declare::{Relate, written};
use super::expression::{Made, Of, binary, call, digits, int};
use super::guard::floated;
use super::index::power;
use super::label;
use super::routine::Routine;
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{Argument, BinaryOp, Expr, ExprKind, Float, Literal, UnaryOp};

/// The same comparison with its sides exchanged.
pub(super) fn swapped(op: BinaryOp) -> BinaryOp {
    use BinaryOp::*;
    match op {
        Lt => Gt,
        Le => Ge,
        Gt => Lt,
        Ge => Le,
        same => same,
    }
}

impl Relate {
    /// Two values of which one is a decimal, compared.
    pub(super) fn decimals_compared(&mut self, op: BinaryOp, a: Made, b: Made, span: Span) -> Option<Expr> {
        let (Some(p), Some(q)) = (digits(&a.of), digits(&b.of)) else { return self.beside_decimal(span) };
        match (&a.of, &b.of) {
            (_, Of::Number(literal)) => {
                let text = written(literal);
                if self.fitted.wide && is_wide(&a.expr) {
                    return Some(Expr { span, ..wide_with_literal(op, a.expr, p, (&text, q), b.expr.span)? });
                }
                Some(Expr { span, ..with_literal(op, a.expr, p, (&text, q), b.expr.span)? })
            }
            (Of::Number(_), _) => self.decimals_compared(swapped(op), b, a, span),
            _ if p > q => self.decimals_compared(swapped(op), b, a, span),
            _ => {
                let (a, b) = (self.with_digits(a, p, span)?, self.with_digits(b, q, span)?);
                Some(Expr { span, ..self.beside_more_digits(op, a, b, q - p) })
            }
        }
    }

    /// `a` compared with a value that has so many more digits.
    fn beside_more_digits(&mut self, op: BinaryOp, a: Expr, b: Expr, more: u8) -> Expr {
        use BinaryOp::*;
        let span = b.span;
        let n = power(more, span);
        if self.fitted.wide && computes(&a) | computes(&b) && [&a, &b].iter().all(|e| !computes(e) || is_wide(e)) {
            let up = |e, n| if more == 0 { e } else { binary(Mul, e, n) };
            let float = Expr { kind: ExprKind::Literal(Literal::Float(Float(10f64.powi(more.into())))), span };
            let about = binary(Sub, up(floated(&a), float), floated(&b));
            return apart(op, about, binary(Sub, up(a, n), b));
        }
        match op {
            _ if more == 0 => binary(op, a, b),
            Lt | Ge => binary(op, a, self.by_routine(Routine::Ceiling, vec![b, n], span)),
            Le | Gt => binary(op, a, call("floordiv", vec![b, n], span)),
            _ => {
                let exactly = self.by_routine(Routine::Exactly, vec![a, b, n], span);
                match op {
                    Ne => Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(exactly)), span },
                    _ => exactly,
                }
            }
        }
    }
}

/// A difference compared with 0: about, and in 64 bits that wrap.
fn apart(op: BinaryOp, about: Expr, exact: Expr) -> Expr {
    /// What a difference is less than that 64 bits hold, whatever its float is wrong by.
    const NEAR: f64 = (1u64 << 61) as f64;
    let span = about.span;
    let float = |x| Expr { kind: ExprKind::Literal(Literal::Float(Float(x))), span };
    let is_near = binary(BinaryOp::Lt, call("abs", vec![about.clone()], span), float(NEAR));
    let sides = [is_near, binary(op, exact, int(0, span)), binary(op, about, float(0.0))];
    let [is_near, exact, about] = sides.map(Box::new);
    Expr { kind: ExprKind::If(is_near, exact, about), span }
}

/// Whether a value is a sum, a difference or a product, or is computed of one.
fn computes(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) | ExprKind::Reduce { .. } => true,
        ExprKind::Binary(_, a, b) => computes(a) || computes(b),
        ExprKind::Unary(_, x) => computes(x),
        ExprKind::If(_, a, b) => computes(a) || computes(b),
        ExprKind::Call(_, args) => args.iter().any(|arg| matches!(arg, Argument::Expr(e) if computes(e))),
        _ => false,
    }
}

/// Whether a value is a sum or a product that wraps as the numbers do: of it as a float nothing else is lost.
fn is_wide(e: &Expr) -> bool {
    let fits = |e: &Expr| !computes(e) || is_wide(e);
    match &e.kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => fits(a) && fits(b),
        ExprKind::Unary(UnaryOp::Neg, x) => fits(x),
        ExprKind::If(_, a, b) => fits(a) && fits(b),
        ExprKind::Reduce { function, body, start: None, .. } => function.name == "sum" && fits(body),
        ExprKind::Call(name, args) => {
            let values = args.iter().skip(1);
            matches!(name.name.as_str(), "mask" | "select")
                && values.into_iter().all(|arg| matches!(arg, Argument::Expr(e) if fits(e)))
        }
        _ => false,
    }
}

/// A sum or a product of `p` digits, which 64 bits may not hold, compared with a literal of `q`.
fn wide_with_literal(op: BinaryOp, a: Expr, p: u8, (text, q): (&str, u8), span: Span) -> Option<Expr> {
    use BinaryOp::*;
    let literal = label::whole(text, p.max(q))?;
    let n = 10i128.pow(u32::from(q.saturating_sub(p)));
    let (down, exact) = (literal.div_euclid(n), literal % n == 0);
    let truth = |holds| Some(Expr { kind: ExprKind::Literal(Literal::Bool(holds)), span });
    let op = match op {
        Eq if !exact => return truth(false),
        Ne if !exact => return truth(true),
        Lt if !exact => Le,
        Ge if !exact => Gt,
        op => op,
    };
    let float = Expr { kind: ExprKind::Literal(Literal::Float(Float(down as f64))), span };
    let about = binary(Sub, floated(&a), float);
    Some(apart(op, about, binary(Sub, a, int(i128::from(down as i64), span))))
}

/// An integer of `p` digits compared with a literal of `q`.
fn with_literal(op: BinaryOp, a: Expr, p: u8, (text, q): (&str, u8), span: Span) -> Option<Expr> {
    use BinaryOp::*;
    let literal = label::whole(text, p.max(q))?;
    let n = 10i128.pow(u32::from(q.saturating_sub(p)));
    let (down, exact) = (literal.div_euclid(n), literal % n == 0);
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    // What no integer is equal to: less than all, or greater.
    let never = (Gt, most);
    let (op, bound) = match op {
        Lt | Le if down < least => never,
        Lt | Le if down > most => (Le, most),
        Gt | Ge if down < least => (Ge, least),
        Gt | Ge if down > most => never,
        Eq if !exact || !(least..=most).contains(&down) => never,
        Ne if !exact || !(least..=most).contains(&down) => (Le, most),
        Lt if !exact => (Le, down),
        Ge if !exact => (Gt, down),
        op => (op, down),
    };
    Some(binary(op, a, int(bound, span)))
}
