//! Indices: affine ones, slices, and what is computed.
//!
//! ```text
//!  2*i + k - 1     affine                      P[i]           read
//!  i(0:8:2)        a slice in place            k[] - 1        computed, / and % rounding down
//! ```

use super::{Rule, ident, int, parens, span};
use crate::lexer::Token;
use chumsky::prelude::*;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::*;

/// `"~" affine | affine | IDENT "(" [affine] ":" [affine] [":" INT] ")" | access | sum`
pub fn index<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Index> {
    let colon = just(Token::Colon);
    let bound = affine().or_not();
    let bounds = bound.clone().then_ignore(colon).then(bound).then(colon.ignore_then(int()).or_not());
    let slice = ident().then(parens(bounds.boxed())).map_with(|(var, ((start, end), step)), e| Index::Slice {
        var,
        start,
        end,
        step,
        span: span(e.span()),
    });
    let map = |permit| move |map, span| Index::Affine { permit, map, span };
    let permitted = just(Token::Tilde).ignore_then(affine()).map_with(move |a, e| map(true)(a, span(e.span())));
    // What ends here is affine; what goes on is an expression, which is read but once.
    let ends = one_of([Token::Comma, Token::CloseIndex]).rewind();
    let plain = affine().map_with(move |a, e| map(false)(a, span(e.span()))).then_ignore(ends);
    let computed = expr.validate(|e, at, emitter| {
        of_expression(e).unwrap_or_else(|(place, message)| {
            let place = SimpleSpan::from(place.start as usize..place.end as usize);
            emitter.emit(Rich::custom(place, message));
            Index::Affine { permit: false, map: Affine::number(0), span: span(at.span()) }
        })
    });
    choice((slice, permitted, plain, computed)).labelled("an index").boxed()
}

/// `aterm (("+"|"-") aterm)*`
pub fn affine<'t, 's: 't>() -> Rule<'t, 's, Affine> {
    recursive(|affine| {
        let factor = choice((
            ident().map(Factor::Var),
            int().map(Factor::Int),
            affine.delimited_by(just(Token::Open), just(Token::Close)).map(|a| Factor::Group(Box::new(a))),
        ));
        let division = just(Token::Slash).to(false).or(just(Token::Percent).to(true));
        let coefficient = int().then_ignore(just(Token::Star)).or_not();
        let term = coefficient
            .then(factor)
            .then(division.then(int()).repeated().collect())
            .map(|((coefficient, factor), divisions)| Term { coefficient, factor, divisions })
            .boxed();
        let sign = just(Token::Plus).to(false).or(just(Token::Minus).to(true));
        term.clone().then(sign.then(term).repeated().collect::<Vec<_>>()).map(|(first, rest)| {
            let terms = std::iter::once((false, first)).chain(rest).collect();
            Affine { terms }
        })
    })
    .boxed()
}

/// What an expression is as an index, or why it is none: a place, a sentence and help on a line of its own.
fn of_expression(e: Expr) -> Result<Index, (Span, String)> {
    let span = e.span;
    if let ExprKind::Access(access) = e.kind {
        return Ok(Index::Access(access));
    }
    if let ExprKind::Call(..) = e.kind {
        return Ok(Index::Computed { permit: false, of: Box::new(e) });
    }
    if let Some(map) = of_sum(&e) {
        return Ok(Index::Affine { permit: false, map, span });
    }
    Ok(Index::Computed { permit: false, of: Box::new(computed(e)?) })
}

/// A sum of names and integers, with products by integers on either side.
fn of_sum(e: &Expr) -> Option<Affine> {
    let one = |term| Affine { terms: vec![(false, term)] };
    let plain = |factor| Term { coefficient: None, factor, divisions: vec![] };
    match &e.kind {
        ExprKind::Name(name) => Some(one(plain(Factor::Var(name.clone())))),
        ExprKind::Literal(Literal::Int(n)) => Some(one(plain(Factor::Int(u64::try_from(*n).ok()?)))),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (mut sum, behind) = (of_sum(a)?, term(of_sum(b)?));
            sum.terms.push((*op == BinaryOp::Sub, behind));
            Some(sum)
        }
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            let number = |e: &Expr| match e.kind {
                ExprKind::Literal(Literal::Int(n)) => u64::try_from(n).ok(),
                _ => None,
            };
            let (n, of) = number(a).map(|n| (n, b)).or_else(|| Some((number(b)?, a)))?;
            let of = term(of_sum(of)?);
            let factor = match of {
                Term { coefficient: None, factor, divisions } if divisions.is_empty() => factor,
                of => Factor::Group(Box::new(one(of))),
            };
            Some(one(Term { coefficient: Some(n), factor, divisions: vec![] }))
        }
        ExprKind::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => {
            let ExprKind::Literal(Literal::Int(n)) = b.kind else { return None };
            let mut of = term(of_sum(a)?);
            of.divisions.push((*op == BinaryOp::Rem, u64::try_from(n).ok()?));
            Some(one(of))
        }
        _ => None,
    }
}

/// A sum as one term.
fn term(mut sum: Affine) -> Term {
    match &sum.terms[..] {
        [(false, _)] => sum.terms.remove(0).1,
        _ => Term { coefficient: None, factor: Factor::Group(Box::new(sum)), divisions: vec![] },
    }
}

/// What to write in the place of what is no index.
fn instead(kind: &ExprKind) -> &'static str {
    use BinaryOp::{AndAlso, Eq, Ge, Gt, Le, Lt, Ne, OrElse};
    match kind {
        ExprKind::Literal(Literal::Bool(_))
        | ExprKind::Unary(UnaryOp::Not, _)
        | ExprKind::Binary(Lt | Le | Gt | Ge | Eq | Ne | AndAlso | OrElse, ..) => {
            "a condition chooses one: `A[if x[i] > 0 then 1 else 0]`"
        }
        ExprKind::Literal(Literal::Float(_)) => "a whole number is one: `A[convert(x[i], i64)]`",
        _ => "define a tensor of integers before, and read it here: `A[P[i]]`",
    }
}

/// A coordinate that is computed: outside of calls `/` and `%` round down, as in every index.
fn computed(e: Expr) -> Result<Expr, (Span, String)> {
    let span = e.span;
    let kind = match e.kind {
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
            ExprKind::Binary(op, Box::new(computed(*a)?), Box::new(computed(*b)?))
        }
        ExprKind::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => {
            let name = if op == BinaryOp::Div { "floordiv" } else { "floormod" };
            let args = [computed(*a)?, computed(*b)?].map(Argument::Expr);
            ExprKind::Call(Ident { name: name.to_string(), span }, args.to_vec())
        }
        ExprKind::If(c, a, b) => ExprKind::If(c, Box::new(computed(*a)?), Box::new(computed(*b)?)),
        ExprKind::Unary(UnaryOp::Neg, a) => ExprKind::Unary(UnaryOp::Neg, Box::new(computed(*a)?)),
        ExprKind::Literal(Literal::Int(n)) if n < 0 => {
            let message = "an index is not negative: there is no place before the first";
            let help =
                format!("the last one stands at the size less 1: `x[N-1]` for `x[-1]`, of `x: f64[N]`; this is {n}");
            return Err((span, format!("{message}\n{help}")));
        }
        kind @ (ExprKind::Name(_) | ExprKind::Access(_) | ExprKind::Call(..)) => kind,
        kind @ ExprKind::Literal(Literal::Int(_) | Literal::Text(_)) => kind,
        kind => {
            let message = "an index is a sum of index variables, sizes, integers, reads, calls and choices";
            return Err((span, format!("{message}\n{}", instead(&kind))));
        }
    };
    Ok(Expr { kind, span })
}
