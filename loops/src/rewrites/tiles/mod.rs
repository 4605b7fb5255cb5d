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
use crate::names::workspace;
use crate::{BufferId, Entry, Expr, How, Kernel, Stmt, Var, check, map_blocks};
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

/// An element.
fn load(b: BufferId, at: Expr) -> Expr {
    Expr::Load(b, Box::new(at))
}
