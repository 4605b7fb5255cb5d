//! What Kani would see: where it is not installed, a stub of its library (`proofs/kani/`) shows that harnesses compile under its
//! attributes and against its signatures; and the ledger names each of them, with its bound.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The toolchain's program of this name, beside the cargo that runs this test.
fn tool(name: &str) -> PathBuf {
    std::env::var_os("CARGO").map_or(PathBuf::from(name), |cargo| Path::new(&cargo).with_file_name(name))
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles the crate as `cargo kani` does: `--cfg kani`, and a crate `kani` that no manifest names.
#[test]
fn harnesses_compile_against_kanis_interface() {
    let (here, made) = (Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(env!("CARGO_TARGET_TMPDIR")));
    let stub = |name: &str, kind: &str, more: &[&str]| {
        let source = here.join("kani").join(format!("{name}.rs"));
        let mut rustc = Command::new(tool("rustc"));
        rustc.args(["--edition", "2024", "--crate-type", kind, "--crate-name", name, "--out-dir"]).arg(made);
        run(rustc.arg("-L").arg(made).args(more).arg(source));
    };
    stub("macros", "proc-macro", &[]);
    stub("kani", "rlib", &["--extern", "macros"]);
    let library = made.join("libkani.rlib");
    let mut cargo = Command::new(tool("cargo"));
    cargo.args(["rustc", "--package", "fiberloom-proofs", "--lib", "--", "--cfg", "kani", "-D", "warnings"]);
    cargo.arg("-L").arg(made).arg("--extern").arg(format!("kani={}", library.display())).current_dir(here);
    run(&mut cargo);
}

/// A harness: its path from the crate's root, and how often its loops are unrolled, where that is said.
type Harness = (String, Option<u32>);

/// The harnesses of a file: `proof`, then perhaps `unwind` and `solver`, then a function.
fn harnesses(file: &Path) -> Vec<Harness> {
    let text = std::fs::read_to_string(file).expect("a source file");
    let module = file.file_stem().expect("it has a name").to_string_lossy().into_owned();
    let mut lines = text.lines().map(str::trim);
    let mut found = vec![];
    while lines.by_ref().any(|line| line == "#[kani::proof]") {
        let mut unwind = None;
        let function = lines.by_ref().find(|line| {
            let bound = line.strip_prefix("#[kani::unwind(").and_then(|rest| rest.strip_suffix(")]"));
            unwind = bound.map(|n| n.parse().expect("a number")).or(unwind);
            !line.starts_with("#[")
        });
        let name = function.and_then(|f| f.strip_prefix("fn ")?.split('(').next()).expect("a harness is a function");
        found.push((format!("{module}::{name}"), unwind));
    }
    found
}

/// The rows of the ledger's table of harnesses: ``| `stream::list_laws` | 66 | …``, or a dash for no bound.
fn listed(ledger: &str) -> Vec<Harness> {
    let table = ledger.split("| harness |").nth(1).expect("the ledger has a table of harnesses");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let mut cells = line.split('|').skip(1).map(str::trim);
        let name = cells.next().expect("a name").trim_matches('`').to_string();
        (name, cells.next().expect("a bound").parse().ok())
    };
    rows.map(row).collect()
}

#[test]
fn the_ledger_names_every_harness_with_its_bound() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(here.join("src")).expect("the crate has sources").flatten();
    let mut there: Vec<Harness> = files.flat_map(|file| harnesses(&file.path())).collect();
    let ledger = std::fs::read_to_string(here.join("README.md")).expect("the ledger");
    let mut named = listed(&ledger);
    there.sort();
    named.sort();
    assert!(!there.is_empty());
    assert_eq!(named, there, "left, the ledger's table; right, the sources");
}
