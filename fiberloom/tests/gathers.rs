//! Sums of what is gathered, over fibers that are long and of all lengths: machine code against the meaning.

use fiberloom::{Engine, Format, Mode, Options, Program, Tensor, Type, Value};

const ROWS: i64 = 60;
const COLUMNS: i64 = 97;

/// Element types that lanes are gathered of, and one that none are.
const TYPES: [Type; 6] = [Type::F64, Type::F32, Type::I64, Type::I32, Type::U32, Type::U8];

/// A small whole number: sums of it are exact in any order.
fn small(ty: Type, at: &[i64]) -> Value {
    let x = at.iter().fold(3, |all, k| all * 31 + k) % 5 + 1;
    if ty.is_float() { Value::from_f64(ty, x as f64) } else { Value::from_i128(ty, x.into()) }
}

fn tensor(extents: &[i64], format: Format, ty: Type, fill: Value, entries: Vec<Vec<i64>>) -> Tensor<'static> {
    let entries = entries.into_iter().map(|at| (at.clone(), small(ty, &at)));
    let extents = extents.iter().map(|n| *n as u64).collect();
    Tensor::from_entries(extents, format, fill, Type::I32, Type::I32, entries).unwrap()
}

/// Rows of 0, 1, 2, … entries, and the longest last, where arrays end.
fn matrix(rows: i64, columns: i64, ty: Type, fill: Value) -> Tensor<'static> {
    let row = |i: i64| (0..i.min(columns)).map(move |k| vec![i, (k * 5 + i) % columns]);
    let mut entries: Vec<Vec<i64>> = (0..rows).flat_map(row).collect();
    entries.sort();
    entries.dedup();
    assert!(entries.len() as i64 >= 9 * (rows + 1), "{} entries are too few to be lanes", entries.len());
    tensor(&[rows, columns], Format::named("csr", 2).unwrap(), ty, fill, entries)
}

fn agrees(program: &str, mode: Mode, operands: &[(&str, &Tensor)]) {
    let options = Options { engine: Engine::Llvm, mode, verify: true, ..Options::default() };
    let kernel = Program::parse(program).unwrap().compile(&options).unwrap();
    let mut call = kernel.bind(operands).unwrap();
    let outcome = call.run().unwrap();
    call.agrees(&outcome).unwrap_or_else(|e| panic!("{program}: {e}"));
}

#[test]
fn folds_of_rows_of_all_lengths_are_what_they_mean() {
    for ty in TYPES {
        let (a, zero) = (matrix(ROWS, COLUMNS, ty, Value::zero(ty)), Value::zero(ty));
        let x = tensor(&[COLUMNS], Format::dense(1), ty, zero, (0..COLUMNS).map(|j| vec![j]).collect());
        for fold in
            ["sum(j: A[i,j] * x[j])", "max(j: A[i,j] * x[j])", "sum(j: select(x[j] > A[i,j], A[i,j], x[j] * A[i,j]))"]
        {
            let program =
                format!("tensor A: {ty}[I, J] csr tensor x: {ty}[J] dense tensor y: {ty}[I] dense\ny[i] = {fold}");
            for mode in [Mode::Algebraic, Mode::Strict] {
                agrees(&program, mode, &[("A", &a), ("x", &x)]);
            }
        }
    }
}

#[test]
fn of_rows_that_are_infinite_elsewhere_the_least_is_found() {
    let inf = Value::from_f64(Type::F64, f64::INFINITY);
    let a = matrix(ROWS, COLUMNS, Type::F64, inf);
    let x = tensor(&[COLUMNS], Format::dense(1), Type::F64, inf, (0..COLUMNS).map(|j| vec![j]).collect());
    let program = "tensor A: f64[I, J] fill inf csr tensor x: f64[J] fill inf dense tensor y: f64[I] fill inf dense\n\
                   y[i] = min(j: A[i,j] + x[j])";
    agrees(program, Mode::Algebraic, &[("A", &a), ("x", &x)]);
}

#[test]
fn triangles_are_counted_where_rows_are_laid() {
    for ty in [Type::F64, Type::I64] {
        let a = matrix(41, 41, ty, Value::zero(ty));
        let program = format!("tensor A: {ty}[N, N] csr tensor t: {ty}[] dense\nt[] = A[i,j] * A[j,k] * A[i,k]");
        agrees(&program, Mode::Algebraic, &[("A", &a)]);
    }
}
