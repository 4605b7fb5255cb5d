//! From text to callable, in a running process; and the way from a program to its cached kernel.

use crate::arrays::Arrays;
use crate::generate::{Kind, dense};
use crate::measure::middle;
use fiberloom::{Error, Operand, Options, Program, Tensor};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Times of each program compile; medians are reported.
const TIMES: usize = 5;

/// A name, and the median time.
pub type Row = (String, Duration);

/// Measures all.
///
/// # Errors
/// If a program does not compile or run.
pub fn all() -> Result<Vec<Row>, Error> {
    let matrix = Kind::Uniform.matrix(1000, 1).expect("drawn");
    let mut rows = Vec::new();
    compiled(2, &matrix, 0)?; // The first use of LLVM in a process sets it up.
    for (name, operands) in [("sum of 2", 2), ("sum of 5", 5), ("sum of 16 CSR matrices", 16)] {
        let times = (1..=TIMES).map(|n| compiled(operands, &matrix, n)).collect::<Result<_, _>>()?;
        rows.push((format!("{name}: text to callable"), middle(times)));
    }
    let times = (1..=TIMES).map(spmv).collect::<Result<_, _>>()?;
    rows.push(("spmv: text to callable".to_string(), middle(times)));
    let times = (1..=TIMES).map(spgemm).collect::<Result<_, _>>()?;
    rows.push(("spgemm: text to callable".to_string(), middle(times)));
    let tensor = matrix.tensor();
    let program = Program::parse(&sum(2, 0))?;
    let operands = [("A0", &tensor), ("A1", &tensor)];
    let dispatch = || -> Result<Duration, Error> {
        let begin = Instant::now();
        program.compile(&Options::default())?.bind(&operands)?.compile()?;
        Ok(begin.elapsed())
    };
    let times = (0..101).map(|_| dispatch()).collect::<Result<_, _>>()?;
    rows.push(("sum of 2: kernel from the cache, operands checked".to_string(), middle(times)));
    for n in [100, 1000] {
        calls(n, &mut rows)?;
    }
    checks(1_000_000, &mut rows)?;
    Ok(rows)
}

/// How often a cached kernel is called.
const CALLS: usize = 1001;

/// Calls of cached kernels on matrices with `n` entries: the whole call, operands in, results out.
fn calls(n: usize, rows: &mut Vec<Row>) -> Result<(), Error> {
    let matrix = Kind::Uniform.matrix(n, 1).expect("drawn");
    let x = dense(&matrix.extents[1..], 2);
    let (a, x) = (matrix.tensor(), x.tensor());
    rows.push((format!("spmv of {n}: called, operands checked"), called(SPMV, &[("A", &a), ("x", &x)])?));
    rows.push((format!("sum of 2 of {n}: called, operands checked"), called(&sum(2, 0), &[("A0", &a), ("A1", &a)])?));
    let (a, x) = (a.checked().expect("well-formed"), x.checked().expect("well-formed"));
    rows.push((format!("spmv of {n}: called, checked before"), called(SPMV, &[("A", &a), ("x", &x)])?));
    rows.push((format!("sum of 2 of {n}: called, checked before"), called(&sum(2, 0), &[("A0", &a), ("A1", &a)])?));
    Ok(())
}

/// What it takes to check a matrix with `n` entries and to multiply it, taking turns.
fn checks(n: usize, rows: &mut Vec<Row>) -> Result<(), Error> {
    let matrix = Kind::Uniform.matrix(n, 1).expect("drawn");
    let x = dense(&matrix.extents[1..], 2);
    let (a, x) = (matrix.tensor(), x.tensor().checked().expect("well-formed"));
    let checked = a.borrow().checked().expect("well-formed");
    let operands = [("A", Operand::from(&checked)), ("x", Operand::from(&x))];
    let kernel = Program::parse(SPMV)?.compile(&Options::default())?;
    let mut call = kernel.bind(&operands)?;
    let (mut check, mut multiply) = (vec![], vec![]);
    for _ in 0..101 {
        let begin = Instant::now();
        std::hint::black_box(a.check()).expect("well-formed");
        check.push(begin.elapsed());
        multiply.push(call.run()?.time);
    }
    rows.push((format!("spmv of {n}: its matrix checked"), middle(check)));
    rows.push((format!("spmv of {n}: multiplied, beside that"), middle(multiply)));
    Ok(())
}

/// The median time of a call.
fn called<'a, T: Into<Operand<'a>> + Clone>(text: &str, operands: &[(&str, T)]) -> Result<Duration, Error> {
    let kernel = Program::parse(text)?.compile(&Options::default())?;
    let call = || -> Result<Duration, Error> {
        let begin = Instant::now();
        std::hint::black_box(kernel.run(operands)?);
        Ok(begin.elapsed())
    };
    Ok(middle((0..CALLS).map(|_| call()).collect::<Result<_, _>>()?))
}

const SPMV: &str = "tensor A: f64[I, J] csr tensor x: f64[J] dense tensor y: f64[I] dense y[i] = A[i,j] * x[j]";

/// A sum of matrices. `n` goes into a name, so that no cache knows the program.
fn sum(operands: usize, n: usize) -> String {
    let mut text = String::new();
    for a in 0..operands {
        let _ = writeln!(text, "tensor A{a}: f64[I, J] csr");
    }
    let terms: Vec<String> = (0..operands).map(|a| format!("A{a}[i,j]")).collect();
    let _ = writeln!(text, "tensor C{n}: f64[I, J] csr\nC{n}[i,j] = {}", terms.join(" + "));
    text
}

fn compiled(operands: usize, matrix: &Arrays, n: usize) -> Result<Duration, Error> {
    let tensor = matrix.tensor();
    let names: Vec<String> = (0..operands).map(|a| format!("A{a}")).collect();
    let given: Vec<(&str, &Tensor)> = names.iter().map(|name| (name.as_str(), &tensor)).collect();
    callable(&sum(operands, 1000 * operands + n), &given)
}

fn spmv(n: usize) -> Result<Duration, Error> {
    let matrix = Kind::Uniform.matrix(1000, 1).expect("drawn");
    let x = dense(&matrix.extents[1..], 2);
    let text =
        format!("tensor A: f64[I, J] csr tensor x: f64[J] dense tensor y{n}: f64[I] dense y{n}[i] = A[i,j] * x[j]");
    callable(&text, &[("A", &matrix.tensor()), ("x", &x.tensor())])
}

fn spgemm(n: usize) -> Result<Duration, Error> {
    let matrix = Kind::Uniform.matrix(1000, 1).expect("drawn");
    let text = format!(
        "tensor A: f64[I, K] csr tensor B: f64[K, J] csr tensor C{n}: f64[I, J] csr C{n}[i,j] = A[i,k] * B[k,j]"
    );
    callable(&text, &[("A", &matrix.tensor()), ("B", &matrix.tensor())])
}

fn callable(text: &str, operands: &[(&str, &Tensor)]) -> Result<Duration, Error> {
    let begin = Instant::now();
    Program::parse(text)?.compile(&Options::default())?.bind(operands)?.compile()?;
    Ok(begin.elapsed())
}
