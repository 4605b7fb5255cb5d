//! `dim`, `tensor`, formats.

use super::{Rule, ident, int, list, literal, parens, span, ty};
use crate::lexer::Token;
use chumsky::prelude::*;
use fiberloom_core::notation::syntax::{Dim, Format, Size, Tensor};

/// `"dim" IDENT "=" INT`
pub fn dim<'t, 's: 't>() -> Rule<'t, 's, Dim> {
    just(Token::Dim)
        .ignore_then(ident())
        .then_ignore(just(Token::Assign))
        .then(int())
        .map(|(name, value)| Dim { name, value })
        .boxed()
}

/// `"tensor" IDENT ":" type "[" sizes "]" ["fill" literal] [format]`
pub fn tensor<'t, 's: 't>() -> Rule<'t, 's, Tensor> {
    let sizes = list(size(), 0).delimited_by(just(Token::OpenIndex), just(Token::CloseIndex));
    let fill = just(Token::Fill).ignore_then(literal().map_with(|l, e| (l, span(e.span()))));
    just(Token::Tensor)
        .ignore_then(ident())
        .then_ignore(just(Token::Colon))
        .then(ty())
        .then(sizes)
        .then(fill.or_not())
        .then(format().or_not())
        .map(|((((name, ty), sizes), fill), format)| Tensor { name, ty, sizes, fill, format })
        .boxed()
}

/// A size: `IDENT | INT`
pub fn size<'t, 's: 't>() -> Rule<'t, 's, Size> {
    ident().map(Size::Name).or(int().map_with(|n, e| Size::Int(n, span(e.span())))).boxed()
}

/// `NAME | "{" level ("," level)* "}" ["order" "(" INT ("," INT)* ")"]`; a name that begins a statement or a block
/// is none.
fn format<'t, 's: 't>() -> Rule<'t, 's, Format> {
    let levels = list(ident(), 1).delimited_by(just(Token::OpenBlock), just(Token::CloseBlock));
    let order = just(Token::Order).ignore_then(parens(list(int(), 1)));
    let listed = levels.then(order.or_not()).map_with(|(levels, order), e| Format::Levels {
        levels,
        order,
        span: span(e.span()),
    });
    let repeats = super::repeat::begins().not().rewind();
    let name = repeats.ignore_then(ident()).then_ignore(just(Token::OpenIndex).not().rewind()).map(Format::Name);
    listed.or(name).labelled("a format").boxed()
}
