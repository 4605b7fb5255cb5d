//! Results in every format that loops make, array by array.
//!
//! ```text
//!  entries of A and B, drawn ─┬─▶ A, B in rows ──▶ kernel ──▶ R
//!                             └─▶ which coordinates R stores, by the rule of the operation ──▶ a tensor of these entries
//! ```
//!
//! What is expected is made of coordinates by `Tensor::from_entries`, as lists, and converted by `Tensor::settled`: no kernel had a part
//! in it. Both have the same arrays, or both refuse the same coordinate.

use fiberloom::{Assembly, Engine, Format, LevelKind, Options, Program, Tensor, Type, Value};
use std::collections::BTreeMap;

/// Entries by coordinates; those that are stored may be 0.
type Map = BTreeMap<(i64, i64), i64>;

const N: i64 = 7;

/// Numbers that look random, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    /// A square matrix; some rows are empty, some full, and some values stored zeros.
    fn matrix(&mut self, keep: impl Fn(i64, i64) -> bool) -> Map {
        let mut map = Map::new();
        for i in 0..N {
            let some = self.below(4);
            for j in (0..N).filter(|j| keep(i, *j)) {
                if self.below(3) < some {
                    map.insert((i, j), self.below(5) as i64 - 2);
                }
            }
        }
        map
    }
}

fn tensor(map: &Map, format: &str) -> Result<Tensor<'static>, String> {
    let program = Program::parse(&format!("tensor A: i64[N, N] {format}\nR[i,j] = A[i,j]")).unwrap();
    let format: Format = program.typed().tensors[0].format.clone().unwrap();
    let entries = map.iter().map(|((i, j), v)| (vec![*i, *j], Value::from(*v)));
    let list = format.assembled();
    let made = Tensor::from_entries(vec![N as u64; 2], list, Value::from(0i64), Type::I32, Type::I32, entries);
    made.and_then(|list| list.settled(&format, &Assembly::default())).map_err(|e| e.to_string())
}

/// What a result stores: at each entry of a list, also 0; where loops count coordinates, what is not 0.
struct Operation {
    statement: &'static str,
    stored: fn(&Map, &Map) -> Map,
}

const OPERATIONS: [Operation; 6] = [
    Operation { statement: "R[i,j] = 2 * A[i,j]", stored: |a, _| a.iter().map(|(at, v)| (*at, 2 * v)).collect() },
    Operation {
        statement: "R[i,j] = A[i,j] + B[i,j]",
        stored: |a, b| {
            let mut sum = a.clone();
            b.iter().for_each(|(at, v)| *sum.entry(*at).or_default() += v);
            sum
        },
    },
    Operation {
        statement: "R[i,j] = A[i,j] * B[i,j]",
        stored: |a, b| a.iter().filter_map(|(at, v)| Some((*at, v * b.get(at)?))).collect(),
    },
    Operation { statement: "R[j,i] = A[i,j]", stored: |a, _| a.iter().map(|((i, j), v)| ((*j, *i), *v)).collect() },
    Operation {
        statement: "R[i,j] = A[i,k] * B[k,j]",
        stored: |a, b| {
            let mut product = Map::new();
            for ((i, k), v) in a {
                b.range((*k, 0)..(*k, N)).for_each(|((_, j), w)| *product.entry((*i, *j)).or_default() += v * w);
            }
            product
        },
    },
    Operation {
        statement: "R[i,j] = max(A[i,j], D[i,j])",
        stored: |a, _| {
            let all = (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
            let value = |(i, j): (i64, i64)| a.get(&(i, j)).copied().unwrap_or(0).max((i + 2 * j) % 3 - 1);
            all.map(|at| (at, value(at))).filter(|(_, v)| *v != 0).collect()
        },
    },
];

/// The program's result in one format by both engines, compared with what is expected.
fn compare(format: &str, operation: &Operation, (a, b): (&Map, &Map)) -> bool {
    let text = format!(
        "tensor A: i64[N, N] csr tensor B: i64[N, N] csr tensor D: i64[N, N] dense\ntensor R: i64[N, N] {format}\n{}",
        operation.statement
    );
    let program = Program::parse(&text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let dense: Map = (0..N).flat_map(|i| (0..N).map(move |j| ((i, j), (i + 2 * j) % 3 - 1))).collect();
    let all = [("A", tensor(a, "csr")), ("B", tensor(b, "csr")), ("D", tensor(&dense, "dense"))];
    let all = all.map(|(name, t)| (name, t.unwrap()));
    let read = |name: &str| operation.statement.contains(&format!("{name}["));
    let operands: Vec<(&str, &Tensor)> =
        all.iter().filter(|(name, _)| read(name)).map(|(name, t)| (*name, t)).collect();
    let stored = (operation.stored)(a, b);
    let expected = tensor(&stored, format);
    for engine in [Engine::Loops, Engine::Llvm] {
        let kernel = program.compile(&Options { engine, verify: true, ..Options::default() });
        let made = kernel.and_then(|kernel| kernel.run(&operands)).map_err(|e| e.to_string());
        match (&expected, made) {
            (Ok(expected), Ok(made)) => {
                let (_, made) = made.results.first().expect("a result");
                let same = (&made.levels, &made.values) == (&expected.levels, &expected.values);
                assert!(same, "{engine:?}: {text}\n{a:?}\n{b:?}\n{made:?}\n{expected:?}");
            }
            (Err(expected), Err(made)) => assert!(made.contains(expected), "{text}: {made}, expected {expected}"),
            (expected, made) => panic!("{engine:?}: {text}: {expected:?}, {:?}", made.err()),
        }
    }
    expected.is_ok()
}

/// Every level that is made below every level that may stand above it, in both orders of modes.
#[test]
fn every_format_that_loops_make() {
    let mut random = Random(1);
    let above = [LevelKind::Dense, LevelKind::Compressed, LevelKind::Hashed, LevelKind::Bytemap, LevelKind::Nonunique];
    let last = [LevelKind::Ragged, LevelKind::Band, LevelKind::Vbl, LevelKind::Blocked, LevelKind::Runs];
    for (n, operation) in OPERATIONS.iter().enumerate() {
        for outer in above {
            for inner in last {
                assert!(Format::of(vec![outer, inner]).is_made());
                let order = if random.below(2) == 0 { "" } else { " order(1, 0)" };
                let format = format!("{{{}, {}}}{order}", outer.name(), inner.name());
                let (a, b) = (random.matrix(|_, _| true), random.matrix(|_, _| true));
                // A run of zeros and stored zeros are one: what is stored in runs is a matter of values.
                let drop = |map: Map| map.into_iter().filter(|(_, v)| inner != LevelKind::Runs || *v != 0).collect();
                compare(&format, operation, (&drop(a), &drop(b)));
            }
        }
        // Triangles of triangles, and those of any matrices, most of which have a value elsewhere.
        type Side = (&'static str, fn(i64, i64) -> bool);
        let sides: [Side; 2] = [("lower", |i, j| j <= i), ("upper", |i, j| i <= j)];
        for (name, inside) in sides {
            // The transposed copy of a triangle is the same one by columns.
            let format = format!("{{dense, {name}}}{}", if n == 3 { " order(1, 0)" } else { "" });
            let is_held = compare(&format, operation, (&random.matrix(inside), &random.matrix(inside)));
            assert!(is_held || n == 5, "{format} {}", operation.statement);
            compare(&format, operation, (&random.matrix(|_, _| true), &random.matrix(|_, _| true)));
        }
    }
}
