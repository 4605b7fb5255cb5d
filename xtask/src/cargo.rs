//! Running cargo: the toolchain that `rust-toolchain.toml` pins, with LLVM found.

use crate::llvm;
use std::process::Command;

/// A cargo command that finds LLVM.
///
/// # Errors
/// If LLVM 19 is not there, with the command that installs it.
pub fn cargo() -> Result<Command, String> {
    let prefix = llvm::prefix().ok_or_else(|| {
        format!(
            "LLVM 19's development files are missing. On Debian or Ubuntu:\n  {}",
            llvm::install_command().join(" ")
        )
    })?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.env(llvm::PREFIX, prefix);
    Ok(command)
}

/// Runs a command to its end; its output goes where ours goes.
///
/// # Errors
/// If it cannot be started or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{}: {e}", text(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", text(command))) }
}

/// Arguments for the driver of lints, as it reads them in `CLIPPY_ARGS`.
pub fn lints(arguments: &[&str]) -> String {
    arguments.iter().map(|argument| format!("{argument}__CLIPPY_HACKERY__")).collect()
}

/// Whether the linker finds a library: the C compiler prints its path, or its name alone.
pub fn links(library: &str) -> bool {
    let printed = Command::new("cc").arg(format!("-print-file-name={library}")).output();
    printed.is_ok_and(|output| output.status.success() && output.stdout.contains(&b'/'))
}

/// A command as one would type it.
pub fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|w| w.to_string_lossy().into_owned()).collect();
    let name = words[0].rsplit('/').next().unwrap_or_default().to_string();
    std::iter::once(name).chain(words.into_iter().skip(1)).collect::<Vec<_>>().join(" ")
}
