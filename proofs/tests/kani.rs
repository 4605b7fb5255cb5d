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

/// The crates that the library is made of.
const CRATES: [&str; 5] =
    ["fiberloom_core", "fiberloom_passes", "fiberloom_loops", "fiberloom_lower", "fiberloom_semantics"];

/// The newest library of a crate beside this test, as cargo made it.
fn made_beside(name: &str) -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.to_path_buf();
    let is_it = |file: &PathBuf| {
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        file.strip_prefix(&format!("lib{name}-")).is_some_and(|rest| rest.ends_with(".rlib"))
    };
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(is_it);
    files.max_by_key(|file| file.metadata().and_then(|m| m.modified()).ok())
}

/// Checks the crate as `cargo kani` compiles it, against libraries that are there; whether it compiles. Those beside may be of several
/// builds that do not fit each other.
fn compiles_beside(here: &Path, made: &Path, flags: &[String]) -> bool {
    let libraries: Option<Vec<PathBuf>> = CRATES.iter().map(|name| made_beside(name)).collect();
    let Some(libraries) = libraries else { return false };
    let mut rustc = Command::new(tool("rustc"));
    rustc.args(["--edition", "2024", "--crate-type", "rlib", "--crate-name", "fiberloom_proofs", "--emit", "metadata"]);
    rustc.arg("--out-dir").arg(made).args(flags);
    for (name, library) in CRATES.iter().zip(&libraries) {
        rustc.arg("--extern").arg(format!("{name}={}", library.display()));
        rustc.arg("-L").arg(format!("dependency={}", library.parent().expect("it stands in a folder").display()));
    }
    rustc.arg(here.join("src/lib.rs")).output().is_ok_and(|output| output.status.success())
}

/// Checks the crate as `cargo kani` compiles it: `--cfg kani`, and a crate `kani` that no manifest names. No machine code is made.
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
    let path = |path: &Path| path.display().to_string();
    let kani = format!("kani={}", path(&made.join("libkani.rlib")));
    let flags = ["--cfg", "kani", "-D", "warnings", "-L", &path(made), "--extern", &kani].map(str::to_string);
    if compiles_beside(here, made, &flags) {
        return;
    }
    let mut cargo = Command::new(tool("cargo"));
    cargo.args(["rustc", "--package", "fiberloom-proofs", "--lib", "--profile", "check", "--"]);
    run(cargo.args(flags).current_dir(here));
}

/// The entries of a table of a manifest: a line each.
fn table<'m>(manifest: &'m str, name: &str) -> Vec<(&'m str, &'m str)> {
    let header = format!("[{name}]");
    let lines = manifest.lines().skip_while(|line| *line != header).skip(1).take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.split_once(" = ")).collect()
}

/// What Kani reads of the manifest: flags that it has, with values of the kind that each takes; and nothing beside them.
#[test]
fn the_manifest_configures_kani() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(here.join(path)).expect("it stands in the crate");
    let (manifest, stub) = (read("Cargo.toml"), read("kani/flags.txt"));
    let known: Vec<(&str, &str)> = stub.lines().filter_map(|line| line.split_once(' ')).collect();
    let flags = table(&manifest, "package.metadata.kani.flags");
    for (flag, value) in &flags {
        let kind = known.iter().find(|(name, _)| name == flag).unwrap_or_else(|| panic!("Kani has no flag `{flag}`")).1;
        let number =
            value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).is_some_and(|v| v.parse::<u32>().is_ok());
        assert!(if kind == "number" { number } else { *value == kind }, "`{flag}` takes a {kind}, not {value}");
    }
    let tables: Vec<&str> =
        manifest.lines().filter(|line| line.contains("kani")).filter(|l| l.starts_with('[')).collect();
    assert_eq!(tables, ["[package.metadata.kani.flags]"]);
    let unwind = flags.iter().find(|(flag, _)| *flag == "default-unwind").map(|(_, n)| *n);
    let ledger = read("README.md");
    let said = unwind.expect("a bound for harnesses that say none").trim_matches('"');
    assert!(ledger.contains(&format!("`default-unwind` {said}")), "the ledger does not say the bound {said}");
    // What a manifest says of the whole workspace would be read in its stead where both are: there is one place.
    let root = std::fs::read_to_string(here.join("../Cargo.toml")).expect("the workspace's manifest");
    assert!(!root.contains("metadata.kani"));
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
