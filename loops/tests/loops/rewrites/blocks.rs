//! Fibers that are appended whole are one block.

/// A kernel over a matrix in compressed rows and one as a list, whose entries are appended to a matrix and a list.
fn rewritten(body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, L0_pos: i32, L0_crd: i32, L1_crd: i32, L_vals: f64
  result C1_pos: i32, C1_crd: i32, C_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in L@1: f64[n_I, n_J] {{nonunique, singleton}} at nonunique(L0_pos, L0_crd), singleton(L1_crd), L_vals
  out C@2: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(C1_pos, C1_crd), C_vals

  alloc C1_pos[n_I + 1] = 0i32
  alloc C1_crd[capacity(A1_crd) + capacity(L1_crd)]
  alloc C_vals[capacity(A1_crd) + capacity(L1_crd)]
  c = 0
{body}
  finish C1_pos[n_I + 1]
  finish C1_crd[c]
  finish C_vals[c]
"
    );
    super::rewritten(&text, &["dead code", "blocks", "substitute"])
}

const ROWS: &str = "  for i in 3..n_I {
    for p in A1_pos[i - 3]..A1_pos[i - 3 + 1] {
      let j = A1_crd[p]
      C_vals[c] = A_vals[p]
      C1_crd[c] = i32(j)
      c = c + 1
    }
    C1_pos[i + 1] = i32(c)
  }";

#[test]
fn rows_that_are_appended_are_a_block() {
    let block = "  if 3 < n_I {
    let shift = c - A1_pos[0]
    for i in 3..n_I {
      C1_pos[i + 1] = i32(shift + A1_pos[i - 3 + 1])
    }
    for p in A1_pos[0]..A1_pos[n_I - 3] {
      let j = A1_crd[p]
      C_vals[c] = A_vals[p]
      C1_crd[c] = i32(j)
      c = c + 1
    }
  }";
    let got = rewritten(ROWS);
    assert!(got.contains(block), "{got}");
}

/// Other loops are not rewritten: values that depend on the row, entries not all of which are appended, rows with a step, positions
/// that the loop reads, fibers that end elsewhere.
#[test]
fn other_rows_stay() {
    let asks = ROWS.replace("A_vals[p]\n", "A_vals[p] * f64(i)\n");
    let some = ROWS.replace("c = c + 1", "c = c + i64(j > 3)");
    let steps = ROWS.replace("i - 3", "i * 2");
    let reads = ROWS.replace("A_vals[p]\n", "f64(C1_pos[0])\n");
    let elsewhere = ROWS.replace("i32(c)", "i32(c + 1)");
    for body in [asks, some, steps, reads, elsewhere] {
        assert_ne!(body, ROWS);
        let got = rewritten(&body);
        assert!(!got.contains("shift"), "{got}");
    }
}
