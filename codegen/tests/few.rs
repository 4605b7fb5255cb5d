//! Few integers that are sorted into another array, against the standard library: of every number, in orders of every kind, both types of
//! integers. Whether machine code does it by a network depends on the machine.
#![allow(unsafe_code)] // Kernels are called on what they were written for.

use crate::common::*;
use fiberloom_codegen::{Cpu, Limits, OptLevel, Options, compile};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::Array;
use fiberloom_loops::Entry;

/// How many elements stand before those that are sorted, and after them.
const MARGIN: i64 = 3;

/// What stands there.
const ELSE: i64 = -77;

/// As many integers, of which some are alike, in the `n`-th order.
fn integers(len: i64, n: usize, ty: Type) -> Vec<i64> {
    let (least, most) = if ty == Type::I32 { (i32::MIN.into(), i32::MAX.into()) } else { (i64::MIN, i64::MAX) };
    let mut next = numbers(len as u64 * 31 + n as u64);
    (0..len)
        .map(|k| match n {
            0 => k,
            1 => len - k,
            2 => (k * 37) % 101,
            3 => next() as i64 % 5,
            4 => [least, most, 0, -1][next() % 4],
            _ => (next() as i64) >> (64 - ty.bits()),
        })
        .collect()
}

fn compare(ty: Type, options: &Options) {
    let small = kernel(&format!(
        "kernel few(n)
  operand a: {ty}
  result r: {ty}
  workspace w: {ty}
  in a@0: {ty}[n] {{dense}} at dense, a
  out r@1: {ty}[n] {{dense}} at dense, r

  alloc w[n]
  for i in 0..n {{
    w[i] = a[i]
  }}
  alloc r[n + {}] = {}
  sort w[0..n] into r[{MARGIN}]
  finish r[n + {}]
",
        2 * MARGIN,
        if ty == Type::I64 { ELSE.to_string() } else { format!("{ELSE}{ty}") },
        2 * MARGIN
    ));
    let compiled = compile(&small, options).unwrap();
    let array = |of: &[i64]| Array::from_values(ty, of.iter().map(|x| Value::from_i128(ty, (*x).into())));
    for len in 0..=Entry::FEW {
        for n in 0..7 {
            let keys = integers(len, n, ty);
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            let margin = [ELSE; MARGIN as usize];
            let operands = [Some(&array(&keys)), None, None];
            let got = unsafe { compiled.run_fenced(&[len], &operands, &Limits::default()) }.unwrap();
            assert_eq!(
                got[1],
                Some(array(&[&margin, &sorted[..], &margin].concat())),
                "{len} {ty}, order {n}, {options:?}"
            );
        }
    }
}

#[test]
fn every_number_of_integers_is_sorted_and_nothing_else_is_written() {
    for ty in [Type::I32, Type::I64] {
        for (opt_level, cpu) in
            [(OptLevel::Full, Cpu::Host), (OptLevel::None, Cpu::Host), (OptLevel::Full, Cpu::Baseline)]
        {
            compare(ty, &Options { opt_level, cpu, ..Options::default() });
        }
    }
}
