//! The functions paper's figures 23 and 30: sums of tensors of order 4, and the minimax of the first moves of a game, of which chess
//! has 20, 20, and then 43 on average. As many entries as the matrix has, anywhere; what is not stored is 0.

use super::{ByHand, Kernel};
use crate::arrays::Arrays;
use crate::by_hand::trees as by_hand;
use crate::generate::trees;

/// All of them.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "add-4",
        program: "tensor A: f64[I, J, K, L] csf  tensor B: f64[I, J, K, L] csf  tensor C: f64[I, J, K, L] csf
                  C[i,j,k,l] = A[i,j,k,l] + B[i,j,k,l]",
        other: None,
        operands: |a, seed| {
            // One place in sixteen.
            let side = (16.0 * a.values.len() as f64).powf(0.25).ceil() as usize;
            let [a, b] = trees(&[side; 4], a.values.len(), seed);
            vec![("A", a), ("B", b)]
        },
        by_hand: ByHand::Arrays(by_hand::add),
    },
    Kernel {
        name: "minimax-3",
        program: "tensor A: f64[I, J, K] csf  tensor s: f64[]  s[] = max(i: min(j: max(k: A[i,j,k])))",
        other: None,
        operands: |a, seed| game(3, a, seed),
        by_hand: ByHand::Arrays(by_hand::minimax),
    },
    Kernel {
        name: "minimax-5",
        program: "tensor A: f64[I, J, K, L, M] csf  tensor s: f64[]
                  s[] = max(i: min(j: max(k: min(l: max(m: A[i,j,k,l,m])))))",
        other: None,
        operands: |a, seed| game(5, a, seed),
        by_hand: ByHand::Arrays(by_hand::minimax),
    },
    Kernel {
        name: "minimax-7",
        program: "tensor A: f64[I, J, K, L, M, N, O] csf  tensor s: f64[]
                  s[] = max(i: min(j: max(k: min(l: max(m: min(n: max(o: A[i,j,k,l,m,n,o])))))))",
        other: None,
        operands: |a, seed| game(7, a, seed),
        by_hand: ByHand::Arrays(by_hand::minimax),
    },
];

/// The tree of so many moves.
fn game(moves: usize, matrix: &Arrays, seed: u64) -> Vec<(&'static str, Arrays)> {
    let extents: Vec<usize> = (0..moves).map(|m| if m < 2 { 20 } else { 43 }).collect();
    let [tree, _] = trees(&extents, matrix.values.len(), seed);
    vec![("A", tree)]
}
