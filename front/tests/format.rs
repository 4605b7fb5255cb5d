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

#[track_caller]
fn becomes(text: &str, expected: &str) {
    let once = format(text).unwrap();
    assert_eq!(once, expected);
    assert_eq!(format(&once).unwrap(), once, "twice");
}

#[test]
fn a_program_is_printed_with_its_comments() {
    becomes(
        "\n\n# y = A x\n#and more \n\n\ntensor A:f64[I,J] csr   tensor x : f64 [J] dense # both\ny[i]=(A[i, j])*x[j]#end",
        "# y = A x\n#and more\n\ntensor A: f64[I, J] csr\ntensor x: f64[J] dense  # both\ny[i] = A[i,j] * x[j]    # end\n"
            .replace("# end", "#end")
            .as_str(),
    );
    becomes("", "");
    becomes("# alone", "# alone\n");
    becomes("\n \n", "");
    becomes("s[] = 1\n\n\n# last\n\n", "s[] = 1\n\n# last\n");
}

#[test]
fn breaks_inside_a_statement_are_kept() {
    becomes(
        "y[i] = a[i] # first\n  + sum(j:\nb[i,j] # inside\n # own\n)\nwhere { t[i]=1 # local\n# at the end\n}\nschedule {\nnone;\n}",
        "y[i] = a[i]  # first\n  + sum(j:\n  b[i,j]  # inside\n  # own\n  )\nwhere {\n  t[i] = 1  # local\n  # at the end\n}\nschedule {\n  none;\n}\n",
    );
}

#[test]
fn functions_are_printed_with_their_comments() {
    becomes(
        "fn f(x: i64) -> i64 { # begins\nlet a = x; while a > 3 { a = a - (1); } # loops\n\n# the value\na } where commutative,\nassociative # both",
        "fn f(x: i64) -> i64 {  # begins\n  let a = x;\n  while a > 3 {\n    a = a - 1;\n  }  # loops\n\n  # the value\n  a\n} where commutative,\n  associative  # both\n",
    );
}

#[test]
fn parentheses_come_and_go_around_comments() {
    becomes("y[] = ((1 # one\n)) # two\n+ (2)", "y[] = 1  # one\n  # two\n  + 2\n");
    becomes("y[] = - -1 # one\n", "y[] = -(-1)  # one\n");
    becomes("y[] = (a[] + b[]) * (c[]) # end", "y[] = (a[] + b[]) * c[]  # end\n");
}

#[test]
fn what_cannot_be_parsed_is_not_formatted() {
    assert_eq!(format("y[i] =").unwrap_err().len(), 1);
}
