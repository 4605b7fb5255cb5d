//! Rewrites of loops leave their results as they were, on loops that no lowering would think of: those that a rewrite is made for, and
//! those that differ from them in one thing or two, which it must leave alone.
//!
//! ```text
//!  bytes ──▶ a text, each of its gaps filled ──read──▶ Kernel ──┬ semantics::loops                      results
//!                                                               ├ each rewrite, semantics::loops        the same
//!                                                               └ all in a row, one after the other     the same
//! ```
//!
//! A gap is mostly filled with the first of its choices. Kernels that the checker refuses, and data on which the loops as they are written
//! break a rule, are passed over. Values are small whole numbers, whose sums are exact in any order.

use arbitrary::Unstructured;
use fiberloom_check::{Effort, bytes};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::Array;
use fiberloom_loops::{self as loops, Kernel, Tiles};
use fiberloom_loops::{REWRITES, Rewrite};
use fiberloom_semantics::loops::{Limits, Outcome, run};
use std::collections::BTreeMap;

/// A gap's name, and what may stand there.
type Gap = (&'static str, &'static [&'static str]);

/// What all kernels have: a matrix in compressed rows, two vectors, and results that loops append to, or fill.
const FRAME: &str = "kernel k(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, x_vals: f64, w_vals: i64
  result L0_pos: i32, L0_crd: i32, L1_crd: i32, L_vals: f64, M_vals: i64, N_vals: i64, y_vals: f64
  workspace keys: i64, order: i64, line: f64
  in A@0: f64[n_I, n_J] {dense, compressed} at dense, compressed(A1_pos, A1_crd), A_vals
  in x@1: f64[n_J] {dense} at dense, x_vals
  in w@2: i64[n_J] {dense} at dense, w_vals
  out L@3: f64[n_I, n_J] {nonunique, singleton} at nonunique(L0_pos, L0_crd), singleton(L1_crd), L_vals
  out M@4: i64[n_J] {dense} at dense, M_vals
  out N@5: i64[n_I] {dense} at dense, N_vals
  out y@6: f64[n_I, n_J] {dense, dense} at dense, dense, y_vals

  alloc L0_pos[n_I + 2] = 0i32
  alloc L0_crd[capacity(A1_crd){room}]
  alloc L1_crd[capacity(A1_crd){room}]{filled0}
  alloc L_vals[capacity(A1_crd){room}]{filled}
  alloc M_vals[capacity(A1_crd){room}]{filled1}
  alloc N_vals[n_I + 2] = 0
  alloc y_vals[n_I * n_J + 1] = 0.0
  alloc keys[capacity(A1_crd){room}]
  alloc order[capacity(A1_crd){room}]
  alloc line[n_J]
  c = 0
  d = 0
{body}
  L0_pos[1] = i32(c)
  finish L0_pos[n_I + 2]
  finish L0_crd[c]
  finish L1_crd[c]
  finish L_vals[c]
  finish M_vals[d]
  finish N_vals[n_I + 2]
  finish y_vals[n_I * n_J + 1]
";

/// Gaps of the frame, and of the entry that loops append.
const GAPS: &[Gap] = &[
    ("room", &[" + 70", "", " + 1", " + 9"]),
    ("filled", &["", " = 0.0"]),
    ("filled0", &["", " = 5i32"]),
    ("filled1", &["", " = 0"]),
    (
        "name",
        &[
            "      let j = A1_crd[p]\n",
            "      let j = A1_crd[p + 1]\n",
            "      let j = A1_crd[p]\n      let k = j + i\n",
        ],
    ),
    (
        "value",
        &[
            "A_vals[p]",
            "A_vals[p] * x_vals[i]",
            "A_vals[p] + 1.0",
            "A_vals[p + 1]",
            "A_vals[p * 2]",
            "x_vals[A1_crd[p]]",
            "select(p < n_J, x_vals[p], 0.0)",
            "f64(i)",
            "f64(c)",
            "L_vals[c - 1]",
            "A_vals[n_J]",
        ],
    ),
    ("row", &["i32(i)", "i32(j)", "i32(c)", "i32(p)", "L1_crd[c]", "i32(j + n_J)", "0i32"]),
    ("column", &["i32(j)", "i32(j + n_J)", "i32(c)", "i32(i)", "i32(w_vals[j])", "i32(j + i)"]),
    ("at", &["c", "c", "p", "j", "c + 1"]),
    (
        "twice",
        &[
            "",
            "      L_vals[c] = 0.0\n",
            "      M_vals[c] = i64(j)\n      d = c + 1\n",
            "      M_vals[p] = i64(j)\n",
            "      N_vals[i] = c\n",
            "      d = d + 1\n",
            "      M_vals[c] = w_vals[j]\n",
            "      M_vals[c] = i64(i32(w_vals[j]))\n",
        ],
    ),
    ("more", &["1", "1", "1", "i64(j > 3)", "2", "n_I"]),
    (
        "note",
        &[
            "",
            "      N_vals[0] = c\n",
            "      N_vals[i + 1] = c\n",
            "      N_vals[1] = N_vals[1] + c\n",
            "      M_vals[j] = c\n",
            "      L_vals[0] = 2.0\n",
        ],
    ),
    ("before", &["", "", "    c = 0\n", "    let b = c\n", "    L_vals[0] = 1.0\n"]),
    (
        "behind",
        &[
            "",
            "    L0_pos[i + 1] = i32(c)\n",
            "    N_vals[i + 1] = c\n",
            "    L0_pos[i + 1] = i32(c + 1)\n",
            "    L0_pos[i] = i32(c)\n",
            "    c = c + 1\n",
            "    N_vals[i] = i64(L1_crd[0])\n",
            "    for q in A1_pos[i]..A1_pos[i + 1] {\n      M_vals[q] = 1\n    }\n",
        ],
    ),
    ("behind_row", &["d + i64(A1_pos[i + 1]) - i64(A1_pos[i])", "d", "0"]),
    ("nowhere", &["i32(j)", "i32(j + n_J)", "i32(i)", "L0_pos[0]", "i32(p)"]),
    (
        "end",
        &[
            "L0_pos[i + 1] = i32(c)",
            "N_vals[i + 1] = c",
            "L0_pos[i + 1] = i32(c + 1)",
            "L0_pos[n_I - i] = i32(c)",
            "N_vals[i + 1] = c * 2",
            "N_vals[i + 1] = d",
        ],
    ),
    (
        "after",
        &[
            "",
            "  c = c + i64(n_I > 3)\n",
            "  if 0 < c {\n    N_vals[0] = i64(L1_crd[c - 1])\n  }\n",
            "  L0_crd[0] = 0i32\n",
            "  for q in 0..c {\n    keys[q] = i64(A1_crd[q])\n  }\n  sort keys[0..c] with M_vals\n  d = c\n",
            "  c = c + n_I\n",
        ],
    ),
    ("lo", &["0", "0", "1", "3", "n_J"]),
    ("hi", &["n_I", "n_I", "min(n_I, 2)", "n_J", "n_I - 1"]),
    (
        "fiber",
        &[
            "A1_pos[i]..A1_pos[i + 1]",
            "A1_pos[i]..A1_pos[i + 1]",
            "A1_pos[i]..min(A1_pos[i + 1], n_J)",
            "A1_pos[i + 1]..A1_pos[i + 2]",
            "A1_pos[i]..A1_pos[i + 2]",
            "A1_pos[n_I - i]..A1_pos[n_I - i + 1]",
            "A1_pos[i * 2]..A1_pos[i * 2 + 1]",
            "A1_pos[i - 1]..A1_pos[i - 1 + 1]",
            "A1_pos[i - 3]..A1_pos[i - 3 + 1]",
            "A1_pos[i + 1]..A1_pos[i]",
        ],
    ),
    (
        "all",
        &["A1_pos[0]..A1_pos[n_I]", "A1_pos[n_I]..A1_pos[0]", "0..n_J", "3..n_J", "A1_pos[1]..min(A1_pos[n_I], n_J)"],
    ),
    (
        "test",
        &[
            "i64(A1_crd[p]) == i",
            "i64(A1_crd[p]) < i",
            "i64(A1_crd[p]) <= i",
            "i64(A1_crd[p + 1]) == i",
            "i64(A1_crd[p]) == c",
        ],
    ),
    ("step", &["1", "1", "1", "2"]),
];

/// Loops that append.
const APPENDED: &[&str] = &[
    "  for i in {lo}..{hi} {
{before}    for p in {fiber} {
{name}      L_vals[{at}] = {value}
      L0_crd[c] = {row}
      L1_crd[c] = {column}
{twice}      c = c + {more}
{note}    }
{behind}  }
{after}",
    "  for i in {lo}..{hi} {
    for p in {fiber} {
      let v = {value}
      L_vals[c] = v
      L1_crd[c] = A1_crd[p]
      L0_crd[c] = {row}
      c = c + 1
    }
{behind}  }
{after}",
    "  for i in {lo}..{hi} {
    for p in {fiber} {
      let j = A1_crd[p]
      L_vals[c] = {value}
      L1_crd[c] = i32(j)
      L0_crd[c] = {nowhere}
{twice}      c = c + {more}
    }
    {end}
  }
{after}",
    "  for i in {lo}..{hi} {
    for p in {fiber} {
      M_vals[d] = i64(A1_crd[p])
      d = d + 1
    }
{behind}  }
{after}",
    "  for i in {lo}..{hi} {
    keys[0] = i + 40
    sort keys[0..1] into M_vals[{behind_row}]
    for p in {fiber} {
      M_vals[d] = i64(A1_crd[p])
      d = d + 1
    }
    d = d + 1
  }",
    "  let i = n_I
  for p in {all} {
{name}      L_vals[{at}] = {value}
      L0_crd[c] = {row}
      L1_crd[c] = {column}
{twice}      c = c + {more}
{note}  }
{after}",
    "  let end = i64(A1_pos[n_I])
  p = 0
  for i in {lo}..{hi} {
    while p < end && {test} {
{name}      L_vals[{at}] = {value}
      L0_crd[c] = {row}
      L1_crd[c] = {column}
{twice}      c = c + {more}
      p = p + {step}
    }
{behind}  }
{after}",
];

/// Gaps of loops that fold.
const FOLDED_GAPS: &[Gap] = &[
    ("begins", &["0.0", "1.0", "7.0"]),
    (
        "fold",
        &[
            "t + A_vals[p] * x_vals[A1_crd[p]]",
            "t + A_vals[p]",
            "max(t, A_vals[p])",
            "min(t, A_vals[p])",
            "t * A_vals[p]",
            "t + t * A_vals[p]",
            "A_vals[p] + t",
            "A_vals[p]",
            "t - A_vals[p]",
            "t + f64(i)",
        ],
    ),
    (
        "also",
        &[
            "",
            "      s = s + t\n",
            "      y_vals[0] = t\n",
            "      s = s + 1.0\n",
            "      t = t + 1.0\n",
            "      N_vals[0] = N_vals[0] + 1\n",
        ],
    ),
    ("each", &["", "    t = 0.0\n", "    y_vals[0] = y_vals[0] + t\n", "    s = s + t\n", "    t = t + 1.0\n"]),
    ("truth", &["false", "true"]),
    (
        "known",
        &[
            "u || x_vals[A1_crd[p]] > 2.0",
            "u && x_vals[A1_crd[p]] > 0.0",
            "u || A_vals[p] > 2.0",
            "x_vals[A1_crd[p]] > 2.0",
            "x_vals[A1_crd[p]] > 2.0 || u",
        ],
    ),
    (
        "number",
        &["m * w_vals[A1_crd[p]]", "m + w_vals[A1_crd[p]]", "w_vals[A1_crd[p]] * m", "m * (w_vals[A1_crd[p]] + m)"],
    ),
    (
        "beside",
        &[
            "",
            "",
            "      N_vals[0] = N_vals[0] + 1\n",
            "      q = q + 1\n",
            "      u = x_vals[A1_crd[p]] > 1.0\n",
            "      m = m + 1\n",
        ],
    ),
    ("from", &["0", "1", "j"]),
    ("to", &["n_J", "n_J - 1", "j", "min(n_J, 5)"]),
    ("place", &["i * n_J + k", "i * n_J + k", "k", "i * n_J + j", "i * n_J + k * 0", "i * n_J + n_J - 1 - k"]),
    ("jammed", &["a * x_vals[k]", "a", "a * x_vals[j]", "a * y_vals[0]", "f64(k) * a", "a * y_vals[i * n_J + k]"]),
    ("how", &["+", "+", "-", "*"]),
    ("later", &["i", "i", "i + 1", "max(i - 2, 0)", "min(i, 2)", "0"]),
    ("stops", &["n_J", "n_J", "min(n_J, 5)", "i + 4", "i + 1", "n_I"]),
    ("least", &["n_J", "0", "0 - 3", "i"]),
    (
        "risen",
        &[
            "u = min(u, select(N_vals[i] == 0, j, n_J))",
            "u = max(u, select(i > 1, j, 0))",
            "u = max(u, j)",
            "u = max(u, i)",
            "u = min(u, max(j, i))",
            "u = min(u, j + i)",
            "u = max(u, n_J - j)",
            "u = min(u, select(j > 2, 0, j))",
            "u = max(u, w_vals[j])",
            "u = min(u, min(u, j))",
            "u = u + j",
        ],
    ),
    ("beginning", &["0", "0", "1", "min(i, 2)", "n_J", "min(n_I, 3)"]),
    (
        "grown",
        &[
            "i + 1",
            "i + 1",
            "i",
            "min(i + 2, n_J)",
            "n_J - i",
            "max(i, 3)",
            "w_vals[i]",
            "i64(A1_pos[i])",
            "i + i64(t)",
        ],
    ),
    (
        "carried",
        &[
            "t + x_vals[k]",
            "t - x_vals[k] * 2.0",
            "x_vals[k] + t * 2.0",
            "t + x_vals[i]",
            "t + f64(N_vals[k])",
            "t + f64(w_vals[k])",
            "max(t, x_vals[k])",
        ],
    ),
    ("above", &["", "", "    t = t + 1.0\n", "    N_vals[0] = i64(t)\n", "    t = f64(i)\n", "    s = s + 1.0\n"]),
    ("inside", &["", "", "      s = s + t\n", "      N_vals[n_I + 1] = k\n", "      let v = x_vals[k]\n"]),
    (
        "upto",
        &[
            "i64(A1_crd[p]) < i",
            "i64(A1_crd[p]) <= i",
            "i64(A1_crd[p]) == i",
            "i64(A1_crd[p]) < n_J - i",
            "i64(A1_crd[p]) < min(i * 2, 5)",
            "i64(A1_crd[p]) < max(i + 3, n_I)",
        ],
    ),
    ("entry", &["t + A_vals[p]", "t + A_vals[p] * x_vals[i]", "t * 2.0 + A_vals[p]", "A_vals[p]"]),
    ("origin", &["0", "i64(A1_pos[0])", "i64(A1_pos[1])", "i"]),
    (
        "turns",
        &["0..n_J", "0..n_J", "1..n_J", "0..min(n_J, 5)", "0..n_I", "i..n_J", "A1_pos[0]..A1_pos[n_I]", "0..w_vals[0]"],
    ),
    ("left", &["f64(i) + x_vals[k]", "x_vals[k]", "f64(i * k)", "f64(A1_pos[i])", "y_vals[k]", "x_vals[i]"]),
    (
        "product",
        &[
            "a * x_vals[j]",
            "a * x_vals[j]",
            "a * f64(j + k)",
            "(a - x_vals[j]) * (a - x_vals[j])",
            "a * x_vals[j] * f64(i)",
            "a * x_vals[j] + f64(k)",
            "a",
            "x_vals[j]",
            "a * y_vals[j]",
            "a * x_vals[j] * f64(j * i)",
            "select(j < 2, a * x_vals[j], 0.0)",
        ],
    ),
    (
        "spot",
        &[
            "i * n_J + j",
            "i * n_J + j",
            "j",
            "i * n_J + k",
            "i * n_I + j",
            "(i - 1) * n_J + j",
            "i * n_J + n_J - 1 - j",
        ],
    ),
    ("first_column", &["0", "0", "0", "1"]),
    ("columns", &["n_J", "n_J", "n_J", "n_I", "k", "min(n_J, 5)"]),
    ("drained", &["line[q]", "line[q]", "line[q] * 2.0", "line[0]", "max(line[q], x_vals[q])"]),
    (
        "among",
        &["", "", "      line[0] = 1.0\n", "    y_vals[0] = y_vals[0] + 1.0\n", "    N_vals[i] = N_vals[i] + 1\n"],
    ),
    ("of_pair", &["t", "t", "t * 2.0", "t + x_vals[j]", "s"]),
    ("within", &["", "", "      s = s + t\n", "      t = t + 1.0\n", "      N_vals[0] = j\n"]),
];

/// Gaps of folds over comparisons.
const COMPARED_GAPS: &[Gap] = &[
    ("pairs", &["0..n_J", "0..n_J", "1..n_J", "0..n_I", "i..n_J", "0..min(n_J, 5)"]),
    (
        "key",
        &[
            "x_vals[j]",
            "x_vals[j]",
            "w_vals[j]",
            "x_vals[j] * 2.0 - 1.0",
            "f64(j)",
            "x_vals[n_J - 1 - j]",
            "y_vals[j]",
            "x_vals[j] / x_vals[j]",
        ],
    ),
    (
        "bound",
        &["x_vals[i]", "x_vals[i]", "w_vals[i]", "f64(i)", "y_vals[i]", "x_vals[i] / x_vals[i]", "t", "x_vals[j]"],
    ),
    ("compares", &["<", "<=", ">", ">=", "==", "!="]),
    (
        "holding",
        &[
            "0, t + i64({this})",
            "0, t + i64({this})",
            "0, t + select({this}, w_vals[j], 0)",
            "0, max(t, select({this}, w_vals[j], -9223372036854775808))",
            "0, t + mask({this}, w_vals[j] * 3)",
            "false, t || {this}",
            "true, t && {this}",
            "0, t + select({this}, w_vals[i], 0)",
            "0, t + select({this}, w_vals[j], 1)",
            "0, t - select({this}, w_vals[j], 0)",
            "0, t + select({this}, w_vals[w_vals[j]], 0)",
            "0, t * 2 + i64({this})",
        ],
    ),
];

/// Folds over comparisons.
const COMPARED: &[&str] = &[
    "  for i in {lo}..{hi} {
    t = {begin_of_it}
    for j in {pairs} {
      t = {fold_of_it}
    }
    N_vals[i] = i64(t)
  }",
    "  for i in {lo}..{hi} {
    if x_vals[i] > 0.0 {
      t = {begin_of_it}
      for j in {pairs} {
        let v = {key}
        t = {fold_of_it}
      }
      N_vals[i] = i64(t)
    }
  }",
];

/// Loops that fold products of rows and columns: into rows in place, into a row of their own, and into a variable for each pair.
const MULTIPLIED: &[&str] = &[
    "  for i in {lo}..{hi} {
    for k in {turns} {
      let a = {left}
      for j in {first_column}..{columns} {
        y_vals[{spot}] = y_vals[{spot}] {how} {product}
      }
    }
  }",
    "  for i in {lo}..{hi} {
    for p in A1_pos[0]..A1_pos[1] {
      for k in {turns} {
        let a = A_vals[p] + {left}
        for j in {first_column}..{columns} {
          y_vals[{spot}] = y_vals[{spot}] {how} {product}
        }
      }
    }
  }",
    "  for i in {lo}..{hi} {
    for q in 0..n_J {
      line[q] = {begins}
    }
{among}    for k in {turns} {
      let a = {left}
      for j in 0..{columns} {
        line[j] = line[j] {how} {product}
      }
    }
{among}    for q in 0..n_J {
      y_vals[i * n_J + q] = {drained}
    }
  }",
    "  s = 0.0
  for i in {lo}..{hi} {
    for j in 0..{columns} {
      t = {begins}
      for k in {turns} {
        let a = {left}
        t = t {how} {product}
      }
{within}      y_vals[i * n_J + j] = {of_pair}
    }
  }
  N_vals[1] = i64(s)",
];

/// Loops that fold: into a variable, until nothing changes it, into rows, and each up to where the turn is.
const FOLDED: &[&str] = &[
    "  for i in {lo}..{hi} {
    u = {least}
    for j in {later}..{stops} {
      {risen}
    }
    N_vals[i] = u
  }",
    "  t = {begins}
  s = 0.0
  for i in {lo}..{hi} {
{each}    for p in {fiber} {
      t = {fold}
{also}    }
{each}  }
  y_vals[0] = t + s",
    "  u = {truth}
  m = 1
  q = 0
  for i in {lo}..{hi} {
    for p in {fiber} {
      u = {known}
{beside}    }
  }
  N_vals[1] = i64(u) + q * 4 + m * 100",
    "  u = true
  m = 1
  q = 0
  for i in {lo}..{hi} {
    for p in {fiber} {
      m = {number}
{beside}    }
{behind}  }
  N_vals[1] = m * 8 + q * 2 + i64(u)",
    "  for i in 0..n_I {
    for p in {fiber} {
      let j = A1_crd[p]
      let a = A_vals[p]
      for k in {from}..{to} {
        y_vals[{place}] = y_vals[{place}] {how} {jammed}
      }
    }
  }",
    "  s = 0.0
  for i in {lo}..{hi} {
    t = {begins}
{above}    for k in {beginning}..{grown} {
      t = {carried}
{inside}    }
    N_vals[i + 1] = i64(t)
  }
  y_vals[0] = s",
    "  s = 0.0
  for i in {lo}..{hi} {
    t = {begins}
    for k in {later}..{stops} {
      t = {carried}
{inside}    }
    N_vals[i + 1] = i64(t)
  }
  y_vals[0] = s",
    "  for i in 0..n_I {
    for k in {later}..{stops} {
      for j in 0..n_J {
        y_vals[i * n_J + j] = y_vals[i * n_J + j] {how} x_vals[k]
      }
    }
  }",
    "  let end = i64(A1_pos[n_I])
  s = 0.0
  for i in {lo}..{hi} {
    p = {origin}
    t = {begins}
{above}    while p < end && {upto} {
      t = {entry}
      p = p + {step}
    }
    N_vals[i + 1] = i64(t) * 50 + p
  }
  y_vals[0] = s",
];

struct Maker<'u, 'b> {
    u: &'u mut Unstructured<'b>,
}

impl Maker<'_, '_> {
    fn below(&mut self, n: usize) -> usize {
        self.u.choose_index(n).unwrap_or(0)
    }

    /// The first choice three times of four, as long as there are others.
    fn choice(&mut self, of: &[&'static str]) -> &'static str {
        if self.below(4) < 3 { of[0] } else { of[self.below(of.len())] }
    }

    /// A kernel's text, each gap filled once: what is named twice is filled alike.
    fn text(&mut self) -> String {
        let bodies = [APPENDED, FOLDED, MULTIPLIED, COMPARED][self.below(4)];
        let mut text = FRAME.replace("{body}", bodies[self.below(bodies.len())]);
        // A fold has its function, its beginning and its type by one choice.
        let (begins, fold) = COMPARED_GAPS
            .iter()
            .find(|(name, _)| *name == "holding")
            .map(|(_, all)| all[self.below(all.len())])
            .and_then(|of| of.split_once(", "))
            .expect("a beginning and a fold");
        let side = if text.contains("let v") && self.below(2) == 0 { "v" } else { "{key}" };
        let sides = if self.below(2) == 0 {
            format!("{side} {{compares}} {{bound}}")
        } else {
            format!("{{bound}} {{compares}} {side}")
        };
        text = text.replace("{begin_of_it}", begins).replace("{fold_of_it}", &fold.replace("{this}", &sides));
        for (name, choices) in FOLDED_GAPS.iter().chain(COMPARED_GAPS).chain(GAPS) {
            let gap = format!("{{{name}}}");
            if text.contains(&gap) {
                text = text.replace(&gap, self.choice(choices));
            }
        }
        text
    }

    /// Extents, and the operands: rows of none to twenty entries, whose coordinates ascend; or all ascend, and repeat.
    fn data(&mut self) -> Data {
        let (rows, columns) = (self.below(7) as i64, [0, 1, 4, 9, 20][self.below(5)]);
        let lengths: Vec<usize> = (0..rows).map(|_| [0, 1, 2, 3, 7, 8, 9, 17, 20][self.below(9)]).collect();
        let mut rows_of: Vec<Vec<i64>> = vec![];
        for length in lengths {
            let all = (0..columns).filter(|_| self.below(20) < length);
            rows_of.push(all.collect());
        }
        let ends = rows_of.iter().scan(0, |end, row| {
            *end += row.len() as i64;
            Some(*end)
        });
        let pos: Vec<i64> = [0].into_iter().chain(ends).collect();
        let mut crd = rows_of.concat();
        if self.below(3) == 0 {
            crd.sort_unstable();
        }
        let floats =
            |n: usize, m: &mut Self| -> Array<'static> { (0..n).map(|_| m.below(4) as f64).collect::<Vec<_>>().into() };
        let (values, x) = (floats(crd.len(), self), floats(columns as usize, self));
        let w: Vec<i64> = (0..columns).map(|_| self.below(6) as i64 - 2).collect();
        let index = |of: &[i64]| Array::from_indices(Type::I32, of).expect("they fit");
        (vec![rows, columns], vec![index(&pos), index(&crd), values, x, w.into()])
    }
}

/// Extents, and the operands of a kernel.
type Data = (Vec<i64>, Vec<Array<'static>>);

/// Each rewrite; and two for few data: tiles so small that rows of few elements make several, and copies of few keys.
fn rewrites() -> impl Iterator<Item = Rewrite> {
    let small: Rewrite = ("small tiles", |kernel: &mut Kernel| loops::tiles_of(kernel, &Tiles::LEAST));
    let few: Rewrite = ("few ranks", |kernel: &mut Kernel| loops::ranks_of(kernel, [1, 1]));
    REWRITES.into_iter().chain([small, few])
}

/// The matrix A in compressed rows, and the vectors x and w, of a loop that was written by hand.
struct Made {
    pos: &'static [i64],
    crd: &'static [i64],
    values: &'static [f64],
    x: &'static [f64],
    w: &'static [i64],
}

impl Made {
    fn data(&self) -> Data {
        let index = |of: &[i64]| Array::from_indices(Type::I32, of).expect("they fit");
        let (values, x, w) = (self.values.to_vec(), self.x.to_vec(), self.w.to_vec());
        let extents = vec![self.pos.len() as i64 - 1, self.x.len() as i64];
        (extents, vec![index(self.pos), index(self.crd), values.into(), x.into(), w.into()])
    }
}

/// A kernel with this body, the other gaps of its frame filled with their first choice.
fn framed(body: &str) -> Kernel {
    let mut text = FRAME.replace("{body}", body);
    for (name, choices) in GAPS {
        text = text.replace(&format!("{{{name}}}"), choices[0]);
    }
    let kernel = loops::read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(loops::check(&kernel), Ok(()), "{kernel}");
    kernel
}

/// Compares a kernel on data before and after each rewrite, and after all, one behind the other.
fn stays(kernel: &Kernel, made: &Made) {
    let data = [made.data()];
    let wanted = results(kernel, &data[0]).unwrap_or_else(|fault| panic!("{fault}\n{kernel}"));
    let mut all = kernel.clone();
    for (name, rewrite) in rewrites() {
        let mut alone = kernel.clone();
        rewrite(&mut alone);
        rewrite(&mut all);
        [&alone, &all].into_iter().for_each(|now| compare(name, now, kernel, &data, std::slice::from_ref(&wanted)));
    }
}

/// What a kernel computes on data: its results, in order.
fn results(kernel: &Kernel, data: &Data) -> Result<Vec<Array<'static>>, String> {
    outcome(kernel, data).map(|Outcome { buffers, .. }| buffers.into_iter().flatten().collect())
}

fn outcome(kernel: &Kernel, (params, operands): &Data) -> Result<Outcome, String> {
    let others = kernel.buffers.len() - operands.len();
    let operands: Vec<Option<&Array>> = operands.iter().map(Some).chain(std::iter::repeat_n(None, others)).collect();
    let limits = Limits { memory: 1 << 20, steps: 1_000_000 };
    run(kernel, params, &operands, &limits).map_err(|fault| fault.to_string())
}

/// Compares a kernel with what it was before rewrites.
fn compare(name: &str, kernel: &Kernel, before: &Kernel, data: &[Data], wanted: &[Vec<Array<'static>>]) {
    assert_eq!(loops::check(kernel), Ok(()), "{name}\n{before}\n{kernel}");
    for (data, wanted) in data.iter().zip(wanted) {
        assert_eq!(results(kernel, data).as_ref(), Ok(wanted), "{name} on {data:?}\n{before}\n{kernel}");
    }
}

#[test]
fn rewrites_leave_results_as_they_were() {
    let mut changed: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut refused, mut ran) = (0u64, 0);
    let seeds = Effort::said().of(6000, 3000);
    for seed in 0..seeds {
        let bytes = bytes(seed, 4000);
        let mut maker = Maker { u: &mut Unstructured::new(&bytes) };
        let text = maker.text();
        let Ok(kernel) = loops::read(&text) else {
            refused += 1;
            continue;
        };
        if loops::check(&kernel).is_err() {
            refused += 1;
            continue;
        }
        let data: Vec<_> = (0..6).map(|_| maker.data()).collect();
        let (data, wanted): (Vec<_>, Vec<_>) =
            data.into_iter().filter_map(|data| results(&kernel, &data).ok().map(|wanted| (data, wanted))).unzip();
        ran += data.len();
        let before = kernel.to_string();
        let (mut all, mut so_far) = (kernel.clone(), before.clone());
        for (name, rewrite) in rewrites() {
            let mut alone = kernel.clone();
            rewrite(&mut alone);
            if alone.to_string() != before {
                *changed.entry(name).or_default() += 1;
                compare(name, &alone, &kernel, &data, &wanted);
            }
            rewrite(&mut all);
            let now = all.to_string();
            if now != so_far {
                so_far = now;
                compare(name, &all, &kernel, &data, &wanted);
            }
        }
    }
    println!("{ran} ran; {refused} refused; {changed:?}");
    assert!(ran as u64 > 3 * seeds && refused < 5 * seeds / 6, "{ran} ran, {refused} refused");
    let least = seeds as usize / 60;
    assert!(
        Effort::said().is_sample() || rewrites().all(|(name, _)| changed.get(name).is_some_and(|n| *n > least)),
        "{changed:?}"
    );
}

/// Rows of nine, one and ten entries.
const ROWS: Made = Made {
    pos: &[0, 9, 10, 20],
    crd: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    values: &[1.0, 2.0, 4.0, 8.0, 3.0, 5.0, 7.0, 9.0, 6.0, 2.0, 1.0, 3.0, 5.0, 7.0, 9.0, 2.0, 4.0, 6.0, 8.0, 1.0],
    x: &[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0],
    w: &[3, -1, 4, 1, -5, 9, 2, 6, 5, 3],
};

/// Coordinates do not ascend as positions do: the fibers 0..2, 2..1 and 1..3 are not 0..3.
#[test]
fn fibers_between_coordinates_stay_apart() {
    let body = "  t = 0.0
  for i in 0..n_I {
    for p in A1_crd[i]..A1_crd[i + 1] {
      t = t + A_vals[p]
    }
  }
  y_vals[0] = t";
    let made = Made { pos: &[0, 4, 4, 4], crd: &[0, 2, 1, 3], values: &[1.0, 2.0, 4.0, 8.0], ..ROWS };
    stays(&framed(body), &made);
}

/// A turn reads the count that the turn before noted.
#[test]
fn entries_that_read_a_note_are_appended_in_order() {
    let body = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      L_vals[c] = A_vals[p]
      L0_crd[c] = i32(N_vals[0])
      L1_crd[c] = A1_crd[p]
      c = c + 1
      N_vals[0] = c
    }
  }";
    stays(&framed(body), &ROWS);
}

/// A counter goes back to 0 for a row of one entry, and then on over entries of the row before.
#[test]
fn entries_behind_a_counter_that_goes_back_are_kept() {
    let body = "  for i in 0..n_I - 1 {
    c = 0
    for p in A1_pos[i]..A1_pos[i + 1] {
      L_vals[c] = A_vals[p]
      L0_crd[c] = i32(i)
      L1_crd[c] = A1_crd[p]
      c = c + 1
    }
  }
  for q in 0..5 {
    c = c + 1
  }";
    stays(&framed(body), &ROWS);
}

/// 10¹⁶ + 1 + 1 is 10¹⁶ from left to right, and 10¹⁶ + 2 where the second row is summed for itself.
#[test]
fn sums_that_round_are_summed_in_order() {
    let body = "  t = 0.0
  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      t = t + A_vals[p]
    }
  }
  y_vals[0] = t";
    let kernel = Kernel { reassociate: false, ..framed(body) };
    stays(&kernel, &Made { pos: &[0, 1, 3], crd: &[0, 0, 1], values: &[1e16, 1.0, 1.0], ..ROWS });
}

/// gcd(−6, 0) is 6: over rows of no entry, a fold of its own would change −6.
#[test]
fn divisors_keep_their_sign_over_empty_rows() {
    let body = "  m = -6
  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      m = gcd(m, w_vals[A1_crd[p]])
    }
  }
  N_vals[0] = m";
    stays(&framed(body), &Made { pos: &[0, 0, 0], crd: &[], values: &[], ..ROWS });
}

/// Conversion to 32 bits saturates: what is wider is not copied as it is.
#[test]
fn what_is_narrowed_on_the_way_is_converted() {
    let body = "  for p in 0..n_J {
    M_vals[d] = i64(i32(w_vals[p]))
    d = d + 1
  }";
    stays(&framed(body), &Made { w: &[1, 1 << 40, -(1 << 40), 2, 3, 4, 5, 6, 7, 8], ..ROWS });
}

/// `u < false` is false, but `false < v` is true where v is: no value of u ends the loop.
#[test]
fn comparisons_of_truth_values_go_on() {
    let body = "  u = false
  for p in A1_pos[0]..A1_pos[1] {
    u = u < (x_vals[A1_crd[p]] > 1.5)
  }
  N_vals[0] = i64(u)";
    stays(&framed(body), &ROWS);
}

/// A cursor goes on from where the first loop leaves it, and what is folded is set anew in between: the first loop may not end early,
/// though it folds alone.
#[test]
fn a_cursor_comes_to_the_end_before_a_fold_begins_anew() {
    let body = "  u = false
  p = 0
  while p < i64(A1_pos[1]) {
    u = u || x_vals[A1_crd[p]] > 4.0
    p = p + 1
  }
  u = false
  while p < i64(A1_pos[2]) {
    u = u || x_vals[A1_crd[p]] > 4.0
    p = p + 1
  }
  N_vals[0] = i64(u)";
    stays(&framed(body), &ROWS);
}

/// What is named for a row is read from the row that is folded into.
#[test]
fn rows_that_read_what_they_fold_into_are_folded_one_by_one() {
    let body = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      let j = A1_crd[p]
      let a = y_vals[i * n_J + j] + A_vals[p]
      for k in 0..n_J {
        y_vals[i * n_J + k] = y_vals[i * n_J + k] + a
      }
    }
  }";
    stays(&framed(body), &ROWS);
}

/// A load under a condition is a branch in each lane, so rows with one are appended entry by entry: as many stores as entries.
#[test]
fn guarded_values_are_appended_one_by_one() {
    let body = "  for i in 0..n_I {
    for p in A1_pos[i]..A1_pos[i + 1] {
      L_vals[c] = select(i < 1, x_vals[i], 0.0)
      L0_crd[c] = i32(i)
      L1_crd[c] = A1_crd[p]
      c = c + 1
    }
  }";
    let (before, data) = (framed(body), ROWS.data());
    let stores = |kernel: &Kernel| outcome(kernel, &data).unwrap().ops.stores;
    for (name, rewrite) in REWRITES {
        let mut kernel = before.clone();
        rewrite(&mut kernel);
        assert_eq!(stores(&kernel), stores(&before), "{name}\n{kernel}");
    }
}
