//! Compile once, call often: the machine code is made by `warm`, or else by the first call.

use fiberloom::{Options, Program, Tensor, operands};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::parse(
        "tensor A: f64[I, J] csr
         tensor x: f64[J] dense
         tensor y: f64[I] dense
         y[i] = A[i,j] * x[j]",
    )?; // Read and checked.
    let kernel = program.compile(&Options::default())?; // Lowered to loops: what cannot be is refused here.
    kernel.warm(&[("A", [3, 3].into()), ("x", [3].into())])?; // Machine code, for any matrix with 32-bit indices.

    //      1 . 2
    //  A = . . .
    //      . 3 4
    let a = Tensor::csr(3, 3, vec![0i32, 2, 2, 4], vec![0i32, 2, 1, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    let a = a.checked()?; // Every index is looked at once, here; calls look at none.
    let mut x = vec![1.0, 1.0, 1.0];
    for _ in 0..3 {
        let outcome = kernel.run(&operands! { A: &a, x: &x })?;
        x = outcome.dense::<f64>("y")?.to_vec();
    }
    assert_eq!(x, [73.0, 0.0, 112.0]);
    Ok(())
}
