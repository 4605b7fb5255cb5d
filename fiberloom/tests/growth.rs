//! Programs that people write, whose operations grow as a good loop's do: counted on the interpreter at a size and at twice the size, with
//! a fixed number of entries a row. Without the plan each would be a square or worse.

use fiberloom::{Engine, Mode, Options, Program, Tensor, Type, Value};

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

/// A sum of so many copies of a vector, each shifted further.
fn shifted(count: usize) -> String {
    let copies: Vec<String> = (0..count).map(|k| format!("coalesce(v[~(i + {k} - 3)], 0)")).collect();
    format!("tensor v: i64[N] sparse  tensor R: i64[N] sparse  R[i] = {}", copies.join(" + "))
}

/// A vector of so many entries, the last of which is the last of its extent.
fn sparse(entries: i64, extent: i64) -> Entries {
    (1..=entries).map(|k| (vec![k * (extent / entries) - 1], k % 4 + 1)).collect()
}

#[test]
fn shifted_copies_visit_what_is_stored() {
    let [near, far] = [4_000, 4_000_000].map(|n| operations(&shifted(7), &[("v", sparse(20, n))]));
    assert!(far < near + near / 10, "{near} operations become {far} in a longer vector");
    for copies in [5, 9, 30] {
        // Each of the entries that all copies have is compared with the next of each copy.
        let count = operations(&shifted(copies), &[("v", sparse(50, 100_000))]);
        assert!(count < 20 * (copies * copies * 50) as u64, "{count} operations for {copies} copies");
    }
    let places = || (0..3).flat_map(|p| (0..3).map(move |q| (p, q)));
    let copies: Vec<String> =
        places().map(|(p, q)| format!("coalesce(A[~(i + {p} - 1), ~(j + {q} - 1)], 0)")).collect();
    let declared = "tensor A: i64[N,N] csr  tensor R: i64[N,N] csr  ";
    grows_linearly(&format!("{declared}R[i,j] = {}", copies.join(" + ")), &|n| vec![("A", scattered(n, 5))]);
    let text =
        "dim K = 3  tensor g: i64[K,K] dense  R[i,j] = sum(k, l: coalesce(A[~(i + k - 1), ~(j + l - 1)], 0) * g[k,l])";
    grows_linearly(&format!("{declared}{text}"), &|n| vec![("A", scattered(n, 5)), ("g", full(3, 3))]);
}

/// The loops of shifted copies are no more than 40 lines for each access, and each range
/// that a window or a concatenation has in the text.
#[test]
fn loops_are_linear_in_shifted_copies() {
    let sum = |copies: usize, one: &dyn Fn(usize) -> String| (0..copies).map(one).collect::<Vec<_>>().join(" + ");
    let vector = "tensor v: i64[N] sparse  tensor R: i64[M] sparse  ";
    let joined = "tensor u: i64[50] sparse  tensor v: i64[N] sparse  tensor R: i64[M] sparse  ";
    let matrix = "tensor A: i64[M,N] csr  tensor R: i64[M,N] csr  ";
    for copies in [2, 3, 4, 5, 9, 30] {
        let texts = [
            (3, format!("{vector}R[i] = v[i] + {}", sum(copies, &|k| format!("coalesce(v[~(i + {k} - 3)], 0)")))),
            (3, format!("{vector}R[i] = v[i] + {}", sum(copies, &|k| format!("coalesce(v[~(i + {k} - 3)], 1)")))),
            (1, format!("{vector}R[i] = {}", sum(copies, &|k| format!("v[i({k}:{})]", 1000 + k)))),
            (
                3,
                format!("{matrix}R[i,j] = A[i,j] + {}", sum(copies, &|k| format!("coalesce(A[i, ~(j + {k} - 3)], 0)"))),
            ),
            (
                5,
                format!(
                    "{joined}R[l] = {}",
                    sum(copies, &|k| {
                        let parts = format!("u[p{k}(0:{})], v[q{k}], u[r{k}(0:{})]", k + 1, 40 - k);
                        format!("concat(({parts}), (p{k}, q{k}, r{k}) -> l)")
                    })
                ),
            ),
            (
                6,
                format!(
                    "{matrix}R[i,j] = A[i,j] + {}",
                    sum(copies, &|k| { format!("coalesce(A[~(i + {} - 1), ~(j + {} - 2)], 0)", k / 5, k % 5) })
                ),
            ),
        ];
        for (ranges, text) in texts {
            let lowered = Program::parse(&text)
                .and_then(|p| p.lowered(Mode::Algebraic))
                .unwrap_or_else(|e| panic!("{text}: {e}"));
            let lines = lowered.kernel.to_string().lines().count();
            let most = 40 * (copies + 1) * (1 + ranges);
            assert!(lines <= most, "{lines} lines of loops, where {most} are enough: {text}");
        }
    }
}

/// Values that have to be equal are looked up: small ones, strides, those that are all alike modulo the extent, and pairs.
#[test]
fn equal_values_are_looked_up() {
    let text = "tensor p: i64[I] dense  tensor q: i64[J] dense  s[] = sum(i, j: mask(p[i] == q[j], 1))";
    let by: [fn(i64) -> i64; 5] = [|_| 1, |_| -3, |n| n, |n| n - 1, |_| 1 << 40];
    for stride in by {
        let keys = |n: i64, seed: i64| (0..n).map(|i| (vec![i], (i * 7 + seed) % n * stride(n))).collect::<Entries>();
        grows_linearly(text, &|n| vec![("p", keys(n, 0)), ("q", keys(n, 5))]);
    }
    let text = "tensor p: i64[I] dense  tensor q: i64[J] dense  tensor a: i64[I] dense  tensor b: i64[J] dense  tensor y: i64[I] dense  \
                y[i] = a[i] + sum(j: if p[i] == q[j] && b[j] == a[i] then b[j] else 0)";
    // Of each pair's parts there are few: only both together tell.
    let part = |n: i64, of: fn(i64, i64) -> i64| (0..n).map(|i| (vec![i], of(i, 16))).collect::<Entries>();
    let pairs = |n| {
        let (low, high) = (part(n, |i, m| i % m), part(n, |i, m| i / m));
        vec![("p", low.clone()), ("q", low), ("a", high.clone()), ("b", high)]
    };
    grows_linearly(text, &pairs);
}

/// A fold up to where the turn is goes on from the turn before, over places and over lists.
#[test]
fn prefixes_go_on() {
    let declared = "tensor x: i64[N] dense  tensor c: i64[N] dense  ";
    for statement in [
        "c[i] = sum(k: if k <= i then x[k] else 0) + x[i]",
        "c[i] = x[i] * sum(k: if k < i + 2 then x[k] * x[k] else 0)",
    ] {
        grows_linearly(&format!("{declared}{statement}"), &|n| vec![("x", vector(n))]);
    }
    let text = format!("{declared}tensor v: i64[N] sparse  c[i] = sum(k: if k < i then v[k] else 0) * x[i]");
    grows_linearly(&text, &|n| vec![("x", vector(n)), ("v", sparse(n / 5, n))]);
}

/// Ranges of all loops of a statement count together, whatever splits them: the windows of each loop, and the intervals and pieces
/// of levels. Lines are no more than 40 for each access and each range of its windows and levels.
#[test]
fn loops_are_linear_in_windows_of_several_levels() {
    let levels =
        ["dense, dense", "compressed, compressed", "blocked, hashed", "runs, runs", "band, vbl", "packbits, vbl"];
    let windows = |copies: usize| {
        let shift = |k: usize, by: usize| format!("{} {}", if k.is_multiple_of(2) { "+" } else { "-" }, (k * by) % 5);
        let window =
            |k: usize| format!("coalesce(A[~(i {}), ~(j {})], {})", shift(k, 2), shift(k + 1, 3), k % 3 / 2 * 7);
        (0..copies).map(window).collect::<Vec<_>>().join(" - ")
    };
    for (levels, copies) in levels.iter().flat_map(|levels| [3, 7, 14].map(|copies| (levels, copies))) {
        let text = format!(
            "tensor A: i64[P,Q] {{{levels}}}  tensor B: i64[M,N,L] {{blocked, hashed, blocked}} order(1, 0, 2)  \
             tensor R: i64[M,N,L] {{dense, dense, compressed}}  R[i,j,k] = ({}) + B[i,j,k]",
            windows(copies)
        );
        let lowered =
            Program::parse(&text).and_then(|p| p.lowered(Mode::Algebraic)).unwrap_or_else(|e| panic!("{text}: {e}"));
        let lines = lowered.kernel.to_string().lines().count();
        // Of a window: itself, three ranges of rows and, within it, of columns, and three of each level.
        let most = 40 * (copies * (1 + 5 + 6) + 1 + 9);
        assert!(lines <= most, "{lines} lines of loops, where {most} are enough: {text}");
    }
}

/// Operands of statements about layers: two dense matrices, sparse ones, a mask, vectors.
fn of_layers(text: &str) -> Vec<(&'static str, Entries)> {
    let n = 40;
    let all = [
        ("A", full(n, n)),
        ("B", full(n, n)),
        ("S", scattered(n, 4)),
        ("T", scattered(n, 4)),
        ("X", full(n, 16)),
        ("b", vector(16)),
        ("z", vector(n)),
    ];
    all.into_iter().filter(|(name, _)| text.contains(&format!("{name}["))).collect()
}

#[test]
fn functions_around_folds_cost_what_two_statements_do() {
    let declared = "tensor A: i64[I,K] dense  tensor B: i64[K,J] dense  tensor S: i64[I,K] csr  tensor T: i64[K,J] csr  \
        tensor X: i64[K,L] dense  tensor b: i64[L] dense  tensor z: i64[I] dense  ";
    let [product, layer] = ["tensor C: i64[I,J] dense  ", "tensor C: i64[I,L] dense  "];
    let [row, thin] = ["tensor P: i64[I,J] dense  ", "tensor P: i64[I,L] dense  "];
    for (result, part, fold, whole) in [
        (product, row, "sum(k: A[i,k] * B[k,j])", "max(P, 3)"),
        (product, row, "min(k: A[i,k] + B[k,j])", "2 * P - z[i]"),
        (product, row, "sum(k: A[i,k] * T[k,j])", "max(P, 3)"),
        (product, "tensor P: i64[I,J] csr  ", "sum(k: S[i,k] * T[k,j])", "max(P, 0)"),
        (layer, thin, "sum(k: S[i,k] * X[k,j])", "max(P + b[j], 3)"),
        (layer, thin, "max(k: S[i,k] * X[k,j])", "P / z[i]"),
        (layer, thin, "sum(k: S[i,k] * X[k,j])", "P * P"),
    ] {
        let used = |text: &str| -> String {
            let each = declared.split("  ").filter(|tensor| !tensor.is_empty());
            each.filter(|tensor| text.contains(&format!("{}[", &tensor[7..8]))).map(|t| format!("{t}  ")).collect()
        };
        let one = format!("{result}C[i,j] = {}", whole.replace('P', fold));
        let two = format!("{part}{result}P[i,j] = {fold}  C[i,j] = {}", whole.replace('P', "P[i,j]"));
        let [one, two] = [one, two].map(|text| {
            let given = of_layers(&text);
            operations(&format!("{}{text}", used(&text)), &given)
        });
        assert!(10 * one <= 11 * two, "{fold} in {whole}: {one} operations, {two} in two statements");
    }
}

/// Folds over ranges that begin or end with another variable are taken further from coordinate to coordinate: in a vector, in each row,
/// along columns, in both modes.
#[test]
fn folds_over_parts_go_on() {
    let vectors = "tensor x: i64[N] dense  tensor y: i64[N] dense  ";
    for statement in [
        "y[i] = sum(j: if j <= i then x[j] else 0)",
        "y[i] = sum(j: if j >= i then x[j] else 0)",
        "y[i] = sum(j: if j > i + 2 then x[j] else 0)",
        "y[i] = sum(j: mask(j >= i, x[j]))",
        "y[i] = max(j: if j >= i then x[j] else -9223372036854775808)",
        "y[i] = count(j: j <= i && x[j] > 1)",
        "y[i] = count(j: j >= i && x[j] > 1)",
    ] {
        grows_linearly(&format!("{vectors}{statement}"), &|n| vec![("x", vector(n))]);
    }
    let matrices = "tensor M: i64[N,K] dense  tensor R: i64[N,K] dense  ";
    for statement in [
        "R[i,j] = sum(k: if k <= i then M[k,j] else 0)",
        "R[i,j] = sum(k: if k >= i then M[k,j] else 0)",
        "R[i,j] = max(k: if k <= i then M[k,j] else -9223372036854775808)",
        "R[i,j] = sum(k, l: if k <= i && l <= j then M[k,l] else 0)",
        "R[i,j] = sum(k: if k <= i then sum(l: if l >= j then M[k,l] else 0) else 0)",
    ] {
        grows_linearly(&format!("{matrices}{statement}"), &|n| vec![("M", full(n, 8))]);
    }
    let wide = "tensor M: i64[K,N] dense  tensor R: i64[K,N] dense  ";
    for statement in [
        "R[i,j] = sum(k: if k <= j then M[i,k] else 0)",
        "R[i,j] = sum(k: if k >= j then M[i,k] else 0)",
        "R[i,j] = sum(k, l: if k <= i && l <= j then M[k,l] else 0)",
    ] {
        grows_linearly(&format!("{wide}{statement}"), &|n| vec![("M", full(8, n))]);
    }
}

/// Folds along a mode in which a matrix is not stored visit what is stored, whatever the function, and what others have.
#[test]
fn folds_of_columns_visit_entries() {
    for statement in [
        "y[j] = max(i: A[i,j])",
        "y[j] = min(i: A[i,j])",
        "y[j] = prod(i: A[i,j])",
        "y[j] = sum(i: A[i,j] * A[i,j])",
        "y[j] = sum(i: (A[i,j] - x[j]) * (A[i,j] - x[j]))",
        "y[j] = count(i: A[i,j] > 1)",
        "y[j] = max(i: abs(A[i,j] - 2))",
    ] {
        let text = format!("tensor A: i64[N,N] csr  tensor x: i64[N] dense  tensor y: i64[N] dense  {statement}");
        let given = |n| match statement.contains('x') && statement.contains("x[") {
            true => vec![("A", scattered(n, 8)), ("x", vector(n))],
            false => vec![("A", scattered(n, 8))],
        };
        grows_linearly(&text, &given);
    }
}

/// Elements and rows that turns change are written alone.
#[test]
fn turns_write_what_they_change() {
    let text = "tensor L: i64[N,N] csr  tensor b: i64[N] dense  tensor x: i64[N] dense  tensor k: i64[] dense
        k[] = 0  x[i] = 0  repeat N { x[k[]] = b[k[]] - sum(j: L[k[],j] * x[j])  k[] = k[] + 1 }";
    grows_linearly(text, &|n| vec![("L", scattered(n, 5)), ("b", vector(n))]);
    let text = "tensor b: i64[N] dense  tensor V: i64[N,K] dense  tensor k: i64[] dense  dim K = 8
        k[] = 0  V[i,j] = b[i]  repeat N { V[k[],j] = V[k[],j] + b[k[]] * j  k[] = k[] + 1 }";
    grows_linearly(text, &|n| vec![("b", vector(n))]);
    let text = "tensor b: i64[N] dense  tensor x: i64[N] dense  tensor k: i64[] dense
        k[] = 0  x[i] = 0  repeat N { x[i] = if i == k[] then b[k[]] else x[i]  x[k[]] += 2  k[] = k[] + 1 }";
    grows_linearly(text, &|n| vec![("b", vector(n))]);
}

/// Formats of matrices, as operands and as results.
const FORMATS: [&str; 4] = ["csr", "csc", "coo", "dcsr"];

/// Entries of a permutation's values.
fn permutation(n: i64) -> Entries {
    (0..n).map(|i| (vec![i], 1 + (i * 7 + 3) % n)).collect()
}

/// That a statement's operations grow linearly for matrices in each format. `P` is a permutation, counted from 1.
fn grows_linearly_in_each_format(statement: &str) {
    let names: Vec<&str> =
        ["A", "B", "P", "x"].into_iter().filter(|name| statement.contains(&format!("{name}["))).collect();
    for (a, b) in FORMATS.into_iter().flat_map(|a| [(a, a), (a, "coo")]) {
        let declared =
            format!("tensor A: i64[N,N] {a}  tensor B: i64[N,N] {b}  tensor P: i64[N] dense  tensor x: i64[N] dense  ");
        let all =
            |n: i64| vec![("A", scattered(n, 4)), ("B", scattered(n, 5)), ("P", permutation(n)), ("x", vector(n))];
        let given = |n| all(n).into_iter().filter(|(name, _)| names.contains(name)).collect();
        let results = match statement.starts_with('R') {
            true => &["tensor R: i64[N,N] csr  ", "tensor R: i64[N,N] csc  "][..],
            false => &[""],
        };
        results.iter().for_each(|result| grows_linearly(&format!("{declared}{result}{statement}"), &given));
    }
}

#[test]
fn reversed_and_gathered_rows_and_columns_are_walked() {
    for statement in ["R[i,j] = A[i, P[j] - 1]", "R[i,j] = A[P[j] - 1, i]", "R[i,k] = A[i,j] * B[P[j] - 1, k]"] {
        grows_linearly_in_each_format(statement);
    }
    for (a, r) in FORMATS.into_iter().flat_map(|a| [(a, "csr"), (a, "csc")]) {
        for at in ["i, N-1-j", "N-1-i, j", "N-1-j, N-1-i"] {
            let text = format!("tensor A: i64[N,N] {a}  tensor R: i64[N,N] {r}  R[i,j] = A[{at}]");
            grows_linearly(&text, &|n| vec![("A", scattered(n, 4))]);
        }
        let text = format!("tensor A: i64[N,N] {a}  tensor R: i64[300,300] {r}  R[i,j] = A[i/2, j/2]");
        grows_linearly(&text, &|n| vec![("A", scattered(n, 4))]);
    }
}

#[test]
fn columns_are_reduced_as_rows_are() {
    for statement in
        ["x[j] = max(i: A[i,j])", "x[i] = max(j: abs(A[i,j]))", "x[j] = sum(i: (A[i,j] - 1) * (A[i,j] - 1))"]
    {
        grows_linearly_in_each_format(&statement.replace("x[", "y["));
    }
}

#[test]
fn lists_are_compared_where_keys_are_equal() {
    for statement in ["R[i,j] = mask(P[i] % 10 == P[j] % 10, A[i,j])", "R[i,j] = mask(i == j, x[i]) - A[i,j]"] {
        grows_linearly_in_each_format(statement);
    }
}

#[test]
fn a_list_that_stays_is_asked_beside_one_that_some_loop_moves() {
    grows_linearly_in_each_format("R[i,l] = A[i,j] * B[j,k] * A[k,l]");
}

/// Six entries a slice, in slices of a quarter as many rows and columns.
fn slices(n: i64) -> Entries {
    let (mut seed, m) = (7, n / 4);
    let mut all: Entries = (0..n)
        .flat_map(|i| (0..6).map(move |_| i))
        .map(|i| (vec![i, drawn(&mut seed, m), drawn(&mut seed, m)], i % 4 + 1))
        .chain([(vec![0, m - 1, m - 1], 1)])
        .collect();
    all.sort();
    all.dedup_by(|a, b| a.0 == b.0);
    all
}

#[test]
fn any_mode_of_a_tensor_is_reduced_in_time_that_its_entries_take() {
    for format in
        ["csf", "coo", "{dense, compressed, compressed}", "{compressed, compressed, compressed} order(2, 1, 0)"]
    {
        for statement in ["R[i,j] = max(k: T[i,j,k])", "R[i,k] = max(j: T[i,j,k])", "R[j,k] = min(i: T[i,j,k])"] {
            let text = format!("tensor T: i64[N,L,K] {format}  {statement}");
            grows_linearly(&text, &|n| vec![("T", slices(n))]);
        }
    }
}

#[test]
fn bands_are_followed_in_either_order() {
    let declared = "tensor A: i64[N,N] {dense, band}  tensor B: i64[N,N] {dense, band}  tensor P: i64[N] dense  \
        tensor x: i64[N] dense  tensor R: i64[N,N] csr  ";
    for statement in [
        "R[i,j] = A[i,j] + A[j,i]",
        "R[i,j] = A[i,j] * A[i,k] * B[k,j]",
        "s[] = A[i,j] * B[j,k] * A[k,i]",
        "y[i] = A[i, P[j] - 1] * x[j]",
        "y[j] = max(i: A[i,j])",
    ] {
        let all = |n: i64| vec![("A", banded(n)), ("B", banded(n)), ("P", permutation(n)), ("x", vector(n))];
        let given = |n| all(n).into_iter().filter(|(name, _)| statement.contains(&format!("{name}["))).collect();
        grows_linearly(&format!("{declared}{statement}"), &given);
    }
}

#[test]
fn runs_of_the_fill_value_are_passed_over() {
    let declared = "tensor A: i64[N,N] {dense, runs}  tensor B: i64[N,N] {dense, runs}  tensor x: i64[N] dense  \
        tensor y: i64[N] dense  tensor R: i64[N,N] csr  ";
    for statement in ["y[j] += A[i,j] * x[i]", "R[i,j] = A[i,j] - B[i,j]"] {
        let all = |n: i64| vec![("A", banded(n)), ("B", banded(n)), ("x", vector(n)), ("y", vector(n))];
        let given = |n| all(n).into_iter().filter(|(name, _)| statement.contains(&format!("{name}["))).collect();
        grows_linearly(&format!("{declared}{statement}"), &given);
    }
}

#[test]
fn a_middle_mode_of_a_tree_is_gathered() {
    for format in ["csf", "{dense, compressed, compressed}"] {
        let declared = format!("tensor T: i64[N,L,K] {format}  tensor P: i64[L] dense  ");
        for result in ["", "tensor R: i64[N,L,K] csf  "] {
            let text = format!("{declared}{result}R[i,j,k] = T[i, P[j] - 1, k]");
            grows_linearly(&text, &|n| vec![("T", slices(n)), ("P", permutation(n / 4))]);
        }
    }
}

/// The coordinates between a row's entries take no time where the first of some value is wanted, or the last.
#[test]
fn the_first_coordinate_of_the_largest_value_is_found_among_entries() {
    for statement in [
        "m[i] = max(j: A[i,j])  y[i] = min(j: if A[i,j] == m[i] then j else N)",
        "m[i] = min(j: A[i,j])  y[i] = max(j: if A[i,j] == m[i] then j else -1)",
    ] {
        grows_linearly(&format!("tensor A: i64[N,N] csr  {statement}"), &|n| vec![("A", scattered(n, 4))]);
    }
}
