//! Folds into a dense array at one fiber's coordinates, which lanes can gather and scatter.
//!
//! ```text
//!   for p in A1_pos[j]..A1_pos[j + 1]
//!     let i = A1_crd[p]                               a fiber of a compressed level has each coordinate once:
//!     y_vals[i] = y_vals[i] + A_vals[p] * x           no turn reads what another writes
//! ```
//!
//! Nothing waits for the end of a fiber as the end of a sum does: each fiber is lanes that is long enough by itself.
//!
//! LLVM cannot know it, and is told: all that the loop reads and writes is of this loop, whose turns' accesses are independent.

use super::Emitter;
use super::statement::Range;
use crate::Error;
use fiberloom_core::loops::{BufferId, Expr, How, LevelBuffers, Role, Stmt, Var, bare, one_fiber};
use inkwell::IntPredicate;
use inkwell::values::IntValue;

/// The length from which on a fiber's entries are lanes.
const LONG: i64 = 7;

impl<'c> Emitter<'c, '_> {
    /// Whether a fiber is long enough to be lanes.
    pub(super) fn is_long(&self, (lo, hi): Range<'c>) -> Result<IntValue<'c>, Error> {
        let length = self.builder.build_int_nsw_sub(hi, lo, "")?;
        Ok(self.builder.build_int_compare(IntPredicate::SGE, length, self.i64(LONG), "long")?)
    }

    /// Whether no turn of a loop reads or writes what another writes: it says so, or is seen to.
    pub(super) fn are_apart(&self, var: Var, range: [&Expr; 2], how: How, body: &[Stmt]) -> bool {
        how == How::Vector && body.iter().all(|stmt| matches!(stmt, Stmt::Let(..) | Stmt::Store(..)))
            || self.scatters(var, range, body)
    }

    /// Whether a loop only folds values into dense arrays at the coordinates of one fiber.
    fn scatters(&self, var: Var, [lo, hi]: [&Expr; 2], body: &[Stmt]) -> bool {
        let Some(crd) = one_fiber(lo, hi).and_then(|(pos, _)| self.coordinates(pos)) else { return false };
        let coordinate = |stmt: &Stmt| match stmt {
            Stmt::Let(i, e) => {
                matches!(bare(e), Expr::Load(b, at) if *b == crd && **at == Expr::Var(var)).then_some(*i)
            }
            _ => None,
        };
        let Some(at) = body.iter().find_map(coordinate) else { return false };
        let mut written = vec![];
        let there = |stmt: &Stmt| match stmt {
            Stmt::Let(..) => true,
            Stmt::Store(b, place, _) => {
                written.push(*b);
                *place == Expr::Var(at)
            }
            _ => false,
        };
        body.iter().all(there) && !written.is_empty() && body.iter().all(|stmt| reads_there(stmt, &written, at))
    }

    /// The coordinates of an operand's compressed level, whose fibers begin at these positions.
    fn coordinates(&self, positions: BufferId) -> Option<BufferId> {
        let level = |level: &LevelBuffers| match level {
            LevelBuffers::Compressed { pos, crd } if *pos == positions => Some(*crd),
            _ => None,
        };
        let crd = self.kernel.arguments.iter().flat_map(|a| &a.levels).find_map(level)?;
        (self.kernel.buffers[crd.0 as usize].role == Role::Operand).then_some(crd)
    }
}

/// Whether a statement reads these buffers at the one place only.
fn reads_there(stmt: &Stmt, written: &[BufferId], place: Var) -> bool {
    let mut there = true;
    stmt.exprs().for_each(|e| {
        e.each(&mut |e| match e {
            Expr::Load(b, at) if written.contains(b) => there &= **at == Expr::Var(place),
            Expr::Among(_, b, _) => there &= !written.contains(b),
            _ => {}
        });
    });
    there
}
