//! Loops whose folds begin later from iteration to iteration run downward.

fn rewritten(body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J) reassociate
  operand x_vals: f64, M_vals: f64
  result y_vals: f64
  in x@0: f64[n_I] {{dense}} at dense, x_vals
  in M@1: f64[n_I, n_J] {{dense, dense}} at dense, dense, M_vals
  out y@2: f64[n_I] {{dense}} at dense, y_vals

  alloc y_vals[n_I * n_J] = 0.0
{body}
  finish y_vals[n_I * n_J]
"
    );
    super::rewritten(&text, &["downward"])
}

const SUMS: &str = "  for i in 0..n_I {
    t = 0.0
    for k in i..n_I {
      t = t + x_vals[k]
    }
    y_vals[i] = t
  }";

#[test]
fn a_sum_to_the_end_runs_downward() {
    let turned = "  for back in 0..n_I {
    t = 0.0
    for k_2 in 0..n_I - (n_I - 1) + back {
      t = t + x_vals[n_I - 1 - k_2]
    }
    y_vals[n_I - 1 - back] = t
  }
";
    let got = rewritten(SUMS);
    assert!(got.contains(turned), "{got}");
}

#[test]
fn rows_to_the_end_run_downward() {
    let rows = "  for i in 0..n_I {
    for k in i + 2..n_I {
      for j in 0..n_J {
        y_vals[i * n_J + j] = y_vals[i * n_J + j] + M_vals[k * n_J + j]
      }
    }
  }";
    let got = rewritten(rows);
    assert!(got.contains("for back in 0..n_I {"), "{got}");
    assert!(got.contains("y_vals[(n_I - 1 - back) * n_J + j]"), "{got}");
}

/// Loops that read values of another iteration, store to one element in several iterations, have a fold that may not be regrouped, or
/// have bounds that differ between iterations are not rewritten.
#[test]
fn other_loops_stay() {
    let changes = [
        ("    t = 0.0\n", ""),
        ("y_vals[i] = t", "y_vals[0] = t"),
        ("y_vals[i] = t", "y_vals[i] = t + y_vals[0]"),
        ("y_vals[i] = t", "y_vals[i] = t\n    y_vals[n_I - 1] = t"),
        ("t = t + x_vals[k]", "t = t - x_vals[k]"),
        ("t = t + x_vals[k]", "t = t + x_vals[k]\n      t = max(t, 1.0)"),
        ("t = t + x_vals[k]", "t = t + x_vals[k]\n      y_vals[i] = y_vals[i] + t"),
        ("t = t + x_vals[k]", "t = t + x_vals[k] * t"),
        ("for k in i..n_I", "for k in 0..n_I"),
        ("for k in i..n_I", "for k in i..n_I - i"),
        ("for k in i..n_I", "for k in i..i + 3"),
        ("for k in i..n_I", "for k in min(max(i - 9223372036854775807, -1), n_I - 1) + 1..n_I"),
    ];
    for (from, to) in changes {
        let body = SUMS.replace(from, to);
        assert_ne!(body, SUMS, "{from}");
        let body = if to.is_empty() { format!("  t = 0.0\n{body}") } else { body };
        let got = rewritten(&body);
        assert!(!got.contains("back"), "{got}");
    }
}
