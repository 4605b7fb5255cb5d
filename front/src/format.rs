//! A program's text as the printer writes it, with its comments, its empty lines and the breaks inside its statements.
//!
//! ```text
//!  text ─┬─parse──▶ tree ──print──▶ text ──lex──▶ tokens ────────────────┐
//!        └─lex────▶ tokens, and the gaps between them ──align──▶ gaps ───┴──▶ lines
//! ```
//!
//! A break stands where the print has one, where the author has one, and around comments. Comments at the ends of adjacent lines begin in
//! one column.
//!
//! Invariants: the tokens are those of the tree's print, so the result parses to the same tree; every comment is there, in its order;
//! formatting twice is formatting once.

use crate::lexer::{Placed, Token, lex};
use crate::parse;
use fiberloom_core::notation::Diagnostic;

/// Columns by which a block is indented.
const INDENT: usize = 2;

/// Blanks between a line and the comment behind it.
const APART: usize = 2;

/// Formats a program.
///
/// # Errors
/// It cannot be parsed.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let tree = match parse(text) {
        (Some(tree), diagnostics) if diagnostics.is_empty() => tree,
        (_, diagnostics) => return Err(diagnostics),
    };
    let print = tree.to_string();
    let (written, printed) = (lex(text).0, lex(&print).0);
    Ok(Lines::of(&print, &printed, &gaps(text, &written, &printed)).text())
}

/// What stands between two tokens beside blanks.
#[derive(Clone, Default)]
struct Gap<'s> {
    /// The comment behind the first token, on its line.
    behind: Option<&'s str>,
    /// Comments on lines of their own, each with whether an empty line is before it.
    own: Vec<(bool, &'s str)>,
    /// Whether an empty line is before the second token.
    empty: bool,
    /// Whether the second token stands on another line than the first.
    breaks: bool,
}

impl<'s> Gap<'s> {
    /// Adds what stands before a token, or before the end; `first` if no token is before it.
    fn add(&mut self, between: &'s str, first: bool) {
        let last = between.matches('\n').count();
        for (n, line) in between.split('\n').enumerate() {
            let (line, own) = (line.trim(), n > 0 || first);
            self.breaks |= n > 0;
            match line.starts_with('#') {
                true if !own && self.behind.is_none() && self.own.is_empty() => self.behind = Some(line),
                true => self.own.push((std::mem::take(&mut self.empty), line)),
                false => self.empty |= own && n < last,
            }
        }
    }
}

/// The gap before each printed token, and the one behind the last: of `text`, whose tokens are `written`.
fn gaps<'s>(text: &'s str, written: &[Placed], printed: &[Placed]) -> Vec<Gap<'s>> {
    let mut gaps = vec![Gap::default(); printed.len() + 1];
    // How many printed tokens have been found in the text.
    let mut found = 0;
    let mut end = 0;
    for token in written {
        let is = |n: usize| printed.get(n).is_some_and(|p| p.token == token.token);
        // The print has parentheses only where it needs them: others are left out, and `- -1` gets some.
        let added = !is(found) && is(found + 1) && matches!(printed[found].token, Token::Open | Token::Close);
        let at = found + added as usize;
        gaps[at].add(&text[end..token.span.start], end == 0);
        found = at + is(at) as usize;
        end = token.span.end;
    }
    gaps[printed.len()].add(&text[end..], end == 0);
    gaps
}

/// One line of the result.
#[derive(Default)]
struct Line<'s> {
    /// Whether an empty line is before it.
    empty: bool,
    indent: usize,
    /// Its tokens, and what is between them.
    code: String,
    /// The comment behind them, or alone.
    comment: Option<&'s str>,
}

impl Line<'_> {
    /// Where its code ends.
    fn width(&self) -> usize {
        self.indent + self.code.len()
    }
}

#[derive(Default)]
struct Lines<'s> {
    lines: Vec<Line<'s>>,
    /// Indentation of the print's line.
    base: usize,
    /// Brackets that the print's line has opened and not closed.
    open: usize,
}

impl<'s> Lines<'s> {
    fn of(print: &str, printed: &[Placed], gaps: &[Gap<'s>]) -> Lines<'s> {
        let mut lines = Lines::default();
        let mut end = 0;
        for (n, (placed, gap)) in printed.iter().zip(gaps).enumerate() {
            let (between, token) = (&print[end..placed.span.start], &print[placed.span.start..placed.span.end]);
            let anew = n == 0 || between.contains('\n');
            if anew {
                (lines.base, lines.open) = (between.len() - between.rfind('\n').map_or(0, |at| at + 1), 0);
            }
            let closes = matches!(placed.token, Token::Close | Token::CloseIndex | Token::CloseBlock);
            lines.open = lines.open.saturating_sub(closes as usize);
            if anew || gap.breaks {
                let indent = if anew { lines.base } else { lines.base + INDENT * lines.depth(placed.token) };
                lines.pass(gap, indent + INDENT * (placed.token == Token::CloseBlock) as usize, anew);
                let empty = gap.empty && anew;
                lines.lines.push(Line { empty, indent, code: token.to_string(), comment: None });
            } else if let Some(line) = lines.lines.last_mut() {
                line.code.push_str(between);
                line.code.push_str(token);
            }
            lines.open += matches!(placed.token, Token::Open | Token::OpenIndex | Token::OpenBlock) as usize;
            end = placed.span.end;
        }
        if let Some(gap) = gaps.last() {
            lines.pass(gap, 0, true);
        }
        lines
    }

    /// How deep a token stands that begins a line which the print does not begin.
    fn depth(&self, token: Token) -> usize {
        match token {
            Token::Where | Token::Schedule | Token::CloseBlock => self.open,
            _ => self.open.max(1),
        }
    }

    /// Puts the comments of a gap down; those on lines of their own with this indentation.
    fn pass(&mut self, gap: &Gap<'s>, indent: usize, empties: bool) {
        if let Some(line) = self.lines.last_mut() {
            line.comment = gap.behind;
        }
        for (empty, comment) in &gap.own {
            let (empty, comment) = (*empty && empties, Some(*comment));
            self.lines.push(Line { empty, indent, code: String::new(), comment });
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut column = 0;
        for (n, line) in self.lines.iter().enumerate() {
            let has_both = |line: &Line| line.comment.is_some() && !line.code.is_empty();
            let begins = n == 0 || line.empty || !has_both(&self.lines[n - 1]);
            if begins && has_both(line) {
                let rest = self.lines[n + 1..].iter().take_while(|l| has_both(l) && !l.empty);
                column = rest.map(Line::width).fold(line.width(), usize::max) + APART;
            }
            if line.empty && n > 0 {
                text.push('\n');
            }
            text.extend(std::iter::repeat_n(' ', line.indent));
            text.push_str(&line.code);
            if let Some(comment) = line.comment {
                let apart = if line.code.is_empty() { 0 } else { column - line.width() };
                text.extend(std::iter::repeat_n(' ', apart));
                text.push_str(comment);
            }
            text.push('\n');
        }
        text
    }
}
