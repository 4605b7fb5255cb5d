//! PTX as words and marks, each with its line.

use super::Refused;

/// A word or a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'t> {
    /// A name, a directive, an instruction with its modifiers, a number, or a string with its quotes.
    Word(&'t str),
    Mark(char),
}

/// The tokens of a text, and the place of the next one.
pub(super) struct Tokens<'t> {
    all: Vec<(Token<'t>, u32)>,
    next: usize,
}

impl<'t> Tokens<'t> {
    /// Takes a text apart; comments are left out.
    pub fn of(text: &'t str) -> Result<Tokens<'t>, Refused> {
        let mut all = vec![];
        for (line, number) in text.lines().zip(1..) {
            let mut rest = line.trim_start();
            while !rest.is_empty() && !rest.starts_with("//") {
                let (token, after) = first(rest).ok_or_else(|| {
                    let what = format!("`{rest}`: a name, a number or a mark is expected");
                    Refused { line: number, what }
                })?;
                all.push((token, number));
                rest = after.trim_start();
            }
        }
        Ok(Tokens { all, next: 0 })
    }

    /// The line of the next token, or of the last one.
    pub fn line(&self) -> u32 {
        self.all.get(self.next).or(self.all.last()).map_or(1, |(_, line)| *line)
    }

    pub fn peek(&self) -> Option<Token<'t>> {
        self.all.get(self.next).map(|(token, _)| *token)
    }

    /// The token behind the next one.
    pub fn peek_second(&self) -> Option<Token<'t>> {
        self.all.get(self.next + 1).map(|(token, _)| *token)
    }

    pub fn take(&mut self) -> Option<Token<'t>> {
        let token = self.peek();
        self.next += usize::from(token.is_some());
        token
    }

    /// What is wrong here.
    pub fn refused(&self, what: impl Into<String>) -> Refused {
        Refused { line: self.line(), what: what.into() }
    }

    /// Takes a mark if it is the next token.
    pub fn has(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(Token::Mark(mark));
        self.next += usize::from(found);
        found
    }

    pub fn mark(&mut self, mark: char) -> Result<(), Refused> {
        if self.has(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    pub fn word(&mut self) -> Result<&'t str, Refused> {
        match self.peek() {
            Some(Token::Word(word)) => {
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.unexpected("a word")),
        }
    }

    /// A whole number, which may be negative or in base 16.
    pub fn number(&mut self) -> Result<i64, Refused> {
        let line = self.line();
        let word = self.word()?;
        integer(word).ok_or_else(|| Refused { line, what: format!("`{word}`: a whole number is expected") })
    }

    pub fn unexpected(&self, wanted: &str) -> Refused {
        match self.peek() {
            Some(Token::Word(word)) => self.refused(format!("`{word}`: {wanted} is expected")),
            Some(Token::Mark(mark)) => self.refused(format!("`{mark}`: {wanted} is expected")),
            None => self.refused(format!("the text ends: {wanted} is expected")),
        }
    }
}

/// The first token of a line that begins with one, and what follows it.
fn first(rest: &str) -> Option<(Token<'_>, &str)> {
    let mark = rest.chars().next()?;
    if mark == '"' {
        let end = rest[1..].find('"')? + 2;
        return Some((Token::Word(&rest[..end]), &rest[end..]));
    }
    let in_word = |c: char| c.is_ascii_alphanumeric() || "_.$%".contains(c);
    let negative = mark == '-' && rest[1..].starts_with(|c: char| c.is_ascii_digit());
    if in_word(mark) || negative {
        let end = rest[1..].find(|c| !in_word(c)).map_or(rest.len(), |end| end + 1);
        return Some((Token::Word(&rest[..end]), &rest[end..]));
    }
    "{}[]()<>,;:+@!|=".contains(mark).then(|| (Token::Mark(mark), &rest[1..]))
}

/// A whole number.
pub(super) fn integer(word: &str) -> Option<i64> {
    let (negative, digits) = word.strip_prefix('-').map_or((false, word), |digits| (true, digits));
    let digits = digits.strip_suffix('U').unwrap_or(digits);
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}
