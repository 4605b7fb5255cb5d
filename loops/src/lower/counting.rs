//! Transposing by counting: a copy into `{dense, compressed}` whose entries arrive column by column.
//!
//! ```text
//!   T[j, i] = A[i, j], by rows of A       pass 1   pos[j] += 1                       the number of entries of each j
//!                                         sums     pos[j] = entries before j         the position of j's first entry
//!                                         pass 2   crd[pos[j]] = i; pos[j] += 1      the entries of each j, in ascending i
//!                                         shift    pos[j + 1] = pos[j]
//! ```
//!
//! Time is linear in entries and coordinates; nothing is sorted. The loops run twice, and visit the same entries both times, because a
//! copy has no condition on values. A copy that reads columns in another order, `T[j, i] = A[p[i], j]`, may read an entry several times.

use super::room::alloc;
use super::symbols::Tally;
use super::{Context, Expr, binary, int, plus, store_index};
use crate::choose::result;
use crate::lower::{self, stored};
use crate::plan::Block;
use crate::{BufferId, Entry, Failure, Stmt, Symbolic, Var};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::notation::concrete::{self, Nest, Origin};

/// Emits a transposition by counting.
pub(super) fn counted(cx: &Context, d: &mut Symbolic, nest: &Nest, [count, place]: &[Block; 2]) {
    let target = nest.target.tensor;
    let (tensor, arrays) = (&cx.program.tensors[target.0], lower::arrays_of(cx, target));
    let [pos, crd] = ["pos", "crd"].map(|name| *arrays.levels[1].named(name));
    let rows = cx.extent(tensor.extents[tensor.format.order[0]]);
    let fits = |d: &mut Symbolic, count: Expr| {
        if d.element(pos) == Type::I32 {
            let over = binary(Op::Gt, count, int(i32::MAX as i64));
            d.when(over, |d| d.call(Entry::Fail(Failure::Positions)), |_| {});
        }
    };
    let concrete::Expr::Access(a, _) = nest.rhs else { unreachable!("copies are counted") };
    let each_once = cx.program.accesses[a.0].vars.iter().all(|v| cx.program.vars[v.0].origin == Origin::Loop);
    // No row has more entries than there are columns.
    let most = if each_once {
        Expr::Capacity(stored::values(cx, a))
    } else {
        cx.extent(tensor.extents[tensor.format.order[1]])
    };
    fits(d, most);
    alloc(d, pos, plus(rows.clone(), int(1)), Some(Value::zero(d.element(pos))));
    let pass = |d: &mut Symbolic, arrays, of: &Block| {
        cx.names.borrow_mut().tally = Some(Tally { pos, arrays });
        cx.block(d, of);
    };
    pass(d, None, count);

    let sum = d.fresh("sum", Type::I64);
    shift(d, (pos, &rows), sum, plus);
    let entries = d.define("entries", Type::I64, Expr::Var(sum));
    if !each_once {
        fits(d, entries.clone());
    }
    alloc(d, crd, entries.clone(), None);
    alloc(d, arrays.values, entries.clone(), None);
    pass(d, Some((crd, arrays.values)), place);
    shift(d, (pos, &rows), sum, |_, here| here);
    if result::is_finished(cx, target) {
        let finish = |d: &mut Symbolic, buffer, len| d.call(Entry::Finish { buffer, len });
        finish(d, pos, plus(rows, int(1)));
        finish(d, crd, entries.clone());
        finish(d, arrays.values, entries);
    }
}

/// Replaces each position by `sum`, which begins with 0; after each position `sum` is joined with the value that was replaced.
fn shift(d: &mut Symbolic, (pos, rows): (BufferId, &Expr), sum: Var, join: impl Fn(Expr, Expr) -> Expr) {
    d.assign(sum, int(0));
    d.each("q", int(0), plus(rows.clone(), int(1)), |d, q| {
        let here = d.index(pos, q.clone());
        let here = d.define("here", Type::I64, here);
        store_index(d, pos, q, Expr::Var(sum));
        d.assign(sum, join(Expr::Var(sum), here));
    });
}

/// Handles one entry of a counted copy: the first pass counts it in its row, the second stores it at its row's next position.
pub(super) fn tally(cx: &Context, d: &mut Symbolic, row: Expr, place: Option<(Expr, Expr)>) {
    let Tally { pos, arrays } = cx.names.borrow().tally.expect("a counted copy has begun");
    let here = d.index(pos, row.clone());
    let here = d.define("here", Type::I64, here);
    if let (Some((crd, values)), Some((at, value))) = (arrays, place) {
        store_index(d, crd, here.clone(), at);
        d.emit(Stmt::Store(values, here.clone(), value));
    }
    store_index(d, pos, row, plus(here, int(1)));
}
