//! From text to callable, in a running process; and a call of a kernel that is cached.

use crate::data;
use crate::kernels::SPMV;
use fiberloom::{Options, Program};
use std::time::Instant;

/// A sum of `n` matrices in compressed rows.
fn sum(n: usize) -> String {
    let declarations: String = (0..n).map(|k| format!("tensor A{k}: f64[I, J] csr\n")).collect();
    let terms: Vec<String> = (0..n).map(|k| format!("A{k}[i,j]")).collect();
    format!("{declarations}tensor C: f64[I, J] csr\nC[i,j] = {}", terms.join(" + "))
}

/// Prints the times: best of five, each with another text so that nothing is cached.
pub fn report() -> Result<(), String> {
    let a = data::matrix("uniform", 1000, 7);
    let (t, x) = (a.tensor(), data::dense(a.cols, 8));
    let x = data::borrowed(&[a.cols], &x);
    let all: Vec<String> = (0..16).map(|k| format!("A{k}")).collect();
    println!("from text to callable, best of five");
    for (name, text, operands) in [
        ("SpMV", SPMV.to_string(), vec![("A", &t), ("x", &x)]),
        ("sum of 5", sum(5), all[..5].iter().map(|n| (n.as_str(), &t)).collect()),
        ("sum of 16", sum(16), all.iter().map(|n| (n.as_str(), &t)).collect()),
    ] {
        let mut best = f64::INFINITY;
        for k in 0..5 {
            // A dim that nothing uses makes another program of the same kernel.
            let text = format!("dim unused = {k}\n{text}");
            let begun = Instant::now();
            let program = Program::parse(&text).map_err(|e| e.to_string())?;
            let kernel = program.compile(&Options::default()).map_err(|e| e.to_string())?;
            kernel.bind(&operands).and_then(|mut call| call.compile()).map_err(|e| e.to_string())?;
            best = best.min(begun.elapsed().as_secs_f64());
        }
        println!("  {name:<10} {:.2} ms", best * 1e3);
    }
    let program = Program::parse(SPMV).map_err(|e| e.to_string())?;
    let kernel = program.compile(&Options::default()).map_err(|e| e.to_string())?;
    let mut cached = f64::INFINITY;
    for _ in 0..1000 {
        let mut call = kernel.bind(&[("A", &t), ("x", &x)]).map_err(|e| e.to_string())?;
        let begun = Instant::now();
        call.compile().map_err(|e| e.to_string())?;
        cached = cached.min(begun.elapsed().as_secs_f64());
    }
    println!("  a cached kernel is found in {:.2} µs", cached * 1e6);
    Ok(())
}
