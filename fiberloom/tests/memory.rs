//! Too little memory, at every level between none and enough: a run ends with its results or with exit status 5, and nothing
//! is half written.

#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How many levels of memory are tried.
fn levels() -> u64 {
    if crate::all_is_tried() { 40 } else { 16 }
}

/// The most memory that a run here needs, in KiB.
const ENOUGH: u64 = 4 << 20;

/// Reads a matrix into two formats; writes a matrix and a vector.
const PROGRAM: &str = "tensor A: f64[I, J] csr tensor B: f64[I, J] {dense, hashed}
tensor C: f64[J, I] csc tensor y: f64[I] dense
C[j,i] = A[i,j] + 2.0*B[i,j]
y[i] = sum(j: A[i,j]*B[i,j])";

/// A directory with the program and its data, which goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("fiberloom-memory-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (n, each) = (1500u64, 20);
        let mut text = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {}\n", n * each);
        // Twenty columns a row, in no order.
        for e in 0..n * each {
            let (i, j) = (e * 7 % n, (e * 7 % n * 31 + e / n * 71) % n);
            let _ = writeln!(text, "{} {} {}.5", i + 1, j + 1, e % 10);
        }
        std::fs::write(dir.join("a.mtx"), text).unwrap();
        std::fs::write(dir.join("p.loom"), PROGRAM).unwrap();
        Scratch(dir)
    }

    /// Runs the command with so many KiB of addresses.
    fn within(&self, kib: u64, args: &str) -> Output {
        let command = format!("ulimit -c 0; ulimit -v {kib}; exec {} {args}", env!("CARGO_BIN_EXE_fiberloom"));
        Command::new("sh").args(["-c", &command]).current_dir(&self.0).output().unwrap()
    }

    /// The files beside the program and its data.
    fn written(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !["a.mtx", "p.loom"].contains(&&**name)).collect();
        names.sort();
        names
    }

    fn clear(&self) {
        self.written().iter().for_each(|name| std::fs::remove_file(Path::new(&self.0).join(name)).unwrap());
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The least level, to a few hundred KiB, at which something holds that holds at [`ENOUGH`].
fn least(holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, ENOUGH);
    while high - low > 512 {
        let middle = (low + high) / 2;
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

fn sweep(engine: &str) {
    let here = Scratch::new(engine);
    let args = format!("run p.loom --in A=a.mtx --in B=a.mtx --out C=c.npz --out y=y.mtx --engine {engine}");
    // With less, the system cannot even load the command.
    let low = least(|kib| here.within(kib, "version").status.success());
    let high = least(|kib| here.within(kib, &args).status.success()) + 1024;
    let mut seen = [0, 0];
    for level in 0..levels() {
        here.clear();
        let kib = low + (high - low) * level / (levels() - 1);
        let output = here.within(kib, &args);
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => assert_eq!(here.written(), ["c.npz", "y.mtx"], "{engine} with {kib} KiB"),
            Some(5) => {
                assert!(here.written().is_empty(), "{engine} with {kib} KiB: {:?}", here.written());
                assert!(said.contains("memory") || said.contains("limit"), "{engine} with {kib} KiB: {said}");
            }
            _ => panic!("{engine} with {kib} KiB: {}\n{said}", output.status),
        }
        seen[(output.status.code() == Some(0)) as usize] += 1;
    }
    assert!(seen.iter().all(|n| *n > 0), "{engine}: stopped and done {seen:?} times");
}

#[test]
fn the_interpreter_of_loops_stops_or_is_done() {
    sweep("loops");
}

#[test]
fn the_reference_semantics_stop_or_are_done() {
    sweep("meaning");
}
