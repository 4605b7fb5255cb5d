//! Other systems: SciPy, MKL and GraphBLAS, in one Python process that lives as long as the run.
//!
//! ```text
//!  Peers::start ──▶ load: operands into files ──▶ result: arrays from files, compared before anything is timed
//!                                             └─▶ time: nanoseconds of each call, measured over there
//! ```
//!
//! `bench/peer.py` is the other side and describes the lines that go to and fro. The folder of files goes when the peers
//! go.

use crate::arrays::{Arrays, Compressed};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A process that computes the same kernels.
pub struct Peers {
    process: Child,
    /// Closed to end the process.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    python: String,
    script: &'static str,
    lacks: &'static str,
    threads: usize,
    /// Names and versions of the libraries that it has.
    pub libraries: String,
}

impl Peers {
    /// Starts `python` with the peers' script; libraries run on so many threads, and once more on one where those are several.
    ///
    /// # Errors
    /// Why there are none: no such program, no SciPy.
    pub fn start(python: &str, threads: usize) -> Result<Peers, String> {
        Peers::of_script(python, "peer.py", "no SciPy", threads)
    }

    /// Starts `python` with a script of this folder, which ends at once where it lacks a library.
    ///
    /// # Errors
    /// Why there are none: no such program; what it lacks.
    pub fn of_script(python: &str, script: &'static str, lacks: &'static str, threads: usize) -> Result<Peers, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
        let mut command = Command::new(python);
        command.envs(crate::memory::KEEP).env("FIBERLOOM_BENCH_THREADS", threads.to_string());
        command.arg(path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(|e| format!("`{python}` does not start: {e}"))?;
        let commands = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it is piped"));
        let folder = std::env::temp_dir().join(format!("fiberloom-bench-{}", process.id()));
        let (python, libraries) = (python.to_string(), String::new());
        let mut peers = Peers { process, commands, answers, folder, python, script, lacks, threads, libraries };
        peers.libraries = peers.answer().map_err(|_| format!("`{}` has {lacks}", peers.python))?;
        fs::create_dir_all(&peers.folder).map_err(|e| format!("{}: {e}", peers.folder.display()))?;
        Ok(peers)
    }

    /// Starts the process again if it has ended: a library that asks for more memory than there is ends it.
    ///
    /// # Errors
    /// As of [`Peers::start`].
    pub fn revive(&mut self) -> Result<(), String> {
        if !matches!(self.process.try_wait(), Ok(None)) {
            *self = Peers::of_script(&self.python, self.script, self.lacks, self.threads)?;
        }
        Ok(())
    }

    /// Gives the process a kernel's operands: the libraries that have this kernel.
    ///
    /// # Errors
    /// What went wrong there, or with the files.
    pub fn load(&mut self, kernel: &str, operands: &[(&str, Arrays)]) -> Result<Vec<String>, String> {
        let failed = |e: std::io::Error| format!("operands for the peers: {e}");
        fs::remove_dir_all(&self.folder).and_then(|()| fs::create_dir(&self.folder)).map_err(failed)?;
        for (name, arrays) in operands {
            self.write(name, arrays).map_err(failed)?;
        }
        let libraries = self.ask(&format!("load {kernel} {}", self.folder.display()))?;
        Ok(libraries.split_whitespace().map(String::from).collect())
    }

    fn write(&self, name: &str, arrays: &Arrays) -> std::io::Result<()> {
        let file = |part: &str, bytes: Vec<u8>| fs::write(self.folder.join(format!("{name}.{part}")), bytes);
        let i32s = |a: &[i32]| a.iter().flat_map(|x| x.to_ne_bytes()).collect();
        file("extents.i64", arrays.extents.iter().flat_map(|e| (*e as i64).to_ne_bytes()).collect())?;
        file("values.f64", arrays.values.iter().flat_map(|x| x.to_ne_bytes()).collect())?;
        for (l, level) in arrays.levels.iter().enumerate() {
            let Some(Compressed { pos, crd, wide }) = level else { continue };
            file(&format!("pos{l}.i32"), i32s(pos))?;
            match wide {
                None => file(&format!("crd{l}.i32"), i32s(crd))?,
                Some(wide) => file(&format!("crd{l}.i64"), wide.iter().flat_map(|x| x.to_ne_bytes()).collect())?,
            }
        }
        Ok(())
    }

    /// What a library computes, in the format of `like`.
    ///
    /// # Errors
    /// What went wrong there, or with the files.
    pub fn result(&mut self, library: &str, like: &Arrays) -> Result<Arrays, String> {
        self.ask(&format!("result {library}"))?;
        let bytes = |part: &str| {
            let file = format!("{library}.{part}");
            fs::read(self.folder.join(&file)).map_err(|e| format!("{file}, which the peers wrote: {e}"))
        };
        let i32s = |part: &str| -> Result<Vec<i32>, String> {
            Ok(bytes(part)?.as_chunks().0.iter().map(|b| i32::from_ne_bytes(*b)).collect())
        };
        let level = |(l, level): (usize, &Option<Compressed>)| match level {
            None => Ok(None),
            Some(like) => {
                let pos = if like.pos.is_empty() { vec![] } else { i32s(&format!("pos{l}.i32"))? };
                let crd = bytes(&format!("crd{l}.i64"))?.as_chunks().0.iter().map(|b| i64::from_ne_bytes(*b)).collect();
                Ok(Some(Compressed::wide(pos, crd)))
            }
        };
        let levels = like.levels.iter().enumerate().map(level).collect::<Result<_, String>>()?;
        let values: Vec<f64> = bytes("values.f64")?.as_chunks().0.iter().map(|b| f64::from_ne_bytes(*b)).collect();
        Ok(Arrays { format: like.format, extents: like.extents.clone(), levels, values: values.into() })
    }

    /// What each of some calls takes, after one that does not count.
    ///
    /// # Errors
    /// What went wrong there.
    pub fn time(&mut self, library: &str, calls: usize) -> Result<Vec<Duration>, String> {
        self.times(&format!("time {library} {calls}"))
    }

    /// Times that a command is answered with.
    ///
    /// # Errors
    /// What went wrong there.
    pub fn times(&mut self, command: &str) -> Result<Vec<Duration>, String> {
        let times = self.ask(command)?;
        let time = |word: &str| word.parse().map(Duration::from_nanos).map_err(|e| format!("`{word}`: {e}"));
        times.split_whitespace().map(time).collect()
    }

    /// What a command is answered with.
    ///
    /// # Errors
    /// What went wrong there.
    pub fn ask(&mut self, command: &str) -> Result<String, String> {
        let commands = self.commands.as_mut().ok_or("the peers have ended")?;
        writeln!(commands, "{command}").and_then(|()| commands.flush()).map_err(|e| format!("the peers: {e}"))?;
        self.answer().map_err(|e| format!("the peers, asked to `{command}`: {e}"))
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| e.to_string())?;
        match line.trim_end().split_once(' ').unwrap_or((line.trim_end(), "")) {
            ("ok", words) => Ok(words.to_string()),
            ("error", message) => Err(message.to_string()),
            _ => Err("the process has ended".to_string()),
        }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.commands = None;
        // It ends with its input; there is nobody to tell if it or the files do not go.
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where there is a Python with SciPy.
    #[test]
    fn who_has_ended_is_started_again() {
        let Ok(mut peers) = Peers::start("python3", 1) else { return };
        let known = |peers: &mut Peers| peers.ask("load nothing nowhere");
        assert_eq!(known(&mut peers), Ok(String::new()));
        peers.process.kill().and_then(|()| peers.process.wait()).unwrap();
        known(&mut peers).unwrap_err();
        peers.revive().unwrap();
        assert_eq!(known(&mut peers), Ok(String::new()));
    }
}
