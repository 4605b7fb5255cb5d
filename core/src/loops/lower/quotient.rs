//! A vector's entries as a matrix's, one by one: each has the row and the column that its coordinate says.
//!
//! ```text
//!   C[i,j] = split(v[k], k -> (i,j))              for p in v0_pos[0]..v0_pos[1]
//!                                                   let k = v0_crd[p]
//!   a list of coordinates has no rows that            let q = ((k >> far) * inverse) >> near        k div J, or one less
//!   begin and end: nothing depends on                 let r = k - q * J
//!   where they do                                     C0_crd[p] = q + (J <= r);  C1_crd[p] = r - select(J <= r, J, 0)
//! ```
//!
//! To walk row by row, as other results need it, costs a branch that is not foreseen for each row. Machines divide slowly, and not in
//! lanes. With `2^log <= J < 2^(log + 1)`:
//!
//! ```text
//!   far      how far the greatest k is shifted to have 31 bits            k / 2^far is at most 1 too small
//!   inverse  2^(31 + log) div J, of 32 bits at most                        the product has 63
//!   near     31 + log - far
//! ```
//!
//! *One less at most*: rounding `k >> far` down takes less than `2^far / J` from the quotient, rounding the inverse less than `2^(far - log)`, the
//! last shift less than 1. Up to 2^27 rows, `far <= log - 2`, or it is 0 and takes nothing: less than 2 in all.

use super::output::Output;
use super::{Context, Expr, Holds, LevelBuffers, binary, int, minus, plus, store_index, times};
use crate::algebra::{Op, Type};
use crate::format::LevelKind;
use crate::loops::{BufferId, Stmt};
use crate::notation::concrete::{self, Nest};
use crate::stream::Symbolic;

/// The most rows for which quotients are found by multiplying.
pub(super) const ROWS: i64 = 1 << 27;

/// A list of a vector's coordinates, and what becomes of them.
pub(super) struct Split {
    /// Where the entries begin and end.
    pos: BufferId,
    coordinates: BufferId,
    rows: Expr,
    columns: Expr,
}

impl Context<'_> {
    /// Whether a nest whose result has an operand's entries only splits a vector's coordinates into rows and columns, 31 bits each.
    pub(super) fn splits(&self, nest: &Nest) -> Option<Split> {
        let concrete::Expr::Access(a, _) = nest.rhs else { return None };
        let (result, operand) =
            (&self.program.tensors[nest.target.tensor.0], &self.arrays(self.program.accesses[a.0].tensor));
        let [LevelBuffers::Compressed { pos, crd }] = operand.levels[..] else { return None };
        let [row, column] = nest.order[..] else { return None };
        let listed = *result.format.levels == [LevelKind::Nonunique, LevelKind::Singleton];
        let extent = |v: concrete::Index| self.extent(self.program.vars[v.0].extent);
        (listed && self.made.crd == Type::I32).then(|| Split {
            pos,
            coordinates: crd,
            rows: extent(row),
            columns: extent(column),
        })
    }
}

impl Split {
    /// Whether rows are few enough.
    pub fn has_few_rows(&self) -> Expr {
        binary(Op::Le, self.rows.clone(), int(ROWS))
    }

    /// Every entry.
    pub fn each(&self, d: &mut Symbolic, output: &Output) {
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
        let [rows, places] = [0, 1].map(|l| output.levels[l].array(Holds::Coordinates).expect("a list"));
        let [begin, end] = [0, 1].map(|at| d.index(self.pos, int(at)));
        d.each("p", begin, end.clone(), |d, p| {
            let k = d.index(self.coordinates, p.clone());
            let k = d.define("k", Type::I64, k);
            let first = times(binary(Op::Shr, k.clone(), far.clone()), inverse.clone());
            let quotient = d.define("quotient", Type::I64, binary(Op::Shr, first, near.clone()));
            let rest = d.define("rest", Type::I64, minus(k, times(quotient.clone(), columns.clone())));
            let more = d.define("more", Type::Bool, binary(Op::Le, columns.clone(), rest.clone()));
            let one_more = Expr::Op(Op::Convert(Type::I64), vec![more.clone()]);
            store_index(d, rows, p.clone(), plus(quotient, one_more));
            let less = Expr::Op(Op::Select, vec![more, columns.clone(), int(0)]);
            store_index(d, places, p, minus(rest, less));
        });
        d.assign(output.counts[1].expect("lists count"), end);
        output.close(d, &output.root());
    }
}

/// How many bits a positive number has.
fn length(d: &mut Symbolic, name: &str, number: &Expr) -> Expr {
    let bits = d.fresh(name, Type::I64);
    d.assign(bits, int(1));
    let more = binary(Op::Le, binary(Op::Shl, int(1), Expr::Var(bits)), number.clone());
    d.emit(Stmt::While(more, vec![Stmt::Set(bits, plus(Expr::Var(bits), int(1)))]));
    Expr::Var(bits)
}
