//! Prefetches rows that are read at random, or written at long intervals.
//!
//! Wide rows at random coordinates:
//!
//! ```text
//!   for p in A1_pos[i]..A1_pos[i + 1]           prefetch the first lines of B's row A1_crd[min(p + 8, last)]
//!     let k = A1_crd[p]
//!     for j in 0..128
//!       C_row[j] = C_row[j] + A_vals[p] * B_vals[k * 128 + j]
//! ```
//!
//! The hardware prefetches a row once some of its lines were read, so only the first lines have to be waited for. Short rows gain
//! nothing: their loads overlap. Only rows at coordinates of operands are prefetched; these are in bounds.
//!
//! Rows of a result whose values are filled in behind their coordinates, with many other accesses between:
//!
//! ```text
//!   vector for q in begin..c                    prefetch C_crd and C_vals from begin + 256 to c + 256, for writing
//!     let j = C_crd[q]
//!     C_vals[q] = C_w[j]
//! ```
//!
//! The hardware does not prefetch rows that are written at long intervals.

use super::Emitter;
use super::statement::Range;
use crate::Error;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_loops::{BufferId, Expr, How, Iteration, Role, Stmt, Var, gathers};
use inkwell::IntPredicate;
use inkwell::values::IntValue;
use std::collections::BTreeSet;

/// The least bytes of a wide row.
const WIDE: i64 = 512;

/// The distance of prefetches of rows, in iterations.
const AHEAD: i64 = 8;

/// The number of prefetched lines of a row, and the bytes of a line.
const LINES: i64 = 4;
const LINE: i64 = 64;

/// The distance of prefetches of a result, in entries, and the step between them: a line holds eight entries of eight bytes, or more of
/// smaller ones.
const ENTRIES: i64 = 256;
const EVERY: i64 = 8;

/// The kind of access that a prefetch prepares.
#[derive(Clone, Copy)]
enum To {
    Read,
    Write,
}

/// The rows that a loop reads at an operand's coordinates.
struct Rows {
    crd: BufferId,
    values: BufferId,
    length: i64,
}

impl<'c> Emitter<'c, '_> {
    /// Prefetches the rows that a later iteration of a loop reads, if they are wide.
    pub(super) fn ask_ahead(&self, var: Var, iteration: IntValue<'c>, body: &[Stmt]) -> Result<(), Error> {
        let rows = self.wide_rows(var, body).filter(|_| !self.on_device);
        let Some(Rows { crd, values, length }) = rows else { return Ok(()) };
        let row = self.load(crd, self.later(iteration, AHEAD, crd)?)?;
        let row = self.convert(row, Type::I64)?.into_int_value();
        let begin = self.builder.build_int_nsw_mul(row, self.i64(length), "")?;
        let of_line = LINE / self.kernel.buffers[values.0 as usize].ty.bytes() as i64;
        for line in 0..LINES {
            let at = self.builder.build_int_nsw_add(begin, self.i64(line * of_line), "")?;
            self.ask(values, at, To::Read)?;
        }
        Ok(())
    }

    /// Prefetches the elements that are filled in soon after a loop that fills in a row of a result inside of another loop. The loop has
    /// at least one iteration.
    pub(super) fn ask_for_rows(&self, var: Var, (lo, hi): Range<'c>, how: &How, body: &[Stmt]) -> Result<(), Error> {
        if !how.is_vector() || self.loops == 0 || self.on_device || !gathers(body) {
            return Ok(());
        }
        let rows = self.filled_in(var, body);
        if rows.is_empty() {
            return Ok(());
        }
        let (before, each, after) = (self.here(), self.new_block("ask"), self.new_block("asked"));
        self.builder.build_unconditional_branch(each)?;
        self.builder.position_at_end(each);
        let counter = self.builder.build_phi(self.context.i64_type(), "ahead")?;
        let at = counter.as_basic_value().into_int_value();
        for array in rows {
            self.ask(array, self.later(at, ENTRIES, array)?, To::Write)?;
        }
        let next = self.builder.build_int_nsw_add(at, self.i64(EVERY), "")?;
        counter.add_incoming(&[(&lo, before), (&next, each)]);
        let more = self.builder.build_int_compare(IntPredicate::SLT, next, hi, "")?;
        self.builder.build_conditional_branch(more, each, after)?;
        self.builder.position_at_end(after);
        Ok(())
    }

    /// The arrays of results of which each iteration reads or writes its own element.
    fn filled_in(&self, var: Var, body: &[Stmt]) -> BTreeSet<BufferId> {
        let iteration = Iteration::of(var, body);
        let own = iteration.stores.iter().filter(|stored| *stored.at == Expr::Var(var)).map(|stored| stored.buffer);
        let result = |b: &BufferId| self.kernel.buffers[b.0 as usize].role == Role::Result;
        own.chain(iteration.streams()).filter(result).collect()
    }

    /// The index `ahead` elements further, at most the last index.
    fn later(&self, at: IntValue<'c>, ahead: i64, array: BufferId) -> Result<IntValue<'c>, Error> {
        let last = self.builder.build_int_nsw_sub(self.capacity(array)?.into_int_value(), self.i64(1), "")?;
        let later = self.builder.build_int_nsw_add(at, self.i64(ahead), "")?;
        let i64 = self.context.i64_type().into();
        Ok(self.call_intrinsic("llvm.smin", i64, &[later.into(), last.into()])?.into_int_value())
    }

    /// Prefetches the cache line of an element.
    fn ask(&self, array: BufferId, at: IntValue<'c>, to: To) -> Result<(), Error> {
        let pointer = self.context.ptr_type(Default::default()).into();
        let flag = |n| self.context.i32_type().const_int(n, false).into();
        let address = self.address_of(array, at)?;
        // Locality 3: keep it in all caches. Cache type 1: data.
        self.call_site("llvm.prefetch", &[pointer], &[address.into(), flag(to as u64), flag(3), flag(1)])?;
        Ok(())
    }

    fn wide_rows(&self, var: Var, body: &[Stmt]) -> Option<Rows> {
        let operand = |b: BufferId| self.kernel.buffers[b.0 as usize].role == Role::Operand;
        let iteration = Iteration::of(var, body);
        let (row, crd) = iteration.coordinates().find(|(_, crd)| operand(*crd))?;
        let mut found = None;
        for stmt in body {
            let Stmt::For { var: column, body, .. } = stmt else { continue };
            body.iter().flat_map(Stmt::exprs).for_each(|e| {
                e.each(&mut |e| match e {
                    Expr::Load(b, at) if operand(*b) => {
                        let rows = |length| Rows { crd, values: *b, length };
                        found = found.take().or_else(|| row_length(at, row, *column).map(rows));
                    }
                    _ => {}
                });
            });
        }
        found.filter(|Rows { values, length, .. }| {
            *length * self.kernel.buffers[values.0 as usize].ty.bytes() as i64 >= WIDE
        })
    }
}

/// The length of a row, if an index has the form `row * length + column`.
fn row_length(at: &Expr, row: Var, column: Var) -> Option<i64> {
    let Expr::Op(Op::Add, sides) = at else { return None };
    let [Expr::Op(Op::Mul, factors), last] = &sides[..] else { return None };
    let [first, Expr::Const(length)] = &factors[..] else { return None };
    let of_row = *first == Expr::Var(row) && *last == Expr::Var(column);
    of_row.then(|| length.as_i128())?.and_then(|n| i64::try_from(n).ok())
}
