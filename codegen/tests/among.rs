//! Where a number stands among the next elements, and how many are below it or alike, against a plain loop: both widths, every end,
//! machines with and without masks. Behind the array is a fence.
#![allow(unsafe_code)] // Kernels are called on what they were written for.

use crate::common::*;
use fiberloom_codegen::{Cpu, Limits, OptLevel, Options, compile};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Array;
use fiberloom_loops::{LANES, Sought};

/// Elements of the array: fewer than two blocks.
const LENGTH: i64 = 13;

/// Bounds and targets that a kernel may be asked for: what is before the end is in the array.
fn questions(elements: &[i64]) -> Vec<[i64; 3]> {
    let mut targets: Vec<i64> = elements.to_vec();
    targets.extend([0, 77, i64::MIN, i64::MAX, elements[3] + (1 << 32), elements[4] - (1 << 32)]);
    let ends = |begin: i64| {
        let far = (begin + LANES <= LENGTH).then_some(i64::MAX);
        (0..=LENGTH).chain([i64::MIN]).chain(far)
    };
    let inside = (0..=LENGTH).flat_map(|begin| ends(begin).map(move |end| (begin, end)));
    // Nothing is read where it begins at the end or behind it, wherever that is.
    let nowhere = [(i64::MAX, i64::MIN), (i64::MAX, i64::MAX), (-1, -1), (-1, i64::MIN), (i64::MAX, 3), (1 << 40, 5)];
    let bounds: Vec<(i64, i64)> = inside.chain(nowhere).collect();
    bounds.into_iter().flat_map(|(begin, end)| targets.iter().map(move |t| [begin, end, *t])).collect()
}

fn by_hand(sought: Sought, elements: &[i64], [begin, end, target]: [i64; 3]) -> i64 {
    let before = |k: &i64| begin.checked_add(*k).is_some_and(|at| at < end);
    let mut lanes = (0..LANES).take_while(before).map(|k| elements[(begin + k) as usize]);
    match sought {
        Sought::Target => lanes.position(|x| x == target).map_or(LANES, |k| k as i64),
        Sought::NotBelow => lanes.take_while(|x| *x < target).count() as i64,
        Sought::Other => lanes.take_while(|x| *x == target).count() as i64,
    }
}

fn compare(sought: Sought, width: Type, options: &Options) {
    // Some follow others that are like them, up to the end, and the least and the greatest of 32 bits are there.
    let ends = [i32::MIN, i32::MIN, i32::MAX, i32::MAX].map(i64::from);
    let some = (0..LENGTH - 6).map(|i| (i / 2 * i % 11) * 1000 - 3000);
    let elements: Vec<i64> = ends.into_iter().chain(some).chain([5; 2]).collect();
    let questions = questions(&elements);
    let kernel = kernel(&format!(
        "kernel find(n)
  operand a: {width}, b: i64, e: i64, t: i64
  result r: i64
  in b@0: i64[n] {{dense}} at dense, b
  out r@1: i64[n] {{dense}} at dense, r

  alloc r[n]
  for k in 0..n {{
    r[k] = {}(a[b[k]..e[k]], t[k])
  }}
  finish r[n]
",
        sought.name()
    ));
    let compiled = compile(&kernel, options).unwrap();
    let a = Array::from_indices(width, &elements).unwrap();
    let part = |n: usize| {
        let numbers: Vec<i64> = questions.iter().map(|q| q[n]).collect();
        Array::from_indices(Type::I64, &numbers).unwrap()
    };
    let parts = [part(0), part(1), part(2)];
    let operands: Vec<Option<&Array>> = [&a].into_iter().chain(&parts).map(Some).chain([None]).collect();
    let results = unsafe { compiled.run_fenced(&[questions.len() as i64], &operands, &Limits::default()) }.unwrap();
    let found = results.last().unwrap().as_ref().unwrap();
    for (n, question) in questions.iter().enumerate() {
        let counted = by_hand(sought, &elements, *question);
        assert_eq!(found.index(n), counted, "{sought:?} {width} {options:?}: {question:?}");
    }
}

#[test]
fn finds_what_a_loop_finds() {
    for (sought, width) in Sought::ALL.into_iter().flat_map(|sought| [(sought, Type::I32), (sought, Type::I64)]) {
        for cpu in [Cpu::Host, Cpu::Baseline] {
            for opt_level in [OptLevel::None, OptLevel::Full] {
                compare(sought, width, &Options { cpu, opt_level, ..Options::default() });
            }
        }
    }
}

/// Coordinates of one list against blocks of another: one comparison of a vector, where a machine has those.
#[test]
fn lanes_are_compared_at_once() {
    let kernel = kernel(
        "kernel find(n, t)
  operand a: i32
  result r: i64
  in a@0: i32[n] {dense} at dense, a
  out r@1: i64[] dense at r

  alloc r[1]
  r[0] = among(a[0..n], t)
  finish r[1]
",
    );
    let options = Options { cpu: Cpu::Baseline, ..Options::default() };
    let text = fiberloom_codegen::assembly(&kernel, &options).unwrap();
    assert!(text.contains("pcmpeqd"), "{text}");
}
