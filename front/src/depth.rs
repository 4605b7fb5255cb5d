//! How deep a program nests, decided on its tokens before anything recurses over it.

use crate::lexer::{Placed, Token};
use fiberloom_core::notation::{Diagnostic, Span};

/// Brackets, operators and conditionals that may be open at once. Syntax trees are no deeper.
pub const DEEPEST: usize = 500;

/// Refuses programs that nest deeper than [`DEEPEST`].
///
/// Counts in each bracket the operators since the last separator (they lean left, a level each), and adds up over the
/// brackets that are open.
pub fn check(tokens: &[Placed]) -> Result<(), Diagnostic> {
    let mut open = vec![0];
    let mut total = 0;
    for placed in tokens {
        let top = open.len() - 1;
        match placed.token {
            Token::OpenBlock => {
                // What stands before a block is no part of an expression that goes on behind it.
                total -= std::mem::take(&mut open[top]);
                open.push(0);
                total += 1;
            }
            Token::Open | Token::OpenIndex => {
                open.push(0);
                total += 1;
            }
            Token::Close | Token::CloseIndex | Token::CloseBlock if top > 0 => {
                total -= 1 + open.pop().expect("never empty");
            }
            Token::Comma | Token::Semicolon | Token::Assign | Token::AddAssign => {
                total -= std::mem::take(&mut open[top]);
            }
            token if adds_a_level(token) => {
                open[top] += 1;
                total += 1;
            }
            _ => {}
        }
        if total > DEEPEST {
            let span = Span::new(placed.span.start, placed.span.end);
            let message = format!("the program nests more than {DEEPEST} operators and brackets here");
            return Err(Diagnostic::new(span, message).help("name a part of it: a tensor, or a local of a function"));
        }
    }
    Ok(())
}

fn adds_a_level(token: Token) -> bool {
    use Token::*;
    matches!(
        token,
        Plus | Minus
            | Star
            | Slash
            | Percent
            | Shl
            | Shr
            | And
            | Caret
            | Or
            | Lt
            | Le
            | Gt
            | Ge
            | EqEq
            | Ne
            | AndAnd
            | OrOr
            | Bang
            | Tilde
            | If
            | Then
            | Else
            | Where
    )
}
