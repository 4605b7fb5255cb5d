//! One sparse operand is walked, the others are located.

use super::{at, fiber, fma, lanes, place};
use crate::arrays::{Arrays, Compressed};

/// Σ values[p] x[crd[p]] over a fiber, in four sums: one alone would wait for each addition.
#[inline(always)]
pub(super) fn gathered(fiber: std::ops::Range<usize>, crd: &[i32], values: &[f64], x: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let mut p = fiber.start;
    while p + 4 <= fiber.end {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum = fma(at(values, p + lane), at(x, at(crd, p + lane) as usize), *sum);
        }
        p += 4;
    }
    while p < fiber.end {
        sums[0] = fma(at(values, p), at(x, at(crd, p) as usize), sums[0]);
        p += 1;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// y = A x
pub fn spmv(operands: &[&Arrays]) -> Arrays {
    let (a, x) = (operands[0].rows(), &operands[1].values);
    let y = (0..a.rows).map(|i| gathered(fiber(a.pos, i), a.crd, a.values, x)).collect();
    Arrays::dense(&[a.rows], y)
}

/// y = A x for a list of entries in order: where a row ends is seen by the next entry's. To add each entry where it
/// belongs takes 1.3 times as long.
pub fn spmv_coo(operands: &[&Arrays]) -> Arrays {
    let (a, x) = (operands[0], &operands[1].values);
    let (rows, columns) = (&a.level(0).crd[..], &a.level(1).crd[..]);
    let mut y = vec![0.0; a.extents[0]];
    let mut p = 0;
    while p < rows.len() {
        let row = at(rows, p);
        let mut end = p + 1;
        while end < rows.len() && at(rows, end) == row {
            end += 1;
        }
        *place(&mut y, row as usize) = gathered(p..end, columns, &a.values, x);
        p = end;
    }
    Arrays::dense(&a.extents[..1], y)
}

/// y = A x for A in compressed columns and a sparse x: one column an entry of x.
pub fn spmspv(operands: &[&Arrays]) -> Arrays {
    let (a, x) = (operands[0].rows(), operands[1]);
    let mut y = vec![0.0; a.columns];
    for (&j, &factor) in x.level(0).crd.iter().zip(&*x.values) {
        for p in fiber(a.pos, j as usize) {
            let y = place(&mut y, at(a.crd, p) as usize);
            *y = fma(at(a.values, p), factor, *y);
        }
    }
    Arrays::dense(&[a.columns], y)
}

/// y = A x for A in compressed rows and a sparse x, which is scattered once instead of being merged with every row.
pub fn spmspv_rows(operands: &[&Arrays]) -> Arrays {
    let (a, x) = (operands[0].rows(), operands[1]);
    let mut scattered = vec![0.0; a.columns];
    for (&j, &value) in x.level(0).crd.iter().zip(&*x.values) {
        *place(&mut scattered, j as usize) = value;
    }
    let y = (0..a.rows).map(|i| gathered(fiber(a.pos, i), a.crd, a.values, &scattered)).collect();
    Arrays::dense(&[a.rows], y)
}

/// Sums that begin with a line of the cache: a vector that straddles two costs twice.
#[repr(align(64))]
struct Sums<const COLUMNS: usize>([f64; COLUMNS]);

/// C = A B for a dense B of `COLUMNS` columns; a row of sums stays in registers, or in the nearest cache.
pub fn spmm<const COLUMNS: usize>(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), &operands[1].values);
    let mut c = Vec::with_capacity(a.rows * COLUMNS);
    for i in 0..a.rows {
        let mut sums = Sums([0.0; COLUMNS]);
        for p in fiber(a.pos, i) {
            let (value, row) = (at(a.values, p), lanes::<COLUMNS>(b, at(a.crd, p) as usize * COLUMNS));
            for (sum, b) in sums.0.iter_mut().zip(row) {
                *sum = fma(value, *b, *sum);
            }
        }
        c.extend_from_slice(&sums.0);
    }
    Arrays::dense(&[a.rows, COLUMNS], c)
}

/// C = S ∘ (A Bᵀ) for dense A and B of `DEPTH` columns.
pub fn sddmm<const DEPTH: usize>(operands: &[&Arrays]) -> Arrays {
    let (s, a, b) = (operands[0].rows(), &operands[1].values, &operands[2].values);
    let mut values = vec![0.0; s.crd.len()];
    for i in 0..s.rows {
        let row = lanes::<DEPTH>(a, i * DEPTH);
        for p in fiber(s.pos, i) {
            let other = lanes::<DEPTH>(b, at(s.crd, p) as usize * DEPTH);
            *place(&mut values, p) = at(s.values, p) * inner_product(row, other);
        }
    }
    Arrays::csr([s.rows, s.columns], s.pos.to_vec(), s.crd.to_vec(), values)
}

/// In four vectors of sums, for as many additions are under way at a time.
#[inline(always)]
fn inner_product<const DEPTH: usize>(a: &[f64; DEPTH], b: &[f64; DEPTH]) -> f64 {
    const LANES: usize = 4;
    let mut sums = [[0.0; LANES]; 4];
    for (a, b) in a.as_chunks::<{ 4 * LANES }>().0.iter().zip(b.as_chunks::<{ 4 * LANES }>().0) {
        for (v, sums) in sums.iter_mut().enumerate() {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum = fma(a[v * LANES + lane], b[v * LANES + lane], *sum);
            }
        }
    }
    let four: [f64; LANES] = std::array::from_fn(|l| (sums[0][l] + sums[1][l]) + (sums[2][l] + sums[3][l]));
    (four[0] + four[2]) + (four[1] + four[3])
}

/// `A[i,j] = Σ X[i,j,k] c[k]`: the first two levels are the result's.
pub fn ttv(operands: &[&Arrays]) -> Arrays {
    let (x, c) = (operands[0].csf(), &operands[1].values);
    let fibers = x.crd[1].len();
    let product = |p| at(x.values, p) * at(c, at(x.crd[2], p) as usize);
    let mut values = vec![0.0; fibers];
    for (q, value) in values.iter_mut().enumerate() {
        // Most fibers are short: for the first two the loop, which gets unrolled, would cost more than what it does.
        let fiber = fiber(x.pos[2], q);
        let mut sum = if fiber.is_empty() { 0.0 } else { product(fiber.start) };
        if fiber.len() > 1 {
            sum += product(fiber.start + 1);
        }
        *value = (fiber.start + 2..fiber.end).map(product).fold(sum, |sum, p| sum + p);
    }
    let levels = [0, 1].map(|l| Some(Compressed::new(x.pos[l].to_vec(), x.crd[l].to_vec())));
    Arrays { format: "dcsr", extents: x.extents[..2].to_vec(), levels: levels.into(), values: values.into() }
}

/// `M[i,r] = Σ X[i,k,l] Y[k,r] Z[l,r]`, an entry of X at a time.
pub fn mttkrp<const COLUMNS: usize>(operands: &[&Arrays]) -> Arrays {
    let (x, y, z) = (operands[0].csf(), &operands[1].values, &operands[2].values);
    let mut m = vec![0.0; x.extents[0] * COLUMNS];
    for p in fiber(x.pos[0], 0) {
        let mut sums = [0.0; COLUMNS];
        for q in fiber(x.pos[1], p) {
            let y = lanes::<COLUMNS>(y, at(x.crd[1], q) as usize * COLUMNS);
            for s in fiber(x.pos[2], q) {
                let (value, z) = (at(x.values, s), lanes::<COLUMNS>(z, at(x.crd[2], s) as usize * COLUMNS));
                for r in 0..COLUMNS {
                    sums[r] = fma(value * y[r], z[r], sums[r]);
                }
            }
        }
        m[at(x.crd[0], p) as usize * COLUMNS..][..COLUMNS].copy_from_slice(&sums);
    }
    Arrays::dense(&[x.extents[0], COLUMNS], m)
}

/// The same; a fiber's rows of Z are added up before they meet the row of Y.
pub fn mttkrp_factored<const COLUMNS: usize>(operands: &[&Arrays]) -> Arrays {
    let (x, y, z) = (operands[0].csf(), &operands[1].values, &operands[2].values);
    let mut m = vec![0.0; x.extents[0] * COLUMNS];
    for p in fiber(x.pos[0], 0) {
        let mut sums = [0.0; COLUMNS];
        for q in fiber(x.pos[1], p) {
            let mut inner = [0.0; COLUMNS];
            for s in fiber(x.pos[2], q) {
                let (value, row) = (at(x.values, s), lanes::<COLUMNS>(z, at(x.crd[2], s) as usize * COLUMNS));
                for (sum, z) in inner.iter_mut().zip(row) {
                    *sum = fma(value, *z, *sum);
                }
            }
            let row = lanes::<COLUMNS>(y, at(x.crd[1], q) as usize * COLUMNS);
            for r in 0..COLUMNS {
                sums[r] = fma(inner[r], row[r], sums[r]);
            }
        }
        m[at(x.crd[0], p) as usize * COLUMNS..][..COLUMNS].copy_from_slice(&sums);
    }
    Arrays::dense(&[x.extents[0], COLUMNS], m)
}
