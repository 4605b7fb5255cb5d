//! The formats of undeclared results: the table of `docs/format.md`, and what sizes decide.

use fiberloom::{Array, Format, Options, Program, Tensor, Type, Value};

/// What the table says of its operands.
const OPERANDS: &str =
    "tensor A: f64[N1, N2] csr  tensor B: f64[N3, N4] csr  tensor C: f64[N5, N6] csc  tensor D: f64[N7, N8] csc
tensor E: f64[N9, N10] dcsr  tensor X: f64[N11, N12] dense  tensor Y: f64[N13, N14] dense
tensor b: f64[N15] dense  tensor v: f64[N16] sparse  tensor T: f64[N17, N18, N19] csf  tensor n: i64[N20] dense\n";

/// The format of the tensor that a program's last statement defines.
fn format(text: &str) -> String {
    let program = Program::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let last = program.typed().statements.last().expect("there is a statement").tensor;
    program.format(last).to_string()
}

#[test]
fn the_table_of_the_docs_holds() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/format.md")).expect("the page is there");
    let section = page.split("## Undeclared results").nth(1).expect("the section is there");
    let section = section.split("\n## ").next().expect("it ends");
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
        .collect();
    assert_eq!(rows.len(), 11);
    for row in rows {
        assert_eq!(format(&format!("{OPERANDS}{}", row[1])), row[2], "{}", row[1]);
    }
}

/// What the table leaves out: each statement, with the format that the rule gives it.
#[test]
fn formats_follow_from_statements() {
    for (statement, expected) in [
        ("R[j,i] = A[i,j]", "{dense, compressed} order(1, 0)"),
        ("R[i,j] = C[n[i], n[j]]", "{dense, compressed} order(1, 0)"),
        ("R[i,j] = A[n[j], i]", "{dense, compressed} order(1, 0)"),
        ("R[i,j] = C[i,j] * A[i,j]", "{dense, compressed}"),
        ("R[i,j] = v[i] * b[j]", "{compressed, dense}"),
        ("R[i,j] = b[i] * v[j]", "{dense, compressed}"),
        ("R[i,j] = E[i,j] + A[i,j]", "{dense, compressed}"),
        ("R[i,k] = E[i,j] * B[j,k]", "{compressed, compressed}"),
        ("R[i,k] = E[i,j] * X[j,k]", "{compressed, dense}"),
        ("R[k,i] = X[k,j] * A[i,j]", "{dense, dense}"),
        ("R[i,j] = A[i,j] + b[i]", "{dense, dense}"),
        ("R[i,j] = A[i,j] + X[i,j]", "{dense, dense}"),
        ("R[i,j] = A[i,j] * X[i,j]", "{dense, compressed}"),
        ("R[i,j] = A[i,j] * sum(k: X[i,k] * Y[k,j])", "{dense, compressed}"),
        ("R[i,k] = max(sum(j: A[i,j] * X[j,k]), 0.0)", "{dense, dense}"),
        ("R[i,j] = exp(A[i,j])", "{dense, compressed}"),
        ("R[i,j] = if b[j] > 0.0 then A[i,j] else 0.0", "{dense, compressed}"),
        ("R[i,j,k] = A[i,j] * b[k]", "{dense, compressed, dense}"),
        ("R[k,i,j] = b[k] * A[i,j]", "{dense, dense, compressed}"),
        ("R[i,k] = T[i,j,k] * b[j]", "{compressed, compressed}"),
        ("R[l] = concat((v[i], v[j]), (i,j) -> l)", "{compressed}"),
        ("R[l,j] = concat((A[i,j], B[k,j]), (i,k) -> l)", "{dense, compressed}"),
        ("R[i,l] = concat((A[i,j], B[i,k]), (j,k) -> l)", "{dense, compressed}"),
        ("R[i,k] = slice(A[i,j], j -> k, 1:3)", "{dense, compressed}"),
        ("R[k] = collapse(A[i,j], (i,j) -> k)", "{dense}"),
        ("R[k] = collapse(E[i,j], (i,j) -> k)", "{compressed}"),
        ("y[i] = A[i,j] * b[j]", "{dense}"),
        ("y[i] = 2.0 * v[i]", "{compressed}"),
        ("y[i] = v[i] + b[i]", "{dense}"),
        ("s[i] = sum(j: A[i,j])  R[i,j] = A[i,j] / s[i]", "{dense, compressed}"),
        ("P[i,j] = A[i,j] * 2.0  P[i,j] += b[j]", "{dense, dense}"),
        ("P[i,j] = A[i,j] * 2.0  P[0,j] = b[j]", "{dense, compressed}"),
        (
            "fn f(x: f64, y: f64) -> f64 { x * y } where annihilator(0.0)  R[i,j] = f(A[i,j], b[j])",
            "{dense, compressed}",
        ),
    ] {
        assert_eq!(format(&format!("{OPERANDS}{statement}")), expected, "{statement}");
    }
}

/// A csr matrix of these extents with 1.0 on its diagonal, as far as `entries` go.
fn diagonal(extents: [u64; 2], entries: i64) -> Tensor<'static> {
    let entries = (0..entries).map(|i| (vec![i, i], Value::from_f64(Type::F64, 1.0)));
    let format = Format::named("csr", 2).expect("it is a matrix's");
    Tensor::from_entries(extents.to_vec(), format, Value::zero(Type::F64), Type::I32, Type::I32, entries)
        .expect("in order")
}

/// The format of `y`, or `R`, made of these.
fn made(text: &str, operands: &[(&str, &Tensor)]) -> String {
    let kernel = Program::parse(text).unwrap().compile(&Options::default()).unwrap();
    let outcome = kernel.run(operands).unwrap();
    outcome.results.last().expect("there is a result").1.format.to_string()
}

#[test]
fn sizes_decide_beyond_sixteen_coordinates_an_entry() {
    let columns = "tensor A: f64[I, J] csr  y[j] = sum(i: A[i,j])";
    assert_eq!(made(columns, &[("A", &diagonal([3, 48], 3))]), "{dense}");
    assert_eq!(made(columns, &[("A", &diagonal([3, 49], 3))]), "{compressed}");
    assert_eq!(made(columns, &[("A", &diagonal([3, 1 << 40], 3))]), "{compressed}");
    // Rows are a matter of the operand's own positions, however few entries there are.
    let rows = "tensor A: f64[I, J] csr  y[i] = sum(j: A[i,j])";
    assert_eq!(made(rows, &[("A", &diagonal([1000, 3], 3))]), "{dense}");
    let product = "tensor A: f64[I, K] csr  tensor X: f64[K, J] dense  R[i,j] = A[i,k] * X[k,j]";
    let x = |extents: [u64; 2]| {
        let values = vec![1.0; (extents[0] * extents[1]) as usize];
        Tensor::dense(extents.to_vec(), Value::zero(Type::F64), Array::from(values)).unwrap()
    };
    assert_eq!(made(product, &[("A", &diagonal([20, 3], 3)), ("X", &x([3, 4]))]), "{dense, dense}");
    assert_eq!(made(product, &[("A", &diagonal([1000, 3], 3)), ("X", &x([3, 4]))]), "{dense, compressed}");
    // What has a value everywhere is dense.
    let sum = "tensor A: f64[I, J] csr  tensor b: f64[J] dense  R[i,j] = A[i,j] + b[j]";
    let b = Tensor::dense(vec![30], Value::zero(Type::F64), Array::from(vec![1.0; 30])).unwrap();
    assert_eq!(made(sum, &[("A", &diagonal([1000, 30], 3)), ("b", &b)]), "{dense, dense}");
}
