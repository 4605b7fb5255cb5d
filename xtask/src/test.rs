//! `cargo xtask test`: everything that CI runs.
//!
//! ```text
//!  tidy, format ─▶ build, lints ─▶ pytest ─▶ other projects' tests            one build: lints, tests and Python's extension share it
//!        Python's environment   ├▶ test programs, pages, one by one           as many at once as there are processors
//! ```
//!
//! `--quick` tries little and leaves out what takes long; `--long` tries everything, and then the page in a browser. Every step runs,
//! whatever the ones before it said; the last lines are what was not run, and the counts of all.

use crate::programs::{Program, at_once};
use crate::{cargo, play, python, tidy};
use std::io::{BufRead, BufReader, PipeReader, Read, Write, stdout};
use std::ops::Add;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

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

impl Add for Count {
    type Output = Count;

    fn add(self, other: Count) -> Count {
        Count { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

/// What steps have said so far: of each name its counts and how long its steps took together, and what was not run.
#[derive(Default)]
struct Report {
    steps: Vec<(String, Count, Duration)>,
    left_out: Vec<String>,
}

/// The member that links the solver's library: the laws that are asked of a solver.
const SOLVER: &str = "fiberloom-smt";

/// Programs that single tests call, and what is not tried where they are missing.
const CALLED: [(&str, &str); 5] = [
    ("coqc", "the proofs in Coq (Debian: coq)"),
    ("cc", "kernels in C programs (Debian: gcc)"),
    ("c++", "kernels in C++ programs (Debian: g++)"),
    ("groff", "the manual page's form (Debian: groff)"),
    ("bash", "completions (Debian: bash)"),
];

/// NVIDIA's assembler, which Python's environment has too, and the variable by which tests are told where it is.
const ASSEMBLER: (&str, &str) = ("ptxas", "FIBERLOOM_PTXAS");

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
    let programs = report.build(members.build()?.env(EFFORT, effort.word()))?;

    let environment = environment.map(|made| made.join().map_err(|_| "the environment of the Python package panicked"));
    let environment = environment.transpose()?.transpose()?;
    let tasks = members.tasks(effort, &this, environment.as_deref(), programs)?;
    let report = Mutex::new(report);
    at_once(tasks, |task| task.run(&report));
    let mut report = report.into_inner().map_err(|_| "a task panicked")?;
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
    /// Whether tests find NVIDIA's assembler by themselves.
    assembler: bool,
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
        for (program, what) in CALLED.iter().filter(|(program, _)| !is_called(program)) {
            left(what, Some(format!("there is no `{program}`")));
        }
        let assembler = is_called(ASSEMBLER.0) || std::env::var_os(ASSEMBLER.1).is_some();
        if !assembler && !python {
            left(
                "kernels for GPUs, assembled",
                Some(format!("there is no `{}`, nor Python's environment", ASSEMBLER.0)),
            );
        }
        Members { solver, python, page, assembler }
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

    /// Builds all, and says what it made.
    fn build(&self) -> Result<Command, String> {
        let words = ["build", "--lib", "--bins", "--tests", "--examples", "--quiet"];
        let mut command = self.command(&words)?;
        command.arg("--message-format=json-render-diagnostics");
        Ok(command)
    }

    /// What runs when all is built: the Python package in its environment; laws, file tests, conformance, errors, and tests in the sources;
    /// examples of pages, behind the pages themselves, which `this` program makes.
    fn tasks(
        &self,
        effort: Effort,
        this: &Path,
        environment: Option<&Path>,
        mut programs: Vec<Program>,
    ) -> Result<Vec<Task>, String> {
        let mut tasks = Vec::new();
        if let Some(environment) = environment {
            let steps = python::steps(environment, effort == Effort::Long);
            tasks.push(Task { name: "python", steps });
        }
        programs.sort_by_key(Program::place);
        for program in programs {
            let name = if program.is_of_sources { "units" } else { "tests" };
            tasks.push(Task { name, steps: Ok(vec![program.command()?]) });
        }
        let mut pages = self.command(&["test", "--no-fail-fast", "--doc"])?;
        if effort != Effort::Quick {
            pages.env("RUSTDOC", this).env(crate::pages::REAL, "rustdoc");
        }
        tasks.push(Task { name: "pages", steps: Ok(vec![pages]) });
        if self.page {
            let mut page = Command::new(this);
            page.args(["play", "--build"]);
            tasks.push(Task { name: "page", steps: Ok(vec![page]) });
        }
        for command in tasks.iter_mut().flat_map(|task| task.steps.iter_mut().flatten()) {
            command.env(EFFORT, effort.word()).env(ONE_THREAD.0, ONE_THREAD.1);
            if let Some(environment) = environment {
                command.env("FIBERLOOM_PYTHON", python::interpreter(environment));
                if !self.assembler {
                    command.env(ASSEMBLER.1, python::assembler(environment)?);
                }
            }
        }
        Ok(tasks)
    }
}

/// Whether a program can be called.
fn is_called(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// What tells a test program to run its tests one by one: other programs run meanwhile.
const ONE_THREAD: (&str, &str) = ("RUST_TEST_THREADS", "1");

/// Commands, one after the other, or why there are none.
struct Task {
    name: &'static str,
    steps: Result<Vec<Command>, String>,
}

impl Task {
    /// Runs them, prints what they print as a whole, and notes what they have counted.
    fn run(self, report: &Mutex<Report>) {
        let (mut text, mut own) = (vec![], Report::default());
        let ran = self
            .steps
            .and_then(|mut steps| steps.iter_mut().try_for_each(|step| own.run_into(self.name, step, &mut text)));
        if let Err(what) = ran {
            let _ = writeln!(text, "{}: {what}", self.name);
            own.note(self.name, Count { passed: 0, failed: 1 }, Instant::now());
        }
        // Nothing is lost where it is not printed, and nobody panics who has the report.
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stdout().write_all(&text);
        report.add(own);
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

    /// Runs a build, and gives the test programs that it made.
    fn build(&mut self, command: &mut Command) -> Result<Vec<Program>, String> {
        let shown = cargo::text(command);
        banner(&mut stdout(), "build", &shown);
        let since = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{shown}: {e}"))?;
        let messages = BufReader::new(child.stdout.take().expect("it was piped"));
        let programs = messages.lines().map_while(Result::ok).filter_map(|line| Program::made(&line)).collect();
        let is_built = child.wait().map_err(|e| format!("{shown}: {e}"))?.success();
        self.note("build", Count { passed: is_built.into(), failed: (!is_built).into() }, since);
        Ok(programs)
    }

    /// Notes what a step has counted since it began.
    fn note(&mut self, name: &str, count: Count, since: Instant) {
        self.add(Report { steps: vec![(name.to_string(), count, since.elapsed())], left_out: vec![] });
    }

    fn add(&mut self, other: Report) {
        for (name, count, time) in other.steps {
            let known = self.steps.iter().position(|(known, ..)| *known == name).unwrap_or(self.steps.len());
            if known == self.steps.len() {
                self.steps.push((name, Count::default(), Duration::ZERO));
            }
            let (_, so_far, took) = &mut self.steps[known];
            *so_far = *so_far + count;
            *took += time;
        }
    }

    /// Prints what was not run, and the counts.
    fn close(self, effort: Effort, begin: Instant) -> Result<(), String> {
        let Report { steps, mut left_out } = self;
        let total = steps.iter().fold(Count::default(), |total, (_, count, _)| total + *count);
        if effort != Effort::Long {
            left_out.push(
                "the longer walks, all laws of the solver, the wheel as it is given away: `cargo xtask test --long`"
                    .to_string(),
            );
        }
        println!();
        for (name, count, took) in &steps {
            println!("{name:<8} {:>5} passed {:>3} failed  {:>4} s", count.passed, count.failed, took.as_secs());
        }
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
