//! The loops to beat: written by hand, indexing unchecked, results allocated anew by every call.
#![allow(unsafe_code)] // The loops to beat check no bounds; the arrays are well-formed by construction (`generate`).

use crate::generate::{Csf, Csr};

/// Columns of the dense operands of [`spmm`] and [`mttkrp`].
pub const COLUMNS: usize = 32;

/// An element that is known to be there.
#[inline(always)]
fn at<T: Copy>(array: &[T], index: usize) -> T {
    debug_assert!(index < array.len());
    // SAFETY: positions and coordinates of generated matrices lie within the arrays that they index.
    unsafe { *array.get_unchecked(index) }
}

/// y = A x
pub fn spmv(a: &Csr, x: &[f64]) -> Vec<f64> {
    let mut y = Vec::with_capacity(a.extents[0]);
    for i in 0..a.extents[0] {
        let mut sum = 0.0;
        for p in at(&a.pos, i) as usize..at(&a.pos, i + 1) as usize {
            sum += at(&a.values, p) * at(x, at(&a.crd, p) as usize);
        }
        y.push(sum);
    }
    y
}

/// A result in compressed rows that is filled in order, within a capacity that is known to suffice.
struct Appended {
    pos: Vec<i32>,
    crd: Vec<i32>,
    values: Vec<f64>,
    length: usize,
}

impl Appended {
    fn new(rows: usize, capacity: usize) -> Appended {
        let mut pos = Vec::with_capacity(rows + 1);
        pos.push(0);
        Appended { pos, crd: Vec::with_capacity(capacity), values: Vec::with_capacity(capacity), length: 0 }
    }

    #[inline(always)]
    fn push(&mut self, j: i32, value: f64) {
        debug_assert!(self.length < self.crd.capacity());
        // SAFETY: `capacity` suffices, as its callers know.
        unsafe {
            self.crd.as_mut_ptr().add(self.length).write(j);
            self.values.as_mut_ptr().add(self.length).write(value);
        }
        self.length += 1;
    }

    fn finish(mut self, extents: [usize; 2]) -> Csr {
        // SAFETY: as many elements were written by `push`.
        unsafe {
            self.crd.set_len(self.length);
            self.values.set_len(self.length);
        }
        Csr { extents, pos: self.pos, crd: self.crd, values: self.values }
    }
}

/// C = A + B, by a merge of sorted rows.
pub fn spadd(a: &Csr, b: &Csr) -> Csr {
    let mut c = Appended::new(a.extents[0], a.crd.len() + b.crd.len());
    for i in 0..a.extents[0] {
        let (mut p, end) = (at(&a.pos, i) as usize, at(&a.pos, i + 1) as usize);
        let (mut q, end_b) = (at(&b.pos, i) as usize, at(&b.pos, i + 1) as usize);
        while p < end && q < end_b {
            let (j, k) = (at(&a.crd, p), at(&b.crd, q));
            if j == k {
                c.push(j, at(&a.values, p) + at(&b.values, q));
                (p, q) = (p + 1, q + 1);
            } else if j < k {
                c.push(j, at(&a.values, p));
                p += 1;
            } else {
                c.push(k, at(&b.values, q));
                q += 1;
            }
        }
        while p < end {
            c.push(at(&a.crd, p), at(&a.values, p));
            p += 1;
        }
        while q < end_b {
            c.push(at(&b.crd, q), at(&b.values, q));
            q += 1;
        }
        c.pos.push(c.length as i32);
    }
    c.finish(a.extents)
}

/// C = A ∘ B, by an intersection that advances without branches.
pub fn multiply(a: &Csr, b: &Csr) -> Csr {
    let mut c = Appended::new(a.extents[0], a.crd.len().min(b.crd.len()));
    for i in 0..a.extents[0] {
        let (mut p, end) = (at(&a.pos, i) as usize, at(&a.pos, i + 1) as usize);
        let (mut q, end_b) = (at(&b.pos, i) as usize, at(&b.pos, i + 1) as usize);
        while p < end && q < end_b {
            let (j, k) = (at(&a.crd, p), at(&b.crd, q));
            if j == k {
                c.push(j, at(&a.values, p) * at(&b.values, q));
            }
            p += (j <= k) as usize;
            q += (k <= j) as usize;
        }
        c.pos.push(c.length as i32);
    }
    c.finish(a.extents)
}

/// C = A B for a dense B of [`COLUMNS`] columns.
pub fn spmm(a: &Csr, b: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; a.extents[0] * COLUMNS];
    for (i, row) in c.as_chunks_mut::<COLUMNS>().0.iter_mut().enumerate() {
        for p in at(&a.pos, i) as usize..at(&a.pos, i + 1) as usize {
            let (value, k) = (at(&a.values, p), at(&a.crd, p) as usize);
            for (j, sum) in row.iter_mut().enumerate() {
                *sum += value * at(b, k * COLUMNS + j);
            }
        }
    }
    c
}

/// M[i,r] = Σ X[i,k,l] Y[k,r] Z[l,r] for [`COLUMNS`] r.
pub fn mttkrp(x: &Csf, y: &[f64], z: &[f64]) -> Vec<f64> {
    let mut m = vec![0.0; x.extents[0] * COLUMNS];
    for p in at(&x.pos[0], 0) as usize..at(&x.pos[0], 1) as usize {
        let i = at(&x.crd[0], p) as usize;
        let row = &mut m[i * COLUMNS..][..COLUMNS];
        for q in at(&x.pos[1], p) as usize..at(&x.pos[1], p + 1) as usize {
            let k = at(&x.crd[1], q) as usize;
            for s in at(&x.pos[2], q) as usize..at(&x.pos[2], q + 1) as usize {
                let (value, l) = (at(&x.values, s), at(&x.crd[2], s) as usize);
                for (r, sum) in row.iter_mut().enumerate() {
                    *sum += value * at(y, k * COLUMNS + r) * at(z, l * COLUMNS + r);
                }
            }
        }
    }
    m
}
