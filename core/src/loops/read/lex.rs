//! The words, numbers, signs and comments of a kernel's text.

use std::fmt;

/// A piece of text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Token<'t> {
    /// Letters, digits, `_`.
    Word(&'t str),
    /// A number with what sticks to it: `1`, `1u8`, `0x7ff8`, `1.5e-7f32`.
    Number(&'t str),
    /// One of [`SIGNS`].
    Sign(&'t str),
    /// What stands behind `#` and a blank, to the end of the line.
    Comment(&'t str),
    /// The end of the text.
    End,
}

/// The signs, longer ones before those with which they begin.
const SIGNS: [&str; 33] = [
    "..", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "&", "^", "|", "<", ">", "!", "=",
    ":", ",", "(", ")", "[", "]", "{", "}", "@", ";", "?", "~",
];

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(text) | Token::Number(text) | Token::Sign(text) => write!(f, "`{text}`"),
            Token::Comment(_) => write!(f, "a comment"),
            Token::End => write!(f, "the end"),
        }
    }
}

/// All tokens of a text, each with its line, from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>, String> {
    let mut out = vec![];
    for (n, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let (token, len) = token(rest).map_err(|e| format!("line {}: {e}", n + 1))?;
            out.push((token, n + 1));
            rest = rest[len..].trim_start();
        }
    }
    Ok(out)
}

fn token(text: &str) -> Result<(Token<'_>, usize), String> {
    if let Some(comment) = text.strip_prefix('#') {
        return Ok((Token::Comment(comment.strip_prefix(' ').unwrap_or(comment)), text.len()));
    }
    let first = text.chars().next().unwrap_or(' ');
    if first.is_ascii_digit() {
        let len = number(text.as_bytes());
        return Ok((Token::Number(&text[..len]), len));
    }
    let word = run(text.as_bytes(), |c| c.is_ascii_alphanumeric() || c == b'_');
    if word > 0 {
        return Ok((Token::Word(&text[..word]), word));
    }
    match SIGNS.into_iter().find(|sign| text.starts_with(sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(format!("`{first}` does not belong here")),
    }
}

fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|c| !belongs(*c)).unwrap_or(text.len())
}

/// Length of a number: digits, perhaps a fraction, perhaps an exponent, letters and digits.
fn number(text: &[u8]) -> usize {
    let digits = |at: usize| run(&text[at..], |c| c.is_ascii_digit());
    let is = |at: usize, c: u8| text.get(at) == Some(&c);
    let mut at = digits(0);
    if is(at, b'.') && digits(at + 1) > 0 {
        at += 1 + digits(at + 1);
    }
    if is(at, b'e') {
        let sign = (is(at + 1, b'-') || is(at + 1, b'+')) as usize;
        if text.len() > at + 1 + sign && digits(at + 1 + sign) > 0 {
            at += 1 + sign + digits(at + 1 + sign);
        }
    }
    at + run(&text[at..], |c| c.is_ascii_alphanumeric())
}
