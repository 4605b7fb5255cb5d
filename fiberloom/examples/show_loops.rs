//! Show its loops: every stage on the way to machine code can be printed.

use fiberloom::Mode;
use fiberloom::builder::{Builder, Type, var};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A program is text, or built in Rust: both have the same stages.
    let mut built = Builder::new();
    let a = built.tensor("A", Type::F64, ["I", "J"], "csr");
    let x = built.tensor("x", Type::F64, ["J"], "dense");
    let y = built.tensor("y", Type::F64, ["I"], "dense");
    let (i, j) = (var("i"), var("j"));
    built.set(y.at([i]), a.at([i, j]) * x.at([j]));
    let program = built.program()?;

    let lowered = program.lowered(Mode::Algebraic)?;
    let loops = lowered.kernel.to_string();
    println!("{}\n{}\n{loops}", program.canonical(), lowered.concrete);
    assert!(loops.contains("for p_A in A1_pos[i]..A1_pos[i + 1] {"));
    println!("{} lines of assembly", program.assembly(Mode::Algebraic)?.lines().count());
    Ok(())
}
