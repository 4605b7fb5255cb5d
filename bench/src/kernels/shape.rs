//! The shape paper's figures 24, 25 and 26: shape operators by themselves, with another format for the result, and fused
//! with what computes. Matrices are cut in halves to be concatenated, and second operands are moved by ten columns, as
//! there.

use super::{ByHand, Kernel, UNFUSED};
use crate::arrays::Arrays;
use crate::by_hand::shape as by_hand;
use crate::generate::{above_and_below, dense, flat, left_and_right, shifted, some_rows};

type Operands = Vec<(&'static str, Arrays)>;

fn pair([a, b]: [Arrays; 2]) -> Operands {
    vec![("A", a), ("B", b)]
}

fn alternating(a: &Arrays) -> Arrays {
    some_rows(a, (0..a.extents[0] / 2).step_by(2).collect())
}

/// All of them, in the order of the figures.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "reshape",
        program: "tensor A: f64[I, J] csr  tensor C: f64[K] sparse  C[k] = collapse(A[i,j], (i,j) -> k)",
        other: None,
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Arrays(by_hand::reshape),
    },
    Kernel {
        name: "vstack",
        program: "tensor A: f64[I, J] csr  tensor B: f64[K, J] csr  tensor C: f64[L, J] csr
                  C[l,j] = concat((A[i,j], B[k,j]), (i,k) -> l)",
        other: None,
        operands: |a, _| pair(above_and_below(a)),
        by_hand: ByHand::Arrays(by_hand::vstack),
    },
    Kernel {
        name: "hstack",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, K] csr  tensor C: f64[I, L] csr
                  C[i,l] = concat((A[i,j], B[i,k]), (j,k) -> l)",
        other: None,
        operands: |a, _| pair(left_and_right(a)),
        by_hand: ByHand::Arrays(by_hand::hstack),
    },
    Kernel {
        name: "vstack-coo",
        program: "tensor A: f64[I, J] coo  tensor B: f64[K, J] coo  tensor C: f64[L, J] coo
                  C[l,j] = concat((A[i,j], B[k,j]), (i,k) -> l)",
        other: None,
        operands: |a, _| pair(above_and_below(a).map(|m| m.as_list())),
        by_hand: ByHand::Arrays(by_hand::vstack_coo),
    },
    Kernel {
        name: "hstack-coo",
        program: "tensor A: f64[I, J] coo  tensor B: f64[I, K] coo  tensor C: f64[I, L] coo
                  C[i,l] = concat((A[i,j], B[i,k]), (j,k) -> l)",
        other: None,
        operands: |a, _| pair(left_and_right(a).map(|m| m.as_list())),
        by_hand: ByHand::Arrays(by_hand::hstack_coo),
    },
    Kernel {
        name: "slice-rows",
        program: "tensor A: f64[I, J] csr  tensor C: f64[K, J] csr  C[k,j] = slice(A[i,j], i -> k, 0:HALF:2)",
        other: None,
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Arrays(by_hand::slice_rows),
    },
    Kernel {
        name: "slice-columns",
        program: "tensor A: f64[I, J] csr  tensor C: f64[I, L] csr
                  C[i,l] = slice(A[i,j], j -> l, QUARTER:THREE_QUARTERS)",
        other: None,
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Arrays(by_hand::slice_columns),
    },
    Kernel {
        name: "split-coo",
        program: "tensor v: f64[K] sparse  tensor C: f64[ROWS, J] coo  C[i,j] = split(v[k], k -> (i,j))",
        other: None,
        operands: |a, _| vec![("v", flat(a))],
        by_hand: ByHand::Arrays(by_hand::split_to_coo),
    },
    Kernel {
        name: "split-csr",
        program: "tensor v: f64[K] sparse  tensor C: f64[ROWS, J] csr  C[i,j] = split(v[k], k -> (i,j))",
        other: None,
        operands: |a, _| vec![("v", flat(a))],
        by_hand: ByHand::Arrays(by_hand::split_to_csr),
    },
    Kernel {
        name: "vstack-csr-coo",
        program: "tensor A: f64[I, J] csr  tensor B: f64[K, J] csr  tensor C: f64[L, J] coo
                  C[l,j] = concat((A[i,j], B[k,j]), (i,k) -> l)",
        other: None,
        operands: |a, _| pair(above_and_below(a)),
        by_hand: ByHand::Arrays(by_hand::vstack_to_coo),
    },
    Kernel {
        name: "vstack-coo-csr",
        program: "tensor A: f64[I, J] coo  tensor B: f64[K, J] coo  tensor C: f64[L, J] csr
                  C[l,j] = concat((A[i,j], B[k,j]), (i,k) -> l)",
        other: None,
        operands: |a, _| pair(above_and_below(a).map(|m| m.as_list())),
        by_hand: ByHand::Arrays(by_hand::vstack_from_coo),
    },
    Kernel {
        name: "hstack-csr-coo",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, K] csr  tensor C: f64[I, L] coo
                  C[i,l] = concat((A[i,j], B[i,k]), (j,k) -> l)",
        other: None,
        operands: |a, _| pair(left_and_right(a)),
        by_hand: ByHand::Arrays(by_hand::hstack_to_coo),
    },
    Kernel {
        name: "slice-rows-coo",
        program: "tensor A: f64[I, J] csr  tensor C: f64[K, J] coo  C[k,j] = slice(A[i,j], i -> k, 0:HALF:2)",
        other: None,
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Arrays(by_hand::slice_rows_to_coo),
    },
    Kernel {
        name: "reshape-times",
        program: "tensor A: f64[I, J] csr  tensor v: f64[K] sparse  tensor C: f64[K] sparse
                  C[k] = collapse(A[i,j], (i,j) -> k) * v[k]",
        other: Some((
            UNFUSED,
            "tensor A: f64[I, J] csr  tensor v: f64[K] sparse  tensor C: f64[K] sparse  tensor T: f64[K] sparse
             C[k] = T[k] * v[k] where { T[k] = collapse(A[i,j], (i,j) -> k) }",
        )),
        operands: |a, _| vec![("A", a.clone()), ("v", flat(&shifted(a)))],
        by_hand: ByHand::Arrays(by_hand::reshape_times),
    },
    Kernel {
        name: "vstack-spmv",
        program: "tensor A: f64[I, J] csr  tensor B: f64[K, J] csr  tensor x: f64[J] dense  tensor y: f64[L] dense
                  y[l] = concat((A[i,j], B[k,j]), (i,k) -> l) * x[j]",
        other: Some((
            UNFUSED,
            "tensor A: f64[I, J] csr  tensor B: f64[K, J] csr  tensor x: f64[J] dense  tensor y: f64[L] dense
             tensor T: f64[L, J] csr
             y[l] = T[l,j] * x[j] where { T[l,j] = concat((A[i,j], B[k,j]), (i,k) -> l) }",
        )),
        operands: |a, _| {
            let x = dense(&a.extents[1..], 2);
            [pair([a.clone(), shifted(a)]), vec![("x", x)]].concat()
        },
        by_hand: ByHand::Arrays(by_hand::stacked_spmv),
    },
    Kernel {
        name: "slice-times",
        program: "tensor A: f64[I, J] csr  tensor B: f64[K, J] csr  tensor C: f64[K, J] csr
                  C[k,j] = slice(A[i,j], i -> k, 0:HALF:2) * B[k,j]",
        other: Some((
            UNFUSED,
            "tensor A: f64[I, J] csr  tensor B: f64[K, J] csr  tensor C: f64[K, J] csr  tensor T: f64[K, J] csr
             C[k,j] = T[k,j] * B[k,j] where { T[k,j] = slice(A[i,j], i -> k, 0:HALF:2) }",
        )),
        operands: |a, _| pair([a.clone(), shifted(&alternating(a))]),
        by_hand: ByHand::Arrays(by_hand::slice_times),
    },
];
