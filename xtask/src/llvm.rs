//! LLVM 19 and a C compiler: where they are, and how to get them on Debian and Ubuntu.

use crate::cargo;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable by which the `llvm-sys` crate is told where LLVM is.
pub const PREFIX: &str = "LLVM_SYS_191_PREFIX";

/// Debian's names of all that the build and its tests need beside Rust; `.ci/run` installs the same.
const PACKAGES: &str = include_str!("../../.ci/packages");

/// Of these, what tests and the wheel need, and nothing else.
const FOR_TESTS: [&str; 8] =
    ["coq", "libffi-dev", "libpolly-19-dev", "libz3-dev", "libzstd-dev", "openmpi-bin", "python3-venv", "zlib1g-dev"];

/// Where LLVM 19 is installed: as the environment says, as `llvm-config-19` says, or where Debian puts it.
pub fn prefix() -> Option<PathBuf> {
    let named = std::env::var_os(PREFIX).map(PathBuf::from);
    let asked = ["llvm-config-19", "llvm-config"].into_iter().find_map(configured);
    let usual = Some(PathBuf::from("/usr/lib/llvm-19"));
    [named, asked, usual].into_iter().flatten().find(|p| version(&p.join("bin/llvm-config")).is_some())
}

/// The prefix that this `llvm-config` on the path names, if it is LLVM 19's.
fn configured(name: &str) -> Option<PathBuf> {
    version(Path::new(name))?;
    output(Command::new(name).arg("--prefix")).map(|p| PathBuf::from(p.trim()))
}

/// The version of the LLVM that this `llvm-config` belongs to, if it is 19 and has what is needed to link with it.
fn version(config: &Path) -> Option<String> {
    let version = output(Command::new(config).arg("--version"))?;
    // Debian's runtime package has no headers; llvm-sys compiles against them.
    let headers = output(Command::new(config).arg("--includedir"))?;
    let complete = version.starts_with("19.") && Path::new(headers.trim()).join("llvm-c/Core.h").exists();
    complete.then_some(version)
}

/// Whether there is a C compiler, which also links.
pub fn has_c_compiler() -> bool {
    output(Command::new("cc").arg("--version")).is_some()
}

/// The command that installs all that the build needs.
pub fn install_command() -> Vec<&'static str> {
    let mut words = vec!["apt-get", "install", "-y", "--no-install-recommends"];
    words.extend(PACKAGES.split_whitespace().filter(|package| !FOR_TESTS.contains(package)));
    if !is_root() {
        words.insert(0, "sudo");
    }
    words
}

/// Installs LLVM where it is missing and this user may; says so first.
///
/// # Errors
/// With the command to type, where it may not; or if the installation fails.
pub fn ensure() -> Result<(), String> {
    if prefix().is_some() && has_c_compiler() {
        return Ok(());
    }
    let command = install_command();
    let shown = command.join(" ");
    if output(Command::new("apt-get").arg("--version")).is_none() {
        return Err(format!(
            "LLVM 19's development files or a C compiler are missing, and there is no apt-get here to install them with. \
             Install them and set {PREFIX} to where LLVM is."
        ));
    }
    if !is_root() && output(Command::new("sudo").args(["-n", "true"])).is_none() {
        return Err(format!(
            "LLVM 19's development files or a C compiler are missing. Install them, then run this again:\n  {shown}"
        ));
    }
    println!("LLVM 19's development files or a C compiler are missing; installing them:\n  {shown}");
    let mut update = command.clone();
    let verb = update.iter().position(|w| *w == "install").expect("an installation");
    update.truncate(verb);
    update.push("update");
    // A failing update (one dead mirror among several) need not keep the installation from succeeding.
    let _ = Command::new(update[0]).args(&update[1..]).status();
    cargo::run(Command::new(command[0]).args(&command[1..]))?;
    prefix().map(drop).ok_or_else(|| format!("LLVM 19 was installed but is not found; set {PREFIX} to where it is"))
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0")
}

/// What a command prints, if it can be run and succeeds.
fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
