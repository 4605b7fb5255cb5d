//! Time it: what an engine took is in the outcome; the whole call is a clock's business.

use fiberloom::{Options, Program, Tensor, operands};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::parse(
        "tensor A: f64[I, J] csr
         tensor x: f64[J] dense
         tensor y: f64[I] dense
         y[i] = A[i,j] * x[j]",
    )?;
    let kernel = program.compile(&Options::default())?;

    // A matrix with five entries in each row.
    let n = 10_000i32;
    let pos: Vec<i32> = (0..=n).map(|i| 5 * i).collect();
    let crd: Vec<i32> = (0..n).flat_map(|i| (0..5).map(move |k| (i % 7 + k * (n / 5)) % n)).collect();
    let a = Tensor::csr(n as u64, n as u64, pos, crd, vec![1.0; 5 * n as usize])?.checked()?;
    let x = vec![1.0; n as usize];

    // Bound once: a call that is run again looks at its operands no more.
    let mut call = kernel.bind(&operands! { A: &a, x: &x })?;
    let begin = Instant::now();
    call.compile()?; // What `Kernel::warm` does without data.
    println!("machine code: {:?}", begin.elapsed());

    let mut times = Vec::new();
    for _ in 0..101 {
        let begin = Instant::now();
        let outcome = call.run()?;
        times.push((begin.elapsed(), outcome.time));
        assert!(outcome.dense::<f64>("y")?.iter().all(|sum| *sum == 5.0));
    }
    times.sort();
    let (call, engine) = times[50];
    println!("median call: {call:?}, of which the loops take {engine:?}");
    Ok(())
}
