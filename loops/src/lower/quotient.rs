//! Splits a vector into a matrix entry by entry: each entry's row and column are computed from its coordinate.
//!
//! ```text
//!   C[i,j] = split(v[k], k -> (i,j))              for p in 0..v0_pos[1]
//!                                                   let k = v0_crd[p]
//!                                                   let q = ((k >> far) * inverse) >> near        k div J, or one less
//!                                                   let r = k - q * J
//!                                                   let i = q + (J <= r)
//!                                                   C1_crd[p] = r - select(J <= r, J, 0)
//!   a list of coordinates                           C0_crd[p] = i
//!   compressed rows                                 C1_pos[i + 1] = p + 1                         until the last of the row
//! ```
//!
//! A walk row by row costs an unpredictable branch a row. Division is slow, and has no vector instruction. With `2^log <= J < 2^(log +
//! 1)`:
//!
//! ```text
//!   far      the shift that leaves the greatest k 31 bits                 k / 2^far is at most 1 too small
//!   inverse  2^(31 + log) div J, of 32 bits at most                        the product has 63
//!   near     31 + log - far
//! ```
//!
//! *One less at most*: rounding `k >> far` down takes less than `2^far / J` from the quotient, rounding the inverse
//! less than `2^(far - log)`, the last shift less than 1. Up to 2^27 rows, `far <= log - 2`, or it is 0 and takes
//! nothing: less than 2 in all. So `r < 2 J <= 2^32`, and its last 32 bits are those of `k` less those of `q * J`.

use super::output::Output;
use super::{Context, Expr, binary, int, minus, plus, store_index, times};
use crate::choose::result::ROWS;
use crate::plan::{self, Block};
use crate::{BufferId, Stmt, Symbolic, lower};
use fiberloom_core::algebra::{Op, Type, Value};

/// A vector's list of coordinates that is split into rows and columns.
struct Split {
    /// The list's array of positions.
    pos: BufferId,
    coordinates: BufferId,
    rows: Expr,
    columns: Expr,
}

/// Emits the result entry by entry; where rows are not few enough, by loops.
pub(super) fn split(
    cx: &Context,
    d: &mut Symbolic,
    plan::Split { of, rows, columns }: &plan::Split,
    output: &Output,
    otherwise: Option<&Block>,
) {
    let operand = lower::arrays_of(cx, cx.program.accesses[of.0].tensor);
    let [pos, coordinates] = ["pos", "crd"].map(|name| *operand.levels[0].named(name));
    let split = Split { pos, coordinates, rows: cx.expr(d, *rows), columns: cx.expr(d, *columns) };
    let Some(otherwise) = otherwise else { return split.each(d, output) };
    let few = binary(Op::Le, split.rows.clone(), int(ROWS));
    d.when(few, |d| split.each(d, output), |d| cx.block(d, otherwise));
}

impl Split {
    fn each(&self, d: &mut Symbolic, output: &Output) {
        let division = self.division(d);
        let (one, places) = (int(1), output.form.crd(1).expect("a list"));
        let end = d.index(self.pos, one.clone());
        d.each("p", int(0), end.clone(), |d, p| {
            let k = d.index(self.coordinates, p.clone());
            let (row, rest) = division.of(d, k);
            match (output.form.crd(0), output.form.pos(1)) {
                (Some(rows), _) => store_index(d, rows, p.clone(), row),
                (_, pos) => {
                    let pos = pos.expect("compressed rows have positions");
                    store_index(d, pos, plus(row, one.clone()), plus(p.clone(), one.clone()));
                }
            }
            store_index(d, places, p, rest);
        });
        self.finish(d, output, end);
    }

    fn division(&self, d: &mut Symbolic) -> Division {
        let one = int(1);
        let columns = d.define("columns", Type::I64, binary(Op::Max, self.columns.clone(), one.clone()));
        let log = length(d, "log", &columns);
        let log = minus(log, one.clone());
        let all = length(d, "bits", &times(self.rows.clone(), columns.clone()));
        let far = d.define("far", Type::I64, binary(Op::Max, minus(all, int(31)), int(0)));
        let high = d.define("high", Type::I64, plus(log, int(31)));
        let power = binary(Op::Shl, one, high.clone());
        let inverse = d.define("inverse", Type::I64, binary(Op::FloorDiv, power, columns.clone()));
        let near = d.define("near", Type::I64, minus(high, far.clone()));
        Division { columns, far, inverse, near }
    }

    /// Records that the result has the vector's `count` entries, and stores the last positions.
    fn finish(&self, d: &mut Symbolic, output: &Output, count: Expr) {
        d.assign(output.counts[1].expect("lists count"), count);
        if output.form.is_list(0) {
            output.close(d, &output.root());
        }
    }
}

/// Division by the number of columns, as multiplication by an inverse.
struct Division {
    columns: Expr,
    far: Expr,
    inverse: Expr,
    near: Expr,
}

impl Division {
    /// Quotient and remainder of a coordinate.
    fn of(&self, d: &mut Symbolic, k: Expr) -> (Expr, Expr) {
        let Division { columns, far, inverse, near } = self;
        let k = d.define("k", Type::I64, k);
        let product = times(low_bits(binary(Op::Shr, k.clone(), far.clone())), low_bits(inverse.clone()));
        let quotient = d.define("quotient", Type::I64, binary(Op::Shr, product, near.clone()));
        let rest = minus(word(k), times(word(quotient.clone()), word(columns.clone())));
        let rest = d.define("rest", Type::U32, rest);
        let more = d.define("more", Type::Bool, binary(Op::Le, word(columns.clone()), rest.clone()));
        let select = |yes: Expr, no: Expr| Expr::Op(Op::Select, vec![more.clone(), yes, no]);
        let less = select(word(columns.clone()), Expr::Const(Value::zero(Type::U32)));
        (select(plus(quotient.clone(), int(1)), quotient), minus(rest, less))
    }
}

/// The low 32 bits of a number. Applied to factors of 32 bits, it tells LLVM so: vector instructions multiply such factors in a third of
/// the time.
fn low_bits(e: Expr) -> Expr {
    binary(Op::And, e, int(u32::MAX.into()))
}

/// The low 32 bits of a number, as a 32-bit integer.
fn word(e: Expr) -> Expr {
    Expr::Op(Op::Convert(Type::U32), vec![low_bits(e)])
}

/// The number of bits of a positive number.
fn length(d: &mut Symbolic, name: &str, number: &Expr) -> Expr {
    let bits = d.fresh(name, Type::I64);
    d.assign(bits, int(1));
    let more = binary(Op::Le, binary(Op::Shl, int(1), Expr::Var(bits)), number.clone());
    d.emit(Stmt::While(more, vec![Stmt::Set(bits, plus(Expr::Var(bits), int(1)))]));
    Expr::Var(bits)
}
