//! Compile times, and compiled kernels against the same loops written by hand:
//!
//! ```text
//! RUSTFLAGS="-C target-cpu=native" cargo run --release -p fiberloom-codegen --example timing --target-dir target/native [KERNEL-TEXT…]
//! ```
//!
//! Prints the least of several alternating runs of each, in milliseconds, and their ratio.
#![allow(unsafe_code)] // Neither kernels nor the loops to beat check bounds.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use fiberloom_codegen::{Compiled, Limits, Options, compile};
use fiberloom_core::format::Array;
use fiberloom_loops::Kernel;
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let _ = made("spmv, first in the process", SPMV);
    let (spmv, spadd, spmm) = (made("spmv", SPMV), made("spadd", SPADD), made("spmm", SPMM));
    for file in std::env::args().skip(1) {
        made(&file, &std::fs::read_to_string(&file).expect("a kernel's text"));
    }
    println!("\n{:28}{:>10}{:>10}{:>8}", "", "compiled", "by hand", "ratio");
    for (rows, per_row) in [(100_000, 10), (1_000_000, 1), (10_000, 100), (500_000, 3)] {
        time_spmv(&spmv, rows, per_row);
    }
    for columns in [8, 32, 100] {
        time_spmm(&spmm, columns);
    }
    for per_row in [3, 10, 100] {
        time_spadd(&spadd, 1_000_000 / per_row, per_row);
    }
}

fn made(name: &str, text: &str) -> Compiled {
    let kernel: Kernel = kernel(text);
    let begun = Instant::now();
    let compiled = compile(&kernel, &Options::default()).expect("it compiles");
    println!("compile {name}: {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    compiled
}

fn report(name: &str, mut compiled: impl FnMut(), mut by_hand: impl FnMut()) {
    let once = |f: &mut dyn FnMut()| {
        let begun = Instant::now();
        f();
        begun.elapsed().as_secs_f64() * 1e3
    };
    let (mut a, mut b) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..15 {
        a = a.min(once(&mut compiled));
        b = b.min(once(&mut by_hand));
    }
    println!("{name:28}{a:10.3}{b:10.3}{:8.3}", a / b);
}

fn run(compiled: &Compiled, params: &[i64], operands: &[&Array], results: usize) {
    let operands: Vec<Option<&Array>> =
        operands.iter().map(|a| Some(*a)).chain(std::iter::repeat_n(None, results)).collect();
    // SAFETY: every kernel here is called on the operands that it was written for.
    black_box(unsafe { compiled.run(params, &operands, &Limits::default()) }.expect("it runs"));
}

fn time_spmv(compiled: &Compiled, rows: usize, per_row: usize) {
    let a = Csr::random(rows, rows, per_row, 1);
    let x = vec![1.5; rows];
    let [pos, crd, values] = a.arrays();
    let name = format!("spmv {} nonzeros, {per_row}/row", a.crd.len());
    report(
        &name,
        || run(compiled, &[rows as i64; 2], &[&pos, &crd, &values, &f64s(&x)], 1),
        || {
            black_box(spmv_by_hand(&a, &x));
        },
    );
}

#[inline(never)]
fn spmv_by_hand(a: &Csr, x: &[f64]) -> Vec<f64> {
    let rows = a.pos.len() - 1;
    let mut y = Vec::with_capacity(rows);
    let out: *mut f64 = y.as_mut_ptr();
    // SAFETY: positions and coordinates are in bounds by construction.
    unsafe {
        for i in 0..rows {
            let mut sum = 0.0;
            for p in *a.pos.get_unchecked(i) as usize..*a.pos.get_unchecked(i + 1) as usize {
                sum += *a.values.get_unchecked(p) * *x.get_unchecked(*a.crd.get_unchecked(p) as usize);
            }
            *out.add(i) = sum;
        }
        y.set_len(rows);
    }
    y
}

fn time_spmm(compiled: &Compiled, columns: usize) {
    let rows = 20_000;
    let a = Csr::random(rows, rows, 50, 1);
    let b = vec![1.5; rows * columns];
    let [pos, crd, values] = a.arrays();
    let name = format!("spmm {} nonzeros, {columns} columns", a.crd.len());
    report(
        &name,
        || run(compiled, &[rows as i64, rows as i64, columns as i64], &[&pos, &crd, &values, &f64s(&b)], 1),
        || {
            black_box(spmm_by_hand(&a, &b, columns));
        },
    );
}

#[inline(never)]
fn spmm_by_hand(a: &Csr, b: &[f64], columns: usize) -> Vec<f64> {
    let rows = a.pos.len() - 1;
    let mut c = vec![0.0; rows * columns];
    // SAFETY: positions and coordinates are in bounds by construction.
    unsafe {
        for i in 0..rows {
            let row = c.get_unchecked_mut(i * columns..(i + 1) * columns);
            for p in *a.pos.get_unchecked(i) as usize..*a.pos.get_unchecked(i + 1) as usize {
                let k = *a.crd.get_unchecked(p) as usize;
                let v = *a.values.get_unchecked(p);
                for j in 0..columns {
                    *row.get_unchecked_mut(j) += v * *b.get_unchecked(k * columns + j);
                }
            }
        }
    }
    c
}

fn time_spadd(compiled: &Compiled, rows: usize, per_row: usize) {
    let (a, b) = (Csr::random(rows, 20 * per_row, per_row, 1), Csr::random(rows, 20 * per_row, per_row, 2));
    let ([a0, a1, a2], [b0, b1, b2]) = (a.arrays(), b.arrays());
    let name = format!("spadd {} nonzeros, {per_row}/row", a.crd.len() + b.crd.len());
    report(
        &name,
        || run(compiled, &[rows as i64, 20 * per_row as i64], &[&a0, &a1, &a2, &b0, &b1, &b2], 3),
        || {
            black_box(spadd_by_hand(&a, &b));
        },
    );
}

#[inline(never)]
fn spadd_by_hand(a: &Csr, b: &Csr) -> Csr {
    let rows = a.pos.len() - 1;
    let mut c = Csr { pos: Vec::with_capacity(rows + 1), crd: Vec::new(), values: Vec::new() };
    c.pos.push(0);
    let mut q = 0;
    // SAFETY: positions and coordinates are in bounds by construction; each row reserves what it may need.
    unsafe {
        for i in 0..rows {
            let (mut pa, ea) = (*a.pos.get_unchecked(i) as usize, *a.pos.get_unchecked(i + 1) as usize);
            let (mut pb, eb) = (*b.pos.get_unchecked(i) as usize, *b.pos.get_unchecked(i + 1) as usize);
            let most = (ea - pa) + (eb - pb);
            c.crd.set_len(q);
            c.values.set_len(q);
            c.crd.reserve(most);
            c.values.reserve(most);
            let (crd, values) = (c.crd.as_mut_ptr(), c.values.as_mut_ptr());
            while pa < ea && pb < eb {
                let (ja, jb) = (*a.crd.get_unchecked(pa), *b.crd.get_unchecked(pb));
                if ja == jb {
                    *crd.add(q) = ja;
                    *values.add(q) = *a.values.get_unchecked(pa) + *b.values.get_unchecked(pb);
                    pa += 1;
                    pb += 1;
                } else if ja < jb {
                    *crd.add(q) = ja;
                    *values.add(q) = *a.values.get_unchecked(pa);
                    pa += 1;
                } else {
                    *crd.add(q) = jb;
                    *values.add(q) = *b.values.get_unchecked(pb);
                    pb += 1;
                }
                q += 1;
            }
            while pa < ea {
                *crd.add(q) = *a.crd.get_unchecked(pa);
                *values.add(q) = *a.values.get_unchecked(pa);
                pa += 1;
                q += 1;
            }
            while pb < eb {
                *crd.add(q) = *b.crd.get_unchecked(pb);
                *values.add(q) = *b.values.get_unchecked(pb);
                pb += 1;
                q += 1;
            }
            *c.pos.as_mut_ptr().add(i + 1) = q as i32;
        }
        c.pos.set_len(rows + 1);
        c.crd.set_len(q);
        c.values.set_len(q);
    }
    c
}
