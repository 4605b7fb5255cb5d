//! How a loop's work is spread over its iterations: the positions that grow with them.

use crate::sound;
use fiberloom_loops::{Stmt, weights};

/// The weights of a kernel's loop over `i`, each as the name of its array, and of those that say which element counts.
fn of(body: &str) -> Vec<String> {
    let text = format!(
        "kernel k(n)
  operand A1_pos: i32, A1_crd: i32, A2_pos: i64, A2_crd: i32, A_vals: f64, B1_pos: i32, B1_crd: i32, B_vals: f64
  result y: f64
  in A@0: f64[n, n, n] {{dense, compressed, compressed}} at dense, compressed(A1_pos, A1_crd), compressed(A2_pos, A2_crd), A_vals
  in B@1: f64[n, n] {{dense, compressed}} at dense, compressed(B1_pos, B1_crd), B_vals
  out y@2: f64[n] {{dense}} at dense, y

  alloc y[n] = 0.0
  for i in 0..n {{
{body}
  }}
  finish y[n]
"
    );
    let kernel = sound(&text);
    let of = kernel.body.iter().find_map(|stmt| match stmt {
        Stmt::For { var, body, .. } => Some((*var, body)),
        _ => None,
    });
    let (var, body) = of.unwrap();
    let all = weights(&kernel, var, body);
    let name = |n: usize| kernel.buffers[all[n].positions.0 as usize].name.clone();
    (0..all.len()).map(|n| all[n].at.map_or(name(n), |at| format!("{}[{}]", name(n), name(at)))).collect()
}

#[test]
fn a_loop_without_positions_has_none() {
    assert_eq!(of("    y[i] = A_vals[i]"), [""; 0]);
    // The iterations of a loop over the whole array are not the row's.
    assert_eq!(of("    for p in A1_pos[0]..A1_pos[n] {\n      y[i] = y[i] + A_vals[p]\n    }"), [""; 0]);
}

#[test]
fn entries_of_rows_and_of_their_fibers_count() {
    let fibers = "    for p in A1_pos[i]..A1_pos[i + 1] {
      for q in A2_pos[p]..A2_pos[p + 1] {
        y[i] = y[i] + A_vals[q]
      }
    }";
    assert_eq!(of(fibers), ["A1_pos", "A2_pos[A1_pos]"]);
}

#[test]
fn entries_of_lists_that_are_merged_count_together() {
    let merged = "    p = A1_pos[i]
    q = B1_pos[i]
    let end = A1_pos[i + 1]
    while p < end && q < B1_pos[i + 1] {
      y[i] = y[i] + B_vals[q]
      p = p + 1
      q = q + 1
    }";
    assert_eq!(of(merged), ["A1_pos", "B1_pos"]);
}

/// The rows of another matrix that a row's entries name do not grow with the iterations.
#[test]
fn rows_that_entries_name_do_not_count() {
    let product = "    for p in A1_pos[i]..A1_pos[i + 1] {
      let k = A1_crd[p]
      for q in B1_pos[k]..B1_pos[k + 1] {
        y[i] = y[i] + B_vals[q]
      }
    }";
    assert_eq!(of(product), ["A1_pos"]);
}
