//! Folds into a dense array at one fiber's coordinates, as lanes that gather and scatter.
//!
//! ```text
//!   for p in A1_pos[j]..A1_pos[j + 1]
//!     let i = A1_crd[p]                               a fiber of a compressed level has each coordinate once:
//!     y_vals[i] = y_vals[i] + A_vals[p] * x           no iteration reads an element that another writes
//! ```
//!
//! Nothing waits for the end of a fiber, unlike for the end of a sum, so each fiber's own length decides whether its entries are lanes.
//!
//! LLVM cannot prove the independence: metadata state that the iterations' accesses are independent.

use super::Emitter;
use super::statement::Range;
use crate::Error;
use fiberloom_loops::{BufferId, Expr, Holds, How, Iteration, LevelBuffers, Role, Stmt, Var, one_fiber};
use inkwell::IntPredicate;
use inkwell::values::IntValue;

/// The least length of a fiber whose entries are lanes.
const LONG: i64 = 7;

impl<'c> Emitter<'c, '_> {
    /// The condition that a fiber is long enough to be lanes.
    pub(super) fn is_long(&self, (lo, hi): Range<'c>) -> Result<IntValue<'c>, Error> {
        let length = self.builder.build_int_nsw_sub(hi, lo, "")?;
        Ok(self.builder.build_int_compare(IntPredicate::SGE, length, self.i64(LONG), "long")?)
    }

    /// Whether no iteration of a loop accesses an element that another writes: the loop is a `vector for`, or its form shows it.
    pub(super) fn are_apart(&self, var: Var, range: [&Expr; 2], how: &How, body: &[Stmt]) -> bool {
        let iteration = Iteration::of(var, body);
        iteration.only_stores() && (how.is_vector() || self.scatters(&iteration, range, body))
    }

    /// Whether an iteration only folds values into dense arrays at the coordinates of one fiber.
    fn scatters(&self, iteration: &Iteration, [lo, hi]: [&Expr; 2], body: &[Stmt]) -> bool {
        let Some(crd) = one_fiber(lo, hi).and_then(|(pos, _)| self.coordinates(pos)) else { return false };
        let Some((at, _)) = iteration.coordinates().find(|(_, b)| *b == crd) else { return false };
        let written: Vec<BufferId> = iteration.stores.iter().map(|stored| stored.buffer).collect();
        let there = iteration.stores.iter().all(|stored| *stored.at == Expr::Var(at));
        there && !written.is_empty() && body.iter().all(|stmt| reads_there(stmt, &written, at))
    }

    /// The coordinates of the operand's list level with these positions.
    fn coordinates(&self, positions: BufferId) -> Option<BufferId> {
        let level = |level: &LevelBuffers| {
            let of = level.kind().is_plain() && level.array(Holds::Positions) == Some(positions);
            level.array(Holds::Coordinates).filter(|_| of)
        };
        let crd = self.kernel.arguments.iter().flat_map(|a| &a.levels).find_map(level)?;
        (self.kernel.buffers[crd.0 as usize].role == Role::Operand).then_some(crd)
    }
}

/// Whether a statement reads these buffers only at the index `place`.
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
