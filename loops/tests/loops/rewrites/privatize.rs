//! Folds in inner loops have variables of their own.

/// A kernel over a matrix in compressed rows, rewritten.
fn rewritten(mode: &str, body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J){mode}
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, w_vals: i64
  result s_vals: f64, n_vals: i64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in w@1: i64[n_J] {{dense}} at dense, w_vals
  out s@2: f64[] dense at s_vals
  out n@3: i64[] dense at n_vals

  alloc s_vals[1]
  alloc n_vals[1]
  t = 0.0
  n = 0
{body}
  s_vals[0] = t
  n_vals[0] = n
  finish s_vals[1]
  finish n_vals[1]
"
    );
    super::rewritten(&text, &["privatize"])
}

const SUM: &str = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      t = t + A_vals[p] * f64(j)
    }
  }";

#[test]
fn rows_are_summed_for_themselves() {
    let apart = "  for i in 0..n_I {
    part = -0.0
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      part = part + A_vals[p] * f64(j)
    }
    t = t + part
  }
";
    let got = rewritten(" reassociate", SUM);
    assert!(got.contains(apart), "{got}");
    let most = SUM.replace("t = t + A_vals[p] * f64(j)", "t = max(t, A_vals[p])");
    assert!(rewritten("", &most).contains("part = -inf"), "a maximum rounds nothing");
    let whole = SUM.replace("t = t + A_vals[p] * f64(j)", "n = n + w_vals[j]");
    assert!(rewritten("", &whole).contains("n = n + part"), "whole numbers are added in any order");
}

/// Other folds are not rewritten: sums that round; folds that begin for each row anyway, or are in no outer loop; folds whose value
/// is read in an iteration, or that share it with another fold; differences.
#[test]
fn other_folds_stay() {
    let begins = SUM.replace("    for p", "    t = 0.0\n    for p");
    let perhaps = begins.replace("    for p", "    if 0 < i {\n    for p").replace("    }\n  }", "    }\n    }\n  }");
    let alone = "  for p in A1_pos[0]..A1_pos[n_I] {\n    t = t + A_vals[p]\n  }".to_string();
    let is_read = SUM.replace("f64(j)", "t");
    let named = SUM.replace("let j = A1_crd[p]", "let j = t").replace("f64(j)", "j");
    let twice = SUM.replace("t = t +", "n = n + 1\n      t = t +");
    let less = SUM.replace("t = t +", "t = t -");
    let turned = SUM.replace("t + A_vals[p] * f64(j)", "A_vals[p] * f64(j) + t");
    let signed = SUM.replace("t = t + A_vals[p] * f64(j)", "n = gcd(n, w_vals[j])");
    for body in [begins, perhaps, alone, is_read, named, twice, less, turned, signed] {
        assert_ne!(body, SUM);
        let got = rewritten(" reassociate", &body);
        assert!(!got.contains("part"), "{got}");
    }
    assert!(!rewritten("", SUM).contains("part"));
}
