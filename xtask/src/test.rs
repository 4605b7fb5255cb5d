//! `cargo xtask test`: everything that CI runs, in the order in which it is cheapest to fail.
//!
//! Every step runs, whatever the ones before it said; the last lines are the counts of all.

use crate::{cargo, python, tidy};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

/// How many checks passed and failed.
#[derive(Clone, Copy, Default)]
struct Count {
    passed: u64,
    failed: u64,
}

/// The steps that are cargo commands: a name, and its arguments.
const STEPS: &[(&str, &[&str])] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ("pages", &["doc", "--workspace", "--no-deps", "--quiet"]),
    // Unit tests, laws, file tests, conformance, errors, and the fuzz targets' bodies on fixed seeds.
    ("tests", &["test", "--workspace", "--no-fail-fast"]),
];

/// The member that links the solver's library: the laws that are asked of a solver.
const SOLVER: &str = "fiberloom-smt";

/// Runs every step and counts.
///
/// # Errors
/// If anything failed.
pub fn test() -> Result<(), String> {
    let begin = Instant::now();
    let mut total = Count::default();
    let mut summary = Vec::new();
    let solver = cargo::links("libz3.so");
    let mut commands = Vec::new();
    for (name, args) in STEPS {
        let mut command = cargo::cargo()?;
        for arg in *args {
            command.arg(arg);
            if *arg == "--workspace" && !solver {
                command.args(["--exclude", SOLVER]);
            }
        }
        command.env("RUSTDOCFLAGS", "-D warnings");
        commands.push((*name, command));
    }
    let no_python = python::missing();
    let python = if no_python.is_none() { python::steps() } else { Ok(Vec::new()) };
    let no_environment = python.as_ref().err().cloned();
    commands.extend(python.into_iter().flatten().map(|command| ("python", command)));
    let steps = commands.len() + 1;
    banner(1, steps, "tidy", "cargo xtask tidy");
    let mut report = |name: &str, count: Count, since: Instant| {
        total.passed += count.passed;
        total.failed += count.failed;
        let seconds = since.elapsed().as_secs();
        summary.push(format!("{name:<8} {:>5} passed {:>3} failed  {seconds:>4} s", count.passed, count.failed));
    };
    let tidied = tidy::check();
    tidied.print();
    report("tidy", Count { passed: tidied.checked, failed: tidied.wrong.len() as u64 }, begin);
    for (i, (name, mut command)) in commands.into_iter().enumerate() {
        let since = Instant::now();
        banner(i + 2, steps, name, &cargo::text(&command));
        report(name, step(&mut command)?, since);
    }
    if !solver {
        summary.push("solver   not run: there is no libz3 (Debian: libz3-dev)".to_string());
    }
    if let Some(what) = no_python {
        summary.push(format!("python   not run: {what}"));
    }
    if let Some(what) = no_environment {
        total.failed += 1;
        summary.push(format!("python   failed: no environment for its tests could be made: {what}"));
    }
    println!("\n{}", summary.join("\n"));
    println!("{} passed, {} failed in {} s", total.passed, total.failed, begin.elapsed().as_secs());
    if total.failed == 0 { Ok(()) } else { Err("not everything passed".to_string()) }
}

fn banner(number: usize, of: usize, name: &str, command: &str) {
    println!("\n[{number}/{of}] {name}: {command}");
}

/// Runs one command, passes its output on, and adds up the closing lines of the test runners in it. A command without
/// such lines counts as one check.
fn step(command: &mut Command) -> Result<Count, String> {
    let shown = cargo::text(command);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{shown}: {e}"))?;
    let mut count = Count::default();
    let output = child.stdout.take().expect("it was piped");
    for line in BufReader::new(output).split(b'\n') {
        let line = line.map_err(|e| format!("{shown}: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if let Some(closing) = closing_line(&line) {
            count.passed += closing.passed;
            count.failed += closing.failed;
        }
    }
    let _ = std::io::stdout().flush();
    let status = child.wait().map_err(|e| format!("{shown}: {e}"))?;
    match (status.success(), count) {
        (true, Count { passed: 0, .. }) => count.passed = 1,
        // Killed, or it did not compile: no runner closed with a failure.
        (false, Count { failed: 0, .. }) => count.failed = 1,
        _ => {}
    }
    Ok(count)
}

/// Reads `test result: ok. 12 passed; 0 failed; …`, and pytest's `1 failed, 12 passed in 3.45s`.
fn closing_line(line: &str) -> Option<Count> {
    if let Some(counts) = pytests(line) {
        return Some(counts);
    }
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number = |what: &str| -> Option<u64> {
        counts.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse().ok())
    };
    Some(Count { passed: number("passed")?, failed: number("failed")? })
}

/// The closing line of pytest: counts with their words, and how long it took.
fn pytests(line: &str) -> Option<Count> {
    let (counts, time) = line.trim_matches(['=', ' ']).split_once(" in ")?;
    let is_time =
        time.split_whitespace().next().and_then(|t| t.strip_suffix('s')).is_some_and(|t| t.parse::<f64>().is_ok());
    let mut count = is_time.then_some(Count::default())?;
    for part in counts.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word {
            "passed" | "xfailed" => count.passed += number,
            "failed" | "error" | "errors" | "xpassed" => count.failed += number,
            _ => {}
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::closing_line;

    #[test]
    fn closing_lines_of_pytest_are_read() {
        let count = closing_line("== 1 failed, 136 passed, 2 skipped, 1 error in 8.00s (0:00:08) ==").unwrap();
        assert_eq!((count.passed, count.failed), (136, 2));
        assert!(closing_line("what stands in order").is_none());
        assert!(closing_line("3 errors in here").is_none());
    }

    #[test]
    fn closing_lines_are_read() {
        let count =
            closing_line("test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out").unwrap();
        assert_eq!((count.passed, count.failed), (12, 3));
        assert!(closing_line("test spmv ... ok").is_none());
    }
}
