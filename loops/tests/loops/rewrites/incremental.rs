//! Folds that go on from where the iteration before left them.

fn rewritten(body: &str) -> String {
    let text = format!(
        "kernel k(n_I)
  operand A_pos: i32, A_crd: i32, A_vals: f64, x_vals: f64
  result y_vals: f64
  in A@0: f64[n_I] {{compressed}} at compressed(A_pos, A_crd), A_vals
  in x@1: f64[n_I] {{dense}} at dense, x_vals
  out y@2: f64[n_I] {{dense}} at dense, y_vals

  alloc y_vals[n_I] = 0.0
{body}
  finish y_vals[n_I]
"
    );
    super::rewritten(&text, &["incremental"])
}

const SUMS: &str = "  for i in 0..n_I {
    t = 0.0
    for k in 0..i + 1 {
      t = t + x_vals[k]
    }
    y_vals[i] = t
  }";

#[test]
fn a_sum_goes_on() {
    let carried = "  run = 0.0
  next = 0
  for i in 0..n_I {
    let end = i + 1
    if end < next {
      run = 0.0
      next = 0
    }
    t = run
    for k in next..end {
      t = t + x_vals[k]
    }
    run = t
    next = max(next, end)
    y_vals[i] = t
  }
";
    let got = rewritten(SUMS);
    assert!(got.contains(carried), "{got}");
}

#[test]
fn a_row_goes_on() {
    let rows = "  for i in 0..n_I {
    for k in 0..i + 1 {
      for j in 0..n_I {
        y_vals[i * n_I + j] = y_vals[i * n_I + j] + x_vals[k]
      }
    }
  }";
    let carried = "  next = 0
  for i in 0..n_I {
    let end = i + 1
    if i > 0 && end >= next {
      vector for j_2 in 0..n_I {
        y_vals[i * n_I + j_2] = y_vals[(i - 1) * n_I + j_2]
      }
    } else {
      next = 0
    }
    for k in next..end {
";
    let got = rewritten(rows);
    assert!(got.contains(carried), "{got}");
    for (from, to) in [
        ("y_vals[i * n_I + j] = y", "y_vals[k * n_I + j] = y"),
        ("+ x_vals[k]", "+ x_vals[i]"),
        ("in 0..n_I {\n        y", "in 0..n_I - 1 {\n        y"),
        ("  for i", "  y_vals[0] = 1.0\n  for i"),
    ] {
        let body = rows.replacen(from, to, 1);
        assert_ne!(body, rows, "{from}");
        let got = rewritten(&body);
        assert!(!got.contains("next"), "{got}");
    }
}

#[test]
fn a_list_goes_on() {
    let list = "  for i in 0..n_I {
    t = 0.0
    let end = A_pos[1]
    p = A_pos[0]
    while p < end && A_crd[p] < i {
      t = t + A_vals[p]
      p = p + 1
    }
    y_vals[i] = t
  }";
    let carried = "    t = run
    p = run_2
    while p < end && A_crd[p] < end_2 {
      t = t + A_vals[p]
      p = p + 1
    }
    run = t
    run_2 = p
    next = end_2
";
    let got = rewritten(list);
    assert!(got.contains(carried), "{got}");
}

/// A fold is not carried if its terms read the outer variable, or something that an iteration stores or sets; if it begins with another
/// or a changing value; if its bounds decrease, or are loaded; or if the inner loop stores it.
#[test]
fn other_loops_stay() {
    let changes = [
        ("x_vals[k]", "x_vals[k] * x_vals[i]"),
        ("x_vals[k]", "y_vals[k]"),
        ("t = 0.0", "t = x_vals[i]"),
        ("t = 0.0", "t = 0.0\n    t = t + 1.0"),
        ("for k in 0..i + 1", "for k in i..n_I"),
        ("for k in 0..i + 1", "for k in 0..n_I - i"),
        ("for k in 0..i + 1", "for k in 0..i64(A_pos[i])"),
        ("for k in 0..i + 1", "for k in min(i, 3)..i + 1"),
        ("x_vals[k]\n", "x_vals[k]\n      y_vals[k] = t\n"),
    ];
    for (from, to) in changes {
        let body = SUMS.replace(from, to);
        assert_ne!(body, SUMS, "{from}");
        let got = rewritten(&body);
        assert!(!got.contains("run"), "{got}");
    }
}
