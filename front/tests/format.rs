//! What formatting keeps, on every program of the repository, as it stands and with comments between all of its words.

use fiberloom_front::{format, parse};
use std::path::{Path, PathBuf};

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => programs(&path, found),
            false if path.extension().is_some_and(|e| e == "loom") => found.push(path),
            false => {}
        }
    }
}

/// The comments of a text: no token of the language has a `#` in it.
fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.find('#').map(|at| line[at..].trim_end())).collect()
}

/// Asserts that the text is formatted without loss, and returns what it becomes; nothing of what cannot be parsed.
#[track_caller]
fn kept(text: &str, place: &str) -> Option<String> {
    let (tree, wrong) = parse(text);
    if !wrong.is_empty() {
        assert!(format(text).is_err(), "{place}");
        return None;
    }
    let once = format(text).unwrap();
    assert_eq!(parse(&once), (tree, Vec::new()), "{place}: another tree\n{once}");
    assert_eq!(comments(&once), comments(text), "{place}: other comments\n{once}");
    assert_eq!(format(&once).unwrap(), once, "{place}: formatted twice");
    assert!(once.lines().all(|l| l == l.trim_end()), "{place}: blanks at the end of a line\n{once}");
    assert!(!once.contains("\n\n\n") && !once.starts_with('\n'), "{place}: empty lines\n{once}");
    Some(once)
}

/// The text with a comment before each of its words, `behind` what is before it or on a line of its own.
fn commented(text: &str, behind: bool) -> String {
    let mut out = String::new();
    let code = |line: &'_ str| line.find('#').map_or(line.len(), |at| at);
    for line in text.lines() {
        for word in line[..code(line)].split_inclusive([' ', ',', '(', ')', '[', ']', '*']) {
            let number = out.len();
            out += &if behind { format!("# {number}\n{word}") } else { format!("\n # {number}\n{word}") };
        }
        out += "\n";
    }
    out
}

#[test]
fn every_program_is_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    programs(&root.join("tests"), &mut found);
    programs(&root.join("examples"), &mut found);
    let mut formatted = 0;
    for path in &found {
        let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let place = path.display().to_string();
        formatted += kept(&text, &place).is_some() as usize;
        for behind in [true, false] {
            kept(&commented(&text, behind), &format!("{place}, with comments"));
        }
    }
    assert!(formatted > 200, "{formatted} of {} programs", found.len());
}
