//! What is asked for ahead of time: wide rows that are read, and not narrow ones; rows of a result that are filled in among others. Nothing
//! is read that is not there.
#![allow(unsafe_code)] // Kernels are called on what they were written for.

use crate::common::*;
use fiberloom_codegen::{Cpu, Limits, Options, assembly, compile};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Array;
use fiberloom_loops::Kernel;

/// `C[i,j] = sum(k: A[i,k] * B[k,j])` for rows of B of so many elements.
fn product(width: usize) -> Kernel {
    kernel(&format!(
        "kernel product(n_I, n_K, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, B_vals: f64
  result C_vals: f64
  in A@0: f64[n_I, n_K] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in B@1: f64[n_K, n_J] {{dense, dense}} at dense, dense, B_vals
  out C@2: f64[n_I, n_J] {{dense, dense}} at dense, dense, C_vals

  alloc C_vals[n_I * {width}] = 0.0
  for i in 0..n_I {{
    for p in A1_pos[i]..A1_pos[i + 1] {{
      let k = A1_crd[p]
      for j in 0..{width} {{
        C_vals[i * {width} + j] = C_vals[i * {width} + j] + A_vals[p] * B_vals[k * {width} + j]
      }}
    }}
  }}
  finish C_vals[n_I * {width}]
"
    ))
}

#[test]
fn wide_rows_are_asked_for() {
    let options = Options { cpu: Cpu::Baseline, ..Options::default() };
    let asks = |width| assembly(&product(width), &options).unwrap().contains("prefetch");
    assert_eq!([8, 63, 64, 100].map(asks), [false, false, true, true]);
}

#[test]
fn nothing_is_read_that_is_not_there() {
    const WIDTH: usize = 64;
    let (pos, crd) = ([0, 2, 2, 5], [1, 3, 0, 1, 3]);
    let values: Vec<f64> = (0..crd.len()).map(|p| p as f64 + 1.0).collect();
    let rows: Vec<f64> = (0..4 * WIDTH).map(|at| (at % 7) as f64).collect();
    let mut expected = vec![0.0; 3 * WIDTH];
    for i in 0..3 {
        for p in pos[i]..pos[i + 1] {
            (0..WIDTH).for_each(|j| expected[i * WIDTH + j] += values[p] * rows[crd[p] as usize * WIDTH + j]);
        }
    }
    let pos: Vec<i64> = pos.iter().map(|p| *p as i64).collect();
    let operands = [
        Array::from_indices(Type::I32, &pos).unwrap(),
        Array::from_indices(Type::I32, &crd).unwrap(),
        Array::from(values),
        Array::from(rows),
    ];
    let operands: Vec<Option<&Array>> = operands.iter().map(Some).chain([None]).collect();
    let compiled = compile(&product(WIDTH), &Options::default()).unwrap();
    let results = unsafe { compiled.run_fenced(&[3, 4, WIDTH as i64], &operands, &Limits::default()) }.unwrap();
    assert_eq!(results.last().unwrap(), &Some(Array::from(expected)));
}

/// The coordinates of A's rows, and behind each row's what `body` fills in.
fn rows(body: &str) -> Kernel {
    kernel(&format!(
        "kernel rows(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, w_vals: f64
  result C1_pos: i32, C1_crd: i32, C_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in w@1: f64[n_J] {{dense}} at dense, w_vals
  out C@2: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(C1_pos, C1_crd), C_vals

  alloc C1_pos[n_I + 1] = 0i32
  alloc C1_crd[capacity(A1_crd)]
  alloc C_vals[capacity(A1_crd)] = 0.0
  c = 0
  for i in 0..n_I {{
    let begin = c
    for p in A1_pos[i]..A1_pos[i + 1] {{
      C1_crd[c] = A1_crd[p]
      c = c + 1
    }}
{body}
    C1_pos[i + 1] = i32(c)
  }}
  finish C1_pos[n_I + 1]
  finish C1_crd[c]
  finish C_vals[c]
"
    ))
}

const FILLED_IN: &str = "    vector for q in begin..c {
      let j = C1_crd[q]
      C_vals[q] = w_vals[j]
    }";

#[test]
fn rows_that_are_filled_in_are_asked_for() {
    let options = Options { cpu: Cpu::Baseline, ..Options::default() };
    let asks = |body: &str| assembly(&rows(body), &options).unwrap().contains("prefetch");
    let one_by_one = FILLED_IN.replace("vector for", "for");
    let at_once = FILLED_IN.replace("w_vals[j]", "f64(j)");
    assert_eq!([FILLED_IN, &one_by_one, &at_once].map(asks), [true, false, false]);
}

#[test]
fn rows_that_are_asked_for_are_there() {
    let array = |of: &[i64]| Array::from_indices(Type::I32, of).unwrap();
    let (pos, crd) = ([0, 2, 2, 13], [1, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let w: Vec<f64> = (0..11).map(|j| j as f64 + 0.5).collect();
    let expected: Vec<f64> = crd.iter().map(|j| w[*j as usize]).collect();
    let operands = [array(&pos), array(&crd), Array::from(vec![1.0; 13]), Array::from(w)];
    let operands: Vec<Option<&Array>> = operands.iter().map(Some).chain([None; 3]).collect();
    let compiled = compile(&rows(FILLED_IN), &Options::default()).unwrap();
    let results = unsafe { compiled.run_fenced(&[3, 11], &operands, &Limits::default()) }.unwrap();
    assert_eq!(results[4..], [Some(array(&pos)), Some(array(&crd)), Some(Array::from(expected))]);
}
