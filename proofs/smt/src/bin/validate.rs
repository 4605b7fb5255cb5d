//! Rewrites of generated programs and of file tests, validated by a solver.
//!
//! ```text
//! cargo run --release --bin validate -- --programs 100 --seed 1 --seconds 600
//! cargo run --release --bin validate -- --files ../../tests
//! ```
//!
//! `--budget N` gives each pair of kernels N seconds, five if it is not said; `--seconds N` begins no program after so long;
//! `--files PATH` validates a file test, or all in a folder and its folders, and generates none unless `--programs` says so;
//! `--only NAME` validates rewrites whose names begin so; `--each yes` says how long each program took, and of which pairs nothing is known. Exit status 1 if
//! a rewrite is refuted.

use fiberloom_check::notation::programs_under;
use fiberloom_smt::rewrites::path::Budget;
use fiberloom_smt::rewrites::programs::Program;
use fiberloom_smt::rewrites::tally::Tally;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str =
    "there are --programs N, --seed N, --seconds N, --budget N, --files PATH, --only NAME, --each yes|no";

fn main() -> ExitCode {
    let (mut programs, mut seed, mut time, mut files) = (None, 0, Duration::MAX, None);
    let (mut budget, mut only, mut each) = (Budget::default(), String::new(), false);
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().unwrap_or_default();
        match (name.as_str(), value.parse::<u64>()) {
            ("--programs", Ok(n)) => programs = Some(n),
            ("--seed", Ok(n)) => seed = n,
            ("--seconds", Ok(n)) => time = Duration::from_secs(n),
            ("--budget", Ok(n)) => budget.time = Duration::from_secs(n),
            ("--files", _) => files = Some(PathBuf::from(value)),
            ("--only", _) => only = value,
            ("--each", _) => each = value == "yes",
            _ => {
                eprintln!("`{name} {value}`: {USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    let begun = Instant::now();
    let mut tally = Tally::default();
    let files = files.map_or(vec![], |path| programs_under(&path));
    let generated = programs.unwrap_or(if files.is_empty() { 100 } else { 0 });
    let made = (seed..seed + generated).map(|seed| Program::generated(seed).ok_or("not generated"));
    for program in files.iter().map(|path| Program::of_file(path)).chain(made) {
        if begun.elapsed() >= time {
            break;
        }
        match program {
            Ok(program) => {
                let now = Instant::now();
                tally.program(&program, &only, budget);
                if each {
                    println!("{:8.2?} {}", now.elapsed(), program.name.lines().next().unwrap_or_default());
                }
            }
            Err(why) => tally.left(why),
        }
    }
    println!("{tally}");
    for (name, rewrite, gave) in tally.unknown.iter().filter(|_| each) {
        println!("{gave:?} {rewrite}: {}", name.lines().next().unwrap_or_default());
    }
    if tally.refuted.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
