//! Element-wise functions of sparse matrices, and sums of parts of them.

use super::merges::{merged, united};
use super::{at, fiber};
use crate::arrays::{Arrays, Rows};

/// Truth as a number.
fn number(holds: bool) -> f64 {
    holds as u8 as f64
}

/// C = A ≠ B
pub fn not_equal(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    merged(a, a.crd.len() + b.crd.len(), |i, c| {
        let rows = [(a, fiber(a.pos, i)), (b, fiber(b.pos, i))];
        united(rows, |j| j, |x, y| number(x != y), c);
    })
}

/// C = A ⊕ B, of what is not 0.
pub fn xor(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    merged(a, a.crd.len() + b.crd.len(), |i, c| {
        let rows = [(a, fiber(a.pos, i)), (b, fiber(b.pos, i))];
        united(rows, |j| j, |x, y| number((x != 0.0) ^ (y != 0.0)), c);
    })
}

/// C = A ≫ |B|, of whole numbers.
pub fn shift(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    merged(a, a.crd.len(), |i, c| {
        let mut q = fiber(b.pos, i);
        for p in fiber(a.pos, i) {
            let j = at(a.crd, p);
            let by = if follow(b, &mut q, j) { at(b.values, q.start).abs() } else { 0.0 };
            c.push(j, ((at(a.values, p) as i64) >> by as i64) as f64);
        }
    })
}

/// C = A to the power of B: 1 where B has no entry.
pub fn power(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    merged(a, b.crd.len(), |i, c| {
        let mut p = fiber(a.pos, i);
        for q in fiber(b.pos, i) {
            let j = at(b.crd, q);
            let x = if follow(a, &mut p, j) { at(a.values, p.start) } else { 0.0 };
            c.push(j, x.powf(at(b.values, q)));
        }
    })
}

/// E = (Img > 0.8 ∧ Roi) ⊕ (Img > 0.75 ∧ Roi)
pub fn edges(operands: &[&Arrays]) -> Arrays {
    let (image, region) = (operands[0].rows(), operands[1].rows());
    merged(image, image.crd.len(), |i, c| {
        let (mut p, mut q) = (fiber(image.pos, i), fiber(region.pos, i));
        while p.start < p.end && q.start < q.end {
            let (j, k) = (at(image.crd, p.start), at(region.crd, q.start));
            let (grey, inside) = (at(image.values, p.start), at(region.values, q.start) != 0.0);
            c.push_if(j, number((grey > 0.8 && inside) ^ (grey > 0.75 && inside)), j == k);
            p.start += (j <= k) as usize;
            q.start += (k <= j) as usize;
        }
    })
}

/// C = A 2^B, where B has whole numbers: for each entry of A the one of B is sought in the order of both.
pub fn ldexp(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    merged(a, a.crd.len(), |i, c| {
        let mut q = fiber(b.pos, i);
        for p in fiber(a.pos, i) {
            let j = at(a.crd, p);
            let exponent = if follow(b, &mut q, j) { at(b.values, q.start) } else { 0.0 };
            let power = f64::from_bits(((1023 + exponent as i64) as u64) << 52);
            c.push(j, at(a.values, p) * power);
        }
    })
}

/// C = M ∧ (A ⊕ B): for each entry of M those of A and B are sought in the order of all.
pub fn and_xor(operands: &[&Arrays]) -> Arrays {
    let [a, b, m] = [0, 1, 2].map(|o| operands[o].rows());
    merged(m, m.crd.len(), |i, c| {
        let (mut p, mut q) = (fiber(a.pos, i), fiber(b.pos, i));
        for r in fiber(m.pos, i) {
            let j = at(m.crd, r);
            let (in_a, in_b) = (follow(a, &mut p, j), follow(b, &mut q, j));
            if in_a || in_b {
                let (x, y) = (in_a && at(a.values, p.start) != 0.0, in_b && at(b.values, q.start) != 0.0);
                c.push(j, number(at(m.values, r) != 0.0 && x ^ y));
            }
        }
    })
}

/// Brings a row up to a column: whether it has an entry there.
#[inline(always)]
fn follow(row: Rows, p: &mut std::ops::Range<usize>, j: i32) -> bool {
    while p.start < p.end && at(row.crd, p.start) < j {
        p.start += 1;
    }
    p.start < p.end && at(row.crd, p.start) == j
}

/// The middle half of the rows and columns of A and B, added.
pub fn add_windows(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let (lo, hi) = (a.columns / 4, 3 * (a.columns / 4));
    let within = |m: Rows<'_>, i: usize| {
        let row = fiber(m.pos, i);
        let crd = &m.crd[row.clone()];
        let [first, last] = [lo, hi].map(|end| row.start + crd.partition_point(|j| (*j as usize) < end));
        first..last
    };
    let part = Rows { rows: hi - lo, columns: hi - lo, ..a };
    merged(part, a.crd.len() + b.crd.len(), |i, c| {
        let rows = [a, b].map(|m| (m, within(m, lo + i)));
        united(rows, |j| j - lo as i32, |x, y| x + y, c);
    })
}

/// Each second row and column of A and B, added: both are sifted first, a row at a time.
pub fn add_strides(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let half = a.rows.div_ceil(2);
    let mut sifted = [(vec![], vec![]), (vec![], vec![])];
    merged(Rows { rows: half, columns: half, ..a }, a.crd.len() + b.crd.len(), |i, c| {
        for (m, (crd, values)) in [a, b].into_iter().zip(&mut sifted) {
            crd.clear();
            values.clear();
            for p in fiber(m.pos, 2 * i).filter(|p| at(m.crd, *p) % 2 == 0) {
                crd.push(at(m.crd, p) / 2);
                values.push(at(m.values, p));
            }
        }
        let rows = [&sifted[0], &sifted[1]].map(|(crd, values)| (Rows { crd, values, ..a }, 0..crd.len()));
        united(rows, |j| j, |x, y| x + y, c);
    })
}
