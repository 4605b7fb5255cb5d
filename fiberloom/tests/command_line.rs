//! The command line as programs outside see it: exit statuses, messages, reports, files.

use std::path::PathBuf;
use std::process::{Command, Output};

/// A directory that goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("fiberloom-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn run(&self, args: &str) -> Output {
        let words = args.split_whitespace();
        Command::new(env!("CARGO_BIN_EXE_fiberloom")).args(words).current_dir(&self.0).output().unwrap()
    }

    /// Runs, and asserts the exit status and a text in what was printed, on standard output if it is 0.
    #[track_caller]
    fn exits(&self, status: i32, args: &str, says: &str) -> String {
        let output = self.run(args);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{args}\n{stdout}\n{stderr}");
        let printed = if status == 0 { &stdout } else { &stderr };
        assert!(printed.contains(says), "{args}: does not say {says:?}\n{stdout}\n{stderr}");
        printed.clone()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SPMV: &str = "tensor A: f64[I, J] csr\ntensor x: f64[J] dense\ntensor y: f64[I] dense\ny[i] = A[i,j] * x[j]\n";

/// A directory with a sparse matrix-vector product: y = (5, 0, 7 + 2).
fn spmv(name: &str) -> Scratch {
    let dir = Scratch::new(name);
    dir.file("p.loom", SPMV);
    dir.file("A.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 3\n3 2 1\n1 1 5\n3 1 7\n");
    dir.file("x.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
    dir
}

const INPUTS: &str = "--in A=A.mtx --in x=x.mtx";
const ENGINES: [&str; 3] = ["llvm", "loops", "meaning"];

#[test]
fn every_engine_answers() {
    let dir = spmv("engines");
    for engine in ENGINES {
        let printed = dir.exits(0, &format!("run p.loom {INPUTS} --engine {engine}"), "y: f64[3] {dense}, 3 stored");
        for line in ["y[0] = 5.0", "y[1] = 0.0", "y[2] = 9.0"] {
            assert!(printed.contains(line), "{engine}: {printed}");
        }
    }
    dir.exits(0, &format!("run p.loom {INPUTS} --out y=y.mtx"), "");
    let written = std::fs::read_to_string(dir.0.join("y.mtx")).unwrap();
    assert_eq!(written, "%%MatrixMarket matrix array real general\n3 1\n5.0\n0.0\n9.0\n");
}

#[test]
fn the_report_is_one_object() {
    let dir = spmv("json");
    for engine in ENGINES {
        let args = format!("run p.loom {INPUTS} --engine {engine} --json --check --repeat 3 --threads 2");
        let printed = dir.exits(0, &args, "{");
        assert_eq!(printed.trim().lines().count(), 1);
        for part in [
            &format!("{{\"engine\": \"{engine}\", \"compile_ms\": "),
            "\"run_ms\": {\"min\": ",
            ", \"median\": ",
            "\"repeat\": 3, \"threads\": 2",
            "\"results\": {\"y\": {\"nnz\": 3, \"format\": \"{dense}\", \"extents\": [3]}}",
            "\"checked\": true",
        ] {
            assert!(printed.contains(part), "{part} in {printed}");
        }
        assert_eq!(printed.contains("\"ops\": {"), engine == "loops", "{printed}");
    }
    dir.exits(0, &format!("run p.loom {INPUTS} --json"), "\"checked\": null");
}

#[test]
fn rejected_programs_and_calls_are_2() {
    let dir = spmv("rejected");
    dir.file("syntax.loom", "tensor A f64[I]\n");
    dir.file("names.loom", "tensor y: f64[I] dense\ny[i] = B[i]\n");
    dir.file("extents.loom", "tensor A: f64[4] dense\ntensor B: f64[5] dense\nC[i] = A[i] + B[i]\n");
    dir.exits(2, "check syntax.loom", "syntax.loom:1:");
    dir.exits(2, "check names.loom", "names.loom:2:8:");
    dir.exits(2, "check extents.loom", "extent");
    dir.file("unknown.loom", "tensor A: f64[I, J] csr\ny[i,k] = A[i,j]\n");
    dir.exits(2, "run unknown.loom --in A=A.mtx", "unknown.loom:2:5: error: the extent of index variable `k`");
    dir.exits(0, "check p.loom", "");
    dir.exits(2, "run p.loom --in A=A.mtx", "p.loom:2:");
    dir.exits(2, &format!("run p.loom {INPUTS} --in z=x.mtx"), "no tensor `z`");
    dir.exits(2, &format!("run p.loom {INPUTS} --out z=z.npy"), "no tensor `z`");
    dir.exits(2, &format!("run p.loom {INPUTS} --out A=z.npy"), "it reads it");
    dir.exits(2, &format!("run p.loom {INPUTS} --out y=y.txt"), ".npy");
    dir.exits(2, &format!("run p.loom {INPUTS} --engine nvptx"), "not there yet");
    dir.exits(2, &format!("run p.loom {INPUTS} --engine gpu"), "no engine");
    dir.exits(2, &format!("run p.loom {INPUTS} --schedule none"), "not there yet");
    dir.exits(2, "tune p.loom", "not there yet");
    dir.exits(2, "show ptx p.loom", "not there yet");
    dir.exits(2, "show everything p.loom", "no stage");
    dir.exits(2, "run p.loom --frob", "--frob");
    dir.exits(2, "frob", "no command");
    dir.exits(2, "", "usage");
    dir.exits(0, "--help", "usage");
    assert!(!dir.names().contains(&"z.npy".to_string()));
}

#[test]
fn what_is_not_lowered_is_refused_by_name_and_meaning_answers() {
    let dir = spmv("lowered");
    dir.file("p.loom", &SPMV.replace("csr", "{dense, band}"));
    dir.exits(2, &format!("run p.loom {INPUTS}"), "`band`");
    dir.exits(0, &format!("run p.loom {INPUTS} --engine meaning"), "y[2] = 9.0");
}

#[test]
fn rejected_data_are_3() {
    let dir = spmv("data");
    dir.file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 1\n4 1 1\n");
    dir.file("wide.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    dir.exits(3, "run p.loom --in A=bad.mtx --in x=x.mtx", "bad.mtx:3:1:");
    dir.exits(3, "run p.loom --in A=A.mtx --in x=wide.mtx", "extent");
    dir.file("p.loom", &SPMV.replace("f64[I] dense", "f64[4] dense"));
    dir.exits(3, &format!("run p.loom {INPUTS}"), "extent");
    dir.file("p.loom", &SPMV.replace("f64", "i8"));
    dir.file("half.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2.5\n");
    dir.exits(3, "run p.loom --in A=A.mtx --in x=half.mtx", "half.mtx:4:1:");
}

#[test]
fn failures_of_files_are_4_and_leave_nothing() {
    let dir = spmv("files");
    dir.exits(4, "run none.loom", "none.loom");
    dir.exits(4, "run p.loom --in A=none.mtx --in x=x.mtx", "none.mtx");
    let before = dir.names();
    dir.exits(4, &format!("run p.loom {INPUTS} --out y=none/y.npy"), "none/y.npy");
    assert_eq!(dir.names(), before);
}

#[test]
fn extents_of_headless_files_come_from_elsewhere_or_are_asked_for() {
    let dir = spmv("tns");
    dir.file("A.tns", "# no extents here\n1 1 5\n3 1 7\n3 2 1\n");
    let asked = dir.exits(3, "run p.loom --in A=A.tns --in x=x.mtx", "A.tns: the extent of mode 0 is unknown");
    assert!(asked.contains("`# extents … …`"), "{asked}");
    dir.file("p.loom", &format!("dim I = 3\n{SPMV}"));
    dir.exits(0, "run p.loom --in A=A.tns --in x=x.mtx", "y[2] = 9.0");
    dir.file("p.loom", &format!("dim I = 2\n{SPMV}"));
    dir.exits(3, "run p.loom --in A=A.tns --in x=x.mtx", "A.tns:3:1: expected a coordinate from 1 to 2, not `3`");
    dir.file("p.loom", &format!("dim I = 2\n{SPMV}"));
    dir.file("A.tns", "2\n3 2\n1 1 5\n");
    dir.exits(3, "run p.loom --in A=A.tns --in x=x.mtx", "extent");
}

#[test]
fn every_kind_of_file_is_written_and_read_back() {
    let dir = Scratch::new("kinds");
    dir.file("p.loom", "tensor A: f64[I, J] csr\ntensor B: f64[I, J] csr\nB[i,j] = A[i,j]\n");
    dir.file("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 2\n3 2 0.1\n1 1 5\n");
    let kinds = ["mtx", "ttx", "tns", "npy", "npz"];
    // Each is written of what the one before it was read as.
    for (from, to) in ["mtx"].iter().chain(&kinds).zip(&kinds) {
        let from = if from == to { "a.mtx".to_string() } else { format!("b.{from}") };
        dir.exits(0, &format!("run p.loom --in A={from} --out B=b.{to}"), "");
    }
    let printed = dir.exits(0, "run p.loom --in A=b.npz", "B[2, 1] = 0.1");
    assert!(printed.contains("B: f64[3, 2] {dense, compressed}, 2 stored"), "{printed}");
    let text = |name: &str| std::fs::read_to_string(dir.0.join(name)).unwrap();
    assert_eq!(text("b.ttx"), "%%MatrixMarket tensor coordinate real general\n3 2 2\n1 1 5.0\n3 2 0.1\n");
    assert_eq!(text("b.tns"), "# extents 3 2\n1 1 5.0\n3 2 0.1\n");
    assert_eq!(dir.names(), ["a.mtx", "b.mtx", "b.npy", "b.npz", "b.tns", "b.ttx", "p.loom"]);
}

#[test]
fn of_several_results_all_files_are_written_or_none() {
    let dir = Scratch::new("several");
    dir.file("p.loom", "tensor A: f64[I, J, K] csf\ntensor B: f64[I, J, K] csf\nB[i,j,k] = A[i,j,k]\ns[] = A[i,j,k]\n");
    dir.file("A.tns", "# extents 2 2 2\n1 1 1 3\n");
    dir.file("s.npy", "old");
    dir.exits(3, "run p.loom --in A=A.tns --out s=s.npy --out B=B.mtx", "up to two modes, not 3: write .ttx");
    assert_eq!(std::fs::read_to_string(dir.0.join("s.npy")).unwrap(), "old");
    std::fs::create_dir(dir.0.join("d.tns")).unwrap();
    dir.exits(4, "run p.loom --in A=A.tns --out s=s.npy --out B=d.tns", "d.tns");
    dir.exits(4, "run p.loom --in A=d.tns", "d.tns");
    assert_eq!(std::fs::read_to_string(dir.0.join("s.npy")).unwrap(), "old");
    assert_eq!(dir.names(), ["A.tns", "d.tns", "p.loom", "s.npy"]);
}

#[test]
fn limits_are_5() {
    let dir = Scratch::new("limits");
    dir.file("p.loom", "tensor A: f64[I, J] csr\ntensor B: f64[I, J] dense\nB[i,j] = A[i,j]\n");
    dir.file("A.mtx", "%%MatrixMarket matrix coordinate real general\n100000 9000000000000 0\n");
    for engine in ENGINES {
        dir.exits(5, &format!("run p.loom --in A=A.mtx --engine {engine}"), "limit");
    }
}

#[test]
fn formats_on_the_command_line_go_before_declared_ones() {
    let dir = spmv("formats");
    let args = format!("run p.loom {INPUTS} --json --format A=csc --format y=sparse");
    dir.exits(0, &args, "\"y\": {\"nnz\": 2, \"format\": \"{compressed}\"");
    dir.exits(2, &format!("run p.loom {INPUTS} --format A=sparse"), "sparse");
    dir.exits(2, &format!("run p.loom {INPUTS} --format A={{dense"), "cannot be read");
    dir.exits(2, &format!("run p.loom {INPUTS} --format Q=csr"), "no tensor `Q`");
}

#[test]
fn every_kind_of_level_holds_operands_and_results() {
    let dir = spmv("levels");
    let formats = ["coo", "{hashed,bitmap}", "{nonunique,compressed}", "{bytemap,nonunique}order(1,0)"];
    for format in formats {
        let run = format!("run p.loom {INPUTS} --engine meaning --check --format A={format}");
        for result in ["{bitmap}", "{bytemap}", "{hashed}", "{nonunique}"] {
            let printed = dir.exits(0, &format!("{run} --format y={result}"), result);
            assert!(printed.contains(", 2 stored") && printed.contains("y[2] = 9.0"), "{format}: {printed}");
            dir.exits(0, &format!("{run} --format y={result} --out y=y.mtx"), "");
            let written = std::fs::read_to_string(dir.0.join("y.mtx")).unwrap();
            assert_eq!(written, "%%MatrixMarket matrix coordinate real general\n3 1 2\n1 1 5.0\n3 1 9.0\n");
        }
    }
    let single = format!("run p.loom {INPUTS} --engine meaning --format");
    dir.exits(3, &format!("{single} A={{dense,singleton}}"), "A.mtx: level 1, position 2: a singleton holds one");
    dir.exits(2, &format!("{single} y={{singleton}}"), "stands below another level");
}

#[test]
fn every_stage_is_shown() {
    let dir = spmv("stages");
    for stage in ["syntax", "notation", "concrete", "lattice", "looplets", "loops", "llvm", "asm"] {
        let printed = dir.exits(0, &format!("show {stage} p.loom"), "");
        assert!(printed.trim().len() > 20, "{stage}: {printed}");
    }
    dir.exits(0, "show loops p.loom", "for ");
    dir.exits(0, "show lattice p.loom --svg", "<svg");
}

#[test]
fn objects_are_built_ahead_of_time() {
    let dir = spmv("build");
    dir.exits(0, "build p.loom -o k.o --header k.h", "");
    assert!(std::fs::read(dir.0.join("k.o")).unwrap().starts_with(b"\x7fELF"));
    dir.exits(2, "build p.loom", "-o");
    dir.exits(4, "build p.loom -o none/k.o", "none/k.o");
    dir.exits(4, "build p.loom -o other.o --header none/k.h", "none/k.h");
    assert!(!dir.names().contains(&"other.o".to_string()));
}
