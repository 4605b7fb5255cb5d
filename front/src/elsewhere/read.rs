//! Lines as NumPy, Python, MATLAB and C have them, as a tree.
//!
//! ```text
//!  y = A @ x + b          Line { left: y, op: "=", right: Binary("+", Binary("@", A, x), b) }
//!  C[i][j]                Index(Index(C, [i]), [j])
//!  np.exp(x)              Call(Dot(np, exp), [x])
//!  a if c else b, c ? a : b, where(c, a, b)
//! ```
//!
//! Whatever is no such line is `None`; nothing is reported here.

use crate::lexer::Token;

/// A token with its text and whether it follows the one before without a blank.
#[derive(Clone, Copy)]
pub struct Word<'s> {
    pub token: Token<'s>,
    pub text: &'s str,
    pub joined: bool,
}

/// An expression of another language.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Number(String),
    Text(String),
    Name(String),
    Dot(Box<Part>, String),
    Index(Box<Part>, Vec<Sub>),
    Call(Box<Part>, Vec<(Option<String>, Part)>),
    /// `sum(i, j: e)`, as this language has it.
    Fold(String, Vec<String>, Box<Part>),
    Unary(&'static str, Box<Part>),
    Binary(&'static str, Box<Part>, Box<Part>),
    If(Box<Part>, Box<Part>, Box<Part>),
}

/// What stands between brackets.
#[derive(Clone, Debug, PartialEq)]
pub enum Sub {
    At(Part),
    /// `a:b:c`
    Along(Option<Part>, Option<Part>, Option<Part>),
}

/// A line that assigns.
pub struct Line {
    pub left: Part,
    pub op: &'static str,
    pub right: Part,
}

/// The most parts of a line, and how deep they nest: a longer one is no line that a person has typed.
pub const LONGEST: usize = 200;
const DEEPEST: usize = 30;

/// The assignment that these tokens are, to their end.
pub fn line(words: &[Word]) -> Option<Line> {
    let is_word = |n: usize, all: &[&str]| words.get(n).is_some_and(|w| all.contains(&w.text));
    let named = matches!(words.get(1).map(|w| w.token), Some(Token::Ident(_)));
    let words = if named && is_word(0, &["let", "var", "const", "val", "auto"]) { &words[1..] } else { words };
    let end = words.len() - words.iter().rev().take_while(|w| w.token == Token::Semicolon).count();
    if end > LONGEST {
        return None;
    }
    let mut reader = Reader { words: &words[..end], at: 0, depth: 0 };
    let left = reader.postfix()?;
    let op = reader.assignment()?;
    let right = reader.expr()?;
    (reader.at == end).then_some(Line { left, op, right })
}

/// Operators by how tightly they bind, the loosest first; all of them go from the left.
const LEVELS: [&[&str]; 9] = [
    &["||", "or"],
    &["&&", "and"],
    &["==", "!=", "<", "<=", ">", ">="],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "//", "%", "@", ".*", "./"],
];

struct Reader<'t, 's> {
    words: &'t [Word<'s>],
    at: usize,
    depth: usize,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(|w| w.text)
    }

    /// The operator that begins here, one of these, and how many tokens it takes.
    fn operator(&self, of: &[&'static str]) -> Option<(&'static str, usize)> {
        let here = self.words.get(self.at)?;
        let next = self.words.get(self.at + 1).filter(|next| next.joined);
        let two = next.map(|next| format!("{}{}", here.text, next.text));
        let doubled = ["**", "//", ".*", "./"];
        let long = two.as_deref().and_then(|two| doubled.iter().find(|d| **d == two));
        let found = |text: &str| of.iter().find(|op| **op == text).copied();
        match long {
            Some(op) => found(op).map(|op| (op, 2)),
            // `-=` and its like assign.
            None if next.is_some_and(|next| next.text == "=") => None,
            None => found(here.text).map(|op| (op, 1)),
        }
    }

    fn taken(&mut self, text: &str) -> Option<()> {
        (self.peek()? == text).then(|| self.at += 1)
    }

    fn assignment(&mut self) -> Option<&'static str> {
        let here = self.words.get(self.at)?;
        let next = self.words.get(self.at + 1).filter(|next| next.joined).map(|next| next.text);
        let (op, n) = match (here.text, next) {
            ("=", _) => ("=", 1),
            ("+=", _) => ("+=", 1),
            ("-", Some("=")) => ("-=", 2),
            ("*", Some("=")) => ("*=", 2),
            ("/", Some("=")) => ("/=", 2),
            (":", Some("=")) | ("<", Some("-")) => ("=", 2),
            _ => return None,
        };
        self.at += n;
        Some(op)
    }

    /// `a if c else b`, `c ? a : b`, `if c then a else b`
    fn expr(&mut self) -> Option<Part> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let part = self.conditional();
        self.depth -= 1;
        part
    }

    fn conditional(&mut self) -> Option<Part> {
        let three = |c, a, b| Some(Part::If(Box::new(c), Box::new(a), Box::new(b)));
        if self.taken("if").is_some() {
            let c = self.binary(0)?;
            self.taken("then")?;
            let a = self.expr()?;
            self.taken("else")?;
            return three(c, a, self.expr()?);
        }
        let first = self.binary(0)?;
        if self.taken("?").is_some() {
            let a = self.expr()?;
            self.taken(":")?;
            return three(first, a, self.expr()?);
        }
        if self.taken("if").is_some() {
            let c = self.binary(0)?;
            self.taken("else")?;
            return three(c, first, self.expr()?);
        }
        Some(first)
    }

    fn binary(&mut self, level: usize) -> Option<Part> {
        let Some(ops) = LEVELS.get(level) else { return self.unary() };
        let mut left = match level {
            2 if self.taken("not").is_some() => Part::Unary("!", Box::new(self.binary(2)?)),
            _ => self.binary(level + 1)?,
        };
        loop {
            let op = match self.operator(ops) {
                Some((op, n)) => {
                    self.at += n;
                    op
                }
                None if level == 8 && self.begins_factor() => "*",
                None => return Some(left),
            };
            left = Part::Binary(op, Box::new(left), Box::new(self.binary(level + 1)?));
        }
    }

    /// Whether an operand follows another: a product without its sign.
    fn begins_factor(&self) -> bool {
        let words = ["if", "else", "then", "and", "or", "not", "for", "in", "is", "between", "like", "where"];
        self.words.get(self.at).is_some_and(|w| match w.token {
            Token::Ident(name) => !words.contains(&name),
            Token::Int(_) | Token::Float(_) | Token::Open => true,
            _ => false,
        })
    }

    fn unary(&mut self) -> Option<Part> {
        for sign in ["-", "!"] {
            if self.taken(sign).is_some() {
                return Some(Part::Unary(sign, Box::new(self.unary()?)));
            }
        }
        let base = self.postfix()?;
        match self.operator(&["**"]) {
            Some((_, n)) => {
                self.at += n;
                Some(Part::Binary("**", Box::new(base), Box::new(self.unary()?)))
            }
            None => Some(base),
        }
    }

    fn postfix(&mut self) -> Option<Part> {
        let mut part = self.atom()?;
        loop {
            let Some(word) = self.words.get(self.at) else { return Some(part) };
            match word.text {
                "[" => part = Part::Index(Box::new(part), self.subs()?),
                "(" if word.joined && !matches!(part, Part::Number(_)) => part = self.call(part)?,
                "." if matches!(self.words.get(self.at + 1).map(|w| w.token), Some(Token::Ident(_) | Token::Where)) => {
                    part = Part::Dot(Box::new(part), self.words[self.at + 1].text.to_string());
                    self.at += 2;
                }
                "'" if word.joined => {
                    self.at += 1;
                    part = Part::Dot(Box::new(part), "T".to_string());
                }
                _ => return Some(part),
            }
        }
    }

    fn atom(&mut self) -> Option<Part> {
        let word = *self.words.get(self.at)?;
        self.at += 1;
        match word.token {
            Token::Int(_) | Token::Float(_) => {
                // `2.` has no digits behind its point.
                let point = self.words.get(self.at).is_some_and(|w| w.text == "." && w.joined);
                let whole = point && matches!(word.token, Token::Int(_));
                self.at += usize::from(whole);
                Some(Part::Number(word.text.to_string() + if whole { ".0" } else { "" }))
            }
            Token::Where if self.peek() == Some("(") => Some(Part::Name("where".to_string())),
            Token::Ident(_) | Token::Inf | Token::Nan | Token::True | Token::False => {
                Some(Part::Name(word.text.to_string()))
            }
            // `.5` has none before it.
            Token::Unreadable if word.text == "." => match self.words.get(self.at) {
                Some(digits) if digits.joined && matches!(digits.token, Token::Int(_)) => {
                    self.at += 1;
                    Some(Part::Number(format!("0.{}", digits.text)))
                }
                _ => None,
            },
            Token::Text(text) => Some(Part::Text(text.to_string())),
            Token::Unreadable if word.text == "'" => self.quoted(),
            Token::Open => {
                let inner = self.expr()?;
                self.taken(")")?;
                Some(inner)
            }
            _ => None,
        }
    }

    /// A text in single quotes, behind the first of them.
    fn quoted(&mut self) -> Option<Part> {
        let end = self.words[self.at..].iter().position(|w| w.text == "'")?;
        let text: String = self.words[self.at..self.at + end].iter().map(|w| w.text).collect();
        self.at += end + 1;
        Some(Part::Text(text))
    }

    fn subs(&mut self) -> Option<Vec<Sub>> {
        self.taken("[")?;
        let mut subs = vec![];
        while self.taken("]").is_none() {
            if !subs.is_empty() {
                self.taken(",")?;
            }
            let mut parts = vec![self.bound()?];
            while parts.len() < 3 && self.taken(":").is_some() {
                parts.push(self.bound()?);
            }
            subs.push(match &parts[..] {
                [Some(part)] => Sub::At(part.clone()),
                [_] => return None,
                [a, b] => Sub::Along(a.clone(), b.clone(), None),
                [a, b, c, ..] => Sub::Along(a.clone(), b.clone(), c.clone()),
                [] => return None,
            });
        }
        Some(subs)
    }

    /// A bound of a slice, which may be absent; `None` if it is wrong.
    fn bound(&mut self) -> Option<Option<Part>> {
        if matches!(self.peek()?, ":" | "]" | ",") { Some(None) } else { Some(Some(self.expr()?)) }
    }

    fn call(&mut self, function: Part) -> Option<Part> {
        self.taken("(")?;
        if let (Part::Name(name), Some(vars)) = (&function, self.folded()) {
            let body = self.expr()?;
            self.taken(")")?;
            return Some(Part::Fold(name.clone(), vars, Box::new(body)));
        }
        let mut args = vec![];
        while self.taken(")").is_none() {
            if !args.is_empty() {
                self.taken(",")?;
            }
            let key = match (self.words.get(self.at)?, self.words.get(self.at + 1)) {
                (Word { token: Token::Ident(key), .. }, Some(next)) if next.text == "=" => Some(key.to_string()),
                _ => None,
            };
            self.at += if key.is_some() { 2 } else { 0 };
            let arg = self.typed_or_expr()?;
            args.push((key, arg));
        }
        Some(Part::Call(Box::new(function), args))
    }

    /// An argument, which may be a type of the language.
    fn typed_or_expr(&mut self) -> Option<Part> {
        match self.words.get(self.at)?.token {
            Token::Type(t) => {
                self.at += 1;
                Some(Part::Name(t.name().to_string()))
            }
            _ => self.expr(),
        }
    }

    /// `i, j:` behind an open parenthesis.
    fn folded(&mut self) -> Option<Vec<String>> {
        let (mut vars, mut at) = (vec![], self.at);
        loop {
            let Token::Ident(name) = self.words.get(at)?.token else { return None };
            vars.push(name.to_string());
            match self.words.get(at + 1)?.text {
                "," => at += 2,
                ":" => {
                    self.at = at + 2;
                    return Some(vars);
                }
                _ => return None,
            }
        }
    }
}
