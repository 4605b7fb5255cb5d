//! Short loops that append write several entries at a time.

use super::appending;
use fiberloom_loops::strip_mine_by;

/// The kernel with this body, rewritten in strips of four.
fn rewritten(body: &str) -> String {
    super::rewritten_by(&appending::text(body), |kernel| strip_mine_by(kernel, 4))
}

const ROWS: &str = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      L_vals[c] = A_vals[p] * x_vals[i]
      L0_crd[c] = i32(i)
      L1_crd[c] = i32(j + 1)
      c = c + 1
    }
  }";

#[test]
fn rows_that_are_appended_are_strips() {
    let strips = "    let begin = A1_pos[i]
    let last = A1_pos[i + 1]
    let ahead = c - begin
    let stop = min(min(last, min(capacity(A1_crd), capacity(A_vals)) - 3), min(min(capacity(L_vals), capacity(L0_crd)), capacity(L1_crd)) - (ahead + 3))
    strip = begin
    while strip < stop {
      vector for lane in 0..4 {
        let p_2 = strip + lane
        let j_2 = A1_crd[p_2]
        L_vals[ahead + p_2] = A_vals[p_2] * x_vals[i]
        L0_crd[ahead + p_2] = i32(i)
        L1_crd[ahead + p_2] = i32(j_2 + 1)
      }
      strip = strip + 4
    }
    let done = min(strip, max(last, begin))
    c = ahead + done
    for p in done..last {
      let j = A1_crd[p]
";
    let got = rewritten(ROWS);
    assert!(got.contains(strips), "{got}");
}

/// Elements behind the last entry may not be overwritten if they are also stored elsewhere, are filled from the beginning, or are
/// read; or if the counter is reset, or advances by more than one.
#[test]
fn what_is_behind_may_be_somebodys() {
    let elsewhere = format!("{ROWS}\n  L0_crd[0] = 0i32");
    let filled = format!("  alloc L_vals[capacity(A1_crd)] = 0.0\n{ROWS}");
    let is_read = format!("{ROWS}\n  if 0 < c {{\n    L0_pos[0] = L1_crd[c - 1]\n  }}");
    let back = ROWS.replacen("    for p", "    c = 0\n    for p", 1);
    let by_more = format!("{ROWS}\n  c = c + n_I");
    for body in [elsewhere, filled, is_read, back, by_more] {
        let got = rewritten(&body);
        assert!(!got.contains("strip"), "{got}");
    }
}

/// Other loops are not rewritten: loops that do not append all entries; loops whose values need gathers, strides or guards, depend on
/// the counter, or are expensive; loops that are not in another one, whose end comes only once.
#[test]
fn other_loops_stay() {
    let some = ROWS.replace("c = c + 1", "c = c + i64(j > 3)");
    let gathers = ROWS.replace("x_vals[i]", "x_vals[j]");
    let strides = ROWS.replace("x_vals[i]", "x_vals[2 * p]");
    let guarded = ROWS.replace("x_vals[i]", "select(p < n_J, x_vals[p], 0.0)");
    let counts = ROWS.replace("i32(j + 1)", "i32(c)");
    let slow = ROWS.replace("x_vals[i]", "exp(x_vals[i])");
    let long = ROWS.replace("* x_vals[i]", &"+ 1.0".repeat(9));
    let once = "  for p in A1_pos[0]..A1_pos[n_I] {
    L_vals[c] = A_vals[p]
    L0_crd[c] = 0i32
    L1_crd[c] = A1_crd[p]
    c = c + 1
  }"
    .to_string();
    let perhaps = format!("  if 0 < n_I {{\n{once}\n  }}");
    for body in [some, gathers, strides, guarded, counts, slow, long, once, perhaps] {
        assert_ne!(body, ROWS);
        let got = rewritten(&body);
        assert!(!got.contains("strip"), "{got}");
    }
}

const RUN: &str = "  p = 0
  for i in 0..n_I {
    while p < n_J && i64(A1_crd[p]) == i {
      let j = A1_crd[p + 1]
      L_vals[c] = A_vals[p]
      L0_crd[c] = i32(j)
      c = c + 1
      p = p + 1
    }
  }";

#[test]
fn runs_that_are_appended_are_strips() {
    let strips = "    let begin = p
    let ahead = c - begin
    let stop = min(min(capacity(A1_crd) - 4, min(capacity(L_vals), capacity(L0_crd)) - (ahead + 3)), min(capacity(A_vals), capacity(A1_crd)) - 3)
    strip = begin
    at = begin
    found = 0
    whole = true
    while whole && strip < stop {
      at = strip
      found = min(alike(A1_crd[at..n_J], i), 4)
      vector for lane in 0..4 {
        let p_2 = at + lane
        let j_2 = A1_crd[p_2 + 1]
        L_vals[ahead + p_2] = A_vals[p_2]
        L0_crd[ahead + p_2] = i32(j_2)
      }
      whole = found == 4
      strip = strip + 4
    }
    let done = at + found
    p = done
    c = ahead + done
    while p < n_J && A1_crd[p] == i {
";
    let got = rewritten(RUN);
    assert!(got.contains(strips), "{got}");
    let below = rewritten(&RUN.replace("== i", "< i"));
    assert!(below.contains("below(A1_crd[at..n_J], i)"), "{below}");
}

/// Other loops are not rewritten: loops whose end changes with each entry, or with the number of appended entries; loops that compare
/// another element, another array, or with another operator; loops with a step of two.
#[test]
fn other_runs_stay() {
    let moves = RUN.replace("== i", "== i64(A1_crd[p + 1])");
    let counts = RUN.replace("== i", "== c");
    let ahead = RUN.replace("i64(A1_crd[p]) == i", "i64(A1_crd[p + 1]) == i");
    let values = RUN.replace("i64(A1_crd[p]) == i", "A_vals[p] == 1.0");
    let beyond = RUN.replace("== i", "<= i");
    let by_two = RUN.replace("p = p + 1", "p = p + 2");
    for body in [moves, counts, ahead, values, beyond, by_two] {
        assert_ne!(body, RUN);
        let got = rewritten(&body);
        assert!(!got.contains("lane"), "{got}");
    }
}

/// A counter to which a truth value is added elsewhere only grows; a shifted read needs room at the shifted position.
#[test]
fn room_is_where_entries_are() {
    let moved = ROWS.replace("A_vals[p]", "A_vals[p + n_J]") + "\n  c = c + i64(n_I > 3)";
    let got = rewritten(&moved);
    assert!(got.contains("capacity(A_vals) - (n_J + 3)"), "{got}");
}
