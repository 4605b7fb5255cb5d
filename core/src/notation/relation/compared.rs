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

use super::declare::{Relate, written};
use super::expression::{Made, Of, binary, call, digits, int};
use super::index::power;
use super::label;
use super::routine::Routine;
use crate::notation::diagnostic::Span;
use crate::notation::syntax::{BinaryOp, Expr, ExprKind, UnaryOp};

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
