//! The laws of shared levels and of shared entries: every entry is stored, and they are compared.

use crate::kernel;
use fiberloom_loops::check;

const LISTS: &str = "
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, d0_pos: i32, d0_crd: i32, d_vals: f64
  result B_vals: f64
  in A@0: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  in d@1: f64[n_I] {compressed} at compressed(d0_pos, d0_crd), d_vals
  out B@2: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), B_vals
";

/// The checker's result for a kernel in which `loops` store values into rows that are shared with an operand.
fn checked(loops: &str) -> Result<(), String> {
    let made = format!("  alloc B_vals[capacity(A1_crd)]\n{loops}  finish B_vals[capacity(A1_crd)]\n");
    let text = format!("kernel k(n_I, n_J) reassociate{LISTS}\n{made}");
    check(&kernel(&text))
}

const NEST: &str = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      B_vals[p] = 2.0 * A_vals[p]
    }
  }
";

#[test]
fn loops_over_all_entries_store_each() {
    assert_eq!(checked(NEST), Ok(()));
    let flat = "  for p in A1_pos[0]..A1_pos[n_I] {\n    B_vals[p] = A_vals[p]\n  }\n";
    assert_eq!(checked(flat), Ok(()));
    let (store, twice) = ("B_vals[p] = 2.0 * A_vals[p]", "B_vals[p] = A_vals[p]");
    let either = format!("if A_vals[p] != 0.0 {{\n        {store}\n      }} else {{\n        {twice}\n      }}");
    assert_eq!(checked(&NEST.replace(store, &either)), Ok(()));
    let all = "  for p in 0..capacity(A_vals) {\n    B_vals[p] = A_vals[p]\n  }\n";
    assert_eq!(checked(all), Ok(()));
    assert_eq!(checked(&all.replace("A_vals)", "A1_crd)")), Ok(()));
}

#[test]
fn entries_of_shared_values_are_compared() {
    let text = |comparison: &str| {
        let text = format!(
            "kernel k(n_I) reassociate
  operand v0_pos: i32, v0_crd: i32, v_vals: f64
  result C0_crd: i32, C0_pos: i32
  in v@0: f64[n_I] {{compressed}} at compressed(v0_pos, v0_crd), v_vals
  out C@1: f64[n_I] {{compressed}} at compressed(C0_pos, C0_crd), v_vals

  alloc C0_pos[2] = 0i32
  alloc C0_crd[capacity(v0_crd)]
  c = 0
  for p in v0_pos[0]..v0_pos[1] {{
    C0_crd[c] = v0_crd[p]
    c = c + 1
  }}
  C0_pos[1] = i32(c)
  finish C0_pos[2]
  finish C0_crd[c]
{comparison}"
        );
        check(&kernel(&text))
    };
    let right = "  if c != capacity(v_vals) {\n    fail entries\n  }\n";
    assert_eq!(text(right), Ok(()));
    let other = right.replace("v_vals", "v0_pos");
    for wrong in ["", &other, &right.replace("!=", "<"), &right.replace("entries", "positions")] {
        let said = text(wrong).expect_err(wrong);
        assert_eq!(said, "result `C` has the values `v_vals`, and its entries are not compared with them");
    }
}

/// The checker refuses loops that do not certainly store a value for each entry: rows to which another list leads, values at other
/// positions, stores under a condition, loops over some rows or entries, or no loops.
#[test]
fn wrong_lowerings_are_caught() {
    let led =
        NEST.replace("i in 0..n_I", "r in d0_pos[0]..d0_pos[1]").replace("    for p", "    i = d0_crd[r]\n    for p");
    let below = NEST.replace("B_vals[p]", "B_vals[A1_crd[p]]");
    let condition = NEST.replace(
        "      B_vals[p] = 2.0 * A_vals[p]\n",
        "      if A_vals[p] != 0.0 {\n        B_vals[p] = A_vals[p]\n      }\n",
    );
    let later = NEST.replace("i in 0..n_I", "i in 1..n_I");
    let other = NEST.replace("0..n_I", "0..n_J");
    let first = NEST.replace("A1_pos[i + 1]", "A1_pos[i] + 1");
    let fewer = "  for p in 0..capacity(A1_pos) {\n    B_vals[p] = 1.0\n  }\n".to_string();
    let none = String::new();
    for wrong in [led, below, condition, later, other, first, fewer, none] {
        assert!(wrong != NEST, "it differs");
        let said = checked(&wrong).expect_err(&wrong);
        assert_eq!(said, "result `B` has a value for each of `A1_crd`, and not each is stored");
    }
}
