//! Loops over the entries of one list.
//!
//! ```text
//!   for p in begin..end           a whole fiber, without repetitions, or if the destination accepts repeated coordinates
//!   p, of a view                  a window, steps, a block: by search, or by testing each entry of a short fiber
//!   p … while crd[p] = crd[q]     the positions of an entry of the level above, whose end is found by walking
//! ```

use super::{
    Context,
    arrive::{self, Here},
    destination::{self, Destination, Frame},
    speculative,
};
use crate::choose::{
    scope::Scope,
    symbol::Sym,
    walk::{self, Alone, How, Listed, Loop},
};
use crate::plan::{Block, Driver, Entry, List, Op, Visit};
use fiberloom_core::algebra::Type;
use fiberloom_core::iteration::Point;

/// Plans the loop over a single list: it is counted, with no comparison of coordinates, for a whole fiber without repetitions.
pub(super) fn each_entry(cx: &Context, b: &mut Block, point: &Point, of: Frame, list: &List, scope: &Scope) {
    let alone = of_one(cx, of, scope);
    let (filters, gapless) = (alone.filters(cx, point, known(list)), alone.goes_in_bulk(cx, point, known(list)));
    let how = match (filters, gapless) {
        (true, _) => How::Filter,
        (_, true) => How::Gapless,
        _ => How::Each,
    };
    let seen = |b: &mut Block| seen(cx, b, point, of, list, scope);
    match how {
        How::Filter => {
            let (stored, kept) = filter(cx, point, of, &scope.aside());
            b.push(Op::Filter { list: list.clone(), stored, kept, otherwise: Block::of(seen) });
        }
        How::Gapless => in_bulk(cx, b, point, (of, list), scope, seen),
        _ => seen(b),
    }
}

/// The properties of a fiber that is walked alone, for the choice of its walk.
fn known(list: &List) -> Alone {
    let view = &list.view;
    let piece = view.start.is_some() && view.stride.is_none() && view.finger.is_none();
    Alone { repeats: list.repeats, whole: view.is_whole(), piece, open: list.run.is_some() }
}

/// The description of a loop over a single list, for the choice of its walk.
fn of_one<'a>(cx: &Context, Frame { v, rest, destination }: Frame<'a>, scope: &'a Scope) -> Loop<'a> {
    // The choice for a single list does not use these properties of lists.
    let list = &|_| Listed { lanes: false, repeats: true };
    Loop { rest, scope, goal: destination.goal(v), effect: destination::effect(cx, destination), list }
}

/// Plans the loop over a fiber without gaps, whose coordinates are inserted in bulk, beside the loop over any other. Its body has no
/// branch, so that each coordinate gets a value.
fn in_bulk(
    cx: &Context,
    b: &mut Block,
    point: &Point,
    (of, list): (Frame, &List),
    scope: &Scope,
    seen: impl FnOnce(&mut Block),
) {
    let Destination::Scatter { nest, scratch } = of.destination else {
        unreachable!("it was asked what may have no gap")
    };
    let (said, into) = (cx.symbols.name(), scratch.name);
    let inserted = scratch.inserted(said);
    let destination = Destination::Scatter { nest, scratch: &inserted };
    let visit =
        visit(cx, point, Frame { rest: &[], destination: &destination, ..of }, Entry::single(cx), &scope.aside());
    b.push(Op::InBulk { list: list.clone(), into, said, visit, otherwise: Block::of(seen) });
}

/// Plans the visit of all entries of a fiber: each is stored, and kept if it is in view.
fn filter(cx: &Context, point: &Point, of: Frame, scope: &Scope) -> (Visit, Sym) {
    let (at, kept) = (cx.symbols.read("stored", Type::I64), cx.symbols.read("kept", Type::Bool));
    let entry = Entry::single(cx);
    let here = vec![Here { access: point.leaders[0], entry: entry.positions(), present: None }];
    let store =
        |b: &mut Block| speculative::store_speculatively(cx, b, (scope, of.destination), point, (of.v, at, here), kept);
    (Visit { at, entry, body: Block::of(store) }, kept)
}

/// Plans the loop over the entries of a fiber that are in view.
fn seen(cx: &Context, b: &mut Block, point: &Point, of: Frame, list: &List, scope: &Scope) {
    let single = walk::is_single(cx, scope, point.leaders[0]) && list.view.is_whole();
    let one_by_one = !single && of_one(cx, of, scope).one_by_one(cx, point, known(list));
    let list = if one_by_one { List { repeats: false, ..list.clone() } } else { list.clone() };
    let mut entry = if single { Entry::single(cx) } else { Entry::of(cx, &list) };
    if single {
        entry.position = list.begin;
    }
    let visit = visit(cx, point, of, entry, scope);
    b.push(Op::Each { list, single, visit });
}

/// Plans the body at an entry of the leading list.
fn visit(cx: &Context, point: &Point, of: Frame, entry: Entry, scope: &Scope) -> Visit {
    let at = cx.symbols.held(&cx.program.vars[of.v.0].name, Type::I64);
    let here = Here { access: point.leaders[0], entry: entry.positions(), present: None };
    let body = Block::of(|b| {
        let scope = arrive::come_to_entries(cx, b, scope, (of.v, at), [here]);
        arrive::go_on(cx, b, of, &point.body, scope, Driver::Stored);
    });
    Visit { at, entry, body }
}
