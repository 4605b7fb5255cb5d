//! Compiled kernels against the same computation in Rust.
#![allow(unsafe_code)] // Kernels are called on what they were written for.

use crate::common::*;
use fiberloom_codegen::{Compiled, Error, Limits, OptLevel, Options, compile};
use fiberloom_core::algebra::{Type, Value};
use fiberloom_core::format::Array;
use fiberloom_loops::Failure;
use std::collections::BTreeMap;

const LEVELS: [OptLevel; 2] = [OptLevel::None, OptLevel::Full];

fn options(opt_level: OptLevel) -> Options {
    Options { opt_level, ..Options::default() }
}

fn spmv_in_rust(a: &Csr, x: &[f64]) -> Vec<f64> {
    let row = |w: &[i32]| (w[0]..w[1]).map(|p| a.values[p as usize] * x[a.crd[p as usize] as usize]).sum();
    a.pos.windows(2).map(row).collect()
}

#[test]
fn spmv_runs_again_on_other_data() {
    for level in LEVELS {
        let compiled = compile(&kernel(SPMV), &options(level)).unwrap();
        for (rows, seed) in [(0, 1), (1, 2), (100, 3), (1000, 4)] {
            let a = Csr::random(rows, 50, 8, seed);
            let x: Vec<f64> = (0..50).map(|k| k as f64 / 4.0).collect();
            let (pos, crd, values, dense) = (i32s(&a.pos), i32s(&a.crd), f64s(&a.values), f64s(&x));
            let operands = [Some(&pos), Some(&crd), Some(&values), Some(&dense), None];
            let want = spmv_in_rust(&a, &x);
            for run in [Compiled::run, Compiled::run_fenced] {
                let got = unsafe { run(&compiled, &[rows as i64, 50], &operands, &Limits::default()) }.unwrap();
                assert_eq!(got[4], Some(f64s(&want)), "{level:?}, {rows} rows");
                assert!(got[..4].iter().all(Option::is_none));
            }
        }
    }
}

#[test]
fn a_limit_or_an_impossible_size_is_a_failure() {
    let compiled = compile(&kernel(SPMV), &options(OptLevel::Full)).unwrap();
    let a = Csr::random(100, 50, 8, 1);
    let x = [1.0; 50];
    let (pos, crd, values, dense) = (i32s(&a.pos), i32s(&a.crd), f64s(&a.values), f64s(&x));
    let operands = [Some(&pos), Some(&crd), Some(&values), Some(&dense), None];
    let run = |rows, memory| {
        unsafe { compiled.run(&[rows, 50], &operands, &Limits { memory, ..Limits::default() }) }.map(|_| ())
    };
    assert_eq!(run(100, 800), Ok(()));
    assert_eq!(run(100, 799), Err(Failure::Memory));
    assert_eq!(run(i64::MAX, usize::MAX), Err(Failure::Memory));
    assert_eq!(run(1 << 60, usize::MAX), Err(Failure::Memory));
}

/// The last element is the last that may be read, also where a choice could load more of it at once.
#[test]
fn a_choice_reads_one_element() {
    for ty in [Type::F32, Type::F64] {
        let text = format!(
            "kernel choice(n)\n  operand a_vals: {ty}\n  result r_vals: {ty}\n  in a@0: {ty}[n] {{dense}} at dense, a_vals\n  \
             out r@1: {ty}[n] {{dense}} at dense, r_vals\n\n  alloc r_vals[n]\n  let least: {ty} = a_vals[0]\n  \
             for i in 0..n {{\n    r_vals[i] = mask(least < a_vals[i], a_vals[i])\n  }}\n  finish r_vals[n]\n"
        );
        for level in LEVELS {
            let compiled = compile(&kernel(&text), &options(level)).unwrap();
            for n in 1..9 {
                let a = Array::from_values(ty, (0..n).map(|x| Value::from_f64(ty, x as f64)));
                let got = unsafe { compiled.run_fenced(&[n], &[Some(&a), None], &Limits::default()) }.unwrap();
                assert_eq!(got[1], Some(a), "{level:?}, {ty}, {n} elements");
            }
        }
    }
}

fn spadd_in_rust(a: &Csr, b: &Csr) -> Csr {
    let mut sum = Csr { pos: vec![0], crd: vec![], values: vec![] };
    for row in 0..a.pos.len() - 1 {
        let mut entries = BTreeMap::new();
        for m in [a, b] {
            for p in m.pos[row] as usize..m.pos[row + 1] as usize {
                *entries.entry(m.crd[p]).or_insert(0.0) += m.values[p];
            }
        }
        sum.crd.extend(entries.keys());
        sum.values.extend(entries.values());
        sum.pos.push(sum.crd.len() as i32);
    }
    sum
}

#[test]
fn spadd_merges_and_grows() {
    for level in LEVELS {
        let compiled = compile(&kernel(SPADD), &options(level)).unwrap();
        for (rows, per_row) in [(0, 1), (1, 0), (7, 3), (300, 20)] {
            let (a, b) = (Csr::random(rows, 64, per_row, 5), Csr::random(rows, 64, per_row, 6));
            let (of_a, of_b) = (a.arrays(), b.arrays());
            let mut operands: Vec<Option<&Array>> = of_a.iter().chain(&of_b).map(Some).collect();
            operands.extend([None, None, None]);
            let want = spadd_in_rust(&a, &b);
            for run in [Compiled::run, Compiled::run_fenced] {
                let got = unsafe { run(&compiled, &[rows as i64, 64], &operands, &Limits::default()) }.unwrap();
                assert_eq!(got[6..], want.arrays().map(Some), "{level:?}, {rows} rows");
            }
        }
    }
}

#[test]
fn growth_stops_at_the_limit_and_gives_its_memory_back() {
    let compiled = compile(&kernel(SPADD), &options(OptLevel::Full)).unwrap();
    let a = Csr::random(300, 64, 20, 5);
    let arrays = a.arrays();
    let mut operands: Vec<Option<&Array>> = arrays.iter().chain(&arrays).map(Some).collect();
    operands.extend([None, None, None]);
    let run = |memory| unsafe { compiled.run(&[300, 64], &operands, &Limits { memory, ..Limits::default() }) };
    let enough = (0..24).map(|n| 1 << n).find(|memory| run(*memory).is_ok()).unwrap();
    assert!(enough >= 12 * a.crd.len(), "a result of {} entries in {enough} bytes", a.crd.len());
    for memory in (0..enough / 2).step_by(997) {
        assert_eq!(run(memory).unwrap_err(), Failure::Memory, "{memory} bytes");
    }
}

#[test]
fn sorting_is_stable_and_calls_reach_the_library() {
    let mut next = numbers(9);
    let keys: Vec<i64> = (0..5000).map(|_| next() as i64 % 700 - 350).collect();
    let mut want: Vec<(i64, i64)> = keys.iter().enumerate().map(|(place, k)| (*k, place as i64)).collect();
    want.sort();
    let (sorted, order): (Vec<i64>, Vec<i64>) = want.into_iter().unzip();
    for level in LEVELS {
        let compiled = compile(&kernel(SORTED), &options(level)).unwrap();
        for run in [Compiled::run, Compiled::run_fenced] {
            let operands = [Some(&i64s(&keys)), None, None, None, None, None];
            let got = unsafe { run(&compiled, &[5000], &operands, &Limits::default()) }.unwrap();
            let eights = vec![8.0; 5000];
            assert_eq!(got[1..4], [Some(i64s(&sorted)), Some(i64s(&order)), Some(f64s(&eights))], "{level:?}");
        }
    }
}

/// Runs a kernel of one operand `a: i64[n]` and one result `r: i64[n]`, which the body makes.
fn on_integers(body: &str, a: &[i64], level: OptLevel) -> Result<Vec<i64>, Failure> {
    let text = format!(
        "kernel small(n)\n operand a: i64\n result r: i64\n workspace w: i64, v: i64\n in a@0: i64[n] {{dense}} at dense, a\n \
         out r@1: i64[n] {{dense}} at dense, r\n\n{body}"
    );
    let compiled = compile(&kernel(&text), &options(level)).unwrap();
    let operands = [Some(&i64s(a)), None, None, None];
    let got = unsafe { compiled.run_fenced(&[a.len() as i64], &operands, &Limits::default()) }?;
    let Some(Array::I64(r)) = got[1].as_ref() else { panic!("the result is missing") };
    Ok(r.to_vec())
}

/// The loads behind these three are out of bounds exactly where they are not evaluated; fences would tell.
#[test]
fn arms_with_loads_are_evaluated_only_where_needed() {
    let body = "alloc r[n]\n for i in 0..n {\n \
                let last = i + 1 == n\n \
                let same = !last && a[i + 1] == a[i]\n \
                let ends = last || a[i + 1] != a[i]\n \
                r[i] = select(last, 0, a[i + 1]) * 4 + mask(same, 2) + mask(ends, 1)\n }\n finish r[n]";
    for level in LEVELS {
        assert_eq!(on_integers(body, &[5, 5, 7], level), Ok(vec![22, 29, 1]), "{level:?}");
    }
}

#[test]
fn a_workspace_is_made_anew_in_every_turn_and_grows() {
    let body = "alloc r[n]\n for i in 0..n {\n alloc w[i] = 3\n alloc v[1]\n v[0] = 0\n reserve w[i + 1]\n w[i] = a[i]\n \
                s = 0\n for j in 0..i + 1 {\n s = s + w[j]\n }\n reserve v[1000]\n r[i] = s + v[0]\n }\n finish r[n]";
    for level in LEVELS {
        assert_eq!(on_integers(body, &[10, 20, 30, 40], level), Ok(vec![10, 23, 36, 49]), "{level:?}");
    }
}

/// An element that is stored from the one before it is not copied as memory, though the loop does nothing else: the first goes through.
#[test]
fn what_is_shifted_in_place_goes_through() {
    let body = "alloc r[n] = 0\n r[0] = a[0]\n for p in 0..n - 1 {\n r[p + 1] = r[p]\n }\n finish r[n]";
    for level in LEVELS {
        assert_eq!(on_integers(body, &[7; 100], level), Ok(vec![7; 100]), "{level:?}");
    }
}

#[test]
fn a_kernel_can_fail_anywhere() {
    let body = "alloc r[n] = 1\n for i in 0..n {\n if a[i] < 0 {\n fail positions\n }\n if a[i] == 0 {\n fail overflow\n }\n }\n finish r[n]";
    for level in LEVELS {
        assert_eq!(on_integers(body, &[1, 2], level), Ok(vec![1, 1]));
        assert_eq!(on_integers(body, &[1, -2], level), Err(Failure::Positions));
        assert_eq!(on_integers(body, &[0, -2], level), Err(Failure::Overflow));
        assert_eq!(on_integers("fail steps\n alloc r[n] = 1\n finish r[n]", &[0], level), Err(Failure::Steps));
    }
}

#[test]
fn vector_and_parallel_loops_compute_what_serial_ones_do() {
    let a: Vec<i64> = (0..1000).collect();
    for how in ["", "vector ", "parallel "] {
        let body = format!("alloc r[n]\n {how}for i in 0..n {{\n r[i] = a[i] * a[i] - 3\n }}\n finish r[n]");
        for level in LEVELS {
            let got = on_integers(&body, &a, level).unwrap();
            assert!(got.iter().zip(&a).all(|(r, x)| *r == x * x - 3), "{how}at {level:?}");
        }
    }
}

/// 1 + 2⁻⁵³ + 2⁻⁵³ is 1 from left to right, and more from right to left or with a fused multiplication.
#[test]
fn without_reassociation_sums_and_products_are_rounded_one_by_one() {
    let text = SPMV.replace(" reassociate", "");
    let compiled = compile(&kernel(&text), &options(OptLevel::Full)).unwrap();
    let tiny = f64::EPSILON / 2.0;
    let (values, x) = ([1.0, tiny, tiny, 1.0 + f64::EPSILON], [1.0, 1.0, 1.0, 1.0 - f64::EPSILON]);
    let want = values.iter().zip(x).fold(0.0, |sum, (v, x)| sum + v * x);
    let (pos, crd, values, x) = (i32s(&[0, 4]), i32s(&[0, 1, 2, 3]), f64s(&values), f64s(&x));
    let operands = [Some(&pos), Some(&crd), Some(&values), Some(&x), None];
    let got = unsafe { compiled.run(&[1, 4], &operands, &Limits::default()) }.unwrap();
    assert_eq!(got[4], Some(f64s(&[want])));
}

#[test]
fn threads_share_a_compiled_kernel() {
    let compiled = compile(&kernel(SPMV), &options(OptLevel::Full)).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let compiled = &compiled;
            scope.spawn(move || {
                let a = Csr::random(200, 50, 8, seed);
                let x = vec![0.5; 50];
                let [pos, crd, values] = a.arrays();
                let want = spmv_in_rust(&a, &x);
                for _ in 0..20 {
                    let operands = [Some(&pos), Some(&crd), Some(&values), Some(&f64s(&x)), None];
                    let got = unsafe { compiled.run(&[200, 50], &operands, &Limits::default()) }.unwrap();
                    assert_eq!(got[4], Some(f64s(&want)));
                }
            });
        }
    });
}

#[test]
fn threads_compile_at_once() {
    std::thread::scope(|scope| {
        for text in [SPMV, SPADD, SPMM, SORTED] {
            scope.spawn(move || (0..3).for_each(|_| drop(compile(&kernel(text), &Options::default()).unwrap())));
        }
    });
}

#[test]
fn a_kernel_that_is_not_well_formed_is_refused() {
    let mut bad = kernel(SPMV);
    bad.body.pop();
    let error = compile(&bad, &Options::default()).err().expect("the result is never finished");
    assert!(matches!(&error, Error::Kernel(what) if what.contains("y_vals")), "{error}");
}

#[test]
#[should_panic(expected = "element type of buffer 2")]
fn operands_of_other_types_are_a_defect_of_the_caller() {
    let compiled = compile(&kernel(SPMV), &options(OptLevel::None)).unwrap();
    let (pos, crd, x) = (i32s(&[0]), i32s(&[]), f64s(&[]));
    let _ = unsafe { compiled.run(&[0, 0], &[Some(&pos), Some(&crd), Some(&crd), Some(&x), None], &Limits::default()) };
}

/// A kernel of many short loops, with a scalar that goes from one to the next and a workspace that all of them use, cut into
/// parts of any length: the same results, the same failures.
#[test]
fn long_kernels_are_cut_into_parts() {
    let mut text = String::from(
        "kernel many(n)\n  operand a_vals: f64\n  result r_vals: f64\n  workspace w: f64\n  in a@0: f64[n] {dense} at dense, a_vals\n  \
         out r@1: f64[n] {dense} at dense, r_vals\n\n  alloc w[4]\n  for i in 0..4 {\n    w[i] = 0.0\n  }\n  let first: f64 = a_vals[0]\n  s = 0.0\n",
    );
    for turn in 0..20 {
        text += &format!(
            "  for i in 0..n {{\n    s = s + a_vals[i]\n  }}\n  w[{}] = w[{}] + s * first\n",
            turn % 4,
            turn % 4
        );
    }
    text += "  if s > 1000.0 {\n    fail outside\n  }\n  alloc r_vals[n]\n  for i in 0..n {\n    r_vals[i] = w[i % 4] + s\n  }\n  finish r_vals[n]\n";
    let kernel = kernel(&text);
    let run = |options: &Options, a: &Array| unsafe {
        compile(&kernel, options).unwrap().run_fenced(&[a.len() as i64], &[Some(a), None, None], &Limits::default())
    };
    for (opt_level, long) in LEVELS.into_iter().flat_map(|level| [1, 2, 3, 7, 40, Options::LONG].map(|n| (level, n))) {
        let options = Options { opt_level, long, ..Options::default() };
        // s is 4 more in each of 20 turns, twice the first value in each sum: w[k] = 2 · 4 · Σ (k + 1 + 4m), m below 5.
        let made = run(&options, &f64s(&[2.0, -1.0, 3.0, 0.0, 0.0])).unwrap();
        let w = |k: f64| 8.0 * (5.0 * (k + 1.0) + 40.0) + 80.0;
        assert_eq!(made[1], Some(f64s(&[w(0.0), w(1.0), w(2.0), w(3.0), w(0.0)])), "{opt_level:?}, parts of {long}");
        assert_eq!(run(&options, &f64s(&[1000.0])), Err(Failure::Outside), "{opt_level:?}, parts of {long}");
    }
}

/// A workspace that grows in a part stands elsewhere afterwards: the kernel's own condition reads it there.
#[test]
fn what_grows_in_a_part_is_read_behind_it() {
    let text = "kernel grows(n)\n  operand a_vals: f64\n  result r_vals: f64\n  workspace w: f64, v: f64\n  in a@0: f64[n] {dense} at dense, a_vals\n  \
                out r@1: f64[n] {dense} at dense, r_vals\n\n  alloc w[1]\n  w[0] = 0.0\n  c = 1\n  s = 0.0\n  \
                while w[0] < 6.0 {\n    alloc v[4] = 1.0\n    c = c * 10\n    for i in 0..n {\n      reserve w[c]\n      w[c - 1] = a_vals[i]\n    }\n    \
                w[0] = w[0] + v[0]\n    s = s + w[c - 1]\n  }\n  \
                alloc r_vals[n]\n  for i in 0..n {\n    r_vals[i] = s\n  }\n  finish r_vals[n]\n";
    let (kernel, a) = (kernel(text), f64s(&[2.0, 3.0]));
    for (opt_level, long) in LEVELS.into_iter().flat_map(|level| [1, 2, 3, Options::LONG].map(|n| (level, n))) {
        let compiled = compile(&kernel, &Options { opt_level, long, ..Options::default() }).unwrap();
        let made = unsafe { compiled.run_fenced(&[2], &[Some(&a), None, None, None], &Limits::default()) }.unwrap();
        assert_eq!(made[1], Some(f64s(&[18.0, 18.0])), "{opt_level:?}, parts of {long}");
    }
}
