//! LLVM 19's development package: found, or installed.

use crate::run;
use std::path::Path;
use std::process::Command;

const PACKAGE: &str = "llvm-19-dev";

/// Whether LLVM 19 can be linked against.
fn found() -> bool {
    let prefixed = std::env::var("LLVM_SYS_191_PREFIX").is_ok_and(|p| Path::new(&p).join("bin/llvm-config").exists());
    prefixed
        || Path::new("/usr/lib/llvm-19/bin/llvm-config").exists()
        || Command::new("llvm-config-19").arg("--version").output().is_ok_and(|o| o.status.success())
}

/// Installs the package if it is missing, and says so first.
///
/// # Errors
/// Without the right to install, or where there is no `apt-get`: the command that somebody else must run.
pub fn ready() -> Result<(), String> {
    if found() {
        return Ok(());
    }
    let by_hand = format!("LLVM 19 is missing. Run:  sudo apt-get install -y --no-install-recommends {PACKAGE}");
    if Command::new("apt-get").arg("--version").output().is_err() {
        return Err(format!(
            "{by_hand}\n(or your system's package of LLVM 19 with headers, and set LLVM_SYS_191_PREFIX)"
        ));
    }
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.starts_with(b"0\n"));
    let sudo = !root && Command::new("sudo").args(["-n", "true"]).output().is_ok_and(|o| o.status.success());
    if !root && !sudo {
        return Err(by_hand);
    }
    println!("LLVM 19 is missing: installing {PACKAGE} with apt-get");
    let apt = |args: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.arg("apt-get");
        }
        run::program("apt-get", command.args(args))
    };
    apt(&["update", "-qq"])?;
    apt(&["install", "-y", "--no-install-recommends", PACKAGE]).map_err(|e| format!("{e}\n{by_hand}"))?;
    if found() { Ok(()) } else { Err(format!("{PACKAGE} was installed, but llvm-config-19 is not where it should be")) }
}
