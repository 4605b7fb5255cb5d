//! Parts of a date, and of a timestamp, as functions of the language, on days from 1970-01-01 on: years begin in March, eras have 400 of them.

use fiberloom_core::algebra::Type;
use fiberloom_core::notation::diagnostic::Span;
use fiberloom_core::notation::syntax::{Argument, BinaryOp, Block, Expr, ExprKind, Function, Ident, Literal, Stmt};

/// Parts of a date, and what the functions that say them are called.
pub(super) const PARTS: [(&str, &str); 6] = [
    ("year", "year_of"),
    ("month", "month_of"),
    ("day", "day_of"),
    ("hour", "hour_of"),
    ("minute", "minute_of"),
    ("second", "second_of"),
];

/// Whether one of [`PARTS`] is of a day, and takes microseconds; others take days.
pub(super) fn is_of_day(part: usize) -> bool {
    part > 2
}

/// The function of one of [`PARTS`] under a name: `i64` days, or microseconds, to an `i64`.
pub(super) fn function(part: usize, called: &str) -> Function {
    if is_of_day(part) {
        return of_day(part, called);
    }
    let stmts = [
        ("days", add(name("d"), int(719_468))),
        ("era", call("floordiv", name("days"), int(146_097))),
        ("e", sub(name("days"), mul(name("era"), int(146_097)))),
        (
            "y",
            div(sub(add(sub(name("e"), div(name("e"), 1_460)), div(name("e"), 36_524)), div(name("e"), 146_096)), 365),
        ),
        ("n", sub(name("e"), sub(add(mul(int(365), name("y")), div(name("y"), 4)), div(name("y"), 100)))),
        ("m", div(add(mul(int(5), name("n")), int(2)), 153)),
        (
            "month",
            kind(ExprKind::If(
                boxed(op(BinaryOp::Lt, name("m"), int(10))),
                boxed(add(name("m"), int(3))),
                boxed(sub(name("m"), int(9))),
            )),
        ),
    ];
    let value = match part {
        0 => {
            let next = kind(ExprKind::If(boxed(op(BinaryOp::Le, name("month"), int(2))), boxed(int(1)), boxed(int(0))));
            add(add(name("y"), mul(name("era"), int(400))), next)
        }
        1 => name("month"),
        _ => add(sub(name("n"), div(add(mul(int(153), name("m")), int(2)), 5)), int(1)),
    };
    Function {
        name: ident(called),
        params: vec![(ident("d"), Type::I64)],
        result: Type::I64,
        body: Block { stmts: stmts.into_iter().map(|(n, e)| Stmt::Let(ident(n), e)).collect(), value: boxed(value) },
        properties: Vec::new(),
    }
}

/// The same of a part of a day.
fn of_day(part: usize, called: &str) -> Function {
    let day = i128::from(super::DAY);
    let rest = sub(name("t"), mul(int(day), call("floordiv", name("t"), int(day))));
    let (unit, below) = [(3_600_000_000, 24), (60_000_000, 60), (1_000_000, 60)][part - 3];
    let value = op(BinaryOp::Rem, div(name("rest"), unit), int(below));
    Function {
        name: ident(called),
        params: vec![(ident("t"), Type::I64)],
        result: Type::I64,
        body: Block { stmts: vec![Stmt::Let(ident("rest"), rest)], value: boxed(value) },
        properties: Vec::new(),
    }
}

pub(super) fn ident(name: &str) -> Ident {
    Ident { name: name.to_string(), span: Span::default() }
}

pub(super) fn kind(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

pub(super) fn boxed(e: Expr) -> Box<Expr> {
    Box::new(e)
}

pub(super) fn name(of: &str) -> Expr {
    kind(ExprKind::Name(ident(of)))
}

pub(super) fn int(n: i128) -> Expr {
    kind(ExprKind::Literal(Literal::Int(n)))
}

pub(super) fn op(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    kind(ExprKind::Binary(op, boxed(a), boxed(b)))
}

pub(super) fn add(a: Expr, b: Expr) -> Expr {
    op(BinaryOp::Add, a, b)
}

fn sub(a: Expr, b: Expr) -> Expr {
    op(BinaryOp::Sub, a, b)
}

fn mul(a: Expr, b: Expr) -> Expr {
    op(BinaryOp::Mul, a, b)
}

fn div(a: Expr, by: i128) -> Expr {
    op(BinaryOp::Div, a, int(by))
}

pub(super) fn call(function: &str, a: Expr, b: Expr) -> Expr {
    kind(ExprKind::Call(ident(function), vec![Argument::Expr(a), Argument::Expr(b)]))
}
