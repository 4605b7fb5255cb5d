//! Text to syntax, with diagnostics.
//!
//! ```text
//!  text ──lexer──▶ tokens ──depth──▶ ──parser, item by item──▶ syntax::Program
//!                             └ refused before anything recurses ┘      + Diagnostics, several in one run
//! ```
//!
//! Invariants: no input makes it panic, overflow the stack or take more than linear space; `parse(print(p)) == p` for
//! every program that the parser or the builder makes.
mod depth;
mod elsewhere;
mod format;
mod lexer;
mod parser;
mod render;

use fiberloom_core::notation::{Diagnostic, syntax};
use fiberloom_core::stack::with_room;

pub use depth::DEEPEST;
pub use format::format;
pub use render::{place, render};

/// Parses a program. What could be read is returned beside the diagnostics; without diagnostics it is all there.
pub fn parse(text: &str) -> (Option<syntax::Program>, Vec<Diagnostic>) {
    if text.len() > MOST_BYTES {
        let message = format!("the program has {} bytes, more than {MOST_BYTES}", text.len());
        return (None, vec![Diagnostic::new(Default::default(), message)]);
    }
    let (tokens, mut diagnostics) = lexer::lex(text);
    if let Err(too_deep) = depth::check(&tokens) {
        diagnostics.push(too_deep);
        return (None, diagnostics);
    }
    let (program, more) = with_room(|| parser::program(&tokens));
    diagnostics.extend(more);
    diagnostics.sort_by_key(|d| d.span.start);
    with_room(|| elsewhere::help(text, &tokens, &mut diagnostics));
    (Some(program), diagnostics)
}

/// Longest program that is read: spans are 32 bits wide.
pub const MOST_BYTES: usize = 1 << 28;
