//! The server of commands: of each line that it reads, a JSON list of arguments, it makes a process that obeys them as the command
//! `fiberloom` does, and answers with a line: the exit status, or -1 where a signal ended it.

use fiberloom_tests::binary::LIMIT;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, alarm, dup2_stderr, dup2_stdin, dup2_stdout, fork};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Write, stdin, stdout};

/// Obeys until nothing more is asked; standard output and standard error of commands are written to these files.
///
/// # Errors
/// If a process cannot be made, or nobody reads what is answered.
pub fn serve(output: [OsString; 2]) -> Result<(), Box<dyn std::error::Error>> {
    let mut asked = String::new();
    while stdin().lock().read_line(&mut asked)? > 0 {
        let args: Vec<String> = serde_json::from_str(&asked)?;
        // SAFETY: this process has one thread, so that no lock is held which the new one would wait for.
        #[allow(unsafe_code)]
        let made = unsafe { fork() }?;
        match made {
            ForkResult::Child => obey(args, &output)?,
            ForkResult::Parent { child } => {
                let status = match waitpid(child, None)? {
                    WaitStatus::Exited(_, status) => status,
                    _ => -1,
                };
                writeln!(stdout(), "{status}")?;
                stdout().flush()?;
            }
        }
        asked.clear();
    }
    Ok(())
}

/// Ends this process as the command does, or by a signal where it takes too long.
fn obey(args: Vec<String>, output: &[OsString; 2]) -> Result<(), Box<dyn std::error::Error>> {
    alarm::set(LIMIT.as_secs() as u32);
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(File::create(&output[0])?)?;
    dup2_stderr(File::create(&output[1])?)?;
    let args = ["fiberloom".to_string()].into_iter().chain(args).map(OsString::from);
    let status = fiberloom::cli::main(args.collect());
    std::process::exit(status.into())
}
