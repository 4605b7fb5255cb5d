//! Products where a mask has entries: the mask's row is laid on a table, and asked.

use super::gathers::gathered;
use super::merges::merged;
use super::scatters::each_pair;
use super::{at, fiber, fma, place};
use crate::arrays::{Arrays, Rows};

/// C = M ∘ (A B): of each row's products those are added up for which the mask's row has a place.
pub fn masked_mxm(operands: &[&Arrays]) -> Arrays {
    masked(operands, |x, y| x * y, 0.0, |sum, product| sum + product)
}

/// C = M ∘ (A B) over ∨ and ∧.
pub fn masked_mxm_boolean(operands: &[&Arrays]) -> Arrays {
    masked(operands, |x, y| ((x != 0.0) & (y != 0.0)) as u8 as f64, 0.0, f64::max)
}

/// C = M ∘ (A B) over min and +.
pub fn masked_mxm_min_plus(operands: &[&Arrays]) -> Arrays {
    masked(operands, |x, y| x + y, f64::INFINITY, f64::min)
}

#[inline(always)]
fn masked(operands: &[&Arrays], times: impl Fn(f64, f64) -> f64, none: f64, plus: impl Fn(f64, f64) -> f64) -> Arrays {
    let [m, a, b] = [0, 1, 2].map(|o| operands[o].rows());
    // 0: not asked for; 1: asked for; 2: there is a sum.
    let (mut asked, mut sums) = (vec![0u8; m.columns], vec![none; m.columns]);
    merged(m, m.crd.len(), |i, c| {
        fiber(m.pos, i).for_each(|p| *place(&mut asked, at(m.crd, p) as usize) = (at(m.values, p) != 0.0) as u8);
        each_pair(a, b, i, |j, x, y| {
            let j = j as usize;
            if at(&asked, j) != 0 {
                *place(&mut asked, j) = 2;
                let sum = place(&mut sums, j);
                *sum = plus(*sum, times(x, y));
            }
        });
        for p in fiber(m.pos, i) {
            let j = at(m.crd, p) as usize;
            if std::mem::take(place(&mut asked, j)) == 2 {
                c.push(j as i32, std::mem::replace(place(&mut sums, j), none));
            }
        }
    })
}

/// y = m ∘ (A x): the rows that the mask has.
pub fn masked_mxv(operands: &[&Arrays]) -> Arrays {
    masked_rows(operands, |a, row, x| gathered(row, a.crd, a.values, x))
}

/// y = m ∘ (A x) over ∨ and ∧: a row is left with the first that is true.
pub fn masked_mxv_boolean(operands: &[&Arrays]) -> Arrays {
    let both = |a: Rows, p, x: &[f64]| (at(a.values, p) != 0.0) & (at(x, at(a.crd, p) as usize) != 0.0);
    masked_rows(operands, |a, mut row, x| row.any(|p| both(a, p, x)) as u8 as f64)
}

/// y = m ∘ (A x) over min and +.
pub fn masked_mxv_min_plus(operands: &[&Arrays]) -> Arrays {
    let sum = |a: Rows, p, x: &[f64]| at(a.values, p) + at(x, at(a.crd, p) as usize);
    masked_rows(operands, |a, row, x| row.map(|p| sum(a, p, x)).fold(f64::INFINITY, f64::min))
}

#[inline(always)]
fn masked_rows(operands: &[&Arrays], row: impl Fn(Rows, std::ops::Range<usize>, &[f64]) -> f64) -> Arrays {
    let (m, a, x) = (operands[0], operands[1].rows(), operands[2]);
    let asked = m.level(0).crd.iter().zip(&*m.values).filter(|(_, m)| **m != 0.0).map(|(i, _)| *i);
    let kept: Vec<i32> = asked.collect();
    let values = kept.iter().map(|i| row(a, fiber(a.pos, *i as usize), &x.values)).collect();
    Arrays::sparse(m.extents[0], kept, values)
}

/// `Σ A[i,j] A[j,k] A[i,k]`: row `i` is laid on a table, and asked for each entry of the rows that it leads to.
pub fn triangles(operands: &[&Arrays]) -> Arrays {
    let a = operands[0].rows();
    let (mut table, mut sum) = (vec![0.0; a.columns], 0.0);
    for i in 0..a.rows {
        fiber(a.pos, i).for_each(|p| *place(&mut table, at(a.crd, p) as usize) = at(a.values, p));
        for p in fiber(a.pos, i) {
            let asked = gathered(fiber(a.pos, at(a.crd, p) as usize), a.crd, a.values, &table);
            sum = fma(at(a.values, p), asked, sum);
        }
        fiber(a.pos, i).for_each(|p| *place(&mut table, at(a.crd, p) as usize) = 0.0);
    }
    Arrays::dense(&[], vec![sum])
}
