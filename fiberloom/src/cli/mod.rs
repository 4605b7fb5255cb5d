//! The command line: `docs/language.md` and `fiberloom help` say what it takes.
//!
//! ```text
//!  arguments ──args──▶ Command ──▶ run | show | check | build ──▶ exit status, by Error::exit
//! ```
//!
//! Results and stages go to standard output, messages to standard error.
mod args;
mod print;
mod run;
mod schedule;
mod show;

use args::Command;
use fiberloom::{Error, Program};
use fiberloom_core::notation::{Diagnostic, Span};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

/// Does what the arguments ask for.
pub fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(what) => {
            print::err(&format!("fiberloom: {what}"));
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Run(args) => run::run(&args),
        Command::Show(args) => show::show(&args),
        Command::Check(args) => program(&args).map(|_| ()),
        Command::Build(args) => show::build(&args),
        Command::Help => print::out(args::USAGE),
        Command::Version => print::out(concat!("fiberloom ", env!("CARGO_PKG_VERSION"))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print::err(&print::message(&error));
            ExitCode::from(error.exit())
        }
    }
}

/// Reads and checks the program that the arguments name.
fn program(args: &args::Program) -> Result<Program, Error> {
    let name = args.path.display().to_string();
    let text = text(&args.path).map_err(|e| print::io(&args.path, e))?;
    let text = String::from_utf8(text).map_err(|e| not_text(&name, e.as_bytes(), e.utf8_error().valid_up_to()))?;
    let text = schedule::applied(text, &args.schedule)?;
    let formats: Vec<(&str, &str)> = args.formats.iter().map(|(tensor, format)| (&**tensor, &**format)).collect();
    Program::named_with(&name, &text, &formats)
}

/// A program's bytes; of one that is too long just so many that this is seen.
fn text(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(fiberloom_front::MOST_BYTES as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// What is before the first byte that belongs to no character is shown as the program.
fn not_text(name: &str, bytes: &[u8], at: usize) -> Error {
    let text = format!("{}\u{fffd}", String::from_utf8_lossy(&bytes[..at]));
    let wrong = Diagnostic::new(Span::new(at, text.len()), "the program is not UTF-8 text".to_string());
    Error::Program { file: name.to_string(), text, diagnostics: vec![wrong] }
}
