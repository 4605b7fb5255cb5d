//! Sparse operands are walked side by side.

use super::{Appended, at, fiber, fma, place};
use crate::arrays::{Arrays, Rows};

/// A matrix of merged rows: `row` appends row `i`.
pub(super) fn merged(a: Rows, capacity: usize, mut row: impl FnMut(usize, &mut Appended)) -> Arrays {
    let mut c = Appended::new(capacity);
    let mut pos = Vec::with_capacity(a.rows + 1);
    pos.push(0);
    for i in 0..a.rows {
        row(i, &mut c);
        pos.push(c.length as i32);
    }
    let (crd, values) = c.finish();
    Arrays::csr([a.rows, a.columns], pos, crd, values)
}

/// Two parts of rows, merged: a decision at each step, and two tails; columns become what `column` says.
#[inline(always)]
pub(super) fn united(
    [(a, mut p), (b, mut q)]: [(Rows, std::ops::Range<usize>); 2],
    column: impl Fn(i32) -> i32,
    value: impl Fn(f64, f64) -> f64,
    c: &mut Appended,
) {
    while p.start < p.end && q.start < q.end {
        let (j, k) = (at(a.crd, p.start), at(b.crd, q.start));
        if j == k {
            c.push(column(j), value(at(a.values, p.start), at(b.values, q.start)));
            p.start += 1;
            q.start += 1;
        } else if j < k {
            c.push(column(j), value(at(a.values, p.start), 0.0));
            p.start += 1;
        } else {
            c.push(column(k), value(0.0, at(b.values, q.start)));
            q.start += 1;
        }
    }
    p.for_each(|p| c.push(column(at(a.crd, p)), value(at(a.values, p), 0.0)));
    q.for_each(|q| c.push(column(at(b.crd, q)), value(0.0, at(b.values, q))));
}

/// C = A + B
pub fn spadd(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    merged(a, a.crd.len() + b.crd.len(), |i, c| {
        united([(a, fiber(a.pos, i)), (b, fiber(b.pos, i))], |j| j, |x, y| x + y, c);
    })
}

/// C = A ∘ B: each step writes where the next product goes, and counts it if there is one. No branch depends on data.
pub fn multiply(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    merged(a, a.crd.len().min(b.crd.len()) + 1, |i, c| {
        let (mut p, mut q) = (fiber(a.pos, i), fiber(b.pos, i));
        while p.start < p.end && q.start < q.end {
            let (j, k) = (at(a.crd, p.start), at(b.crd, q.start));
            c.push_if(j, at(a.values, p.start) * at(b.values, q.start), j == k);
            p.start += (j <= k) as usize;
            q.start += (k <= j) as usize;
        }
    })
}

/// E = A + B + D: one loop in which an exhausted row stands at the end of all columns; who is not there adds 0.
pub fn sum3(operands: &[&Arrays]) -> Arrays {
    let rows = [0, 1, 2].map(|o| operands[o].rows());
    merged(rows[0], rows.iter().map(|m| m.crd.len()).sum(), |i, c| {
        let mut p = rows.map(|m| fiber(m.pos, i));
        loop {
            let here = [0, 1, 2].map(|o| if p[o].start < p[o].end { at(rows[o].crd, p[o].start) } else { i32::MAX });
            let least = here[0].min(here[1]).min(here[2]);
            if least == i32::MAX {
                break;
            }
            let mut sum = 0.0;
            for o in 0..3 {
                if here[o] == least {
                    sum += at(rows[o].values, p[o].start);
                    p[o].start += 1;
                }
            }
            c.push(least, sum);
        }
    })
}

/// `Σ x[i] y[i]`: where both have an entry is noted first, some steps at a time and with no branch on data; then the products
/// are added up.
pub fn dot(operands: &[&Arrays]) -> Arrays {
    const STEPS: usize = 1024;
    let (x, y) = (operands[0], operands[1]);
    let (x_crd, y_crd) = (&x.level(0).crd[..], &y.level(0).crd[..]);
    // One more, for the note of the last step if it is none.
    let mut both = [(0, 0); STEPS + 1];
    let (mut p, mut q, mut sum) = (0, 0, 0.0);
    while p < x_crd.len() && q < y_crd.len() {
        let mut found = 0;
        for _ in 0..STEPS.min(x_crd.len() - p).min(y_crd.len() - q) {
            let (i, j) = (at(x_crd, p), at(y_crd, q));
            *place(&mut both, found) = (p as u32, q as u32);
            found += (i == j) as usize;
            p += (i <= j) as usize;
            q += (j <= i) as usize;
        }
        for (p, q) in &both[..found] {
            sum = fma(at(&x.values, *p as usize), at(&y.values, *q as usize), sum);
        }
    }
    Arrays::dense(&[], vec![sum])
}
