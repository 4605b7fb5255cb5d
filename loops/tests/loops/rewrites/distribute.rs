//! Long loops that append are a loop for each array.

use super::appending;
use crate::sound;
use fiberloom_loops::{Stmt, whole_copy};

fn rewritten(body: &str) -> String {
    super::rewritten(&appending::text(body), &["distribute"])
}

const BLOCK: &str = "  for p in A1_pos[0]..A1_pos[n_I] {
    let j = A1_crd[p]
    L_vals[c] = A_vals[p + n_J - 1]
    L0_crd[c] = i32(j + n_J)
    L1_crd[c] = i32(j)
    c = c + 1
  }";

#[test]
fn arrays_are_copied_one_by_one() {
    let copies = "  let begin = A1_pos[0]
  let last = A1_pos[n_I]
  let ahead = c - begin
  for p in begin..last {
    L_vals[ahead + p] = A_vals[p + n_J - 1]
  }
  for p in begin..last {
    L1_crd[ahead + p] = A1_crd[p]
  }
  for p in begin..last {
    let j = A1_crd[p]
    L0_crd[ahead + p] = i32(j + n_J)
  }
  c = ahead + max(last, begin)
";
    let got = rewritten(BLOCK);
    assert!(got.contains(copies), "{got}");
    let perhaps = rewritten(&format!("  if 0 < n_I {{\n{BLOCK}\n  }}"));
    assert!(perhaps.contains("L_vals[ahead + p] ="), "{perhaps}");
}

const FIBERS: &str = "  for i in 0..n_J {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      L0_crd[c] = i32(i)
      L1_crd[c] = i32(j)
      L_vals[c] = A_vals[p]
      c = c + 1
    }
  }";

/// Entries whose copy does not depend on the fiber are copied in one go, from the first fiber to the last, if there are fibers.
#[test]
fn fibers_are_copied_as_one() {
    let copies = "  if 0 < n_J {
    let begin = A1_pos[0]
    let last = A1_pos[n_J]
    let ahead = c - begin
    for p in begin..last {
      L1_crd[ahead + p] = A1_crd[p]
    }
    for p in begin..last {
      L_vals[ahead + p] = A_vals[p]
    }
  }
  for i in 0..n_J {
    for p in A1_pos[i]..A1_pos[i + 1] {
      L0_crd[c] = i32(i)
      c = c + 1
    }
  }
";
    let got = rewritten(FIBERS);
    assert!(got.contains(copies), "{got}");
    let widened = rewritten(&FIBERS.replace("i32(j)", "i32(j + n_J)"));
    let others = "      let j = A1_crd[p]\n      L1_crd[ahead + p] = i32(j + n_J)\n";
    assert!(widened.contains(others), "{widened}");
    let all = rewritten(&FIBERS.replace("      L0_crd[c] = i32(i)\n", ""));
    assert!(all.contains("    c = ahead + max(last, begin)\n  }\n") && !all.contains("for i"), "{all}");
}

/// Loops stay if they do not visit all fibers, one behind the other, if an inner loop does not end with a copy, or if the copied
/// values depend on the fiber.
#[test]
fn other_fibers_stay() {
    for (from, to) in [
        ("A1_pos[i]..A1_pos[i + 1]", "A1_pos[i * 2]..A1_pos[i * 2 + 1]"),
        ("A1_pos[i]..A1_pos[i + 1]", "A1_pos[n_J - i]..A1_pos[n_J - i + 1]"),
        ("A1_pos[i]..A1_pos[i + 1]", "A1_pos[i]..A1_pos[i + 2]"),
        ("A1_pos[i]..A1_pos[i + 1]", "A1_pos[i]..min(A1_pos[i + 1], n_J)"),
        ("      c = c + 1\n", "      c = c + 1\n    }\n    for q in A1_pos[i]..A1_pos[i + 1] {\n      M_vals[q] = 1\n"),
    ] {
        let got = rewritten(&FIBERS.replace(from, to));
        assert!(!got.contains("ahead"), "{got}");
    }
    let asks = FIBERS.replace("A_vals[p]", "A_vals[p + i]").replace("i32(j)", "i32(j + i)");
    assert!(!rewritten(&asks).contains("ahead"));
}

/// Whether the first loop of a kernel is a copy, and nothing else.
fn is_copy(body: &str) -> bool {
    let kernel = sound(&appending::text(&format!("  for p in A1_pos[0]..A1_pos[n_I] {{\n    {body}\n  }}")));
    let found = kernel.body.iter().find_map(|stmt| match stmt {
        Stmt::For { var, body, .. } => Some(whole_copy(*var, body, &kernel.buffers)),
        _ => None,
    });
    found.expect("a loop").is_some()
}

/// Loops are not copies if they compute, widen, stride, reverse or gather elements, read one element or store to one, or shift an
/// array in place.
#[test]
fn a_copy_does_nothing_else() {
    assert!(is_copy("L_vals[p] = A_vals[p]"));
    assert!(is_copy("L_vals[c + p] = A_vals[p + n_J - 1]"));
    assert!(is_copy("L1_crd[p - n_J] = A1_crd[p]"));
    for other in [
        "L_vals[p] = -A_vals[p]",
        "M_vals[p] = i64(A1_crd[p])",
        "L_vals[p] = A_vals[p * 2]",
        "L_vals[n_J - p] = A_vals[p]",
        "L_vals[p + p] = A_vals[p]",
        "L_vals[p] = A_vals[w_vals[p]]",
        "L_vals[p] = A_vals[n_J]",
        "L_vals[0] = A_vals[p]",
        "L_vals[p] = L_vals[p + 1]",
    ] {
        assert!(!is_copy(other), "{other}");
    }
}

/// Stores of the current number of entries are not copies, and stay in the loop.
#[test]
fn notes_are_no_copies() {
    let noted = "  for p in begin..last {
    let j = A1_crd[p]
    let counted = ahead + p + 1
    M_vals[j] = counted
  }
";
    let copied = BLOCK.replace("    L0_crd[c] = i32(j + n_J)\n", "");
    let got = rewritten(&copied.replace("c = c + 1", "c = c + 1\n    M_vals[j] = c"));
    assert!(got.contains(noted) && got.contains("L1_crd[ahead + p] = A1_crd[p]"), "{got}");
    let read = copied.replace("c = c + 1", "c = c + 1\n    M_vals[j] = M_vals[j] + c");
    assert!(!rewritten(&read).contains("ahead"), "{read}");
}

/// If all stores of a loop are copied, the loop and its `let`s are removed.
#[test]
fn what_is_needed_no_longer_is_gone() {
    let got = rewritten(&BLOCK.replace("    L0_crd[c] = i32(j + n_J)\n", ""));
    assert_eq!(got.matches("for p").count(), 2, "{got}");
    assert!(!got.contains("let j"), "{got}");
}

/// Other loops are not rewritten: values that are computed, strided or narrowed; short rows; elements that are stored twice; entries
/// whose value is their number.
#[test]
fn other_loops_stay() {
    let computed = BLOCK.replace("A_vals[p + n_J - 1]", "-A_vals[p]").replace("i32(j)", "i32(j + 1)");
    let strided = BLOCK.replace("A_vals[p + n_J - 1]", "A_vals[p * 2]").replace("i32(j)", "i32(j + 1)");
    let narrowed = "  for p in 0..n_J {
    M_vals[c] = i64(i32(w_vals[p]))
    c = c + 1
  }"
    .to_string();
    let rows = format!("  for i in 0..n_I {{\n{BLOCK}\n  }}");
    let twice = BLOCK.replace("    c = c + 1", "    L_vals[c] = 0.0\n    c = c + 1");
    let numbers = BLOCK.replace("i32(j + n_J)", "i32(c)");
    for body in [computed, strided, narrowed, rows, twice, numbers] {
        assert_ne!(body, BLOCK);
        let got = rewritten(&body);
        assert!(!got.contains("ahead"), "{got}");
    }
}
