//! Fibers that are folded into a dense array at their coordinates, against a plain loop: fibers of all short lengths, every type, both
//! widths of coordinates. Whether machine code does it in lanes depends on the machine.
#![allow(unsafe_code)] // Kernels are called on what they were written for.

use crate::common::*;
use fiberloom_codegen::{Cpu, Limits, OptLevel, Options, compile};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::Array;
use fiberloom_loops::Kernel;

/// How a value is folded in.
type Fold = fn(i64, i64) -> i64;

/// Extent of the dense array.
const EXTENT: i64 = 29;

/// Fibers of every length up to the extent, whose coordinates ascend; one after the other comes to many of the same.
fn fibers() -> Vec<Vec<i64>> {
    let fiber = |length: i64| {
        let mut all: Vec<i64> = (0..length).map(|k| (k * 12 + length * 5) % EXTENT).collect();
        all.sort_unstable();
        all
    };
    (0..=EXTENT).map(fiber).collect()
}

/// What is folded in at a coordinate, entry by entry: whole numbers, which every type adds without rounding.
fn by_hand(fold: Fold, fibers: &[Vec<i64>]) -> Vec<i64> {
    let mut y = vec![0; EXTENT as usize];
    let entries = fibers.iter().enumerate().flat_map(|(j, fiber)| fiber.iter().map(move |i| (j, *i)));
    for (p, (j, i)) in entries.enumerate() {
        y[i as usize] = fold(y[i as usize], value(p as i64) * factor(j as i64));
    }
    y
}

fn value(p: i64) -> i64 {
    p % 3
}

fn factor(j: i64) -> i64 {
    j % 2
}

fn zero(ty: Type) -> String {
    match ty {
        Type::F64 | Type::I64 => Value::zero(ty).to_string(),
        _ => format!("{}{ty}", Value::zero(ty)),
    }
}

fn compare((folded, fold): (&str, Fold), (ty, width): (Type, Type), options: &Options) {
    let kernel = kernel(&format!(
        "kernel fold(n_I, n_J)
  operand A1_pos: i32, A1_crd: {width}, A_vals: {ty}, x_vals: {ty}
  result y_vals: {ty}
  in A@0: {ty}[n_I, n_J] {{dense, compressed}} order(1, 0) at dense, compressed(A1_pos, A1_crd), A_vals
  in x@1: {ty}[n_J] {{dense}} at dense, x_vals
  out y@2: {ty}[n_I] {{dense}} at dense, y_vals

  alloc y_vals[n_I] = {}
  for j in 0..n_J {{
    let x = x_vals[j]
    for p in A1_pos[j]..A1_pos[j + 1] {{
      let i = A1_crd[p]
      y_vals[i] = {folded}
    }}
  }}
  finish y_vals[n_I]
",
        zero(ty)
    ));
    let compiled = compile(&kernel, options).unwrap();
    let fibers = fibers();
    let ends = fibers.iter().scan(0, |end, fiber| {
        *end += fiber.len() as i64;
        Some(*end)
    });
    let pos: Vec<i64> = [0].into_iter().chain(ends).collect();
    let numbers = |numbers: Vec<i64>| {
        let of = |n: &i64| Value::from_i128(ty, i128::from(*n));
        Array::from_values(ty, numbers.iter().map(of).collect::<Vec<_>>())
    };
    let operands = [
        Array::from_indices(Type::I32, &pos).unwrap(),
        Array::from_indices(width, &fibers.concat()).unwrap(),
        numbers((0..*pos.last().unwrap()).map(value).collect()),
        numbers((0..fibers.len() as i64).map(factor).collect()),
    ];
    let operands: Vec<Option<&Array>> = operands.iter().map(Some).chain([None]).collect();
    let params = [EXTENT, fibers.len() as i64];
    let results = unsafe { compiled.run_fenced(&params, &operands, &Limits::default()) }.unwrap();
    let y = results.last().unwrap().as_ref().unwrap();
    let expected = numbers(by_hand(fold, &fibers));
    assert_eq!(y, &expected, "{folded} {ty} {width} {options:?}");
}

/// A kernel whose loops fold a matrix, compressed by columns, into a dense vector.
fn into_vector(loops: &str) -> Kernel {
    kernel(&format!(
        "kernel fold(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64
  result y_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} order(1, 0) at dense, compressed(A1_pos, A1_crd), A_vals
  out y@1: f64[n_I] {{dense}} at dense, y_vals

  alloc y_vals[n_I] = 0.0
{loops}  finish y_vals[n_I]
"
    ))
}

/// Fibers one behind the other come to a coordinate more than once.
#[test]
fn what_is_folded_in_twice_is_folded_in_twice() {
    let kernel = into_vector(
        "  for p in A1_pos[0]..A1_pos[n_J] {
    let i = A1_crd[p]
    y_vals[i] = y_vals[i] + A_vals[p]
  }
",
    );
    let compiled = compile(&kernel, &Options::default()).unwrap();
    let crd = [3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 2, 0];
    let operands = [
        Array::from_indices(Type::I32, &(0..=12).collect::<Vec<i64>>()).unwrap(),
        Array::from_indices(Type::I32, &crd).unwrap(),
        Array::from(vec![1.0; 12]),
    ];
    let operands: Vec<Option<&Array>> = operands.iter().map(Some).chain([None]).collect();
    let results = unsafe { compiled.run(&[4, 12], &operands, &Limits::default()) }.unwrap();
    assert_eq!(results.last().unwrap(), &Some(Array::from(vec![1.0, 2.0, 1.0, 8.0])));
}

/// What one entry stores the next one reads, though each stores at a coordinate of its own: sums of all values up to there.
#[test]
fn what_is_read_elsewhere_is_what_was_stored() {
    let kernel = into_vector(
        "  for j in 0..n_J {
    for p in A1_pos[j]..A1_pos[j + 1] {
      let i = A1_crd[p]
      y_vals[i] = y_vals[i] + A_vals[p] + y_vals[p]
    }
  }
",
    );
    let n = 40;
    let crd: Vec<i64> = (1..=n).collect();
    let values: Vec<f64> = crd.iter().map(|i| *i as f64).collect();
    let sums = (0..=n).map(|i| (i * (i + 1) / 2) as f64);
    let expected = Array::from(sums.collect::<Vec<f64>>());
    let operands = [
        Array::from_indices(Type::I32, &[0, n]).unwrap(),
        Array::from_indices(Type::I32, &crd).unwrap(),
        Array::from(values),
    ];
    let operands: Vec<Option<&Array>> = operands.iter().map(Some).chain([None]).collect();
    for opt_level in [OptLevel::None, OptLevel::Full] {
        let compiled = compile(&kernel, &Options { opt_level, ..Options::default() }).unwrap();
        let results = unsafe { compiled.run_fenced(&[n + 1, 1], &operands, &Limits::default()) }.unwrap();
        assert_eq!(results.last().unwrap().as_ref(), Some(&expected), "{opt_level:?}");
    }
}

#[test]
fn every_entry_is_folded_in() {
    let folds: [(&str, Fold); 2] =
        [("y_vals[i] + A_vals[p] * x", |a, b| a + b), ("max(y_vals[i], A_vals[p] * x)", |a, b| a.max(b))];
    let types = [Type::F64, Type::F32, Type::I64, Type::U64, Type::U32, Type::I16];
    for (fold, ty) in folds.into_iter().flat_map(|fold| types.map(|ty| (fold, ty))) {
        for (width, cpu) in [(Type::I32, Cpu::Host), (Type::I64, Cpu::Host), (Type::I32, Cpu::Baseline)] {
            for opt_level in [OptLevel::None, OptLevel::Full] {
                compare(fold, (ty, width), &Options { cpu, opt_level, ..Options::default() });
            }
        }
    }
}
