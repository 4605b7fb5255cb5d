//! Statements, accesses, index expressions, expressions.

use super::index::{affine, index};
use super::{Failure, Rule, Tokens, ident, int, list, literal, parens, span, ty};
use crate::lexer::Token;
use chumsky::prelude::*;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::*;

/// `access op expr ["where" "{" statement* "}"] [schedule]`
pub fn statement<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Statement> {
    let schedule = super::schedule::schedule(expr.clone());
    recursive(|statement| {
        let locals = just(Token::Where)
            .ignore_then(statement.repeated().collect().delimited_by(just(Token::OpenBlock), just(Token::CloseBlock)))
            .or_not()
            .map(Option::unwrap_or_default);
        access(expr.clone()).then(assign()).then(expr).then(locals).then(schedule.or_not()).map_with(
            |((((lhs, op), rhs), locals), schedule), e| {
                let span = span(e.span());
                Statement { lhs, op, rhs, locals, schedule, span }
            },
        )
    })
    .boxed()
}

fn assign<'t, 's: 't>() -> Rule<'t, 's, Assign> {
    choice((
        just(Token::Assign).to(Assign::Set),
        just(Token::AddAssign).to(Assign::Add),
        ident().then_ignore(just(Token::Assign)).map(Assign::Fold),
    ))
    .labelled("`=`, `+=` or `NAME=`")
    .boxed()
}

/// `IDENT "[" [index ("," index)*] "]"`
pub fn access<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Access> {
    ident()
        .then(list(index(expr), 0).delimited_by(just(Token::OpenIndex), just(Token::CloseIndex)))
        .map_with(|(tensor, indices), e| Access { tensor, indices, span: span(e.span()) })
        .boxed()
}

/// `"if" expr "then" expr "else" expr | binary`
pub fn expression<'t, 's: 't>() -> Rule<'t, 's, Expr> {
    recursive(|expr| {
        let expr = expr.boxed();
        let conditional = just(Token::If)
            .ignore_then(expr.clone())
            .then_ignore(just(Token::Then))
            .then(expr.clone())
            .then_ignore(just(Token::Else))
            .then(expr.clone())
            .map_with(|((c, t), e), x| {
                let kind = ExprKind::If(Box::new(c), Box::new(t), Box::new(e));
                Expr { kind, span: span(x.span()) }
            });
        conditional.or(binary(unary(atom(expr)))).labelled("an expression")
    })
    .boxed()
}

/// `binary := unary (OP unary)*` by precedence; comparisons do not chain.
fn binary<'t, 's: 't>(operand: Rule<'t, 's, Expr>) -> Rule<'t, 's, Expr> {
    use BinaryOp::*;
    let mut rule = operand;
    let tighter: [&[(Token<'static>, BinaryOp)]; 6] = [
        &[(Token::Star, Mul), (Token::Slash, Div), (Token::Percent, Rem)],
        &[(Token::Plus, Add), (Token::Minus, Sub)],
        &[(Token::Shl, Shl), (Token::Shr, Shr)],
        &[(Token::And, And)],
        &[(Token::Caret, Xor)],
        &[(Token::Or, Or)],
    ];
    for level in tighter {
        rule = left(rule, level);
    }
    rule = comparison(rule);
    rule = left(rule, &[(Token::AndAnd, AndAlso)]);
    left(rule, &[(Token::OrOr, OrElse)])
}

fn operator<'t, 's: 't>(level: &'static [(Token<'static>, BinaryOp)]) -> Rule<'t, 's, BinaryOp> {
    any::<Tokens<'t, 's>, Failure<'t, 's>>()
        .filter(move |t| level.iter().any(|(token, _)| token == t))
        .map(move |t| level.iter().find(|(token, _)| *token == t).map_or(BinaryOp::Add, |(_, op)| *op))
        .labelled("an operator")
        .boxed()
}

fn join(a: Expr, op: BinaryOp, b: Expr) -> Expr {
    let span = a.span.to(b.span);
    Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), span }
}

fn left<'t, 's: 't>(operand: Rule<'t, 's, Expr>, level: &'static [(Token<'static>, BinaryOp)]) -> Rule<'t, 's, Expr> {
    operand.clone().foldl(operator(level).then(operand).repeated(), |a, (op, b)| join(a, op, b)).boxed()
}

fn comparison<'t, 's: 't>(operand: Rule<'t, 's, Expr>) -> Rule<'t, 's, Expr> {
    use BinaryOp::*;
    const LEVEL: &[(Token<'static>, BinaryOp)] =
        &[(Token::Lt, Lt), (Token::Le, Le), (Token::Gt, Gt), (Token::Ge, Ge), (Token::EqEq, Eq), (Token::Ne, Ne)];
    let second = operator(LEVEL).then(operand.clone());
    operand
        .then(second.clone().or_not())
        .then(second.map_with(|_, e| e.span()).or_not())
        .validate(|((a, b), chained), _, emitter| {
            if let Some(place) = chained {
                let message = "comparisons do not chain\nwrite `a < b && b < c`, or put one of them in parentheses";
                emitter.emit(Rich::custom(place, message));
            }
            match b {
                Some((op, b)) => join(a, op, b),
                None => a,
            }
        })
        .boxed()
}

/// `("-"|"!") unary | atom`; a minus before a number belongs to the literal.
fn unary<'t, 's: 't>(atom: Rule<'t, 's, Expr>) -> Rule<'t, 's, Expr> {
    let number = literal().map_with(|l, e| Expr { kind: ExprKind::Literal(l), span: span(e.span()) });
    let sign = just(Token::Minus).to(UnaryOp::Neg).or(just(Token::Bang).to(UnaryOp::Not));
    recursive(|unary| {
        let signed = sign.then(unary).map_with(|(op, x), e| {
            let kind = ExprKind::Unary(op, Box::new(x));
            Expr { kind, span: span(e.span()) }
        });
        choice((number, signed, atom)).labelled("an expression")
    })
    .boxed()
}

fn atom<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Expr> {
    let placed = |kind: Rule<'t, 's, ExprKind>| kind.map_with(|kind, e| Expr { kind, span: span(e.span()) }).boxed();
    choice((
        placed(shape_operator(expr.clone())),
        placed(reduction(expr.clone())),
        placed(call(expr.clone())),
        placed(access(expr.clone()).map(ExprKind::Access).boxed()),
        placed(ident().map(ExprKind::Name).boxed()),
        parens(expr),
    ))
    .boxed()
}

/// `IDENT "(" IDENT ("," IDENT)* ":" expr ["start" expr] ")"`
fn reduction<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, ExprKind> {
    ident()
        .then_ignore(just(Token::Open))
        .then(list(ident(), 1))
        .then_ignore(just(Token::Colon))
        .then(expr.clone())
        .then(just(Token::Start).ignore_then(expr).or_not())
        .then_ignore(just(Token::Close))
        .map(|(((function, vars), body), start)| ExprKind::Reduce {
            function,
            vars,
            body: Box::new(body),
            start: start.map(Box::new),
        })
        .boxed()
}

/// `IDENT "(" [arg ("," arg)*] ")"`
fn call<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, ExprKind> {
    let ty = ty().map_with(|t, e| Argument::Type(t, span(e.span())));
    let argument = ty.or(expr.map(Argument::Expr)).boxed();
    ident().then(parens(list(argument, 0))).map(|(name, args)| ExprKind::Call(name, args)).boxed()
}

/// `split(e, j -> (k, l, m))` as `split(split(e, j -> (k, l_m)), l_m -> (l, m))`: the tree splits in two.
fn splits(body: Expr, from: Ident, mut to: Vec<Ident>, place: Span) -> ExprKind {
    let first = to.remove(0);
    let rest = match &to[..] {
        [one] => one.clone(),
        more => {
            let names: Vec<&str> = more.iter().map(|v| v.name.as_str()).collect();
            Ident { name: names.join("_"), span: more[0].span }
        }
    };
    let kind = ExprKind::Split { body: Box::new(body), from, to: (first, rest.clone()) };
    if to.len() == 1 { kind } else { splits(Expr { kind, span: place }, rest, to, place) }
}

/// `collapse`, `split`, `concat`, `slice`.
fn shape_operator<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, ExprKind> {
    let comma = || just(Token::Comma);
    let arrow = || just(Token::Arrow);
    let within = |rule: Rule<'t, 's, ExprKind>| parens(rule);
    let collapse = expr
        .clone()
        .then_ignore(comma())
        .then(parens(list(ident(), 2)))
        .then_ignore(arrow())
        .then(ident())
        .map(|((body, from), to)| ExprKind::Collapse { body: Box::new(body), from, to });
    let split = expr
        .clone()
        .then_ignore(comma())
        .then(ident())
        .then_ignore(arrow())
        .then(parens(list(ident(), 2)))
        .map_with(|((body, from), to), e| splits(body, from, to, span(e.span())));
    let concat = parens(list(expr.clone(), 2))
        .then_ignore(comma())
        .then(parens(list(ident(), 2)))
        .then_ignore(arrow())
        .then(ident())
        .map(|((parts, from), to)| ExprKind::Concat { parts, from, to })
        .validate(|kind, e, emitter| {
            if let ExprKind::Concat { parts, from, .. } = &kind
                && parts.len() != from.len()
            {
                let message = format!("concat of {} parts with {} index variables", parts.len(), from.len());
                emitter.emit(Rich::custom(e.span(), format!("{message}\neach part binds one, in order")));
            }
            kind
        });
    // `concat(a, "…")` of texts is a call: no parts in parentheses stand first.
    let texts = just(Token::Open).then(just(Token::Open)).not().ignore_then(parens(list(expr.clone(), 1)));
    let texts = texts.map_with(|args, e| {
        let name = Ident { name: "concat".to_string(), span: span(e.span()) };
        ExprKind::Call(name, args.into_iter().map(Argument::Expr).collect())
    });
    let colon = || just(Token::Colon);
    let slice = expr
        .then_ignore(comma())
        .then(ident())
        .then_ignore(arrow())
        .then(ident())
        .then_ignore(comma())
        .then(affine().then_ignore(colon()).then(affine()))
        .then(colon().ignore_then(int()).or_not())
        .map(|((((body, from), to), (start, end)), step)| ExprKind::Slice {
            body: Box::new(body),
            from,
            to,
            start,
            end,
            step,
        });
    choice((
        just(Token::Collapse).ignore_then(within(collapse.boxed())),
        just(Token::Split).ignore_then(within(split.boxed())),
        just(Token::Concat).ignore_then(texts.boxed()),
        just(Token::Concat).ignore_then(within(concat.boxed())),
        just(Token::Slice).ignore_then(within(slice.boxed())),
    ))
    .boxed()
}
