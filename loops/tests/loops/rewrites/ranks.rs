//! Folds over what is less than something are searched for in sorted keys.

/// A kernel over vectors, rewritten.
fn rewritten(mode: &str, body: &str) -> String {
    let text = format!(
        "kernel k(n_I, n_J){mode}
  operand x_vals: f64, q_vals: f64, w_vals: i32, v_vals: i64
  result r_vals: i64, s_vals: f64
  in x@0: f64[n_J] {{dense}} at dense, x_vals
  in q@1: f64[n_I] {{dense}} at dense, q_vals
  in w@2: i32[n_J] {{dense}} at dense, w_vals
  in v@3: i64[n_J] {{dense}} at dense, v_vals
  out r@4: i64[n_I] {{dense}} at dense, r_vals
  out s@5: f64[n_I] {{dense}} at dense, s_vals

  alloc r_vals[n_I] = 0
  alloc s_vals[n_I] = 0.0
{body}
  finish r_vals[n_I]
  finish s_vals[n_I]
"
    );
    super::rewritten(&text, &["ranks"])
}

const COUNT: &str = "  for i in 0..n_I {
    t = 0
    for j in 0..n_J {
      t = t + i64(x_vals[j] > q_vals[i])
    }
    r_vals[i] = t
  }";

#[test]
fn counts_are_searched_for() {
    let got = rewritten("", COUNT);
    let taken = "    for j_2 in 0..n_J {
      let key = x_vals[j_2]
      if key == key {
        keys[kept] = key
        kept = kept + 1
      }
    }
";
    let searched = "    if many {
      let bound = q_vals[i]
      low = 0
      high = kept
      while low < high {
        let mid_3 = low + high >> 1
        if keys[mid_3] > bound {
          high = mid_3
        } else {
          low = mid_3 + 1
        }
      }
      t = t + (kept - low)
    } else {
";
    assert!(got.contains(taken) && got.contains(searched), "{got}");
    assert!(got.contains("  let many = n_J >= 64 && n_I >= 16\n"), "{got}");
}

/// The runtime sorts integer keys; values are folded from the end at which the comparison holds.
#[test]
fn values_are_folded_from_an_end() {
    let whole = COUNT.replace("i64(x_vals[j] > q_vals[i])", "select(w_vals[j] <= w_vals[i], v_vals[j], 0)");
    let got = rewritten("", &whole);
    assert!(got.contains("sort keys[0..kept] with places"), "{got}");
    assert!(got.contains("folds[s + 1] = folds[s] + v_vals[places[s]]"), "{got}");
    assert!(got.contains("t = t + folds[low]"), "{got}");
    let last = rewritten("", &whole.replace("<=", ">"));
    assert!(last.contains("folds[kept - s - 1] = folds[kept - s] + v_vals[places[kept - s - 1]]"), "{last}");
}

/// Sums that round are rewritten only in modes that permit reassociation; maxima do not round.
#[test]
fn values_that_round_are_folded_where_that_may_be() {
    let sum = "  for i in 0..n_I {
    u = 0.0
    for j in 0..n_J {
      u = u + select(x_vals[j] < q_vals[i], x_vals[j], 0.0)
    }
    s_vals[i] = u
  }";
    assert!(!rewritten("", sum).contains("keys"));
    assert!(rewritten(" reassociate", sum).contains("folds"));
    let most = sum.replace("u = 0.0", "u = -inf").replace("u + select", "max(u, select").replace("0.0)\n", "-inf))\n");
    assert!(rewritten("", &most).contains("folds"), "a maximum rounds nothing");
}

/// Other folds are not rewritten: equalities; keys that are not loaded, or depend on the row; bounds that depend on the iteration;
/// iterations that depend on the row; loads at loaded positions, which the comparison may guard; keys that the loop stores to; folds
/// that are not sums.
#[test]
fn other_folds_stay() {
    let equal = COUNT.replace("x_vals[j] > q", "x_vals[j] == q");
    let turns = COUNT.replace("x_vals[j] >", "f64(j) >");
    let both = COUNT.replace("x_vals[j] >", "x_vals[j] * q_vals[i] >");
    let bound = COUNT.replace("q_vals[i])", "x_vals[j])");
    let ragged = COUNT.replace("0..n_J", "i..n_J");
    let gathered = COUNT.replace("i64(x_vals[j] > q_vals[i])", "select(w_vals[j] < w_vals[i], v_vals[w_vals[j]], 0)");
    let stored = COUNT.replace("x_vals[j] >", "s_vals[j] >").replace("    t = 0", "    s_vals[i] = 1.0\n    t = 0");
    let product = COUNT.replace("t + i64", "t * i64");
    let another = COUNT.replace("t = t +", "t = 1 + t +");
    for body in [equal, turns, both, bound, ragged, gathered, stored, product, another] {
        let got = rewritten("", &body);
        assert!(!got.contains("keys"), "{got}");
    }
}
