//! Results whose entries arise out of order.

use super::{Appended, at, fiber, place};
use crate::arrays::{Arrays, Rows};

/// Rows of a product with fewer entries are sorted; of others the set bits are read in order.
const SORTED_BELOW: usize = 24;

/// One row in so many is counted to foresee how many entries a product has.
const SAMPLED: usize = 64;

/// C = A B in sorted compressed rows, row by row (Gustavson, *Two Fast Algorithms for Sparse Matrices*, TOMS 1978): a
/// dense row of sums, and a set of the columns that were touched.
pub fn spgemm(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let mut columns = Columns::new(b.columns);
    let mut c = Appended::new(foreseen(a, b, &mut columns));
    let mut pos = Vec::with_capacity(a.rows + 1);
    pos.push(0);
    let mut sums = vec![0.0; b.columns];
    let mut touched: Vec<i32> = Vec::new();
    for i in 0..a.rows {
        let products: usize = fiber(a.pos, i).map(|p| fiber(b.pos, at(a.crd, p) as usize).len()).sum();
        c.reserve(products.min(b.columns));
        if products < SORTED_BELOW {
            touched.clear();
            each_product(a, b, i, |j, product| {
                touched.push(j);
                *place(&mut sums, j as usize) += product;
            });
            touched.sort_unstable();
            touched.dedup();
            touched.iter().for_each(|j| c.push(*j, std::mem::take(place(&mut sums, *j as usize))));
        } else {
            each_product(a, b, i, |j, product| {
                columns.insert(j as usize);
                *place(&mut sums, j as usize) += product;
            });
            columns.drain(|j| c.push(j as i32, std::mem::take(place(&mut sums, j))));
        }
        pos.push(c.length as i32);
    }
    let (crd, values) = c.finish();
    Arrays::csr([a.rows, b.columns], pos, crd, values)
}

/// The factors that make up row `i`, and their columns.
#[inline(always)]
pub(super) fn each_pair(a: Rows, b: Rows, i: usize, mut f: impl FnMut(i32, f64, f64)) {
    for p in fiber(a.pos, i) {
        let value = at(a.values, p);
        for q in fiber(b.pos, at(a.crd, p) as usize) {
            f(at(b.crd, q), value, at(b.values, q));
        }
    }
}

/// The products that make up row `i`, and their columns.
#[inline(always)]
pub(super) fn each_product(a: Rows, b: Rows, i: usize, mut f: impl FnMut(i32, f64)) {
    each_pair(a, b, i, |j, x, y| f(j, x * y));
}

/// About how many entries the product has, and a little more: to make room once is cheaper than to move.
fn foreseen(a: Rows, b: Rows, columns: &mut Columns) -> usize {
    let mut counted = 0;
    for first in (0..a.rows).step_by(SAMPLED) {
        // Not always the first of its group: in R-MAT's matrices those are the fullest.
        let i = (first + first / SAMPLED * 37 % SAMPLED).min(a.rows - 1);
        each_product(a, b, i, |j, _| columns.insert(j as usize));
        columns.drain(|_| counted += 1);
    }
    counted * SAMPLED * 17 / 16
}

/// A set of columns: a bit each, and a bit for each word of bits that has one.
struct Columns {
    bits: Vec<u64>,
    words: Vec<u64>,
    /// Words of `words` that may have a bit.
    used: std::ops::Range<usize>,
}

impl Columns {
    fn new(columns: usize) -> Columns {
        let bits = columns.div_ceil(64);
        let words = bits.div_ceil(64);
        Columns { bits: vec![0; bits], words: vec![0; words], used: words..0 }
    }

    #[inline(always)]
    fn insert(&mut self, j: usize) {
        let (bits, bit) = (place(&mut self.bits, j / 64), 1 << (j % 64));
        // A write each time would make the next one to the same word wait for it.
        if *bits & bit == 0 {
            *bits |= bit;
            *place(&mut self.words, j / 4096) |= 1 << (j / 64 % 64);
            self.used = self.used.start.min(j / 4096)..self.used.end.max(j / 4096 + 1);
        }
    }

    /// All columns in order; none is left.
    #[inline(always)]
    fn drain(&mut self, mut f: impl FnMut(usize)) {
        for w in std::mem::replace(&mut self.used, self.words.len()..0) {
            let mut words = std::mem::take(place(&mut self.words, w));
            while words != 0 {
                let word = w * 64 + words.trailing_zeros() as usize;
                words &= words - 1;
                let mut bits = std::mem::take(place(&mut self.bits, word));
                while bits != 0 {
                    f(word * 64 + bits.trailing_zeros() as usize);
                    bits &= bits - 1;
                }
            }
        }
    }
}

/// The transpose in compressed rows: columns are counted, then each entry goes to its place.
pub fn transpose(operands: &[&Arrays]) -> Arrays {
    let a = operands[0].rows();
    let mut pos = vec![0i32; a.columns + 1];
    a.crd.iter().for_each(|&j| *place(&mut pos, j as usize + 1) += 1);
    for j in 0..a.columns {
        pos[j + 1] += pos[j];
    }
    let mut next = pos.clone();
    let (mut crd, mut values) = (Vec::<i32>::with_capacity(a.crd.len()), Vec::<f64>::with_capacity(a.crd.len()));
    for i in 0..a.rows {
        for p in fiber(a.pos, i) {
            let next = place(&mut next, at(a.crd, p) as usize);
            // SAFETY: `next` passes through as many places as there are entries, each once.
            unsafe {
                crd.as_mut_ptr().add(*next as usize).write(i as i32);
                values.as_mut_ptr().add(*next as usize).write(at(a.values, p));
            }
            *next += 1;
        }
    }
    // SAFETY: every place was written.
    unsafe {
        crd.set_len(a.crd.len());
        values.set_len(a.crd.len());
    }
    Arrays::csr([a.columns, a.rows], pos, crd, values)
}
