//! The edges of a cut's pieces: the coordinates of the loops that are cut at which pieces begin and end.
//!
//! The search for an entry's parents begins where that for the previous edge ended, and its steps double: consecutive pieces share edges.

use super::search::found_from;
use super::weight::{Weighed, tuple_at};
use super::{Context, Expr, Holds, binary, held, int, plus};
use crate::choose::{
    cut::{Counted, is_searched},
    symbol::{Name, Sym},
};
use crate::stream::{Domain, State};
use crate::{Symbolic, Term};
use fiberloom_core::algebra::Op;
use fiberloom_core::notation::concrete::AccessId;

/// The coordinates of the thing with number `at`, and the positions of lists that are weighed. At the begin they are the first ones; behind the last
/// thing they are the extents, and the lists' ends.
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
    let weighed = if let Counted::Weight(weights) = of { Weighed::all(cx, d, weights, extents.len()) } else { vec![] };
    let mut tuple: Vec<State> = extents.iter().map(|_| d.state(name, Term::fixed(int(0)))).collect();
    let lists: Vec<(Expr, Expr)> = weighed.iter().filter_map(|w| w.positions(cx, d)).collect();
    let position = if begins { "p_begin" } else { "p_end" };
    tuple.extend(lists.iter().map(|(first, _)| d.state(position, Term::fixed(first.clone()))));
    let set = |d: &mut Symbolic, values: &mut dyn Iterator<Item = (State, Expr)>| {
        values.for_each(|(state, value)| d.set(state, Term::fixed(value)));
    };
    let past = |d: &mut Symbolic| {
        let ends = lists.iter().map(|(_, end)| end);
        set(d, &mut tuple[..1].iter().copied().zip(extents[..1].iter().cloned()));
        set(d, &mut tuple[extents.len()..].iter().copied().zip(ends.cloned()));
    };
    let inside = |d: &mut Symbolic| {
        let all = counted_at(cx, d, (of, &hints, &weighed), at.clone(), &extents);
        set(d, &mut tuple.iter().copied().zip(all));
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

/// The coordinates of the thing with number `at`, which is less than the total; behind them the positions of lists that are weighed.
fn counted_at(
    cx: &Context,
    d: &mut Symbolic,
    (of, hints, weighed): (&Counted, &[State], &[Weighed]),
    at: Expr,
    extents: &[Expr],
) -> Vec<Expr> {
    match of {
        Counted::Nothing => extents.iter().map(|_| int(0)).collect(),
        Counted::Weight(_) => tuple_at(cx, d, weighed, at, extents),
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
        Counted::Entries { access, first, begin, ends } => {
            let position = plus(cx.expr(d, *begin), at);
            let ends = ends.iter().map(|end| cx.expr(d, *end));
            let searches: Vec<(State, Expr)> = hints.iter().copied().zip(ends).collect();
            coordinates_at(cx, d, (*access, &searches), (*first, extents.len()), position)
        }
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
