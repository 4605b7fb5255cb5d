//! A program in boxes: cut by rows and by columns, run on threads, merged into what the whole gives.

use fiberloom::shards::{Cuts, Shards, Threads};
use fiberloom::{Array, Options, Program, Tensor, operands};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = "tensor A: f64[N, N] csr  tensor x: f64[N] dense  tensor y: f64[N] dense
        y[i] = A[i,j] * x[j]";
    let program = Program::parse(program)?;
    let a = Tensor::csr(3, 3, &[0i32, 2, 2, 3], &[0i32, 2, 1], &[1.0, 2.0, 3.0])?;
    let operands = operands! { A: &a, x: &[1.0, 10.0, 100.0] };

    // Two boxes along i, cut evenly, and two along j, cut at 1: four in all.
    let over = [("i", Cuts::Even(2)), ("j", Cuts::At(vec![1]))];
    let shards = Shards::plan(&program, &Options::default(), &operands, &over)?;
    assert_eq!(shards.boxes()[3].ranges, [1..3, 1..3]);
    let outcome = shards.run(&Threads::all())?;
    assert_eq!(outcome["y"].values, Array::from(vec![201.0, 0.0, 30.0]));

    // What is not the same on boxes is refused, by name.
    let scaled = Program::parse("tensor x: f64[N] dense  tensor y: f64[N] dense\ny[i] = x[i] * convert(i, f64)")?;
    let refused = Shards::plan(&scaled, &Options::default(), &operands! { x: &[1.0, 2.0] }, &over[..1]).err();
    let message = refused.expect("the value of `i` is another in each box").to_string();
    assert!(message.contains("index variable `i` is not split: its value is read"), "{message}");
    Ok(())
}
