//! Tokens.

use chumsky::span::SimpleSpan;
use fiberloom_core::notation::{Diagnostic, Span};
use logos::Logos;
use std::fmt;

/// A token. Words that only some places of the grammar know (`fill`, `order`, `start`, schedule commands, properties)
/// are identifiers.
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
    #[token("dim")]
    Dim,
    #[token("tensor")]
    Tensor,
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
}

/// As it is written, in quotes; numbers and identifiers by what they are.
impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Token::Ident(name) => return write!(f, "`{name}`"),
            Token::Int(n) => return write!(f, "`{n}`"),
            Token::Float(x) => return write!(f, "`{x:?}`"),
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

/// All tokens, and what could not be read as one. At most ten such places are reported.
pub fn lex(text: &str) -> (Vec<Placed<'_>>, Vec<Diagnostic>) {
    let mut tokens = Vec::new();
    let mut diagnostics = Vec::new();
    let mut end_of_last = 0;
    for (token, range) in Token::lexer(text).spanned() {
        let leads = end_of_last == 0 || text[end_of_last..range.start].contains('\n');
        end_of_last = range.end;
        match token {
            Ok(Token::Float(x)) if x.is_infinite() => {
                diagnostics.push(unreadable(text, range.clone()));
            }
            Ok(token) => tokens.push(Placed { token, span: SimpleSpan::from(range), leads }),
            Err(()) => diagnostics.push(unreadable(text, range)),
        }
        if diagnostics.len() == 10 {
            break;
        }
    }
    (tokens, diagnostics)
}

fn unreadable(text: &str, range: std::ops::Range<usize>) -> Diagnostic {
    let span = Span::new(range.start, range.end);
    let what = &text[range];
    if what.starts_with(|c: char| c.is_ascii_digit()) {
        let help = "integers are below 2⁶⁴, floats at most 1.8e308; infinity is written `inf`";
        return Diagnostic::new(span, format!("the number `{what}` is too large")).help(help);
    }
    Diagnostic::new(span, format!("`{}` begins no token of the language", what.escape_debug()))
        .help("names are ASCII letters, digits and `_`; comments begin with `#`")
}
