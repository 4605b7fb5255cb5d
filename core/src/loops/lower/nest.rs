//! Emits a loop nest: for each index variable, splits its range, builds a lattice for each part, and emits one loop shape per lattice
//! point.

mod dense;
mod entries;
mod places;
pub(super) mod stepped;
mod tentative;

use super::book::Frame;
use super::counting::Tally;
use super::few::Few;
use super::fiber::placed;
use super::output::{Output, Slot};
use super::workspace::Scratch;
use super::{BufferId, Context, Expr, Holds, binary, held, int};
use crate::algebra::Op;
use crate::iteration::{Lattice, Point, Sequence, Shape};
use crate::loops::arith::yes;
use crate::loops::choose::{
    Effect, access, condition, fingers,
    range::Piece,
    scope::{Positions, Scope},
    walk::{self, Goal, Listed, Loop, Stored},
};
use crate::loops::lower::{choice, coordinate, counting, cut, fiber, made, range, spread, statement};
use crate::loops::plan::{self, Arm, Blocks, How, Level, Pass, Walk};
use crate::loops::{Asked, Stmt, Symbolic, Term, Var};
use crate::notation::concrete::{self, AccessId, Both, Index, Nest};
use crate::notation::typed::Fun;
use crate::stream::{Domain, List, ListFiber, PATIENCE, Side};
use crate::stream::{intersect, leap, unite_flat, unite_two, wide};
use std::collections::BTreeMap;

/// The destination of a nest's values.
pub(super) enum Sink<'a> {
    /// Folds into a scalar: `t = f(t, value)`. With the flag `begun`, the first value is assigned instead of folded.
    Scalar { var: Var, fun: Fun, begun: Option<Var> },
    /// Stores into the result's levels, at the slot that the loops have reached.
    Store { nest: &'a Nest, output: &'a Output, slot: Slot },
    /// Puts values into a workspace.
    Scatter { nest: &'a Nest, scratch: &'a dyn Scratch },
    /// Counts, and then places, the entries of a copy.
    Tally(&'a Tally<'a>),
    /// Stores nothing: each innermost loop adds to `most` a bound on the number of values that it would put into the workspace.
    Bound { nest: &'a Nest, scratch: &'a dyn Scratch, most: Var },
    /// The loops around a workspace: inside of the innermost one, the rest of the nest fills the workspace, then it is drained.
    Around { nest: &'a Nest, output: &'a Output, slot: Slot, scratch: &'a dyn Scratch },
}

/// How a loop visits a coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driven {
    /// The loop is at an entry of a list.
    Stored,
    /// The loop counts through the extent, without conditions.
    Counted,
    /// The loop counts, and the body is under a condition.
    Guarded,
}

impl Driven {
    /// This way of visiting a coordinate, under a condition.
    fn guarded(self) -> Driven {
        if self == Driven::Counted { Driven::Guarded } else { self }
    }
}

/// The current entry of a list while a loop is at a coordinate.
#[derive(Clone)]
struct Here {
    access: AccessId,
    entry: Positions,
    /// The condition under which the entry is at this coordinate; `None` if it always is.
    present: Option<Expr>,
}

/// A range of a loop: its lattice, and the fibers over which the lattice's points walk.
struct Part<'a> {
    piece: Piece,
    lattice: Lattice,
    fibers: BTreeMap<AccessId, ListFiber<Term>>,
    /// Accesses whose levels have pieces that end within the range. If there are any, the range is split piece by piece.
    stepped: Vec<AccessId>,
    /// The range's step in the plan, which the walk resumes later.
    step: Frame<'a>,
}

impl Part<'_> {
    /// The first point of the lattice, at which all lists have entries.
    fn top(&self) -> &Point {
        &self.lattice.points[0]
    }
}

/// One range of an index variable's loop, while its points are emitted.
struct Forall<'a> {
    v: Index,
    rest: &'a [Index],
    piece: &'a Piece,
    lattice: &'a Lattice,
    lists: &'a BTreeMap<AccessId, List<Term>>,
    sink: &'a Sink<'a>,
}

impl Forall<'_> {
    /// The scope of the loop: the bindings of the loops around it.
    fn scope(&self) -> &Scope {
        &self.piece.scope
    }

    /// Applies a function to the description of this loop that choices of walks use.
    fn chosen<R>(&self, cx: &Context, of: impl FnOnce(&Loop) -> R) -> R {
        let (goal, effect) = (self.sink.goal(self.v), effect(cx, self.sink));
        let list = |a: AccessId| Listed { lanes: self.lists[&a].has_lanes(), repeats: self.lists[&a].repeats() };
        of(&Loop { rest: self.rest, scope: self.scope(), goal, effect, list: &list })
    }

    /// The ways to walk a point, the least expensive first.
    fn ways(&self, cx: &Context, point: &Point) -> Vec<How> {
        self.chosen(cx, |of| of.ways(cx, point))
    }
}

/// How a destination uses a value: it folds the value, or stores it.
pub(super) fn effect(cx: &Context, sink: &Sink) -> Effect {
    match sink {
        Sink::Scalar { fun, begun, .. } => Effect::Folded { fun: *fun, begins: begun.is_some() },
        Sink::Store { nest: Nest { fold: Some(fun), .. }, .. }
        | Sink::Scatter { nest: Nest { fold: Some(fun), .. }, .. }
        | Sink::Around { nest: Nest { fold: Some(fun), .. }, .. }
        | Sink::Bound { nest: Nest { fold: Some(fun), .. }, .. } => Effect::Folded { fun: *fun, begins: false },
        Sink::Scatter { scratch, .. } | Sink::Bound { scratch, .. } => Effect::Stored(scratch.initial()),
        Sink::Tally(tally) => Effect::Stored(cx.program.tensors[tally.nest.target.tensor.0].fill),
        Sink::Store { output, .. } | Sink::Around { output, .. } => Effect::Stored(output.initial),
    }
}

/// Whether a body leaves the destination unchanged.
pub(super) fn is_nothing(cx: &Context, sink: &Sink, body: &concrete::Expr) -> bool {
    cx.is_nothing(effect(cx, sink), body)
}

/// Emits loops over `vars` around `body`.
pub(super) fn emit(
    cx: &Context,
    d: &mut Symbolic,
    vars: &[Index],
    body: &concrete::Expr,
    mut scope: Scope,
    sink: &Sink,
) {
    // Levels whose coordinates no loop binds are searched here, before the loops.
    fiber::locate(cx, d, &mut scope, body, false);
    if let Some(body) = made::made(cx, d, &scope, body) {
        return emit(cx, d, vars, &body, scope, sink);
    }
    let Some((&v, rest)) = vars.split_first() else { return landed(cx, d, body, &scope, sink) };
    if let Sink::Scalar { .. } = sink
        && let Some((c, body)) = sieve(cx, d, &scope, body, &|e| is_nothing(cx, sink, e))
    {
        return d.when(c, |d| emit(cx, d, vars, &body, scope, sink), |_| {});
    }
    let leaped = spread::leaped(cx, d, &scope, (v, rest), body, sink);
    if !leaped.is_empty() {
        return spread::leap_or_loop(cx, d, leaped.into_iter(), (vars, body), scope, sink);
    }
    let laid = spread::lay(cx, d, &mut scope, v, body, sink);
    loops(cx, d, vars, body, scope, sink);
    laid.into_iter().for_each(|list| spread::take_up(cx, d, list));
}

/// Emits the loop over the first of `vars`, range by range, with the other loops inside.
pub(super) fn loops<'a>(
    cx: &Context<'a>,
    d: &mut Symbolic,
    vars: &[Index],
    body: &concrete::Expr,
    mut scope: Scope,
    sink: &Sink,
) {
    let (&v, rest) = vars.split_first().expect("there are loops");
    cx.book.enter_if(|given: &plan::Forall| given.0 == v, || plan::Forall(v));
    if !cx.program.vars[v.0].limits.is_empty() && sink.has_level(v) {
        sink.skip(v);
    }
    let in_blocks = || {
        let located = sink.slot().is_some_and(|(o, slot)| o.next_follows(slot, v) && !o.form.is_list(slot.level));
        walk::seen_in_blocks(cx, &scope, body, v, effect(cx, sink), located).into_iter().map(Blocks).collect()
    };
    scope.in_blocks = cx.book.all(in_blocks).into_iter().map(|Blocks(a)| a).collect();
    cut::open_cut(cx, d, &mut scope, v, body);
    let fingers = || fingers::fingers(cx, &scope, &[vars, sink.inside()].concat(), body);
    let fingers = cx.book.decide_all(fingers);
    range::point_fingers(cx, d, &mut scope, fingers);
    let pieces = choice::ranges(cx, d, &scope, (v, rest), body).into_iter();
    let parts: Vec<Part<'a>> = pieces.map(|piece| part(cx, d, v, piece, sink)).collect();
    // Several parts may together visit a whole fiber, but that is not proved.
    if let Some((output, _)) = sink.slot().filter(|_| parts.len() > 1 || parts.iter().any(|p| !p.stepped.is_empty())) {
        output.notes.goes_along(None);
    }
    if let (Sink::Bound { most, .. }, []) = (sink, rest) {
        let more = at_most_of(cx, d, &parts);
        parts.into_iter().for_each(|part| cx.book.end(part.step));
        cx.book.leave();
        return d.assign(*most, super::plus(Expr::Var(*most), more));
    }
    // If one part reserves room piece by piece, every part reserves its own.
    let apart = parts.iter().any(|part| !part.stepped.is_empty());
    if let Some((output, slot)) = sink.appends(v) {
        for part in &parts {
            output.notes.led_by(slot, led_by(cx, part, v));
        }
        output.notes.goes_along(walked_whole(&parts).filter(|a| scope.fiber(*a).depth == slot.level));
        let all: &[Part] = if apart { &[] } else { &parts };
        output.open(d, slot, &|d| at_most_of(cx, d, all));
    }
    for part in parts {
        if apart {
            stepped::make_room(cx, d, &part, v, sink);
        }
        run(cx, d, part, (v, rest), sink);
    }
    if let Some((output, slot)) = sink.appends(v) {
        output.close(d, slot);
    }
    cx.book.leave();
}

/// A range of `v`, with its lattice and the fibers over which the lattice's points walk.
fn part<'a>(cx: &Context<'a>, d: &mut Symbolic, v: Index, piece: Piece, sink: &Sink) -> Part<'a> {
    cx.book.enter(|| plan::Range);
    let (scope, body) = (&piece.scope, &piece.body);
    cx.book.all(|| access::looplets(cx, scope, body, v));
    let mut names = access::walked(cx, scope, body, v);
    let accesses = body.accesses();
    names.extend(scope.in_blocks.iter().filter(|a| accesses.contains(a)));
    let lattice = lattice(cx, body, &names, sink);
    let alone = alone(&lattice.points[0]).is_some();
    let fiber = |&a: &AccessId| {
        let view = range::view(cx, d, scope, (a, scope.fiber(a).depth), v, &piece.range);
        if let Some(fiber) = fiber::of_run(cx, scope, a).filter(|_| alone && view.is_whole()) {
            return (a, ListFiber { view, ..fiber });
        }
        let mut fiber = ListFiber { view, ..fiber::unopened(cx, d, scope, a) };
        if let Some((begin, end, clips)) = cut::of_piece(cx, scope, (a, scope.fiber(a).depth), v, &piece.range) {
            let (from, to) = (d.place(&fiber.begin), d.place(&fiber.end));
            let (begin, end) = match clips {
                true => (binary(Op::Max, from, begin), binary(Op::Min, to, end)),
                false => (begin, end),
            };
            fiber.begin = Term::fixed(held(d, "begin", begin));
            fiber.end = Term::fixed(held(d, "end", end));
            (fiber.view.start, fiber.view.stop) = (None, None);
        }
        if !alone || !fiber.is_counted() {
            fiber.end = d.snapshot("end", fiber.end);
        }
        (a, fiber)
    };
    let fibers = names.iter().map(fiber).collect();
    let stepped = access::stepped_along(cx, scope, &lattice.points[0].body, v);
    Part { piece, lattice, fibers, stepped, step: cx.book.pause() }
}

/// The lattice over `lists` for a body.
fn lattice(cx: &Context, body: &concrete::Expr, lists: &[AccessId], sink: &Sink) -> Lattice {
    let fill = |a: AccessId| cx.fill(a);
    let lattice = Lattice::of(body, lists, &fill, &|e| is_nothing(cx, sink, e), cx.simplify);
    cx.book.all(|| lattice.points.iter().cloned().map(plan::Point::from).collect());
    lattice
}

/// Emits the loops of a range.
fn run<'a>(cx: &Context<'a>, d: &mut Symbolic, part: Part<'a>, (v, rest): (Index, &[Index]), sink: &Sink) {
    let asked = cx.program.vars[v.0].asked;
    let around = std::mem::replace(&mut d.wanted, (asked != Asked::default()).then_some(asked));
    let Part { piece, lattice, fibers, stepped, step } = part;
    cx.book.resume(step);
    run_as_asked(cx, d, (&piece, &lattice, &fibers, &stepped), (v, rest), sink);
    cx.book.leave();
    d.wanted = around;
}

fn run_as_asked(
    cx: &Context,
    d: &mut Symbolic,
    (piece, lattice, fibers, stepped): (&Piece, &Lattice, &BTreeMap<AccessId, ListFiber<Term>>, &[AccessId]),
    (v, rest): (Index, &[Index]),
    sink: &Sink,
) {
    if !stepped.is_empty() {
        return stepped::stepped(cx, d, piece, stepped, (v, rest), sink);
    }
    let top = &lattice.points[0];
    if let Some(a) = alone(top) {
        return entries::each_entry(cx, d, top, (v, rest), &fibers[&a], &piece.scope, sink);
    }
    let list = |(a, fiber): (&AccessId, &ListFiber<Term>)| {
        (*a, List::open(d, &format!("p_{}", cx.program.tensor(*a).name), fiber.clone()))
    };
    let lists = fibers.iter().map(list).collect();
    let forall = Forall { v, rest, piece, lattice, lists: &lists, sink };
    walk_point(cx, d, &forall, top);
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
    fiber::levels(cx, a)[depth].array(Holds::Coordinates)?;
    let moves = |u: &Index| above.iter().any(|w| cx.program.follows(*w, *u));
    let loops: Vec<Index> = scope.order.iter().copied().chain([v]).collect();
    // Below a position that several coordinates share, entries are visited once for each coordinate.
    let shared = cx.program.tensor(a).format.levels[..depth].iter().any(|kind| kind.shares());
    let above_once = || above.iter().all(|w| access::comes_once(cx, *w, &loops));
    (!shared && loops.iter().all(moves) && above_once()).then_some((a, depth))
}

/// A bound on the number of coordinates that all parts visit, and so of entries that they append. The bound covers speculatively stored
/// entries: when one is stored, fewer entries are kept than coordinates are counted so far.
fn at_most_of<'a, 'p>(cx: &Context, d: &mut Symbolic, parts: impl IntoIterator<Item = &'p Part<'a>>) -> Expr
where
    'a: 'p,
{
    let bounds = parts.into_iter().map(|part| at_most(cx, d, part));
    bounds.reduce(|a, b| binary(Op::Add, a, b)).unwrap_or(int(0))
}

/// A bound on the number of coordinates that a range's loops visit.
fn at_most(cx: &Context, d: &mut Symbolic, part: &Part) -> Expr {
    let point = part.top();
    if !part.stepped.is_empty() {
        return coordinate::length(cx, &part.piece.range);
    }
    let lengths: Vec<Expr> = point
        .leaders
        .iter()
        .map(|a| {
            let fiber = &part.fibers[a];
            binary(Op::Sub, d.place(&fiber.end), d.place(&fiber.begin))
        })
        .collect();
    let joined = match point.shape {
        Shape::Nothing => None,
        Shape::Dense => return coordinate::length(cx, &part.piece.range),
        Shape::Intersect => lengths.into_iter().reduce(|a, b| binary(Op::Min, a, b)),
        Shape::Each | Shape::Tree | Shape::Wide => lengths.into_iter().reduce(|a, b| binary(Op::Add, a, b)),
    };
    joined.unwrap_or_else(|| int(0))
}

/// Emits the loop of a point, and the loops of the points that remain when its lists are exhausted.
fn walk_point(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point) {
    let place = f.lattice.points.iter().position(|p| p == point).unwrap_or_default();
    let choose = || Walk { point: place, how: f.ways(cx, point)[0] };
    let fits = |walk: &Walk| walk.point == place && f.ways(cx, point).contains(&walk.how);
    cx.book.inside_if(fits, choose, |walk| go(cx, d, f, point, walk.how));
}

fn go(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point, how: How) {
    let stored = |d: &mut Symbolic, at: &Term| {
        let here = resting(cx, d, f, &point.leaders);
        arrive(cx, d, f, point, at, &here, Driven::Stored);
    };
    match how {
        How::Nothing => f.sink.skip(f.v),
        How::Every | How::Constant | How::Gaps | How::CountedGaps | How::Between => dense::dense(cx, d, f, point, how),
        How::Decided => tentative::store_decided(cx, d, f, point),
        How::Lanes => tentative::follow_in_lanes(cx, d, f, point),
        How::Each | How::Sift | How::Gapless => alone_in_loop(cx, d, f, point),
        How::Tentative => tentative::store_always(cx, d, f, point),
        How::Leap => {
            let galloping = point.leaders.iter().map(|a| (&f.lists[a], access::gallops(cx, f.scope(), *a)));
            leap(d, &galloping.collect::<Vec<_>>(), &mut |d, at| stored(d, at));
        }
        // Where the lists do not meet, operands have their fill values, and the sum is unchanged.
        How::Flat => tentative::meets(cx, d, f, point, &mut |d, at, mut here, met| {
            let met = d.place(met);
            here.iter_mut().for_each(|here| here.present = Some(met.clone()));
            arrive(cx, d, f, point, at, &here, Driven::Stored);
        }),
        How::Meet => {
            let lists: Vec<&List<Term>> = point.leaders.iter().map(|a| &f.lists[a]).collect();
            intersect(d, &lists, &mut |d, at| stored(d, at));
        }
        How::Tree | How::FlatTree => tree(cx, d, f, point, how),
        How::Wide => wide_loop(cx, d, f, point),
    }
}

/// The loop over the entries of the leading list; followers are advanced to each entry.
fn alone_in_loop(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point) {
    let a = point.leaders[0];
    let name = format!("q_{}", cx.program.tensor(a).name);
    f.lists[&a].each(d, &name, &mut |d, entry| {
        let at = f.lists[&a].coordinate(d, &entry);
        let at = d.snapshot(&cx.program.vars[f.v.0].name, at);
        let here = Here { access: a, entry: placed(cx, d, &entry), present: None };
        arrive(cx, d, f, point, &at, &[here], Driven::Stored);
    });
}

/// The current entries of lists.
fn resting(cx: &Context, d: &mut Symbolic, f: &Forall, lists: &[AccessId]) -> Vec<Here> {
    let here = |&access: &AccessId| {
        let entry = f.lists[&access].entry(d);
        Here { access, entry: placed(cx, d, &entry), present: None }
    };
    lists.iter().map(here).collect()
}

/// The current entries of lists, each present if its flag is set.
fn flagged(cx: &Context, d: &mut Symbolic, f: &Forall, lists: &[AccessId], flags: &[&Term]) -> Vec<Here> {
    let mut here = resting(cx, d, f, lists);
    for (here, flag) in here.iter_mut().zip(flags) {
        here.present = Some(d.place(flag));
    }
    here
}

fn tree(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point, how: How) {
    let (a, b) = (point.leaders[0], point.leaders[1]);
    let (first, second) = (&f.lists[&a], &f.lists[&b]);
    if how == How::FlatTree {
        unite_flat(d, first, second, PATIENCE, &mut |d, at, present| {
            let here = match present {
                None => resting(cx, d, f, &point.leaders),
                Some(flags) => flagged(cx, d, f, &point.leaders, &flags),
            };
            arrive(cx, d, f, point, at, &here, Driven::Stored);
        });
    } else {
        unite_two(d, first, second, &mut |d, side, at| {
            let (present, absent): (&[AccessId], Option<AccessId>) = match side {
                Side::Both => (&[a, b], None),
                Side::First => (&[a], Some(b)),
                Side::Second => (&[b], Some(a)),
            };
            let here = resting(cx, d, f, present);
            cx.book.under(Arm(present.to_vec()), || {
                arrive(cx, d, f, &walk::without(cx, point, absent), at, &here, Driven::Stored);
            });
        });
    }
    for (_, next) in &point.edges {
        walk_point(cx, d, f, &f.lattice.points[*next]);
    }
}

fn wide_loop(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point) {
    let lists: Vec<&List<Term>> = point.leaders.iter().map(|a| &f.lists[a]).collect();
    let place = |a: AccessId| point.leaders.iter().position(|l| *l == a).expect("a leader");
    let sequence = &point.sequence;
    let live = |d: &mut Symbolic, valid: &[Term]| {
        let valid: Vec<Expr> = valid.iter().map(|t| d.place(t)).collect();
        Term::fixed(fiber::holds(sequence, &|a| valid[place(a)].clone()))
    };
    let somewhere = matches!(sequence, Sequence::Or(parts) if parts.iter().all(|s| matches!(s, Sequence::List(_))));
    wide(d, &lists, &live, &mut |d, at, present| {
        let here = flagged(cx, d, f, &point.leaders, &present.iter().collect::<Vec<_>>());
        if somewhere {
            return arrive(cx, d, f, point, at, &here, Driven::Stored);
        }
        let flags: Vec<Expr> = present.iter().map(|t| d.place(t)).collect();
        let needed = fiber::holds(sequence, &|a| flags[place(a)].clone());
        d.when(needed, |d| arrive(cx, d, f, point, at, &here, Driven::Stored), |_| {});
    });
}

/// Emits the code for a coordinate of a point: followers are advanced to it, then the body runs, if the followers' entries there satisfy
/// the point's condition on them.
fn arrive(cx: &Context, d: &mut Symbolic, f: &Forall, point: &Point, at: &Term, here: &[Here], driven: Driven) {
    let mut all: Vec<Here> = here.to_vec();
    let accesses = point.body.accesses();
    let deciding = point.beside.lists();
    for &a in point.followers.iter().filter(|a| accesses.contains(a)) {
        // A follower in that condition may be far longer than the leaders: exponential search keeps the time in proportion to the
        // leaders' entries.
        let far = deciding.contains(&a) && access::protocol(cx, f.scope(), a).is_none();
        if far || access::gallops(cx, f.scope(), a) {
            f.lists[&a].gallop(d, at);
        } else {
            f.lists[&a].catch_up(d, at);
        }
        all.push(dense::follow(cx, d, f, a, at));
    }
    let enough = enough(point, &all);
    let at = d.place(at);
    let scope = come_to_entries(cx, d, f.scope(), (f.v, at), all);
    let body = |d: &mut Symbolic| go_on(cx, d, f.v, f.rest, &point.body, scope, f.sink, driven);
    if deciding.is_empty() {
        return body(d);
    }
    f.sink.skip(f.v);
    d.when(enough, body, |_| {});
}

/// The condition on the followers' entries under which a point's body runs.
fn enough(point: &Point, here: &[Here]) -> Expr {
    let present = |a| here.iter().find(|here| here.access == a).and_then(|here| here.present.clone());
    fiber::holds(&point.beside, &|a| present(a).expect("who follows may be absent"))
}

/// The scope in which an index variable is bound to a coordinate, and lists have descended to their entries there; a list in blocks is
/// bounded by its block.
fn come_to_entries(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    (v, at): (Index, Expr),
    here: impl IntoIterator<Item = Here>,
) -> Scope {
    let mut inner = scope.clone();
    choice::bind(cx, d, &mut inner, v, at);
    for Here { access, entry, present } in here {
        if scope.in_blocks.contains(&access) {
            let (begin, run) = entry;
            let end = cx.run(run.expect("a block ends")).end(d);
            let end = cx.sym(d.place(&end));
            let block = fingers::block(cx, &inner, access, v, (begin, end));
            inner.narrow(access, block, present.map(|present| cx.sym(present)));
        } else {
            inner.walk(access, entry, present.map(|present| cx.sym(present)));
        }
    }
    inner
}

/// Emits the body of a loop that has bound `v`: opens levels, under a guard if a search may fail.
#[allow(clippy::too_many_arguments)]
fn go_on(
    cx: &Context,
    d: &mut Symbolic,
    v: Index,
    rest: &[Index],
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
        conditions.iter().for_each(|c| drop(fiber::locate(cx, d, &mut scope, c, false)));
        let all = conditions.iter().map(|c| fiber::value(cx, d, &scope, c));
        let all = all.reduce(|all, c| binary(Op::AndAlso, all, c)).expect("some are asked");
        sink.skip(v);
        return d.when(all, |d| go_on(cx, d, v, rest, &behind, scope, sink, driven.guarded()), |_| {});
    }
    let flagged = !rest.is_empty() || condition::has_loops(body) || sink.keeps_entries();
    let searched = fiber::locate(cx, d, &mut scope, body, flagged);
    let guard = if searched.is_empty() {
        None
    } else {
        fiber::guard(cx, &mut scope, body, &searched, &|e| is_nothing(cx, sink, e))
    };
    match guard {
        None => sieved(cx, d, v, rest, body, scope, sink, driven),
        Some(c) => {
            if let (Sink::Scalar { var, fun, begun: None }, []) = (sink, rest)
                && let Some(value) = spread::folded_anyway(cx, d, (&scope, &searched), body)
            {
                return accumulate(cx, d, (*var, *fun), None, value);
            }
            let body = &scope.holding(&searched).fold(body.clone(), |body, c| condition::where_it_holds(cx, &body, c));
            sink.skip(v);
            d.when(c, |d| sieved(cx, d, v, rest, body, scope, sink, driven.guarded()), |_| {});
        }
    }
}

/// A guard that bound variables determine, without which a body has no effect, and the body under that guard; `None` if there is none.
fn sieve(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    body: &concrete::Expr,
    nothing: &dyn Fn(&concrete::Expr) -> bool,
) -> Option<(Expr, concrete::Expr)> {
    all_hold(cx, d, scope, condition::all_needed(cx, scope, body, nothing))
}

/// The conjunction of conditions, with the body under them.
fn all_hold(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    (conditions, body): (Vec<concrete::Expr>, concrete::Expr),
) -> Option<(Expr, concrete::Expr)> {
    let all = conditions.iter().map(|c| fiber::value(cx, d, scope, c));
    all.reduce(|all, c| binary(Op::AndAlso, all, c)).map(|all| (all, body))
}

/// Emits the rest of the body under those guards that can be evaluated here. They stand before the loops inside. An innermost loop has
/// only guards that keep entries out of a result: guards from properties of functions (sets that omit coordinates), and comparisons of
/// values. Elsewhere a guard costs more than the value.
#[allow(clippy::too_many_arguments)]
fn sieved(
    cx: &Context,
    d: &mut Symbolic,
    v: Index,
    rest: &[Index],
    body: &concrete::Expr,
    scope: Scope,
    sink: &Sink,
    driven: Driven,
) {
    let loops = !rest.is_empty() || !sink.inside().is_empty();
    let nothing = |e: &concrete::Expr| is_nothing(cx, sink, e);
    let sieve = if loops {
        sieve(cx, d, &scope, body, &nothing)
    } else {
        let keeps = sink.keeps_entries();
        let produces = keeps.then(|| condition::produces(cx, &scope, body, &nothing)).flatten();
        let produces = produces.map(|c| (fiber::value(cx, d, &scope, &c), body.clone()));
        // Values are put into a workspace without a test.
        let stores = keeps && matches!(sink, Sink::Store { .. });
        produces.or_else(|| all_hold(cx, d, &scope, stores.then(|| condition::on_values(cx, &scope, body, &nothing))?))
    };
    match sieve {
        None => inside(cx, d, v, rest, body, scope, sink, driven),
        Some((c, body)) => {
            sink.skip(v);
            d.when(c, |d| inside(cx, d, v, rest, &body, scope, sink, driven.guarded()), |_| {});
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn inside(
    cx: &Context,
    d: &mut Symbolic,
    v: Index,
    rest: &[Index],
    body: &concrete::Expr,
    mut scope: Scope,
    sink: &Sink,
    driven: Driven,
) {
    if !rest.is_empty() || condition::has_loops(body) {
        fiber::keep_values(cx, d, &mut scope, body);
    }
    let entered = sink.enters(v).and_then(|(output, slot)| {
        let at = coordinate::of(cx, &scope, output.next_var(slot)?)?;
        Some((output, slot, at))
    });
    match entered {
        None => emit(cx, d, rest, body, scope, sink),
        Some((output, slot, at)) => {
            let mut inner = |d: &mut Symbolic, slot: Slot| {
                let slot = output.locate(slot, &|v| coordinate::of(cx, &scope, v));
                emit(cx, d, rest, body, scope.clone(), &sink.at(slot));
            };
            output.notes.reached(slot, &|a| scope.fiber(a).depth);
            match output.shared_with(slot) {
                Some(a) => inner(d, output.entered(slot, cx.expr(scope.fiber(a).position))),
                None => output.visit(d, slot, at, driven, &mut inner),
            }
        }
    }
}

/// Emits the bottom of a nest. A scatter runs only where no coordinate is missing.
fn landed(cx: &Context, d: &mut Symbolic, body: &concrete::Expr, scope: &Scope, sink: &Sink) {
    let mut scope = scope.clone();
    let lands = match sink {
        Sink::Store { nest, .. } | Sink::Scatter { nest, .. } => places::lands(cx, d, nest, &mut scope),
        _ => None,
    };
    match lands {
        Some(lands) => d.when(lands, |d| leaf(cx, d, body, &scope, sink), |_| {}),
        None => leaf(cx, d, body, &scope, sink),
    }
}

fn leaf(cx: &Context, d: &mut Symbolic, body: &concrete::Expr, scope: &Scope, sink: &Sink) {
    match sink {
        Sink::Scalar { var, fun, begun } => {
            // Values that both destinations use are loaded once.
            let shared = cx.both.map(|(both, _)| {
                let mut scope = scope.clone();
                fiber::keep_values(cx, d, &mut scope, &both.rhs);
                scope
            });
            let scope = shared.as_ref().unwrap_or(scope);
            let value = fiber::value(cx, d, scope, body);
            accumulate(cx, d, (*var, *fun), *begun, value);
            cx.both.iter().for_each(|(both, values)| fold_in(cx, d, scope, both, *values));
        }
        Sink::Store { nest, output, slot } => {
            let value = fiber::value(cx, d, scope, body);
            let scope = places::placed(cx, d, nest, scope);
            let slot = output.locate(slot.clone(), &|v| coordinate::of(cx, &scope, v));
            let value = match nest.fold {
                Some(fun) => fiber::applied(cx, d, fun, vec![output.held(&slot), value]),
                None => value,
            };
            output.store(d, &slot, nest.fold.is_some(), value);
        }
        Sink::Tally(tally) => counting::tally(cx, d, tally, scope),
        // There is no loop inside.
        Sink::Bound { most, .. } => d.assign(*most, super::plus(Expr::Var(*most), int(1))),
        Sink::Scatter { nest, scratch } => {
            let value = fiber::value(cx, d, scope, body);
            let scope = places::placed(cx, d, nest, scope);
            scratch.put(cx, d, nest, &|v| coordinate::of(cx, &scope, v), value);
        }
        Sink::Around { nest, output, slot, scratch } => {
            scratch.clear(cx, d);
            let before = statement::before(cx, nest);
            let was = before.as_ref().map(|before| (before, &before.rhs));
            if let Some(most) = scratch.most() {
                // This pass only counts, before the pass that puts values: it loads the ends of all inner fibers into the cache, and no
                // load waits for another. The second pass need not count.
                d.assign(most, int(0));
                // The counting pass must not move fingers.
                let mut through = scope.clone();
                through.fingers.clear();
                for (nest, body) in was.into_iter().chain([(*nest, body)]) {
                    let sink = Sink::Bound { nest, scratch: *scratch, most };
                    cx.book.under(Pass::Bounding, || emit(cx, d, nest.filling(), body, through.clone(), &sink));
                }
            }
            let through = |d: &mut Symbolic, scratch: &dyn Scratch| {
                if let Some((nest, body)) = was {
                    emit(cx, d, nest.filling(), body, scope.clone(), &Sink::Scatter { nest, scratch });
                    scratch.lay(d);
                }
                emit(cx, d, nest.filling(), body, scope.clone(), &Sink::Scatter { nest, scratch });
                scratch.drain(cx, d, scope, output, slot);
            };
            let (Some(few), Some(most)) = (scratch.of_few(), scratch.most()) else { return through(d, *scratch) };
            let with_few = |d: &mut Symbolic| {
                few.clear(cx, d);
                cx.book.under(Pass::Short, || through(d, &*few));
            };
            d.when(Few::suffices(cx, most), with_few, |d| through(d, *scratch));
        }
    }
}

/// `t = f(t, value)`
fn accumulate(cx: &Context, d: &mut Symbolic, (t, fun): (Var, Fun), begun: Option<Var>, value: Expr) {
    let Some(begun) = begun else {
        let joined = fiber::applied(cx, d, fun, vec![Expr::Var(t), value]);
        return d.assign(t, joined);
    };
    let value = d.define("value", d.vars[t.0 as usize].1, value);
    let first = |d: &mut Symbolic| {
        d.assign(t, value.clone());
        d.assign(begun, yes());
    };
    let join = |d: &mut Symbolic| {
        let joined = fiber::applied(cx, d, fun, vec![Expr::Var(t), value.clone()]);
        d.assign(t, joined);
    };
    d.when(Expr::Var(begun), join, first);
}

/// Folds the second value of an `also` into its destination, a vector with an element for each coordinate.
fn fold_in(cx: &Context, d: &mut Symbolic, scope: &Scope, Both { at, fun, rhs }: &Both, values: BufferId) {
    let value = fiber::value(cx, d, scope, rhs);
    let at = coordinate::of(cx, scope, *at).expect("bound: checked concrete notation");
    let was = Expr::Load(values, Box::new(at.clone()));
    let joined = fiber::applied(cx, d, *fun, vec![was, value]);
    d.emit(Stmt::Store(values, at, joined));
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
            Sink::Around { nest, output, scratch, .. } => Sink::Around { nest, output, slot, scratch: *scratch },
            Sink::Scalar { var, fun, begun } => Sink::Scalar { var: *var, fun: *fun, begun: *begun },
            Sink::Scatter { nest, scratch } => Sink::Scatter { nest, scratch: *scratch },
            Sink::Bound { nest, scratch, most } => Sink::Bound { nest, scratch: *scratch, most: *most },
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
