//! The list of mistakes, and where their originals stand.
//!
//! ```text
//!  # Positions and coordinates of results.          a comment
//!  file loops/src/lower/output.rs              of all that follow, until another
//!
//!  positions of passed rows are not carried forward              its name, then what is said of it
//!  in finish_positions                              the function it stands in: where the text stands in others too
//!  like 5                                           the number of a public issue of this kind, where there is one
//!  - binary(Op::Max, there, here)                   the original: an expression, or whole statements
//!  + there                                          the mistake; none: the statements are left out
//!  test files: notation/rows                        an attacker and which of its tests was written for it: asked first
//!  survives …                                       why nobody can notice it
//! ```
//!
//! An original stands once in its file or function; blanks do not count. Statements end with `;` or `}` and bind no name that is
//! used below them. Several mistakes may have one original, but originals do not overlap otherwise.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// A mistake on purpose.
#[derive(Debug, Default)]
pub struct Mistake {
    /// What is wrong, in a few words.
    pub name: String,
    /// The part of the compiler: the list's own name.
    pub stage: String,
    /// The number of a public issue of this kind, in `tests/issues`.
    pub like: Option<u32>,
    /// Why nobody can notice it.
    pub survives: Option<String>,
    /// The attacker who has the test that was written for it, and a part of that test's name.
    pub test: Option<(String, String)>,
    /// Where it is made.
    pub file: PathBuf,
    /// In which function.
    function: Option<String>,
    original: String,
    /// What stands there instead.
    pub mistaken: String,
}

impl Mistake {
    /// What it is called in files: its stage and its name.
    pub fn key(&self) -> String {
        format!("{}/{}", self.stage, self.name)
    }

    /// Whether a part of a name, or a stage, means this one.
    pub fn is_called(&self, word: &str) -> bool {
        self.name.contains(word) || self.stage == word
    }

    /// Whether whole statements are replaced.
    pub fn is_statement(&self) -> bool {
        self.original.ends_with([';', '}'])
    }

    /// Where the original stands in its file's text.
    ///
    /// # Errors
    /// If it does not stand there, or more than once.
    pub fn place(&self, text: &str) -> Result<Range<usize>, String> {
        let within: Vec<Range<usize>> = match &self.function {
            Some(name) => functions(text, name),
            None => std::iter::once(0..text.len()).collect(),
        };
        let found: Vec<Range<usize>> =
            within.into_iter().flat_map(|part| occurrences(text, part, &self.original)).collect();
        match &found[..] {
            [one] => Ok(one.clone()),
            _ => Err(format!(
                "{}: the original of the mistake \"{}\" stands there {} times: {}",
                self.file.display(),
                self.name,
                found.len(),
                self.original
            )),
        }
    }
}

/// Reads all lists of a folder, in the order of their names.
///
/// # Errors
/// If a line is none of those above, or a list cannot be read.
pub fn read(folder: &Path) -> Result<Vec<Mistake>, String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut lists: Vec<PathBuf> = std::fs::read_dir(folder).map_err(wrong)?.flatten().map(|e| e.path()).collect();
    lists.sort();
    let mut all = Vec::new();
    for list in lists.iter().filter(|p| p.extension().is_some_and(|e| e == "txt")) {
        let text = std::fs::read_to_string(list).map_err(|e| format!("{}: {e}", list.display()))?;
        let stage = list.file_stem().unwrap_or_default().to_string_lossy();
        all.extend(read_list(&stage, &text).map_err(|(line, what)| format!("{}:{line}: {what}", list.display()))?);
    }
    Ok(all)
}

/// The mistakes of a list; else a line's number and what is wrong there.
pub(super) fn read_list(stage: &str, text: &str) -> Result<Vec<Mistake>, (usize, String)> {
    let (mut all, mut file) = (Vec::<Mistake>::new(), PathBuf::new());
    let mut open = false;
    for (number, line) in text.lines().enumerate() {
        let wrong = |what: &str| (number + 1, what.to_string());
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if line.trim().is_empty() {
            open = false;
        } else if word == "file" && !open {
            file = PathBuf::from(rest);
        } else if word.starts_with('#') {
            continue;
        } else if !open {
            let name = line.to_string();
            all.push(Mistake { name, stage: stage.to_string(), file: file.clone(), ..Mistake::default() });
            open = true;
        } else {
            let mistake = all.last_mut().expect("one is open");
            match word {
                "in" => mistake.function = Some(rest.to_string()),
                "like" => mistake.like = Some(rest.parse().map_err(|_| wrong("no number of an issue"))?),
                "survives" => mistake.survives = Some(rest.to_string()),
                "test" => {
                    let (by, name) = rest.split_once(": ").ok_or_else(|| wrong("`test` says ATTACKER: NAME"))?;
                    mistake.test = Some((by.to_string(), name.to_string()));
                }
                "-" => join(&mut mistake.original, rest),
                "+" => join(&mut mistake.mistaken, rest),
                _ => return Err(wrong("a line begins with `in`, `like`, `survives`, `test`, `-` or `+`")),
            }
        }
    }
    if let Some(m) = all.iter().find(|m| m.original.is_empty() || m.file.as_os_str().is_empty()) {
        return Err((0, format!("\"{}\" has no original, or no file", m.name)));
    }
    match all.iter().find(|m| !is_whole(&m.original) || !is_whole(&m.mistaken)) {
        Some(m) => Err((0, format!("\"{}\" has half a bracket or half an operation", m.name))),
        None => Ok(all),
    }
}

/// Whether a piece of code can be put into brackets of its own: each bracket in it stands with its other, each operator with what is
/// behind it, and it is no arm of a `match`.
fn is_whole(code: &str) -> bool {
    let mut open = Vec::new();
    let closes = |c: char| "([{".find(c).map(|n| [')', ']', '}'][n]);
    let step = |(at, c): (usize, char)| match closes(c) {
        Some(other) => {
            open.push(other);
            true
        }
        None if c == '=' && open.is_empty() => !code[at..].starts_with("=>"),
        None => !")]}".contains(c) || open.pop() == Some(c),
    };
    let cut = ["&&", "||", "="].iter().any(|operator| code.trim_end().ends_with(operator));
    code.char_indices().all(step) && open.is_empty() && !cut
}

fn join(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line.trim());
}

/// Where functions of a name stand: the code is formatted, so one ends at the next `}` that is indented as it is.
fn functions(text: &str, name: &str) -> Vec<Range<usize>> {
    let head = format!("fn {name}");
    let longer = |at: usize| text[at + head.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let heads = text.match_indices(&head).filter(|(at, _)| !longer(*at));
    let whole = heads.filter_map(|(at, _)| {
        let begin = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let indent = text[begin..].len() - text[begin..].trim_start().len();
        let end = text[at..].find(&format!("\n{}}}", " ".repeat(indent)))?;
        Some(begin..at + end)
    });
    whole.collect()
}

/// Where `sought` stands in a part of a text, blanks aside. What follows it or comes before it does not make it a part of a longer name.
fn occurrences(text: &str, part: Range<usize>, sought: &str) -> Vec<Range<usize>> {
    let solid = |text: &str, from: usize| -> Vec<(usize, char)> {
        text.char_indices().filter(|(_, c)| !c.is_whitespace()).map(|(at, c)| (from + at, c)).collect()
    };
    let (all, sought) = (solid(&text[part.clone()], part.start), solid(sought, 0));
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let same = |window: &[(usize, char)]| window.iter().zip(&sought).all(|(a, b)| a.1 == b.1);
    let whole = |found: &Range<usize>| {
        let (before, after) = (text[..found.start].chars().next_back(), text[found.end..].chars().next());
        let joins = |inner: Option<char>, outer: Option<char>| inner.is_some_and(word) && outer.is_some_and(word);
        !joins(text[found.clone()].chars().next(), before) && !joins(text[found.clone()].chars().next_back(), after)
    };
    let range = |w: &[(usize, char)]| w[0].0..w[w.len() - 1].0 + w[w.len() - 1].1.len_utf8();
    all.windows(sought.len()).filter(|w| same(w)).map(range).filter(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is true to the code: each original stands where it is said to, once.
    #[test]
    fn every_original_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the repository");
        let all = read(&root.join(super::super::LISTS)).unwrap();
        assert!(all.len() >= 100, "{} mistakes", all.len());
        let mut names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
        names.sort();
        let twice = names.windows(2).find(|w| w[0] == w[1]);
        assert_eq!(twice, None, "two mistakes of one name");
        let place = |m: &Mistake| m.place(&std::fs::read_to_string(root.join(&m.file)).unwrap_or_default()).err();
        let wrong: Vec<String> = all.iter().filter_map(place).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn lists_are_read() {
        let text = "# c\nfile a.rs\n\none thing\nin f\nlike 5\n- a +\n-   b\n+ c\ntest files: a/b\n\nanother\n- x;\nsurvives it is dead\n";
        let all = read_list("stage", text).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].name.as_str(), all[0].like, all[0].is_statement()), ("one thing", Some(5), false));
        assert_eq!(all[0].test, Some(("files".to_string(), "a/b".to_string())));
        assert_eq!((all[1].mistaken.as_str(), all[1].survives.as_deref()), ("", Some("it is dead")));
        assert_eq!(read_list("stage", "file a\n\nname\nelse 5\n").unwrap_err().0, 4);
        assert!(read_list("stage", "file a\n\nname\n+ 5\n").is_err());
        assert!(read_list("stage", "file a\n\nname\n- a } else { b\n+ b\n").is_err());
        assert!(read_list("stage", "file a\n\nname\n- a &&\n+ b\n").is_err());
        assert!(read_list("stage", "file a\n\nname\n- A { .. } => b,\n+ A { .. } => c,\n").is_err());
        assert!(read_list("stage", "file a\n\nname\n- f(|x| match x { A => b });\n").is_ok());
    }

    #[test]
    fn originals_are_whole_words_in_one_place() {
        let text = "fn f() {\n    a + b;\n}\nfn ff() {\n    aa +\n        b;\n}\n";
        let mistake = |function: Option<&str>, original: &str| Mistake {
            function: function.map(str::to_string),
            original: original.to_string(),
            ..Mistake::default()
        };
        assert_eq!(&text[mistake(None, "a + b").place(text).unwrap()], "a + b");
        assert_eq!(&text[mistake(Some("ff"), "aa + b").place(text).unwrap()], "aa +\n        b");
        assert!(mistake(Some("f"), "aa + b").place(text).is_err());
        assert!(mistake(None, "b;").place(text).unwrap_err().contains("2 times"));
    }
}
