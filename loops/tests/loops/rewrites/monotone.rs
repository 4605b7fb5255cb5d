//! Least and greatest values of what rises along a loop.

fn rewritten(fold: &str) -> String {
    let text = format!(
        "kernel k(n_I)
  operand m_vals: i64
  result y_vals: i64
  in m@0: i64[] dense at m_vals
  out y@1: i64[] dense at y_vals

  alloc y_vals[1]
  t = 0
  for j in 2..n_I {{
    t = {fold}
  }}
  y_vals[0] = t
  finish y_vals[1]
"
    );
    super::rewritten(&text, &["monotone"])
}

#[test]
fn the_first_or_the_last_iteration_decides() {
    for fold in ["min(t, j)", "min(t, select(m_vals[0] == 0, j, n_I))", "max(t, m_vals[0])"] {
        let text = rewritten(fold);
        assert!(text.contains("for j in 2..min(n_I, 3) {"), "{text}");
    }
    for fold in ["max(t, j)", "max(t, min(j, m_vals[0]))"] {
        let text = rewritten(fold);
        assert!(text.contains("for j in max(2, n_I - 1)..n_I {"), "{text}");
    }
}

#[test]
fn what_may_turn_is_visited_whole() {
    for fold in ["min(t, select(j == 5, j, 0))", "min(t, 7 - j)", "t + j", "min(t, j + 1)", "min(t, m_vals[0] - j)"] {
        assert!(rewritten(fold).contains("for j in 2..n_I {"), "{fold}");
    }
}
