//! Figures 7 to 11 of the looplets paper: lists, blocks and runs walked beside each other, in several formats and protocols.

use super::{ByHand, Kernel};
use crate::arrays::Arrays;
use crate::by_hand::structures as by_hand;
use crate::generate::{Kind, few, mirrored, sparse};
use std::sync::Arc;

/// Where a sparse vector meets rows.
const MATRICES: &[Kind] = &[Kind::Uniform, Kind::PowerLaw, Kind::Banded, Kind::Blocked];
const GRAPHS: &[Kind] = &[Kind::Graph, Kind::Lower, Kind::Hubs];
const NOISE: &[Kind] = &[Kind::Noise(1), Kind::Noise(2), Kind::Noise(5), Kind::Noise(10)];
const PICTURES: &[Kind] = &[Kind::Sketch, Kind::Digits, Kind::Clothes];
const COLLECTIONS: &[Kind] = &[Kind::Digits, Kind::Clothes];

const WALK: &str = "tensor A: f64[I, J] csr  tensor x: f64[J] sparse  tensor y: f64[I] dense
                    y[i] = A[i,j] * x[j]  schedule { protocol(A[j], walk); protocol(x[j], walk); }";
const GALLOP: &str = "tensor A: f64[I, J] csr  tensor x: f64[J] sparse  tensor y: f64[I] dense
                      y[i] = A[i,j] * x[j]  schedule { protocol(A[j], gallop); protocol(x[j], gallop); }";
const BLOCKS: &str = "tensor A: f64[I, J] {dense, vbl}  tensor x: f64[J] sparse  tensor y: f64[I] dense
                      y[i] = A[i,j] * x[j]";

/// All of them.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "spmspv-walk",
        program: WALK,
        other: None,
        operands: a_tenth,
        by_hand: ByHand::Tensors(MATRICES, by_hand::spmspv_walk),
    },
    Kernel {
        name: "spmspv-gallop",
        program: GALLOP,
        other: None,
        operands: a_tenth,
        by_hand: ByHand::Tensors(MATRICES, by_hand::spmspv_gallop),
    },
    Kernel {
        name: "spmspv-vbl",
        program: BLOCKS,
        other: Some(("lists", WALK)),
        operands: a_tenth,
        by_hand: ByHand::Tensors(MATRICES, by_hand::spmspv_blocks),
    },
    Kernel {
        name: "spmspv-walk-ten",
        program: WALK,
        other: None,
        operands: ten,
        by_hand: ByHand::Tensors(MATRICES, by_hand::spmspv_walk),
    },
    Kernel {
        name: "spmspv-gallop-ten",
        program: GALLOP,
        other: None,
        operands: ten,
        by_hand: ByHand::Tensors(MATRICES, by_hand::spmspv_gallop),
    },
    Kernel {
        name: "spmspv-vbl-ten",
        program: BLOCKS,
        other: Some(("lists", WALK)),
        operands: ten,
        by_hand: ByHand::Tensors(MATRICES, by_hand::spmspv_blocks),
    },
    Kernel {
        name: "triangles-walk",
        program: TRIANGLES_WALK,
        other: None,
        operands: graph,
        by_hand: ByHand::Tensors(GRAPHS, by_hand::triangles_walk),
    },
    Kernel {
        name: "triangles-gallop",
        program: "tensor A: f64[N, N] csr  tensor t: f64[]
                  t[] = A[i,j] * A[j,k] * A[i,k]  schedule { protocol(A[k], gallop); }",
        other: Some(("walk", TRIANGLES_WALK)),
        operands: graph,
        by_hand: ByHand::Tensors(GRAPHS, by_hand::triangles_gallop),
    },
    Kernel {
        name: "triangles-located",
        program: "tensor A: f64[N, N] csr  tensor t: f64[]  t[] = A[i,j] * A[j,k] * A[i,k]",
        other: Some(("walk", TRIANGLES_WALK)),
        operands: graph,
        by_hand: ByHand::Tensors(GRAPHS, by_hand::triangles_located),
    },
    Kernel {
        name: "convolve",
        program: "tensor A: f64[I, J] csr  tensor F: f64[11, 11] dense  tensor C: f64[I, J] csr
                  C[i,j] = mask(A[i,j] != 0.0, sum(k, l: coalesce(A[~(i+k-5), ~(j+l-5)], 0.0) * F[k,l]))",
        other: None,
        operands: |a, _| vec![("A", a.clone()), ("F", crate::generate::dense(&[11, 11], 2))],
        by_hand: ByHand::Tensors(NOISE, by_hand::convolve),
    },
    Kernel {
        name: "symv",
        program: "tensor S: f64[I, I] {dense, symmetric}  tensor x: f64[I] dense  tensor y: f64[I] dense
                  y[i] = S[i,j] * x[j]",
        other: Some((
            "dense",
            "tensor S: f64[I, I] dense  tensor x: f64[I] dense  tensor y: f64[I] dense  y[i] = S[i,j] * x[j]",
        )),
        operands: |a, seed| {
            let matrix = mirrored(a.values.len(), seed);
            let x = crate::generate::dense(&matrix.extents[..1], seed + 1);
            vec![("S", matrix), ("x", x)]
        },
        by_hand: ByHand::Tensors(&[Kind::Uniform], by_hand::symv),
    },
    Kernel {
        name: "blend",
        program: "tensor B: u8[I, J] {dense, runs}  tensor C: u8[I, J] {dense, runs}  tensor A: u8[I, J] {dense, runs}
                  A[i,j] = convert(round(0.5 * convert(B[i,j], f64) + 0.25 * convert(C[i,j], f64)), u8)",
        other: Some((
            "dense",
            "tensor B: u8[I, J] dense  tensor C: u8[I, J] dense  tensor A: u8[I, J] dense
             A[i,j] = convert(round(0.5 * convert(B[i,j], f64) + 0.25 * convert(C[i,j], f64)), u8)",
        )),
        operands: |a, _| {
            // Another picture: the same in a mirror.
            let mut beside = a.clone();
            let (rows, width) = (a.rows(), a.extents[1] as i32);
            let crd = &mut beside.levels[1].as_mut().expect("compressed").crd;
            let values = Arc::make_mut(&mut beside.values);
            for row in rows.pos.windows(2).map(|p| p[0] as usize..p[1] as usize) {
                crd[row.clone()].reverse();
                crd[row.clone()].iter_mut().for_each(|j| *j = width - 1 - *j);
                values[row].reverse();
            }
            vec![("B", a.clone()), ("C", beside)]
        },
        by_hand: ByHand::Tensors(PICTURES, by_hand::blend),
    },
    Kernel {
        name: "similar",
        program: "tensor A: u8[K, P] csr  tensor T: u8[P, K] dense  tensor O: f64[K, K] dense
                  tensor R: i32[K] dense  tensor G: i32[K, K] dense
                  O[k,l] = sqrt(convert(R[k] + R[l] - 2 * G[k,l], f64)) where {
                      R[k] = sum(p: convert(A[k,p], i32) * convert(A[k,p], i32))
                      G[k,l] = sum(p: convert(A[k,p], i32) * convert(T[p,l], i32))
                  }",
        other: None,
        operands: |a, _| vec![("A", a.clone()), ("T", transposed(a))],
        by_hand: ByHand::Tensors(COLLECTIONS, by_hand::similar),
    },
    Kernel {
        name: "similar-dense",
        program: SIMILAR_DENSE,
        other: None,
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Tensors(COLLECTIONS, by_hand::similar_dense),
    },
    Kernel {
        name: "similar-vbl",
        program: "tensor A: u8[K, P] {dense, vbl}  tensor O: f64[K, K] dense
                  tensor R: i32[K] dense
                  O[k,l] = sqrt(convert(R[k] + R[l] - 2 * sum(p: convert(A[k,p], i32) * convert(A[l,p], i32)), f64))
                      where { R[k] = sum(p: convert(A[k,p], i32) * convert(A[k,p], i32)) }",
        other: Some(("dense", SIMILAR_DENSE)),
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Tensors(COLLECTIONS, by_hand::similar_blocks),
    },
    Kernel {
        name: "similar-runs",
        program: "tensor A: u8[K, P] {dense, runs}  tensor O: f64[K, K] dense
                  tensor R: i32[K] dense
                  O[k,l] = sqrt(convert(R[k] + R[l] - 2 * sum(p: convert(A[k,p], i32) * convert(A[l,p], i32)), f64))
                      where { R[k] = sum(p: convert(A[k,p], i32) * convert(A[k,p], i32)) }",
        other: Some(("dense", SIMILAR_DENSE)),
        operands: |a, _| vec![("A", a.clone())],
        by_hand: ByHand::Tensors(COLLECTIONS, by_hand::similar_runs),
    },
];

const TRIANGLES_WALK: &str = "tensor A: f64[N, N] csr  tensor t: f64[]
                              t[] = A[i,j] * A[j,k] * A[i,k]  schedule { protocol(A[k], walk); }";

const SIMILAR_DENSE: &str = "tensor A: u8[K, P] dense  tensor O: f64[K, K] dense
    tensor R: i32[K] dense
    O[k,l] = sqrt(convert(R[k] + R[l] - 2 * sum(p: convert(A[k,p], i32) * convert(A[l,p], i32)), f64))
        where { R[k] = sum(p: convert(A[k,p], i32) * convert(A[k,p], i32)) }";

fn a_tenth(a: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    vec![("A", a.clone()), ("x", sparse(a.extents[1], 10, seed))]
}

fn ten(a: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    vec![("A", a.clone()), ("x", few(a.extents[1], 10, seed))]
}

fn graph(a: &Arrays, _: u64) -> Vec<(&'static str, Arrays)> {
    vec![("A", a.clone())]
}

/// Its columns, in compressed rows.
fn transposed(a: &Arrays) -> Arrays {
    crate::by_hand::transpose(&[a])
}
