//! Plans a loop nest: for each index variable, splits its range, builds a lattice for each part, and walks each point of the lattice in
//! one shape.

mod dense;
mod entries;
mod places;
pub(super) mod stepped;
mod tentative;

use super::counting::Tally;
use super::output::{Output, Slot};
use super::workspace::{Reached, Scratch};
use super::{Context, builtin};
use crate::algebra::{Op as Fn, Type};
use crate::format::Holds;
use crate::iteration::{Lattice, Point, Sequence, Shape};
use crate::loops::Asked;
use crate::loops::choose::{
    Effect, access, condition, coordinate, fingers,
    range::Piece,
    scope::{Positions, Scope},
    symbol::{Name, Sym},
    walk::{self, Goal, How, Listed, Loop, Stored},
};
use crate::loops::plan::{self, Block, Driven, Entry, Level, List, Op, Visit};
use crate::loops::planner::{choice, counting, cut, fiber, made, range, spread, statement};
use crate::notation::concrete::{self, AccessId, Both, Index, Nest};
use crate::notation::typed::Fun;
use std::collections::BTreeMap;

/// The destination of a nest's values.
pub(super) enum Sink<'a> {
    /// Folds into a scalar: `t = f(t, value)`. With the flag `begun`, the first value is assigned instead of folded.
    Scalar { var: (Sym, Type), fun: Fun, begun: Option<Sym> },
    /// Stores into the result's levels, at the slot that the loops have reached.
    Store { nest: &'a Nest, output: &'a Output, slot: Slot },
    /// Puts values into a workspace.
    Scatter { nest: &'a Nest, scratch: &'a Scratch },
    /// Counts, and then places, the entries of a copy.
    Tally(&'a Tally<'a>),
    /// Stores nothing: each innermost loop adds to `most` a bound on the number of values that it would put into the workspace.
    Bound { nest: &'a Nest, scratch: &'a Scratch, most: Sym },
    /// The loops around a workspace: inside of the innermost one, the rest of the nest fills the workspace, then it is drained.
    Around { nest: &'a Nest, output: &'a Output, slot: Slot, scratch: &'a Scratch },
}

/// The current entry of a list while a loop is at a coordinate.
#[derive(Clone)]
struct Here {
    access: AccessId,
    entry: Positions,
    /// The condition under which the entry is at this coordinate; `None` if it always is.
    present: Option<Sym>,
}

/// A range of a loop: its lattice, and the fibers over which the lattice's points walk.
struct Part {
    piece: Piece,
    lattice: Lattice,
    fibers: BTreeMap<AccessId, List>,
    /// Accesses whose levels have pieces that end within the range. If there are any, the range is split piece by piece.
    stepped: Vec<AccessId>,
}

impl Part {
    /// The first point of the lattice, at which all lists have entries.
    fn top(&self) -> &Point {
        &self.lattice.points[0]
    }
}

/// One range of an index variable's loop, while its points are planned.
struct Forall<'a> {
    v: Index,
    rest: &'a [Index],
    piece: &'a Piece,
    lattice: &'a Lattice,
    fibers: &'a BTreeMap<AccessId, List>,
    /// The open lists.
    lists: &'a BTreeMap<AccessId, Name>,
    sink: &'a Sink<'a>,
}

impl Forall<'_> {
    /// The scope of the loop: the bindings of the loops around it.
    fn scope(&self) -> &Scope {
        &self.piece.scope
    }

    /// Open lists, by their accesses.
    fn names(&self, of: &[AccessId]) -> Vec<Name> {
        of.iter().map(|a| self.lists[a]).collect()
    }

    /// A symbol for the loop's coordinate.
    fn coordinate(&self, cx: &Context) -> Sym {
        cx.symbols.read(&cx.program.vars[self.v.0].name, Type::I64)
    }

    /// An entry of an access's list.
    fn entry(&self, cx: &Context, a: AccessId) -> Entry {
        Entry::of(cx, &self.fibers[&a])
    }

    /// Applies a function to the description of this loop that choices of walks use.
    fn chosen<R>(&self, cx: &Context, of: impl FnOnce(&Loop) -> R) -> R {
        let (goal, effect) = (self.sink.goal(self.v), effect(cx, self.sink));
        let list = |a: AccessId| Listed { lanes: self.fibers[&a].has_lanes(), repeats: self.fibers[&a].is_of_runs() };
        of(&Loop { rest: self.rest, scope: self.scope(), goal, effect, list: &list })
    }

    /// The way to walk a point.
    fn way(&self, cx: &Context, point: &Point) -> How {
        self.chosen(cx, |of| of.way(cx, point))
    }
}

/// How a destination uses a value: it folds the value, or stores it.
pub(super) fn effect(cx: &Context, sink: &Sink) -> Effect {
    let stored = |nest: &Nest, initial| match (nest.fold, nest.before) {
        (Some(fun), _) => Effect::Folded { fun, begins: false },
        (None, Some(_)) => Effect::Replaces,
        (None, None) => Effect::Stored(initial),
    };
    match sink {
        Sink::Scalar { fun, begun, .. } => Effect::Folded { fun: *fun, begins: begun.is_some() },
        Sink::Scatter { nest, scratch } | Sink::Bound { nest, scratch, .. } => stored(nest, scratch.initial),
        Sink::Tally(tally) => Effect::Stored(cx.program.tensors[tally.nest.target.tensor.0].fill),
        Sink::Store { nest, output, .. } | Sink::Around { nest, output, .. } => stored(nest, output.initial),
    }
}

/// Whether a body leaves the destination unchanged.
pub(super) fn is_nothing(cx: &Context, sink: &Sink, body: &concrete::Expr) -> bool {
    cx.is_nothing(effect(cx, sink), body)
}

/// Plans loops over `vars` around `body`.
pub(super) fn plan(cx: &Context, b: &mut Block, vars: &[Index], body: &concrete::Expr, mut scope: Scope, sink: &Sink) {
    // Levels whose coordinates no loop binds are searched here, before the loops.
    fiber::locate(cx, b, &mut scope, body, false);
    if let Some(body) = made::made(cx, b, &scope, body) {
        return plan(cx, b, vars, &body, scope, sink);
    }
    let Some((&v, rest)) = vars.split_first() else { return landed(cx, b, body, &scope, sink) };
    if let Sink::Scalar { .. } = sink
        && let Some((c, body)) = sieve(cx, b, &scope, body, &|e| is_nothing(cx, sink, e))
    {
        return b.when(c, |b| plan(cx, b, vars, &body, scope, sink), |_| {});
    }
    let leaped = spread::leaped(cx, b, &scope, (v, rest), body, sink);
    if !leaped.is_empty() {
        return spread::leap_or_loop(cx, b, leaped.into_iter(), (vars, body), scope, sink);
    }
    let laid = spread::lay(cx, b, &mut scope, v, body, sink);
    loops(cx, b, vars, body, scope, sink);
    laid.into_iter().for_each(|it| b.push(Op::TakeUp { it }));
}

/// Plans the loop over the first of `vars`, range by range, with the other loops inside.
pub(super) fn loops(cx: &Context, b: &mut Block, vars: &[Index], body: &concrete::Expr, mut scope: Scope, sink: &Sink) {
    let (&v, rest) = vars.split_first().expect("there are loops");
    if !cx.program.vars[v.0].limits.is_empty() && sink.has_level(v) {
        sink.skip(v);
    }
    let located = sink.slot().is_some_and(|(o, slot)| o.next_follows(slot, v) && !o.form.is_list(slot.level));
    scope.in_blocks = walk::seen_in_blocks(cx, &scope, body, v, effect(cx, sink), located);
    cut::open_cut(cx, b, &mut scope, v, body);
    let fingers = fingers::fingers(cx, &scope, &[vars, sink.inside()].concat(), body);
    range::point_fingers(cx, b, &mut scope, fingers);
    let pieces = choice::ranges(cx, b, &scope, (v, rest), body).into_iter();
    let parts: Vec<Part> = pieces.map(|piece| part(cx, b, v, piece, sink)).collect();
    // Several parts may together visit a whole fiber, but that is not proved.
    if let Some((output, _)) = sink.slot().filter(|_| parts.len() > 1 || parts.iter().any(|p| !p.stepped.is_empty())) {
        output.notes.goes_along(None);
    }
    if let (Sink::Bound { most, .. }, []) = (sink, rest) {
        let more = at_most_of(cx, &parts);
        return b.set(*most, cx.symbols.plus(*most, more));
    }
    // If one part reserves room piece by piece, every part reserves its own.
    let apart = parts.iter().any(|part| !part.stepped.is_empty());
    if let Some((output, slot)) = sink.appends(v) {
        for part in &parts {
            output.note_led(slot.level, led_by(cx, part, v));
        }
        output.notes.goes_along(walked_whole(&parts).filter(|a| scope.fiber(*a).depth == slot.level));
        let all: &[Part] = if apart { &[] } else { &parts };
        output.open(b, slot, at_most_of(cx, all));
    }
    for part in parts {
        if apart {
            stepped::make_room(cx, b, &part, v, sink);
        }
        run(cx, b, part, (v, rest), sink);
    }
    if let Some((output, slot)) = sink.appends(v) {
        output.close(b, slot);
    }
}

/// A range of `v`, with its lattice and the fibers over which the lattice's points walk.
fn part(cx: &Context, b: &mut Block, v: Index, piece: Piece, sink: &Sink) -> Part {
    let (scope, body, symbols) = (&piece.scope, &piece.body, &cx.symbols);
    let mut names = access::walked(cx, scope, body, v);
    let accesses = body.accesses();
    names.extend(scope.in_blocks.iter().filter(|a| accesses.contains(a)));
    let lattice = lattice(cx, body, &names, sink);
    let alone = alone(&lattice.points[0]).is_some();
    let fiber = |&a: &AccessId| {
        let view = range::view(cx, b, scope, (a, scope.fiber(a).depth), v, &piece.range);
        if let Some(list) = fiber::of_run(cx, scope, a).filter(|_| alone && view.is_whole()) {
            return (a, List { view, ..list });
        }
        let mut list = List { view, ..fiber::unopened(cx, b, scope, a) };
        if let Some((begin, end, clips)) = cut::of_piece(cx, scope, (a, scope.fiber(a).depth), v, &piece.range) {
            let (begin, end) = match clips {
                true => (symbols.max(list.begin, begin), symbols.min(list.end, end)),
                false => (begin, end),
            };
            (list.begin, list.end) = (b.held(cx, "begin", begin), b.held(cx, "end", end));
            (list.view.start, list.view.stop) = (None, None);
        }
        if !alone || !list.is_counted() {
            list.end = b.define(cx, "end", Type::I64, list.end);
        }
        (a, list)
    };
    let fibers = names.iter().map(fiber).collect();
    let stepped = access::stepped_along(cx, scope, &lattice.points[0].body, v);
    Part { piece, lattice, fibers, stepped }
}

/// The lattice over `lists` for a body.
fn lattice(cx: &Context, body: &concrete::Expr, lists: &[AccessId], sink: &Sink) -> Lattice {
    let fill = |a: AccessId| cx.fill(a);
    Lattice::of(body, lists, &fill, &|e| is_nothing(cx, sink, e), cx.simplify)
}

/// Plans the loops of a range.
fn run(cx: &Context, b: &mut Block, part: Part, (v, rest): (Index, &[Index]), sink: &Sink) {
    let what = cx.program.vars[v.0].asked;
    let Part { piece, lattice, fibers, stepped } = part;
    cx.show(|| plan::Loop {
        vars: [&piece.scope.order[..], &[v]].concat(),
        fibers: access::looplets(cx, &piece.scope, &piece.body, v),
        points: lattice.points.iter().cloned().map(plan::Point::from).collect(),
    });
    let mut body = Block::default();
    run_part(cx, &mut body, (&piece, &lattice, &fibers, &stepped), (v, rest), sink);
    b.push(Op::Asked { what: (what != Asked::default()).then_some(what), body });
}

fn run_part(
    cx: &Context,
    b: &mut Block,
    (piece, lattice, fibers, stepped): (&Piece, &Lattice, &BTreeMap<AccessId, List>, &[AccessId]),
    (v, rest): (Index, &[Index]),
    sink: &Sink,
) {
    if !stepped.is_empty() {
        return stepped::stepped(cx, b, piece, stepped, (v, rest), sink);
    }
    let top = &lattice.points[0];
    if let Some(a) = alone(top) {
        return entries::each_entry(cx, b, top, (v, rest), &fibers[&a], &piece.scope, sink);
    }
    let open = |(a, list): (&AccessId, &List)| {
        let (it, list) = (cx.symbols.name(), list.clone());
        b.push(Op::Open { it, list });
        (*a, it)
    };
    let lists = fibers.iter().map(open).collect();
    let forall = Forall { v, rest, piece, lattice, fibers, lists: &lists, sink };
    walk_point(cx, b, &forall, top);
}

/// The lists whose coordinates bound the number of entries that a point appends: an entry of one of them leads to each coordinate of the
/// point, and no entry leads to two, because every loop is over the variable of that entry's level or of a level above. `None` if there
/// is no such bound, as in a range that is split piece by piece.
fn led_by(cx: &Context, part: &Part, v: Index) -> Option<Vec<Level>> {
    let (scope, point) = (&part.piece.scope, part.top());
    if !part.stepped.is_empty() {
        return None;
    }
    let once = |a: &AccessId| comes_along(cx, scope, *a, v);
    match point.shape {
        Shape::Dense => None,
        // Each list of an intersection bounds it: one suffices.
        Shape::Intersect => point.leaders.iter().find_map(once).map(|led| vec![led]),
        _ => point.leaders.iter().map(once).collect(),
    }
}

/// An access's list over `v`, if the loops around visit none of its entries twice.
pub(super) fn comes_along(cx: &Context, scope: &Scope, a: AccessId, v: Index) -> Option<Level> {
    let depth = scope.fiber(a).depth;
    let access = &cx.program.accesses[a.0];
    let above: Vec<Index> = (0..=depth).map(|l| cx.program.level_var(access, l)).collect();
    if !cx.kind(a, depth).holds(Holds::Coordinates) {
        return None;
    }
    let moves = |u: &Index| above.iter().any(|w| cx.program.follows(*w, *u));
    let loops: Vec<Index> = scope.order.iter().copied().chain([v]).collect();
    // Below a position that several coordinates share, entries are visited once for each coordinate.
    let shared = cx.program.tensor(a).format.levels[..depth].iter().any(|kind| kind.shares());
    let above_once = || above.iter().all(|w| access::comes_once(cx, *w, &loops));
    (!shared && loops.iter().all(moves) && above_once()).then_some((a, depth))
}

/// A bound on the number of coordinates that all parts visit, and so of entries that they append. The bound covers speculatively stored
/// entries: when one is stored, fewer entries are kept than coordinates are counted so far.
fn at_most_of(cx: &Context, parts: &[Part]) -> Sym {
    let bounds = parts.iter().map(|part| at_most(cx, part));
    bounds.reduce(|a, b| cx.symbols.op(Fn::Add, [a, b])).unwrap_or(Sym::ZERO)
}

/// A bound on the number of coordinates that a range's loops visit.
fn at_most(cx: &Context, part: &Part) -> Sym {
    let (point, symbols) = (part.top(), &cx.symbols);
    if !part.stepped.is_empty() {
        return coordinate::length(cx, &part.piece.range);
    }
    let lengths = point.leaders.iter().map(|a| symbols.sub(part.fibers[a].end, part.fibers[a].begin));
    let joined = match point.shape {
        Shape::Nothing => None,
        Shape::Dense => return coordinate::length(cx, &part.piece.range),
        Shape::Intersect => lengths.reduce(|a, b| symbols.min(a, b)),
        Shape::Each | Shape::Tree | Shape::Wide => lengths.reduce(|a, b| symbols.op(Fn::Add, [a, b])),
    };
    joined.unwrap_or(Sym::ZERO)
}

/// Plans the loop of a point, and the loops of the points that remain when its lists are exhausted.
fn walk_point(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    let how = f.way(cx, point);
    let at = f.coordinate(cx);
    let stored = |b: &mut Block| {
        let here = resting(cx, b, f, &point.leaders);
        arrive(cx, b, f, point, at, &here, Driven::Stored);
    };
    match how {
        How::Nothing => f.sink.skip(f.v),
        How::Every | How::Constant | How::Gaps | How::CountedGaps | How::Between => dense::dense(cx, b, f, point, how),
        How::Decided => tentative::store_decided(cx, b, f, point),
        How::Lanes => tentative::follow_in_lanes(cx, b, f, point),
        How::Each | How::Sift | How::Gapless => alone_in_loop(cx, b, f, point),
        How::Tentative => tentative::store_always(cx, b, f, point),
        How::Leap => {
            let lists = point.leaders.iter().map(|a| (f.lists[a], access::gallops(cx, f.scope(), *a))).collect();
            b.push(Op::Leap { lists, at, body: Block::of(stored) });
        }
        // Where the lists do not meet, operands have their fill values, and the sum is unchanged.
        How::Flat => tentative::meets(cx, b, f, point, &mut |b, at, mut here, met| {
            here.iter_mut().for_each(|here| here.present = Some(met));
            arrive(cx, b, f, point, at, &here, Driven::Stored);
        }),
        How::Meet => b.push(Op::Intersect { lists: f.names(&point.leaders), at, body: Block::of(stored) }),
        How::Tree | How::FlatTree => tree(cx, b, f, point, how),
        How::Wide => wide_loop(cx, b, f, point),
    }
}

/// The loop over the entries of the leading list; followers are advanced to each entry.
fn alone_in_loop(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    let a = point.leaders[0];
    let (at, entry) = (f.coordinate(cx), f.entry(cx, a));
    let here = Here { access: a, entry: entry.positions(), present: None };
    let body = Block::of(|b| arrive(cx, b, f, point, at, &[here], Driven::Stored));
    let visit = Visit { at, entry, body };
    b.push(Op::EachOpen { list: f.lists[&a], visit });
}

/// The current entries of lists.
fn resting(cx: &Context, b: &mut Block, f: &Forall, lists: &[AccessId]) -> Vec<Here> {
    let here = |&access: &AccessId| {
        let is = f.entry(cx, access);
        b.push(Op::Rest { list: f.lists[&access], is });
        Here { access, entry: is.positions(), present: None }
    };
    lists.iter().map(here).collect()
}

/// The current entries of lists, each present if its flag is set.
fn flagged(cx: &Context, b: &mut Block, f: &Forall, lists: &[AccessId], flags: &[Sym]) -> Vec<Here> {
    let mut here = resting(cx, b, f, lists);
    for (here, flag) in here.iter_mut().zip(flags) {
        here.present = Some(*flag);
    }
    here
}

fn tree(cx: &Context, b: &mut Block, f: &Forall, point: &Point, how: How) {
    let (first, second) = (point.leaders[0], point.leaders[1]);
    let (lists, at) = ([f.lists[&first], f.lists[&second]], f.coordinate(cx));
    if how == How::FlatTree {
        let flags = [cx.symbols.read("is", Type::Bool), cx.symbols.read("is", Type::Bool)];
        let both = Block::of(|b| {
            let here = resting(cx, b, f, &point.leaders);
            arrive(cx, b, f, point, at, &here, Driven::Stored);
        });
        let some = Block::of(|b| {
            let here = flagged(cx, b, f, &point.leaders, &flags);
            arrive(cx, b, f, point, at, &here, Driven::Stored);
        });
        b.push(Op::UniteFlat { lists, at, flags, both, some });
    } else {
        let arm = |present: &[AccessId], absent: Option<AccessId>| {
            let mut block = Block::default();
            let here = resting(cx, &mut block, f, present);
            arrive(cx, &mut block, f, &walk::without(cx, point, absent), at, &here, Driven::Stored);
            block
        };
        let arms = [arm(&[first, second], None), arm(&[first], Some(second)), arm(&[second], Some(first))];
        b.push(Op::Unite { lists, at, arms });
    }
    for (_, next) in &point.edges {
        walk_point(cx, b, f, &f.lattice.points[*next]);
    }
}

fn wide_loop(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    let place = |a: AccessId| point.leaders.iter().position(|l| *l == a).expect("a leader");
    let sequence = &point.sequence;
    let somewhere = matches!(sequence, Sequence::Or(parts) if parts.iter().all(|s| matches!(s, Sequence::List(_))));
    let at = f.coordinate(cx);
    let present: Vec<Sym> = point.leaders.iter().map(|_| cx.symbols.read("is", Type::Bool)).collect();
    let body = Block::of(|b| {
        let here = flagged(cx, b, f, &point.leaders, &present);
        if somewhere {
            return arrive(cx, b, f, point, at, &here, Driven::Stored);
        }
        let needed = fiber::holds(cx, sequence, &|a| present[place(a)]);
        b.when(needed, |b| arrive(cx, b, f, point, at, &here, Driven::Stored), |_| {});
    });
    let lists = point.leaders.iter().map(|a| (*a, f.lists[a])).collect();
    b.push(Op::Wide { lists, live: sequence.clone(), at, present, body });
}

/// Plans a coordinate of a point: followers are advanced to it, then the body runs, if the followers' entries there satisfy the point's
/// condition on them.
fn arrive(cx: &Context, b: &mut Block, f: &Forall, point: &Point, at: Sym, here: &[Here], driven: Driven) {
    let mut all: Vec<Here> = here.to_vec();
    let accesses = point.body.accesses();
    let deciding = point.beside.lists();
    for &a in point.followers.iter().filter(|a| accesses.contains(a)) {
        // A follower in that condition may be far longer than the leaders: exponential search keeps the time in proportion to the
        // leaders' entries.
        let far = deciding.contains(&a) && access::protocol(cx, f.scope(), a).is_none();
        let gallops = far || access::gallops(cx, f.scope(), a);
        b.push(Op::CatchUp { list: f.lists[&a], at, gallops });
        all.push(dense::follow(cx, b, f, a, at));
    }
    let enough = enough(cx, point, &all);
    let scope = come_to_entries(cx, b, f.scope(), (f.v, at), all);
    let body = |b: &mut Block| go_on(cx, b, (f.v, f.rest), &point.body, scope, f.sink, driven);
    if deciding.is_empty() {
        return body(b);
    }
    f.sink.skip(f.v);
    b.when(enough, body, |_| {});
}

/// The condition on the followers' entries under which a point's body runs.
fn enough(cx: &Context, point: &Point, here: &[Here]) -> Sym {
    let present = |a| here.iter().find(|here| here.access == a).and_then(|here| here.present);
    fiber::holds(cx, &point.beside, &|a| present(a).expect("who follows may be absent"))
}

/// The scope in which an index variable is bound to a coordinate, and lists have descended to their entries there; a list in blocks is
/// bounded by its block.
fn come_to_entries(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    (v, at): (Index, Sym),
    here: impl IntoIterator<Item = Here>,
) -> Scope {
    let mut inner = scope.clone();
    choice::bind(cx, b, &mut inner, v, at);
    for Here { access, entry, present } in here {
        if scope.in_blocks.contains(&access) {
            let (begin, run) = entry;
            let end = cx.symbols.read("end", Type::I64);
            b.push(Op::RunEnd { it: end, run: run.expect("a block ends") });
            let block = fingers::block(cx, &inner, access, v, (begin, end));
            inner.narrow(access, block, present);
        } else {
            inner.walk(access, entry, present);
        }
    }
    inner
}

/// Plans the body of a loop that has bound `v`: opens levels, under a guard if a search may fail.
fn go_on(
    cx: &Context,
    b: &mut Block,
    (v, rest): (Index, &[Index]),
    body: &concrete::Expr,
    mut scope: Scope,
    sink: &Sink,
    driven: Driven,
) {
    if is_nothing(cx, sink, body) {
        return sink.skip(v);
    }
    if driven != Driven::Counted {
        sink.passes();
    }
    let nothing = |e: &concrete::Expr| is_nothing(cx, sink, e);
    if let Some((conditions, behind)) = condition::first_asked(cx, &scope, body, sink.falls(cx.program), &nothing) {
        conditions.iter().for_each(|c| drop(fiber::locate(cx, b, &mut scope, c, false)));
        let all: Vec<Sym> = conditions.iter().map(|c| fiber::value(cx, b, &scope, c)).collect();
        let all = cx.symbols.all(all).expect("some are asked");
        sink.skip(v);
        return b.when(all, |b| go_on(cx, b, (v, rest), &behind, scope, sink, driven.guarded()), |_| {});
    }
    let flagged = !rest.is_empty() || condition::has_loops(body) || sink.keeps_entries();
    let searched = fiber::locate(cx, b, &mut scope, body, flagged);
    let guard = if searched.is_empty() {
        None
    } else {
        fiber::guard(cx, &mut scope, body, &searched, &|e| is_nothing(cx, sink, e))
    };
    let Some(guard) = guard else { return sieved(cx, b, (v, rest), body, scope, sink, driven) };
    if let (Sink::Scalar { var, fun, begun: None }, []) = (sink, rest)
        && let Some(value) = spread::folded_anyway(cx, b, (&scope, &searched), body)
    {
        return accumulate(cx, b, (*var, *fun), None, value);
    }
    let body = &scope.holding(&searched).fold(body.clone(), |body, c| condition::where_it_holds(cx, &body, c));
    sink.skip(v);
    b.when(guard, |b| sieved(cx, b, (v, rest), body, scope, sink, driven.guarded()), |_| {});
}

/// A guard that bound variables determine, without which a body has no effect, and the body under that guard; `None` if there is none.
fn sieve(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    body: &concrete::Expr,
    nothing: &dyn std::ops::Fn(&concrete::Expr) -> bool,
) -> Option<(Sym, concrete::Expr)> {
    all_hold(cx, b, scope, condition::all_needed(cx, scope, body, nothing))
}

/// The conjunction of conditions, with the body under them.
fn all_hold(
    cx: &Context,
    b: &mut Block,
    scope: &Scope,
    (conditions, body): (Vec<concrete::Expr>, concrete::Expr),
) -> Option<(Sym, concrete::Expr)> {
    let all: Vec<Sym> = conditions.iter().map(|c| fiber::value(cx, b, scope, c)).collect();
    cx.symbols.all(all).map(|all| (all, body))
}

/// Plans the rest of the body under those guards that can be evaluated here. They stand before the loops inside. An innermost loop has
/// only guards that keep entries out of a result: guards from properties of functions (sets that omit coordinates), and comparisons of
/// values. Elsewhere a guard costs more than the value.
fn sieved(
    cx: &Context,
    b: &mut Block,
    (v, rest): (Index, &[Index]),
    body: &concrete::Expr,
    scope: Scope,
    sink: &Sink,
    driven: Driven,
) {
    let loops = !rest.is_empty() || !sink.inside().is_empty();
    let nothing = |e: &concrete::Expr| is_nothing(cx, sink, e);
    let sieve = if loops {
        sieve(cx, b, &scope, body, &nothing)
    } else {
        let keeps = sink.keeps_entries();
        let produces = keeps.then(|| condition::produces(cx, &scope, body, &nothing)).flatten();
        let produces = produces.map(|c| (fiber::value(cx, b, &scope, &c), body.clone()));
        // Values are put into a workspace without a test.
        let stores = keeps && matches!(sink, Sink::Store { .. });
        produces.or_else(|| all_hold(cx, b, &scope, stores.then(|| condition::on_values(cx, &scope, body, &nothing))?))
    };
    match sieve {
        None => inside(cx, b, (v, rest), body, scope, sink, driven),
        Some((c, body)) => {
            sink.skip(v);
            b.when(c, |b| inside(cx, b, (v, rest), &body, scope, sink, driven.guarded()), |_| {});
        }
    }
}

fn inside(
    cx: &Context,
    b: &mut Block,
    (v, rest): (Index, &[Index]),
    body: &concrete::Expr,
    mut scope: Scope,
    sink: &Sink,
    driven: Driven,
) {
    if !rest.is_empty() || condition::has_loops(body) {
        fiber::keep_values(cx, b, &mut scope, body);
    }
    let entered = sink.enters(v).and_then(|(output, slot)| {
        let at = coordinate::of(cx, &scope, output.next_var(slot)?)?;
        Some((output, slot, at))
    });
    let Some((output, slot, at)) = entered else { return plan(cx, b, rest, body, scope, sink) };
    output.notes.reached(slot, &|a| scope.fiber(a).depth);
    let positions = output.shared(slot, &scope);
    output.visit(cx, b, slot, (at, driven), positions, |b, slot| {
        let slot = output.locate(cx, b, slot, &scope);
        plan(cx, b, rest, body, scope.clone(), &sink.at(slot));
    });
}

/// Plans the bottom of a nest. A scatter runs only where no coordinate is missing.
fn landed(cx: &Context, b: &mut Block, body: &concrete::Expr, scope: &Scope, sink: &Sink) {
    let mut scope = scope.clone();
    let lands = match sink {
        Sink::Store { nest, .. } | Sink::Scatter { nest, .. } => places::lands(cx, b, nest, &mut scope),
        _ => None,
    };
    match lands {
        Some(lands) => b.when(lands, |b| leaf(cx, b, body, &scope, sink), |_| {}),
        None => leaf(cx, b, body, &scope, sink),
    }
}

fn leaf(cx: &Context, b: &mut Block, body: &concrete::Expr, scope: &Scope, sink: &Sink) {
    match sink {
        Sink::Scalar { var, fun, begun } => {
            // Values that both destinations use are loaded once.
            let shared = cx.both.map(|(both, _)| {
                let mut scope = scope.clone();
                fiber::keep_values(cx, b, &mut scope, &both.rhs);
                scope
            });
            let scope = shared.as_ref().unwrap_or(scope);
            let value = fiber::value(cx, b, scope, body);
            accumulate(cx, b, (*var, *fun), *begun, value);
            if let Some((Both { at, fun, rhs }, of)) = cx.both {
                let value = fiber::value(cx, b, scope, rhs);
                let at = coordinate::of(cx, scope, *at).expect("bound: checked concrete notation");
                b.push(Op::FoldIn { of, at, fun: *fun, value });
            }
        }
        Sink::Store { nest, output, slot } => {
            let value = fiber::value(cx, b, scope, body);
            let scope = places::placed(cx, b, nest, scope);
            let slot = output.locate(cx, b, *slot, &scope);
            output.store(b, &slot, nest.fold, value);
        }
        Sink::Tally(tally) => counting::tally(cx, b, tally, scope),
        // There is no loop inside.
        Sink::Bound { most, .. } => b.set(*most, cx.symbols.plus(*most, cx.symbols.int(1))),
        Sink::Scatter { nest, scratch } => {
            let value = fiber::value(cx, b, scope, body);
            let scope = places::placed(cx, b, nest, scope);
            let coordinate = |v: &Index| coordinate::of(cx, &scope, *v).expect("all loops are bound");
            let at = scratch.vars.iter().map(coordinate).collect();
            b.push(Op::Put { work: scratch.name, at, fold: nest.fold, value });
        }
        Sink::Around { nest, output, slot, scratch } => around(cx, b, body, scope, (nest, output, slot, scratch)),
    }
}

/// Plans what stands inside of the loops around a workspace: it is filled, and drained.
fn around(
    cx: &Context,
    b: &mut Block,
    body: &concrete::Expr,
    scope: &Scope,
    (nest, output, slot, scratch): (&Nest, &Output, &Slot, &Scratch),
) {
    scratch.clear(b);
    let before = statement::before(cx, nest);
    let was = before.as_ref().map(|before| (before, &before.rhs));
    if let Some(most) = scratch.most() {
        // This pass only counts, before the pass that puts values: it loads the ends of all inner fibers into the cache, and no load
        // waits for another. The second pass need not count.
        b.set(most, Sym::ZERO);
        // The counting pass must not move fingers.
        let mut through = scope.clone();
        through.fingers.clear();
        for (nest, body) in was.into_iter().chain([(nest, body)]) {
            let sink = Sink::Bound { nest, scratch, most };
            cx.aside(|| plan(cx, b, nest.filling(), body, through.clone(), &sink));
        }
    }
    let through = |b: &mut Block| {
        if let Some((nest, body)) = was {
            plan(cx, b, nest.filling(), body, scope.clone(), &Sink::Scatter { nest, scratch });
            b.push(Op::LayOld { work: scratch.name });
        }
        plan(cx, b, nest.filling(), body, scope.clone(), &Sink::Scatter { nest, scratch });
        scratch.drain(cx, b, scope, output, slot);
    };
    let Reached::Anywhere { most, few: Some(few) } = scratch.reached else { return through(b) };
    let is_short = cx.symbols.op(Fn::Le, [most, cx.symbols.int(cx.few)]);
    b.push(Op::ByLength { work: scratch.name, few, is_short, body: Block::of(through) });
}

/// `t = f(t, value)`
fn accumulate(cx: &Context, b: &mut Block, ((t, ty), fun): ((Sym, Type), Fun), begun: Option<Sym>, value: Sym) {
    let Some(begun) = begun else {
        let joined = builtin::applied(cx, b, fun, vec![t, value], ty);
        return b.set(t, joined);
    };
    let value = b.define(cx, "value", ty, value);
    let first = |b: &mut Block| {
        b.set(t, value);
        b.set(begun, cx.symbols.bool(true));
    };
    let join = |b: &mut Block| {
        let joined = builtin::applied(cx, b, fun, vec![t, value], ty);
        b.set(t, joined);
    };
    b.when(begun, join, first);
}

impl<'a> Sink<'a> {
    fn slot(&self) -> Option<(&'a Output, &Slot)> {
        match self {
            Sink::Store { output, slot, .. } | Sink::Around { output, slot, .. } => Some((output, slot)),
            _ => None,
        }
    }

    /// The destination of the values of a loop over `v`, as choices of walks describe it.
    fn goal(&self, v: Index) -> Goal {
        match self {
            Sink::Scalar { .. } => Goal::Scalar,
            Sink::Store { nest, output, slot } => {
                let appends = self.appends(v).is_some();
                Goal::Result(Stored {
                    assigned: nest.places.is_none() && nest.fold.is_none(),
                    appends,
                    last: appends && output.appends_last(slot),
                    chained: output.form.chained(slot.level),
                    whole: output.has_whole_fibers(slot),
                    runs: output.is_of_runs() && output.next_var(slot) == Some(v),
                })
            }
            Sink::Scatter { nest, scratch } => {
                Goal::Workspace { in_bulk: nest.places.is_none() && scratch.has_set(v, nest.fold.is_some()) }
            }
            Sink::Tally(_) => Goal::Counts,
            Sink::Bound { .. } | Sink::Around { .. } => Goal::Around,
        }
    }

    /// The nest's loops inside of the workspace, if this destination is around a workspace.
    fn inside(&self) -> &'a [Index] {
        match self {
            Sink::Around { nest, .. } => nest.filling(),
            _ => &[],
        }
    }

    /// Whether the result has a level over `v` itself, so that coordinates that the loop does not reach are not stored.
    fn has_level(&self, v: Index) -> bool {
        self.slot().is_some_and(|(output, _)| output.form.vars.contains(&v))
    }

    /// Whether it stores entries: a coordinate without effect must not reach it.
    fn keeps_entries(&self) -> bool {
        match self {
            Sink::Scalar { .. } => false,
            Sink::Store { output, .. } => output.form.keeps_entries(),
            Sink::Scatter { .. } | Sink::Around { .. } | Sink::Bound { .. } | Sink::Tally(_) => true,
        }
    }

    /// The output, if a loop over `v` is the innermost of those that determine the coordinate of its next level.
    fn enters(&self, v: Index) -> Option<(&'a Output, &Slot)> {
        self.slot().filter(|(output, slot)| output.next_ends_with(slot, v))
    }

    /// The output, if `v` is the innermost variable of its next level, and that level is appended to.
    fn appends(&self, v: Index) -> Option<(&'a Output, &Slot)> {
        self.enters(v).filter(|(output, slot)| output.form.is_list(slot.level))
    }

    /// Records that a loop does not visit all of its coordinates.
    fn passes(&self) {
        if let Some((output, _)) = self.slot() {
            output.notes.passes();
        }
    }

    /// Records that some coordinate of `v` is skipped.
    fn skip(&self, v: Index) {
        self.passes();
        let moves = |output: &Output, slot: &Slot| output.next_follows(slot, v) || output.is_moved_by_none(v);
        if let Some((output, slot)) = self.slot().filter(|(output, slot)| moves(output, slot)) {
            output.notes.skipped(slot);
        }
    }

    /// This destination, at a slot further down.
    fn at(&self, slot: Slot) -> Sink<'a> {
        match self {
            Sink::Store { nest, output, .. } => Sink::Store { nest, output, slot },
            Sink::Around { nest, output, scratch, .. } => Sink::Around { nest, output, slot, scratch },
            Sink::Scalar { var, fun, begun } => Sink::Scalar { var: *var, fun: *fun, begun: *begun },
            Sink::Scatter { nest, scratch } => Sink::Scatter { nest, scratch },
            Sink::Bound { nest, scratch, most } => Sink::Bound { nest, scratch, most: *most },
            Sink::Tally(tally) => Sink::Tally(tally),
        }
    }
}

/// The only list of a point that has one leader and no follower.
fn alone(point: &Point) -> Option<AccessId> {
    (point.shape == Shape::Each && point.followers.is_empty()).then(|| point.leaders[0])
}

/// The access whose whole fiber is walked, with no other list beside it.
fn walked_whole(parts: &[Part]) -> Option<AccessId> {
    let [part] = parts else { return None };
    alone(part.top()).filter(|a| part.fibers[a].is_counted())
}
