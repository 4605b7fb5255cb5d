//! Folds end where nothing can change them.

fn rewritten(body: &str) -> String {
    let text = format!(
        "kernel k(n_I)
  operand A_pos: i32, A_crd: i32, A_vals: bool, x_vals: bool, y_vals: i64
  result r_vals: bool
  in A@0: bool[n_I] {{compressed}} at compressed(A_pos, A_crd), A_vals
  in x@1: bool[n_I] {{dense}} at dense, x_vals
  in y@2: i64[n_I] {{dense}} at dense, y_vals
  out r@3: bool[] dense at r_vals

  alloc r_vals[1]
{body}
  r_vals[0] = t
  finish r_vals[1]
"
    );
    super::rewritten(&text, &["early exit"])
}

#[test]
fn a_gathering_loop_ends() {
    let text = rewritten("  t = false\n  for p in A_pos[0]..A_pos[1] {\n    t = t || x_vals[A_crd[p]]\n  }");
    let ends = "  let end = A_pos[1]
  next = A_pos[0]
  while next < end && !t {
    let p = next
    t = t || x_vals[A_crd[p]]
    next = next + 1
  }
";
    assert!(text.contains(ends), "{text}");
}

#[test]
fn loops_that_read_on_go_on() {
    let text = rewritten("  t = true\n  for p in 0..n_I {\n    t = t && x_vals[p]\n  }");
    assert!(text.contains("for p in 0..n_I"), "{text}");
}

#[test]
fn tails_end_with_their_loop() {
    let merge = "  t = true
  p = A_pos[0]
  q = 0
  while p < A_pos[1] && q < n_I {
    t = t && x_vals[A_crd[p]]
    p = p + 1
    q = q + 2
  }
  while q < n_I {
    t = t && x_vals[q]
    q = q + 1
  }";
    let text = rewritten(merge);
    assert!(text.contains("while p < A_pos[1] && q < n_I && t {"), "{text}");
    assert!(text.contains("while q < n_I && t {"), "{text}");
}

/// Other loops have no early exit: a loop that also stores, and a fold that `true` does not end: where `t` is true, `t < x` is false.
#[test]
fn loops_that_do_more_or_come_back_go_on() {
    let stores = "  t = false\n  for p in 0..A_pos[1] {\n    t = t || x_vals[A_crd[p]]\n    r_vals[0] = x_vals[p]\n  }";
    let less = "  t = false\n  for p in A_pos[0]..A_pos[1] {\n    t = t < x_vals[A_crd[p]]\n  }";
    for body in [stores, less] {
        let text = rewritten(body);
        assert!(text.contains("  for p in ") && !text.contains("while"), "{text}");
    }
}

#[test]
fn what_is_read_elsewhere_goes_on() {
    let counted = "  t = false
  n = 0
  p = A_pos[0]
  while p < A_pos[1] {
    t = t || x_vals[A_crd[p]]
    n = n + 1
    p = p + 1
  }
  t = t == (n == 3)";
    assert!(rewritten(counted).contains("while p < A_pos[1] {"));
    let summed = "  s = 0
  p = A_pos[0]
  while p < A_pos[1] {
    s = s + y_vals[A_crd[p]]
    p = p + 1
  }
  t = s == 0";
    assert!(rewritten(summed).contains("while p < A_pos[1] {"), "a sum has no annihilator");
}
