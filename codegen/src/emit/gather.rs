//! Sums of gathered values: vectorized if the machine gathers fast and fibers are long.
//!
//! ```text
//!   for p in A1_pos[i]..A1_pos[i + 1]                 if 6 * fibers <= entries:  eight lanes at a time, the last of them masked
//!     t = t + A_vals[p] * x_vals[A1_crd[p]]    ──▶    otherwise:                 one by one, several sums at a time
//! ```
//!
//! With the last lanes masked there is no loop for remaining iterations, whose end would be one more unpredictable branch; but beginning
//! and ending a vectorized sum takes as long as some entries. The fibers' average length, which is loop-invariant, decides. A short nest
//! of loops is emitted twice, so that neither form occupies the other's registers. Gathering is slow on machines with the mitigation of
//! Gather Data Sampling, and on those that gather in microcode.

use super::Emitter;
use super::statement::Range;
use crate::Error;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_loops::{BufferId, Expr, How, Iteration, Role, Stmt, Var, gathers, runs_statements};
use inkwell::IntPredicate;
use inkwell::values::{IntValue, MetadataValue};

/// The least average length of fibers whose sums are vectorized.
const LONG: i64 = 6;

/// The bytes of all lanes of a vector.
const BYTES: usize = 64;

/// The most statements of a loop that is emitted twice.
const SHORT: usize = 16;

/// The fibers that a loop walks: their array of positions, and an array of their entries.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Fibers {
    pos: BufferId,
    entries: BufferId,
}

/// Whether a loop's iterations should be lanes that gather.
pub(super) enum Lanes<'c> {
    Yes,
    No,
    /// Yes if this condition holds when the kernel runs.
    Asked(IntValue<'c>),
}

impl<'c> Emitter<'c, '_> {
    /// Whether a loop's iterations should be lanes that gather; no, if they may not be.
    pub(super) fn gathers_lanes(
        &self,
        var: Var,
        (said, range): ([&Expr; 2], Range<'c>),
        how: &How,
        body: &[Stmt],
    ) -> Result<Lanes<'c>, Error> {
        if runs_statements(body) {
            return Ok(Lanes::No);
        }
        if self.has_lanes(body) && self.are_apart(var, said, how, body) {
            return self.is_long(range).map(Lanes::Asked);
        }
        let Some(fibers) = self.gathered(var, said, body) else { return Ok(Lanes::No) };
        match self.decided {
            Some((known, long)) if known == fibers => Ok(if long { Lanes::Yes } else { Lanes::No }),
            _ => self.are_long(fibers).map(Lanes::Asked),
        }
    }

    /// The operand's fibers whose lengths decide about an outermost loop, if the loop should be emitted twice.
    pub(super) fn depends_on_lengths(&self, body: &[Stmt]) -> Option<Fibers> {
        if self.loops > 0 || self.decided.is_some() || size(body) > SHORT || runs_statements(body) {
            return None;
        }
        let mut found = None;
        each_loop(body, &mut |var, range, body| found = found.or_else(|| self.gathered(var, range, body)));
        let given = |b: BufferId| self.kernel.buffers[b.0 as usize].role == Role::Operand;
        found.filter(|fibers| given(fibers.pos) && given(fibers.entries))
    }

    /// The fibers that a loop walks, if its iterations may be lanes.
    fn gathered(&self, var: Var, range: [&Expr; 2], body: &[Stmt]) -> Option<Fibers> {
        let iteration = Iteration::of(var, body);
        let (pos, entries) = (pos_of(range[0])?, *iteration.streams().first()?);
        (iteration.only_sets() && self.has_lanes(body)).then_some(Fibers { pos, entries })
    }

    /// The condition that fibers are long on average.
    pub(super) fn are_long(&self, Fibers { pos, entries }: Fibers) -> Result<IntValue<'c>, Error> {
        let (fibers, entries) = (self.capacity(pos)?.into_int_value(), self.capacity(entries)?.into_int_value());
        let each = self.builder.build_int_unsigned_div(entries, self.i64(LONG), "")?;
        Ok(self.builder.build_int_compare(IntPredicate::ULE, fibers, each, "long")?)
    }

    /// LLVM's hints for a loop of lanes that gather.
    pub(super) fn gather_hints(&self, body: &[Stmt]) -> Vec<MetadataValue<'c>> {
        self.widen();
        let widest = body.iter().flat_map(Stmt::exprs).filter_map(|e| self.widest(e)).max().unwrap_or(BYTES);
        let yes = self.context.bool_type().const_int(1, false);
        let number = |n: usize| self.context.i32_type().const_int(n as u64, false);
        [
            ("vectorize.enable", yes),
            ("vectorize.predicate.enable", yes),
            ("vectorize.width", number(BYTES / widest)),
            ("interleave.count", number(1)),
            ("unroll.disable", yes),
        ]
        .map(|(name, value)| self.hint(&format!("llvm.loop.{name}"), value))
        .into()
    }

    /// Whether a loop gathers, and the machine can gather lanes of every element that it reads.
    fn has_lanes(&self, body: &[Stmt]) -> bool {
        let mut fit = self.gathers_fast;
        body.iter().flat_map(Stmt::exprs).for_each(|e| {
            e.each(&mut |e| match e {
                Expr::Load(b, _) => fit &= [4, 8].contains(&self.kernel.buffers[b.0 as usize].ty.bytes()),
                Expr::Among(..) => fit = false,
                _ => {}
            });
        });
        fit && gathers(body)
    }
}

/// Calls `f` with every counted loop of a block.
fn each_loop<'s>(block: &'s [Stmt], f: &mut impl FnMut(Var, [&'s Expr; 2], &'s [Stmt])) {
    for stmt in block {
        if let Stmt::For { var, lo, hi, body, .. } = stmt {
            f(*var, [lo, hi], body);
        }
        stmt.blocks().for_each(|block| each_loop(block, f));
    }
}

/// The number of statements of a block.
fn size(block: &[Stmt]) -> usize {
    block.iter().map(|stmt| 1 + stmt.blocks().map(size).sum::<usize>()).sum()
}

/// The array of positions from which a loop's lower bound is loaded.
fn pos_of(lo: &Expr) -> Option<BufferId> {
    match lo {
        Expr::Load(pos, _) => Some(*pos),
        Expr::Op(Op::Convert(Type::I64), args) => pos_of(&args[0]),
        _ => None,
    }
}
