//! `dim`, `table`, `tensor`, formats.

use super::{Rule, ident, int, list, literal, parens, span, ty, word};
use crate::lexer::Token;
use chumsky::prelude::*;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{Column, Dim, Domain, Format, Item, Literal, Mode, Size, Sort, Table, Tensor};

/// `"dim" IDENT ["=" INT | ":" sort]`
pub fn dim<'t, 's: 't>() -> Rule<'t, 's, Item> {
    let value = just(Token::Assign).ignore_then(int()).map(Ok);
    let labels = just(Token::Colon).ignore_then(sort()).map(Err);
    just(Token::Dim)
        .ignore_then(ident())
        .then(value.or(labels).or_not())
        .map(|(name, what)| match what {
            Some(Ok(value)) => Item::Dim(Dim { name, value: Some(value) }),
            Some(Err(labels)) => Item::Domain(Domain { name, labels }),
            None => Item::Dim(Dim { name, value: None }),
        })
        .boxed()
}

/// `type | "string" | "date" | "timestamp" | "dec" "(" INT ")"`
fn sort<'t, 's: 't>() -> Rule<'t, 's, Sort> {
    let decimal = word("dec").ignore_then(parens(int())).validate(|digits, e, emitter| {
        let most = fiberloom_core::notation::MOST_DIGITS;
        if digits > u64::from(most) {
            let message = format!("a decimal with {digits} digits behind its point");
            emitter.emit(Rich::custom(e.span(), format!("{message}\nan i64 holds at most {most} of them")));
        }
        Sort::Decimal(digits.min(u64::from(most)) as u8)
    });
    let time = choice((word("date").to(Sort::Date), word("timestamp").to(Sort::Timestamp)));
    choice((ty().map(Sort::Plain), word("string").to(Sort::Text), time, decimal)).labelled("a type").boxed()
}

/// `"table" IDENT "[" mode ("," mode)* "]" "{" [column ("," column)*] "}" [format]`
pub fn table<'t, 's: 't>() -> Rule<'t, 's, Table> {
    let mode = ident().then_ignore(just(Token::Colon)).then(size()).map(|(name, size)| Mode { name, size });
    let modes = list(mode.boxed(), 1).delimited_by(just(Token::OpenIndex), just(Token::CloseIndex));
    let columns = list(column(), 0).delimited_by(just(Token::OpenBlock), just(Token::CloseBlock));
    word("table")
        .ignore_then(ident())
        .then(modes)
        .then(columns)
        .then(format().or_not())
        .map(|(((name, modes), columns), format)| Table { name, modes, columns, format })
        .boxed()
}

/// What begins a table: `"table" IDENT`.
pub fn begins_table<'t, 's: 't>() -> Rule<'t, 's, ()> {
    word("table").then(ident()).ignored().boxed()
}

/// `IDENT ["=" STRING] ":" (sort | IDENT) ["fill" literal]`
fn column<'t, 's: 't>() -> Rule<'t, 's, Column> {
    let text = select! { Token::Text(text) => text.replace("\"\"", "\"") }.labelled("a text");
    let source = just(Token::Assign).ignore_then(text).or_not();
    ident()
        .then(source)
        .then_ignore(just(Token::Colon))
        .then(sort().or(ident().map(Sort::Domain)))
        .then(fill())
        .map(|(((name, source), sort), fill)| Column { name, source, sort, fill })
        .boxed()
}

/// `["fill" literal]`
fn fill<'t, 's: 't>() -> Rule<'t, 's, Option<(Literal, Span)>> {
    just(Token::Fill).ignore_then(literal().map_with(|l, e| (l, span(e.span())))).or_not().boxed()
}

/// `"tensor" IDENT ":" sort "[" sizes "]" ["fill" literal] [format]`
pub fn tensor<'t, 's: 't>() -> Rule<'t, 's, Tensor> {
    let sizes = list(size(), 0).delimited_by(just(Token::OpenIndex), just(Token::CloseIndex));
    just(Token::Tensor)
        .ignore_then(ident())
        .then_ignore(just(Token::Colon))
        .then(sort())
        .then(sizes)
        .then(fill())
        .then(format().or_not())
        .map(|((((name, sort), sizes), fill), format)| Tensor { name, sort, sizes, fill, format })
        .boxed()
}

/// A size: `IDENT | INT`
pub fn size<'t, 's: 't>() -> Rule<'t, 's, Size> {
    ident().map(Size::Name).or(int().map_with(|n, e| Size::Int(n, span(e.span())))).boxed()
}

/// `(NAME | "{" level ("," level)* "}") ["order" "(" INT ("," INT)* ")"]`; a name that begins a statement or a block
/// is none.
pub(super) fn format<'t, 's: 't>() -> Rule<'t, 's, Format> {
    let levels = list(ident(), 1).delimited_by(just(Token::OpenBlock), just(Token::CloseBlock));
    let order = just(Token::Order).ignore_then(parens(list(int(), 1)));
    let listed = levels.then(order.clone().or_not()).map_with(|(levels, order), e| Format::Levels {
        levels,
        order,
        span: span(e.span()),
    });
    let begins = super::repeat::begins().or(begins_table()).not().rewind();
    let name = begins.ignore_then(ident()).then_ignore(just(Token::OpenIndex).not().rewind());
    let named =
        name.then(order.or_not()).map_with(|(name, order), e| Format::Name { name, order, span: span(e.span()) });
    listed.or(named).labelled("a format").boxed()
}
