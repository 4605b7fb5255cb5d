//! Independent iterations run on threads.

use fiberloom_loops::{OneThread, Outermost, outermost_loops, read};

/// Whether the loop over `i` or `p` is parallel in a kernel with this body.
fn rewritten(body: &str) -> String {
    rewritten_with(body, "  alloc w[n_J]\n")
}

/// The same, where these statements come before.
fn rewritten_with(body: &str, before: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J, n_K) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, L0_pos: i32, L0_crd: i32, L_vals: f64, x_vals: f64
  workspace w: f64
  result y_vals: f64, z_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in L@1: f64[n_I] {{compressed}} at compressed(L0_pos, L0_crd), L_vals
  in x@2: f64[n_J] {{dense}} at dense, x_vals
  out y@3: f64[n_I, n_J] {{dense, dense}} at dense, dense, y_vals
  out z@4: f64[n_I] {{dense}} at dense, z_vals

{before}  alloc y_vals[n_I * n_J] = 0.0
  alloc z_vals[n_I] = 0.0
{body}
  finish y_vals[n_I * n_J]
  finish z_vals[n_I]
"
    );
    super::rewritten(&text, &["parallel"])
}

const SUMS: &str = "  for i in 0..n_I {
    t = 0.0
    for p in A1_pos[i]..A1_pos[i + 1] {
      t = t + A_vals[p] * x_vals[A1_crd[p]]
    }
    z_vals[i] = t
  }";

#[test]
fn independent_iterations_are_parallel() {
    let rows = "  for i in 0..n_I {
    for j in 0..n_J {
      y_vals[i * n_J + j] = y_vals[i * n_J + j] + x_vals[j]
    }
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j_2 = A1_crd[p]
      y_vals[i * n_J + j_2] = A_vals[p]
    }
  }";
    let blocks = "  for i in 0..n_I {
    let limit = max(min(n_J - i * 8, 8), 0)
    for j in 0..limit {
      z_vals[i * 8 + j] = x_vals[j]
    }
  }";
    let coordinates = "  for i in L0_pos[0]..L0_pos[1] {
    for j in 0..n_J {
      y_vals[L0_crd[i] * n_J + j] = x_vals[j]
    }
  }";
    for body in [SUMS, rows, blocks, coordinates] {
        let got = rewritten(body);
        assert!(got.contains("parallel for i in"), "{got}");
    }
}

/// Loops that are dealt out to blocks and warps, and loops around them; not where two iterations share an element. Where a block runs the
/// outermost loop, loops in one that is not parallel are, too.
#[test]
fn loops_that_are_dealt_out_are_parallel() {
    let rows = "  block for b in 0..n_K {
    warp for u in 0..8 {
      for r in 0..max(min(n_I - b * 64, 8), 0) {
        lane for j in 0..n_J {
          y_vals[(b * 64 + u + r * 8) * n_J + j] = x_vals[j]
        }
      }
    }
  }";
    let got = rewritten(rows);
    for parallel in ["block parallel for b", "warp parallel for u", "    parallel for r", "lane parallel for j"] {
        assert!(got.contains(parallel), "{got}");
    }
    for (from, to, loops) in [
        ("u in 0..8", "u in 0..9", 0),
        ("u in 0..8", "u in -1..8", 0),
        ("b * 64, 8)", "b * 64, 9)", 0),
        ("u + r * 8", "u + r * 7", 3),
        ("+ r * 8)", "+ 8)", 3),
        (" + j]", " + A1_crd[j]]", 2),
    ] {
        let body = rows.replace(from, to);
        assert_ne!(body, rows);
        let got = rewritten(&body);
        assert_eq!(got.matches("parallel for").count(), loops, "{from} {got}");
    }
}

/// Loops that touch a workspace of a block's loop are parallel without a command, and a nest that ends with a store sets all of a workspace of
/// rows; without the command for the block none of them is.
#[test]
fn loops_that_fill_workspaces_of_blocks_are_parallel() {
    let rows = "  let size = 4 * 8
  alloc w[size]
  block for i in 0..n_I {
    for k in 0..4 {
      for l in 0..8 {
        t = 0.0
        for p in A1_pos[i]..A1_pos[i + 1] {
          t = t + A_vals[p] * f64(k)
        }
        w[k * 8 + l] = t
      }
    }
    for p_2 in A1_pos[i]..A1_pos[i + 1] {
      lane for j in 0..n_J {
        y_vals[i * n_J + j] = y_vals[i * n_J + j] + A_vals[p_2] * w[3]
      }
    }
  }";
    let rewritten = |body: &str| rewritten_with(body, "");
    let got = rewritten(rows);
    let wanted = [
        "block parallel for i in 0..n_I with w {",
        " parallel for k in",
        " parallel for l in",
        "lane parallel for j in",
    ];
    wanted.iter().for_each(|parallel| assert!(got.contains(parallel), "{parallel}: {got}"));
    assert_eq!(got.matches("parallel for").count(), 4, "{got}");
    let got = rewritten(&rows.replace("block for", "for"));
    assert!(got.contains("    for k in") && got.contains("lane for j in"), "{got}");
    // Not all of the workspace, not in the order of its elements, or read while it is filled.
    for (from, to) in [
        ("l in 0..8", "l in 0..7"),
        ("k in 0..4", "k in 1..4"),
        ("w[k * 8 + l]", "w[l * 4 + k]"),
        ("f64(k)", "w[k]"),
        ("        w[k * 8 + l] = t\n", "        if t > 0.0 {\n          w[k * 8 + l] = t\n        }\n"),
    ] {
        let body = rows.replace(from, to);
        assert_ne!(body, rows, "{from}");
        let got = rewritten(&body);
        assert!(!got.contains("parallel for i"), "{from}: {got}");
    }
}

/// Sums of an outermost loop, in any loop and branch inside, and more than one of them.
#[test]
fn what_iterations_fold_is_folded_in_pieces() {
    let sum = "  t = 0.0\n  m = 0\n  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      if j < 7 {
        m = max(m, j)
      }
      t = t + A_vals[p] * x_vals[j]
    }
  }\n  z_vals[0] = t + f64(m)";
    let got = rewritten(sum);
    assert!(got.contains("parallel for i in 0..n_I folding t, m {"), "{got}");
    let dot = "  t = 0.0\n  for i in 0..n_I {\n    t = x_vals[i] + t\n  }\n  z_vals[0] = t";
    assert!(rewritten(dot).contains("parallel for i in 0..n_I folding t {"));
    // Not what is read, or folded with several functions, or with one that has no identity, or a product of floats.
    for (from, to) in [
        ("x_vals[j]", "t"),
        ("t = t + A_vals[p]", "t = t - A_vals[p]"),
        ("t = t + A_vals[p]", "t = t * A_vals[p]"),
        ("m = max(m, j)", "m = m + j\n        m = max(m, j)"),
        ("if j < 7", "if j < m"),
        ("m = max(m, j)", "m = j"),
    ] {
        let body = sum.replace(from, to);
        assert_ne!(body, sum, "{from}");
        assert!(!rewritten(&body).contains("parallel"), "{body}");
    }
}

/// Sums of columns, through coordinates, of several rows at once; also where the loop does nothing else.
#[test]
fn elements_are_folded_in_pieces() {
    let columns = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      z_vals[A1_crd[p]] = z_vals[A1_crd[p]] + A_vals[p] + x_vals[i]
    }
  }";
    for body in
        [columns, "  for p in A1_pos[0]..A1_pos[n_I] {\n    z_vals[A1_crd[p]] = max(z_vals[A1_crd[p]], A_vals[p])\n  }"]
    {
        let got = rewritten(body);
        assert!(got.contains(" folding z_vals {"), "{got}");
    }
    // Not what is read, or set, or folded otherwise elsewhere.
    for (from, to) in [
        ("x_vals[i]", "z_vals[i]"),
        ("= z_vals[A1_crd[p]] + A_vals[p]", "= A_vals[p]"),
        ("= z_vals[A1_crd[p]] + A_vals[p]", "= z_vals[p] + A_vals[p]"),
        ("= z_vals[A1_crd[p]] + A_vals[p]", "= z_vals[A1_crd[p]] - A_vals[p]"),
        ("+ x_vals[i]\n", "+ x_vals[i]\n      z_vals[i] = max(z_vals[i], 0.0)\n"),
    ] {
        let body = columns.replace(from, to);
        assert_ne!(body, columns, "{from}");
        assert!(!rewritten(&body).contains("parallel"), "{body}");
    }
}

#[test]
fn threads_have_copies_of_rows() {
    let row = "  for i in 0..n_I {
    for j in 0..n_J {
      w[j] = 0.0
    }
    for p in A1_pos[i]..A1_pos[i + 1] {
      w[A1_crd[p]] = w[A1_crd[p]] + A_vals[p]
    }
    for j_2 in 0..n_J {
      y_vals[i * n_J + j_2] = w[j_2]
    }
  }";
    let got = rewritten(row);
    assert!(got.contains("parallel for i in 0..n_I with w {"), "{got}");
    // Not of one that is not set whole before it is read, or is read elsewhere.
    for (from, to) in [
        ("for j in 0..n_J", "for j in 1..n_J"),
        ("for j in 0..n_J", "for j in 0..n_K"),
        ("w[j] = 0.0", "w[j] = w[j]"),
        ("  for i in 0..n_I {", "  w[0] = 1.0\n  for i in 0..n_I {"),
    ] {
        let body = row.replacen(from, to, 1);
        assert_ne!(body, row);
        assert!(!rewritten(&body).contains("parallel"), "{body}");
    }
}

/// As the row above, where an inner loop makes one row after the other.
#[test]
fn threads_have_copies_of_what_inner_iterations_set() {
    let rows = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      for j in 0..n_J {
        w[j] = A_vals[p]
      }
      for j_2 in 0..n_J {
        y_vals[i * n_J + j_2] = y_vals[i * n_J + j_2] + w[j_2]
      }
    }
  }";
    let got = rewritten(rows);
    assert!(got.contains("parallel for i in 0..n_I with w {"), "{got}");
    for (from, to) in [
        ("w[j] = A_vals[p]", "w[j] = w[j] + A_vals[p]"),
        ("for j in 0..n_J", "for j in 0..n_K"),
        ("    for p in", "    w[0] = 1.0\n    for p in"),
    ] {
        let body = rows.replacen(from, to, 1);
        assert_ne!(body, rows);
        assert!(!rewritten(&body).contains("parallel"), "{body}");
    }
}

/// What a schedule knows of the target counts for dense results, and for nothing else that iterations touch.
#[test]
fn iterations_that_a_schedule_keeps_apart_are_parallel() {
    let pieces = "  apart for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      y_vals[i * 2 + A1_crd[p]] = A_vals[p]
    }
  }";
    let got = rewritten(pieces);
    assert!(got.contains("apart parallel for i in 0..n_I {"), "{got}");
    for (from, to) in [("apart for", "for"), ("apart for", "racing for"), ("y_vals[i * 2 +", "w[i * 2 +")] {
        let body = pieces.replacen(from, to, 1);
        assert_ne!(body, pieces);
        let body = if to.starts_with("w[") { body + "\n  y_vals[0] = w[0]" } else { body };
        assert!(!rewritten(&body).contains("parallel"), "{body}");
    }
}

/// So are those that store values of a result with the levels of an operand: each entry has its own; not of one that has lists itself.
#[test]
fn iterations_that_a_schedule_keeps_apart_have_entries() {
    let text = "kernel k(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64
  result C1_pos: i32, C1_crd: i32, C_vals: f64
  in A@0: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  out C@1: f64[n_I, n_J] {dense, compressed} at dense, compressed(C1_pos, C1_crd), C_vals

  alloc C1_pos[n_I + 1] = 0i32
  alloc C1_crd[n_J] = 0i32
  alloc C_vals[n_J] = 0.0
  apart for i in 0..n_I {
    for p in 0..n_J {
      C_vals[p] = A_vals[p]
    }
  }
  finish C1_pos[n_I + 1]
  finish C1_crd[n_J]
  finish C_vals[n_J]
";
    assert!(!super::rewritten(text, &["parallel"]).contains("parallel"));
    let own = [
        "C1_pos: i32, C1_crd: i32, ",
        "  alloc C1_pos[n_I + 1] = 0i32\n  alloc C1_crd[n_J] = 0i32\n",
        "  finish C1_pos[n_I + 1]\n  finish C1_crd[n_J]\n",
    ];
    let shared = own.iter().fold(text.to_string(), |text, own| text.replace(own, "")).replace("C1_", "A1_");
    let got = super::rewritten(&shared, &["parallel"]);
    assert!(got.contains("apart parallel for i in 0..n_I {"), "{got}");
}

/// A part of a fiber is the fiber's own, whatever bounds it: pieces of entries share rows, and no entry.
#[test]
fn parts_of_fibers_are_apart() {
    let parts = "  for i in 0..n_I {
    let begin = max(A1_pos[i], n_J)
    for p in begin..min(n_K, A1_pos[i + 1]) {
      y_vals[p] = A_vals[p]
    }
  }";
    assert!(rewritten(parts).contains("parallel for i in 0..n_I {"), "{}", rewritten(parts));
    for (from, to) in
        [("max(A1_pos[i], n_J)", "n_J"), ("A1_pos[i + 1]", "A1_pos[i + 2]"), ("max(", "min("), ("min(", "max(")]
    {
        let body = parts.replacen(from, to, 1);
        assert_ne!(body, parts);
        assert!(!rewritten(&body).contains("parallel"), "{body}");
    }
}

#[test]
fn other_loops_run_serially() {
    let changes = [
        ("    t = 0.0\n", ""),
        ("z_vals[i] = t", "z_vals[i / 2] = t"),
        ("z_vals[i] = t", "z_vals[0] = t"),
        ("z_vals[i] = t", "z_vals[i] = t\n    z_vals[n_I - 1] = t"),
        ("z_vals[i] = t", "z_vals[i] = z_vals[max(i - 1, 0)] + t"),
        ("z_vals[i] = t", "z_vals[A1_crd[i]] = t"),
        ("z_vals[i] = t", "y_vals[i * n_J + n_K] = t"),
        ("z_vals[i] = t\n  }", "z_vals[i] = t\n  }\n  z_vals[0] = t"),
        ("      t = t + A_vals[p] * x_vals[A1_crd[p]]\n", "      t = t + A_vals[p]\n      z_vals[A1_crd[p]] = t\n"),
    ];
    for (from, to) in changes {
        let body = SUMS.replace(from, to);
        assert_ne!(body, SUMS, "{from}");
        let body = if to.is_empty() || to.ends_with("z_vals[0] = t") { format!("  t = 0.0\n{body}") } else { body };
        let got = rewritten(&body);
        assert!(!got.contains("parallel"), "{got}");
    }
}

/// What is said of the outermost loops of a kernel with this body.
fn told(body: &str) -> Vec<String> {
    let kernel = read(&rewritten(body)).unwrap();
    let of = |runs: Outermost| match runs {
        Outermost::Threads(var, _) => format!("{}: threads", kernel.vars[var.0 as usize].0),
        Outermost::OneThread(OneThread { name, why }) => format!("{name}: {why}"),
    };
    outermost_loops(&kernel).into_iter().map(of).collect()
}

/// Each reason that there is, beside loops of which nothing is said since they are short, or run on threads.
#[test]
fn what_keeps_a_loop_on_one_thread_is_told() {
    assert_eq!(told(SUMS), ["i: threads"]);
    assert_eq!(told("  for i in 0..n_I {\n    z_vals[0] = x_vals[i]\n  }"), [""; 0]);
    let carried = format!("  t = 0.0\n{}", SUMS.replace("    t = 0.0\n", ""));
    assert_eq!(told(&carried), ["i: an iteration goes on with `t` where the one before left it"]);
    let shared = SUMS.replace("z_vals[i] = t", "z_vals[0] = t");
    assert_eq!(told(&shared), ["i: two iterations may touch one element of `z_vals`"]);
    let product = "  t = 1.0\n  for i in 0..n_I {\n    t = t * x_vals[i]\n  }\n  z_vals[0] = t";
    assert_eq!(told(product), ["i: iterations fold into `t` in their order"]);
    let around = format!("  for k in 0..n_K {{\n{}\n  }}", SUMS.replace("for i", "parallel for i"));
    assert_eq!(told(&around), ["i: threads"]);
    let second = "  for k in 0..n_K {
    for j in 0..n_J {
      z_vals[j] = x_vals[k]
    }
  }";
    assert_eq!(
        told(&format!("{SUMS}\n{second}")),
        ["i: threads", "k: two iterations may touch one element of `z_vals`"]
    );
}

/// A loop that makes a workspace anew for each iteration is told, and the loops in it; a block of the program, whose turns
/// are not read, is not.
#[test]
fn loops_that_allocate_are_told() {
    let rows = |value: &str| {
        format!(
            "  for k in 0..n_K {{\n    alloc w[n_J] = 0.0\n    w[0] = {value}\n{SUMS}\n  }}",
            SUMS = SUMS.replace("= t\n", "= t + w[0]\n")
        )
    };
    assert_eq!(told(&rows("x_vals[k]")), ["k: each iteration allocates `w`", "i: threads"]);
    assert_eq!(told(&rows("1.0")), ["i: threads"]);
}

/// A loop along lists is named by whose they are; one that searches in none is not told.
#[test]
fn loops_along_lists_run_on_one_thread() {
    let merged = "  p = L0_pos[0]
  q = A1_pos[0]
  while p < L0_pos[1] && q < A1_pos[1] {
    if L0_crd[p] < A1_crd[q] {
      p = p + 1
    } else {
      z_vals[0] = z_vals[0] + L_vals[p] * A_vals[q]
      q = q + 1
    }
  }";
    assert_eq!(told(merged), ["the loop along A, L: each turn begins where the one before left the lists"]);
    assert_eq!(told("  k = 0\n  while k < n_I {\n    k = k + k + 1\n  }\n  z_vals[0] = f64(k)"), [""; 0]);
}

#[test]
fn a_loop_without_a_loop_is_parallel_if_it_takes_time() {
    for (value, takes) in [("1.0", false), ("x_vals[i] * 2.0", false), ("exp(x_vals[i])", true)] {
        let got = rewritten(&format!("  for i in 0..n_I {{\n    z_vals[i] = {value}\n  }}"));
        assert_eq!(got.contains("parallel"), takes, "{got}");
    }
}
