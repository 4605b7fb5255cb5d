//! Compiled kernels against the same computation in Rust.

mod common;

use common::*;
use fiberloom_codegen::{Limits, OptLevel, Options, compile};
use fiberloom_core::loops::Failure;

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
            for fenced in [false, true] {
                let run =
                    if fenced { fiberloom_codegen::Compiled::run_fenced } else { fiberloom_codegen::Compiled::run };
                let got = run(&compiled, &[rows as i64, 50], &operands, &Limits::default()).unwrap();
                assert_eq!(got[4], Some(f64s(&want)), "{level:?}, {rows} rows, fenced: {fenced}");
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
    let run = |rows, memory| compiled.run(&[rows, 50], &operands, &Limits { memory }).map(|_| ());
    assert_eq!(run(100, 800), Ok(()));
    assert_eq!(run(100, 799), Err(Failure::Memory));
    assert_eq!(run(i64::MAX, usize::MAX), Err(Failure::Memory));
    assert_eq!(run(1 << 60, usize::MAX), Err(Failure::Memory));
}
