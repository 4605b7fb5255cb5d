//! Wide rows that are read here and there are asked for ahead of time.
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

use super::Emitter;
use crate::Error;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::loops::{BufferId, Expr, Role, Stmt, Var, bare};
use inkwell::values::IntValue;

/// Bytes from which on a row is wide.
const WIDE: i64 = 512;

/// How many turns ahead a row is asked for.
const AHEAD: i64 = 8;

/// How many of its lines, and their bytes.
const LINES: i64 = 4;
const LINE: i64 = 64;

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
        let last = self.builder.build_int_nsw_sub(self.capacity(crd)?.into_int_value(), self.i64(1), "")?;
        let later = self.builder.build_int_nsw_add(turn, self.i64(AHEAD), "")?;
        let later = self.call_intrinsic("llvm.smin", self.context.i64_type().into(), &[later.into(), last.into()])?;
        let row = self.load(crd, later.into_int_value())?;
        let row = self.convert(row, Type::I64)?.into_int_value();
        let begin = self.builder.build_int_nsw_mul(row, self.i64(length), "")?;
        let of_line = LINE / self.kernel.buffers[values.0 as usize].ty.bytes() as i64;
        let pointer = self.context.ptr_type(Default::default()).into();
        let flag = |n| self.context.i32_type().const_int(n, false).into();
        for line in 0..LINES {
            let at = self.builder.build_int_nsw_add(begin, self.i64(line * of_line), "")?;
            let address = self.address_of(values, at)?;
            // To read, to be kept near, of data.
            self.call_site("llvm.prefetch", &[pointer], &[address.into(), flag(0), flag(3), flag(1)])?;
        }
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
