//! The loops to beat, as one writes them who knows the kernel and the machine: indexing unchecked, results allocated anew
//! by every call, sums in whatever order is quick.
//!
//! ```text
//!  gathers   one sparse operand, the others dense: SpMV, SpMM, SDDMM, TTV, MTTKRP; sparse vectors located
//!  merges    sparse operands walked side by side: sums, products, the dot product
//!  scatters  results out of order: the matrix product, transposition
//!  shape     reshaped, stacked and sliced matrices
//!  graphs    products where a mask has entries, triangles
//!  functions other functions of entries than sums and products, and windows
//!  trees     tensors of many modes
//!  structures  lists, blocks and runs beside each other, in the program's own formats
//! ```
#![allow(unsafe_code)] // The loops to beat check no bounds; the arrays are well-formed by construction (`generate`).

pub mod functions;
mod gathers;
pub mod graphs;
mod merges;
mod scatters;
pub mod shape;
pub mod structures;
pub mod trees;

pub use gathers::{mttkrp, mttkrp_factored, sddmm, spmm, spmspv, spmspv_rows, spmv, spmv_coo, ttv};
pub use merges::{dot, multiply, spadd, sum3};
pub use scatters::{spgemm, transpose};

/// An element that is known to be there.
#[inline(always)]
fn at<T: Copy>(array: &[T], index: usize) -> T {
    debug_assert!(index < array.len());
    // SAFETY: positions and coordinates of generated tensors lie within the arrays that they index.
    unsafe { *array.get_unchecked(index) }
}

/// A place that is known to be there.
#[inline(always)]
fn place<T>(array: &mut [T], index: usize) -> &mut T {
    debug_assert!(index < array.len());
    // SAFETY: as for `at`.
    unsafe { array.get_unchecked_mut(index) }
}

/// `LANES` elements that are known to be there.
#[inline(always)]
fn lanes<const LANES: usize>(array: &[f64], index: usize) -> &[f64; LANES] {
    debug_assert!(index + LANES <= array.len());
    // SAFETY: as for `at`; an array of `f64` has an `f64`'s alignment.
    unsafe { &*array.as_ptr().add(index).cast() }
}

/// a b + c: one instruction where the CPU that is compiled for has it.
#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(target_feature = "fma") { a.mul_add(b, c) } else { a * b + c }
}

/// The positions of fiber `i`.
#[inline(always)]
fn fiber(pos: &[i32], i: usize) -> std::ops::Range<usize> {
    at(pos, i) as usize..at(pos, i + 1) as usize
}

/// A result's coordinates and values, filled in order within a capacity that is known to suffice.
struct Appended {
    crd: Vec<i32>,
    values: Vec<f64>,
    length: usize,
}

impl Appended {
    fn new(capacity: usize) -> Appended {
        Appended { crd: Vec::with_capacity(capacity), values: Vec::with_capacity(capacity), length: 0 }
    }

    /// Room for `more` beyond those that are there.
    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        if self.length + more > self.crd.capacity().min(self.values.capacity()) {
            self.settle();
            self.crd.reserve(more);
            self.values.reserve(more);
        }
    }

    #[inline(always)]
    fn push(&mut self, j: i32, value: f64) {
        self.push_if(j, value, true);
    }

    /// Writes the entry either way, into room that there is, and counts it if `counts`: no branch.
    #[inline(always)]
    fn push_if(&mut self, j: i32, value: f64, counts: bool) {
        debug_assert!(self.length < self.crd.capacity());
        // SAFETY: the capacity suffices, as the callers know.
        unsafe {
            self.crd.as_mut_ptr().add(self.length).write(j);
            self.values.as_mut_ptr().add(self.length).write(value);
        }
        self.length += counts as usize;
    }

    /// Makes the vectors as long as what was pushed.
    fn settle(&mut self) {
        // SAFETY: as many elements were written by `push_if`.
        unsafe {
            self.crd.set_len(self.length);
            self.values.set_len(self.length);
        }
    }

    fn finish(mut self) -> (Vec<i32>, Vec<f64>) {
        self.settle();
        (self.crd, self.values)
    }
}
