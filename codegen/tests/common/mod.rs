//! Kernels as lowering would write them, and data for them.
#![allow(dead_code)] // Each test program uses its part.

use fiberloom_core::format::Array;
use fiberloom_loops::{Kernel, read};

/// `y[i] = sum(j: A[i,j] * x[j])`, `A` in CSR. Buffers: `A_pos`, `A_crd`, `A_vals`, `x`, `y`.
pub const SPMV: &str = "\
kernel spmv(n_i, n_j) reassociate
  operand A_pos: i32, A_crd: i32, A_vals: f64, x_vals: f64
  result y_vals: f64
  in A@0: f64[n_i, n_j] {dense, compressed} at dense, compressed(A_pos, A_crd), A_vals
  in x@1: f64[n_j] {dense} at dense, x_vals
  out y@2: f64[n_i] {dense} at dense, y_vals

  alloc y_vals[n_i]
  for i in 0..n_i {
    t = 0.0
    for p in A_pos[i]..A_pos[i + 1] {
      t = t + A_vals[p] * x_vals[A_crd[p]]
    }
    y_vals[i] = t
  }
  finish y_vals[n_i]
";

/// `C = A + B`, all in CSR: a decision tree and two tails; the result grows. Buffers: three of `A`, of `B`, of `C`.
pub const SPADD: &str = "\
kernel spadd(n_i, n_j) reassociate
  operand A_pos: i32, A_crd: i32, A_vals: f64, B_pos: i32, B_crd: i32, B_vals: f64
  result C_pos: i32, C_crd: i32, C_vals: f64
  in A@0: f64[n_i, n_j] {dense, compressed} at dense, compressed(A_pos, A_crd), A_vals
  in B@1: f64[n_i, n_j] {dense, compressed} at dense, compressed(B_pos, B_crd), B_vals
  out C@2: f64[n_i, n_j] {dense, compressed} at dense, compressed(C_pos, C_crd), C_vals

  alloc C_pos[n_i + 1]
  alloc C_crd[0]
  alloc C_vals[0]
  C_pos[0] = 0i32
  q = 0
  for i in 0..n_i {
    pa = i64(A_pos[i])
    let ea = i64(A_pos[i + 1])
    pb = i64(B_pos[i])
    let eb = i64(B_pos[i + 1])
    let most = q + (ea - pa) + (eb - pb)
    if most > capacity(C_crd) {
      reserve C_crd[most]
    }
    if most > capacity(C_vals) {
      reserve C_vals[most]
    }
    while pa < ea && pb < eb {
      let a: i32 = A_crd[pa]
      let b: i32 = B_crd[pb]
      if a == b {
        C_crd[q] = a
        C_vals[q] = A_vals[pa] + B_vals[pb]
        pa = pa + 1
        pb = pb + 1
      } else if a < b {
        C_crd[q] = a
        C_vals[q] = A_vals[pa]
        pa = pa + 1
      } else {
        C_crd[q] = b
        C_vals[q] = B_vals[pb]
        pb = pb + 1
      }
      q = q + 1
    }
    while pa < ea {
      C_crd[q] = A_crd[pa]
      C_vals[q] = A_vals[pa]
      pa = pa + 1
      q = q + 1
    }
    while pb < eb {
      C_crd[q] = B_crd[pb]
      C_vals[q] = B_vals[pb]
      pb = pb + 1
      q = q + 1
    }
    if q > 2147483647 {
      fail positions
    }
    C_pos[i + 1] = i32(q)
  }
  finish C_pos[n_i + 1]
  finish C_crd[q]
  finish C_vals[q]
";

/// `C[i,j] = sum(k: A[i,k] * B[k,j])`, `A` in CSR, the others dense. Buffers: three of `A`, `B`, `C`.
pub const SPMM: &str = "\
kernel spmm(n_i, n_k, n_j) reassociate
  operand A_pos: i32, A_crd: i32, A_vals: f64, B_vals: f64
  result C_vals: f64
  in A@0: f64[n_i, n_k] {dense, compressed} at dense, compressed(A_pos, A_crd), A_vals
  in B@1: f64[n_k, n_j] {dense, dense} at dense, dense, B_vals
  out C@2: f64[n_i, n_j] {dense, dense} at dense, dense, C_vals

  alloc C_vals[n_i * n_j] = 0.0
  for i in 0..n_i {
    for p in A_pos[i]..A_pos[i + 1] {
      let k = i64(A_crd[p])
      let a = A_vals[p]
      for j in 0..n_j {
        C_vals[i * n_j + j] = C_vals[i * n_j + j] + a * B_vals[k * n_j + j]
      }
    }
  }
  finish C_vals[n_i * n_j]
";

/// `s` is `k` sorted, `o` where its keys stood before, `e` is 2³ everywhere: sorting and a call of the library.
pub const SORTED: &str = "\
kernel sorted(n)
  operand k_vals: i64
  result s_vals: i64, o_vals: i64, e_vals: f64
  workspace keys: i64, order: i64
  in k@0: i64[n] {dense} at dense, k_vals
  out s@1: i64[n] {dense} at dense, s_vals
  out o@2: i64[n] {dense} at dense, o_vals
  out e@3: f64[n] {dense} at dense, e_vals

  alloc keys[n]
  alloc order[n]
  alloc s_vals[n] = 7
  alloc o_vals[n]
  alloc e_vals[n] = 3.0
  for i in 0..n {
    keys[i] = k_vals[i]
  }
  sort keys[0..n] with order
  for j in 0..n {
    s_vals[j] = keys[j]
    o_vals[j] = order[j]
    e_vals[j] = pow(2.0, e_vals[j])
  }
  finish s_vals[n]
  finish o_vals[n]
  finish e_vals[n]
";

/// The kernel of this text.
pub fn kernel(text: &str) -> Kernel {
    read(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Numbers of a linear congruence, below 2³¹.
pub fn numbers(mut seed: u64) -> impl FnMut() -> usize {
    move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize
    }
}

/// A matrix in CSR.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    pub pos: Vec<i32>,
    pub crd: Vec<i32>,
    pub values: Vec<f64>,
}

impl Csr {
    /// `rows` rows of at most `2 * per_row` entries, whose values are exact in sums.
    pub fn random(rows: usize, columns: usize, per_row: usize, seed: u64) -> Csr {
        let mut next = numbers(seed);
        let (mut pos, mut crd, mut values) = (vec![0], vec![], vec![]);
        for _ in 0..rows {
            let mut row: Vec<i32> = (0..next() % (2 * per_row + 1)).map(|_| (next() % columns) as i32).collect();
            row.sort();
            row.dedup();
            values.extend(row.iter().map(|_| (next() % 64) as f64 / 8.0));
            crd.extend(row);
            pos.push(crd.len() as i32);
        }
        Csr { pos, crd, values }
    }

    /// Positions, coordinates, values.
    pub fn arrays(&self) -> [Array<'_>; 3] {
        [i32s(&self.pos), i32s(&self.crd), f64s(&self.values)]
    }
}

pub fn i32s(v: &[i32]) -> Array<'_> {
    Array::from(v)
}

pub fn i64s(v: &[i64]) -> Array<'_> {
    Array::from(v)
}

pub fn f64s(v: &[f64]) -> Array<'_> {
    Array::from(v)
}
