//! Help for lines that are written as NumPy, Python, MATLAB or C have them: the same line in this language, made of the names that
//! stand there.
//!
//! ```text
//!  text, where parsing failed ──read──▶ a line of another language ──write──▶ a statement ──print──▶ help
//! ```
//!
//! What is said parses: a line that cannot be said in full gets a sentence on the word that it fails at, or nothing.
mod call;
mod read;
mod write;

use crate::lexer::{Placed, Token};
use fiberloom_core::notation::Diagnostic;
use read::{Part, Sub, Word};
use std::collections::{HashMap, HashSet};

/// Gives diagnostics of the parser help where their lines are those of another language. Of a line that has been said so, one
/// diagnostic stays.
pub fn help(text: &str, tokens: &[Placed], diagnostics: &mut Vec<Diagnostic>) {
    let mut said: Vec<std::ops::Range<usize>> = vec![];
    diagnostics.retain_mut(|d| {
        let at = d.span.start as usize;
        if said.iter().any(|line| line.contains(&at)) {
            return false;
        }
        if let Some((line, statement)) = meant(text, tokens, at) {
            d.help = Some(format!("here this line is `{statement}`"));
            said.push(line);
        } else if let Some(advice) = word(text, tokens, at) {
            d.help = Some(advice.to_string());
        }
        true
    });
}

/// What the line around a byte is here, and where it stands.
fn meant(text: &str, tokens: &[Placed], at: usize) -> Option<(std::ops::Range<usize>, String)> {
    let here = tokens.partition_point(|t| t.span.end <= at).min(tokens.len().checked_sub(1)?);
    let starts = (0..=here).rev().filter(|n| tokens[*n].leads || *n > 0 && tokens[*n - 1].token == Token::OpenBlock);
    for start in starts.take(STARTS) {
        let words = line(text, tokens, start, here);
        let Some(line) = read::line(&words) else { continue };
        let last = start + words.len() - 1;
        let names = Names::of(text, tokens, start..last + 1);
        let statement = write::statement(&line, &names)?.to_string();
        let place = tokens[start].span.start..tokens[last].span.end;
        let blank = |text: &str| text.split_whitespace().collect::<String>();
        let is_new = blank(&statement) != blank(&text[place.clone()]);
        return (is_new && parses(&statement)).then_some((place, statement));
    }
    None
}

/// How many beginnings of lines before a place are tried.
const STARTS: usize = 3;

/// The tokens from `start` to the end of the line on which token `here` stands, or of the brackets that it opens.
fn line<'s>(text: &'s str, tokens: &[Placed<'s>], start: usize, here: usize) -> Vec<Word<'s>> {
    let (mut words, mut open) = (vec![], 0i32);
    for (n, placed) in tokens.iter().enumerate().skip(start) {
        if n > here && placed.leads && open <= 0 || words.len() > read::LONGEST {
            break;
        }
        match placed.token {
            Token::Open | Token::OpenIndex => open += 1,
            Token::Close | Token::CloseIndex => open -= 1,
            Token::OpenBlock | Token::CloseBlock | Token::Schedule => break,
            _ => {}
        }
        let joined = n > 0 && tokens[n - 1].span.end == placed.span.start;
        words.push(Word { token: placed.token, text: &text[placed.span.start..placed.span.end], joined });
    }
    words
}

/// Whether a statement is one.
fn parses(statement: &str) -> bool {
    let (tokens, unreadable) = crate::lexer::lex(statement);
    unreadable.is_empty() && crate::parser::program(&tokens).1.is_empty()
}

/// What is said of words that begin no line here, and of those that stand between operands elsewhere.
fn word(text: &str, tokens: &[Placed], at: usize) -> Option<&'static str> {
    let here = tokens.partition_point(|t| t.span.end <= at).min(tokens.len().checked_sub(1)?);
    let start = (0..=here).rev().find(|n| tokens[*n].leads)?;
    let spelled = |n: usize| tokens.get(n).map(|t| &text[t.span.start..t.span.end]);
    let first = spelled(start)?;
    LINES
        .iter()
        .find(|(word, _)| *word == first)
        .or_else(|| {
            let near = [spelled(here), here.checked_sub(1).and_then(spelled)];
            near.into_iter()
                .flatten()
                .find_map(|found| BETWEEN.iter().find(|(word, _)| found.eq_ignore_ascii_case(word)))
        })
        .map(|(_, help)| *help)
}

/// Words with which lines begin elsewhere.
const LINES: [(&str, &str); 10] = [
    (
        "for",
        "an index variable runs over its extent by itself: write the statement alone, `y[i] = A[i,j] * x[j]`; `repeat 20 { … }` runs statements 20 times",
    ),
    ("def", "a function is written `fn f(x: f64, y: f64) -> f64 { x + y }`"),
    ("function", "a function is written `fn f(x: f64, y: f64) -> f64 { x + y }`"),
    ("import", "nothing is imported: functions are built in, data are given when the program runs (`--in A=A.mtx`)"),
    ("from", "nothing is imported: functions are built in, data are given when the program runs (`--in A=A.mtx`)"),
    ("print", "what a program defines is what it gives: `y[i] = …` is printed, or written with `--out y=y.npy`"),
    ("return", "what a program defines is what it gives: `y[i] = …`"),
    ("elif", "write `else if … then … else …`"),
    ("select", "a query is a statement: `revenue[n] += mask(c[l] == \"ASIA\", price[l])`, see docs/relations.md"),
    ("SELECT", "a query is a statement: `revenue[n] += mask(c[l] == \"ASIA\", price[l])`, see docs/relations.md"),
];

/// Words that stand between operands elsewhere.
const BETWEEN: [(&str, &str); 12] = [
    ("and", "`and` is written `&&`: `a[i] > 0 && b[i] < 3`"),
    ("or", "`or` is written `||`: `a[i] > 0 || b[i] < 3`"),
    ("not", "`not` is written `!`: `!(a[i] > 0)`"),
    ("between", "write both comparisons: `a[i] >= 2 && a[i] <= 7`"),
    ("in", "write each comparison: `a[i] == 2 || a[i] == 7`"),
    ("is", "compare with `==` or `!=`: `a[i] == none`, `a[i] != none`"),
    ("like", "texts are compared with patterns by `like(a[i], \"A%\")`"),
    ("case", "write `if a[i] > 0 then b[i] else c[i]`"),
    ("when", "write `if a[i] > 0 then b[i] else c[i]`"),
    ("elif", "write `else if … then … else …`"),
    ("?", "a choice is written `if c[i] then a[i] else b[i]`"),
    ("@", "a product is written under its index variables: `y[i] = A[i,j] * x[j]`, `C[i,j] = A[i,k] * B[k,j]`"),
];

/// Names that are scalars to most who write them.
const SCALARS: [&str; 16] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "eps", "lambda", "lam", "mu", "sigma", "rho", "tau", "tol", "dt",
    "lr", "damping",
];

/// What is known of the names of a program and of one of its lines.
pub struct Names {
    /// Sizes of declared tensors.
    sizes: HashMap<String, Vec<String>>,
    /// Ranks of tensors that stand elsewhere with their indices, and scalars.
    seen: HashMap<String, usize>,
    functions: HashSet<String>,
    /// Names that are numbers: sizes, and the line's index variables.
    values: HashSet<String>,
    /// All names of the line.
    line: Vec<String>,
}

impl Names {
    /// Of a program and these tokens of it.
    fn of(text: &str, tokens: &[Placed], line: std::ops::Range<usize>) -> Names {
        let mut names = Names {
            sizes: HashMap::new(),
            seen: HashMap::new(),
            functions: HashSet::new(),
            values: HashSet::new(),
            line: vec![],
        };
        let spelled = |n: usize| tokens.get(n).map_or("", |t| &text[t.span.start..t.span.end]);
        let quotes: Vec<usize> = line.clone().filter(|n| spelled(*n) == "'").collect();
        let quoted = quotes.first().copied().unwrap_or(0)..quotes.last().copied().unwrap_or(0);
        for n in (0..tokens.len().min(SEEN)).chain(line.clone().filter(|n| *n >= SEEN)) {
            let Token::Ident(name) = tokens[n].token else { continue };
            let before = n.checked_sub(1).map(|n| tokens[n].token);
            match before {
                Some(Token::Tensor) if spelled(n + 1) == ":" && spelled(n + 3) == "[" => {
                    let sizes = inside(tokens, n + 3).filter(|m| spelled(*m) != ",").map(|m| spelled(m).to_string());
                    let sizes: Vec<String> = sizes.collect();
                    names.values.extend(sizes.iter().cloned());
                    names.sizes.insert(name.to_string(), sizes);
                }
                Some(Token::Dim) => drop(names.values.insert(name.to_string())),
                Some(Token::Fn) => drop(names.functions.insert(name.to_string())),
                _ if line.contains(&n) => names.line.extend((!quoted.contains(&n)).then(|| name.to_string())),
                _ if spelled(n + 1) == "[" => drop(names.seen.entry(name.to_string()).or_insert(modes(tokens, n + 1))),
                _ if tokens[n].leads
                    && spelled(n + 1) == "="
                    && matches!(tokens.get(n + 2).map(|t| t.token), Some(Token::Int(_) | Token::Float(_))) =>
                {
                    names.seen.insert(name.to_string(), 0);
                }
                _ => {}
            }
        }
        let indices = line.clone().filter(|n| spelled(*n) == "[").flat_map(|n| inside(tokens, n));
        let indices = indices
            .filter(|n| matches!(tokens[*n].token, Token::Ident(_)) && !matches!(spelled(n + 1), "[" | "(" | "."));
        let variables: Vec<String> = indices.map(|n| spelled(n).to_string()).collect();
        names.values.extend(variables);
        let folded = line.clone().filter(|n| spelled(n + 1) == ":" && matches!(tokens[*n].token, Token::Ident(_)));
        names.values.extend(folded.map(|n| spelled(n).to_string()).collect::<Vec<_>>());
        names
    }

    /// The sizes of a declared tensor.
    fn declared(&self, name: &str) -> Option<&Vec<String>> {
        self.sizes.get(name)
    }

    /// Whether a name alone is a number: a size, an index variable.
    fn is_value(&self, name: &str) -> bool {
        self.values.contains(name) && !self.sizes.contains_key(name) && !self.seen.contains_key(name)
    }

    /// Whether a name is what people call NumPy and its like.
    fn is_module(&self, name: &str) -> bool {
        let modules = ["np", "numpy", "math", "torch", "jnp", "tf", "xp", "sp", "scipy", "cp", "F"];
        modules.contains(&name) && !self.sizes.contains_key(name) && !self.seen.contains_key(name)
    }

    fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// How many modes a tensor has, or most likely has.
    fn rank_of(&self, name: &str) -> usize {
        let known = self.sizes.get(name).map(Vec::len).or_else(|| self.seen.get(name).copied());
        known.unwrap_or_else(|| match name {
            _ if SCALARS.contains(&name) => 0,
            _ if name.starts_with(|c: char| c.is_ascii_uppercase()) => 2,
            _ => 1,
        })
    }

    /// How many modes an expression has.
    fn rank(&self, part: &Part) -> Option<usize> {
        let most = |parts: &[&Part]| parts.iter().map(|p| self.rank(p)).try_fold(0, |most, rank| Some(most.max(rank?)));
        match part {
            Part::Number(_) | Part::Text(_) => Some(0),
            Part::Name(name) => match name.as_str() {
                "inf" | "nan" | "true" | "false" | "True" | "False" | "pi" => Some(0),
                name if self.is_value(name) => Some(0),
                name => Some(self.rank_of(name)),
            },
            Part::Dot(base, name) => match (&**base, name.as_str()) {
                (Part::Name(module), _) if self.is_module(module) => Some(0),
                (base, "T") => self.rank(base),
                _ => None,
            },
            Part::Index(base, subs) => {
                if matches!(&**base, Part::Dot(_, name) if name == "shape") {
                    return Some(0);
                }
                let along = subs.iter().filter(|sub| matches!(sub, Sub::Along(..))).count();
                let missing = match &**base {
                    Part::Name(name) => self.sizes.get(name).map_or(0, |sizes| sizes.len().saturating_sub(subs.len())),
                    _ => 0,
                };
                Some(along + missing)
            }
            Part::Call(function, args) => call::rank(self, function, args),
            Part::Fold(..) => Some(0),
            Part::Unary(_, a) => self.rank(a),
            Part::Binary("@", a, b) => match (self.rank(a)?, self.rank(b)?) {
                (1, 1) => Some(0),
                (2, 1) | (1, 2) => Some(1),
                (2, 2) => Some(2),
                _ => None,
            },
            Part::Binary(_, a, b) => most(&[a, b]),
            Part::If(c, a, b) => most(&[c, a, b]),
        }
    }
}

/// How far a bracket is looked for that closes another, and how many tokens of a program are looked at for what they say of names.
const FEW: usize = 256;
const SEEN: usize = 1 << 14;

/// The tokens between the bracket at `open` and the one that closes it.
fn inside(tokens: &[Placed], open: usize) -> impl Iterator<Item = usize> + use<> {
    let mut depth = 0;
    let close = (open..tokens.len().min(open + FEW)).find(|n| {
        match tokens[*n].token {
            Token::OpenIndex | Token::Open => depth += 1,
            Token::CloseIndex | Token::Close => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    open + 1..close.unwrap_or(open + 1)
}

/// How many indices stand between the bracket at `open` and the one that closes it.
fn modes(tokens: &[Placed], open: usize) -> usize {
    let mut depth = 0;
    let (mut commas, mut some) = (0, false);
    for n in inside(tokens, open) {
        some = true;
        match tokens[n].token {
            Token::OpenIndex | Token::Open => depth += 1,
            Token::CloseIndex | Token::Close => depth -= 1,
            Token::Comma if depth == 0 => commas += 1,
            _ => {}
        }
    }
    if some { commas + 1 } else { 0 }
}
