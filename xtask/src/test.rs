//! `cargo xtask test`: everything that CI runs.
//!
//! ```text
//!  tidy, format ─▶ build, lints ─▶ tests, pages                               one build: lints, tests and Python's extension share it
//!        Python's environment   └▶ pytest, other projects' tests, unit tests                                         beside the others
//! ```
//!
//! `--quick` tries little and leaves out what takes long; `--long` tries everything, and then the page in a browser. Every step runs,
//! whatever the ones before it said; the last lines are what was not run, and the counts of all.

use crate::{cargo, play, python, tidy};
use std::io::{BufRead, BufReader, PipeReader, Read, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    Quick,
    Usual,
    Long,
}

impl Effort {
    /// The words that tests read in [`EFFORT`].
    fn word(self) -> &'static str {
        match self {
            Effort::Quick => "quick",
            Effort::Usual => "usual",
            Effort::Long => "long",
        }
    }
}

/// The variable by which tests are told how much to try.
const EFFORT: &str = "FIBERLOOM_TESTS";

/// How many checks passed and failed.
#[derive(Clone, Copy, Default)]
struct Count {
    passed: u64,
    failed: u64,
}

/// What steps have said so far: their counts, lines for the end, and what was not run.
#[derive(Default)]
struct Report {
    total: Count,
    summary: Vec<String>,
    left_out: Vec<String>,
}

/// A step's name, and its command.
type Step = (&'static str, Command);

/// The member that links the solver's library: the laws that are asked of a solver.
const SOLVER: &str = "fiberloom-smt";

/// Programs that single tests call, and what is not tried where they are missing.
const CALLED: [(&str, &str); 6] = [
    ("coqc", "the proofs in Coq (Debian: coq)"),
    ("cc", "kernels in C programs (Debian: gcc)"),
    ("c++", "kernels in C++ programs (Debian: g++)"),
    ("groff", "the manual page's form (Debian: groff)"),
    ("bash", "completions (Debian: bash)"),
    ("ptxas", "kernels for GPUs, assembled (PyPI: nvidia-cuda-nvcc-cu12)"),
];

/// Runs every step and counts. `arguments` are none, `--quick` or `--long`.
///
/// # Errors
/// If anything failed, or the arguments are others.
pub fn test(arguments: &[&str]) -> Result<(), String> {
    let effort = match arguments {
        [] => Effort::Usual,
        ["--quick"] => Effort::Quick,
        ["--long"] => Effort::Long,
        _ => return Err("usage: cargo xtask test [--quick | --long]".to_string()),
    };
    let begin = Instant::now();
    // Asked before the build, which puts another file in its place.
    let this = std::env::current_exe().map_err(|e| format!("this program: {e}"))?;
    let mut report = Report::default();
    let members = Members::found(effort, &mut report);
    let environment = members.python.then(|| thread::spawn(python::kept_environment));

    banner(&mut stdout(), "tidy", "cargo xtask tidy");
    let tidied = tidy::check();
    tidied.print();
    report.note("tidy", Count { passed: tidied.checked, failed: tidied.wrong.len() as u64 }, begin);
    report.run("format", &mut members.command(&["fmt", "--all", "--check"])?)?;
    report.run(
        "build",
        members.command(&["build", "--lib", "--bins", "--tests", "--examples", "--quiet"])?.env(EFFORT, effort.word()),
    )?;

    let environment = environment.map(|made| made.join().map_err(|_| "the environment of the Python package panicked"));
    let environment = environment.transpose()?.transpose()?;
    let with_effort = |mut command: Command| {
        command.env(EFFORT, effort.word());
        if let Some(environment) = &environment {
            command.env("FIBERLOOM_PYTHON", python::interpreter(environment));
        }
        command
    };
    let beside = Beside {
        environment: environment.clone(),
        units: with_effort(members.units()?),
        page: members.page.then(|| this.clone()),
        effort,
    };
    let beside = thread::spawn(move || beside.run());
    for (name, command) in members.tests(effort, &this)? {
        report.run(name, &mut with_effort(command))?;
    }
    let (text, steps) = beside.join().map_err(|_| "the steps beside the tests panicked")??;
    stdout().write_all(&text).map_err(|e| e.to_string())?;
    report.add(steps);
    // Behind all else: the page is held to times.
    if members.page {
        report.run("browser", &mut play::browser())?;
    }
    report.close(effort, begin)
}

/// Which members of the workspace are tried here.
struct Members {
    solver: bool,
    python: bool,
    /// The page of the playground, in a browser.
    page: bool,
}

impl Members {
    /// All that this machine has libraries for, and that the effort allows; what is left out is noted.
    fn found(effort: Effort, report: &mut Report) -> Members {
        let mut left = |name: &str, why: Option<String>| {
            let is_in = why.is_none();
            report.left_out.extend(why.map(|why| format!("{name}: {why}")));
            is_in
        };
        let quick = (effort == Effort::Quick).then(|| "left out by --quick".to_string());
        let no_solver = (!cargo::links("libz3.so")).then(|| "there is no libz3 (Debian: libz3-dev)".to_string());
        let solver = left("laws asked of a solver", quick.clone().or(no_solver));
        let python = left("the Python package", quick.or_else(python::missing));
        // Its compiler is another build of the workspace, for another machine.
        let not_long = (effort != Effort::Long).then(|| "only `--long` builds it".to_string());
        let page = left("the page in a browser", not_long.or_else(play::missing));
        for (program, what) in CALLED {
            if Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
                left(what, Some(format!("there is no `{program}`")));
            }
        }
        Members { solver, python, page }
    }

    /// A command of cargo over these members. All compile through the driver of lints, which makes the same code: so lints and tests
    /// share one build.
    fn command(&self, words: &[&str]) -> Result<Command, String> {
        let mut command = cargo::cargo()?;
        command.args(words);
        if words[0] == "fmt" {
            return Ok(command);
        }
        command.arg("--workspace");
        for (is_in, member) in [(self.solver, SOLVER), (self.python, python::PACKAGE)] {
            if !is_in {
                command.args(["--exclude", member]);
            }
        }
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env("CLIPPY_ARGS", cargo::lints(&["-D", "warnings"]));
        Ok(command)
    }

    /// Tests in the sources, and the fuzz targets' bodies on fixed seeds.
    fn units(&self) -> Result<Command, String> {
        self.command(&["test", "--no-fail-fast", "--lib", "--bins"])
    }

    /// What runs when all is built: laws, file tests, conformance, errors; examples of pages, behind the pages themselves, which `this`
    /// program makes.
    fn tests(&self, effort: Effort, this: &Path) -> Result<Vec<Step>, String> {
        let tests = self.command(&["test", "--no-fail-fast", "--test", "*"])?;
        let mut pages = self.command(&["test", "--no-fail-fast", "--doc"])?;
        if effort != Effort::Quick {
            pages.env("RUSTDOC", this).env(crate::pages::REAL, "rustdoc");
        }
        Ok(vec![("tests", tests), ("pages", pages)])
    }
}

/// What runs beside the tests, one step after the other.
struct Beside {
    /// Where the Python package is tried, if it is.
    environment: Option<PathBuf>,
    /// Tests in the sources.
    units: Command,
    /// This program, which builds the page, if that is tried. One thread does most of it.
    page: Option<PathBuf>,
    effort: Effort,
}

impl Beside {
    /// What the steps print, and say.
    fn run(mut self) -> Result<(Vec<u8>, Report), String> {
        let (mut text, mut report) = (vec![], Report::default());
        let long = self.effort == Effort::Long;
        match self.environment.map_or(Ok(vec![]), |environment| python::steps(&environment, long)) {
            Err(what) => {
                report.total.failed += 1;
                report.summary.push(format!("python   failed: {what}"));
            }
            Ok(steps) => {
                for mut command in steps {
                    command.env(EFFORT, self.effort.word());
                    report.run_into("python", &mut command, &mut text)?;
                }
            }
        }
        report.run_into("units", &mut self.units, &mut text)?;
        if let Some(this) = self.page {
            report.run_into("page", Command::new(this).args(["play", "--build"]), &mut text)?;
        }
        Ok((text, report))
    }
}

impl Report {
    /// Runs a step and notes what it has counted.
    fn run(&mut self, name: &str, command: &mut Command) -> Result<(), String> {
        banner(&mut stdout(), name, &cargo::text(command));
        let since = Instant::now();
        let count = step(command)?;
        self.note(name, count, since);
        Ok(())
    }

    /// The same of a step whose output is kept.
    fn run_into(&mut self, name: &str, command: &mut Command, text: &mut Vec<u8>) -> Result<(), String> {
        banner(text, name, &cargo::text(command));
        let since = Instant::now();
        let count = step_into(command, text)?;
        self.note(name, count, since);
        Ok(())
    }

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

    /// Prints what was not run, and the counts.
    fn close(self, effort: Effort, begin: Instant) -> Result<(), String> {
        let Report { total, summary, mut left_out } = self;
        if effort != Effort::Long {
            left_out.push(
                "the longer walks, all laws of the solver, the wheel as it is given away: `cargo xtask test --long`"
                    .to_string(),
            );
        }
        println!("\n{}", summary.join("\n"));
        for what in left_out {
            println!("not run  {what}");
        }
        println!("{} passed, {} failed in {} s", total.passed, total.failed, begin.elapsed().as_secs());
        if total.failed == 0 { Ok(()) } else { Err("not everything passed".to_string()) }
    }
}

fn banner(to: &mut dyn Write, name: &str, command: &str) {
    // Nothing is lost where it is not printed.
    let _ = writeln!(to, "\n[{name}] {command}");
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
