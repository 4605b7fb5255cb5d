//! The command line: `fiberloom help` and `docs/cli.md` say what it takes.
//!
//! ```text
//!  arguments ──parse──▶ Command ──▶ run | show | check | build | pack | fmt | grad ──▶ exit status, by Error::exit
//!                └ args: the one table ──▶ --help, man pages, completions
//! ```
//!
//! Results and stages go to standard output, messages to standard error.
mod args;
mod batches;
mod files;
mod fmt;
mod gradient;
pub mod memory;
mod pack;
mod pages;
mod parse;
mod print;
pub mod progress;
mod report;
mod run;
mod show;
mod source;
mod tables;

use crate::Error;
use args::Command;
use fiberloom_core::stack::with_room;
use parse::Asked;
use std::ffi::OsString;

/// Does what the arguments ask for, of which the first is the command's own name, and gives the exit status.
pub fn main(args: Vec<OsString>) -> u8 {
    // Also where the arguments are wrong.
    let json = args.iter().any(|a| a == "--json");
    let outcome = memory::starts().and_then(|()| match parse::parse(args) {
        Ok(Asked::Text(text)) => print::out(&text).map(done),
        // What is made of a deep program is let go of there, too.
        Ok(Asked::Command(command)) => with_room(|| obey(&command)),
        Err(what) => Err(Error::Call(what)),
    });
    match outcome {
        Ok(code) => code,
        Err(error) => {
            print::err(&print::message(&error));
            // The report of a run holds its wrong answer.
            if json && !matches!(error, Error::Wrong(_)) {
                let _ = print::out(&crate::show::report::error(&error));
            }
            error.exit()
        }
    }
}

/// Does what the command says.
fn obey(command: &Command) -> Result<u8, Error> {
    match command {
        Command::Run(args) => run::run(args).map(done),
        Command::Show(args) => show::show(args).map(done),
        Command::Check(args) => show::check(args).map(done),
        Command::Build(args) => show::build(args).map(done),
        Command::Pack(args) => pack::pack(args).map(done),
        Command::Fmt(args) => fmt::fmt(args),
        Command::Grad(args) => gradient::backward(args).map(done),
        Command::Jvp(args) => gradient::forward(args).map(done),
        Command::Man { command } => print::out(&pages::man(command.as_deref())?).map(done),
        Command::Completions { shell } => print::out(&pages::completions(*shell)).map(done),
        Command::Version => print::out(concat!("fiberloom ", env!("CARGO_PKG_VERSION"))).map(done),
    }
}

fn done((): ()) -> u8 {
    0
}
