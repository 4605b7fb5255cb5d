//! Results whose entries arise out of order.

use super::{Appended, at, fiber, place};
use crate::arrays::Arrays;

/// Rows of a product with fewer entries are sorted; of others the set bits are read in order.
const SORTED_BELOW: usize = 24;

/// Entries for which there is room from the start, if there are as many products. What is not touched costs nothing.
const MOST_AHEAD: usize = 1 << 26;

/// C = A B in sorted compressed rows, row by row (Gustavson, *Two Fast Algorithms for Sparse Matrices*, TOMS 1978): a
/// dense row of sums, and a set of the columns that were touched, in which a bit tells whether a column is new.
pub fn spgemm(operands: &[&Arrays]) -> Arrays {
    let (a, b) = (operands[0].rows(), operands[1].rows());
    let products_of = |i| fiber(a.pos, i).map(|p| fiber(b.pos, at(a.crd, p) as usize).len()).sum::<usize>();
    let mut c = Appended::new((0..a.rows).map(products_of).sum::<usize>().min(MOST_AHEAD));
    let mut pos = Vec::with_capacity(a.rows + 1);
    pos.push(0);
    let (mut sums, mut columns) = (vec![0.0; b.columns], Columns::new(b.columns));
    let mut touched: Vec<i32> = Vec::new();
    for i in 0..a.rows {
        let products = products_of(i);
        c.reserve(products.min(b.columns));
        if products < SORTED_BELOW {
            touched.clear();
        }
        for p in fiber(a.pos, i) {
            let value = at(a.values, p);
            for q in fiber(b.pos, at(a.crd, p) as usize) {
                let j = at(b.crd, q);
                *place(&mut sums, j as usize) += value * at(b.values, q);
                if products < SORTED_BELOW {
                    touched.push(j);
                } else {
                    columns.insert(j as usize);
                }
            }
        }
        let mut append = |j: usize| c.push(j as i32, std::mem::take(place(&mut sums, j)));
        if products < SORTED_BELOW {
            touched.sort_unstable();
            touched.dedup();
            touched.iter().for_each(|j| append(*j as usize));
        } else {
            columns.drain(append);
        }
        pos.push(c.length as i32);
    }
    let (crd, values) = c.finish();
    Arrays::csr([a.rows, b.columns], pos, crd, values)
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
        *place(&mut self.bits, j / 64) |= 1 << (j % 64);
        *place(&mut self.words, j / 4096) |= 1 << (j / 64 % 64);
        self.used = self.used.start.min(j / 4096)..self.used.end.max(j / 4096 + 1);
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
