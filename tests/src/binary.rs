//! The command under test: built once, run with a time limit.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    /// Exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// `Err` with all that it said unless it exited so.
    pub fn expect(&self, status: i32) -> Result<(), String> {
        if self.status == Some(status) {
            return Ok(());
        }
        let got = self.status.map_or("was killed by a signal".to_string(), |s| format!("exit status {s}"));
        let said = if self.stderr.is_empty() { &self.stdout } else { &self.stderr };
        Err(format!("{got}, expected {status}:\n{}", said.trim_end()))
    }
}

/// The command's path: what `FIBERLOOM_BIN` names, or else built at the first call, because `cargo test` builds no other
/// package's programs.
pub fn path() -> Result<&'static PathBuf, String> {
    static PATH: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PATH.get_or_init(build).as_ref().map_err(Clone::clone)
}

fn build() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("FIBERLOOM_BIN") {
        return Ok(named.into());
    }
    // Beside `deps/`, in which this test itself lies: the same profile of the same target directory.
    let test = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = test.parent().and_then(|deps| deps.parent()).ok_or("the test lies in no target directory")?;
    let mut command = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    command.args(["build", "--quiet", "--package", "fiberloom", "--bin", "fiberloom"]);
    if folder.file_name() == Some(OsStr::new("release")) {
        command.arg("--release");
    }
    if let Some(target) = folder.parent() {
        command.arg("--target-dir").arg(target);
    }
    let status = command.status().map_err(|e| format!("cargo build: {e}"))?;
    if status.success() { Ok(folder.join("fiberloom")) } else { Err("the command does not build".to_string()) }
}

/// Runs the command with these arguments.
///
/// # Errors
/// If it cannot be started or does not end.
pub fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Result<Ran, String> {
    let mut command = Command::new(path()?);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|e| e.to_string())?;
    let id = child.id();
    let begin = Instant::now();
    // Output is read on a thread of its own, so that a full pipe does not look like a hang.
    let reader = std::thread::spawn(move || child.wait_with_output());
    while !reader.is_finished() {
        if begin.elapsed() > LIMIT {
            let _ = Command::new("kill").arg(id.to_string()).status();
            return Err(format!("did not end within {} s", LIMIT.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = reader.join().map_err(|_| "reading its output failed")?.map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ran { status: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
}
