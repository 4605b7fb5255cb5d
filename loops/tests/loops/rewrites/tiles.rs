//! Folds of products are computed in tiles.

use fiberloom_loops::{Tiles, tiles_of};

/// A kernel over a matrix in compressed rows and two dense ones, rewritten.
fn rewritten(body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J, n_K)
  operand S1_pos: i32, S1_crd: i32, S_vals: f64, A_vals: f64, B_vals: f64
  workspace line: f64
  result C_vals: f64, y_vals: f64
  in S@0: f64[n_I, n_K] {{dense, compressed}} at dense, compressed(S1_pos, S1_crd), S_vals
  in A@1: f64[n_I, n_K] {{dense, dense}} at dense, dense, A_vals
  in B@2: f64[n_K, n_J] {{dense, dense}} at dense, dense, B_vals
  out C@3: f64[n_I, n_J] {{dense, dense}} at dense, dense, C_vals
  out y@4: f64[n_J] {{dense}} at dense, y_vals

  alloc line[n_J]
  alloc C_vals[n_I * n_J] = 0.0
  alloc y_vals[n_J] = 0.0
{body}
  finish C_vals[n_I * n_J]
  finish y_vals[n_J]
"
    );
    let tiles = Tiles { fewest: [8, 16, 8], ..Tiles::LEAST };
    super::rewritten_by(&text, |kernel| tiles_of(kernel, &tiles))
}

const PLACE: &str = "  for i in 0..n_I {
    for k in 0..n_K {
      let a = A_vals[i * n_K + k]
      for j in 0..n_J {
        C_vals[i * n_J + j] = C_vals[i * n_J + j] + a * B_vals[k * n_J + j]
      }
    }
  }";

const ROW: &str = "  for i in 0..n_I {
    for q in 0..n_J {
      line[q] = 1.0
    }
    for k in 0..n_K {
      let a = A_vals[i * n_K + k]
      for j in 0..n_J {
        line[j] = max(line[j], a + B_vals[k * n_J + j])
      }
    }
    for q in 0..n_J {
      C_vals[i * n_J + q] = line[q] * 2.0
    }
  }";

const VARIABLE: &str = "  for i in 0..n_I {
    least = inf
    for j in 0..n_J {
      t = 0.0
      for k in 0..n_K {
        t = t + A_vals[i * n_K + k] * B_vals[j * n_K + k]
      }
      least = min(least, t)
    }
    C_vals[i] = least
  }";

#[test]
fn rows_in_place_are_folded_in_tiles() {
    let tile = "              for k_5 in from_2..to {
                let a_2 = A_vals[i_2 * n_K + k_5]
                let a_3 = A_vals[i_3 * n_K + k_5]
                vector for c_6 in 0..2 {
                  let b = panel[(k_5 - from_2) * 2 + c_6]
                  tile[c_6] = tile[c_6] + a_2 * b
                  tile[2 + c_6] = tile[2 + c_6] + a_3 * b
                }
              }
";
    let got = rewritten(PLACE);
    assert!(got.contains(tile), "{got}");
    let guard = "  if n_I >= 8 && n_J >= 16 && n_K >= 8 {\n    for part in";
    assert!(got.contains(guard) && got.contains("          rows[c] = 0.0\n"), "{got}");
    assert!(
        got.contains(&format!("  }} else {{\n{}", PLACE.replace("\n", "\n  ").replacen("  for", "    for", 1))),
        "{got}"
    );
}

/// Statements of an iteration behind the fold read the fold from the block's rows.
#[test]
fn what_is_behind_a_fold_takes_it_from_a_block() {
    let row = rewritten(ROW);
    assert!(row.contains("C_vals[i_4 * n_J + q_2] = rows[(i_4 - first) * whole + q_2] * 2.0"), "{row}");
    assert!(row.contains("rows[c] = 1.0") && row.contains("n_J <= 262144"), "{row}");
    let variable = rewritten(VARIABLE);
    let drained = "          t = rows[(i_4 - first) * whole + j_2]\n          least = min(least, t)\n";
    assert!(variable.contains(drained), "{variable}");
}

/// Two folds of an iteration are both in tiles: the second is folded where the first is drained.
#[test]
fn each_fold_of_a_turn_is_in_tiles() {
    let body = "  for i in 0..n_I {
    for q in 0..n_J {
      line[q] = 0.0
    }
    for k in 0..n_K {
      for j in 0..n_J {
        line[j] = line[j] + A_vals[i * n_K + k] * B_vals[k * n_J + j]
      }
    }
    for w in 0..n_J {
      t = 0.0
      for l in 0..n_K {
        t = t + A_vals[i * n_K + l] * B_vals[w * n_K + l]
      }
      C_vals[i * n_J + w] = line[w] - t
    }
  }";
    let got = rewritten(body);
    assert!(got.contains("tile_2"), "{got}");
}

/// Further loops may be between the loop over rows and the folded loop, such as a loop over blocks that have the same rows.
#[test]
fn loops_around_turns_stay_around_them() {
    let around = PLACE
        .replace("for k in 0..n_K {", "for p in S1_pos[0]..S1_pos[1] {\n      let s = S1_crd[p]\n    for k in 0..n_K {")
        .replace("B_vals[k * n_J", "B_vals[(k + s) * n_J")
        .replacen("\n    }\n  }", "\n    }\n    }\n  }", 1);
    let got = rewritten(&around);
    assert!(got.contains("for p_2 in S1_pos[0]..S1_pos[1] {\n          for step in"), "{got}");
    assert!(got.contains("B_vals[(k_3 + S1_crd[p_2]) * n_J + (from + (at + c_2))]"), "{got}");
}

/// Other loops are not rewritten: folded loops whose bounds depend on the row; rows that are not consecutive, or are unknown; folds
/// that read what an iteration over rows stores; rows that begin with other values, or are read elsewhere; terms without two
/// operands; columns that begin with 1.
#[test]
fn other_loops_stay() {
    let own = PLACE.replace("0..n_K", "S1_pos[i]..S1_pos[i + 1]");
    let up_to = PLACE.replace("0..n_K", "0..i");
    let strides = PLACE.replace("C_vals[i * n_J + j]", "C_vals[j * n_I + i]");
    let overlap = PLACE.replace("C_vals[i * n_J + j]", "C_vals[i * n_K + j]");
    let gathered = PLACE.replace("C_vals[i * n_J + j]", "C_vals[i64(S1_crd[i]) * n_J + j]");
    let itself = PLACE.replace("B_vals[k", "C_vals[k");
    let also = PLACE.replace("    for k", "    y_vals[i] = 1.0\n    for k");
    let one = PLACE.replace("a * B_vals[k * n_J + j]", "B_vals[k * n_J + j]");
    let two = PLACE.replace("a * B_vals[k * n_J + j]", "a * B_vals[k * n_J + j] * A_vals[j]");
    let both = PLACE.replace("a * B_vals[k * n_J + j]", "a * B_vals[i * n_J + j]");
    let from = PLACE.replace("0..n_J", "1..n_J");
    let begun = ROW.replace("line[q] = 1.0", "line[q] = A_vals[q]");
    let part = ROW.replacen("0..n_J", "1..n_J", 1);
    let kept = format!("{ROW}\n  y_vals[0] = line[0]");
    let between = ROW.replace("    for k", "    y_vals[0] = line[0]\n    for k");
    let stored = ROW.replace("    for k", "    line[0] = 2.0\n    for k");
    let moves = VARIABLE.replace("t = 0.0", "t = least");
    let reads = VARIABLE.replace("A_vals[i", "C_vals[i");
    let set = VARIABLE.replace("t + A_vals", "t + least * A_vals");
    let all = [own, up_to, strides, overlap, gathered, itself, also, one, two, both, from, begun, part, kept];
    for body in all.into_iter().chain([between, stored, moves, reads, set]) {
        let got = rewritten(&body);
        assert!(!got.contains("tile"), "{got}");
    }
}
