//! The command line as programs outside see it: exit statuses, messages, reports, files.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

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

    /// Runs words that may have blanks in them, with this on standard input.
    fn given(&self, args: &[&str], stdin: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fiberloom"));
        command.args(args).current_dir(&self.0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that reads nothing may have ended.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap()
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
        let threads = if engine == "llvm" { 2 } else { 1 };
        let printed = dir.exits(0, &args, "{");
        assert_eq!(printed.trim().lines().count(), 1);
        for part in [
            &format!("{{\"engine\": \"{engine}\", \"compile_ms\": "),
            "\"run_ms\": {\"min\": ",
            ", \"median\": ",
            &format!("\"repeat\": 3, \"threads\": {threads}"),
            "\"results\": {\"y\": {\"nnz\": 3, \"format\": \"{dense}\", \"extents\": [3]}}",
            "\"checked\": true",
        ] {
            assert!(printed.contains(part), "{part} in {printed}");
        }
        assert_eq!(printed.contains("\"ops\": {"), engine == "loops", "{printed}");
        let short =
            "\"parallel\": [{\"iterations\": 3, \"threads\": 1, \"pieces\": 1, \"largest\": 1.0, \"of_64\": 1.0}]";
        assert_eq!(printed.contains(short), engine == "llvm", "{printed}");
    }
    dir.exits(0, &format!("run p.loom {INPUTS} --json"), "\"checked\": null");
}

/// The report of machine code says what keeps a loop on one thread, and of loops that run on threads nothing.
#[test]
fn the_report_says_why_a_loop_is_on_one_thread() {
    let dir = Scratch::new("serial");
    let lists = "tensor a: f64[I] {compressed}\ntensor b: f64[I] {compressed}\ntensor c: f64[I] {compressed}\n";
    dir.file("p.loom", &format!("{lists}c[i] = a[i] + b[i]\n"));
    let run = "run p.loom --in a=random:50:0.2:1 --in b=random:50:0.2:2 --json";
    let why = "\"serial\": [{\"name\": \"the loop along a, b\", \
               \"why\": \"each turn begins where the one before left the lists\"}]";
    for engine in ENGINES {
        let printed = dir.exits(0, &format!("{run} --engine {engine}"), "{");
        assert_eq!(printed.contains(why), engine == "llvm", "{printed}");
    }
    assert!(!spmv("threads").exits(0, &format!("run p.loom {INPUTS} --json"), "{").contains("serial"));
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
    dir.exits(2, "run p.loom --in A=A.mtx", "give it: --in x=FILE");
    dir.exits(2, &format!("run p.loom {INPUTS} --in z=x.mtx"), "no tensor `z`");
    dir.exits(2, &format!("run p.loom {INPUTS} --out z=z.npy"), "no tensor `z`");
    dir.exits(2, &format!("run p.loom {INPUTS} --out A=z.npy"), "it reads it");
    dir.exits(2, &format!("run p.loom {INPUTS} --out y=y.txt"), ".npy");
    dir.exits(2, &format!("run p.loom {INPUTS} --engine gpu"), "no engine");
    dir.exits(
        2,
        &format!("run p.loom {INPUTS} --schedule collapse(j,i->f)"),
        "`i` does not stand directly inside of `j`",
    );
    dir.exits(2, &format!("run p.loom {INPUTS} --schedule protocol(x[j],gallop)"), "cannot gallop");
    dir.exits(2, &format!("run p.loom {INPUTS} --schedule none --no-schedule"), "one of --schedule and --no-schedule");
    dir.exits(0, &format!("run p.loom {INPUTS} --check --schedule protocol(A[j],walk)"), "");
    dir.exits(2, "tune p.loom", "no command");
    dir.exits(0, "show ptx p.loom", ".visible .entry");
    dir.exits(2, "show ptx p.loom --gpu sm_20", "sm_70, sm_80 or sm_90");
    dir.exits(2, "show everything p.loom", "no stage");
    dir.exits(2, "run p.loom --frob", "--frob");
    dir.exits(2, "frob", "no command");
    dir.exits(2, "", "usage");
    dir.exits(0, "--help", "usage");
    dir.exits(0, "run --help", "usage");
    assert!(!dir.names().contains(&"z.npy".to_string()));
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
fn extents_of_headless_files_come_from_elsewhere_or_from_their_coordinates() {
    let dir = spmv("tns");
    dir.file("A.tns", "# no extents here\n1 1 5\n3 1 7\n3 2 1\n");
    dir.exits(0, "run p.loom --in A=A.tns --in x=x.mtx", "y[2] = 9.0");
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
fn tables_are_read_printed_and_written() {
    let dir = Scratch::new("tables");
    let program = "dim CITY: string\ntable sales[row: N] { city: CITY, amount: dec(2) }\n\
        table out[place: CITY] { total: dec(2), many: i64 }\ntotal[city[n]] += amount[n]\nmany[city[n]] += 1\n";
    dir.file("p.loom", program);
    dir.file("sales.csv", "city,amount\nRome,5.00\nParis,10.50\n,3\nRome,2.25\nOslo,0\n");
    let printed = dir.exits(0, "run p.loom --in sales=sales.csv", "out: 3 rows");
    assert_eq!(printed, "out: 3 rows\n  place  total  many\n  Oslo   0.00   1\n  Paris  10.50  1\n  Rome   7.25   2\n");
    assert_eq!(dir.exits(0, "run p.loom --in sales=sales.csv --out out=out.csv", ""), "");
    let written = std::fs::read_to_string(dir.0.join("out.csv")).unwrap();
    assert_eq!(written, "place,total,many\nOslo,0.00,1\nParis,10.50,1\nRome,7.25,2\n");
    dir.exits(2, "run p.loom --in sales=sales.csv --out out=out.npy", "`out` is a table: the name of its file ends in");
    // What was written is read as a table of another program.
    let again = "dim CITY: string  table out[place: CITY] { total: dec(2) }  s[] = sum(c: total[c])";
    dir.file("q.loom", again);
    dir.exits(0, "run q.loom --in out=out.csv", "s: 1 row\n  s\n  17.75");
    if cfg!(feature = "parquet") {
        dir.exits(0, "run p.loom --in sales=sales.csv --out out=out.parquet", "");
        dir.exits(0, "run q.loom --in out=out.parquet", "s: 1 row\n  s\n  17.75");
    }
}

#[test]
fn of_several_results_all_files_are_written_or_none() {
    let dir = Scratch::new("several");
    dir.file("p.loom", "tensor A: f64[I, J, K] csf\ntensor B: f64[I, J, K] csf\nB[i,j,k] = A[i,j,k]\ns[] = A[i,j,k]\n");
    dir.file("A.tns", "# extents 2 2 2\n1 1 1 3\n");
    dir.file("s.npy", "old");
    dir.exits(2, "run p.loom --in A=A.tns --out s=s.npy --out B=B.mtx", "up to two modes, not 3: write .ttx");
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
    // Drawn where the tensor is declared; schedules are for what it is then.
    dir.exits(2, &format!("run p.loom {INPUTS} --format x={{singleton}}"), "p.loom:2:18:");
    dir.exits(0, &format!("run p.loom {INPUTS} --format x=sparse --schedule protocol(x[j],gallop)"), "y[2] = 9.0");
}

/// What cannot be said is not: the exit status speaks.
#[test]
fn standard_error_may_be_closed() {
    let dir = spmv("closed");
    let run = |args: &str| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fiberloom"));
        command.args(args.split_whitespace()).current_dir(&dir.0).stderr(full).output().unwrap().status.code()
    };
    assert_eq!(run("check none.loom"), Some(4));
    assert_eq!(run("frob"), Some(2));
    assert_eq!(run(&format!("run p.loom {INPUTS} --threads 2")), Some(0));
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
    dir.exits(3, &format!("{single} A={{dense,singleton}}"), "A.mtx:3:1: a singleton holds one");
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

/// A header says what holds between the extents, and in which format a result comes that is declared in another.
#[test]
fn headers_say_what_the_caller_owes() {
    let dir = Scratch::new("owed");
    let header = |program: &str| {
        dir.file("p.loom", program);
        dir.exits(0, "build p.loom -o k.o --header k.h", "");
        std::fs::read_to_string(dir.0.join("k.h")).unwrap()
    };
    let says = |header: &str, text: &str| assert!(header.contains(text), "{text}:\n{header}");
    let stacked = header(
        "tensor A: f64[I, J] csr  tensor B: f64[K, J] csr  tensor y: f64[L]
         y[l] = sum(j: concat((A[i,j], B[k,j]), (i, k) -> l))",
    );
    says(&stacked, " *     n_L = n_I + n_K\n");
    says(&stacked, "Operands are well-formed");
    let sliced = header(
        "dim N = 6  tensor a: f64[N] sparse  tensor b: f64[M] sparse  tensor s: f64[S] sparse  tensor y: f64[F]
         y[f] = collapse(slice(b[m], m -> n, 2:5) * s[q(1::3)], (n, q) -> f) * a[0]",
    );
    says(&sliced, " *     n_N = 6\n");
    says(&sliced, " *     n_M >= 5\n");
    says(&sliced, " *     n_F = 3 * n_q\n");
    says(&sliced, " *     n_S >= 1, n_q = (n_S - 1) / 3, rounded up\n");
    let bands = header("tensor a: f64[I, J] csr  tensor y: f64[I, J] {band, packbits}  y[i,j] = a[i,j] * 2");
    says(&bands, " * result y: f64[n_I, n_J] {compressed, runs}, fill 0.0\n *   declared {band, packbits}, ");
    says(&bands, "/* result y: f64[n_I, n_J] {compressed, runs}, declared {band, packbits} */\nstruct kernel_y {");
    for format in ["{dense, band}", "{dense, packbits}", "{dense, symmetric}"] {
        let made = header(&format!("tensor a: f64[I, I] csr  tensor y: f64[I, I] {format}  y[i,j] = a[i,j] * 2"));
        says(&made, &format!("/* result y: f64[n_I, n_I] {format} */\nstruct kernel_y {{"));
    }
}

#[test]
fn a_built_object_is_called_from_c() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler called `cc`");
        return;
    }
    let dir = spmv("linked");
    dir.exits(0, "build p.loom -o k.o --header k.h", "");
    dir.exits(0, "build p.loom -o twice.o --header twice.h --name twice", "");
    dir.exits(2, "build p.loom -o no.o --name no-name", "`no-name` is no name of a kernel");
    dir.file(
        "main.c",
        r#"
        #include "k.h"
        #include "twice.h"
        #include <stdio.h>
        static int32_t pos[] = {0, 1, 1, 3}, crd[] = {0, 0, 1};
        static double vals[] = {5, 7, 1}, x[] = {1, 2};
        static fl_buffer of(void *data, int64_t len) { fl_buffer b = {data, len, len}; return b; }
        int main(void) {
            int64_t extents[] = {3, 2};
            fl_buffer b[kernel_buffers_] = {of(pos, 4), of(crd, 3), of(vals, 3), of(x, 2)};
            if (kernel(fl_default_runtime(), b, extents)) return 1;
            double *y = b[kernel_y_vals].data;
            for (int i = 0; i < b[kernel_y_vals].len; i++) printf("%g ", y[i]);
            kernel_free(b);
            if (twice(fl_default_runtime(), b, extents)) return 1;
            printf("%g", ((double *)b[twice_y_vals].data)[2]);
            twice_free(b);
            return 0;
        }"#,
    );
    let cc = ["-std=c99", "-Wall", "-Wextra", "-Werror", "main.c", "k.o", "twice.o", "-lm", "-o", "program"];
    let made = Command::new("cc").current_dir(&dir.0).args(cc).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let ran = Command::new(dir.0.join("program")).output().unwrap();
    assert_eq!((ran.status.code(), &ran.stdout[..]), (Some(0), &b"5 0 9 9"[..]));
}

#[test]
fn what_is_no_program_is_refused_with_its_place() {
    let dir = spmv("garbage");
    std::fs::write(dir.0.join("latin.loom"), b"# first\ntensor A\xe9: f64[I] dense\n").unwrap();
    std::fs::write(dir.0.join("binary.loom"), [0xff, 0, 1, 2, 0xfe]).unwrap();
    std::fs::write(dir.0.join("binary.mtx"), b"\x1b[31m\xff\x00\n1 2 3\n").unwrap();
    for command in ["check", "run", "show loops", "build -o k.o"] {
        let said = dir.exits(2, &format!("{command} latin.loom"), "the program is not UTF-8 text");
        assert!(said.starts_with("latin.loom:2:9: error: "), "{said}");
        let said = dir.exits(2, &format!("{command} binary.loom"), "the program is not UTF-8 text");
        assert!(said.starts_with("binary.loom:1:1: error: "), "{said}");
        assert!(dir.exits(4, &format!("{command} none.loom"), "").starts_with("none.loom: "));
        assert!(dir.exits(4, &format!("{command} ."), "directory").starts_with(".: "));
    }
    let said = dir.exits(3, "run p.loom --in A=binary.mtx --in x=x.mtx", "expected `%%MatrixMarket");
    assert!(said.starts_with("binary.mtx:1:1: ") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn a_program_without_statements_does_nothing() {
    let dir = Scratch::new("empty");
    for text in ["", "# nothing here", "tensor A: f64[I] dense\n"] {
        dir.file("p.loom", text);
        dir.exits(0, "check p.loom", "");
        dir.exits(0, "run p.loom --check --json", "\"results\": {}, \"checked\": true");
        dir.exits(0, "show loops p.loom", "kernel");
    }
}

#[test]
fn arguments_that_contradict_each_other_are_2() {
    let dir = spmv("arguments");
    dir.file("two.loom", "tensor x: f64[J] dense\ns[] = x[j]\nt[] = x[j] * x[j]\n");
    let refused = |args: &str, says: &str| {
        let said = dir.exits(2, args, says);
        assert!(said.starts_with("fiberloom: "), "{said}");
    };
    let before = dir.names();
    refused(&format!("run p.loom {INPUTS} --in A=A.mtx"), "--in A is given twice");
    refused(&format!("run p.loom {INPUTS} --out y=y.npy --out y=z.npy"), "--out y is given twice");
    refused(&format!("run p.loom {INPUTS} --format A=csc --format A=csr"), "--format A is given twice");
    refused("run two.loom --in x=x.mtx --out s=s.npy --out t=s.npy", "s.npy would be written twice");
    refused("run two.loom --in x=x.mtx --out s=s.npy --out t=./s.npy", "./s.npy would be written twice");
    refused("build p.loom -o k --header k", "k would be written twice");
    for twice in ["--engine loops --engine llvm", "--threads 1 --threads 1", "--mode strict --mode strict"] {
        let option = twice.split(' ').next().unwrap();
        refused(&format!("run p.loom {INPUTS} {twice}"), &format!("{option} is given twice"));
    }
    let more = Command::new(env!("CARGO_BIN_EXE_fiberloom"))
        .args(["check", "p.loom", "--schedule", "none; } z[i] = x[i] schedule { none"])
        .current_dir(&dir.0)
        .output()
        .unwrap();
    assert_eq!(more.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&more.stderr).contains("the commands of one schedule, and no more"));
    refused("show everything none.loom", "no stage");
    refused("show loops p.loom --svg", "--svg draws the lattice");
    for bad in ["0", "-1", "two", "1.5", "99999999999999999999"] {
        refused(&format!("run p.loom {INPUTS} --threads {bad}"), "--threads takes a number from 1");
        refused(&format!("run p.loom {INPUTS} --repeat {bad}"), "--repeat takes a number from 1");
    }
    assert_eq!(dir.names(), before);
}

/// Enough rows for several pieces: every number of threads writes the same bytes.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let dir = spmv("threads");
    let n = 40_000;
    let entries: String = (1..=n).map(|i| format!("{i} {i} 0.{i}\n{i} {} {}.5\n", i * 7 % n + 1, i % 13)).collect();
    let values: String = (1..=n).map(|j| format!("{j} 1.{j}\n")).collect();
    std::fs::write(dir.0.join("many.tns"), format!("# extents {n} {n}\n{entries}")).unwrap();
    std::fs::write(dir.0.join("long.tns"), format!("# extents {n}\n{values}")).unwrap();
    let run = |threads: usize| {
        let printed = dir.exits(
            0,
            &format!("run p.loom --in A=many.tns --in x=long.tns --json --threads {threads} --out y=y{threads}.npy"),
            "{",
        );
        assert!(printed.contains(&format!("\"threads\": {threads}")), "{printed}");
        // Enough work for several pieces, which a single thread runs as one.
        let one = format!("\"parallel\": [{{\"iterations\": {n}, \"threads\": 1, \"pieces\": 1, \"largest\": 1.0, ");
        let several = format!("\"parallel\": [{{\"iterations\": {n}, \"threads\": {threads}, \"pieces\": ");
        assert!(printed.contains(if threads == 1 { &one } else { &several }), "{printed}");
        assert_eq!(printed.contains("\"pieces\": 1,"), threads == 1, "{printed}");
        std::fs::read(dir.0.join(format!("y{threads}.npy"))).unwrap()
    };
    let one = run(1);
    assert!([2, 3, 7].into_iter().all(|threads| run(threads) == one));
}

/// 1 GiB of address space is less than these headers ask for.
#[test]
fn headers_are_not_believed() {
    let dir = Scratch::new("promises");
    let programs = ["A: f64[I, J] csr", "A: f64[I, J, K] csf", "A: f64[I, J, K] csf", "A: f64[I, J] dense"];
    let npy = "{'descr': '<f8', 'fortran_order': False, 'shape': (300000, 100000)}";
    let npy = format!("\u{0}{}\u{0}{npy}12345678", npy.len() as u8 as char);
    let files = [
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n9 9 1000000000\n1 1 1\n".as_bytes().to_vec()),
        ("a.ttx", "%%MatrixMarket tensor array real general\n9000 9000 9000\n1\n".as_bytes().to_vec()),
        ("a.tns", "3 1000000000000000\n9000000000000 9 9\n1 1 1 1\n".as_bytes().to_vec()),
        ("a.npy", [b"\x93NUMPY\x01", npy.as_bytes()].concat()),
    ];
    for (declared, (name, bytes)) in programs.iter().zip(&files) {
        std::fs::write(dir.0.join(name), bytes).unwrap();
        dir.file(
            "p.loom",
            &format!("tensor {declared}\ns[] = A[{}]\n", &"i,j,k"[..declared.matches(',').count() * 2 + 1]),
        );
        let run = format!("ulimit -v 1048576; exec {} run p.loom --in A={name}", env!("CARGO_BIN_EXE_fiberloom"));
        let output = Command::new("sh").args(["-c", &run]).current_dir(&dir.0).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}: {stderr}");
        assert!(
            stderr.starts_with(name) && (stderr.contains("ends after 1 of") || stderr.contains("8 bytes of data")),
            "{stderr}"
        );
    }
}

#[test]
fn a_program_is_in_a_file_on_standard_input_or_in_the_arguments() {
    let dir = spmv("sources");
    let run = |args: &[&str], stdin: &str| {
        let output = dir.given(args, stdin);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let inputs = ["--in", "A=A.mtx", "--in", "x=x.mtx"];
    for args in [["run", "p.loom"].as_slice(), &["run", "-"], &["run", "-e", SPMV]] {
        let (status, stdout, stderr) = run(&[args, &inputs].concat(), SPMV);
        assert_eq!(status, Some(0), "{stderr}");
        assert!(stdout.contains("y[2] = 9.0"), "{args:?}: {stdout}");
    }
    for command in [["check"].as_slice(), &["show", "loops"], &["build", "-o", "k.o"]] {
        assert_eq!(run(&[command, &["-"]].concat(), SPMV).0, Some(0), "{command:?}");
        assert_eq!(run(&[command, &["-e", SPMV]].concat(), "").0, Some(0), "{command:?}");
        assert!(run(&[command, &["-"]].concat(), "y[i] =").2.starts_with("<stdin>:1:7: error: "), "{command:?}");
        assert!(run(&[command, &["-e", "y[i] ="]].concat(), "").2.starts_with("<text>:1:7: error: "), "{command:?}");
        let (status, _, stderr) = run(&[command, &["-e", SPMV, "p.loom"]].concat(), "");
        assert_eq!(status, Some(2));
        assert!(stderr.contains("-e") && stderr.contains("not both"), "{stderr}");
    }
    assert_eq!(run(&["check", "-e", "-1"], "").0, Some(2), "a text may begin with a dash");
}

/// Data say how large a workspace is, and so how it is stored; what is missing is named as in a run.
#[test]
fn what_is_shown_is_planned_for_data() {
    let dir = Scratch::new("planned");
    let program = "tensor A: f64[I,J] csr  tensor B: f64[J,K] csr  tensor C: f64[I,K] csr  C[i,k] = A[i,j] * B[j,k]";
    std::fs::write(dir.0.join("p.loom"), program).unwrap();
    let data = "--in A=random:5x10:0.5:1 --in B=random:10x4000000:0.000001:2";
    dir.exits(0, "show concrete p.loom", ") where dense (");
    dir.exits(0, &format!("show concrete p.loom {data}"), ") where hashed (");
    for stage in ["schedule", "plan", "loops", "lattice", "looplets", "llvm", "asm"] {
        dir.exits(0, &format!("show {stage} p.loom {data}"), "");
    }
    // For a GPU, two rows of ten entries are a warp's, one of five is a thread's.
    std::fs::write(dir.0.join("v.loom"), "tensor A: f64[I,J] csr  tensor x: f64[J]  y[i] = A[i,j] * x[j]").unwrap();
    let of = |n: u64| format!("show schedule v.loom --gpu sm_80 --in A=random:20x{n}:1:1 --in x=random:{n}:1:1");
    dir.exits(0, "show schedule v.loom --gpu sm_80", "parallelize(i, gpu_warp, no_races);");
    dir.exits(0, &of(10), "split(i -> rows, own, 2);\nparallelize(rows, gpu_warp, no_races);");
    let threads = dir.exits(0, &of(5), "");
    assert!(!threads.contains("gpu_warp"), "{threads}");
    dir.exits(2, "show plan p.loom --in A=random:5x10:0.5:1", "no data are given for tensor `B`");
    dir.exits(2, &format!("show plan p.loom {data} --in D=random:5:1:1"), "`D`");
}

/// A pack answers as the files that it is of; it is not taken for other tables, nor after they have changed.
#[test]
fn packs_take_the_place_of_tables() {
    let dir = Scratch::new("pack");
    let write = |name: &str, text: &str| std::fs::write(dir.0.join(name), text).unwrap();
    write("sales.csv", "city,amount\nRome,7.25\nParis,10\nRome,0.5\n");
    write("lands.csv", "city,land\nParis,France\nRome,Italy\n");
    let text = "dim CITY: string  dim LAND: string
        table sales[row: N] { of = \"city\": CITY, amount: dec(2) }  table lands[city: CITY] { land: LAND }
        tensor total: dec(2)[LAND]  total[land[of[n]]] += ";
    write("p.loom", &format!("{text}amount[n]"));
    write("q.loom", &format!("{text}if land[of[n]] == \"Italy\" then amount[n] else 0"));
    write("other.loom", &format!("{text}amount[n]").replace("dec(2)", "dec(3)"));
    let files = "--in sales=sales.csv --in lands=lands.csv";
    let packed = "--in sales=t.pack --in lands=t.pack";
    let report = dir.exits(0, &format!("pack p.loom {files} -o t.pack --json"), "{\"pack\": \"t.pack\", \"read_ms\": ");
    assert!(report.contains("\"encode_ms\": ") && report.contains("\"pack_ms\": "), "{report}");
    for program in ["p.loom", "q.loom"] {
        let expected = dir.exits(0, &format!("run {program} {files}"), "Italy");
        assert_eq!(dir.exits(0, &format!("run {program} {packed}"), "Italy"), expected);
    }
    dir.exits(0, &format!("run p.loom {packed}"), "Italy   7.75");
    dir.exits(
        3,
        &format!("run other.loom {packed}"),
        "t.pack: it is of another program: `table sales` is declared otherwise",
    );
    dir.exits(2, "run p.loom --in sales=t.pack --in lands=lands.csv", "a pack has all tables of a program");
    dir.exits(2, &format!("pack p.loom {packed} -o u.pack"), "t.pack is a pack already");
    dir.exits(2, "pack p.loom --in sales=sales.csv -o u.pack", "no data are given for table `lands`");
    dir.exits(2, &format!("pack p.loom {files} -o u.csv"), "the name of a pack's file ends in .pack");
    write("plain.loom", "tensor x: f64[I] dense  y[i] = x[i]");
    dir.exits(2, "pack plain.loom -o u.pack", "the program reads no tables");
    write("sales.csv", "city,amount\nRome,1\n");
    dir.exits(3, &format!("run p.loom {packed}"), "sales.csv`, table `sales`, has changed since");
    assert!(!dir.0.join("u.pack").exists() && !dir.0.join("u.csv").exists());
}

#[test]
fn every_command_has_a_page_of_help_and_a_man_page() {
    let dir = Scratch::new("help");
    let all = dir.exits(0, "--help", "usage: fiberloom");
    assert_eq!(dir.exits(0, "help", ""), all);
    assert!(all.contains("Exit status:"), "{all}");
    let options = [
        ("run", "--engine"),
        ("show", "--svg"),
        ("check", "--format"),
        ("build", "--header"),
        ("pack", "--in"),
        ("fmt", "--write"),
        ("man", ""),
        ("completions", ""),
    ];
    for (command, option) in options {
        assert!(all.contains(&format!("\n  {command} ")), "{command}: {all}");
        let page = dir.exits(0, &format!("{command} --help"), &format!("usage: fiberloom {command}"));
        assert_eq!(dir.exits(0, &format!("help {command}"), ""), page);
        assert!(page.contains(option), "{command}: {page}");
        let man = dir.exits(0, &format!("man {command}"), ".SH SYNOPSIS");
        assert!(man.contains(&format!(".TH fiberloom-{command} 1")), "{man}");
    }
    let run = dir.exits(0, "run --help", "");
    assert!(!run.contains("--header"), "an option of another command");
    assert_eq!(dir.exits(0, "run none.loom --repeat 3 --help", ""), run, "help may stand last");
    let man = dir.exits(0, "man", ".TH fiberloom 1");
    assert!(man.contains("fiberloom\\-run(1)"), "{man}");
    dir.exits(2, "man frob", "no command `frob`");
    dir.exits(2, "run p.loom --engin llvm", "no option `--engin` here; --engine is one");
}

#[test]
fn man_pages_are_troff() {
    if Command::new("groff").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `groff`");
        return;
    }
    let dir = Scratch::new("troff");
    for page in ["", "run", "show", "check", "build"] {
        std::fs::write(dir.0.join("page.1"), dir.exits(0, &format!("man {page}"), "")).unwrap();
        let mut groff = Command::new("groff");
        let output = groff.args(["-man", "-ww", "-z", "-Tutf8", "page.1"]).current_dir(&dir.0).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn shells_complete_commands_and_options() {
    let dir = Scratch::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let script = dir.exits(0, &format!("completions {shell}"), "fiberloom");
        for word in ["run", "show", "meaning", "no-schedule", "header"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        dir.file(shell, &script);
    }
    dir.exits(2, "completions tcsh", "`tcsh` is no shell: one of bash, zsh, fish expected");
    // What the script of bash offers behind `fiberloom show `, and behind `fiberloom run --en`.
    let offered = |line: &str, word: &str| {
        let words: Vec<String> = line.split(' ').map(|w| format!("'{w}'")).collect();
        let script = format!(
            ". ./bash; COMP_WORDS=({words}); COMP_CWORD={at}; _fiberloom fiberloom '{word}' x; echo \"${{COMPREPLY[@]}}\"",
            words = words.join(" "),
            at = words.len() - 1
        );
        let output = Command::new("bash").args(["-c", &script]).current_dir(&dir.0).output();
        output.ok().map(|o| String::from_utf8(o.stdout).unwrap())
    };
    match offered("fiberloom show ", "") {
        None => eprintln!("skipped: there is no `bash`"),
        Some(stages) => {
            assert!(stages.contains("lattice") && stages.contains("ptx"), "{stages}");
            assert_eq!(offered("fiberloom run --en", "--en").unwrap().trim(), "--engine");
        }
    }
}

/// An error is one object, too, and all else is as it is without `--json`.
#[test]
fn errors_in_json_are_one_object() {
    let dir = spmv("failures");
    dir.file("names.loom", "tensor y: f64[I] dense\ny[i] = B[i] + C[i]\n");
    dir.file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 1\n4 1 1\n");
    dir.file("wide.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    let failed = |status: i32, args: &str| {
        let (plain, output) = (dir.run(args), dir.run(&format!("{args} --json")));
        assert_eq!((plain.status.code(), output.status.code()), (Some(status), Some(status)), "{args}");
        assert_eq!(plain.stderr, output.stderr, "{args}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert_eq!(stdout.lines().count(), 1, "{stdout}");
        let object: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(object["error"]["exit"], status, "{stdout}");
        object["error"].clone()
    };
    let error = failed(2, "run names.loom");
    assert_eq!(error["kind"], "program");
    let places = error["diagnostics"].as_array().unwrap();
    assert_eq!(places.len(), 2);
    assert_eq!(
        (&places[1]["file"], &places[1]["line"], &places[1]["column"]),
        (&"names.loom".into(), &2.into(), &15.into())
    );
    assert_eq!(places[0]["message"], "unknown tensor `B`");
    let error = failed(3, "run p.loom --in A=bad.mtx --in x=x.mtx");
    assert_eq!((&error["kind"], &error["diagnostics"][0]["line"]), (&"data".into(), &3.into()));
    assert_eq!(failed(3, "run p.loom --in A=A.mtx --in x=wide.mtx")["kind"], "mismatch");
    assert_eq!(failed(4, "run none.loom")["kind"], "data");
    assert_eq!(failed(2, "run p.loom --frob")["kind"], "call");
    assert_eq!(failed(2, &format!("run p.loom {INPUTS} --in z=x.mtx"))["kind"], "call");
}

/// The reader of what is printed may go away: nothing is said, and the exit status is what it is otherwise.
#[test]
fn closed_pipes_end_quietly() {
    let dir = spmv("pipes");
    dir.file("names.loom", "tensor y: f64[I] dense\ny[i] = B[i]\n");
    let fiberloom = env!("CARGO_BIN_EXE_fiberloom");
    let piped = |args: &str, reader: &str| {
        let script = format!("{{ {fiberloom} {args}; echo $? > status; }} 2> said | {reader}");
        Command::new("sh").args(["-c", &script]).current_dir(&dir.0).output().unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.0.join(name)).unwrap();
        (read("status").trim().to_string(), read("said"))
    };
    for args in ["show asm p.loom", "help run", "man run", "completions zsh", &format!("run p.loom {INPUTS}")] {
        // `true` reads nothing; with its end of the pipe closed at once, the first write fails.
        for reader in ["true", "head -n 1", "{ exec <&-; sleep 0.2; }"] {
            assert_eq!(piped(args, reader), ("0".to_string(), String::new()), "{args} | {reader}");
        }
    }
    let (status, said) = piped("run names.loom --json", "true");
    assert_eq!(status, "2");
    assert!(said.starts_with("names.loom:2:8: error: "), "{said}");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(fiberloom);
    let output = command.args(["show", "loops", "p.loom"]).current_dir(&dir.0).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "what cannot be written otherwise is a failure");
}

#[test]
fn duplicates_are_combined_where_that_is_asked_for() {
    let here = Scratch::new("combine");
    here.file("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 2 3\n1 2 4\n1 1 1\n1 2 -9\n");
    here.file("p.loom", "tensor A: f64[I, J] csr tensor y: f64[I] dense y[i] = sum(j: A[i, j])");
    here.exits(
        3,
        "run p.loom --in A=a.mtx",
        "a.mtx:5:1: coordinates (0, 1) stand twice: in line 3 too; --combine A=sum adds them",
    );
    for (how, sum) in [("sum", "-4.0"), ("min", "-8.0"), ("max", "5.0"), ("last", "-8.0")] {
        here.exits(0, &format!("run p.loom --in A=a.mtx --combine A={how}"), sum);
    }
    here.exits(2, "run p.loom --in A=a.mtx --combine A=mean", "sum, min, max or last expected");
    here.exits(2, "run p.loom --in A=a.mtx --combine B=sum", "no data are given for `B`");
    here.exits(2, "run p.loom --in A=a.mtx --combine A=sum --combine A=min", "--combine A is given twice");
}

/// A first try needs no file.
#[test]
fn data_are_drawn_in_the_place_of_a_file() {
    let here = Scratch::new("drawn");
    here.file("p.loom", "tensor A: f64[I, J] csr tensor x: f64[J] dense tensor y: f64[I] dense y[i] = A[i, j] * x[j]");
    let drawn = "run p.loom --in A=random:200x100:0.1:7 --in x=random --json --check";
    here.exits(0, drawn, "\"checked\": true");
    assert_eq!(
        here.exits(0, "run p.loom --in A=random:9x4:0.5 --in x=random", "y"),
        here.exits(0, "run p.loom --in x=random:4 --in A=random:9x4:0.5", "y")
    );
    here.exits(3, "run p.loom --in A=random:9x4 --in x=random:5", "5");
    here.exits(2, "run p.loom --in A=random:9x4:2 --in x=random", "a share from 0 to 1 expected");
    here.exits(3, "run p.loom --in A=random --in x=random", "is unknown");
}

#[test]
fn programs_are_formatted_with_their_comments() {
    let dir = Scratch::new("fmt");
    let text =
        "# y = A x\n\n\ntensor A:f64[I,J] csr # sparse\ntensor x: f64[J]\ny[i]=(A[i, j])\n *x[j] # the product\n";
    let form =
        "# y = A x\n\ntensor A: f64[I, J] csr  # sparse\ntensor x: f64[J]\ny[i] = A[i,j]\n  * x[j]  # the product\n";
    dir.file("p.loom", text);
    let read = || std::fs::read_to_string(dir.0.join("p.loom")).unwrap();
    assert_eq!(dir.exits(0, "fmt p.loom", ""), form);
    assert_eq!(dir.given(&["fmt", "-"], text).stdout, form.as_bytes());
    assert_eq!(dir.given(&["fmt", "-e", text], "").stdout, form.as_bytes());
    dir.exits(1, "fmt p.loom --check", "p.loom: not in the form");
    assert_eq!(read(), text);
    assert_eq!(dir.exits(0, "fmt p.loom --write", ""), "");
    assert_eq!(read(), form);
    assert_eq!(dir.exits(0, "fmt p.loom --check", "") + &dir.exits(0, "fmt p.loom --write", ""), "");
    dir.exits(2, "fmt p.loom --check --write", "one of --check and --write");
    dir.file("p.loom", "y[i] =");
    dir.exits(2, "fmt p.loom --write", "p.loom:1:7: error: ");
    assert_eq!(read(), "y[i] =");
    // Whether a program is right is another question.
    dir.file("p.loom", "y[i]=unknown[i]");
    assert_eq!(dir.exits(0, "fmt p.loom", ""), "y[i] = unknown[i]\n");
    dir.exits(4, "fmt none.loom", "none.loom");
    assert_eq!(dir.names(), ["p.loom"]);
}

#[test]
fn a_check_says_what_it_compared_and_what_not() {
    let dir = Scratch::new("compared");
    // inf - inf is NaN, 1e200 * 1e200 overflows, and whether 0.1 + 0.2 is 0.3 is decided by rounding.
    dir.file(
        "p.loom",
        "tensor x: f64[3] dense\ntensor y: f64[3] dense\nz[i] = x[i] * x[i] - x[i] * x[i]\nequal[] = y[0] + y[1] == y[2]\n",
    );
    dir.file("x.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n1e200\ninf\n");
    dir.file("y.mtx", "%%MatrixMarket matrix array real general\n3 1\n0.1\n0.2\n0.3\n");
    let run = "run p.loom --in x=x.mtx --in y=y.mtx --check";
    let says = "checked: 1 value agrees with the reference semantics; 3 unchecked, since nothing is promised: NaN in 1, overflow in 1, \
                decided by rounding in 1\n";
    dir.exits(0, run, says);
    let report = dir.exits(0, &format!("{run} --json"), "\"checked\": true");
    let compared = "\"compared\": {\"values\": 4, \"unpromised\": {\"nan\": 1, \"overflow\": 1, \"rounding\": 1}}";
    assert!(report.contains(compared), "{report}");
    dir.file("nan.loom", "tensor x: f64[3] dense\nz[] = sum(i: x[i] - x[i])\n");
    let run = "run nan.loom --in x=x.mtx --check";
    dir.exits(0, run, "unchecked: nothing is promised of the value: NaN in 1\n");
    let report = dir.exits(0, &format!("{run} --json"), "\"checked\": null");
    assert!(report.contains("\"compared\": {\"values\": 1, \"unpromised\": {\"nan\": 1,"), "{report}");
    let dir = spmv("agree");
    dir.exits(0, &format!("run p.loom {INPUTS} --check"), "\nchecked: 3 values agree with the reference semantics\n");
    let report = dir.exits(0, &format!("run p.loom {INPUTS} --check --json"), "\"checked\": true");
    assert!(report.contains("\"compared\": {\"values\": 3, \"unpromised\": {\"nan\": 0,"), "{report}");
    assert!(!dir.exits(0, &format!("run p.loom {INPUTS} --json"), "").contains("compared"));
}

/// Distances of 0.1 and 0.2 are rounded, infinite ones are exact, and the last turn finds that none has become another.
#[test]
fn shortest_paths_are_compared() {
    let dir = Scratch::new("paths");
    dir.file(
        "p.loom",
        "tensor A: f64[N, N] fill inf csr\ntensor d: f64[N] fill inf sparse\ntensor e: i64[]\ne[] = 1\n\
         while e[] > 0 { s[j] = min(d[j], min(i: d[i] + A[i,j]))  e[] = count(j: s[j] != d[j])  d[j] = s[j] }\n",
    );
    dir.file("A.tns", "# extents 4 4\n1 2 0.1\n2 3 0.2\n1 3 0.7\n");
    dir.file("d.tns", "# extents 4\n1 0.0\n");
    let said = dir.exits(0, "run p.loom --in A=A.tns --in d=d.tns --check", "");
    assert!(said.contains("\nchecked: ") && !said.contains("unchecked"), "{said}");
}

/// `NAME=-` is all of a result, alone on standard output.
#[test]
fn a_whole_result_goes_to_standard_output() {
    let dir = Scratch::new("whole");
    dir.file("p.loom", "tensor x: f64[I]\ntensor z: f64[I] fill 2.0 sparse\ny[i] = 2.0 * x[i]\nz[i] = x[i]\n");
    let entries: String = (1..=20).map(|i| format!("{i} {i}.5\n")).collect();
    dir.file("x.tns", &format!("# extents 20\n{entries}"));
    let said = dir.exits(0, "run p.loom --in x=x.tns --out y=- --check --repeat 2", "");
    let doubled: String = (1..=20).map(|i| format!("{i} {}.0\n", 2 * i + 1)).collect();
    assert_eq!(said, format!("# extents 20\n{doubled}"));
    let said = dir.exits(0, "run p.loom --in x=x.tns --out z=-", "");
    assert!(said.starts_with("%%MatrixMarket tensor array real general\n20\n1.5\n2.5\n"), "{said}");
    dir.exits(2, "run p.loom --in x=x.tns --out y=- --json", "--out y=-: --json prints its object there");
    dir.exits(2, "run p.loom --in x=x.tns --out q=-", "the program has no tensor `q`");
}

/// Extents that nothing says are those of the largest coordinates; what another operand says comes first.
#[test]
fn largest_coordinates_are_extents_where_nothing_says_them() {
    let dir = Scratch::new("largest");
    dir.file("p.loom", "y[i] = A[i,j] * x[j]\n");
    dir.file("A.tns", "1 2 5.0\n3 1 7.0\n");
    dir.file("x.tns", "2 1.5\n");
    let said = dir.exits(0, "run p.loom --in A=A.tns --in x=x.tns --out y=-", "");
    assert_eq!(said, "# extents 3\n1 7.5\n");
    dir.file("x.tns", "# extents 5\n2 1.5\n");
    assert_eq!(dir.exits(0, "run p.loom --in A=A.tns --in x=x.tns --out y=-", ""), "# extents 3\n1 7.5\n");
}

/// A tensor that nothing reads says extents where it is given.
#[test]
fn what_is_given_says_extents() {
    let dir = Scratch::new("says");
    dir.file("p.loom", "tensor B: f64[N, M] csr\ntensor R: f64[N, M]\nR[i,j] = 5\n");
    dir.file("B.tns", "# extents 2 2\n1 2 5.0\n");
    assert_eq!(
        dir.exits(0, "run p.loom --in B=B.tns --out R=-", ""),
        "# extents 2 2\n1 1 5.0\n1 2 5.0\n2 1 5.0\n2 2 5.0\n"
    );
    dir.exits(0, "run p.loom --in B=B.tns --check", "checked: 4 values agree");
    dir.exits(2, "run p.loom", "Help: nothing is given for `B`, which may say it");
}

/// A warning is printed with its place, and the exit status is what it is without it.
#[test]
fn warnings_are_printed() {
    let here = spmv("warnings");
    here.file("p.loom", "tensor A: f64[I, J] csr tensor x: f64[J] tensor m: f64[]\nm[] max= A[i,j] * x[k]\n");
    here.file("m.mtx", "%%MatrixMarket matrix array real general\n1 1\n-3\n");
    let said = |args: &str| {
        let output = here.run(args);
        assert_eq!(output.status.code(), Some(0), "{args}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let begins = "p.loom:2:1: warning: `m` begins with its fill, 0.0";
    assert!(said(&format!("run p.loom {INPUTS} --json")).starts_with(begins));
    assert!(said("check p.loom").starts_with(begins));
    here.file("p.loom", "tensor A: f64[I, J] csr tensor x: f64[J]\ny[i] = A[i,j] * x[k]\n");
    let said = said(&format!("run p.loom {INPUTS}"));
    for place in ["p.loom:2:12: warning: index variable `j` occurs once", "p.loom:2:19: warning: ", "sum(j: …)"] {
        assert!(said.contains(place), "{said}");
    }
}

/// A program that declares nothing is a whole command: type, rank and format are those of the data.
#[test]
fn what_is_given_need_not_be_declared() {
    let here = spmv("given");
    let spmv = |more: &[&str]| here.given(&[&["run", "-e", "y[i] = A[i,j]*x[j]", "--json"], more].concat(), "");
    let data = ["--in", "A=A.mtx", "--in", "x=x.mtx"];
    for engine in ENGINES {
        let output = spmv(&[&data[..], &["--engine", engine, "--check", "--out", "y=y.mtx"]].concat());
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && report.contains("\"format\": \"{dense}\", \"extents\": [3]"), "{report}");
        let y = std::fs::read_to_string(here.0.join("y.mtx")).unwrap();
        assert_eq!(y.split_whitespace().rev().take(3).collect::<Vec<_>>(), ["9.0", "0.0", "5.0"], "{y}");
    }
    let output = spmv(&[&data[..], &["--format", "A=dcsr"]].concat());
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"format\": \"{compressed}\""));
    // Integers stay integers, and each kind of file says its own type.
    here.file("n.mtx", "%%MatrixMarket matrix array integer general\n2 1\n-1\n2\n");
    here.file("u.ttx", "%%MatrixMarket tensor coordinate unsigned-integer general\n3 2 1 1\n3 2 1 7\n");
    here.file("t.tns", "# extents 2 2\n2 1 0.5\n");
    let typed = |text: &str, input: &str, says: &str| {
        let output = here.given(&["run", "-e", text, "--in", input], "");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.starts_with(says), "{said}");
    };
    typed("s[] = n[i]", "n=n.mtx", "s: i64[] dense");
    typed("R[i,j,k] = U[i,j,k]", "U=u.ttx", "R: u64[3, 2, 1] {compressed, compressed, compressed}");
    typed("R[i,j] = 2.0 * T[i,j]", "T=t.tns", "R: f64[2, 2] {dense, compressed}");
    typed("s[] = r[i]", "r=random:4", "s: f64[] dense");
    typed("y[i] += 1.0", "y=x.mtx", "y: f64[2] {dense}");
    let refused = |status: i32, args: &[&str], says: &str| {
        let output = here.given(args, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(status) && said.contains(says), "{said}");
    };
    refused(2, &["check", "-e", "s[] = x[i]"], "<text>:1:7: error: unknown tensor `x`");
    refused(2, &["run", "-e", "s[] = x[i]"], "give its data, which then say what it is");
    refused(3, &["run", "-e", "s[] = A[i]", "--in", "A=A.mtx"], "A.mtx:2:1");
    refused(2, &["run", "-e", "t[] = 2.0 s[] = t[]", "--in", "t=x.mtx"], "`t` is given, and not declared");
    refused(4, &["run", "-e", "s[] = x[i]", "--in", "x=none.npy"], "none.npy");
}
