//! Sums that are not written stand where the rule of the language says.

use arbitrary::Unstructured;
use fiberloom::relation::check;
use fiberloom_check::bytes;
use fiberloom_check::notation::case::{case, directed};
use fiberloom_check::notation::einsum::*;
use fiberloom_check::notation::programs_under;
use fiberloom_check::notation::{language, product};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::syntax::{self, Item};
use fiberloom_passes::check::undeclared;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn read(text: &str) -> Option<syntax::Program> {
    let (program, wrong) = fiberloom_front::parse(text);
    program.filter(|_| wrong.is_empty())
}

/// How many programs check, and how many hold each short form.
#[derive(Default)]
struct Seen {
    programs: u64,
    words: BTreeMap<&'static str, u64>,
}

impl Seen {
    fn program(&mut self, syntax: &syntax::Program) {
        let Ok(typed) = check(syntax) else { return };
        let words = by_the_rule(syntax, &typed).unwrap_or_else(|what| panic!("{what}"));
        self.programs += 1;
        words.into_iter().for_each(|word| *self.words.entry(word).or_default() += 1);
    }

    /// That each short form was met, so often at least.
    fn meets(&self, words: &[&str], least: u64) {
        for word in words {
            let seen = self.words.get(word).copied().unwrap_or(0);
            assert!(seen >= least, "`{word}` {seen} times in {} programs: {:?}", self.programs, self.words);
        }
    }
}

const WORDS: [&str; 11] = [
    "=",
    "+=",
    "f=",
    "several terms",
    "a sum within a term",
    "several variables",
    "beside a fold",
    "beside a count",
    "beside a shape operator",
    "above a block",
    "below other places",
];

#[test]
fn sums_of_the_whole_language_stand_where_the_rule_says() {
    let mut seen = Seen::default();
    let seeds = fiberloom_check::Effort::said().of(600, 200);
    for seed in 0..seeds {
        let bytes = bytes(seed, 1500);
        let u = &mut Unstructured::new(&bytes);
        let made = if seed % 2 == 0 { language::program(u, 0) } else { language::lowered(u) };
        seen.program(&made.program);
    }
    println!("{} check: {:?}", seen.programs, seen.words);
    if !fiberloom_check::Effort::said().is_sample() {
        assert!(seen.programs > 350 * seeds / 600, "{}", seen.programs);
        seen.meets(&WORDS, if seeds < 600 { 1 } else { 5 });
    }
}

#[test]
fn sums_of_cases_stand_where_the_rule_says() {
    let mut seen = Seen::default();
    for (seed, wanted) in product::all().step_by(1009).enumerate() {
        let bytes = bytes(seed as u64, 2000);
        let directed = directed(&mut Unstructured::new(&bytes), &wanted);
        let drawn = case(&mut Unstructured::new(&bytes));
        for case in [directed, drawn] {
            seen.program(&read(&case.to_string()).expect("generated programs can be read"));
        }
    }
    println!("{} check: {:?}", seen.programs, seen.words);
    assert!(seen.programs > 1000, "{}", seen.programs);
    seen.meets(&["=", "+=", "f=", "several terms", "several variables", "beside a fold", "above a block"], 20);
}

/// A program that reads tensors without declaring them is one that declares them: their sums are the same.
fn declaring(mut program: syntax::Program) -> syntax::Program {
    for (n, read) in undeclared(&program).into_iter().enumerate() {
        let span = read.name.span;
        let size = |m| syntax::Size::Name(syntax::Ident { name: format!("size_{n}_{m}"), span });
        let sizes = (0..read.rank).map(size).collect();
        let tensor =
            syntax::Tensor { name: read.name, sort: syntax::Sort::Plain(Type::F64), sizes, fill: None, format: None };
        program.items.insert(0, Item::Tensor(tensor));
    }
    program
}

/// Every file test, conformance case, example and benchmark that reads.
#[test]
fn sums_of_files_stand_where_the_rule_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files: Vec<PathBuf> =
        ["examples", "tests", "bench"].iter().flat_map(|folder| programs_under(&root.join(folder))).collect();
    let mut seen = Seen::default();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("text");
        read(&text).into_iter().for_each(|program| seen.program(&declaring(program)));
    }
    println!("{} of {} files check: {:?}", seen.programs, files.len(), seen.words);
    assert!(seen.programs > 350, "{} of {}", seen.programs, files.len());
    seen.meets(&WORDS[..4], 3);
}
