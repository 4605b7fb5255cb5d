//! Damaged text: programs in which bytes and words are lost, doubled, swapped or foreign.

use arbitrary::Unstructured;

/// What is put into texts: words of the language, and what none of it is.
const WORDS: [&str; 52] = [
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
fn words(text: &str) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes;
    use crate::notation::{language, programs_under, reads_back};
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    /// Examples, file tests with their mistakes, and generated programs.
    fn corpus() -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files: Vec<PathBuf> =
            ["examples", "tests"].iter().flat_map(|folder| programs_under(&root.join(folder))).collect();
        assert!(files.len() > 60, "{}", files.len());
        let text = |p: PathBuf| std::fs::read_to_string(p).expect("text");
        let generated = |seed| language::program(&mut Unstructured::new(&bytes(seed, 1200)), 0).program.to_string();
        files.into_iter().map(text).chain((0..60).map(generated)).collect()
    }

    #[test]
    fn words_are_the_text() {
        corpus().iter().for_each(|text| assert_eq!(words(text).concat(), *text));
    }

    #[test]
    fn damaged_text_is_read_or_refused_in_time() {
        let (mut read, mut checked, mut several, mut slowest) = (0, 0, 0, 0);
        let tries = crate::Effort::said().of(25, 1);
        let least = 12 * tries as u32;
        for (n, text) in corpus().iter().enumerate() {
            reads_back(text);
            for seed in 0..tries {
                let damaged = damage(&mut Unstructured::new(&bytes(1000 * n as u64 + seed, 64)), text);
                let begun = Instant::now();
                let seen = reads_back(&damaged);
                slowest = slowest.max(begun.elapsed().as_millis());
                read += seen.reads as u32;
                checked += seen.checks as u32;
                several += (seen.errors > 1) as u32;
            }
        }
        println!("{read} read, {checked} check, {several} have several errors, the slowest took {slowest} ms");
        assert!(read > least && checked > least / 3, "damage is too heavy: {read} read, {checked} check");
        assert!(several > least, "errors behind the first are not found: {several}");
        assert!(slowest < 20_000, "{slowest} ms");
    }

    /// Any bytes at all that are UTF-8: what the fuzz target begins with.
    #[test]
    fn noise_is_refused() {
        let mut refused = 0;
        for seed in 0..2000 {
            let noise = bytes(seed, 200);
            reads_back(&String::from_utf8_lossy(&noise));
            let words: String = noise.iter().map(|b| format!("{} ", WORDS[*b as usize % WORDS.len()])).collect();
            // A few begin with `#`: a comment is a program.
            refused += !reads_back(&words).checks as u32;
        }
        assert!(refused > 1900, "{refused}");
    }
}
