//! Runs all file tests and conformance cases: `cargo test -p fiberloom-tests --test files [-- FILTER]`.
//!
//! `FIBERLOOM_PRINTS=without` runs them without their prints of stages, `FIBERLOOM_PRINTS=alone` compares nothing but these.
//!
//! One line a test, each failure below it at the end, and a closing line in the form of Rust's own test runner.

mod serve;

use fiberloom_tests::binary::SERVE;
use fiberloom_tests::file::{self, Prints};
use fiberloom_tests::{ENGINES, conformance};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Folders with no `.loom` tests in them.
const OTHERS: [&str; 3] = ["src", "data", "conformance"];

/// A name, and what to run.
type Test = (String, Box<dyn Fn() -> Result<(), String> + Send + Sync>);

fn main() -> ExitCode {
    // Names in messages are relative to the repository's root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the repository");
    std::env::set_current_dir(root).expect("the repository's root");
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == SERVE) {
        let output = [args.next(), args.next()].map(|file| file.expect("a server is told where output goes"));
        serve::serve(output).expect("the runner reads what its servers say");
        return ExitCode::SUCCESS;
    }
    let filters: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if std::env::args().any(|a| a == "--list") {
        return ExitCode::SUCCESS;
    }
    let prints = prints();
    let mut tests = file_tests(prints);
    if matches!(prints, Prints::Compared | Prints::Without) {
        tests.extend(conformance_tests());
    }
    let all = tests.len();
    tests.retain(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(f)));
    println!("\nrunning {} tests", tests.len());
    let failures = run(&tests);
    if !failures.is_empty() {
        println!("\nfailures:");
        failures.iter().for_each(|(name, message)| println!("\n---- {name} ----\n{message}"));
    }
    let (word, failed) = (if failures.is_empty() { "ok" } else { "FAILED" }, failures.len());
    let (passed, out) = (tests.len() - failed, all - tests.len());
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {out} filtered out\n");
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the tests on all cores, or on as many threads as Rust's own test runner is told; returns the failures in the order of the tests.
fn run(tests: &[Test]) -> Vec<(String, String)> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = test();
            println!("test {name} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
            if let Err(message) = outcome {
                failures.lock().expect("no test panics").push((name.clone(), message));
            }
        }
    };
    let said = std::env::var("RUST_TEST_THREADS").ok().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
    let cores = said.unwrap_or_else(|| std::thread::available_parallelism().map_or(2, usize::from));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        // Also until the threads' servers have ended.
        threads.into_iter().for_each(|thread| thread.join().expect("no test panics"));
    });
    let mut failures = failures.into_inner().expect("no test panics");
    failures.sort();
    failures
}

/// What becomes of prints, by the environment.
fn prints() -> Prints {
    let compared = std::env::var("FIBERLOOM_PRINTS");
    match compared.as_deref() {
        _ if std::env::var_os("FIBERLOOM_BLESS").is_some() => Prints::Blessed,
        Ok("without") => Prints::Without,
        Ok("alone") => Prints::Alone,
        Ok(other) => panic!("FIBERLOOM_PRINTS is `without` or `alone`, not `{other}`"),
        Err(_) => Prints::Compared,
    }
}

/// Tests that expect anything; the others, which have nothing but prints or no print, are counted.
fn file_tests(prints: Prints) -> Vec<Test> {
    let folders = entries(Path::new("tests")).into_iter().filter(|p| p.is_dir());
    let folders = folders.filter(|p| !OTHERS.iter().any(|o| p.ends_with(o)));
    let files = folders.flat_map(|p| entries(&p)).filter(|p| p.extension().is_some_and(|e| e == "loom"));
    // A test that cannot be read fails, and one that expects nothing where all is compared.
    let asked = |p: &PathBuf| prints == Prints::Compared || file::expects(p, prints) != Ok(false);
    let (files, others): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(asked);
    match prints {
        Prints::Without => println!("{} tests have nothing but prints, and no answer", others.len()),
        Prints::Alone => println!("{} tests have no print", others.len()),
        Prints::Compared | Prints::Blessed => {}
    }
    let test = |path: PathBuf| -> Test { (path.display().to_string(), Box::new(move || file::test(&path, prints))) };
    files.into_iter().map(test).collect()
}

fn conformance_tests() -> Vec<Test> {
    let folders = entries(Path::new("tests/conformance")).into_iter().filter(|p| p.is_dir());
    let test = |path: PathBuf| {
        ENGINES.map(|engine| -> Test {
            let path = path.clone();
            (format!("{} on {engine}", path.display()), Box::new(move || conformance::test(&path, engine)))
        })
    };
    folders.flat_map(test).collect()
}

/// What is in a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}
