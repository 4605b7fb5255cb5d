//! Every kind of level beside every other, under every kind of operation, into a few results, on small data: against the reference
//! semantics.
//!
//! ```text
//!              + * min < far      into a dense result, a compressed one, and a scalar
//!   level × level ─────────▶      each pair of matrices below stored in them
//!
//!   . . .   1 . .   1 2 .   1 2 3
//!   . . .   . 2 .   2 . .   2 . 3       what a level has no place for is left out
//!   . . .   . . 3   . . 5   3 3 5
//! ```

use fiberloom::{Engine, Format, LevelKind, Options, Program, Tensor, Type, Value};
use std::collections::BTreeSet;

/// Operations of `A[i,j]` and `B[i,j]`: an identity, an annihilator, an idempotent one, a comparison, and a declared function.
const OPERATIONS: [(&str, &str); 5] = [
    ("+", "A[i,j] + B[i,j]"),
    ("*", "A[i,j] * B[i,j]"),
    ("min", "min(A[i,j], B[i,j])"),
    ("<", "convert(A[i,j] < B[i,j], i64)"),
    ("far", "far(A[i,j], B[i,j])"),
];

/// How their results are declared, and defined.
const RESULTS: [(&str, &str, &str); 3] = [
    ("dense", "i64[N, N] dense", "[i,j] = E"),
    ("compressed", "i64[N, N] csr", "[i,j] = E"),
    ("scalar", "i64[] dense", "[] = sum(i, j: E)"),
];

const MATRICES: [[[i64; 3]; 3]; 4] = [
    [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    [[1, 0, 0], [0, 2, 0], [0, 0, 3]],
    [[1, 2, 0], [2, 0, 0], [0, 0, 5]],
    [[1, 2, 3], [2, 0, 3], [3, 3, 5]],
];

/// Which result an operation of two levels has where not all are tried: each operation is met under every pair, each result under many.
fn chosen(levels: [LevelKind; 2], operation: usize) -> usize {
    let [a, b] = levels.map(|kind| LevelKind::ALL.iter().position(|k| *k == kind).expect("all are in the list"));
    (a + b + operation) % RESULTS.len()
}

/// The operations and results of two levels: a third of them, or all.
fn tried(levels: [LevelKind; 2]) -> Vec<(usize, usize)> {
    let all = crate::all_is_tried();
    let pairs = (0..OPERATIONS.len()).flat_map(|n| (0..RESULTS.len()).map(move |m| (n, m)));
    pairs.filter(|(n, m)| all || chosen(levels, *n) == *m).collect()
}

fn program(levels: [LevelKind; 2]) -> String {
    let mut text = "fn far(x: i64, y: i64) -> i64 { abs(x - y) } where commutative\n".to_string();
    for (name, kind) in ["A", "B"].iter().zip(levels) {
        text += &format!("tensor {name}: i64[N, N] {{dense, {}}}\n", kind.name());
    }
    for (n, m) in tried(levels) {
        let ((_, expression), (_, declared, defined)) = (OPERATIONS[n], RESULTS[m]);
        text += &format!("tensor R{n}{m}: {declared}\nR{n}{m}{}\n", defined.replace('E', expression));
    }
    text
}

/// What of a matrix a level below a dense one has a place for, stored in it.
fn stored(matrix: &[[i64; 3]; 3], kind: LevelKind) -> Tensor<'static> {
    let fits = |i: usize, j: usize| match kind {
        LevelKind::Lower => j <= i,
        LevelKind::Upper => j >= i,
        LevelKind::Singleton => matrix[i][..j].iter().all(|x| *x == 0),
        _ => true,
    };
    let places = (0..3).flat_map(|i| (0..3).map(move |j| (i, j)));
    let entries = places.filter(|&(i, j)| matrix[i][j] != 0 && fits(i, j));
    let entries = entries.map(|(i, j)| (vec![i as i64, j as i64], Value::i64(matrix[i][j])));
    let format = Format::of(vec![LevelKind::Dense, kind]).stored();
    Tensor::from_entries(vec![3, 3], format, Value::i64(0), Type::I32, Type::I32, entries).expect("it fits")
}

/// The combinations that one pair of levels has been through.
fn met(levels: [LevelKind; 2]) -> BTreeSet<String> {
    let options = Options { engine: Engine::Loops, verify: true, ..Options::default() };
    let kernel = Program::parse(&program(levels)).unwrap().compile(&options).unwrap();
    for a in &MATRICES {
        for b in &MATRICES {
            let (a, b) = (stored(a, levels[0]), stored(b, levels[1]));
            let mut call = kernel.bind(&[("A", &a), ("B", &b)]).unwrap();
            let outcome = call.run().unwrap();
            call.agrees(&outcome).unwrap_or_else(|e| panic!("{levels:?}: {e}"));
            assert_eq!(outcome.results.len(), tried(levels).len());
        }
    }
    let [a, b] = levels.map(LevelKind::name);
    let named = |(n, m): (usize, usize)| format!("{} of {a}, {b} into {}", OPERATIONS[n].0, RESULTS[m].0);
    tried(levels).into_iter().map(named).collect()
}

#[test]
fn every_level_beside_every_other_under_every_operation() {
    let kinds = LevelKind::ALL;
    let pairs: Vec<[LevelKind; 2]> = kinds.iter().flat_map(|a| kinds.iter().map(move |b| [*a, *b])).collect();
    let half = |n: usize| pairs.iter().copied().skip(n).step_by(2).flat_map(met).collect::<BTreeSet<String>>();
    let seen = std::thread::scope(|s| {
        let parts = [0, 1].map(|n| s.spawn(move || half(n)));
        parts.into_iter().flat_map(|part| part.join().expect("it answers as the meaning")).collect::<BTreeSet<String>>()
    });
    println!("{} of {} combinations", seen.len(), kinds.len().pow(2) * OPERATIONS.len() * RESULTS.len());
    let results = tried([kinds[0], kinds[0]]).len() / OPERATIONS.len();
    assert_eq!(seen.len(), 17 * 17 * 5 * results, "some combination is missing");
    let into = |result: &str| seen.iter().filter(|what| what.ends_with(result)).count();
    assert!(RESULTS.iter().all(|(result, ..)| into(result) > 17 * 17), "{seen:?}");
}
