//! The kernels: program, operands, hand-written twin.

use crate::data::{self, Csr};
use crate::hand;
use crate::measure::{Row, pairs};
use fiberloom::{Array, Level, Options, Program, Tensor};
use std::hint::black_box;
use std::time::Instant;

/// Columns of dense operands.
const COLUMNS: usize = 32;
/// Extent of the last mode of the order-3 tensor.
const WIDTH: usize = 64;

/// A kernel.
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    program: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Spmv,
    Add,
    Multiply,
    Spmm,
    Mttkrp,
}

/// Every kernel.
pub fn all() -> Vec<Kernel> {
    let kernel = |name, program, kind| Kernel { name, program, kind };
    vec![
        kernel("spmv", SPMV, Kind::Spmv),
        kernel("spadd", SPADD, Kind::Add),
        kernel("multiply", MULTIPLY, Kind::Multiply),
        kernel("spmm", SPMM, Kind::Spmm),
        kernel("mttkrp", MTTKRP, Kind::Mttkrp),
    ]
}

/// y = A x
pub const SPMV: &str = "tensor A: f64[I, J] csr tensor x: f64[J] dense tensor y: f64[I] dense y[i] = A[i,j] * x[j]";
const SPADD: &str = "tensor A: f64[I, J] csr tensor B: f64[I, J] csr tensor C: f64[I, J] csr C[i,j] = A[i,j] + B[i,j]";
const MULTIPLY: &str =
    "tensor A: f64[I, J] csr tensor B: f64[I, J] csr tensor C: f64[I, J] csr C[i,j] = A[i,j] * B[i,j]";
const SPMM: &str =
    "tensor A: f64[I, K] csr tensor B: f64[K, J] dense tensor C: f64[I, J] dense C[i,j] = A[i,k] * B[k,j]";
const MTTKRP: &str = "tensor X: f64[I, K, L] csf tensor Y: f64[K, R] dense tensor Z: f64[L, R] dense \
                      tensor M: f64[I, R] dense M[i,r] = X[i,k,l] * Y[k,r] * Z[l,r]";

/// One kernel on one matrix: values compared first, then timed in alternating pairs.
pub fn measure(kernel: &Kernel, family: &'static str, size: usize, n: usize) -> Result<Row, String> {
    let a = data::matrix(family, size, 1);
    let nonzeros = a.vals.len();
    let row = |(loops, hand, ratio)| Row { kernel: kernel.name, family, nonzeros, loops, hand, ratio };
    let program = Program::parse(kernel.program).map_err(|e| e.to_string())?;
    let compiled = program.compile(&Options::default()).map_err(|e| e.to_string())?;
    let measured = |operands: &[(&str, &Tensor)], result: &str, by_hand: &dyn Fn() -> Answer| {
        let mut call = compiled.bind(operands).map_err(|e| e.to_string())?;
        let first = call.run().map_err(|e| e.to_string())?;
        by_hand().compare(&first[result]).map_err(|e| format!("{} on {family}: {e}", kernel.name))?;
        let mut generated = || call.run().map(|outcome| outcome.time.as_secs_f64()).unwrap_or(f64::NAN);
        let mut written = || {
            let begun = Instant::now();
            let answer = black_box(by_hand());
            let time = begun.elapsed().as_secs_f64();
            drop(answer);
            time
        };
        Ok(pairs(n, &mut generated, &mut written))
    };
    let t = a.tensor();
    match kernel.kind {
        Kind::Spmv => {
            let x = data::dense(a.cols, 2);
            let operands = [("A", &t), ("x", &data::borrowed(&[a.cols], &x))];
            measured(&operands, "y", &|| Answer::Dense(hand::spmv(&a, &x))).map(row)
        }
        Kind::Add | Kind::Multiply => {
            let b = data::partner(&a, 3);
            let add = matches!(kernel.kind, Kind::Add);
            let by_hand = || Answer::Sparse(if add { hand::add(&a, &b) } else { hand::multiply(&a, &b) });
            measured(&[("A", &t), ("B", &b.tensor())], "C", &by_hand).map(row)
        }
        Kind::Spmm => {
            let b = data::dense(a.cols * COLUMNS, 4);
            let operands = [("A", &t), ("B", &data::borrowed(&[a.cols, COLUMNS], &b))];
            measured(&operands, "C", &|| Answer::Dense(hand::spmm(&a, &b, COLUMNS))).map(row)
        }
        Kind::Mttkrp => {
            let x = data::tensor(&a, WIDTH);
            let (y, z) = (data::dense(x.extents[1] * COLUMNS, 5), data::dense(x.extents[2] * COLUMNS, 6));
            let operands = [
                ("X", &x.tensor()),
                ("Y", &data::borrowed(&[x.extents[1], COLUMNS], &y)),
                ("Z", &data::borrowed(&[x.extents[2], COLUMNS], &z)),
            ];
            measured(&operands, "M", &|| Answer::Dense(hand::mttkrp(&x, &y, &z, COLUMNS))).map(row)
        }
    }
}

/// What a hand-written loop gives.
enum Answer {
    Dense(Vec<f64>),
    Sparse(Csr),
}

impl Answer {
    /// Equal up to the error of reassociated sums.
    fn compare(&self, got: &Tensor) -> Result<(), String> {
        let wanted = match self {
            Answer::Dense(values) => values,
            Answer::Sparse(m) => {
                let same = |a: &Array, b: &[i32]| a.len() == b.len() && (0..b.len()).all(|i| a.index(i) == b[i] as i64);
                match &got.levels[1] {
                    Level::Compressed { pos, crd } if same(pos, &m.pos) && same(crd, &m.crd) => {}
                    _ => return Err("another pattern than by hand".to_string()),
                }
                &m.vals
            }
        };
        if got.values.len() != wanted.len() {
            return Err(format!("{} values, {} by hand", got.values.len(), wanted.len()));
        }
        let differs = |(i, x): &(usize, &f64)| (got.values.get(*i).as_f64() - **x).abs() > 1e-9 * (1.0 + x.abs());
        match wanted.iter().enumerate().find(differs) {
            None => Ok(()),
            Some((i, x)) => Err(format!("value {i} is {}, {x} by hand", got.values.get(i))),
        }
    }
}
