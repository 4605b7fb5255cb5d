//! The project's own commands: `cargo xtask demo | test | bench | bless | tidy`.
//!
//! This package uses the standard library alone: it is built before LLVM is there.
mod demo;
mod llvm;
mod run;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  demo              installs LLVM's development package if it is missing, builds, and runs a sparse matrix-vector
                    product on a matrix from a file
  test              everything that must pass before a change lands
  bench [ARG]…      generated kernels beside hand-written loops (arguments go to the bench program)
  bless             rewrites the expected texts of file tests from what is printed now
  tidy              holds the code to the documents: the nine nouns, the arrows between crates, paths, module heads";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let done = match command.as_str() {
        "demo" => demo::demo(),
        "test" => test(),
        "bench" => llvm::ready()
            .and_then(|()| run::cargo_with("bench", &["run", "--release", "-p", "fiberloom-bench", "--"], &rest)),
        "bless" => llvm::ready().and_then(|()| run::bless()),
        "tidy" => tidy::tidy(&root()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{command}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().map(PathBuf::from).unwrap_or_default()
}

/// Every step runs, also after one has failed, so that one run shows all that is wrong.
fn test() -> Result<(), String> {
    llvm::ready()?;
    type Step = (&'static str, Box<dyn Fn() -> Result<(), String>>);
    let cargo = |args: &'static [&'static str]| Box::new(move || run::cargo("cargo", args));
    let steps: Vec<Step> = vec![
        ("formatting", cargo(&["fmt", "--all", "--check"])),
        ("tidiness", Box::new(|| tidy::tidy(&root()))),
        ("lints", cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])),
        ("tests", cargo(&["test", "--workspace"])),
    ];
    let mut failed = Vec::new();
    for (n, (name, step)) in steps.iter().enumerate() {
        println!("── {} of {}: {name}", n + 1, steps.len());
        let begun = std::time::Instant::now();
        match step() {
            Ok(()) => println!("── {name}: done in {:.0} s", begun.elapsed().as_secs_f64()),
            Err(message) => {
                println!("── {name}: FAILED: {message}");
                failed.push(*name);
            }
        }
    }
    println!("{} passed, {} failed", steps.len() - failed.len(), failed.len());
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}
