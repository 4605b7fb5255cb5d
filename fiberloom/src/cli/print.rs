//! What the command line prints: results, reports, messages.

use super::run::Measured;
use crate::show::report::min_median;
use crate::{Error, Program, data};
use std::io::{ErrorKind, IsTerminal, Write as _};
use std::path::Path;

/// Prints a line, or lines, on standard output. Where its reader has gone away, there is nothing to do, and nothing wrong.
pub fn out(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.trim_end_matches('\n').as_bytes()).and_then(|()| stdout.write_all(b"\n"));
    or_gone(written.and_then(|()| stdout.flush()))
}

/// Where the reader of standard output has gone away, nothing is wrong.
fn or_gone(written: std::io::Result<()>) -> Result<(), Error> {
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(io(Path::new("standard output"), e)),
        _ => Ok(()),
    }
}

/// Prints what a file would hold on standard output.
pub fn bytes(bytes: &[u8]) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    or_gone(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Prints a line, or lines, on standard error; the exit status speaks where nobody can read it.
pub fn err(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Says what is doubtful in a program, where these tensors are given.
pub fn warnings(program: &Program, given: &[&str]) {
    let warnings = program.warnings(given);
    if !warnings.is_empty() {
        err(program.drawn(&warnings, colors()).trim_end());
    }
}

/// Says that a file's extents are those of its largest coordinates.
pub fn largest(name: &str, path: &Path, extents: &[u64]) {
    let extents: Vec<String> = extents.iter().map(u64::to_string).collect();
    let (path, extents) = (path.display(), extents.join(" "));
    err(&format!(
        "fiberloom: note: nothing says the extents of `{name}`: those of the largest coordinates of {path} are taken; \
         the line `# extents {extents}` at its beginning says the same"
    ));
}

/// Whether messages have colors: on a terminal, unless the environment's `NO_COLOR` is something.
fn colors() -> bool {
    let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !none && std::io::stderr().is_terminal()
}

/// An error of the operating system's.
pub fn io(path: &Path, error: std::io::Error) -> Error {
    Error::Data(data::Error {
        file: path.display().to_string(),
        place: data::Place::Whole,
        message: error.to_string(),
        cause: data::Cause::Io,
    })
}

/// The error as it is shown to a person; what has no place in a file begins with the command's name.
pub fn message(error: &Error) -> String {
    match error {
        Error::Program { file, text, diagnostics } | Error::Mismatch { file, text, diagnostics } => {
            fiberloom_front::render(file, text, diagnostics, colors()).trim_end().to_string()
        }
        Error::Missing { file, text, tensors } => {
            fiberloom_front::render(file, text, &crate::show::asked_for(tensors), colors()).trim_end().to_string()
        }
        Error::Data(e) => e.to_string(),
        error => format!("fiberloom: {error}"),
    }
}

/// The times of repeated calls.
pub fn times(measured: &Measured) -> String {
    let (min, median) = min_median(&measured.runs);
    format!("{} calls: {min:.4} ms at best, {median:.4} ms in the median", measured.runs.len())
}
