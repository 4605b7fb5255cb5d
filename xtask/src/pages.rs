//! Pages beside their examples: cargo calls this program in the place of rustdoc when it tries the examples of a crate's pages, and the
//! pages themselves are made first, from the same compiled crates. `cargo doc` would check all crates a second time.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

/// The variable that names rustdoc for this program.
pub const REAL: &str = "FIBERLOOM_RUSTDOC";

/// Options of examples, with whether a value follows.
const OF_EXAMPLES: [(&str, bool); 4] =
    [("--test", false), ("--test-run-directory", true), ("--test-args", true), ("--test-builder", true)];

/// Makes a crate's pages, warnings being errors, then does what cargo asked for.
pub fn rustdoc(real: &OsString) -> ExitCode {
    let asked: Vec<OsString> = std::env::args_os().skip(1).collect();
    if asked.iter().any(|a| a == "--test") {
        let pages = std::env::temp_dir().join(format!("fiberloom-pages-{}", std::process::id()));
        let mut command = Command::new(real);
        command.args(of_pages(&asked)).args(["-D", "warnings", "-o"]).arg(&pages);
        let is_made = command.status().is_ok_and(|status| status.success());
        let _ = std::fs::remove_dir_all(&pages);
        if !is_made {
            return ExitCode::FAILURE;
        }
    }
    let done = Command::new(real).args(&asked).status();
    if done.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The arguments without those about examples.
fn of_pages(asked: &[OsString]) -> Vec<&OsString> {
    let mut kept = Vec::new();
    let mut rest = asked.iter();
    while let Some(argument) = rest.next() {
        match OF_EXAMPLES.iter().find(|(option, _)| argument == *option) {
            Some((_, true)) => drop(rest.next()),
            Some(_) => {}
            None => kept.push(argument),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_examples_are_left_out() {
        let asked = ["--edition=2024", "--test", "src/lib.rs", "--test-args", "one", "-L", "deps"].map(OsString::from);
        assert_eq!(of_pages(&asked), ["--edition=2024", "src/lib.rs", "-L", "deps"]);
    }
}
