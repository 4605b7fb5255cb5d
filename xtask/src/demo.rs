//! From a bare machine to a result: a sparse matrix-vector product on a matrix from a file.

use crate::{llvm, run};

const PROGRAM: &str = "examples/spmv.loom";
const MATRIX: &str = "A=tests/data/poisson.mtx";

/// Installs what is missing, builds, runs, and shows the result, the time, and the loops that ran.
pub fn demo() -> Result<(), String> {
    llvm::ready()?;
    let text = std::fs::read_to_string(crate::root().join(PROGRAM)).map_err(|e| format!("{PROGRAM}: {e}"))?;
    println!("building (a minute or two the first time)");
    run::cargo("cargo build", &["build", "--quiet", "--release", "-p", "fiberloom"])?;
    let fiberloom = |args: &[&str]| {
        let begin = ["run", "--quiet", "--release", "-p", "fiberloom", "--"];
        run::cargo("fiberloom", &[&begin[..], args].concat())
    };
    println!("\n── the program: {PROGRAM}\n{text}");
    println!("── its loops: fiberloom show loops {PROGRAM}");
    fiberloom(&["show", "loops", PROGRAM])?;
    println!("\n── its result on the 2-D Poisson matrix of a 16 × 16 grid, compared with the reference semantics");
    fiberloom(&["run", PROGRAM, "--in", MATRIX, "--in", "x=tests/data/ones.npy", "--check"])?;
    println!("\n── the same, a hundred times, as JSON");
    fiberloom(&["run", PROGRAM, "--in", MATRIX, "--in", "x=tests/data/ones.npy", "--repeat", "100", "--json"])
}
