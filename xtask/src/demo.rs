//! `cargo xtask demo`: from a machine that has only Rust to a sparse matrix times a vector.

use crate::{cargo, llvm};

const PROGRAM: &str = "examples/spmv.loom";
const MATRIX: &str = "tests/data/poisson.mtx";
const VECTOR: &str = "tests/data/ones.npy";

/// What the program takes is built: the command line, machine code by LLVM's shared library, and no columns of Parquet. The profile compiles
/// in half of the time of `release`; kernels are the same.
const BUILD: [&str; 8] =
    ["build", "--profile", "demo", "--package", "fiberloom", "--no-default-features", "--features", "cli,dynamic-llvm"];

/// Finds or installs LLVM, builds, runs and shows.
pub fn demo() -> Result<(), String> {
    llvm::ensure()?;
    println!("── building: cargo build --profile demo (the first time takes a minute or two)\n");
    cargo::run(cargo::cargo()?.args(BUILD))?;

    println!("\n── the program: {PROGRAM}\n");
    print!("{}", std::fs::read_to_string(PROGRAM).map_err(|e| format!("{PROGRAM}: {e}"))?);

    println!("\n── the loops: fiberloom show loops {PROGRAM}\n");
    fiberloom(&["show", "loops", PROGRAM])?;

    println!("\n── the result: A = {MATRIX}, x = {VECTOR}; compared with the reference semantics\n");
    let (a, x) = (format!("A={MATRIX}"), format!("x={VECTOR}"));
    let run = ["run", PROGRAM, "--in", &a, "--in", &x, "--check", "--repeat", "100"];
    fiberloom(&run)?;
    println!("\n── again with:\n\n  target/demo/fiberloom {}", run.join(" "));
    Ok(())
}

fn fiberloom(args: &[&str]) -> Result<(), String> {
    cargo::run(std::process::Command::new("target/demo/fiberloom").args(args))
}
