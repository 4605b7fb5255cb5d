//! The command under test: run with a time limit.
//!
//! ```text
//!  test's thread ──arguments──▶ its server ──fork──▶ the command           output goes to files
//!                ◀───status────            ◀──ends──
//! ```
//!
//! A command is a process. Its server is this same program, which has loaded all libraries and done nothing else: a process that is forked
//! from it loads none. `FIBERLOOM_BIN` names another command, which is started as it is.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A command that takes longer hangs.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The first argument of a server; behind it the files of standard output and of standard error.
pub const SERVE: &str = "--serve";

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

/// Runs the command with these arguments.
///
/// # Errors
/// If it cannot be started or does not end.
pub fn run<S: AsRef<str>>(args: impl IntoIterator<Item = S>) -> Result<Ran, String> {
    let args: Vec<String> = args.into_iter().map(|arg| arg.as_ref().to_string()).collect();
    let begin = Instant::now();
    let ran = match std::env::var_os("FIBERLOOM_BIN") {
        Some(named) => started(&named, &args),
        None => SERVER.with_borrow_mut(|server| {
            let running = server.take().map_or_else(Server::start, Ok)?;
            server.insert(running).run(&args)
        }),
    }?;
    match ran.status {
        None if begin.elapsed() >= LIMIT => Err(format!("did not end within {} s", LIMIT.as_secs())),
        _ => Ok(ran),
    }
}

/// What a program does, which is killed at the limit.
fn started(program: &OsStr, args: &[String]) -> Result<Ran, String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|e| e.to_string())?;
    let id = child.id();
    let begin = Instant::now();
    // Output is read on a thread of its own, so that a full pipe does not look like a hang.
    let reader = std::thread::spawn(move || child.wait_with_output());
    while !reader.is_finished() {
        if begin.elapsed() > LIMIT {
            let _ = Command::new("kill").arg(id.to_string()).status();
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = reader.join().map_err(|_| "reading its output failed")?.map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ran { status: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
}

thread_local! {
    /// The server of this thread, once it has run a command.
    static SERVER: RefCell<Option<Server>> = const { RefCell::new(None) };
}

/// A process that makes one of each command it is asked for.
struct Server {
    process: Child,
    asked: ChildStdin,
    says: BufReader<ChildStdout>,
    /// The files of standard output and of standard error.
    output: [PathBuf; 2],
}

impl Server {
    fn start() -> Result<Server, String> {
        let file = |what: &str| {
            let thread = std::thread::current().id();
            std::env::temp_dir().join(format!("fiberloom-{}-{thread:?}-{what}", std::process::id()))
        };
        let output = ["out", "err"].map(file);
        let mut command = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
        command.arg(SERVE).args(&output).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|e| format!("the server of commands: {e}"))?;
        let (asked, says) = (process.stdin.take(), process.stdout.take());
        let (asked, says) = (asked.expect("it is piped"), BufReader::new(says.expect("it is piped")));
        Ok(Server { process, asked, says, output })
    }

    fn run(&mut self, args: &[String]) -> Result<Ran, String> {
        let lost = |e: std::io::Error| format!("the server of commands: {e}");
        writeln!(self.asked, "{}", serde_json::json!(args)).map_err(lost)?;
        let mut status = String::new();
        self.says.read_line(&mut status).map_err(lost)?;
        let status: i32 = status.trim().parse().map_err(|_| format!("the server of commands says `{status}`"))?;
        let [stdout, stderr] = self.output.each_ref().map(|file| read(file));
        Ok(Ran { status: (status >= 0).then_some(status), stdout: stdout?, stderr: stderr? })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        self.output.iter().for_each(|file| drop(std::fs::remove_file(file)));
    }
}

fn read(file: &Path) -> Result<String, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
