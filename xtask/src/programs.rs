//! Test programs, which a build of cargo's made, and tasks that are done side by side.

use crate::cargo;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Programs that take longest: the sooner they begin, the sooner all have ended.
const LONG: [&str; 7] = ["fiberloom", "files", "fiberloom_proofs", "walks", "laws", "coq", "tables"];

/// A test program.
#[derive(Debug, PartialEq)]
pub struct Program {
    /// Its target's name.
    pub name: String,
    /// Whether it is made of tests that stand in the sources.
    pub is_of_sources: bool,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    executable: PathBuf,
}

impl Program {
    /// The one that a line of cargo's messages says was made.
    pub fn made(message: &str) -> Option<Program> {
        let after = |text: &str, key: &str| Some(text.split_once(key)?.1.split('"').next()?.to_string());
        let profile = message.split_once("\"profile\":{")?.1.split('}').next()?;
        let target = message.split_once("\"target\":{")?.1;
        if !profile.contains("\"test\":true") {
            return None;
        }
        Some(Program {
            name: after(target, "\"name\":\"")?,
            is_of_sources: after(target, "\"kind\":[\"")? != "test",
            folder: PathBuf::from(after(message, "\"manifest_path\":\"")?).parent()?.to_path_buf(),
            executable: after(message, "\"executable\":\"")?.into(),
        })
    }

    /// Runs it as `cargo test` does.
    ///
    /// # Errors
    /// As of [`cargo::cargo`].
    pub fn command(&self) -> Result<Command, String> {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO", cargo::cargo()?.get_program());
        Ok(command)
    }

    /// Where it comes in the order of all: those that take longest first.
    pub fn place(&self) -> usize {
        LONG.iter().position(|name| *name == self.name).unwrap_or(LONG.len())
    }
}

/// Does each task once, as many at once as there are processors, in their order as far as that goes.
pub fn at_once<T: Send>(tasks: Vec<T>, work: impl Fn(T) + Sync) {
    let left = Mutex::new(tasks.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        while let Some(task) = next() {
            work(task);
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_cargos_messages() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/tests#fiberloom-tests@0.1.0","manifest_path":"/w/tests/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"files","src_path":"/w/tests/run.rs"},"profile":{"opt_level":"1","test":true},"executable":"/w/target/debug/deps/files-48","fresh":true}"#;
        let program = Program::made(line).unwrap();
        let expected = Program {
            name: "files".into(),
            is_of_sources: false,
            folder: "/w/tests".into(),
            executable: "/w/target/debug/deps/files-48".into(),
        };
        assert_eq!(program, expected);
        assert_eq!(program.place(), 1);
        assert!(Program::made(&line.replace(r#"["test"]"#, r#"["lib"]"#)).unwrap().is_of_sources);
        assert_eq!(Program::made(&line.replace(r#""test":true"#, r#""test":false"#)), None);
        assert_eq!(Program::made(&line.replace(r#""/w/target/debug/deps/files-48""#, "null")), None);
    }

    #[test]
    fn each_task_is_done_once() {
        let done = Mutex::new(vec![]);
        let tasks: Vec<usize> = (0..100).collect();
        at_once(tasks.clone(), |task| done.lock().unwrap().push(task));
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, tasks);
    }
}
