//! Loops over consecutive fibers, and over each, are one loop.

/// A kernel over a matrix in compressed rows of compressed rows, with this body, rewritten.
fn flat(body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J) reassociate
  operand A0_pos: i32, A0_crd: i32, A1_pos: i32, A1_crd: i32, A_vals: f64
  result s_vals: f64
  in A@0: f64[n_I, n_J] {{compressed, compressed}} at compressed(A0_pos, A0_crd), compressed(A1_pos, A1_crd), A_vals
  out s@1: f64[] dense at s_vals

  alloc s_vals[1]
  t = 0.0
{body}
  s_vals[0] = t
  finish s_vals[1]
"
    );
    super::rewritten(&text, &["dead code", "collapse"])
}

const ROWS: &str = "  for p in A0_pos[0]..A0_pos[1] {
    let i = A0_crd[p]
    for q in A1_pos[p]..A1_pos[p + 1] {
      t = t + A_vals[q]
    }
  }";

#[test]
fn fibers_behind_each_other_are_one_loop() {
    assert!(flat(ROWS).contains("for q in A1_pos[A0_pos[0]]..A1_pos[A0_pos[1]] {\n    t = t + A_vals[q]\n  }"));
}

/// Other loops stay two loops: bodies that read the outer position, statements between the fibers, a part of a fiber, bounds that are
/// loaded from coordinates, and fibers that are not consecutive.
#[test]
fn other_loops_stay() {
    let asks = ROWS.replace("t + A_vals[q]", "t + A_vals[q] * f64(p)");
    let between = ROWS.replace("let i = A0_crd[p]", "t = t * 2.0");
    let half = ROWS.replace("A0_pos[0]..A0_pos[1]", "1..A0_pos[1]");
    let coordinates = ROWS.replace("A1_pos[p]..A1_pos[p + 1]", "A1_crd[p]..A1_crd[p + 1]");
    let apart = ROWS.replace("A1_pos[p]..A1_pos[p + 1]", "A1_pos[p]..A1_pos[p + 2]");
    for body in [asks, between, half, coordinates, apart] {
        assert_eq!(flat(&body).matches("for ").count(), 2, "{body}");
    }
}
