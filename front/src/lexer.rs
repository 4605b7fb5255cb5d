//! Tokens.

use chumsky::span::SimpleSpan;
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::{Diagnostic, Span};
use logos::Logos;
use std::fmt;

/// A token. Words that only some places of the grammar know (schedule commands, properties, formats, functions) are
/// identifiers; all other words of the grammar, and the types, are reserved.
#[derive(Logos, Clone, Copy, PartialEq, Debug)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
#[allow(missing_docs)]
pub enum Token<'s> {
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Ident(&'s str),
    #[regex("[0-9]+", |lex| lex.slice().parse().ok())]
    Int(u64),
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?", |lex| lex.slice().parse().ok())]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", |lex| lex.slice().parse().ok())]
    Float(f64),
    /// A text in quotes, without them; a quote inside is doubled.
    #[regex(r#""([^"\n]|"")*""#, |lex| { let text = lex.slice(); &text[1..text.len() - 1] })]
    Text(&'s str),
    #[token("bool", |_| Type::Bool)]
    #[token("i8", |_| Type::I8)]
    #[token("i16", |_| Type::I16)]
    #[token("i32", |_| Type::I32)]
    #[token("i64", |_| Type::I64)]
    #[token("u8", |_| Type::U8)]
    #[token("u16", |_| Type::U16)]
    #[token("u32", |_| Type::U32)]
    #[token("u64", |_| Type::U64)]
    #[token("f32", |_| Type::F32)]
    #[token("f64", |_| Type::F64)]
    Type(Type),
    #[token("dim")]
    Dim,
    #[token("tensor")]
    Tensor,
    #[token("fill")]
    Fill,
    #[token("order")]
    Order,
    #[token("start")]
    Start,
    #[token("fn")]
    Fn,
    #[token("let")]
    Let,
    #[token("where")]
    Where,
    #[token("while")]
    While,
    #[token("if")]
    If,
    #[token("then")]
    Then,
    #[token("else")]
    Else,
    #[token("schedule")]
    Schedule,
    #[token("true")]
    True,
    #[token("false")]
    False,
    #[token("nan")]
    Nan,
    #[token("inf")]
    Inf,
    #[token("collapse")]
    Collapse,
    #[token("split")]
    Split,
    #[token("concat")]
    Concat,
    #[token("slice")]
    Slice,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token("[")]
    OpenIndex,
    #[token("]")]
    CloseIndex,
    #[token("{")]
    OpenBlock,
    #[token("}")]
    CloseBlock,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
    #[token("->")]
    Arrow,
    #[token("~")]
    Tilde,
    #[token("=")]
    Assign,
    #[token("+=")]
    AddAssign,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("&")]
    And,
    #[token("^")]
    Caret,
    #[token("|")]
    Or,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("==")]
    EqEq,
    #[token("!=")]
    Ne,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("!")]
    Bang,
    /// Stands for text that is no token and has been reported.
    Unreadable,
}

impl Token<'_> {
    /// Whether it is spelled like a name but has its own meaning.
    pub fn is_reserved_word(self) -> bool {
        let spelled = self.to_string();
        !matches!(self, Token::Ident(_) | Token::Unreadable)
            && spelled.trim_start_matches('`').starts_with(|c: char| c.is_ascii_alphabetic())
    }
}

/// As it is written, in quotes; numbers and identifiers by what they are.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Token::Ident(name) => return write!(f, "`{name}`"),
            Token::Int(n) => return write!(f, "`{n}`"),
            Token::Float(x) => return write!(f, "`{x:?}`"),
            Token::Text(text) => return write!(f, "`\"{text}\"`"),
            Token::Type(t) => t.name(),
            Token::Fill => "fill",
            Token::Order => "order",
            Token::Start => "start",
            Token::Unreadable => "unreadable text",
            Token::Dim => "dim",
            Token::Tensor => "tensor",
            Token::Fn => "fn",
            Token::Let => "let",
            Token::Where => "where",
            Token::While => "while",
            Token::If => "if",
            Token::Then => "then",
            Token::Else => "else",
            Token::Schedule => "schedule",
            Token::True => "true",
            Token::False => "false",
            Token::Nan => "nan",
            Token::Inf => "inf",
            Token::Collapse => "collapse",
            Token::Split => "split",
            Token::Concat => "concat",
            Token::Slice => "slice",
            Token::Open => "(",
            Token::Close => ")",
            Token::OpenIndex => "[",
            Token::CloseIndex => "]",
            Token::OpenBlock => "{",
            Token::CloseBlock => "}",
            Token::Comma => ",",
            Token::Colon => ":",
            Token::Semicolon => ";",
            Token::Arrow => "->",
            Token::Tilde => "~",
            Token::Assign => "=",
            Token::AddAssign => "+=",
            Token::Plus => "+",
            Token::Minus => "-",
            Token::Star => "*",
            Token::Slash => "/",
            Token::Percent => "%",
            Token::Shl => "<<",
            Token::Shr => ">>",
            Token::And => "&",
            Token::Caret => "^",
            Token::Or => "|",
            Token::Lt => "<",
            Token::Le => "<=",
            Token::Gt => ">",
            Token::Ge => ">=",
            Token::EqEq => "==",
            Token::Ne => "!=",
            Token::AndAnd => "&&",
            Token::OrOr => "||",
            Token::Bang => "!",
        };
        write!(f, "`{text}`")
    }
}

/// A token, its place, and whether it is the first of its line.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'s> {
    /// The token.
    pub token: Token<'s>,
    /// Its place.
    pub span: SimpleSpan,
    /// Whether only blanks stand before it on its line.
    pub leads: bool,
}

/// Most places that are reported as unreadable; what follows the last is not read.
const MOST_UNREADABLE: usize = 10;

/// All tokens, and what could not be read as one. There, [`Token::Unreadable`] or a zero stands in.
pub fn lex(text: &str) -> (Vec<Placed<'_>>, Vec<Diagnostic>) {
    let mut tokens = Vec::new();
    let mut diagnostics = Vec::new();
    let mut end_of_last = 0;
    for (token, range) in Token::lexer(text).spanned() {
        let leads = end_of_last == 0 || text[end_of_last..range.start].contains('\n');
        end_of_last = range.end;
        let span = SimpleSpan::from(range.clone());
        let token = match token {
            Ok(Token::Float(x)) if x.is_infinite() => Err(()),
            token => token,
        };
        let token = token.unwrap_or_else(|()| {
            let (stands_in, diagnostic) = unreadable(text, range);
            diagnostics.push(diagnostic);
            stands_in
        });
        tokens.push(Placed { token, span, leads });
        if diagnostics.len() == MOST_UNREADABLE {
            break;
        }
    }
    (tokens, diagnostics)
}

/// What to read instead, and what to say.
fn unreadable(text: &str, range: std::ops::Range<usize>) -> (Token<'_>, Diagnostic) {
    let span = Span::new(range.start, range.end);
    let what = &text[range];
    if what.starts_with(|c: char| c.is_ascii_digit()) {
        let integer = what.bytes().all(|b| b.is_ascii_digit());
        let (stands_in, help) = match integer {
            true => (Token::Int(0), "integers are below 2⁶⁴ = 18446744073709551616"),
            false => (Token::Float(0.0), "floats are at most 1.7976931348623157e308; infinity is written `inf`"),
        };
        return (stands_in, Diagnostic::new(span, format!("the number `{what}` is too large")).help(help));
    }
    let help = match what {
        "." => "a float has digits on both sides of its point: `0.5`, `2.0`",
        "\"" => "a text ends on its line, with `\"`; a quote in it is written twice",
        "'" => "texts stand in double quotes; names are written bare",
        _ => "names are ASCII letters, digits and `_`; comments begin with `#`",
    };
    let message = format!("`{}` begins no token of the language", what.escape_debug());
    (Token::Unreadable, Diagnostic::new(span, message).help(help))
}
