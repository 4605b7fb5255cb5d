//! Blocks: `repeat` and `while` around statements.

use super::declaration::size;
use super::{Failure, Rule, Tokens, expression, schedule, span, word};
use crate::lexer::Token;
use chumsky::prelude::*;
use fiberloom_core::notation::syntax::{Expr, Item, Repeat, Turns};

/// `statement | repeat | schedule`
pub fn step<'t, 's: 't>(expr: Rule<'t, 's, Expr>) -> Rule<'t, 's, Item> {
    recursive(|step| {
        let times = word("repeat").ignore_then(size()).map(Turns::Times);
        let condition = just(Token::While).ignore_then(expr.clone()).map(Turns::While);
        let turns = times.or(condition).map_with(|turns, e| (turns, span(e.span())));
        let body = step.repeated().collect().delimited_by(just(Token::OpenBlock), just(Token::CloseBlock));
        let block = turns.then(body).map(|((turns, span), body)| Item::Repeat(Repeat { turns, body, span }));
        choice((
            schedule::schedule(expr.clone()).map(Item::Schedule),
            block,
            expression::statement(expr).map(Item::Statement),
        ))
        .labelled("a statement, `repeat`, `while` or `schedule`")
    })
    .boxed()
}

/// What a block begins with. `repeat` is a word there alone: elsewhere it is a name.
pub fn begins<'t, 's: 't>() -> Rule<'t, 's, ()> {
    let repeats = word("repeat").then(size()).ignored();
    just::<_, Tokens<'t, 's>, Failure<'t, 's>>(Token::While).ignored().or(repeats).boxed()
}
