//! Running other programs.

use std::process::Command;

/// Runs a program to its end, its output passed through.
pub fn program(name: &str, command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{name} could not be started: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name} ended with {status}")) }
}

/// Runs cargo in the workspace.
pub fn cargo(name: &str, args: &[&str]) -> Result<(), String> {
    cargo_with(name, args, &[])
}

/// Runs cargo in the workspace with further arguments.
pub fn cargo_with(name: &str, args: &[&str], more: &[String]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    program(name, Command::new(cargo).args(args).args(more).current_dir(crate::root()))
}

/// Rewrites the expectations of file tests.
pub fn bless() -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let mut command = Command::new(cargo);
    command.args(["test", "-p", "fiberloom-tests"]).env("BLESS", "1").current_dir(crate::root());
    program("cargo test", &mut command)
}
