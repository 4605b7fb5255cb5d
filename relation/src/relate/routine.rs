//! Functions of the language that expressions over coordinates call: of decimals of two scales, and of coordinates that may be none.

use super::calendar::{add, boxed, call, ident, int, kind, name, op};
use super::declare::Relate;
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{Argument, BinaryOp, Block, Expr, ExprKind, Function, Literal, Property, Stmt};

/// A function that a translation calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Routine {
    /// `ceiling(x, n)`: the quotient rounded up. n is positive.
    Ceiling,
    /// `exactly(a, x, n)`: whether a · n = x. n is positive.
    Exactly,
    /// `least(a, b)`: the lesser coordinate; none, −1, is greater than all.
    Least,
}

impl Routine {
    fn word(self) -> &'static str {
        ["ceiling_of", "exactly", "least_label"][self as usize]
    }

    /// The function under a name. No operation of it wraps.
    pub(super) fn function(self, called: &str) -> Function {
        let (params, stmts, value, properties): (&[&str], _, _, _) = match self {
            Routine::Ceiling => {
                let rest = op(BinaryOp::Ne, op(BinaryOp::Rem, name("x"), name("n")), int(0));
                let up = kind(ExprKind::If(boxed(rest), boxed(int(1)), boxed(int(0))));
                (&["x", "n"], vec![("down", call("floordiv", name("x"), name("n")))], add(name("down"), up), vec![])
            }
            Routine::Exactly => {
                let whole = op(BinaryOp::Eq, op(BinaryOp::Rem, name("x"), name("n")), int(0));
                let same = op(BinaryOp::Eq, name("a"), op(BinaryOp::Div, name("x"), name("n")));
                (&["a", "x", "n"], vec![], op(BinaryOp::AndAlso, whole, same), vec![])
            }
            Routine::Least => {
                let below = |x: &str| op(BinaryOp::Lt, name(x), int(0));
                let alike = op(BinaryOp::Eq, below("a"), below("b"));
                // Of one sign the lesser, else the one that is a coordinate: the order of unsigned integers, in which −1 is last.
                let value = kind(ExprKind::If(
                    boxed(alike),
                    boxed(call("min", name("a"), name("b"))),
                    boxed(call("max", name("a"), name("b"))),
                ));
                let properties = vec![
                    Property::Commutative,
                    Property::Associative,
                    Property::Idempotent,
                    Property::Identity(Literal::Int(-1), None),
                ];
                (&["a", "b"], vec![], value, properties)
            }
        };
        Function {
            name: ident(called),
            params: params.iter().map(|param| (ident(param), Type::I64)).collect(),
            result: if self == Routine::Exactly { Type::Bool } else { Type::I64 },
            body: Block {
                stmts: stmts.into_iter().map(|(n, e)| Stmt::Let(ident(n), e)).collect(),
                value: boxed(value),
            },
            properties: properties.into_iter().map(|property| (property, Span::default())).collect(),
        }
    }
}

impl Relate {
    /// The name of a function that the program now has.
    pub(super) fn routine(&mut self, routine: Routine) -> String {
        if let Some(name) = self.routines.get(&routine) {
            return name.clone();
        }
        let name = self.fresh(routine.word());
        self.routines.insert(routine, name.clone());
        name
    }

    /// A call of such a function.
    pub(super) fn by_routine(&mut self, routine: Routine, args: Vec<Expr>, span: Span) -> Expr {
        let name = fiberloom_core::notation::syntax::Ident { name: self.routine(routine), span };
        Expr { kind: ExprKind::Call(name, args.into_iter().map(Argument::Expr).collect()), span }
    }
}
