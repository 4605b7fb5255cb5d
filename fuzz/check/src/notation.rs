//! Programs: what lowering makes of them computes their meaning, and no text and no tree makes any stage panic.
//!
//! ```text
//!  bytes ─┬ case ──────▶ programs of what is lowered, with operands ──engines──▶ meaning = loops = machine code
//!         │   ╰ directed: of a combination that is wanted (legal ──▶ product), counted in the statistics
//!         ├ language ──▶ programs of the whole language, half of them of what is lowered ──engines──▶ the same, or refused
//!         │              by name
//!         └ text ──────▶ programs with their text damaged ──reads_back──▶ read, or refused at places in the text
//! ```
//!
//! Values of a case are chosen so that equality is exact wherever functions keep small numbers so: integers, and small
//! integers as floats. Where they round, the meaning says by how much (`semantics/src/algebra/number.rs`).
pub mod campaign;
pub mod case;
mod device;
pub mod einsum;
pub mod engines;
pub mod extents;
pub mod fitted;
pub mod gradients;
pub mod growth;
pub mod language;
pub mod legal;
pub mod long;
pub mod looped;
pub mod planned;
pub mod product;
pub mod shards;
pub mod shrink;
pub mod statistics;
pub mod subject;
pub mod tables;
pub mod text;
pub mod turned;
pub mod work;

use arbitrary::Unstructured;
use engines::{Engine, Outcome};
use fiberloom_core::notation::Diagnostic;
use language::Written;
use std::path::{Path, PathBuf};
use subject::Subject;

/// The case of these bytes on an engine.
///
/// # Panics
/// If it does not give the meaning's answer: with the case, shrunk.
pub fn attack(bytes: &[u8], engine: Engine) {
    let case = case::case(&mut Unstructured::new(bytes));
    if let Err(finding) = engines::run(&case, engine) {
        let (case, finding) = shrink::shrink(case, finding, engine);
        let kernel = finding.kernel.map_or(String::new(), |k| k.to_string());
        panic!("{}: {}\n{case}\n{kernel}", finding.kind, finding.what)
    }
}

/// How far a text went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// It is a program.
    pub reads: bool,
    /// A well-typed one.
    pub checks: bool,
    /// What is wrong with it, if it is neither.
    pub errors: usize,
}

/// The programs in a folder and its folders, or the one of a path, in the order of their names.
///
/// # Panics
/// If a folder cannot be listed.
pub fn programs_under(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return Vec::from_iter(path.extension().is_some_and(|e| e == "loom").then(|| path.to_path_buf()));
    }
    let entries = std::fs::read_dir(path).expect("it is there");
    let mut entries: Vec<PathBuf> = entries.map(|e| e.expect("it can be listed").path()).collect();
    entries.sort();
    entries.iter().flat_map(|entry| programs_under(entry)).collect()
}

/// Reads a text, checks it if it reads, and reads its print.
///
/// # Panics
/// If the print reads as another program, sums stand elsewhere than the rule says, or an error stands outside of the text:
/// that is the finding, as is any panic of parser, printer or checker.
pub fn reads_back(text: &str) -> Read {
    let (program, wrong) = fiberloom_front::parse(text);
    assert!(program.is_some() || !wrong.is_empty(), "nothing is read, and nothing wrong");
    let Some(program) = program.filter(|_| wrong.is_empty()) else {
        stand_in(text, &wrong);
        return Read { reads: false, checks: false, errors: wrong.len() };
    };
    let printed = program.to_string();
    let (again, wrong) = fiberloom_front::parse(&printed);
    assert!(wrong.is_empty(), "its print does not read: {wrong:?}\n{printed}");
    assert_eq!(again.as_ref(), Some(&program), "its print reads as another program\n{printed}");
    let formatted = fiberloom_front::format(text).expect("it reads");
    assert_eq!(
        fiberloom_front::parse(&formatted).0,
        Some(program.clone()),
        "formatted it is another program\n{formatted}"
    );
    assert_eq!(fiberloom_front::format(&formatted).as_ref(), Ok(&formatted), "formatted twice");
    let checked = fiberloom::relation::check(&program);
    if let Ok(typed) = &checked {
        einsum::by_the_rule(&program, typed).unwrap_or_else(|what| panic!("{what}"));
    }
    let wrong = checked.err().unwrap_or_default();
    stand_in(text, &wrong);
    Read { reads: true, checks: wrong.is_empty(), errors: wrong.len() }
}

/// Errors are about places in the text, and can be shown.
fn stand_in(text: &str, wrong: &[Diagnostic]) {
    for d in wrong {
        for span in d.labels.iter().map(|(span, _)| span).chain([&d.span]) {
            let (start, end) = (span.start as usize, span.end as usize);
            let inside = start <= end && end <= text.len();
            assert!(inside && text.is_char_boundary(start) && text.is_char_boundary(end), "{span:?}: {}", d.message);
        }
        assert!(!d.message.is_empty(), "an error says nothing");
    }
    let shown = fiberloom_front::render("generated", text, wrong, false);
    // Names may be as long as programs, messages are not.
    let begins = |d: &Diagnostic| d.message.lines().next().unwrap_or_default().chars().take(100).collect::<String>();
    assert!(wrong.iter().all(|d| shown.contains(&begins(d))), "{shown}");
}

/// The program of the whole language of these bytes, on every stage up to loops.
///
/// # Panics
/// If it is read as another one, a stage panics, what is refused is not named, or loops do not give the meaning's answer.
pub fn withstand(bytes: &[u8]) -> Outcome {
    let written = Written::any(&mut Unstructured::new(bytes));
    let text = written.to_string();
    let (program, wrong) = fiberloom_front::parse(&text);
    let read = program.filter(|_| wrong.is_empty()).unwrap_or_else(|| panic!("{wrong:?}\n{text}"));
    assert_eq!(read, written.made.program, "{text}");
    engines::run(&written, Engine::Loops).unwrap_or_else(|found| {
        let kernel = found.kernel.map_or(String::new(), |k| k.to_string());
        panic!("{}: {}\n{written}\n{}\n{kernel}", found.kind, found.what, written.data())
    })
}
