//! Programs that people write, whose operations grow as a good loop's do: counted on the interpreter at a size and at twice the size, with
//! a fixed number of entries a row. Without the plan each would be a square or worse.

use fiberloom::{Engine, Options, Program, Tensor, Type, Value};

/// Entries of a matrix or a vector of so many rows.
type Entries = Vec<(Vec<i64>, i64)>;

fn drawn(seed: &mut u64, n: i64) -> i64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) as i64 % n
}

/// So many entries a row, at places that a fixed sequence draws.
fn scattered(n: i64, row: usize) -> Entries {
    let (mut seed, mut all) = (1, Vec::new());
    for i in 0..n {
        let mut columns: Vec<i64> = (0..row).map(|_| drawn(&mut seed, n)).collect();
        columns.sort_unstable();
        columns.dedup();
        all.extend(columns.into_iter().map(|j| (vec![i, j], j % 4 + 1)));
    }
    all
}

/// Five entries around the diagonal.
fn banded(n: i64) -> Entries {
    (0..n).flat_map(|i| ((i - 2).max(0)..(i + 3).min(n)).map(move |j| (vec![i, j], j % 4 + 1))).collect()
}

fn full(rows: i64, columns: i64) -> Entries {
    (0..rows).flat_map(|i| (0..columns).map(move |j| (vec![i, j], (i + j) % 3 + 1))).collect()
}

fn vector(n: i64) -> Entries {
    (0..n).map(|i| (vec![i], i % 3 + 1)).collect()
}

/// The operations of a program on operands of this size, each in the format that is declared.
fn operations(text: &str, operands: &[(&str, Entries)]) -> u64 {
    let program = Program::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let kernel = program.compile(&Options { engine: Engine::Loops, ..Options::default() }).unwrap();
    let tensor = |(name, entries): &(&str, Entries)| {
        let (_, declared) = program.tensor(name).expect("it is declared");
        let format = declared.format.clone().expect("with a format");
        let rank = declared.sizes.len();
        let extent = |m: usize| entries.iter().map(|(at, _)| at[m] as u64 + 1).max().unwrap_or(0);
        let entries = entries.iter().map(|(at, x)| (at.clone(), Value::i64(*x)));
        let extents = (0..rank).map(extent).collect();
        let made = Tensor::from_entries(extents, format, Value::i64(0), Type::I64, Type::I64, entries);
        (name.to_string(), made.unwrap())
    };
    let tensors: Vec<(String, Tensor)> = operands.iter().map(tensor).collect();
    let operands: Vec<(&str, &Tensor)> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    let outcome = kernel.run(&operands).unwrap_or_else(|e| panic!("{text}: {e}"));
    outcome.ops.iter().flatten().find(|(name, _)| *name == "total").expect("operations are counted").1
}

/// That twice the rows cost about twice the operations.
fn grows_linearly(text: &str, operands: &dyn Fn(i64) -> Vec<(&'static str, Entries)>) {
    let [small, large] = [150, 300].map(|n| operations(text, &operands(n)));
    assert!(large < 5 * small / 2, "{text}\n{small} operations become {large}");
}

const A: &str = "tensor A: i64[N,N] csr  tensor B: i64[N,N] csr  tensor C: i64[N,N] csr  tensor x: i64[N] dense  ";

#[test]
fn sums_are_pushed_inside() {
    let all = |n: i64| vec![("A", scattered(n, 8)), ("B", scattered(n, 8)), ("C", scattered(n, 8)), ("x", vector(n))];
    for statement in [
        "y[i] = A[i,j] * B[j,k] * C[k,l] * x[l]",
        "y[i] = sum(j: A[i,j] * sum(k: B[j,k] * x[k]))",
        "y[j] = A[i,j] * A[i,k] * x[k]",
        "s[] = sum(i,j: A[i,j]) * sum(k,l: B[k,l])",
        "y[i] = (A[i,j] - x[j]) * x[j]",
    ] {
        let names = ["A", "B", "C", "x"].into_iter().filter(|name| statement.contains(&format!("{name}[")));
        let names: Vec<&str> = names.collect();
        let given = |n| all(n).into_iter().filter(|(name, _)| names.contains(name)).collect();
        grows_linearly(&format!("{A}{statement}"), &given);
    }
}

#[test]
fn products_with_thin_matrices_are_made_once() {
    let text = "tensor U: i64[N,K] dense  tensor V: i64[N,K] dense  tensor x: i64[N] dense  tensor y: i64[N] dense
        y[i] = U[i,k] * V[j,k] * x[j]";
    grows_linearly(text, &|n| vec![("U", full(n, 8)), ("V", full(n, 8)), ("x", vector(n))]);
    let text = "tensor A: i64[N,N] csr  tensor U: i64[N,K] dense  tensor V: i64[N,K] dense  tensor X: i64[N,O] dense
        tensor Z: i64[N,O] dense  Z[i,o] = A[i,j] * U[i,k] * V[j,k] * X[j,o]";
    let given = |n| vec![("A", scattered(n, 5)), ("U", full(n, 8)), ("V", full(n, 8)), ("X", full(n, 8))];
    grows_linearly(text, &given);
}

#[test]
fn short_rows_are_added_up_whatever_they_are_stored_in() {
    for level in ["band", "vbl", "blocked", "runs"] {
        let declared = format!("tensor A: i64[N,N] {{dense, {level}}}  tensor R: i64[N,N] csr  ");
        for statement in ["R[i,j] = A[i,k] * A[k,j]", "R[i,j] = A[k,i] * A[k,j]", "R[j,i] = A[i,j]"] {
            grows_linearly(&format!("{declared}{statement}"), &|n| vec![("A", banded(n))]);
        }
    }
}
