//! Rewrites that are right are proved, and wrong ones refuted by data that the machine runs.

use fiberloom_check::Effort;
use fiberloom_check::notation::programs_under;
use fiberloom_loops::{self as loops, Kernel};
use fiberloom_smt::rewrites::operands::Coordinates;
use fiberloom_smt::rewrites::path::Budget;
use fiberloom_smt::rewrites::programs::Program;
use fiberloom_smt::rewrites::tally::Tally;
use fiberloom_smt::rewrites::{Verdict, validate};
use std::path::Path;
use std::time::Duration;

/// The folder of the file tests.
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");

fn program(file: &str) -> Program {
    Program::of_file(&Path::new(FILES).join(file)).unwrap_or_else(|why| panic!("{file}: {why}"))
}

/// The kernel of a file test after all rewrites.
fn kernel(program: &Program) -> Kernel {
    let pairs = program.pairs().expect("it is lowered");
    let last = pairs.into_iter().rfind(|pair| pair.rewrite == "unroll and jam");
    last.expect("jam is a rewrite").after
}

fn kernel_of(text: &str) -> Kernel {
    let kernel = loops::read(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    loops::check(&kernel).unwrap_or_else(|e| panic!("{e}\n{text}"));
    kernel
}

/// What becomes of a file test's kernel with some of its text replaced.
fn verdict(file: &str, replaced: &[(&str, &str)]) -> Verdict {
    let program = program(file);
    let before = kernel(&program);
    let text = replaced.iter().fold(before.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{file} has no `{from}`\n{text}");
        text.replacen(from, to, 1)
    });
    let bound = program.bound(&before).expect("its data fit");
    validate(&before, &kernel_of(&text), &bound, Budget { time: Duration::from_secs(20), ..Budget::default() })
}

fn refuted(file: &str, replaced: &[(&str, &str)]) -> String {
    match verdict(file, replaced) {
        Verdict::Refuted(found) => found.to_string(),
        other => panic!("{file} with {replaced:?}: {other:?}"),
    }
}

#[test]
fn a_store_that_is_dropped_is_found() {
    let found = refuted("loops/spmv.loom", &[("    y_vals[i] = t\n", "")]);
    assert!(found.contains("is read and was never set"), "{found}");
    // What a workspace keeps from its allocation was set.
    let found = refuted("loops/spmspv.loom", &[("    x_w_vals[x0_crd[p_x]] = x_vals[p_x]\n", "")]);
    assert!(found.contains("after: y_vals"), "{found}");
}

#[test]
fn a_bound_that_is_moved_is_found() {
    refuted("loops/spmv.loom", &[("in A1_pos[i]..A1_pos[i + 1]", "in A1_pos[i]..A1_pos[i + 1] - 1")]);
    refuted("loops/spadd.loom", &[("while p_A < stop && p_B < stop_2", "while p_A <= stop && p_B < stop_2")]);
    let found = refuted("loops/spadd.loom", &[("let here = at_2 <= at_3", "let here = at_2 < at_3")]);
    assert!(found.contains("after: C1_crd"), "{found}");
}

/// A row of `B` is empty and the last: its first coordinate is out of bounds.
#[test]
fn a_load_before_its_guard_is_found() {
    let guarded = "    while p_A < end && p_B < end_2 {\n      while";
    let hoisted = "    let first = B1_crd[p_B]\n    while p_A < end && p_B < end_2 {\n      while";
    let found = refuted("loops/spadd.loom", &[(guarded, hoisted)]);
    assert!(found.contains("out of bounds"), "{found}");
}

#[test]
fn a_stale_value_is_found() {
    refuted("loops/spmv.loom", &[("  for i in 0..n_I {\n    t = 0.0\n", "  t = 0.0\n  for i in 0..n_I {\n")]);
    let stale = [
        ("        C1_crd[c1_C] = i32(at)\n        c1_C = c1_C + 1\n", "        C1_crd[c1_C] = i32(at)\n"),
        (
            "        p_A = p_A + 1\n        p_B = p_B + 1\n",
            "        p_A = p_A + 1\n        p_B = p_B + 1\n        c1_C = c1_C + 2\n",
        ),
    ];
    refuted("loops/spadd.loom", &stale);
}

/// Coordinates of a list differ, so that its turns may run at once; sums of a row are one element's.
#[test]
fn turns_that_conflict_are_found() {
    let apart = verdict("loops/spmspv.loom", &[("  for p_x in", "  vector for p_x in")]);
    assert!(matches!(apart, Verdict::Proved { coordinates: Coordinates::Any, .. }), "{apart:?}");
    let into =
        [("  for p_x in", "  vector for p_x in"), ("x_w_vals[x0_crd[p_x]] = x_vals[p_x]", "x_w_vals[0] = x_vals[p_x]")];
    let found = refuted("loops/spmspv.loom", &into);
    assert!(found.contains("conflict"), "{found}");
}

/// Floats are a ring where sums may be reassociated, and nothing is known of `+` where they may not.
#[test]
fn sums_are_reassociated_where_they_may_be() {
    let kernel = |mode: &str, sum: &str| {
        kernel_of(&format!(
            "kernel k(n_I){mode}
  operand x_vals: f64
  result y_vals: f64
  in x@0: f64[n_I] {{dense}} at dense, x_vals
  out y@1: f64[] dense at y_vals

  alloc y_vals[1]
  y_vals[0] = {sum}
  finish y_vals[1]
"
        ))
    };
    let values =
        [1e16, 1.0, -1e16].map(|x| fiberloom_core::algebra::Value::from_f64(fiberloom_core::algebra::Type::F64, x));
    let array = fiberloom_core::format::Array::from_values(fiberloom_core::algebra::Type::F64, values);
    let bound = loops::Bound { params: vec![3], operands: vec![Some(array), None] };
    let (left, right) = ("x_vals[0] + x_vals[1] + x_vals[2]", "x_vals[0] + (x_vals[1] + x_vals[2])");
    let of = |mode: &str, other: &str| validate(&kernel(mode, left), &kernel(mode, other), &bound, Budget::default());
    assert!(matches!(of(" reassociate", right), Verdict::Proved { .. }));
    assert!(matches!(of("", left), Verdict::Proved { .. }));
    assert!(!matches!(of("", right), Verdict::Proved { .. }));
    assert!(matches!(of(" reassociate", "x_vals[0] - x_vals[1] + x_vals[2]"), Verdict::Refuted(_)));
}

/// What came of programs, of which none is refuted, and a stated number of pairs is proved.
fn proved(programs: impl Iterator<Item = Program>, at_least: usize) {
    let mut tally = Tally::default();
    let budget = Budget { time: Duration::from_millis(700), ..Budget::default() };
    programs.for_each(|program| tally.program(&program, "", budget));
    println!("{tally}");
    assert!(tally.refuted.is_empty(), "{tally}");
    assert!(tally.proved >= at_least, "{tally}");
}

#[test]
fn rewrites_of_file_tests_are_proved() {
    let folder = Path::new(FILES).join("loops");
    let (each, at_least) = if Effort::said() < Effort::Long { (6, 1) } else { (1, 20) };
    proved(programs_under(&folder).iter().step_by(each).flat_map(|path| Program::of_file(path)), at_least);
}

#[test]
fn rewrites_of_generated_programs_are_proved() {
    let (programs, at_least) = if Effort::said() < Effort::Long { (1..6, 1) } else { (1..25, 12) };
    proved(programs.filter_map(Program::generated), at_least);
}
