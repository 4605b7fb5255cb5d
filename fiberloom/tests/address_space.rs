//! Under any limit on addresses a command ends with 0 or 5, and leaves no half-written file.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How many limits are tried between too little and enough.
fn levels() -> u64 {
    if crate::all_is_tried() { 40 } else { 16 }
}

/// KiB from what suffices to begin up to what suffices for everything here.
const SPAN: u64 = 160 << 10;

/// The command line under a limit of so many KiB.
fn under(limit: u64, args: &[&str]) -> Output {
    let script = format!("ulimit -v {limit} && exec \"$0\" \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_fiberloom")]).args(args).env("RUST_BACKTRACE", "0");
    shell.output().expect("a shell")
}

/// The least limit under which the command begins at all: the system's loader needs addresses for libraries before.
fn least() -> u64 {
    let begins = |limit: &u64| under(*limit, &["version"]).status.success();
    let (mut too_little, mut enough) = (1 << 10, 8 << 20);
    assert!(begins(&enough), "8 GiB of addresses suffice");
    while enough - too_little > 256 {
        let middle = (too_little + enough) / 2;
        *(if begins(&middle) { &mut enough } else { &mut too_little }) = middle;
    }
    enough
}

fn scratch(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a place for files of tests");
    path
}

/// Runs a program at every level; at the highest it succeeds, at the lowest it does not.
fn sweep(program: &Path, operands: &[String]) {
    let least = least();
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.npy", program.file_stem().unwrap().display()));
    let out = format!("y={}", made.display());
    let mut args = vec!["run", program.to_str().unwrap(), "--out", &out];
    args.extend(operands.iter().flat_map(|operand| ["--in", operand.as_str()]));
    let mut ended = Vec::new();
    for level in 0..=levels() {
        let _ = std::fs::remove_file(&made);
        let output = under(least + SPAN * level / levels(), &args);
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 5)), "level {level}: {:?}\n{said}", output.status);
        assert_eq!(made.exists(), code == Some(0), "level {level}: a result is there if, and only if, all went well");
        assert_eq!(said.is_empty(), code == Some(0), "level {level}: {said}");
        ended.push(code);
    }
    assert_eq!((ended[0], ended[levels() as usize]), (Some(5), Some(0)), "{ended:?}");
}

#[test]
fn a_product_of_a_large_matrix() {
    let program = scratch(
        "address_spmv.loom",
        "tensor A: f64[I, J] csr\ntensor x: f64[J] dense\ntensor y: f64[I] dense\ny[i] = A[i,j] * x[j]\n",
    );
    let n = 100_000;
    let entries: String = (1..=n).map(|k| format!("{k} {} 1.5\n", 1 + k * 7919 % n)).collect();
    let matrix = format!("%%MatrixMarket matrix coordinate real general\n{n} {n} {n}\n{entries}");
    let vector = format!("%%MatrixMarket matrix array real general\n{n} 1\n{}", "2.0\n".repeat(n));
    let a = scratch("address_a.mtx", &matrix);
    let x = scratch("address_x.mtx", &vector);
    sweep(&program, &[format!("A={}", a.display()), format!("x={}", x.display())]);
}

#[test]
fn many_statements() {
    let mut text = String::from("tensor x0: f64[I] sparse\n");
    (0..120).for_each(|k| text += &format!("x{}[i] = x{k}[i] * 2.0\n", k + 1));
    text += "tensor y: f64[I] dense\ny[i] = x120[i]\n";
    let program = scratch("address_many.loom", &text);
    let x = scratch("address_x.tns", "# extents 9\n1 1.5\n7 2.5\n");
    sweep(&program, &[format!("x0={}", x.display())]);
}
