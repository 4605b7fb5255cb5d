//! Catch an error: it is drawn where it stands in the program, says what to change, and is of a kind that can be matched.

use fiberloom::{Error, Options, Program, Tensor, operands};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wrong = Program::parse("tensor A: f64[I, J] crs\ny[i] = A[i,j]").unwrap_err();
    println!("{wrong}\n"); // program:1:21: error: …, and a drawing of the line.
    assert!(matches!(wrong, Error::Program { .. }));

    let program = Program::parse("tensor A: f64[I, J] csr  tensor x: f64[J] dense\ny[i] = A[i,j] * x[j]")?;
    let kernel = program.compile(&Options::default())?;
    let a = Tensor::csr(2, 3, &[0i32, 1, 2], &[0i32, 3], &[1.0, 2.0])?;

    // A vector is missing, is too short; the matrix has a coordinate that is none.
    let missing = kernel.run(&[("A", &a)]).unwrap_err();
    assert!(matches!(&missing, Error::Missing { tensors, .. } if tensors[0].0 == "x"));
    let outside = kernel.run(&operands! { A: &a, x: &[1.0, 2.0, 3.0] }).unwrap_err();
    assert_eq!(outside.to_string(), "tensor `A`: level 1, position 1: coordinate 3 is not in 0..3");
    let sources = std::iter::successors(Some(&outside as &dyn std::error::Error), |e| e.source());
    assert_eq!(sources.count(), 2); // What is malformed is the source of what is refused.

    let a = Tensor::csr(2, 3, &[0i32, 1, 2], &[0i32, 2], &[1.0, 2.0])?;
    let short = kernel.run(&operands! { A: &a, x: &[1.0, 2.0] }).unwrap_err();
    println!("{short}");
    assert!(matches!(short, Error::Mismatch { .. }));
    Ok(())
}
