//! What is read here and there, or written now and then, is asked for ahead of time.
//!
//! Wide rows that are read here and there:
//!
//! ```text
//!   for p in A1_pos[i]..A1_pos[i + 1]           asks for the first lines of B's row A1_crd[min(p + 8, last)]
//!     let k = A1_crd[p]
//!     for j in 0..128
//!       C_row[j] = C_row[j] + A_vals[p] * B_vals[k * 128 + j]
//! ```
//!
//! Machines follow a row once some of its lines were read, but wait for those; where rows are short, others are on the way meanwhile.
//! Only what coordinates of operands say is asked for, which are in bounds.
//!
//! Rows of a result that are filled in behind their coordinates, each after much else was read and written:
//!
//! ```text
//!   vector for q in begin..c                    asks for C_crd and C_vals from begin + 256 to c + 256, to write there
//!     let j = C_crd[q]
//!     C_vals[q] = C_w[j]
//! ```
//!
//! Who writes a row in a while is followed by no machine: each line was waited for.

use super::Emitter;
use super::statement::Range;
use crate::Error;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::loops::{BufferId, Expr, How, Role, Stmt, Var, bare, gathers};
use inkwell::IntPredicate;
use inkwell::values::IntValue;
use std::collections::BTreeSet;

/// Bytes from which on a row is wide.
const WIDE: i64 = 512;

/// How many turns ahead a row is asked for.
const AHEAD: i64 = 8;

/// How many of its lines, and their bytes.
const LINES: i64 = 4;
const LINE: i64 = 64;

/// How many entries ahead a result is asked for, and one of how many is: no line holds fewer of eight bytes.
const ENTRIES: i64 = 256;
const EVERY: i64 = 8;

/// What an element is asked for.
#[derive(Clone, Copy)]
enum To {
    Read,
    Write,
}

/// Rows that a loop reads at an operand's coordinates.
struct Rows {
    crd: BufferId,
    values: BufferId,
    length: i64,
}

impl<'c> Emitter<'c, '_> {
    /// Asks for what a later turn of a loop reads, if those are wide rows.
    pub(super) fn ask_ahead(&self, var: Var, turn: IntValue<'c>, body: &[Stmt]) -> Result<(), Error> {
        let Some(Rows { crd, values, length }) = self.wide_rows(var, body) else { return Ok(()) };
        let row = self.load(crd, self.later(turn, AHEAD, crd)?)?;
        let row = self.convert(row, Type::I64)?.into_int_value();
        let begin = self.builder.build_int_nsw_mul(row, self.i64(length), "")?;
        let of_line = LINE / self.kernel.buffers[values.0 as usize].ty.bytes() as i64;
        for line in 0..LINES {
            let at = self.builder.build_int_nsw_add(begin, self.i64(line * of_line), "")?;
            self.ask(values, at, To::Read)?;
        }
        Ok(())
    }

    /// Asks for what is filled in after a loop that has turns, if it fills in a row of a result among other rows.
    pub(super) fn ask_for_rows(&self, var: Var, (lo, hi): Range<'c>, how: How, body: &[Stmt]) -> Result<(), Error> {
        if how != How::Vector || self.loops == 0 || !gathers(body) {
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

    /// Arrays of results of which a turn reads or writes its own element.
    fn filled_in(&self, var: Var, body: &[Stmt]) -> BTreeSet<BufferId> {
        let mut arrays = BTreeSet::new();
        let mut element = |b: BufferId, at: &Expr| {
            let is_own = *at == Expr::Var(var) && self.kernel.buffers[b.0 as usize].role == Role::Result;
            is_own.then(|| arrays.insert(b));
        };
        for stmt in body {
            if let Stmt::Store(b, at, _) = stmt {
                element(*b, at);
            }
            stmt.exprs().for_each(|e| {
                e.each(&mut |e| {
                    if let Expr::Load(b, at) = e {
                        element(*b, at);
                    }
                })
            });
        }
        arrays
    }

    /// The place so many elements on, or the last.
    fn later(&self, at: IntValue<'c>, ahead: i64, array: BufferId) -> Result<IntValue<'c>, Error> {
        let last = self.builder.build_int_nsw_sub(self.capacity(array)?.into_int_value(), self.i64(1), "")?;
        let later = self.builder.build_int_nsw_add(at, self.i64(ahead), "")?;
        let i64 = self.context.i64_type().into();
        Ok(self.call_intrinsic("llvm.smin", i64, &[later.into(), last.into()])?.into_int_value())
    }

    /// Asks for the line of an element.
    fn ask(&self, array: BufferId, at: IntValue<'c>, to: To) -> Result<(), Error> {
        let pointer = self.context.ptr_type(Default::default()).into();
        let flag = |n| self.context.i32_type().const_int(n, false).into();
        let address = self.address_of(array, at)?;
        // To be kept near, of data.
        self.call_site("llvm.prefetch", &[pointer], &[address.into(), flag(to as u64), flag(3), flag(1)])?;
        Ok(())
    }

    fn wide_rows(&self, var: Var, body: &[Stmt]) -> Option<Rows> {
        let operand = |b: BufferId| self.kernel.buffers[b.0 as usize].role == Role::Operand;
        let row = |stmt: &Stmt| match stmt {
            Stmt::Let(k, e) => match bare(e) {
                Expr::Load(crd, at) if **at == Expr::Var(var) && operand(*crd) => Some((*k, *crd)),
                _ => None,
            },
            _ => None,
        };
        let (row, crd) = body.iter().find_map(row)?;
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

/// The length of rows of which an element is read: `row * length + column`.
fn row_length(at: &Expr, row: Var, column: Var) -> Option<i64> {
    let Expr::Op(Op::Add, sides) = at else { return None };
    let [Expr::Op(Op::Mul, factors), last] = &sides[..] else { return None };
    let [first, Expr::Const(length)] = &factors[..] else { return None };
    let of_row = *first == Expr::Var(row) && *last == Expr::Var(column);
    of_row.then(|| length.as_i128())?.and_then(|n| i64::try_from(n).ok())
}
