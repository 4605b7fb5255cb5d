//! Call on arrays that the program has already: slices are borrowed, and a result's arrays are its own.

use fiberloom::{Options, Program, Tensor, operands};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = Program::parse(
        "tensor A: f32[I, J] csc
         tensor B: f32[J, K] dense
         tensor scale: f32[] dense
         tensor C: f32[I, K] dense
         C[i,k] = scale[] * A[i,j] * B[j,k]",
    )?;
    let kernel = program.compile(&Options::default())?;

    // A matrix of two columns as SciPy keeps it: 64-bit positions, 32-bit rows, one value each.
    let (indptr, indices, data) = ([0i64, 1, 3], [2i32, 0, 2], [5.0f32, 1.0, 2.0]);
    let dense = [1.0f32, 10.0, 2.0, 20.0]; // Two rows of two.
    let a = Tensor::csc(3, 2, &indptr, &indices, &data)?;
    let b = Tensor::matrix(2, 2, &dense)?;
    assert_eq!(b.values.as_ptr(), dense.as_ptr().cast()); // Nothing is copied.

    let mut outcome = kernel.run(&operands! { A: a, B: b, scale: 10.0f32 })?;
    assert_eq!(outcome.dense::<f32>("C")?, [20.0, 200.0, 0.0, 0.0, 90.0, 900.0]);

    let c = outcome.take("C").expect("a result of the program");
    let owned: Vec<f32> = c.values.into_vec().expect("declared as f32"); // Nothing is copied here either.
    assert_eq!(owned.len(), 6);
    Ok(())
}
