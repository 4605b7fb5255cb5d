//! Tables 3 and 4 of the functions paper: products of matrices and vectors where a mask has entries, over (+, ×), (∨, ∧) and
//! (min, +), and the triangles of a graph. Masks share half of the matrix's places, where nobody can predict.

use super::{ByHand, Kernel, UNFUSED};
use crate::arrays::Arrays;
use crate::by_hand::graphs as by_hand;
use crate::generate::{dense, partner, sparse};
use std::sync::Arc;

/// All of them.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "masked-mxm",
        program: "tensor M: f64[I, J] csr  tensor A: f64[I, K] csr  tensor B: f64[K, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = mask(M[i,j] != 0.0, sum(k: A[i,k] * B[k,j]))",
        other: Some((
            UNFUSED,
            "tensor M: f64[I, J] csr  tensor A: f64[I, K] csr  tensor B: f64[K, J] csr  tensor C: f64[I, J] csr
             tensor T: f64[I, J] csr
             C[i,j] = mask(M[i,j] != 0.0, T[i,j]) where { T[i,j] = A[i,k] * B[k,j] }",
        )),
        operands: masked,
        by_hand: ByHand::Arrays(by_hand::masked_mxm),
    },
    Kernel {
        name: "masked-mxm-boolean",
        program: "tensor M: f64[I, J] csr  tensor A: f64[I, K] csr  tensor B: f64[K, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = convert(mask(M[i,j] != 0.0, any(k: (A[i,k] != 0.0) & (B[k,j] != 0.0))), f64)",
        other: None,
        operands: masked,
        by_hand: ByHand::Arrays(by_hand::masked_mxm_boolean),
    },
    Kernel {
        name: "masked-mxm-min-plus",
        program: "tensor M: f64[I, J] csr  tensor A: f64[I, K] fill inf csr  tensor B: f64[K, J] fill inf csr
                  tensor C: f64[I, J] fill inf csr
                  C[i,j] = select(M[i,j] != 0.0, min(k: A[i,k] + B[k,j]), inf)",
        other: None,
        operands: masked,
        by_hand: ByHand::Arrays(by_hand::masked_mxm_min_plus),
    },
    Kernel {
        name: "masked-mxv",
        program: "tensor m: f64[I] sparse  tensor A: f64[I, J] csr  tensor x: f64[J] dense  tensor y: f64[I] sparse
                  y[i] = mask(m[i] != 0.0, sum(j: A[i,j] * x[j]))",
        other: None,
        operands: masked_rows,
        by_hand: ByHand::Arrays(by_hand::masked_mxv),
    },
    Kernel {
        name: "masked-mxv-boolean",
        program: "tensor m: f64[I] sparse  tensor A: f64[I, J] csr  tensor x: f64[J] dense  tensor y: f64[I] sparse
                  y[i] = convert(mask(m[i] != 0.0, any(j: (A[i,j] != 0.0) & (x[j] != 0.0))), f64)",
        other: None,
        operands: |a, seed| {
            let mut operands = masked_rows(a, seed);
            // One in ten has been reached.
            Arc::make_mut(&mut operands[2].1.values).iter_mut().for_each(|x| *x = (*x > 0.8) as u8 as f64);
            operands
        },
        by_hand: ByHand::Arrays(by_hand::masked_mxv_boolean),
    },
    Kernel {
        name: "masked-mxv-min-plus",
        program: "tensor m: f64[I] sparse  tensor A: f64[I, J] fill inf csr  tensor x: f64[J] dense
                  tensor y: f64[I] fill inf sparse
                  y[i] = select(m[i] != 0.0, min(j: A[i,j] + x[j]), inf)",
        other: None,
        operands: masked_rows,
        by_hand: ByHand::Arrays(by_hand::masked_mxv_min_plus),
    },
    Kernel {
        name: "triangles",
        program: "tensor A: f64[N, N] csr  tensor t: f64[]  t[] = A[i,j] * A[j,k] * A[i,k]",
        other: Some((
            UNFUSED,
            "tensor A: f64[N, N] csr  tensor t: f64[]  tensor T: f64[N, N] csr
             t[] = T[i,k] * A[i,k] where { T[i,k] = A[i,j] * A[j,k] }",
        )),
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Arrays(by_hand::triangles),
    },
];

fn masked(a: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    vec![("M", partner(a, seed)), ("A", a.clone()), ("B", a.clone())]
}

fn masked_rows(a: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    let [rows, columns] = [a.extents[0], a.extents[1]];
    vec![("m", sparse(rows, 10, seed)), ("A", a.clone()), ("x", dense(&[columns], 2))]
}
