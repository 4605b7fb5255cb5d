//! Counters that iterations note anywhere are put in their places behind the loop.

/// The kernel with this loop, rewritten.
fn rewritten(body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_P) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64
  result C1_pos: i32, C1_crd: i32, C_vals: f64, z_vals: f64
  in A@0: f64[n_I, n_I] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  out z@1: f64[n_I] {{dense}} at dense, z_vals

  alloc z_vals[n_I] = 0.0
  alloc C1_pos[n_I + 1] = 0i32
  alloc C1_crd[16]
  alloc C_vals[16]
  c = 0
{body}
  finish z_vals[n_I]
  finish C1_pos[n_I + 1]
  finish C1_crd[c]
  finish C_vals[c]
"
    );
    super::rewritten(&text, &["parallel"])
}

/// Pieces of rows: where one begins is found by what operands hold, so rows have no place that the loop's variable says.
const PIECES: &str = "  apart for p0 in 0..n_P {
    for i in max(i64(A1_crd[p0]), 0)..min(i64(A1_crd[p0 + 1]), n_I) {
      for p in A1_pos[i]..A1_pos[i + 1] {
        if c + 1 > capacity(C1_crd) {
          reserve C1_crd[c + 1]
        }
        if c + 1 > capacity(C_vals) {
          reserve C_vals[c + 1]
        }
        C_vals[c] = A_vals[p]
        C1_crd[c] = A1_crd[p]
        c = c + 1
      }
      C1_pos[i + 1] = i32(c)
    }
  }";

#[test]
fn notes_are_put_in_their_places_behind_the_loop() {
    let got = rewritten(PIECES);
    let joining = "joining C1_crd[c], C_vals[c], C1_pos_places[C1_pos_noted], C1_pos_notes[C1_pos_noted] = c {";
    let appended = "      C1_pos_places[C1_pos_noted] = i + 1
      C1_pos_notes[C1_pos_noted] = i32(c)
      C1_pos_noted = C1_pos_noted + 1
    }
  }
  k = 0
  while k < C1_pos_noted {
    C1_pos[C1_pos_places[k]] = C1_pos_notes[k]
    k = k + 1
  }";
    assert!(got.contains("apart parallel for p0") && got.contains(joining) && got.contains(appended), "{got}");
}

/// Sums of rows that pieces share. Not where an entry is folded, as lists may then be as long as the operand; nor where it is not known which
/// rows are shared.
#[test]
fn sums_are_folded_in_their_places_behind_the_loop() {
    let pieces = "  racing for p0 in 0..n_P {
    seamed for i in max(i64(A1_crd[p0]), 0)..min(i64(A1_crd[p0 + 1]), n_I) {
      t = 0.0
      for p in A1_pos[i]..A1_pos[i + 1] {
        t = t + A_vals[p]
      }
      z_vals[i] = z_vals[i] + t
    }
  }";
    let got = rewritten(pieces);
    let joining = "apart parallel for p0 in 0..n_P joining z_vals_places[z_vals_noted], z_vals_notes[z_vals_noted] {";
    let inside = "      if first < i && i < last {
        z_vals[i] = z_vals[i] + t
      } else {";
    let folded = "    z_vals[z_vals_places[k]] = z_vals[z_vals_places[k]] + z_vals_notes[k]";
    assert!([joining, inside, folded].iter().all(|text| got.contains(text)), "{got}");
    let entries = pieces.replace("        t = t + A_vals[p]", "        z_vals[i] = z_vals[i] + A_vals[p]");
    let entries = entries.replace("      t = 0.0\n", "").replace("      z_vals[i] = z_vals[i] + t\n", "");
    for body in [entries, pieces.replace("seamed ", "")] {
        let got = rewritten(&body);
        assert!(got.contains("folding z_vals") && !got.contains("places"), "{got}");
    }
}

/// Not where no schedule asks for it, or iterations read what is noted, note something else, or do more with counters.
#[test]
fn other_loops_stay() {
    for (from, to) in [
        ("apart for", "for"),
        ("C_vals[c] = A_vals[p]", "C_vals[c] = A_vals[p] + f64(C1_pos[i])"),
        ("= i32(c)", "= i32(c + 1)"),
        ("C1_pos[i + 1]", "C1_pos[min(c, n_I)]"),
        ("C1_crd[c] = A1_crd[p]", "C1_crd[c] = i32(c * 2)"),
        ("p in A1_pos[i]", "p in min(c, A1_pos[i])"),
    ] {
        let body = PIECES.replace(from, to);
        assert_ne!(body, PIECES);
        let got = rewritten(&body);
        assert!(!got.contains("parallel for") && !got.contains("places"), "{from}: {got}");
    }
}
