//! A kernel that appends, for tests of what is made of its loops.

/// The text of a kernel over a matrix in compressed rows, whose entries are appended to a list of coordinates.
pub fn text(body: &str) -> String {
    format!(
        "kernel k(n_I, n_J) reassociate
  operand A1_pos: i32, A1_crd: i32, A_vals: f64, x_vals: f64, w_vals: i64
  result L0_pos: i32, L0_crd: i32, L1_crd: i32, L_vals: f64, M_vals: i64
  in A@0: f64[n_I, n_J] {{dense, compressed}} at dense, compressed(A1_pos, A1_crd), A_vals
  in x@1: f64[n_J] {{dense}} at dense, x_vals
  in w@2: i64[n_J] {{dense}} at dense, w_vals
  out L@3: f64[n_I, n_J] {{nonunique, singleton}} at nonunique(L0_pos, L0_crd), singleton(L1_crd), L_vals
  out M@4: i64[n_J] {{dense}} at dense, M_vals

  alloc L0_pos[2] = 0i32
  alloc L0_crd[capacity(A1_crd)]
  alloc L1_crd[capacity(A1_crd)]
  alloc L_vals[capacity(A1_crd)]
  alloc M_vals[capacity(A1_crd)]
  c = 0
{body}
  L0_pos[1] = i32(c)
  finish L0_pos[2]
  finish L0_crd[c]
  finish L1_crd[c]
  finish L_vals[c]
  finish M_vals[c]
"
    )
}
