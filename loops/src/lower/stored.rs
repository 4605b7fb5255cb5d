//! How many entries operands have: bounds on those of a result, and guesses.

use super::{Context, Expr, fiber, int, plus, times};
use crate::arith::binary;
use crate::lower;
use crate::plan::{Level, Room};
use crate::{BufferId, Holds, Symbolic};
use fiberloom_core::algebra::Op;
use fiberloom_core::notation::concrete::{self, AccessId, Role};
use fiberloom_core::notation::typed::Fun;

/// Room for as many entries as lists have.
pub(super) fn room_for(cx: &Context, d: &Symbolic, Room { leaders, spare }: &Room) -> Expr {
    let crd = |(a, l): &Level| fiber::levels(cx, *a)[*l].array(Holds::Coordinates).expect("lists have coordinates");
    let all = leaders.iter().map(|list| entries(cx, d, *list, crd(list)));
    let all = all.reduce(|a, b| binary(Op::Add, a, b)).unwrap_or_else(|| int(0));
    if *spare { plus(all, int(1)) } else { all }
}

/// The number of entries of a level, whose array has an element for each. The arrays of a tensor that the kernel makes may have room for
/// more: positions say how many there are.
fn entries(cx: &Context, d: &Symbolic, (a, l): Level, array: BufferId) -> Expr {
    let tensor = cx.program.tensor(a);
    let counted = |parents: Expr, k: usize| {
        let level = &fiber::levels(cx, a)[k];
        let kind = level.kind();
        match level.array(Holds::Positions) {
            Some(pos) if kind.is_plain() || kind.is_in_runs() => Some(d.index(pos, parents)),
            None if kind.is_full() => Some(times(parents, cx.extent(tensor.extents[tensor.format.order[k]]))),
            None if kind.continues_chain() => Some(parents),
            _ => None,
        }
    };
    let made = !matches!(tensor.role, Role::Operand(_));
    let counted = made.then(|| (0..=l).try_fold(int(1), counted)).flatten();
    counted.unwrap_or(Expr::Capacity(array))
}

pub(super) fn values(cx: &Context, a: AccessId) -> BufferId {
    lower::arrays_of(cx, cx.program.accesses[a.0].tensor).values
}

/// Whether an expression is likely to have a value wherever its one sparse operand has an entry: nothing selects among them.
pub(super) fn is_kept(cx: &Context, e: &concrete::Expr) -> bool {
    let mut selects = e.has_loops();
    e.each(&mut |part| selects |= matches!(part, concrete::Expr::Call(Fun::Op(Op::Select | Op::AndAlso), ..)));
    let is_sparse = |a: &AccessId| fiber::levels(cx, *a).iter().any(|l| !l.kind().is_full());
    !selects && e.accesses().iter().filter(|a| is_sparse(a)).count() == 1
}

/// A guess at the number of stored values of an expression: for a sum, the sum of its operands' numbers; for a product, the least of
/// them. `None` if no operand is sparse.
pub(super) fn guess(cx: &Context, d: &Symbolic, e: &concrete::Expr) -> Option<Expr> {
    match e {
        concrete::Expr::Access(a, _) => {
            let levels = fiber::levels(cx, *a);
            let sparse = levels.iter().any(|l| !l.kind().is_full());
            sparse.then(|| entries(cx, d, (*a, levels.len() - 1), values(cx, *a)))
        }
        concrete::Expr::Call(fun, args, _) => {
            let known = args.iter().filter_map(|a| guess(cx, d, a));
            let all = matches!(fun, Fun::Op(Op::Mul | Op::And | Op::AndAlso));
            let join = if all { Op::Min } else { Op::Add };
            known.reduce(|a, b| binary(join, a, b))
        }
        concrete::Expr::Reduce(_, _, body, _) => guess(cx, d, body),
        concrete::Expr::Fold(fold, _) => guess(cx, d, &fold.body),
        concrete::Expr::Where(made, _) => guess(cx, d, &made.nest.rhs),
        concrete::Expr::Concat(c, _) => {
            let known = c.exprs().filter_map(|part| guess(cx, d, part));
            known.reduce(|a, b| binary(Op::Add, a, b))
        }
        concrete::Expr::Literal(_) | concrete::Expr::Index(_) | concrete::Expr::Column(_) => None,
    }
}
