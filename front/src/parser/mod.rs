//! The parser: one grammar rule of `docs/language.md` a function, in the order of that page.
//!
//! Items are parsed one by one; after an item with an error, reading goes on at the next line that begins one, so that
//! several errors are reported in one run.
mod declaration;
mod expression;
mod function;
mod schedule;

use crate::lexer::{Placed, Token};
use chumsky::error::RichReason;
use chumsky::input::MappedInput;
use chumsky::prelude::*;
use fiberloom_core::notation::{Diagnostic, Span, syntax};

type Pair<'s> = (Token<'s>, SimpleSpan);
/// What parsers read.
pub(crate) type Tokens<'t, 's> = MappedInput<'t, Token<'s>, SimpleSpan, &'t [Pair<'s>]>;
/// How parsers fail.
pub(crate) type Failure<'t, 's> = extra::Err<Rich<'t, Token<'s>, SimpleSpan>>;
/// A parser that can be shared.
pub(crate) type Rule<'t, 's, T> = Boxed<'t, 't, Tokens<'t, 's>, T, Failure<'t, 's>>;

/// Most diagnostics of one run.
const MOST: usize = 20;

/// Parses items until the end.
pub fn program(tokens: &[Placed], len: usize) -> (syntax::Program, Vec<Diagnostic>) {
    let pairs: Vec<Pair> = tokens.iter().map(|p| (p.token, p.span)).collect();
    let end = SimpleSpan::from(len..len);
    let item = item();
    let (mut items, mut diagnostics) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < pairs.len() && diagnostics.len() < MOST {
        let (parsed, errors) = item.clone().lazy().parse(pairs[at..].split_token_span(end)).into_output_errors();
        match parsed {
            Some((item, stop)) if errors.is_empty() => {
                items.push(item);
                at = pairs.partition_point(|(_, s)| s.start < stop).max(at + 1);
            }
            _ => {
                let failed = errors.iter().map(|e| e.span().start).max().unwrap_or(len);
                diagnostics.extend(errors.iter().map(diagnostic));
                at = next_item(tokens, at + 1, failed);
            }
        }
    }
    (syntax::Program { items }, diagnostics)
}

/// The first token from `from` on, at or behind byte `failed`, that leads a line and may begin an item.
fn next_item(tokens: &[Placed], from: usize, failed: usize) -> usize {
    let begins = |n: usize| match tokens[n].token {
        Token::Dim | Token::Tensor | Token::Fn | Token::Schedule => true,
        Token::Ident(_) => tokens.get(n + 1).is_some_and(|next| next.token == Token::OpenIndex),
        _ => false,
    };
    (from..tokens.len())
        .find(|&n| tokens[n].span.start >= failed && tokens[n].leads && begins(n))
        .unwrap_or(tokens.len())
}

/// An item and the byte behind it.
fn item<'t, 's: 't>() -> Rule<'t, 's, (syntax::Item, usize)> {
    let expr = expression::expression();
    choice((
        declaration::dim().map(syntax::Item::Dim),
        declaration::tensor().map(syntax::Item::Tensor),
        function::function(expr.clone()).map(syntax::Item::Function),
        schedule::schedule(expr.clone()).map(syntax::Item::Schedule),
        expression::statement(expr).map(syntax::Item::Statement),
    ))
    .labelled("`dim`, `tensor`, `fn`, `schedule` or a statement")
    .map_with(|item, e| (item, e.span().end))
    .boxed()
}

fn diagnostic(error: &Rich<Token>) -> Diagnostic {
    let span = Span::new(error.span().start, error.span().end);
    if let RichReason::Custom(message) = error.reason() {
        let (message, help) = message.split_once('\n').unwrap_or((message, ""));
        let d = Diagnostic::new(span, message);
        return if help.is_empty() { d } else { d.help(help) };
    }
    let found = error.found().map_or("the end of the program".to_string(), |t| t.to_string());
    let plain = |e: String| e.trim_matches('\'').to_string();
    let mut expected: Vec<String> =
        error.expected().map(|e| plain(e.to_string())).filter(|e| e != "something else").collect();
    expected.sort();
    expected.dedup();
    let wanted = match &expected[..] {
        [] => "something else".to_string(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    };
    Diagnostic::new(span, format!("found {found} where {wanted} was expected"))
}

/// A span of the syntax tree.
pub(crate) fn span(s: SimpleSpan) -> Span {
    Span::new(s.start, s.end)
}

/// An identifier.
pub(crate) fn ident<'t, 's: 't>() -> Rule<'t, 's, syntax::Ident> {
    select! { Token::Ident(name) = e => syntax::Ident { name: name.to_string(), span: span(e.span()) } }
        .labelled("a name")
        .boxed()
}

/// This very word, where the grammar knows it.
pub(crate) fn word<'t, 's: 't>(text: &'static str) -> Rule<'t, 's, ()> {
    select! { Token::Ident(name) if name == text => () }.labelled(text).boxed()
}

/// An integer.
pub(crate) fn int<'t, 's: 't>() -> Rule<'t, 's, u64> {
    select! { Token::Int(n) => n }.labelled("an integer").boxed()
}

/// A type name.
pub(crate) fn ty<'t, 's: 't>() -> Rule<'t, 's, fiberloom_core::algebra::Type> {
    use fiberloom_core::algebra::Type;
    any()
        .filter(|t| matches!(t, Token::Ident(name) if Type::from_name(name).is_some()))
        .map(|t| match t {
            Token::Ident(name) => Type::from_name(name).unwrap_or(Type::F64),
            _ => Type::F64,
        })
        .labelled("a type")
        .boxed()
}

/// A literal, with its sign.
pub(crate) fn literal<'t, 's: 't>() -> Rule<'t, 's, syntax::Literal> {
    use syntax::{Float, Literal};
    let number = select! {
        Token::Int(n) => Literal::Int(n as i128),
        Token::Float(x) => Literal::Float(Float(x)),
        Token::Inf => Literal::Float(Float(f64::INFINITY)),
    };
    let negative = just(Token::Minus).ignore_then(number).map(|l| match l {
        Literal::Int(n) => Literal::Int(-n),
        Literal::Float(Float(x)) => Literal::Float(Float(-x)),
        other => other,
    });
    let word = select! {
        Token::Nan => Literal::Float(Float(f64::NAN)),
        Token::True => Literal::Bool(true),
        Token::False => Literal::Bool(false),
    };
    choice((number, negative, word)).labelled("a literal").boxed()
}

/// `rule` in parentheses.
pub(crate) fn parens<'t, 's: 't, T: 't>(rule: Rule<'t, 's, T>) -> Rule<'t, 's, T> {
    rule.delimited_by(just(Token::Open), just(Token::Close)).boxed()
}

/// `rule, rule, …`, at least `least`.
pub(crate) fn list<'t, 's: 't, T: 't>(rule: Rule<'t, 's, T>, least: usize) -> Rule<'t, 's, Vec<T>> {
    rule.separated_by(just(Token::Comma)).at_least(least).collect().boxed()
}
