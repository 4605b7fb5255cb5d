//! The project's own commands: `cargo xtask demo | test | bench | play | wheel | bless | mutants | tidy`.
//!
//! This crate depends on no other, so it builds on a machine that has Rust and a linker and nothing else; it is what
//! brings LLVM there.
//!
//! ```text
//!  demo   LLVM found or installed, a program built and run       bench  fiberloom against loops by hand, and SciPy
//!  test   everything that CI runs                                bless  prints of file tests rewritten
//!  tidy   the pages of docs/ held against the code              mutants  mistakes on purpose, and who notices them
//!  wheel  the Python package, built and tried                    play   the playground's page, built and served
//! ```

mod cargo;
mod demo;
mod llvm;
mod mutants;
mod pages;
mod play;
mod programs;
mod python;
mod test;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask demo                   build, multiply a sparse matrix with a vector, show result, time and loops
       cargo xtask test [--quick|--long]  everything that CI runs; less of it, or all that there is
       cargo xtask bench [OPTIONS]        times against loops by hand and SciPy; `cargo xtask bench --help` for more
       cargo xtask play [--build]         build the playground's page, and serve it on this machine
       cargo xtask wheel                  build the Python package's wheel, and try it in a new virtual environment
       cargo xtask bless [FILTER]         rewrite what file tests show (never the values they expect)
       cargo xtask mutants [--only NAME,…] make each mistake of proofs/mutants, and see who notices
       cargo xtask tidy                   hold code and documents to docs/architecture.md";

fn main() -> ExitCode {
    if let Some(real) = std::env::var_os(pages::REAL) {
        return pages::rustdoc(&real);
    }
    // Paths in messages and in documents are relative to the repository's root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the repository");
    if let Err(e) = std::env::set_current_dir(root) {
        eprintln!("{}: {e}", root.display());
        return ExitCode::FAILURE;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["demo"] => demo::demo(),
        ["test", rest @ ..] => test::test(rest),
        ["bench", rest @ ..] => bench(rest),
        ["wheel"] => python::wheel(),
        ["play", rest @ ..] => play::command(rest),
        ["bless", rest @ ..] => bless(rest),
        ["mutants", rest @ ..] => mutants::command(rest),
        ["tidy"] => tidy::command(),
        _ => Err(USAGE.to_string()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmarks, the hand-written side compiled for this machine's CPU as the kernels are.
fn bench(args: &[&str]) -> Result<(), String> {
    let mut command = cargo::cargo()?;
    command.args(["run", "--release", "--quiet", "--package", "fiberloom-bench", "--"]).args(args);
    // A target directory of its own: other builds keep what they compiled without these flags.
    command.env("RUSTFLAGS", "-C target-cpu=native").env("CARGO_TARGET_DIR", "target/native");
    cargo::run(&mut command)
}

/// Runs the file tests so that they rewrite what they show.
fn bless(args: &[&str]) -> Result<(), String> {
    let mut command = cargo::cargo()?;
    command.args(["test", "--quiet", "--package", "fiberloom-tests", "--test", "files", "--"]).args(args);
    cargo::run(command.env("FIBERLOOM_BLESS", "1"))
}
