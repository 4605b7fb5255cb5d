//! Damaged text: programs in which bytes and words are lost, doubled, swapped or foreign.

use arbitrary::Unstructured;

/// What is put into texts: words of the language, and what none of it is.
pub const WORDS: [&str; 52] = [
    "dim",
    "tensor",
    "fn",
    "where",
    "schedule",
    "fill",
    "order",
    "start",
    "let",
    "while",
    "if",
    "then",
    "else",
    "iterate",
    "case",
    "sum",
    "collapse",
    "split",
    "concat",
    "slice",
    "coalesce",
    "convert",
    "csr",
    "dense",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "->",
    "~",
    ":",
    ";",
    ",",
    "=",
    "+=",
    "==",
    "&&",
    "|",
    "!",
    "-",
    "%",
    "<<",
    "0",
    "1e999",
    "99999999999999999999",
    "0x",
    "é",
    "\u{0}",
    "#",
    "\r",
];

/// The text with one to four damages.
pub fn damage(u: &mut Unstructured, text: &str) -> String {
    let mut parts = words(text);
    for _ in 0..1 + u.choose_index(4).unwrap_or(0) {
        one(u, &mut parts);
    }
    parts.concat()
}

fn one(u: &mut Unstructured, parts: &mut Vec<String>) {
    let mut below = |n: usize| u.choose_index(n).unwrap_or(0);
    let at = below(parts.len() + 1);
    let kind = below(9);
    if at == parts.len() || kind == 0 {
        return parts.insert(at, WORDS[below(WORDS.len())].to_string());
    }
    match kind {
        1 => drop(parts.remove(at)),
        2 => parts.insert(at, parts[at].clone()),
        3 => {
            let with = below(parts.len());
            parts.swap(at, with);
        }
        4 => parts.truncate(at),
        5 => parts[at] = WORDS[below(WORDS.len())].to_string(),
        6 => {
            // A character of a word becomes another.
            let mut letters: Vec<char> = parts[at].chars().collect();
            let place = below(letters.len());
            letters[place] = char::from(below(128) as u8);
            parts[at] = letters.into_iter().collect();
        }
        7 => parts[at] = parts[at].repeat([2, 50, 2000][below(3)]),
        _ => {
            let end = (at + 1 + below(12)).min(parts.len());
            drop(parts.drain(at..end));
        }
    }
}

/// A text cut where words begin and end; together they are the text.
pub fn words(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = vec![];
    let class = |c: char| {
        if c.is_alphanumeric() || c == '_' {
            1
        } else if c.is_whitespace() {
            2
        } else {
            3
        }
    };
    let mut before = 0;
    for c in text.chars() {
        let now = class(c);
        match parts.last_mut() {
            Some(last) if now == before && now < 3 => last.push(c),
            _ => parts.push(c.to_string()),
        }
        before = now;
    }
    parts
}
