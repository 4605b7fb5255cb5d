//! Results that arrive out of order, over extents of every magnitude, held to the meaning; and what they cost.

use fiberloom::{Engine, Format, Options, Program, Tensor, Type, Value};
use fiberloom_core::format::hash::slot;
use std::collections::BTreeMap;

const LONG: i64 = 1_000_000_000_000;
const ENGINES: [Engine; 2] = [Engine::Loops, Engine::Llvm];

fn tensor(extents: &[i64], format: &str, entries: impl IntoIterator<Item = (Vec<i64>, i64)>) -> Tensor<'static> {
    let format = Format::named(format, extents.len()).unwrap();
    let entries = entries.into_iter().map(|(at, x)| (at, Value::i64(x)));
    let extents = extents.iter().map(|n| *n as u64).collect();
    Tensor::from_entries(extents, format, Value::i64(0), Type::I64, Type::I64, entries).unwrap()
}

/// Coordinates below the extents from a linear congruence, each once, with values.
fn scattered(extents: &[i64], count: usize, mut seed: u64) -> Vec<(Vec<i64>, i64)> {
    let mut next = |below: i64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 1) as i64 % below
    };
    let mut all: Vec<Vec<i64>> = (0..count).map(|_| extents.iter().map(|n| next(*n)).collect()).collect();
    all.sort();
    all.dedup();
    all.into_iter().zip(1..).collect()
}

/// Runs a program on both engines and holds it to the meaning; returns the operations that the interpreter counted.
fn agrees(program: &str, operands: &[(&str, &Tensor)]) -> u64 {
    let program = Program::parse(program).unwrap();
    let mut total = 0;
    for engine in ENGINES {
        let options = Options { engine, memory: 1 << 28, verify: true, ..Options::default() };
        let kernel = program.compile(&options).unwrap();
        let mut call = kernel.bind(operands).unwrap();
        let outcome = call.run().unwrap();
        call.agrees(&outcome).unwrap();
        let ops = outcome.ops.into_iter().flatten();
        total += ops.filter(|(name, _)| *name == "total").map(|(_, n)| n).sum::<u64>();
    }
    total
}

#[test]
fn a_row_of_a_product_costs_what_is_there_not_its_extent() {
    let a = tensor(&[50, 50], "csr", scattered(&[50, 50], 200, 1));
    for format in ["csr", "dcsr"] {
        let program = format!(
            "tensor A: i64[I, K] csr tensor B: i64[K, J] csr tensor C: i64[I, J] {format} C[i,j] = sum(k: A[i,k] * B[k,j])"
        );
        for columns in [40, LONG, i64::MAX] {
            let b = tensor(&[50, columns], "csr", scattered(&[50, columns], 300, 2));
            assert!(agrees(&program, &[("A", &a), ("B", &b)]) < 200_000);
        }
    }
}

/// Rows to which few products come are sorted, and longer ones are read from a set: each length up to more than that, with columns that
/// come in no order, and some of them again.
#[test]
fn rows_of_every_length_are_in_order() {
    const ROWS: i64 = 140;
    let a = tensor(&[ROWS, ROWS], "csr", (0..ROWS).flat_map(|i| (0..i).map(move |k| (vec![i, k], 1 + (i + k) % 3))));
    for columns in [ROWS - 20, 1000] {
        let b = (0..ROWS).map(|k| (vec![k, k * 617 % columns], 1 + k % 5));
        let b = tensor(&[ROWS, columns], "csr", b);
        for format in ["csr", "coo"] {
            let program = format!(
                "tensor A: i64[I, K] csr tensor B: i64[K, J] csr tensor C: i64[I, J] {format} C[i,j] = sum(k: A[i,k] * B[k,j])"
            );
            agrees(&program, &[("A", &a), ("B", &b)]);
        }
    }
}

/// A scatter, whose meaning at every coordinate would be too much to ask: held to what is added up here.
fn scatters(a: &Tensor) {
    let mut meant = BTreeMap::new();
    for (at, x) in a.entries() {
        *meant.entry(vec![at[1] / 4, at[0] / 2]).or_insert(0) += x.as_i64().unwrap();
    }
    let program = Program::parse("tensor A: i64[N, K] dcsr tensor R: i64[K, N] dcsr\nR[k/4, i/2] += A[i,k]").unwrap();
    for engine in ENGINES {
        let options = Options { engine, memory: 1 << 28, verify: true, ..Options::default() };
        let outcome = program.compile(&options).unwrap().run(&[("A", a)]).unwrap();
        let made: BTreeMap<_, _> = outcome["R"].entries().map(|(at, x)| (at, x.as_i64().unwrap())).collect();
        assert_eq!(made, meant, "{engine:?}");
    }
}

#[test]
fn whole_results_out_of_order_are_as_large_as_what_is_stored() {
    // Both one number and a word for each mode, with folds and without.
    for n in [100, 1 << 30, LONG, i64::MAX] {
        let a = tensor(&[n, 1000], "dcsr", scattered(&[n, 1000], 300, 3));
        scatters(&a);
        agrees("tensor A: i64[N, K] dcsr tensor R: i64[K, N] dcsr\nR[k,i] = A[i,k]", &[("A", &a)]);
        let t = tensor(&[n, 9, n], "csf", scattered(&[n, 9, n], 300, 4));
        agrees("tensor T: i64[N, K, N] csf tensor R: i64[N, K, N] csf\nR[i,k,j] = T[j,k,i]", &[("T", &t)]);
        agrees("tensor T: i64[N, K, N] csf tensor R: i64[N, N] coo\nR[i,j] = sum(k: T[j,k,i])", &[("T", &t)]);
    }
}

#[test]
fn a_short_list_beside_a_long_extent_is_spread_without_an_array_of_it() {
    let a = tensor(&[50, LONG], "csr", scattered(&[50, LONG], 200, 5));
    let mut x: Vec<i64> = scattered(&[50, LONG], 200, 5).into_iter().map(|(at, _)| at[1]).collect();
    x.sort();
    x.dedup();
    let x = tensor(&[LONG], "sparse", x.into_iter().step_by(2).map(|at| (vec![at], 3)));
    let program = "tensor A: i64[I, J] csr tensor x: i64[J] sparse tensor y: i64[I] dense\ny[i] = A[i,j] * x[j]";
    agrees(program, &[("A", &a), ("x", &x)]);
}

#[test]
fn a_copy_in_another_order_has_no_array_of_a_long_extent() {
    let both = [50, LONG];
    let a = tensor(&both, "csr", scattered(&both, 200, 6));
    let turned = scattered(&both, 200, 6).into_iter().step_by(3).map(|(at, x)| (vec![at[1], at[0]], x));
    let b = tensor(&[LONG, 50], "dcsr", turned);
    let program = "tensor A: i64[I, J] csr tensor B: i64[J, I] dcsr tensor C: i64[J, I] dcsr\nC[j,i] = A[i,j] * B[j,i]";
    agrees(program, &[("A", &a), ("B", &b)]);
}

#[test]
fn keys_that_collide_cost_a_bounded_number_of_steps_each() {
    // Every key begins its search at one place of every table of up to 4096.
    let colliding: Vec<i64> = (0..LONG).filter(|key| slot(0, *key, 4096) == 0).take(500).collect();
    let entries = |k: i64| colliding.iter().map(move |j| (vec![k, *j], k + 1)).collect::<Vec<_>>();
    let b = tensor(&[3, LONG], "csr", (0..3).flat_map(entries));
    let a = tensor(&[2, 3], "csr", [(vec![0, 0], 1), (vec![0, 1], 2), (vec![0, 2], 3), (vec![1, 2], 4)]);
    let program =
        "tensor A: i64[I, K] csr tensor B: i64[K, J] csr tensor C: i64[I, J] csr C[i,j] = sum(k: A[i,k] * B[k,j])";
    // Four rows of 500 values with 64 places each, rehashed with as many at each growth: not 500² steps a row.
    assert!(agrees(program, &[("A", &a), ("B", &b)]) < 4_000_000);
}

/// Under two loops whose variables are collapsed to one: a workspace of the columns, too many to have a place each.
#[test]
fn rows_of_collapsed_loops_are_drained_one_by_one() {
    let program = "tensor A: i64[R, P, M] csf tensor F: i64[R, P, Q] csf
        B[n, m] = collapse(A[r, p, m] * F[r, p, q], (q, p) -> n)";
    for columns in [40, LONG] {
        let a = tensor(&[3, 4, columns], "csf", scattered(&[3, 4, columns], 30, 5));
        let f = tensor(&[3, 4, 6], "csf", scattered(&[3, 4, 6], 20, 6));
        agrees(program, &[("A", &a), ("F", &f)]);
    }
}

#[test]
fn what_does_not_fit_is_said() {
    // A dense result of that extent cannot be.
    let a = tensor(&[3, LONG], "csr", [(vec![0, 5], 1)]);
    let program = Program::parse("tensor A: i64[I, J] csr tensor y: i64[J] dense\ny[j] = A[i,j]").unwrap();
    for engine in ENGINES {
        let kernel = program.compile(&Options { engine, memory: 1 << 28, ..Options::default() }).unwrap();
        let refused = kernel.run(&[("A", &a)]).unwrap_err().to_string();
        assert!(refused.contains("memory"), "{refused}");
    }
}

/// A product with a stack of matrices needs memory for its result, and for nothing else; with a byte less it fails, and so it
/// does where the stack is made first.
#[test]
fn a_stack_is_never_made() {
    let declared = "tensor A: i64[I, J] csr tensor B: i64[K, J] csr tensor x: i64[J] dense tensor y: i64[L] dense ";
    let fused = "y[l] = sum(j: concat((A[i,j], B[k,j]), (i,k) -> l) * x[j])";
    let apart = "tensor T: i64[L, J] csr
                 y[l] = sum(j: T[l,j] * x[j]) where { T[l,j] = concat((A[i,j], B[k,j]), (i,k) -> l) }";
    let a = tensor(&[30, 40], "csr", scattered(&[30, 40], 300, 1));
    let b = tensor(&[20, 40], "csr", scattered(&[20, 40], 200, 2));
    let x = tensor(&[40], "dense", (0..40).map(|j| (vec![j], j - 20)));
    let result = (30 + 20) * 8;
    for engine in ENGINES {
        let within = |statement: &str, memory: u64| {
            let program = Program::parse(&format!("{declared}{statement}")).unwrap();
            let kernel = program.compile(&Options { engine, memory, ..Options::default() }).unwrap();
            kernel.run(&[("A", &a), ("B", &b), ("x", &x)]).map(|outcome| outcome["y"].clone())
        };
        let y = within(fused, result).unwrap();
        assert_eq!(y, within(apart, 1 << 20).unwrap());
        for (statement, memory) in [(fused, result - 1), (apart, result), (apart, 2 * result)] {
            let refused = within(statement, memory).unwrap_err().to_string();
            assert!(refused.contains("memory"), "{refused}");
        }
    }
}
