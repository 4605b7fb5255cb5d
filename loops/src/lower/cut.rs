//! The edges of a cut's pieces: the coordinates of the loops that are cut at which pieces begin and end.
//!
//! The search for an edge begins where the previous edge was found, and its steps double: consecutive pieces share edges.

use super::{Context, Expr, Holds, binary, held, int, plus, times};
use crate::choose::{
    cut::{Counted, Weight, is_searched},
    symbol::{Name, Sym},
};
use crate::stream::{Domain, State};
use crate::{Symbolic, Term};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::notation::concrete::AccessId;

/// The coordinates of the thing with number `at`. At the begin they are the first coordinates; behind the last thing they are the
/// extents.
pub(super) fn edge(
    cx: &Context,
    d: &mut Symbolic,
    (of, hints): (&Counted, &[Name]),
    (at, begins): (Sym, bool),
    (count, extents): (Sym, &[Sym]),
    is: &[Sym],
) {
    let name = if begins { "from" } else { "to" };
    let hints: Vec<State> = hints.iter().map(|hint| cx.state(*hint)).collect();
    let extents: Vec<Expr> = extents.iter().map(|extent| cx.expr(d, *extent)).collect();
    let (at, count) = (cx.expr(d, at), cx.expr(d, count));
    let tuple: Vec<_> = extents.iter().map(|_| d.state(name, Term::fixed(int(0)))).collect();
    let past = |d: &mut Symbolic| {
        for (state, extent) in tuple.iter().zip(&extents).take(1) {
            d.set(*state, Term::fixed(extent.clone()));
        }
    };
    let inside = |d: &mut Symbolic| {
        let all = counted_at(cx, d, (of, &hints), at.clone(), &extents);
        for (state, coordinate) in tuple.iter().zip(all) {
            d.set(*state, Term::fixed(coordinate));
        }
    };
    let some = binary(Op::Lt, at.clone(), count);
    // The first piece begins at the first coordinate, even if nothing is counted there.
    let first = binary(Op::Gt, at.clone(), int(0));
    match begins {
        true => d.when(first, |d| d.when(some, inside, past), |_| {}),
        false => d.when(some, inside, past),
    }
    for (s, state) in is.iter().zip(tuple) {
        let at = d.get(state);
        cx.say_term(d, *s, &at);
    }
}

/// The coordinates of the thing with number `at`, which is less than the total.
fn counted_at(
    cx: &Context,
    d: &mut Symbolic,
    (of, hints): (&Counted, &[State]),
    at: Expr,
    extents: &[Expr],
) -> Vec<Expr> {
    match of {
        Counted::Nothing => extents.iter().map(|_| int(0)).collect(),
        Counted::Coordinates => {
            let mut rest = at;
            let mut all: Vec<Expr> = vec![];
            for extent in extents[1..].iter().rev() {
                all.push(binary(Op::FloorRem, rest.clone(), extent.clone()));
                rest = binary(Op::FloorDiv, rest, extent.clone());
            }
            all.push(rest);
            all.reverse();
            all
        }
        Counted::Weight(lists) => {
            if let [weight @ Weight { list: (a, level), .. }] = &lists[..]
                && is_searched(cx, *a, level - 1)
            {
                let list = Weighed::of(cx, d, weight);
                let (crd, length) = (cx.level_array((*a, level - 1), Holds::Coordinates), list.entries());
                let found = found_from(d, hints[0], length, |d, q| binary(Op::Le, list.below(d, &q), at.clone()));
                return vec![d.index(crd, plus(list.begin, found))];
            }
            let lists: Vec<Weighed> = lists.iter().map(|list| Weighed::of(cx, d, list)).collect();
            let seen = |list: &Weighed| plus(list.entries(), list.before.clone());
            let most = lists.iter().map(seen).fold(extents[0].clone(), |least, n| binary(Op::Min, least, n));
            let weight = |d: &Symbolic, c: &Expr| lists.iter().map(|list| list.below(d, c)).reduce(plus);
            vec![found_from(d, hints[0], most, |d, c| binary(Op::Le, weight(d, &c).unwrap_or(int(0)), at.clone()))]
        }
        Counted::Entries { access, first, begin, ends } => {
            let position = plus(cx.expr(d, *begin), at);
            let ends = ends.iter().map(|end| cx.expr(d, *end));
            let searches: Vec<(State, Expr)> = hints.iter().copied().zip(ends).collect();
            coordinates_at(cx, d, (*access, &searches), (*first, extents.len()), position)
        }
    }
}

/// A list whose entries weigh the coordinates of a loop.
struct Weighed {
    pos: crate::BufferId,
    begin: Expr,
    end: Expr,
    before: Expr,
}

impl Weighed {
    fn of(cx: &Context, d: &Symbolic, Weight { list, begin, end, before }: &Weight) -> Weighed {
        let [begin, end, before] = [begin, end, before].map(|s| cx.expr(d, *s));
        Weighed { pos: cx.level_array(*list, Holds::Positions), begin, end, before }
    }

    /// The number of coordinates that have weights here.
    fn entries(&self) -> Expr {
        binary(Op::Sub, self.end.clone(), self.begin.clone())
    }

    /// The number of its entries below the loop's coordinates before `c`; of a list of coordinates, before the one with this number.
    fn below(&self, d: &Symbolic, c: &Expr) -> Expr {
        let Weighed { pos, begin, before, .. } = self;
        let of_level = match *before == int(0) {
            true => c.clone(),
            false => binary(Op::Max, binary(Op::Sub, c.clone(), before.clone()), int(0)),
        };
        binary(Op::Sub, d.index(*pos, plus(begin.clone(), of_level)), d.index(*pos, begin.clone()))
    }
}

/// The coordinates of an entry of the last of some levels, the first of which the loops around have yet to open. Parents are searched
/// from a hint on, up to the end of the parents that have entries here: an array may have room for more.
fn coordinates_at(
    cx: &Context,
    d: &mut Symbolic,
    (a, searches): (AccessId, &[(State, Expr)]),
    (first, levels): (usize, usize),
    position: Expr,
) -> Vec<Expr> {
    let mut searches = searches.iter().rev();
    let tensor = cx.program.tensor(a);
    let (mut at, mut all) = (held(d, "at", position), vec![]);
    for level in (first..first + levels).rev() {
        let kind = tensor.format.levels[level];
        let extent = cx.extent(tensor.extents[tensor.format.order[level]]);
        if kind.is_located() {
            all.push(binary(Op::FloorRem, at.clone(), extent.clone()));
            at = binary(Op::FloorDiv, at, extent);
            continue;
        }
        all.push(d.index(cx.level_array((a, level), Holds::Coordinates), at.clone()));
        if level > first && is_searched(cx, a, level) {
            let pos = cx.level_array((a, level), Holds::Positions);
            let (hint, end) = searches.next().expect("one for each level that is searched");
            let here = at.clone();
            at = found_from(d, *hint, end.clone(), |d, q| binary(Op::Le, d.index(pos, q), here.clone()));
        }
    }
    all.reverse();
    all
}

/// The greatest number below `end` at which a condition holds. The condition holds at 0 and is monotonic: behind the first number where
/// it fails it never holds. The search begins at the hint, and stores the result in it.
fn found_from(d: &mut Symbolic, hint: State, end: Expr, holds: impl Fn(&Symbolic, Expr) -> Expr) -> Expr {
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
    bisect(d, (low, high), &holds);
    let at = read(d, low);
    let found = d.define("found", Type::I64, at);
    d.set(hint, Term::fixed(found.clone()));
    found
}

/// Bisects: the condition holds at `low`, and does not hold at `high`, unless that is the end.
fn bisect(d: &mut Symbolic, (low, high): (State, State), holds: &impl Fn(&Symbolic, Expr) -> Expr) {
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
        let middle = d.define("middle", Type::I64, binary(Op::FloorDiv, plus(a, b), int(2)));
        let holds = holds(d, middle.clone());
        d.when(holds, |d| d.set(low, Term::fixed(middle.clone())), |d| d.set(high, Term::fixed(middle.clone())));
    });
}
