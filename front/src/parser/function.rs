//! Functions: bodies and properties.

use super::{Rule, ident, int, list, literal, parens, span, ty};
use crate::lexer::Token;
use chumsky::prelude::*;
use fiberloom_core::notation::syntax::*;

/// `"fn" IDENT "(" parameters ")" "->" type block ["where" property ("," property)*]`
pub fn function<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Function> {
    let parameter = ident().then_ignore(just(Token::Colon)).then(ty()).boxed();
    let properties = just(Token::Where).ignore_then(list(property(expr.clone()), 1)).or_not();
    just(Token::Fn)
        .ignore_then(ident())
        .then(parens(list(parameter, 1)))
        .then_ignore(just(Token::Arrow))
        .then(ty())
        .then(block(expr))
        .then(properties.map(Option::unwrap_or_default))
        .map(|((((name, params), result), body), properties)| Function { name, params, result, body, properties })
        .boxed()
}

/// `"{" stmt* expr "}"`
fn block<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Block> {
    stmt(expr.clone())
        .repeated()
        .collect()
        .then(expr)
        .delimited_by(just(Token::OpenBlock), just(Token::CloseBlock))
        .map(|(stmts, value)| Block { stmts, value: Box::new(value) })
        .boxed()
}

/// `let`, assignment, `while`, `if`
fn stmt<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Stmt> {
    recursive(|stmt| {
        let body =
            stmt.repeated().collect::<Vec<_>>().delimited_by(just(Token::OpenBlock), just(Token::CloseBlock)).boxed();
        let value = just(Token::Assign).ignore_then(expr.clone()).then_ignore(just(Token::Semicolon)).boxed();
        choice((
            just(Token::Let).ignore_then(ident()).then(value.clone()).map(|(name, e)| Stmt::Let(name, e)),
            ident().then(value).map(|(name, e)| Stmt::Set(name, e)),
            just(Token::While).ignore_then(expr.clone()).then(body.clone()).map(|(c, body)| Stmt::While(c, body)),
            just(Token::If)
                .ignore_then(expr)
                .then(body.clone())
                .then(just(Token::Else).ignore_then(body).or_not())
                .map(|((c, t), e)| Stmt::If(c, t, e.unwrap_or_default())),
        ))
    })
    .boxed()
}

fn property<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, (Property, fiberloom_core::notation::Span)> {
    let word = super::word;
    let position = just(Token::Comma).ignore_then(int()).or_not();
    let argument = parens(literal().then(position).boxed());
    let pattern = literal().map(Pattern::Literal).or(ident().map(Pattern::Name)).boxed();
    choice((
        word("commutative").to(Property::Commutative),
        word("associative").to(Property::Associative),
        word("idempotent").to(Property::Idempotent),
        word("identity").ignore_then(argument.clone()).map(|(v, at)| Property::Identity(v, at)),
        word("annihilator").ignore_then(argument).map(|(v, at)| Property::Annihilator(v, at)),
        word("iterate").ignore_then(parens(set())).map(Property::Iterate),
        word("case")
            .ignore_then(parens(list(pattern, 1)))
            .then_ignore(just(Token::Assign))
            .then(expr.clone())
            .map(|(patterns, e)| Property::Case(patterns, e)),
        word("derivative")
            .ignore_then(parens(ident()))
            .then_ignore(just(Token::Assign))
            .then(expr)
            .map(|(name, e)| Property::Derivative(name, e)),
    ))
    .labelled("a property")
    .map_with(|p, e| (p, span(e.span())))
    .boxed()
}

/// `!` binds tightest, then `&`, then `|`.
fn set<'t, 's: 't>() -> Rule<'t, 's, SetExpr> {
    recursive(|set| {
        let atom = choice((
            super::word("all").to(SetExpr::All),
            ident().map(SetExpr::Param),
            set.delimited_by(just(Token::Open), just(Token::Close)),
        ));
        let not = just(Token::Bang).repeated().foldr(atom, |_, s| SetExpr::Not(Box::new(s)));
        let and = not
            .clone()
            .foldl(just(Token::And).ignore_then(not).repeated(), |a, b| SetExpr::And(Box::new(a), Box::new(b)));
        let and = and.boxed();
        and.clone().foldl(just(Token::Or).ignore_then(and).repeated(), |a, b| SetExpr::Or(Box::new(a), Box::new(b)))
    })
    .labelled("a set of parameters")
    .boxed()
}
