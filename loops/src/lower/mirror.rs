//! A result's symmetric last level: loops produce values on both sides of the diagonal.
//!
//! ```text
//!   values            behind            at the end, each value before the diagonal and its mirror image
//!   0                 0 1 2
//!   1 3               . 3 4             are compared: unless they are equal, the kernel fails
//!   2 4 5             . . 5
//! ```
//!
//! Values on and before the diagonal go to the result's values, a lower triangle, and values behind it to an upper triangle, whose
//! diagonal is not used: loops write both row by row. Values are equal by the rule of `format/assemble.rs`, which the library uses for
//! converted results.

use super::form::Form;
use super::insertion::Sides;
use super::triangle::{triangle, upper};
use super::{BufferRole, Expr, binary, compared, int, minus, plus, times};
use crate::{BufferId, Entry, Failure, Symbolic};
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::format::rounding;

/// The number of columns that are compared in all rows before the next columns: each mirror image of a row's element is in another cache
/// line, which also holds the mirror images of the next rows.
const STRIP: i64 = 64;

/// The values behind the diagonals of a result.
pub(super) struct Mirror {
    /// The values on and before the diagonals.
    values: BufferId,
    pub behind: BufferId,
    ty: Type,
    mode: Mode,
}

impl Mirror {
    /// The mirror of a result with this form, if its last level is symmetric.
    pub fn of(d: &mut Symbolic, form: &Form, (name, ty, mode): (&str, Type, Mode), values: BufferId) -> Option<Mirror> {
        let symmetric = form.levels.last().is_some_and(|level| level.kind().is_mirrored());
        symmetric.then(|| Mirror {
            values,
            behind: d.buffer(&format!("{name}_behind"), ty, BufferRole::Workspace),
            ty,
            mode,
        })
    }

    /// Loads the element at a position, on its side of the diagonal.
    pub fn load(&self, position: Expr, sides: &Sides) -> Expr {
        let of = |buffer, position| Expr::Load(buffer, Box::new(position));
        let [before, behind] = [of(self.values, position), of(self.behind, sides.position.clone())];
        Expr::Op(Op::Select, vec![sides.is_behind.clone(), behind, before])
    }

    /// Makes the kernel fail unless each value equals its mirror image.
    pub fn compare(&self, d: &mut Symbolic, form: &Form) {
        let rows = form.extents.len() - 2;
        let (n, all) = (&form.extents[rows], &form.widths[rows]);
        let squares = form.widths[..rows].iter().cloned().fold(int(1), times);
        if squares == int(1) {
            return self.compare_square(d, n, &int(0));
        }
        d.each("square", int(0), squares, |d, square| {
            let first = d.define("first", Type::I64, times(square, all.clone()));
            self.compare_square(d, n, &first);
        });
    }

    /// As `compare`, for a square of `n` rows, whose positions begin at `first`: in strips of columns.
    fn compare_square(&self, d: &mut Symbolic, n: &Expr, first: &Expr) {
        let strips = binary(Op::FloorDiv, plus(n.clone(), int(STRIP - 1)), int(STRIP));
        d.each("strip", int(0), strips, |d, strip| {
            let from = d.define("from", Type::I64, times(strip, int(STRIP)));
            d.each("row", from.clone(), n.clone(), |d, i| self.compare_row(d, (n, first), i, from));
        });
    }

    /// As `compare`, for the part of a row that begins at a column.
    fn compare_row(&self, d: &mut Symbolic, (n, first): (&Expr, &Expr), i: Expr, from: Expr) {
        let base = d.define("base", Type::I64, plus(first.clone(), triangle(i.clone())));
        let stop = binary(Op::Min, plus(from.clone(), int(STRIP)), i.clone());
        d.each("column", from, stop, |d, j| {
            let behind = plus(plus(first.clone(), upper(n, &j)), i);
            let x = self.value(d, self.values, plus(base, j));
            let y = self.value(d, self.behind, behind);
            self.same(d, x, y);
        });
    }

    fn value(&self, d: &mut Symbolic, buffer: BufferId, at: Expr) -> Expr {
        d.define("value", self.ty, Expr::Load(buffer, Box::new(at)))
    }

    /// Makes the kernel fail unless two values are equal.
    fn same(&self, d: &mut Symbolic, x: Expr, y: Expr) {
        let fail = |d: &mut Symbolic| d.call(Entry::Fail(Failure::Unheld));
        let differs = compared(self.mode, Op::Ne, x.clone(), (y.clone(), self.ty));
        let unless_one = |d: &mut Symbolic| match self.ty.is_float() {
            true => d.when(self.is_one(&x, &y), |_| {}, fail),
            false => fail(d),
        };
        d.when(differs, unless_one, |_| {});
    }

    /// Whether two floats that differ count as equal: both are NaN, or they may be rounded in different orders.
    fn is_one(&self, x: &Expr, y: &Expr) -> Expr {
        let nan = |e: &Expr| binary(Op::Ne, e.clone(), e.clone());
        let nans = binary(Op::AndAlso, nan(x), nan(y));
        let Some(part) = rounding(self.ty).filter(|_| self.mode == Mode::Algebraic) else { return nans };
        let float = |x: f64| Expr::Const(Value::from_f64(Type::F64, x));
        let wide = |e: &Expr| match self.ty {
            Type::F64 => e.clone(),
            _ => Expr::Op(Op::Convert(Type::F64), vec![e.clone()]),
        };
        let magnitude = |e: Expr| Expr::Op(Op::Abs, vec![e]);
        let (x, y) = (wide(x), wide(y));
        let distance = magnitude(minus(x.clone(), y.clone()));
        let least = binary(Op::Min, magnitude(x.clone()), magnitude(y));
        let near = binary(Op::Le, distance, binary(Op::Mul, float(part), least));
        // Two infinities are as far from one another as they are large.
        let finite = binary(Op::Lt, magnitude(x), float(f64::INFINITY));
        binary(Op::OrElse, nans, binary(Op::AndAlso, finite, near))
    }
}
