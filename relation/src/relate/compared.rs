//! Comparisons: of coordinates with labels and with one another, of texts, of numbers.

use super::decimal::swapped;
use super::declare::Relate;
use super::expression::{Made, Of, binary, int, is_decimal};
use super::{Holds, Test, What};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};

impl Relate {
    pub(super) fn compared(&mut self, op: BinaryOp, a: Made, b: Made, span: Span) -> Option<Made> {
        let literal = |m: &Made| match &m.of {
            Of::Quote(text) => Some(Literal::Text(text.clone())),
            Of::Number(literal) => Some(literal.clone()),
            _ => None,
        };
        match (&a.of, &b.of) {
            (Of::Holds(Holds::Domain(domain)), _) if literal(&b).is_some() => {
                let domain = *domain;
                let label = literal(&b).expect("it is one");
                self.against(op, a, domain, &label, (b.expr.span, span))
            }
            (_, Of::Holds(Holds::Domain(_))) if literal(&a).is_some() => self.compared(swapped(op), b, a, span),
            (Of::Holds(Holds::Domain(d)), Of::Holds(Holds::Domain(e))) => {
                if d != e {
                    return self.two_domains(*d, *e, span);
                }
                Some(Made::plain(ordered(op, a, b), Type::Bool))
            }
            (Of::Column(table, column), Of::Quote(text)) => {
                let (at, test) = ((*table, *column), Test::Is(text.clone()));
                self.column_is(op, a, at, test, span)
            }
            (Of::Changed(of, changes), Of::Quote(text)) => {
                let (of, changes, text) = ((**of).clone(), changes.clone(), text.clone());
                let changed = |test| Test::Changed(changes, Box::new(test));
                let (test, negated) = match op {
                    BinaryOp::Eq | BinaryOp::Ne => (Test::Is(text), op == BinaryOp::Ne),
                    BinaryOp::Lt | BinaryOp::Ge => (Test::Below(text), op == BinaryOp::Ge),
                    _ => (Test::UpTo(text), op == BinaryOp::Gt),
                };
                let a = Made { of, ..a };
                let is = self.passes(a.clone(), changed(test), span)?;
                if !negated {
                    return Some(is);
                }
                let not = Expr { kind: ExprKind::Unary(UnaryOp::Not, Box::new(is.expr)), span };
                // What is no text is other than each, and not greater.
                let expr = match op {
                    BinaryOp::Ne => not,
                    _ => binary(BinaryOp::AndAlso, self.passes(a, Test::Any, span)?.expr, not),
                };
                Some(Made::plain(Expr { span, ..expr }, Type::Bool))
            }
            (Of::Quote(_), Of::Changed(..)) => self.compared(swapped(op), b, a, span),
            (Of::Quote(_), Of::Column(..)) => self.compared(swapped(op), b, a, span),
            (Of::Column(..) | Of::Changed(..), _) | (_, Of::Column(..) | Of::Changed(..)) => {
                let help = "a column whose texts are compared with others', or with none, is of a domain: `dim D: string`, and `NAME: D` in its table";
                self.say(span, "texts of a column are compared with what is no text in quotes", help);
                None
            }
            _ => {
                let (a, b) = (self.as_number(a)?, self.as_number(b)?);
                if is_decimal(&a.of) || is_decimal(&b.of) {
                    return self.decimals_compared(op, a, b, span).map(|e| Made::plain(e, Type::Bool));
                }
                let (parts, _, _) = self.aligned(vec![a, b], span)?;
                let [a, b] = <[Expr; 2]>::try_from(parts).expect("two were given");
                Some(Made::plain(Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span }, Type::Bool))
            }
        }
    }

    /// A coordinate compared with a label: none is neither less nor greater than any, and equal to none.
    fn against(
        &mut self,
        op: BinaryOp,
        a: Made,
        domain: usize,
        literal: &Literal,
        (at, span): (Span, Span),
    ) -> Option<Made> {
        use BinaryOp::*;
        let label = self.label(domain, literal, at)?;
        let what = match op {
            Eq | Ne => What::At(domain, label),
            Lt | Ge => What::Below(domain, label),
            _ => What::UpTo(domain, label),
        };
        let name = self.ask(what);
        let bound = Relate::asked_at(name, None, Literal::Int(0), at);
        let (op, from) = match op {
            Lt | Le => (Lt, a.none),
            Gt | Ge => (Ge, false),
            equal => (equal, false),
        };
        let compared = binary(op, a.expr.clone(), bound);
        let expr = if from { binary(AndAlso, binary(Ge, a.expr, int(0, span)), compared) } else { compared };
        Some(Made::plain(Expr { span, ..expr }, Type::Bool))
    }

    /// Whether a text of a column is this one.
    fn column_is(&mut self, op: BinaryOp, a: Made, column: (usize, usize), test: Test, span: Span) -> Option<Made> {
        let is = self.asked_of(a, column, test, span);
        match op {
            BinaryOp::Eq => Some(Made::plain(is, Type::Bool)),
            BinaryOp::Ne => {
                let kind = ExprKind::Unary(UnaryOp::Not, Box::new(is));
                Some(Made::plain(Expr { kind, span }, Type::Bool))
            }
            _ => {
                let help = "texts that are ordered are labels: give the column a domain, `dim D: string`";
                self.say(span, "an order of texts of a column", help);
                None
            }
        }
    }
}

/// Two coordinates of a domain compared: none is neither less nor greater than any.
fn ordered(op: BinaryOp, a: Made, b: Made) -> Expr {
    use BinaryOp::*;
    let least = match op {
        Lt | Le if a.none => Some(a.expr.clone()),
        Gt | Ge if b.none => Some(b.expr.clone()),
        _ => None,
    };
    let compared = binary(op, a.expr, b.expr);
    match least {
        Some(least) => {
            let span = compared.span;
            binary(AndAlso, binary(Ge, least, int(0, span)), compared)
        }
        None => compared,
    }
}
