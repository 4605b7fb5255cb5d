//! The five kernels, each by Fiberloom and by hand, on one input.

use crate::by_hand::{self, COLUMNS};
use crate::generate::{Csf, Csr, Kind, dense, dense_tensor};
use crate::measure::{Measured, pairs};
use fiberloom::{Array, Error, Level, Options, Program, Tensor};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A kernel's name and program.
pub const KERNELS: [(&str, &str); 5] = [
    ("spmv", "tensor A: f64[I, J] csr  tensor x: f64[J] dense  tensor y: f64[I] dense  y[i] = A[i,j] * x[j]"),
    ("spadd", "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr  C[i,j] = A[i,j] + B[i,j]"),
    ("multiply", "tensor A: f64[I, J] csr  tensor B: f64[I, J] csr  tensor C: f64[I, J] csr  C[i,j] = A[i,j] * B[i,j]"),
    (
        "spmm",
        "tensor A: f64[I, K] csr  tensor B: f64[K, 32] dense  tensor C: f64[I, 32] dense  C[i,j] = A[i,k] * B[k,j]",
    ),
    (
        "mttkrp",
        "tensor X: f64[I, K, L] csf  tensor Y: f64[K, 32] dense  tensor Z: f64[L, 32] dense  tensor M: f64[I, 32] dense
         M[i,r] = X[i,k,l] * Y[k,r] * Z[l,r]",
    ),
];

/// Compares the values of a kernel and of the loops by hand on a matrix, then times both.
///
/// # Errors
/// If the kernel does not compile or run, or computes something else.
pub fn compare(kernel: &str, kind: Kind, nonzeros: usize) -> Result<Measured, String> {
    let a = kind.matrix(nonzeros, 1);
    let [rows, columns] = a.extents;
    match kernel {
        "spmv" => {
            let x = dense(columns, 2);
            let operands = [("A", a.tensor()), ("x", dense_tensor(&[columns], &x))];
            side_by_side(kernel, &operands, || by_hand::spmv(&a, &x), |t, y| near(&t.values, y))
        }
        "spadd" => {
            let b = a.partner(2);
            side_by_side(kernel, &[("A", a.tensor()), ("B", b.tensor())], || by_hand::spadd(&a, &b), same)
        }
        "multiply" => {
            let b = a.partner(2);
            side_by_side(kernel, &[("A", a.tensor()), ("B", b.tensor())], || by_hand::multiply(&a, &b), same)
        }
        "spmm" => {
            let b = dense(columns * COLUMNS, 2);
            let operands = [("A", a.tensor()), ("B", dense_tensor(&[columns, COLUMNS], &b))];
            side_by_side(kernel, &operands, || by_hand::spmm(&a, &b), |t, c| near(&t.values, c))
        }
        "mttkrp" => {
            let x = Csf::of_matrix(&a, 2);
            let (y, z) = (dense(columns * COLUMNS, 3), dense(64 * COLUMNS, 4));
            let dense = [dense_tensor(&[columns, COLUMNS], &y), dense_tensor(&[64, COLUMNS], &z)];
            let [y_tensor, z_tensor] = dense;
            let operands = [("X", x.tensor()), ("Y", y_tensor), ("Z", z_tensor)];
            debug_assert_eq!(rows, x.extents[0]);
            side_by_side(kernel, &operands, || by_hand::mttkrp(&x, &y, &z), |t, m| near(&t.values, m))
        }
        _ => Err(format!("`{kernel}` is no kernel: {:?}", KERNELS.map(|k| k.0))),
    }
}

fn side_by_side<R>(
    name: &str,
    operands: &[(&str, Tensor)],
    by_hand: impl Fn() -> R,
    agree: impl Fn(&Tensor, &R) -> bool,
) -> Result<Measured, String> {
    let shown = |e: Error| format!("{name}: {e}");
    let text = KERNELS.iter().find(|k| k.0 == name).expect("it was dispatched on").1;
    let kernel = Program::parse(text).and_then(|p| p.compile(&Options::default())).map_err(shown)?;
    let operands: Vec<(&str, &Tensor)> = operands.iter().map(|(n, t)| (*n, t)).collect();
    let mut call = kernel.bind(&operands).map_err(shown)?;
    let outcome = call.run().map_err(shown)?;
    let result = outcome.results.values().next().ok_or("no result")?;
    if !agree(result, &by_hand()) {
        return Err(format!("{name}: the values differ from those computed by hand"));
    }
    let run = || call.run().map_or(Duration::MAX, |outcome| black_box(outcome).time);
    let hand = || {
        let begin = Instant::now();
        let result = black_box(by_hand());
        let time = begin.elapsed();
        drop(result); // As with the kernel's, outside the time.
        time
    };
    Ok(pairs(run, hand))
}

/// Both sides add in different orders: equal up to 10⁻⁹ of the sums' size, which is at most about 10³.
fn near(got: &Array, expected: &[f64]) -> bool {
    let Array::F64(got) = got else { return false };
    got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + b.abs()))
}

/// The same positions, coordinates and values: no sum has more than two terms.
fn same(got: &Tensor, expected: &Csr) -> bool {
    let Level::Compressed { pos, crd } = &got.levels[1] else { return false };
    *pos == Array::from(&expected.pos[..])
        && *crd == Array::from(&expected.crd[..])
        && got.values == Array::from(&expected.values[..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::KINDS;

    #[test]
    fn kernels_compute_what_is_computed_by_hand() {
        for (name, _) in KERNELS {
            for kind in KINDS {
                compare(name, kind, 2_000).unwrap();
            }
        }
    }
}
