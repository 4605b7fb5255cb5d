//! Texts that are damaged, and words: read, or refused in time.

use arbitrary::Unstructured;
use fiberloom_check::bytes;
use fiberloom_check::notation::text::*;
use fiberloom_check::notation::{language, programs_under, reads_back};
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
    let tries = fiberloom_check::Effort::said().of(25, 1);
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
