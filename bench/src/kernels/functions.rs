//! The functions paper's figures 20 to 28 on matrices: element-wise functions that are neither sums nor products, several of
//! them fused, and sums of windows. Second operands share half of the first's places, where nobody can predict (a shift by
//! one column, as there, flatters whoever branches).

use super::{ByHand, Kernel, UNFUSED};
use crate::arrays::Arrays;
use crate::by_hand::functions as by_hand;
use crate::generate::{partner, pictures, whole};
use std::sync::Arc;

/// All of them, in the order of the figures.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "not-equal",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = convert(A[i,j] != B[i,j], f64)",
        other: None,
        operands: |a, seed| vec![("A", a.clone()), ("B", partner(a, seed))],
        by_hand: ByHand::Arrays(by_hand::not_equal),
    },
    Kernel {
        name: "xor",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = convert((A[i,j] != 0.0) ^ (B[i,j] != 0.0), f64)",
        other: None,
        operands: pair,
        by_hand: ByHand::Arrays(by_hand::xor),
    },
    Kernel {
        name: "shift",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = convert(convert(A[i,j], i64) >> convert(abs(B[i,j]), i64), f64)",
        other: None,
        operands: whole_pair,
        by_hand: ByHand::Arrays(by_hand::shift),
    },
    Kernel {
        name: "power",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] fill 1.0 csr
                  C[i,j] = pow(A[i,j], B[i,j])",
        other: None,
        operands: |a, seed| {
            let mut exponents = whole(partner(a, seed));
            Arc::make_mut(&mut exponents.values).iter_mut().for_each(|x| *x = x.abs() + 1.0);
            vec![("A", a.clone()), ("B", exponents)]
        },
        by_hand: ByHand::Arrays(by_hand::power),
    },
    Kernel {
        name: "ldexp",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = ldexp(A[i,j], convert(B[i,j], i32))",
        other: None,
        operands: |a, seed| vec![("A", a.clone()), ("B", whole(partner(a, seed)))],
        by_hand: ByHand::Arrays(by_hand::ldexp),
    },
    Kernel {
        name: "and-xor",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor M: f64[I, J] csr  tensor C: f64[I, J] csr
                  C[i,j] = convert((M[i,j] != 0.0) & ((A[i,j] != 0.0) ^ (B[i,j] != 0.0)), f64)",
        other: Some((
            UNFUSED,
            "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor M: f64[I, J] csr  tensor C: f64[I, J] csr
             tensor T: bool[I, J] csr
             C[i,j] = convert((M[i,j] != 0.0) & T[i,j], f64) where { T[i,j] = (A[i,j] != 0.0) ^ (B[i,j] != 0.0) }",
        )),
        operands: |a, seed| vec![("A", a.clone()), ("B", partner(a, seed)), ("M", partner(a, seed + 1000))],
        by_hand: ByHand::Arrays(by_hand::and_xor),
    },
    Kernel {
        name: "edges",
        program: "tensor Img: f64[I, J] csr  tensor Roi: f64[I, J] csr  tensor E: f64[I, J] csr
                  E[i,j] = convert((Img[i,j] > 0.8 && Roi[i,j] != 0.0) ^ (Img[i,j] > 0.75 && Roi[i,j] != 0.0), f64)",
        other: None,
        operands: |a, seed| {
            let [image, region] = pictures::head(a.values.len(), seed);
            vec![("Img", image), ("Roi", region)]
        },
        by_hand: ByHand::Arrays(by_hand::edges),
    },
    Kernel {
        name: "add-windows",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[K, L] csr
                  C[i,j] = A[i(QUARTER:THREE_QUARTERS), j(QUARTER:THREE_QUARTERS)]
                         + B[i(QUARTER:THREE_QUARTERS), j(QUARTER:THREE_QUARTERS)]",
        other: None,
        operands: pair,
        by_hand: ByHand::Arrays(by_hand::add_windows),
    },
    Kernel {
        name: "add-strides",
        program: "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[K, L] csr
                  C[i,j] = A[i(0:ROWS:2), j(0:ROWS:2)] + B[i(0:ROWS:2), j(0:ROWS:2)]",
        other: None,
        operands: pair,
        by_hand: ByHand::Arrays(by_hand::add_strides),
    },
];

/// Whole numbers; who is absent is 0, as he is among these.
fn whole_pair(a: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    vec![("A", whole(a.clone())), ("B", whole(partner(a, seed)))]
}

fn pair(a: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    vec![("A", a.clone()), ("B", partner(a, seed))]
}
