//! What iterations append is joined.

/// Whether the loop over `i` is parallel in a kernel with this body, and what it joins.
fn joined(body: &str) -> Option<String> {
    let text = format!(
        "kernel k(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64
  workspace w: f64
  private v: f64
  result C0_crd: i32, C1_pos: i32, C1_crd: i32, C_vals: f64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals

  alloc w[n_J] = 0.0
  alloc v[n_J] = 0.0
  alloc C0_crd[n_I]
  alloc C1_pos[n_I + 1] = 0i32
  alloc C1_crd[capacity(A1_crd)]
  alloc C_vals[capacity(A1_crd)]
  c0 = 0
  c1 = 0
  for i in 0..n_I {{
{body}
  }}
  finish C0_crd[c0]
  finish C1_pos[n_I + 1]
  finish C1_crd[c1]
  finish C_vals[c1]
"
    );
    let text = super::rewritten(&text, &["parallel"]);
    let line = text.lines().find(|line| line.contains("parallel for i"))?;
    let (_, joined) = line.trim_end_matches(" {").split_once("0..n_I")?;
    Some(joined.trim().to_string())
}

const ROWS: &str = "    let before = c1
    for p in A1_pos[i]..A1_pos[i + 1] {
      if A_vals[p] > 0.0 {
        C1_crd[c1] = i32(A1_crd[p])
        C_vals[c1] = A_vals[p]
        c1 = c1 + 1
      }
    }
    C1_pos[i + 1] = i32(c1)";

#[test]
fn parts_of_lists_are_joined() {
    assert_eq!(joined(ROWS).as_deref(), Some("joining C1_pos[i + 1] = c1, C1_crd[c1], C_vals[c1]"));
    let rows = ROWS.replace("C1_pos[i + 1]", "C1_pos[c0 + 1]")
        + "\n    if c1 > before {\n      C0_crd[c0] = i32(i)\n      c0 = c0 + 1\n    }";
    let all = "joining C0_crd[c0], C1_pos[c0 + 1] = c1, C1_crd[c1], C_vals[c1]";
    assert_eq!(joined(&rows).as_deref(), Some(all));
    // Values may be filled in behind coordinates, from where the iteration began.
    let filled = ROWS.replace("        C_vals[c1] = A_vals[p]\n", "")
        + "\n    for q in before..c1 {\n      C_vals[q] = f64(C1_crd[q])\n    }";
    assert!(joined(&filled).is_some());
    // More room may be asked for, in whatever way that is computed.
    let grows = format!(
        "    if c1 + n_J > capacity(C1_crd) {{\n      reserve C1_crd[max(c1 + n_J, (c1 + (c1 >> 4)) / (i + 1))]\n    }}\n{ROWS}"
    );
    assert!(joined(&grows).is_some());
    // But not for an array that iterations never store to.
    let other = format!("    if i > capacity(C0_crd) {{\n      reserve C0_crd[i]\n    }}\n{ROWS}");
    assert_eq!(joined(&other), None);
}

/// Each iteration makes the rows of a tile; the last tile ends with the rows.
#[test]
fn rows_of_tiles_are_joined() {
    let tile = "    for r in 0..max(min(n_I - i * 16, 16), 0) {
      for p in A1_pos[i * 16 + r]..A1_pos[i * 16 + r + 1] {
        if A_vals[p] > 0.0 {
          C1_crd[c1] = i32(A1_crd[p])
          C_vals[c1] = A_vals[p]
          c1 = c1 + 1
        }
      }
      if n_J > 5 {
        C1_pos[i * 16 + r + 1] = i32(c1)
      } else {
        C1_pos[i * 16 + r + 1] = i32(c1)
      }
    }";
    assert_eq!(joined(tile).as_deref(), Some("joining C1_pos[i * 16 + 1] = c1, C1_crd[c1], C_vals[c1]"));
    // Not if rows are left out, in whatever way.
    for (from, to) in [
        ("min(n_I - i * 16, 16)", "min(n_I - i * 16, 15)"),
        ("min(n_I - i * 16, 16)", "min(n_J - i * 16, 16)"),
        ("min(n_I - i * 16, 16)", "min(n_I - i * 8, 16)"),
        ("0..max(", "1..max("),
        ("} else {\n        C1_pos[i * 16 + r + 1] = i32(c1)\n", "} else {\n"),
    ] {
        let body = tile.replacen(from, to, 1);
        assert_ne!(body, tile, "{from}");
        assert_eq!(joined(&body), None, "{body}");
    }
}

#[test]
fn a_private_workspace_is_copied() {
    let by =
        |w: &str| ROWS.replace("C_vals[c1] = A_vals[p]", &format!("{w}[A1_crd[p]] = 1.0\n        C_vals[c1] = {w}[0]"));
    assert_eq!(joined(&by("v")).as_deref(), Some("with v joining C1_pos[i + 1] = c1, C1_crd[c1], C_vals[c1]"));
    assert_eq!(joined(&by("w")), None);
}

#[test]
fn what_depends_on_a_counter_runs_serially() {
    for (from, to) in [
        // The counter itself decides.
        ("A_vals[p] > 0.0", "c1 > 3"),
        // It is a value.
        ("C_vals[c1] = A_vals[p]", "C_vals[c1] = f64(c1)"),
        // It is set, or falls.
        ("c1 = c1 + 1", "c1 = p"),
        ("c1 = c1 + 1", "c1 = c1 - 1"),
        ("c1 = c1 + 1", "c1 = c1 * 2"),
        // What was appended before is read, or written.
        ("C_vals[c1] = A_vals[p]", "C_vals[c1] = C_vals[c1 - 1]"),
        ("C_vals[c1] = A_vals[p]", "C_vals[0] = A_vals[p]"),
        ("C_vals[c1] = A_vals[p]", "C_vals[before - 1] = A_vals[p]"),
        // A position is read, left out, or not the counter.
        ("C_vals[c1] = A_vals[p]", "C_vals[c1] = f64(C1_pos[i])"),
        ("    C1_pos[i + 1] = i32(c1)", "    if c1 > before {\n      C1_pos[i + 1] = i32(c1)\n    }"),
        ("    C1_pos[i + 1] = i32(c1)", "    C1_pos[i + 1] = i32(c1 + 1)"),
        ("    C1_pos[i + 1] = i32(c1)", "    C1_pos[i + 1] = i32(c1 - before)\n    C1_pos[i + 1] = i32(c1)"),
    ] {
        let body = ROWS.replacen(from, to, 1);
        assert_ne!(body, ROWS, "{from}");
        assert_eq!(joined(&body), None, "{body}");
    }
    // A row that is counted and was not noted.
    let rows = ROWS
        .replace("    C1_pos[i + 1] = i32(c1)", "    C0_crd[c0] = i32(i)\n    c0 = c0 + 1\n    C1_pos[c0] = i32(c1)");
    assert_eq!(joined(&rows), None);
}
