//! Tensors are bound to kernels.

use crate::kernel;
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::{Format, Tensor};
use fiberloom_core::notation::typed::{Extents, TensorId};
use fiberloom_loops::bind;

/// Binds a matrix in compressed rows and a vector, of the given extents, to a kernel that takes them.
fn bound(format: &str, said: [Vec<u64>; 2]) -> Result<(), String> {
    let kernel = kernel(
        "kernel k(n_I, n_J)
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, x_vals: f64
  in A@0: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  in x@1: f64[n_J] {dense} at dense, x_vals

  t = x_vals[0]
",
    );
    let made = |extents: &[u64], format: Format| {
        let entries = [(vec![0; extents.len()], Value::from_f64(Type::F64, 2.0))];
        let zero = Value::zero(Type::F64);
        Tensor::from_entries(extents.to_vec(), format, zero, Type::I32, Type::I32, entries).expect("one entry")
    };
    let named = Format::named(format, 2).expect("a format of matrices");
    let (a, x) = (made(&said[0], named), made(&said[1], Format::dense(1)));
    let extents = |t: TensorId| said[t.index()].clone();
    bind(&kernel, &[("A", &a), ("x", &x)], &extents, &Extents::default()).map(|_| ())
}

#[test]
fn operands_are_as_the_kernel_takes_them() {
    assert_eq!(bound("csr", [vec![2, 3], vec![3]]), Ok(()));
    let other = bound("csc", [vec![2, 3], vec![3]]).unwrap_err();
    assert!(other.starts_with("`A`: it is stored as"), "{other}");
    let differs = bound("csr", [vec![2, 3], vec![4]]).unwrap_err();
    assert_eq!(differs, "`x`: the extent `n_J` is 4 here and 3 elsewhere");
}
