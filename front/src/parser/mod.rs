//! The parser: one grammar rule of `docs/language.md` a function, in the order of that page.
//!
//! Items are parsed one by one; after an item with an error, reading goes on at the next line that begins one, so that
//! several errors are reported in one run.
mod declaration;
mod expression;
mod function;
mod index;
mod repeat;
mod schedule;

use crate::lexer::{Placed, Token};
use chumsky::error::RichReason;
use chumsky::input::MappedInput;
use chumsky::prelude::*;
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::{Diagnostic, Span, syntax};

type Pair<'s> = (Token<'s>, SimpleSpan);
/// What parsers read.
pub(crate) type Tokens<'t, 's> = MappedInput<'t, Token<'s>, SimpleSpan, &'t [Pair<'s>]>;
/// How parsers fail.
pub(crate) type Failure<'t, 's> = extra::Err<Rich<'t, Token<'s>, SimpleSpan>>;
/// A parser that can be shared.
pub(crate) type Rule<'t, 's, T> = Boxed<'t, 't, Tokens<'t, 's>, T, Failure<'t, 's>>;

/// What other systems call types.
const ELSEWHERE: [(&str, &str); 14] = [
    ("float", "f32"),
    ("float32", "f32"),
    ("single", "f32"),
    ("double", "f64"),
    ("float64", "f64"),
    ("int8", "i8"),
    ("int16", "i16"),
    ("int", "i32"),
    ("int32", "i32"),
    ("int64", "i64"),
    ("long", "i64"),
    ("uint8", "u8"),
    ("uint32", "u32"),
    ("uint64", "u64"),
];

/// Most diagnostics of one run.
const MOST: usize = 20;

/// Parses items until the end, which is right behind the last token.
pub fn program(tokens: &[Placed]) -> (syntax::Program, Vec<Diagnostic>) {
    let pairs: Vec<Pair> = tokens.iter().map(|p| (p.token, p.span)).collect();
    let len = pairs.last().map_or(0, |(_, span)| span.end);
    let end = SimpleSpan::from(len..len);
    let item = item();
    let (mut items, mut diagnostics) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < pairs.len() && diagnostics.len() < MOST {
        match first(&item, &pairs[at..], end) {
            Ok((item, taken)) => {
                items.push(item);
                at += taken.max(1);
            }
            Err(errors) => {
                let failed = errors.iter().map(|e| e.span().start).max().unwrap_or(len);
                let readable = errors.iter().filter(|e| e.found() != Some(&Token::Unreadable));
                diagnostics.extend(readable.map(|e| diagnostic(e, &tokens[at..])));
                at = next_item(tokens, at, failed);
            }
        }
    }
    (syntax::Program { items }, diagnostics)
}

/// The item that these tokens begin with, and how many of them it takes; `end` is behind them all.
fn first<'t, 's>(
    item: &Rule<'t, 's, (syntax::Item, usize)>,
    tokens: &'t [Pair<'s>],
    end: SimpleSpan,
) -> Result<(syntax::Item, usize), Vec<Rich<'t, Token<'s>, SimpleSpan>>> {
    /// More than most items have.
    const FEW: usize = 256;
    // Whatever follows an item would be passed over each time: an item that ends before the last of some tokens ends there, but for
    // a schedule of its own that is seen in part.
    let mut some = FEW;
    loop {
        let seen = &tokens[..some.min(tokens.len())];
        let end = tokens.get(seen.len()).map_or(end, |next| SimpleSpan::from(next.1.start..next.1.start));
        let (parsed, errors) = item.clone().lazy().parse(seen.split_token_span(end)).into_output_errors();
        let taken = |stop| seen.partition_point(|(_, s)| s.start < stop);
        let ends = |taken: usize| seen.get(taken).is_some_and(|(next, _)| *next != Token::Schedule);
        match parsed {
            Some((item, stop)) if errors.is_empty() && (seen.len() == tokens.len() || ends(taken(stop))) => {
                return Ok((item, taken(stop)));
            }
            _ if seen.len() == tokens.len() => return Err(errors),
            _ => some *= 4,
        }
    }
}

/// Where to go on after the item that begins at token `at` failed at byte `failed`: the next token behind both that
/// leads a line and begins an item. Statements inside a block that the item has opened are passed over with it.
fn next_item(tokens: &[Placed], at: usize, failed: usize) -> usize {
    let mut blocks = 0i64;
    for (n, placed) in tokens.iter().enumerate().skip(at) {
        let declares = matches!(placed.token, Token::Dim | Token::Tensor | Token::Fn | Token::Schedule);
        let next = tokens.get(n + 1).map(|next| next.token);
        let runs = match placed.token {
            Token::While => true,
            Token::Ident("table") => matches!(next, Some(Token::Ident(_))),
            Token::Ident("repeat") => matches!(next, Some(Token::OpenIndex | Token::Int(_) | Token::Ident(_))),
            Token::Ident(_) => next == Some(Token::OpenIndex),
            _ => false,
        };
        if n > at && placed.span.start >= failed && placed.leads && (declares || runs && blocks <= 0) {
            return n;
        }
        match placed.token {
            Token::OpenBlock => blocks += 1,
            Token::CloseBlock => blocks -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// An item and the byte behind it.
fn item<'t, 's: 't>() -> Rule<'t, 's, (syntax::Item, usize)> {
    let expr = expression::expression();
    choice((
        declaration::dim(),
        declaration::table().map(syntax::Item::Table),
        declaration::tensor().map(syntax::Item::Tensor),
        function::function(expr.clone()).map(syntax::Item::Function),
        repeat::step(expr),
    ))
    .labelled("`dim`, `table`, `tensor`, `fn`, `repeat`, `while`, `schedule` or a statement")
    .map_with(|item, e| (item, e.span().end))
    .then_ignore(follows())
    .boxed()
}

/// What may stand behind an item. Looking for it here makes the item fail, with all that it could have gone on with,
/// where what follows can begin no item.
fn follows<'t, 's: 't>() -> Rule<'t, 's, ()> {
    let declares = one_of([Token::Dim, Token::Tensor, Token::Fn, Token::Schedule]).ignored();
    let defines = ident().then(just(Token::OpenIndex)).ignored();
    choice((end(), declares, declaration::begins_table(), repeat::begins(), defines))
        .rewind()
        .labelled("the next item")
        .boxed()
}

/// What the parser has to say of an item, whose tokens begin at the first of `tokens`.
fn diagnostic(error: &Rich<Token>, tokens: &[Placed]) -> Diagnostic {
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
    let mut d = Diagnostic::new(span, format!("found {found} where {wanted} was expected"));
    if let Some(open) = innermost_open(tokens, error.span().start)
        && expected.contains(&closing(open.token).to_string())
    {
        d = d.label(self::span(open.span), format!("this {} is open", open.token));
    }
    let meant = |what: &str| expected.iter().any(|e| e == what);
    let first = tokens.iter().find(|p| p.span.end == error.span().start).map(|p| p.token);
    let before = tokens.iter().take_while(|p| p.span.end <= error.span().start).last().map(|p| p.token);
    match error.found() {
        Some(t @ Token::Type(_)) if ["a name", "an index", "an expression"].iter().any(|what| meant(what)) => {
            d.help(format!("{t} is a type: an index variable or a tensor has another name"))
        }
        Some(Token::Ident(name)) if meant("a type") => {
            let types = Type::ALL.map(Type::name).join(" ");
            let same = ELSEWHERE.iter().find(|(other, _)| other == name);
            d.help(same.map_or(format!("types are {types}"), |(_, own)| format!("`{name}` is written `{own}`")))
        }
        Some(Token::Open) if matches!(first, Some(Token::Ident(_))) && (meant("`[`") || meant("the next item")) => {
            d.help("elements stand in brackets: `y[i] = A[i,j] * x[j]`")
        }
        Some(Token::Plus | Token::Minus | Token::Star | Token::Slash | Token::Percent)
            if meant("`]`") && before == Some(Token::Close) =>
        {
            d.help("a slice stands alone in its index, and its bounds say where it is: `x[i(1:3)]` for `x[i(0:2) + 1]`")
        }
        Some(Token::Order) if meant("the next item") => {
            d.help("an order stands behind a format: `coo order(1, 0)`, `{dense, compressed} order(1, 0)`")
        }
        Some(t) if t.is_reserved_word() && expected.iter().any(|e| e == "a name") => {
            d.help(format!("{t} is a word of the language: choose another name"))
        }
        Some(Token::Assign) if expected.iter().any(|e| e == "an operator") => {
            d.help("equality is written `==`; a statement begins with an access: `y[i] = …`")
        }
        _ => d,
    }
}

/// The last bracket before byte `until` that is not closed before it.
fn innermost_open<'a, 's>(tokens: &'a [Placed<'s>], until: usize) -> Option<&'a Placed<'s>> {
    let mut open = Vec::new();
    for placed in tokens.iter().take_while(|p| p.span.start < until) {
        match placed.token {
            Token::Open | Token::OpenIndex | Token::OpenBlock => open.push(placed),
            Token::Close | Token::CloseIndex | Token::CloseBlock => {
                open.pop();
            }
            _ => {}
        }
    }
    open.pop()
}

fn closing(open: Token<'_>) -> Token<'static> {
    match open {
        Token::Open => Token::Close,
        Token::OpenIndex => Token::CloseIndex,
        _ => Token::CloseBlock,
    }
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
    select! { Token::Type(t) => t }.labelled("a type").boxed()
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
        Token::Text(text) => Literal::Text(text.replace("\"\"", "\"")),
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
