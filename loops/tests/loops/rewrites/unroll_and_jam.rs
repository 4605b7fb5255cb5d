//! Four rows are folded into a row at a time.

/// A kernel over a matrix in compressed rows and a dense one, rewritten.
fn rewritten(body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J, n_K)
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, B_vals: f64
  result C_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in B@1: f64[n_J, n_K] {{dense, dense}} at dense, dense, B_vals
  out C@2: f64[n_I, n_K] {{dense, dense}} at dense, dense, C_vals

  alloc C_vals[n_I * n_K] = 0.0
{body}
  finish C_vals[n_I * n_K]
"
    );
    super::rewritten(&text, &["unroll and jam"])
}

const PRODUCT: &str = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      let a = A_vals[p]
      for k in 0..n_K {
        C_vals[i * n_K + k] = C_vals[i * n_K + k] + a * B_vals[j * n_K + k]
      }
    }
  }";

#[test]
fn four_rows_at_a_time() {
    let jammed = "    let begin = A1_pos[i]
    let last = A1_pos[i + 1]
    let groups = max(last - begin, 0) >> 2
    for group in 0..groups {
      let p_2 = begin + group * 4
      let j_2 = A1_crd[p_2]
      let a_2 = A_vals[p_2]
      let p_3 = begin + group * 4 + 1
      let j_3 = A1_crd[p_3]
      let a_3 = A_vals[p_3]
      let p_4 = begin + group * 4 + 2
      let j_4 = A1_crd[p_4]
      let a_4 = A_vals[p_4]
      let p_5 = begin + group * 4 + 3
      let j_5 = A1_crd[p_5]
      let a_5 = A_vals[p_5]
      for k_2 in 0..n_K {
        C_vals[i * n_K + k_2] = C_vals[i * n_K + k_2] + a_2 * B_vals[j_2 * n_K + k_2] + a_3 * B_vals[j_3 * n_K + k_2] + a_4 * B_vals[j_4 * n_K + k_2] + a_5 * B_vals[j_5 * n_K + k_2]
      }
    }
    for p in begin + groups * 4..last {
      let j = A1_crd[p]
";
    let got = rewritten(PRODUCT);
    assert!(got.contains(jammed), "{got}");
}

/// Other loops are not rewritten: loops that fold into another row in each iteration, or into no row; loops whose terms read the
/// array that is folded into; loops over rows whose length depends on the iteration, or is a constant; two rows; iterations that set
/// a variable.
#[test]
fn other_loops_stay() {
    let moves = PRODUCT.replace("C_vals[i * n_K + k]", "C_vals[j * n_K + k]");
    let stays = PRODUCT.replace("C_vals[i * n_K + k]", "C_vals[i]");
    let strides = PRODUCT.replace("C_vals[i * n_K + k]", "C_vals[i * n_K + 2 * k]");
    let itself = PRODUCT.replace("B_vals[j * n_K + k]", "C_vals[j * n_K + k]");
    let named = PRODUCT.replace("let a = A_vals[p]", "let a = C_vals[p]");
    let ragged = PRODUCT.replace("0..n_K", "0..j");
    let known = PRODUCT.replace("0..n_K", "0..32");
    let two = PRODUCT.replace("      for k", "      C_vals[i] = 0.0\n      for k");
    let sets = PRODUCT.replace("  for i", "  n = 0\n  for i").replace("      for k", "      n = n + 1\n      for k");
    let other = PRODUCT.replace("= C_vals[i * n_K + k] +", "= C_vals[i * n_K + k + 1] +");
    for body in [moves, stays, strides, itself, named, ragged, known, two, sets, other] {
        let got = rewritten(&body);
        assert!(!got.contains("group"), "{got}");
    }
}
