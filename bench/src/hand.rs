//! The loops written by hand, with unchecked indexing, results allocated in each call.
#![allow(unsafe_code)]

use crate::data::{Csf, Csr};

/// Element `i`, unchecked.
///
/// # Safety
/// `i` is in bounds: of the matrices of `data.rs`, which are well-formed.
#[inline(always)]
unsafe fn at<T: Copy>(a: &[T], i: usize) -> T {
    debug_assert!(i < a.len());
    // SAFETY: the caller's promise.
    unsafe { *a.get_unchecked(i) }
}

/// y = A x
pub fn spmv(a: &Csr, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; a.rows];
    for i in 0..a.rows {
        let mut t = 0.0;
        // SAFETY: positions and coordinates of a well-formed matrix are in bounds.
        unsafe {
            for p in at(&a.pos, i) as usize..at(&a.pos, i + 1) as usize {
                t += at(&a.vals, p) * at(x, at(&a.crd, p) as usize);
            }
            *y.get_unchecked_mut(i) = t;
        }
    }
    y
}

/// Rows of a result that is appended to.
struct Appended {
    pos: Vec<i32>,
    crd: Vec<i32>,
    vals: Vec<f64>,
}

impl Appended {
    fn with_room(rows: usize, most: usize) -> Appended {
        Appended { pos: vec![0; rows + 1], crd: Vec::with_capacity(most), vals: Vec::with_capacity(most) }
    }

    /// # Safety
    /// Fewer than `most` entries were pushed; `n` counts them.
    #[inline(always)]
    unsafe fn push(&mut self, n: &mut usize, j: i32, v: f64) {
        // SAFETY: the room was reserved.
        unsafe {
            *self.crd.as_mut_ptr().add(*n) = j;
            *self.vals.as_mut_ptr().add(*n) = v;
        }
        *n += 1;
    }

    /// # Safety
    /// `n` entries were pushed.
    unsafe fn finish(mut self, a: &Csr, n: usize) -> Csr {
        // SAFETY: the first n elements are written.
        unsafe {
            self.crd.set_len(n);
            self.vals.set_len(n);
        }
        Csr { rows: a.rows, cols: a.cols, pos: self.pos, crd: self.crd, vals: self.vals }
    }
}

/// C = A + B, a three-way merge of each row.
pub fn add(a: &Csr, b: &Csr) -> Csr {
    let mut c = Appended::with_room(a.rows, a.crd.len() + b.crd.len());
    let mut n = 0;
    // SAFETY: well-formed operands; room for all entries of both.
    unsafe {
        for i in 0..a.rows {
            let (mut p, end) = (at(&a.pos, i) as usize, at(&a.pos, i + 1) as usize);
            let (mut q, stop) = (at(&b.pos, i) as usize, at(&b.pos, i + 1) as usize);
            while p < end && q < stop {
                let (j, k) = (at(&a.crd, p), at(&b.crd, q));
                if j == k {
                    c.push(&mut n, j, at(&a.vals, p) + at(&b.vals, q));
                    p += 1;
                    q += 1;
                } else if j < k {
                    c.push(&mut n, j, at(&a.vals, p));
                    p += 1;
                } else {
                    c.push(&mut n, k, at(&b.vals, q));
                    q += 1;
                }
            }
            while p < end {
                c.push(&mut n, at(&a.crd, p), at(&a.vals, p));
                p += 1;
            }
            while q < stop {
                c.push(&mut n, at(&b.crd, q), at(&b.vals, q));
                q += 1;
            }
            *c.pos.get_unchecked_mut(i + 1) = n as i32;
        }
        c.finish(a, n)
    }
}

/// C = A ⊙ B, advances without branches.
pub fn multiply(a: &Csr, b: &Csr) -> Csr {
    let mut c = Appended::with_room(a.rows, a.crd.len().min(b.crd.len()));
    let mut n = 0;
    // SAFETY: well-formed operands; an entry of the result uses up one of each.
    unsafe {
        for i in 0..a.rows {
            let (mut p, end) = (at(&a.pos, i) as usize, at(&a.pos, i + 1) as usize);
            let (mut q, stop) = (at(&b.pos, i) as usize, at(&b.pos, i + 1) as usize);
            while p < end && q < stop {
                let (j, k) = (at(&a.crd, p), at(&b.crd, q));
                if j == k {
                    c.push(&mut n, j, at(&a.vals, p) * at(&b.vals, q));
                }
                p += (j <= k) as usize;
                q += (k <= j) as usize;
            }
            *c.pos.get_unchecked_mut(i + 1) = n as i32;
        }
        c.finish(a, n)
    }
}

/// C = A B for a dense B with `cols` columns.
pub fn spmm(a: &Csr, b: &[f64], cols: usize) -> Vec<f64> {
    let mut c = vec![0.0; a.rows * cols];
    for (i, row) in c.chunks_exact_mut(cols).enumerate() {
        // SAFETY: well-formed operands; rows of B are in bounds.
        unsafe {
            for p in at(&a.pos, i) as usize..at(&a.pos, i + 1) as usize {
                let (k, v) = (at(&a.crd, p) as usize, at(&a.vals, p));
                let other = b.get_unchecked(k * cols..(k + 1) * cols);
                for (x, y) in row.iter_mut().zip(other) {
                    *x += v * y;
                }
            }
        }
    }
    c
}

/// M[i,r] = Σ X[i,k,l] Y[k,r] Z[l,r]
pub fn mttkrp(x: &Csf, y: &[f64], z: &[f64], rank: usize) -> Vec<f64> {
    let mut m = vec![0.0; x.extents[0] * rank];
    // SAFETY: well-formed operands; rows of Y and Z are in bounds.
    unsafe {
        for p in 0..at(&x.pos[0], 1) as usize {
            let i = at(&x.crd[0], p) as usize;
            let row = m.get_unchecked_mut(i * rank..(i + 1) * rank);
            for q in at(&x.pos[1], p) as usize..at(&x.pos[1], p + 1) as usize {
                let k = at(&x.crd[1], q) as usize;
                let ys = y.get_unchecked(k * rank..(k + 1) * rank);
                for s in at(&x.pos[2], q) as usize..at(&x.pos[2], q + 1) as usize {
                    let (l, v) = (at(&x.crd[2], s) as usize, at(&x.vals, s));
                    let zs = z.get_unchecked(l * rank..(l + 1) * rank);
                    for ((a, b), c) in row.iter_mut().zip(ys).zip(zs) {
                        *a += v * b * c;
                    }
                }
            }
        }
    }
    m
}
