//! Folds products of rows and columns in tiles that stay in registers.
//!
//! ```text
//!   for i in 0..n_I                                     for block                         rows of one block
//!     for k in 0..n_K                                     rows_vals[…] = C_vals[…]
//!       let a = A_vals[i * n_K + k]                       for step                        256 iterations of k
//!       for j in 0..n_J                                     for column                    16 iterations of j
//!         C_vals[i * n_J + j] =                   ──▶         panel[…] = B_vals[…]        the step's part of the column
//!           C_vals[i * n_J + j] + a * B_vals[k * n_J + j]     for group                   4 iterations of i
//!                                                               tile = rows_vals[…]
//!                                                               for k
//!                                                                 let a_0 = …, a_1, a_2, a_3
//!                                                                 vector for c in 0..16
//!                                                                   let b = panel[…]
//!                                                                   tile[c] = tile[c] + a_0 * b; …
//!                                                               rows_vals[…] = tile
//!                                                         C_vals[…] = rows_vals[…]
//! ```
//!
//! A fold over `k` of values that depend on `i` and `k` with values that depend on `k` and `j` loads its operands once for each pair of
//! `i` and `j`. In tiles it loads them once for 4 × 16 pairs, and the columns of a step stay in the first-level cache (the blocking of
//! Goto and van de Geijn, *Anatomy of high-performance matrix multiplication*, 2008, without packed rows). Each element is folded in the
//! order of `k`, as before, so the function needs no property.
//!
//! The fold may be into rows in place, into a row that each iteration of `i` initializes and reads behind the fold, or into a variable
//! for each pair ([`nest`]). The statements behind the fold stay as they are, and read its results from the block's rows. If there are
//! few rows, columns or iterations, or rows are so long that a block of them would be large, the loops stay as they are; the kernel tests
//! this when it runs.

mod emit;
mod nest;

use super::parallel::Facts;
use crate::names::Names;
use crate::{Buffer, BufferId, Entry, Expr, How, Kernel, Role, Stmt, Var, check, map_blocks};
use fiberloom_core::algebra::Type;
use nest::{Nest, Seen};
use std::collections::BTreeSet;

/// The sizes of tiles.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// The rows of a tile: a power of two.
    pub rows: i64,
    /// The bytes of a row of a tile; the number of elements is a power of two.
    pub bytes: i64,
    /// The iterations of `k` whose columns are stored side by side.
    pub depth: i64,
    /// The least and the most rows of a block: multiples of the rows of a tile.
    pub block: [i64; 2],
    /// The elements of a block, if the least number of rows does not have more.
    pub held: i64,
    /// The columns that are processed at a time if rows are folded into in place: a whole number of tiles.
    pub part: i64,
    /// The fewest rows, columns and iterations.
    pub fewest: [i64; 3],
}

impl Tiles {
    /// The smallest sizes, which exercise all code on little data.
    pub const LEAST: Tiles = Tiles { rows: 2, bytes: 16, depth: 3, block: [2, 4], held: 8, part: 4, fewest: [1, 1, 1] };
}

/// 4 × 16 numbers of eight bytes fill half of the registers of a machine with vectors of 32 bytes or more; 256 iterations of a column
/// fill half of its first-level cache, and a block of rows its second-level cache.
const USUAL: Tiles =
    Tiles { rows: 4, bytes: 128, depth: 256, block: [16, 128], held: 1 << 17, part: 1 << 10, fewest: [8, 16, 8] };

/// The longest rows of which a block is stored as a whole.
const LONGEST: i64 = 1 << 18;

/// Folds products in tiles.
pub fn tiles(kernel: &mut Kernel) {
    tiles_of(kernel, &USUAL);
}

/// As `tiles`, with other sizes.
pub fn tiles_of(kernel: &mut Kernel, tiles: &Tiles) {
    let body = std::mem::take(&mut kernel.body);
    let seen = Seen::of(&body, &kernel.params);
    let by_form = check::shown_by_form(kernel).collect();
    let facts = Facts::of(kernel, &body);
    let mut all = All { seen, facts, tiles, by_form, kernel, made: vec![] };
    let mut out = Vec::with_capacity(body.len());
    for stmt in body {
        let stmts = all.block(vec![stmt], true);
        // The workspaces of tiles are allocated in front of the outermost loops.
        out.append(&mut all.made);
        out.extend(stmts);
    }
    kernel.body = out;
}

/// Rewrites all nests of a kernel.
struct All<'k> {
    seen: Seen,
    /// Which outermost loops have independent iterations.
    facts: Facts,
    tiles: &'k Tiles,
    /// Values that the form of the loops shows to be stored.
    by_form: BTreeSet<BufferId>,
    kernel: &'k mut Kernel,
    /// The allocations that tiles need.
    made: Vec<Stmt>,
}

impl All<'_> {
    /// A block with its nests in tiles. `once`: the block is in no loop.
    fn block(&mut self, stmts: Vec<Stmt>, once: bool) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            let kept = stores(&stmt, &self.by_form);
            let nest = if kept { None } else { Nest::of(&stmt, &self.seen, self.kernel, once) };
            // What tiles fold is not appended, and has places.
            let own = |kernel: &Kernel| {
                let apart = once.then(|| self.facts.independent(kernel, &stmt).ok()).flatten();
                match apart.filter(|how| how.joined().is_empty() && !how.folds()) {
                    Some(How::Parallel { own, .. }) => Some(own),
                    _ => None,
                }
            };
            let tiled = nest.and_then(|nest| {
                let own = own(self.kernel);
                emit::tiled(&nest, (&stmt, own), (self.kernel, self.tiles), &mut self.made)
            });
            match tiled {
                Some((tiled, Some(drained))) => {
                    let known = self.made.len();
                    let stmts = self.behind(tiled, drained);
                    let more: Vec<BufferId> = self.made[known..].iter().filter_map(allocated).collect();
                    out.extend(with_copies(stmts, &more));
                }
                Some((tiled, None)) => out.extend(tiled),
                None => {
                    let inside = once && matches!(stmt, Stmt::If(..));
                    out.extend(map_blocks(vec![stmt], &mut |inner| self.block(inner, inside)));
                }
            }
        }
        out
    }

    /// Statements with the remaining nests in a loop in tiles: an iteration may contain two folds, one behind the other.
    fn behind(&mut self, stmts: Vec<Stmt>, turns: Var) -> Vec<Stmt> {
        let each = |stmt: Stmt| match stmt {
            Stmt::For { var, .. } if var == turns => self.block(vec![stmt], false),
            stmt => map_blocks(vec![stmt], &mut |inner| self.behind(inner, turns)),
        };
        stmts.into_iter().flat_map(each).collect()
    }
}

/// The buffer that a statement allocates.
fn allocated(stmt: &Stmt) -> Option<BufferId> {
    if let Stmt::Call(Entry::Alloc { buffer, .. }) = stmt { Some(*buffer) } else { None }
}

/// Statements whose parallel loops have copies of these workspaces, too.
fn with_copies(stmts: Vec<Stmt>, more: &[BufferId]) -> Vec<Stmt> {
    let each = |stmt| match stmt {
        Stmt::For { var, lo, hi, how: How::Parallel { mut own, joined, folded, arrays }, body } => {
            own.extend(more);
            Stmt::For { var, lo, hi, how: How::Parallel { own, joined, folded, arrays }, body }
        }
        stmt => map_blocks(vec![stmt], &mut |inner| with_copies(inner, more)).remove(0),
    };
    stmts.into_iter().map(each).collect()
}

/// Whether a statement stores into one of these buffers.
fn stores(stmt: &Stmt, buffers: &BTreeSet<BufferId>) -> bool {
    let here = matches!(stmt, Stmt::Store(b, ..) if buffers.contains(b));
    here || stmt.blocks().flatten().any(|inner| stores(inner, buffers))
}

/// A new workspace.
pub(super) fn workspace(kernel: &mut Kernel, name: &str, ty: Type) -> BufferId {
    let mut names = Names::default();
    kernel.buffers.iter().map(|b| &b.name).chain(kernel.vars.iter().map(|(name, _)| name)).for_each(|name| {
        names.fresh(name);
    });
    kernel.buffers.push(Buffer { name: names.fresh(name), ty, role: Role::Workspace, private: false });
    BufferId(kernel.buffers.len() as u32 - 1)
}

/// An element.
fn load(b: BufferId, at: Expr) -> Expr {
    Expr::Load(b, Box::new(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, read};

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
        let mut kernel = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(check(&kernel), Ok(()), "{text}");
        tiles_of(&mut kernel, &Tiles { fewest: [8, 16, 8], ..Tiles::LEAST });
        assert_eq!(check(&kernel), Ok(()), "{kernel}");
        kernel.to_string()
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
            .replace(
                "for k in 0..n_K {",
                "for p in S1_pos[0]..S1_pos[1] {\n      let s = S1_crd[p]\n    for k in 0..n_K {",
            )
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
}
