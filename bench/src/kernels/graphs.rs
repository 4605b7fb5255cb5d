//! Tables 3 and 4 of the functions paper: products of matrices and vectors where a mask has entries, and the triangles of a
//! graph. Masks share half of the matrix's places, where nobody can predict.

use super::Kernel;
use crate::by_hand::graphs as by_hand;
use crate::generate::{dense, partner, sparse};

/// All of them.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "masked-mxm",
        program: "tensor M: f64[I, J] csr  tensor A: f64[I, K] csr  tensor B: f64[K, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = mask(M[i,j] != 0.0, sum(k: A[i,k] * B[k,j]))",
        unfused: Some(
            "tensor M: f64[I, J] csr  tensor A: f64[I, K] csr  tensor B: f64[K, J] csr  tensor C: f64[I, J] csr
             tensor T: f64[I, J] csr
             C[i,j] = mask(M[i,j] != 0.0, T[i,j]) where { T[i,j] = A[i,k] * B[k,j] }",
        ),
        operands: |a, seed| vec![("M", partner(a, seed)), ("A", a.clone()), ("B", a.clone())],
        by_hand: by_hand::masked_mxm,
    },
    Kernel {
        name: "masked-mxv",
        program: "tensor m: f64[I] sparse  tensor A: f64[I, J] csr  tensor x: f64[J] dense  tensor y: f64[I] sparse
                  y[i] = mask(m[i] != 0.0, sum(j: A[i,j] * x[j]))",
        unfused: None,
        operands: |a, seed| {
            let [rows, columns] = [a.extents[0], a.extents[1]];
            vec![("m", sparse(rows, 10, seed)), ("A", a.clone()), ("x", dense(&[columns], 2))]
        },
        by_hand: by_hand::masked_mxv,
    },
    Kernel {
        name: "triangles",
        program: "tensor A: f64[N, N] csr  tensor t: f64[]  t[] = A[i,j] * A[j,k] * A[i,k]",
        unfused: Some(
            "tensor A: f64[N, N] csr  tensor t: f64[]  tensor T: f64[N, N] csr
             t[] = T[i,k] * A[i,k] where { T[i,k] = A[i,j] * A[j,k] }",
        ),
        operands: |a, _| vec![("A", a.clone())],
        by_hand: by_hand::triangles,
    },
];
