//! Searches for the last number at which a condition holds.

use super::{Expr, binary, int, minus, plus, times};
use crate::stream::{Domain, State};
use crate::{Symbolic, Term};
use fiberloom_core::algebra::{Op, Type};

/// The greatest number below `end` at which a condition holds. The condition holds at 0 and is monotonic: behind the first number where
/// it fails it never holds. The search begins at the hint, and stores the result in it.
pub(super) fn found_from(d: &mut Symbolic, hint: State, end: Expr, holds: impl Fn(&Symbolic, Expr) -> Expr) -> Expr {
    let read = |d: &mut Symbolic, state| {
        let at = d.get(state);
        d.place(&at)
    };
    let begin = read(d, hint);
    let begin = d.define("begin", Type::I64, begin);
    let (low, high) = (d.state("low", Term::fixed(int(0))), d.state("high", Term::fixed(begin.clone())));
    let ascend = |d: &mut Symbolic| {
        let step = d.state("step", Term::fixed(int(1)));
        d.set(low, Term::fixed(begin.clone()));
        let next = |d: &mut Symbolic| plus(read(d, low), read(d, step));
        let goes_on = |d: &mut Symbolic| {
            let next = next(d);
            binary(Op::AndAlso, binary(Op::Lt, next.clone(), end.clone()), holds(d, next))
        };
        d.repeat(&|d| Term::fixed(goes_on(d)), &mut |d| {
            let (next, twice) = (next(d), times(read(d, step), int(2)));
            d.set(low, Term::fixed(next));
            d.set(step, Term::fixed(twice));
        });
        let next = next(d);
        d.set(high, Term::fixed(binary(Op::Min, next, end.clone())));
    };
    let ascends = holds(d, begin.clone());
    d.when(ascends, ascend, |_| {});
    let found = bisect(d, (low, high), &|d, at| holds(d, at));
    d.set(hint, Term::fixed(found.clone()));
    found
}

/// The greatest number below `high` at which a condition holds: it holds at `low`, and behind the first number where it fails it never holds.
pub(super) fn bisect(
    d: &mut Symbolic,
    (low, high): (State, State),
    holds: &dyn Fn(&mut Symbolic, Expr) -> Expr,
) -> Expr {
    let read = |d: &mut Symbolic, state| {
        let at = d.get(state);
        d.place(&at)
    };
    let apart = |d: &mut Symbolic| {
        let (a, b) = (read(d, low), read(d, high));
        binary(Op::Lt, plus(a, int(1)), b)
    };
    d.repeat(&|d| Term::fixed(apart(d)), &mut |d| {
        let (a, b) = (read(d, low), read(d, high));
        let half = binary(Op::FloorDiv, minus(b, a.clone()), int(2));
        let middle = d.define("middle", Type::I64, plus(a, half));
        let holds = holds(d, middle.clone());
        d.when(holds, |d| d.set(low, Term::fixed(middle.clone())), |d| d.set(high, Term::fixed(middle.clone())));
    });
    let at = read(d, low);
    d.define("found", Type::I64, at)
}
