//! What the texts of concrete notation and of loops have in common: tokens, literals, operators.
//!
//! ```text
//!  text ──tokens──▶ Text ──Reading──▶ names, lists, types, formats, literals
//!                        └─Operators─▶ expressions, as trees of whoever reads
//!  tree ──Printing──▶ expressions, in as few parentheses as they can be read back from
//! ```
//!
//! A literal has its type in itself: `1` is an `i64`, `1.0` an `f64`, any other carries it: `1u8`, `1.0f32`, `inff32`.

use crate::algebra::{Op, Type, Value, result_type};
use crate::format::{Format, LevelKind};
use std::fmt;

/// How many expressions may stand in each other: more than in a program, so that lowering may add to what one says.
pub const DEPTH: usize = 640;

/// Words that are literals, so that nothing else can have them as names.
pub const LITERALS: [&str; 6] = ["true", "false", "inf", "inff32", "nan", "nanf32"];

/// Whether this can be the name of something: letters, digits and `_`, and no literal.
pub fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !LITERALS.contains(&name)
}

/// How a literal is written; see this module's page.
pub fn literal(value: Value) -> String {
    let (ty, suffix) =
        (value.ty(), if matches!(value.ty(), Type::Bool | Type::I64 | Type::F64) { "" } else { value.ty().name() });
    match ty {
        _ if value.is_nan() && value != Value::from_f64(ty, f64::NAN) => format!("{ty}({:#x})", value.bits()),
        _ => format!("{value}{suffix}"),
    }
}

/// The operator's symbol and how tightly it binds, if it is written between its arguments.
pub fn infix(op: Op) -> Option<(&'static str, u8)> {
    let binds = match op {
        Op::Mul | Op::Div | Op::Rem => 9,
        Op::Add | Op::Sub => 8,
        Op::Shl | Op::Shr => 7,
        Op::And => 6,
        Op::Xor => return Some(("^", 5)),
        Op::Or => 4,
        _ if op.is_comparison() => COMPARISON,
        Op::AndAlso => 2,
        Op::OrElse => 1,
        _ => return None,
    };
    Some((op.name(), binds))
}

/// How tightly comparisons bind. They do not chain.
const COMPARISON: u8 = 3;
/// How tightly a sign and `!` bind.
const UNARY: u8 = 10;

/// A piece of text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Token<'t> {
    /// Letters, digits, `_`.
    Word(&'t str),
    /// A number with what sticks to it: `1`, `1u8`, `0x7ff8`, `1.5e-7f32`.
    Number(&'t str),
    /// One of `SIGNS`.
    Sign(&'t str),
    /// What stands behind `#` and a blank, to the end of the line.
    Comment(&'t str),
    /// The end of the text.
    End,
}

/// The signs, longer ones before those with which they begin.
const SIGNS: [&str; 34] = [
    "..", ".", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "&", "^", "|", "<", ">", "!",
    "=", ":", ",", "(", ")", "[", "]", "{", "}", "@", ";", "?", "~",
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
pub fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>, String> {
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
        let len = number_len(text.as_bytes());
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
fn number_len(text: &[u8]) -> usize {
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

/// A text that is being read.
pub struct Text<'t> {
    tokens: Vec<(Token<'t>, usize)>,
    at: usize,
    /// How many expressions stand around the one that is being read.
    depth: usize,
}

impl<'t> Text<'t> {
    /// All of a text.
    pub fn of(text: &'t str) -> Read<Text<'t>> {
        Ok(Text { tokens: tokens(text)?, at: 0, depth: 0 })
    }

    /// The text without its comments.
    pub fn without_comments(mut self) -> Text<'t> {
        self.tokens.retain(|(token, _)| !matches!(token, Token::Comment(_)));
        self
    }
}

/// What was read, or what is not as it should be.
pub type Read<T> = Result<T, String>;

/// Reading tokens one after the other.
pub trait Reading<'t> {
    /// The text that is read, at the place where reading stands.
    fn text(&self) -> &Text<'t>;
    /// The text that is read, to move on in it.
    fn text_mut(&mut self) -> &mut Text<'t>;

    /// The line where reading stands, from 1.
    fn line(&self) -> usize {
        let text = self.text();
        text.tokens.get(text.at).or(text.tokens.last()).map_or(1, |(_, line)| *line)
    }

    /// What `read` reads, and where it began if it fails, unless a part of it has said so.
    fn located<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T>
    where
        Self: Sized,
    {
        let line = self.line();
        read(self).map_err(|e| if e.starts_with("line ") { e } else { format!("line {line}: {e}") })
    }

    /// The next token.
    fn peek(&self) -> Token<'t> {
        self.ahead(0)
    }

    /// The token behind `n` others.
    fn ahead(&self, n: usize) -> Token<'t> {
        let text = self.text();
        text.tokens.get(text.at + n).map_or(Token::End, |(token, _)| *token)
    }

    /// On to the token behind the next one.
    fn skip(&mut self) {
        self.text_mut().at += 1;
    }

    /// Back to the token before.
    fn back(&mut self) {
        self.text_mut().at -= 1;
    }

    /// On behind a token, if it is the next; whether it is.
    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == token;
        self.text_mut().at += found as usize;
        found
    }

    /// On behind a token, which has to be the next.
    fn expect(&mut self, token: Token) -> Read<()> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected {token}, found {}", self.peek())) }
    }

    /// On behind a sign, which has to be the next token.
    fn sign(&mut self, sign: &'static str) -> Read<()> {
        self.expect(Token::Sign(sign))
    }

    /// A name.
    fn word(&mut self) -> Read<&'t str> {
        match self.peek() {
            Token::Word(word) => {
                self.skip();
                Ok(word)
            }
            other => Err(format!("expected a name, found {other}")),
        }
    }

    /// `item, item, …`, one or more.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>>
    where
        Self: Sized,
    {
        let mut items = vec![item(self)?];
        while self.eat(Token::Sign(",")) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// The same between signs, and perhaps none.
    fn enclosed<T>(
        &mut self,
        open: &'static str,
        close: &'static str,
        item: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>>
    where
        Self: Sized,
    {
        self.sign(open)?;
        let items = if self.peek() == Token::Sign(close) { vec![] } else { self.list(item)? };
        self.sign(close)?;
        Ok(items)
    }

    /// The name of a type.
    fn ty(&mut self) -> Read<Type> {
        let word = self.word()?;
        Type::from_name(word).ok_or_else(|| format!("`{word}` is no type"))
    }

    /// A number without sign.
    fn number<N: std::str::FromStr>(&mut self) -> Read<N> {
        let token = self.peek();
        let number = if let Token::Number(digits) = token { digits.parse().ok() } else { None };
        self.skip();
        number.ok_or_else(|| format!("expected a number, found {token}"))
    }

    /// A format: `dense`, or levels in braces and their order.
    fn format(&mut self) -> Read<Format>
    where
        Self: Sized,
    {
        if self.eat(Token::Word("dense")) {
            return Ok(Format::dense(0));
        }
        let mut format = Format::of(self.enclosed("{", "}", |r| {
            let word = r.word()?;
            LevelKind::from_name(word).ok_or_else(|| format!("`{word}` is no kind of level"))
        })?);
        if self.eat(Token::Word("order")) {
            format.order = self.enclosed("(", ")", |r| r.number())?.into();
        }
        Ok(format)
    }

    /// A literal: `-1`, `1.5f32`, `inf`, `true`, or the bits of a NaN: `f64(0x7ff8000000000001)`.
    fn constant(&mut self) -> Read<Value> {
        let negative = self.eat(Token::Sign("-"));
        let token = self.peek();
        self.skip();
        let value = match token {
            Token::Number(text) => literal_number(text, negative),
            Token::Word("inf") => {
                Some(Value::from_f64(Type::F64, if negative { -f64::INFINITY } else { f64::INFINITY }))
            }
            Token::Word("inff32") => {
                Some(Value::from_f64(Type::F32, if negative { -f64::INFINITY } else { f64::INFINITY }))
            }
            Token::Word("nan") if !negative => Some(Value::from_f64(Type::F64, f64::NAN)),
            Token::Word("nanf32") if !negative => Some(Value::from_f64(Type::F32, f64::NAN)),
            Token::Word("true") if !negative => Some(Value::bool(true)),
            Token::Word("false") if !negative => Some(Value::bool(false)),
            Token::Word(word @ ("f32" | "f64")) if !negative => return self.bits(word),
            _ => None,
        };
        value.ok_or_else(|| match token {
            Token::Word(word) => format!("there is no variable `{word}` before this line"),
            _ => format!("expected a value, found {token}"),
        })
    }

    /// The bits of a NaN, behind its type.
    fn bits(&mut self, word: &str) -> Read<Value> {
        self.sign("(")?;
        let token = self.peek();
        let Token::Number(text) = token else { return Err(format!("expected bits, found {token}")) };
        self.skip();
        let bits = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        self.sign(")")?;
        match (word, bits) {
            ("f64", Some(bits)) => Ok(Value::from_bits(Type::F64, bits)),
            ("f32", Some(bits)) if bits <= u32::MAX as u64 => Ok(Value::from_bits(Type::F32, bits)),
            _ => Err(format!("`{text}` are no bits of an {word}")),
        }
    }
}

/// Reading expressions.
pub trait Operators<'t>: Reading<'t> + Sized {
    /// An expression as it is read.
    type Term;

    /// A literal.
    fn literal(&mut self, value: Value) -> Self::Term;
    /// The function applied.
    fn apply(&mut self, op: Op, args: Vec<Self::Term>) -> Read<Self::Term>;
    /// What begins with a word; literals of this kind are left to [`Operators::constant_term`].
    fn named(&mut self, word: &'t str) -> Read<Self::Term>;

    /// What begins with none of a word, a sign that all have and a parenthesis.
    fn other(&mut self) -> Read<Self::Term> {
        self.constant_term()
    }

    /// An expression.
    fn expr(&mut self) -> Read<Self::Term> {
        self.binary(0)
    }

    /// Operators that bind at least as tightly as `least`, from the left.
    fn binary(&mut self, least: u8) -> Read<Self::Term> {
        let mut left = self.unary()?;
        loop {
            let Some((op, binds)) = self.operator().filter(|(_, binds)| *binds >= least) else { return Ok(left) };
            self.skip();
            let right = self.binary(binds + 1)?;
            left = self.apply(op, vec![left, right])?;
            if binds == COMPARISON && self.operator().is_some_and(|(_, b)| b == COMPARISON) {
                return Err("comparisons do not chain: put one of them in parentheses".into());
            }
        }
    }

    /// The operator that stands next, and how tightly it binds.
    fn operator(&self) -> Option<(Op, u8)> {
        let Token::Sign(sign) = self.peek() else { return None };
        Op::all().find_map(|op| infix(op).filter(|(symbol, _)| *symbol == sign).map(|(_, binds)| (op, binds)))
    }

    /// An operand with its signs.
    fn unary(&mut self) -> Read<Self::Term> {
        self.text_mut().depth += 1;
        if self.text().depth > DEPTH {
            return Err(format!("an expression is nested more than {DEPTH} deep"));
        }
        let term = self.prefixed();
        self.text_mut().depth -= 1;
        term
    }

    /// An operand with its signs, whose depth has been counted.
    fn prefixed(&mut self) -> Read<Self::Term> {
        let number = matches!(self.ahead(1), Token::Number(_) | Token::Word("inf" | "inff32"));
        let bits =
            self.ahead(1) == Token::Sign("(") && matches!(self.ahead(2), Token::Number(n) if n.starts_with("0x"));
        match self.peek() {
            Token::Sign("-") if number => self.constant_term(),
            Token::Sign("-") => {
                self.skip();
                let arg = self.unary()?;
                self.apply(Op::Neg, vec![arg])
            }
            Token::Sign("!") => {
                self.skip();
                let arg = self.unary()?;
                self.apply(Op::Not, vec![arg])
            }
            Token::Sign("(") => {
                self.skip();
                let term = self.expr()?;
                self.sign(")")?;
                Ok(term)
            }
            Token::Word("f32" | "f64") if bits => self.constant_term(),
            Token::Word(word) => self.named(word),
            _ => self.other(),
        }
    }

    /// A literal, as an expression.
    fn constant_term(&mut self) -> Read<Self::Term> {
        let value = self.constant()?;
        Ok(self.literal(value))
    }

    /// The function of that name, with its arguments behind it.
    fn call(&mut self, word: &str) -> Read<Self::Term> {
        self.skip();
        let named = || Op::all().find(|op| op.name() == word && !matches!(op, Op::Convert(_) | Op::Neg | Op::Not));
        let op = Type::from_name(word).map(Op::Convert).or_else(named);
        let op = op.ok_or_else(|| format!("there is no function `{word}`"))?;
        let args = self.enclosed("(", ")", |r| r.expr())?;
        self.apply(op, args)
    }
}

/// The type of a function of arguments of these types.
pub fn applied(op: Op, types: &[Type]) -> Read<Type> {
    result_type(op, types).ok_or_else(|| {
        let types: Vec<_> = types.iter().map(|t| t.name()).collect();
        format!("`{}` does not take ({})", op.name(), types.join(", "))
    })
}

/// Writing expressions.
pub trait Printing {
    /// A tree.
    type Expr;

    /// Where it is written.
    fn out(&mut self) -> &mut dyn fmt::Write;
    /// In parentheses if it binds less tightly than `least`.
    fn expr(&mut self, e: &Self::Expr, least: u8) -> fmt::Result;
    /// Whether an expression is a literal.
    fn is_literal(e: &Self::Expr) -> bool;

    /// A function of arguments.
    fn applied(&mut self, op: Op, args: &[&Self::Expr], least: u8) -> fmt::Result {
        match (op, args, infix(op)) {
            (_, [a, b], Some((symbol, binds))) => {
                if binds < least {
                    write!(self.out(), "(")?;
                }
                self.expr(a, if binds == COMPARISON { binds + 1 } else { binds })?;
                write!(self.out(), " {symbol} ")?;
                self.expr(b, binds + 1)?;
                if binds < least { write!(self.out(), ")") } else { Ok(()) }
            }
            (Op::Neg | Op::Not, [a], _) => {
                write!(self.out(), "{}", if op == Op::Neg { "-" } else { "!" })?;
                // A sign before a number would be read as the number's own.
                if Self::is_literal(a) { self.list("", args) } else { self.expr(a, UNARY) }
            }
            (Op::Convert(ty), _, _) => self.list(ty.name(), args),
            _ => self.list(op.name(), args),
        }
    }

    /// The name with its arguments behind it.
    fn list(&mut self, name: &str, args: &[&Self::Expr]) -> fmt::Result {
        write!(self.out(), "{name}(")?;
        for (i, a) in args.iter().enumerate() {
            write!(self.out(), "{}", if i > 0 { ", " } else { "" })?;
            self.expr(a, 0)?;
        }
        write!(self.out(), ")")
    }
}

/// A number with its type behind it: an `i64` or, with a fraction or an exponent, an `f64` if none is.
fn literal_number(text: &str, negative: bool) -> Option<Value> {
    let suffix = Type::ALL.into_iter().find(|t| text.ends_with(t.name()) && *t != Type::Bool);
    let digits = suffix.map_or(text, |t| &text[..text.len() - t.name().len()]);
    let float = digits.contains(['.', 'e']);
    let sign = if negative { "-" } else { "" };
    let signed = format!("{sign}{digits}");
    match suffix.unwrap_or(if float { Type::F64 } else { Type::I64 }) {
        Type::F64 => signed.parse::<f64>().ok().map(|x| Value::from_f64(Type::F64, x)),
        Type::F32 => signed.parse::<f32>().ok().map(|x| Value::from_f64(Type::F32, x as f64)),
        ty => {
            let x: i128 = signed.parse().ok()?;
            let (least, greatest) = ty.range()?;
            (least..=greatest).contains(&x).then(|| Value::from_i128(ty, x))
        }
    }
}
