//! Plans a loop nest: for each index variable, splits its range, builds a lattice for each part, and walks each point of the lattice in
//! one shape.

use super::{
    Context, arrive,
    arrive::{Forall, flagged, resting},
    choice, cut, dense,
    destination::{Destination, Frame, effect, is_nothing},
    entries, leaf, levels, made, position_map, range, speculative, stepped, value,
};
use crate::Hints;
use crate::choose::{
    access, coordinate, fingers,
    piece::Piece,
    scope::Scope,
    symbol::Sym,
    walk::{self, How},
};
use crate::plan::{self, Block, Driver, Leaping, List, Op, Shown};
use fiberloom_core::algebra::{Op as Fn, Type};
use fiberloom_core::iteration::{Lattice, Point, Sequence, Shape};
use fiberloom_core::notation::concrete::{self, AccessId, Index};
use std::collections::BTreeMap;

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

/// Plans loops over `vars` around `body`.
pub(super) fn plan(
    cx: &Context,
    b: &mut Block,
    vars: &[Index],
    body: &concrete::Expr,
    mut scope: Scope,
    destination: &Destination,
) {
    // Levels whose coordinates no loop binds are searched here, before the loops.
    value::locate(cx, b, &mut scope, body, false);
    if let Some(body) = made::made(cx, b, &scope, body) {
        return plan(cx, b, vars, &body, scope, destination);
    }
    let Some((&v, rest)) = vars.split_first() else { return leaf::landed(cx, b, body, &scope, destination) };
    if let Destination::Scalar { .. } = destination
        && let Some((c, body)) = arrive::early_guard(cx, b, &scope, body, &|e| is_nothing(cx, destination, e))
    {
        return b.when(c, |b| plan(cx, b, vars, &body, scope, destination), |_| {});
    }
    let leaped = position_map::leaped(cx, b, &scope, Frame { v, rest, destination }, body);
    if !leaped.is_empty() {
        return leap_or_loop(cx, b, leaped.into_iter(), (vars, body), scope, destination);
    }
    let laid = position_map::lay(cx, b, &mut scope, v, body, destination);
    loops(cx, b, vars, body, scope, destination);
    laid.into_iter().for_each(|it| b.push(Op::ClearMap { it }));
}

/// Plans the loops in the scope of the first of `leaped` whose condition holds, and in `scope` if none does.
fn leap_or_loop(
    cx: &Context,
    b: &mut Block,
    mut leaped: std::vec::IntoIter<(Sym, Scope)>,
    (vars, body): (&[Index], &concrete::Expr),
    scope: Scope,
    destination: &Destination,
) {
    let Some((far, leaping)) = leaped.next() else { return loops(cx, b, vars, body, scope, destination) };
    let leap = |b: &mut Block| {
        loops(cx, b, vars, body, leaping.aside(), destination);
    };
    b.when(far, leap, |b| leap_or_loop(cx, b, leaped, (vars, body), scope, destination));
}

/// Plans the loop over the first of `vars`, range by range, with the other loops inside.
pub(super) fn loops(
    cx: &Context,
    b: &mut Block,
    vars: &[Index],
    body: &concrete::Expr,
    mut scope: Scope,
    destination: &Destination,
) {
    let (&v, rest) = vars.split_first().expect("there are loops");
    let located = destination
        .insertion()
        .is_some_and(|(o, insertion)| o.next_follows(insertion, v) && !o.form.is_list(insertion.level));
    scope.in_blocks = walk::seen_in_blocks(cx, &scope, body, v, effect(cx, destination), located);
    cut::open_cut(cx, b, &mut scope, v, body);
    let fingers = fingers::fingers(cx, &scope, &[vars, destination.inside()].concat(), body);
    range::point_fingers(cx, b, &mut scope, fingers);
    let pieces = choice::ranges(cx, b, &scope, (v, rest), body).into_iter();
    let parts: Vec<Part> = pieces.map(|piece| part(cx, b, v, piece, destination)).collect();
    if let (Destination::Bound { most, .. }, []) = (destination, rest) {
        let more = at_most_of(cx, &parts);
        return b.set(*most, cx.symbols.plus(*most, more));
    }
    // If one part reserves room piece by piece, every part reserves its own.
    let apart = parts.iter().any(|part| !part.stepped.is_empty());
    if let Some((output, insertion)) = destination.appends(v) {
        let all: &[Part] = if apart { &[] } else { &parts };
        output.open(b, insertion, at_most_of(cx, all));
    }
    for part in parts {
        if apart {
            make_room(cx, b, &part, v, destination);
        }
        run(cx, b, part, Frame { v, rest, destination });
    }
    if let Some((output, insertion)) = destination.appends(v) {
        output.close(b, insertion);
    }
}

/// A range of `v`, with its lattice and the fibers over which the lattice's points walk.
fn part(cx: &Context, b: &mut Block, v: Index, piece: Piece, destination: &Destination) -> Part {
    let (scope, body) = (&piece.scope, &piece.body);
    let mut names = access::walked(cx, scope, body, v);
    let accesses = body.accesses();
    names.extend(scope.in_blocks.iter().filter(|a| accesses.contains(a)));
    let lattice = lattice(cx, body, &names, destination);
    let alone = alone(&lattice.points[0]).is_some();
    let fiber = |&a: &AccessId| {
        let view = range::view(cx, b, scope, (a, scope.fiber(a).depth), v, &piece.range);
        if let Some(list) = levels::of_run(cx, scope, a).filter(|_| alone && view.is_whole()) {
            return (a, List { view, ..list });
        }
        let mut list = List { view, ..levels::unopened(cx, b, scope, a) };
        let fiber = ((a, scope.fiber(a).depth), (list.begin, list.end));
        if let Some((begin, end)) = cut::of_piece(cx, scope, fiber, v, &piece.range) {
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
fn lattice(cx: &Context, body: &concrete::Expr, lists: &[AccessId], destination: &Destination) -> Lattice {
    let fill = |a: AccessId| cx.fill(a);
    Lattice::of(body, lists, &fill, &|e| is_nothing(cx, destination, e), cx.simplify)
}

/// Plans a part of a range that is split piece by piece: the part reserves its own room.
fn part_within(cx: &Context, b: &mut Block, piece: Piece, of: Frame) {
    let part = part(cx, b, of.v, piece, of.destination);
    make_room(cx, b, &part, of.v, of.destination);
    run(cx, b, part, of);
}

/// Reserves room for the entries that a part appends, unless its pieces do.
fn make_room(cx: &Context, b: &mut Block, part: &Part, v: Index, destination: &Destination) {
    if let Some((output, insertion)) = destination.appends(v).filter(|_| part.stepped.is_empty()) {
        output.make_room(b, insertion, at_most(cx, part));
    }
}

/// Plans the loops of a range.
fn run(cx: &Context, b: &mut Block, part: Part, of: Frame) {
    let v = of.v;
    let hints = cx.program.vars[v.0].hints;
    let Part { piece, lattice, fibers, stepped } = part;
    let range = || plan::Loop {
        vars: [&piece.scope.order[..], &[v]].concat(),
        fibers: access::looplets(cx, &piece.scope, &piece.body, v),
        points: lattice.points.iter().cloned().map(plan::Point::from).collect(),
    };
    let shown = Shown((!piece.scope.is_aside).then(|| Box::new(range())));
    let mut body = Block::default();
    run_part(cx, &mut body, (&piece, &lattice, &fibers, &stepped), of);
    if shown.0.is_some() || !body.is_empty() {
        b.push(Op::Range { hints: (hints != Hints::default()).then_some(hints), of: shown, body });
    }
}

fn run_part(
    cx: &Context,
    b: &mut Block,
    (piece, lattice, fibers, stepped): (&Piece, &Lattice, &BTreeMap<AccessId, List>, &[AccessId]),
    frame: Frame,
) {
    if !stepped.is_empty() {
        let within = |b: &mut Block, piece: Piece| part_within(cx, b, piece, frame);
        return stepped::stepped(cx, b, piece, stepped, frame, &within);
    }
    let top = &lattice.points[0];
    if let Some(a) = alone(top) {
        return entries::each_entry(cx, b, top, frame, &fibers[&a], &piece.scope);
    }
    let open = |(a, list): (&AccessId, &List)| {
        let (it, list) = (cx.symbols.name(), list.clone());
        b.push(Op::Open { it, list });
        (*a, it)
    };
    let lists = fibers.iter().map(open).collect();
    let forall = Forall { frame, piece, lattice, fibers, lists: &lists };
    walk_point(cx, b, &forall, top);
}

/// A bound on the number of coordinates that all parts visit, and so of entries that they append. The bound covers speculatively stored
/// entries: when one is stored, fewer entries are kept than coordinates are counted so far.
fn at_most_of(cx: &Context, parts: &[Part]) -> Sym {
    let bounds = parts.iter().map(|part| at_most(cx, part));
    bounds.reduce(|a, b| cx.symbols.op(Fn::Add, [a, b])).unwrap_or(Sym::ZERO)
}

/// A bound on the number of coordinates that a range's loops visit. In a piece of a cut a range may end before it begins, and has none then.
fn at_most(cx: &Context, part: &Part) -> Sym {
    let visited = visited(cx, part);
    if part.piece.scope.pieces.is_empty() { visited } else { cx.symbols.max(visited, Sym::ZERO) }
}

/// The same, of a range that does not end before it begins.
fn visited(cx: &Context, part: &Part) -> Sym {
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
        arrive::arrive(cx, b, f, point, (at, Driver::Stored), &here);
    };
    match how {
        How::Nothing => {}
        How::Every | How::Constant | How::Gaps | How::CountedGaps | How::Between => dense::dense(cx, b, f, point, how),
        How::Decided => speculative::store_decided(cx, b, f, point),
        How::Lanes => speculative::follow_in_lanes(cx, b, f, point),
        How::Each | How::Filter | How::Gapless => arrive::alone_in_loop(cx, b, f, point),
        How::Speculative => speculative::store_always(cx, b, f, point),
        How::Leap => {
            let leaping = |a: &AccessId| Leaping { list: f.lists[a], gallops: access::gallops(cx, f.scope(), *a) };
            let lists = point.leaders.iter().map(leaping).collect();
            b.push(Op::Leap { lists, at, body: Block::of(stored) });
        }
        // Where the lists do not meet, operands have their fill values, and the sum is unchanged.
        How::Flat => speculative::meets(cx, b, f, point, &mut |b, at, mut here, met| {
            here.iter_mut().for_each(|here| here.present = Some(met));
            arrive::arrive(cx, b, f, point, (at, Driver::Stored), &here);
        }),
        How::Meet => b.push(Op::Intersect { lists: f.names(&point.leaders), at, body: Block::of(stored) }),
        How::Tree | How::FlatTree => tree(cx, b, f, point, how),
        How::Wide => wide_loop(cx, b, f, point),
    }
}

fn tree(cx: &Context, b: &mut Block, f: &Forall, point: &Point, how: How) {
    let (first, second) = (point.leaders[0], point.leaders[1]);
    let (lists, at) = ([f.lists[&first], f.lists[&second]], f.coordinate(cx));
    if how == How::FlatTree {
        let flags = [cx.symbols.read("is", Type::Bool), cx.symbols.read("is", Type::Bool)];
        let both = Block::of(|b| {
            let here = resting(cx, b, f, &point.leaders);
            arrive::arrive(cx, b, f, point, (at, Driver::Stored), &here);
        });
        let some = Block::of(|b| {
            let here = flagged(cx, b, f, &point.leaders, &flags);
            arrive::arrive(cx, b, f, point, (at, Driver::Stored), &here);
        });
        b.push(Op::UniteFlat { lists, at, flags, both, some });
    } else {
        let arm = |present: &[AccessId], absent: Option<AccessId>| {
            let mut block = Block::default();
            let here = resting(cx, &mut block, f, present);
            arrive::arrive(cx, &mut block, f, &walk::without(cx, point, absent), (at, Driver::Stored), &here);
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
            return arrive::arrive(cx, b, f, point, (at, Driver::Stored), &here);
        }
        let needed = levels::holds(cx, sequence, &|a| present[place(a)]);
        b.when(needed, |b| arrive::arrive(cx, b, f, point, (at, Driver::Stored), &here), |_| {});
    });
    let lists = point.leaders.iter().map(|a| (*a, f.lists[a])).collect();
    b.push(Op::Wide { lists, live: sequence.clone(), at, present, body });
}

/// The only list of a point that has one leader and no follower.
fn alone(point: &Point) -> Option<AccessId> {
    (point.shape == Shape::Each && point.followers.is_empty()).then(|| point.leaders[0])
}
