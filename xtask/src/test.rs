//! `cargo xtask test`: everything that CI runs, in the order in which it is cheapest to fail.
//!
//! Every step runs, whatever the ones before it said; the last lines are the counts of all.

use crate::{cargo, python, tidy};
use std::io::{BufRead, BufReader, PipeReader, Read, Write, stdout};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// How many checks passed and failed.
#[derive(Clone, Copy, Default)]
struct Count {
    passed: u64,
    failed: u64,
}

/// What steps have said so far: their counts, and lines for the end.
#[derive(Default)]
struct Report {
    total: Count,
    summary: Vec<String>,
}

/// A step's name, and its command.
type Step = (&'static str, Command);

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

/// Runs every step and counts. The Python package's run beside the workspace's, which leave a core idle for long: its target directory is
/// another. What they print comes behind all else.
///
/// # Errors
/// If anything failed.
pub fn test() -> Result<(), String> {
    let begin = Instant::now();
    let mut report = Report::default();
    let solver = cargo::links("libz3.so");
    let steps = commands(solver)?;
    let of = 1 + steps.len();
    let no_python = python::missing();
    let beside = no_python.is_none().then(|| thread::spawn(python_steps));
    banner(&mut stdout(), (1, of), "tidy", "cargo xtask tidy");
    let tidied = tidy::check();
    tidied.print();
    report.note("tidy", Count { passed: tidied.checked, failed: tidied.wrong.len() as u64 }, begin);
    for (n, (name, mut command)) in steps.into_iter().enumerate() {
        banner(&mut stdout(), (n + 2, of), name, &cargo::text(&command));
        let since = Instant::now();
        report.note(name, step(&mut command)?, since);
    }
    if let Some(beside) = beside {
        let (text, steps) = beside.join().map_err(|_| "the steps of the Python package panicked")??;
        stdout().write_all(&text).map_err(|e| e.to_string())?;
        report.add(steps);
    }
    if !solver {
        report.summary.push("solver   not run: there is no libz3 (Debian: libz3-dev)".to_string());
    }
    if let Some(what) = no_python {
        report.summary.push(format!("python   not run: {what}"));
    }
    let Report { total, summary } = report;
    println!("\n{}", summary.join("\n"));
    println!("{} passed, {} failed in {} s", total.passed, total.failed, begin.elapsed().as_secs());
    if total.failed == 0 { Ok(()) } else { Err("not everything passed".to_string()) }
}

/// The workspace's steps but for the first.
fn commands(solver: bool) -> Result<Vec<Step>, String> {
    let command = |(name, args): &(&'static str, &[&str])| {
        let mut command = cargo::cargo()?;
        for arg in *args {
            command.arg(arg);
            if *arg == "--workspace" && !solver {
                command.args(["--exclude", SOLVER]);
            }
        }
        command.env("RUSTDOCFLAGS", "-D warnings");
        Ok((*name, command))
    };
    STEPS.iter().map(command).collect()
}

/// Runs the Python package's steps: what they print, and say.
fn python_steps() -> Result<(Vec<u8>, Report), String> {
    let (mut text, mut report) = (vec![], Report::default());
    match python::steps() {
        Err(what) => {
            report.total.failed += 1;
            report.summary.push(format!("python   failed: no environment for its tests could be made: {what}"));
        }
        Ok(steps) => {
            let of = steps.len();
            for (n, mut command) in steps.into_iter().enumerate() {
                banner(&mut text, (n + 1, of), "python", &cargo::text(&command));
                let since = Instant::now();
                report.note("python", step_into(&mut command, &mut text)?, since);
            }
        }
    }
    Ok((text, report))
}

impl Report {
    /// Notes what a step has counted since it began.
    fn note(&mut self, name: &str, count: Count, since: Instant) {
        self.total.passed += count.passed;
        self.total.failed += count.failed;
        let seconds = since.elapsed().as_secs();
        self.summary.push(format!("{name:<8} {:>5} passed {:>3} failed  {seconds:>4} s", count.passed, count.failed));
    }

    fn add(&mut self, other: Report) {
        self.total.passed += other.total.passed;
        self.total.failed += other.total.failed;
        self.summary.extend(other.summary);
    }
}

fn banner(to: &mut dyn Write, (number, of): (usize, usize), name: &str, command: &str) {
    // Nothing is lost where it is not printed.
    let _ = writeln!(to, "\n[{number}/{of}] {name}: {command}");
}

/// Runs one command, passes its output on, and adds up the closing lines of the test runners in it. A command without
/// such lines counts as one check.
fn step(command: &mut Command) -> Result<Count, String> {
    followed(command.stdout(Stdio::piped()), None, &mut stdout())
}

/// The same of a command whose output, errors too, is kept.
fn step_into(command: &mut Command, to: &mut Vec<u8>) -> Result<Count, String> {
    let (from, into) = std::io::pipe().map_err(|e| e.to_string())?;
    let errors = into.try_clone().map_err(|e| e.to_string())?;
    followed(command.stdout(into).stderr(errors), Some(from), to)
}

/// Runs a command and reads what it prints, from a pipe or its standard output.
fn followed(command: &mut Command, from: Option<PipeReader>, to: &mut dyn Write) -> Result<Count, String> {
    let shown = cargo::text(command);
    let mut child = command.spawn().map_err(|e| format!("{shown}: {e}"))?;
    // The ends of the pipe that are ours: reading ends when the command's are closed.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let output: Box<dyn Read> = match (from, child.stdout.take()) {
        (Some(from), _) => Box::new(from),
        (None, output) => Box::new(output.expect("it was piped")),
    };
    let mut count = Count::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.map_err(|e| format!("{shown}: {e}"))?;
        let line = String::from_utf8_lossy(&line);
        writeln!(to, "{line}").map_err(|e| format!("{shown}: {e}"))?;
        if let Some(closing) = closing_line(&line) {
            count.passed += closing.passed;
            count.failed += closing.failed;
        }
    }
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
    use super::*;

    /// Both streams are kept, in order, and a failure is counted.
    #[test]
    fn output_is_kept() {
        let mut text = vec![];
        let mut command = Command::new("sh");
        command
            .args(["-c", "echo one; echo two >&2; echo 'test result: FAILED. 3 passed; 2 failed; 0 ignored'; exit 1"]);
        let count = step_into(&mut command, &mut text).unwrap();
        assert_eq!((count.passed, count.failed), (3, 2));
        assert!(text.starts_with(b"one\ntwo\n"), "{}", String::from_utf8_lossy(&text));
        let count = step_into(&mut Command::new("false"), &mut text).unwrap();
        assert_eq!((count.passed, count.failed), (0, 1));
    }

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
