//! A loop nest: at each index variable, split its range, build a lattice in each part, emit one loop shape a point.

mod dense;
mod entries;
mod places;
mod stepped;
mod tentative;

use super::book::Frame;
use super::counting::Tally;
use super::few::Few;
use super::fiber::{Place, Scope, placed};
use super::output::{Output, Slot};
use super::range::Piece;
use super::workspace::Scratch;
use super::{BufferId, Context, Expr, Holds, binary, held, int};
use crate::algebra::{Op, Value};
use crate::iteration::{Lattice, Point, Sequence, Shape, background};
use crate::loops::plan::{self, Arm, Blocks, How, Level, Pass, Walk};
use crate::loops::{Asked, Stmt, Symbolic, Term, Var};
use crate::map::Size;
use crate::notation::concrete::{self, AccessId, Both, Index, Iterated, Nest};
use crate::notation::syntax::Protocol;
use crate::notation::typed::Fun;
use crate::stream::{Domain, List, ListFiber, PATIENCE, Side};
use crate::stream::{intersect, leap, unite_flat, unite_two, wide};
use std::collections::BTreeMap;

/// The destination of a nest's values.
pub(super) enum Sink<'a> {
    /// `t = f(t, value)`; with `begun`, a flag, the first value is assigned and not folded in.
    Scalar { var: Var, fun: Fun, begun: Option<Var> },
    /// Into the result's levels, at the slot that the loops have reached.
    Store { nest: &'a Nest, output: &'a Output, slot: Slot },
    /// Into a workspace.
    Scatter { nest: &'a Nest, scratch: &'a Scratch },
    /// Into a copy that is counted first, then placed.
    Tally(&'a Tally<'a>),
    /// Nowhere: each innermost loop adds to `most` a bound on the number of values that it would put in the workspace.
    Bound { nest: &'a Nest, scratch: &'a Scratch, most: Var },
    /// The loops around a workspace: inside of the innermost, the rest of the nest fills it, then it is drained.
    Around { nest: &'a Nest, output: &'a Output, slot: Slot, scratch: &'a Scratch },
}

/// How a loop visits a coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Driven {
    /// By an entry of a list.
    Stored,
    /// By counting through the extent, without conditions.
    Counted,
    /// By counting, under a condition.
    Guarded,
}

impl Driven {
    /// The same under a condition.
    fn guarded(self) -> Driven {
        if self == Driven::Counted { Driven::Guarded } else { self }
    }
}

/// The entry on which a list rests while a loop is at a coordinate.
#[derive(Clone)]
struct Here {
    access: AccessId,
    entry: Place,
    /// The condition under which the entry is at this coordinate; `None` if it always is.
    present: Option<Expr>,
}

/// A range of a loop: its points, and the fibers that they walk.
struct Part<'a> {
    piece: Piece,
    lattice: Lattice,
    fibers: BTreeMap<AccessId, ListFiber<Term>>,
    /// Accesses whose levels have pieces that end within the range. If there are any, the range is split piece by
    /// piece.
    stepped: Vec<AccessId>,
    /// Its step, to which the walk comes back.
    step: Frame<'a>,
}

impl Part<'_> {
    /// The point where it begins.
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
    /// What the loops around it have bound.
    fn scope(&self) -> &Scope {
        &self.piece.scope
    }
}

impl<'a> Context<'a> {
    /// Whether running a body leaves the sink unchanged.
    pub(super) fn nothing(&self, sink: &Sink, body: &concrete::Expr) -> bool {
        let concrete::Expr::Literal(v) = body else { return false };
        let neutral = |fun: Fun| self.simplify.neutral(fun, *v);
        match sink {
            // A fold that has not begun at its end takes its identity.
            Sink::Scalar { fun, begun, .. } => {
                let identity = || self.simplify.begins(*fun, v.ty()) == Some(*v);
                self.simplify.neutral(*fun, *v) && (begun.is_none() || identity())
            }
            Sink::Store { nest: Nest { fold: Some(fun), .. }, .. }
            | Sink::Scatter { nest: Nest { fold: Some(fun), .. }, .. }
            | Sink::Around { nest: Nest { fold: Some(fun), .. }, .. }
            | Sink::Bound { nest: Nest { fold: Some(fun), .. }, .. } => neutral(*fun),
            Sink::Scatter { scratch, .. } | Sink::Bound { scratch, .. } => self.simplify.same(scratch.initial(), *v),
            Sink::Tally(tally) => self.simplify.same(self.program.tensors[tally.nest.target.tensor.0].fill, *v),
            Sink::Store { output, .. } | Sink::Around { output, .. } => self.simplify.same(output.initial, *v),
        }
    }

    /// Loops over `vars` around `body`.
    pub(super) fn nest(&self, d: &mut Symbolic, vars: &[Index], body: &concrete::Expr, mut scope: Scope, sink: &Sink) {
        // Levels whose coordinates no loop binds are searched here, before the loops.
        self.locate(d, &mut scope, body, false);
        if let Some(body) = self.made(d, &scope, body) {
            return self.nest(d, vars, &body, scope, sink);
        }
        let Some((&v, rest)) = vars.split_first() else { return self.landed(d, body, &scope, sink) };
        if let Sink::Scalar { .. } = sink
            && let Some((c, body)) = self.sieve(d, &scope, body, &|e| self.nothing(sink, e))
        {
            return d.when(c, |d| self.nest(d, vars, &body, scope, sink), |_| {});
        }
        let leaped = self.leaped(d, &scope, (v, rest), body, sink);
        if !leaped.is_empty() {
            return self.leap_or_loop(d, leaped.into_iter(), (vars, body), scope, sink);
        }
        let laid = self.lay(d, &mut scope, v, body, sink);
        self.loops(d, vars, body, scope, sink);
        laid.into_iter().for_each(|list| self.take_up(d, list));
    }

    /// The loop over the first of `vars`, range by range, with the other loops inside.
    pub(super) fn loops(&self, d: &mut Symbolic, vars: &[Index], body: &concrete::Expr, mut scope: Scope, sink: &Sink) {
        let (&v, rest) = vars.split_first().expect("there are loops");
        self.book.enter_if(|given: &plan::Forall| given.0 == v, || plan::Forall(v));
        let in_blocks = || self.seen_in_blocks(&scope, body, v, sink).into_iter().map(Blocks).collect();
        scope.in_blocks = self.book.all(in_blocks).into_iter().map(|Blocks(a)| a).collect();
        self.open_cut(d, &mut scope, v, body);
        let fingers = || self.fingers(&scope, &[vars, sink.inside()].concat(), body);
        let fingers = self.book.decide_all(fingers);
        self.point_fingers(d, &mut scope, fingers);
        let pieces = self.ranges(d, &scope, (v, rest), body).into_iter();
        let parts: Vec<Part<'a>> = pieces.map(|piece| self.part(d, v, piece, sink)).collect();
        // Several parts may together visit a whole fiber, but nothing shows that they do.
        if let Some((output, _)) =
            sink.slot().filter(|_| parts.len() > 1 || parts.iter().any(|p| !p.stepped.is_empty()))
        {
            output.notes.goes_along(None);
        }
        if let (Sink::Bound { most, .. }, []) = (sink, rest) {
            let more = self.at_most_of(d, &parts);
            parts.into_iter().for_each(|part| self.book.end(part.step));
            self.book.leave();
            return d.assign(*most, super::plus(Expr::Var(*most), more));
        }
        // If one part makes room piece by piece, every part makes its own.
        let apart = parts.iter().any(|part| !part.stepped.is_empty());
        if let Some((output, slot)) = sink.appends(v) {
            for part in &parts {
                output.notes.led_by(slot, self.led_by(part, v));
            }
            output.notes.goes_along(walked_whole(&parts).filter(|a| scope.fiber(*a).depth == slot.level));
            let all: &[Part] = if apart { &[] } else { &parts };
            output.open(d, slot, &|d| self.at_most_of(d, all));
        }
        for part in parts {
            if apart {
                self.make_room(d, &part, v, sink);
            }
            self.run(d, part, (v, rest), sink);
        }
        if let Some((output, slot)) = sink.appends(v) {
            output.close(d, slot);
        }
        self.book.leave();
    }

    /// The lists that a loop over `v` sees in blocks: with them it visits their blocks, without them its whole extent.
    fn seen_in_blocks(&self, scope: &Scope, body: &concrete::Expr, v: Index, sink: &Sink) -> Vec<AccessId> {
        let mut blocks = self.in_blocks(scope, body, v);
        if blocks.is_empty() {
            return blocks;
        }
        let comes_to_all = |lists: &[AccessId]| {
            let fill = |a: AccessId| self.fill(a);
            let (sequence, rest) = background(body, lists, &fill, self.simplify);
            sequence == Sequence::Full || !self.nothing(sink, &rest)
        };
        let lists = self.walked(scope, body, v);
        let together: Vec<AccessId> = lists.iter().chain(&blocks).copied().collect();
        // A located level of the result is visited as a whole.
        let located = sink.slot().is_some_and(|(o, slot)| o.next_follows(slot, v) && !o.is_list(slot.level));
        if located || !comes_to_all(&lists) || comes_to_all(&together) {
            blocks.clear();
        }
        blocks
    }

    /// A range of `v`: its lattice and the fibers that the lattice walks.
    fn part(&self, d: &mut Symbolic, v: Index, piece: Piece, sink: &Sink) -> Part<'a> {
        self.book.enter(|| plan::Range);
        let (scope, body) = (&piece.scope, &piece.body);
        self.book.all(|| self.looplets(scope, body, v));
        let mut names = self.walked(scope, body, v);
        let accesses = body.accesses();
        names.extend(scope.in_blocks.iter().filter(|a| accesses.contains(a)));
        let lattice = self.lattice(body, &names, sink);
        let alone = alone(&lattice.points[0]).is_some();
        let fiber = |&a: &AccessId| {
            let view = self.view(d, scope, (a, scope.fiber(a).depth), v, &piece.range);
            if let Some(fiber) = self.of_run(scope, a).filter(|_| alone && view.is_whole()) {
                return (a, ListFiber { view, ..fiber });
            }
            let mut fiber = ListFiber { view, ..self.unopened(d, scope, a) };
            if let Some((begin, end, clips)) = self.of_piece(scope, (a, scope.fiber(a).depth), v, &piece.range) {
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
        let stepped = self.stepped_along(scope, &lattice.points[0].body, v);
        Part { piece, lattice, fibers, stepped, step: self.book.pause() }
    }

    /// The lattice of a range over `lists`.
    fn lattice(&self, body: &concrete::Expr, lists: &[AccessId], sink: &Sink) -> Lattice {
        let fill = |a: AccessId| self.fill(a);
        let lattice = Lattice::of(body, lists, &fill, &|e| self.nothing(sink, e), self.simplify);
        self.book.all(|| lattice.points.iter().cloned().map(plan::Point::from).collect());
        lattice
    }

    /// Emits the loops of a range.
    fn run(&self, d: &mut Symbolic, part: Part<'a>, (v, rest): (Index, &[Index]), sink: &Sink) {
        let asked = self.program.vars[v.0].asked;
        let around = std::mem::replace(&mut d.wanted, (asked != Asked::default()).then_some(asked));
        let Part { piece, lattice, fibers, stepped, step } = part;
        self.book.resume(step);
        self.run_as_asked(d, (&piece, &lattice, &fibers, &stepped), (v, rest), sink);
        self.book.leave();
        d.wanted = around;
    }

    fn run_as_asked(
        &self,
        d: &mut Symbolic,
        (piece, lattice, fibers, stepped): (&Piece, &Lattice, &BTreeMap<AccessId, ListFiber<Term>>, &[AccessId]),
        (v, rest): (Index, &[Index]),
        sink: &Sink,
    ) {
        if !stepped.is_empty() {
            return self.stepped(d, piece, stepped, (v, rest), sink);
        }
        let top = &lattice.points[0];
        if let Some(a) = alone(top) {
            return self.each(d, top, (v, rest), &fibers[&a], &piece.scope, sink);
        }
        let list = |(a, fiber): (&AccessId, &ListFiber<Term>)| {
            (*a, List::open(d, &format!("p_{}", self.program.tensor(*a).name), fiber.clone()))
        };
        let lists = fibers.iter().map(list).collect();
        let forall = Forall { v, rest, piece, lattice, lists: &lists, sink };
        self.point(d, &forall, top);
    }

    /// Accesses whose coordinates bound the number of entries that a point appends: an entry of one of them leads to
    /// each coordinate of the point, and none leads twice, because every loop is over the variable of that entry's
    /// level or of one above. `None` if there is no such bound, as in a range that is split piece by piece.
    fn led_by(&self, part: &Part, v: Index) -> Option<Vec<Level>> {
        let (scope, point) = (&part.piece.scope, part.top());
        if !part.stepped.is_empty() {
            return None;
        }
        let once = |a: &AccessId| self.comes_along(scope, *a, v);
        match point.shape {
            Shape::Dense => None,
            // Each of the lists bounds an intersection: one suffices.
            Shape::Intersect => point.leaders.iter().find_map(once).map(|led| vec![led]),
            _ => point.leaders.iter().map(once).collect(),
        }
    }

    /// An access's list over `v`, if the loops around visit none of its entries twice.
    pub(super) fn comes_along(&self, scope: &Scope, a: AccessId, v: Index) -> Option<Level> {
        let depth = scope.fiber(a).depth;
        let access = &self.program.accesses[a.0];
        let above: Vec<Index> = (0..=depth).map(|l| self.program.level_var(access, l)).collect();
        self.levels(a)[depth].array(Holds::Coordinates)?;
        let moves = |u: &Index| above.iter().any(|w| self.program.follows(*w, *u));
        let loops: Vec<Index> = scope.order.iter().copied().chain([v]).collect();
        // Below a position that stands for several coordinates, entries are visited once for each of them.
        let shared = self.program.tensor(a).format.levels[..depth].iter().any(|kind| kind.shares());
        let above_once = || above.iter().all(|w| self.comes_once(*w, &loops));
        (!shared && loops.iter().all(moves) && above_once()).then_some((a, depth))
    }

    /// Whether these loops visit no coordinate of `w` twice: one of them moves it, or each moves it by the whole range
    /// of the next one. (A window, `i + k`, visits most coordinates again; nothing is known of computed ones.)
    fn comes_once(&self, w: Index, loops: &[Index]) -> bool {
        if self.program.computed(w).is_some() {
            return false;
        }
        let map = self.program.root_map(w);
        let factors: Vec<_> = loops.iter().filter_map(|u| Some((*u, map.factors.get(u)?.clone()))).collect();
        let beyond = |(_, outer): &(Index, Size), (u, inner): &(Index, Size)| {
            let extent = Size::unknown(self.program.vars[u.0].extent);
            self.known(outer) == self.known(&inner.times(&extent))
        };
        let ascends = factors.windows(2).all(|pair| beyond(&pair[1], &pair[0]));
        ascends || factors.windows(2).all(|pair| beyond(&pair[0], &pair[1]))
    }

    /// A bound on the number of coordinates that all parts visit, and so of entries that they append. It covers entries
    /// that are written tentatively: when one is, fewer entries are kept than the coordinates that are counted so far.
    fn at_most_of<'p>(&self, d: &mut Symbolic, parts: impl IntoIterator<Item = &'p Part<'a>>) -> Expr
    where
        'a: 'p,
    {
        let bounds = parts.into_iter().map(|part| self.at_most(d, part));
        bounds.reduce(|a, b| binary(Op::Add, a, b)).unwrap_or(int(0))
    }

    /// A bound on the number of coordinates that a range's loops visit.
    fn at_most(&self, d: &mut Symbolic, part: &Part) -> Expr {
        let point = part.top();
        if !part.stepped.is_empty() {
            return part.piece.range.len();
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
            Shape::Dense => return part.piece.range.len(),
            Shape::Intersect => lengths.into_iter().reduce(|a, b| binary(Op::Min, a, b)),
            Shape::Each | Shape::Tree | Shape::Wide => lengths.into_iter().reduce(|a, b| binary(Op::Add, a, b)),
        };
        joined.unwrap_or_else(|| int(0))
    }

    /// Whether an access's levels `from` on are all located, under coordinates that are not computed.
    fn is_located(&self, a: AccessId, from: usize) -> bool {
        let (access, format) = (&self.program.accesses[a.0], &self.program.tensor(a).format);
        let counted = |l: usize| self.program.computed(self.program.level_var(access, l)).is_none();
        (from..format.rank()).all(|l| format.levels[l].is_located() && counted(l))
    }

    /// Emits the loop of a point, and of the points that are left when its lists are exhausted.
    fn point(&self, d: &mut Symbolic, f: &Forall, point: &Point) {
        let place = f.lattice.points.iter().position(|p| p == point).unwrap_or_default();
        let choose = || Walk { point: place, how: self.ways(f, point)[0] };
        let fits = |walk: &Walk| walk.point == place && self.ways(f, point).contains(&walk.how);
        self.book.inside_if(fits, choose, |walk| self.go(d, f, point, walk.how));
    }

    /// The ways to walk a point, what costs least first.
    fn ways(&self, f: &Forall, point: &Point) -> Vec<How> {
        let tentative = || self.tentative(f.scope(), f.sink, point, (f.v, f.rest));
        let flat = || self.is_flat(f.scope(), point, f.rest);
        let special = match point.shape {
            Shape::Nothing => return vec![How::Nothing],
            Shape::Dense => self.dense_ways(f, point),
            Shape::Each if self.decides_tentatively(f, point) => Some(How::Decided),
            Shape::Each if self.has_follower_in_lanes(f, point) => Some(How::Lanes),
            Shape::Each => None,
            Shape::Intersect if point.followers.is_empty() && tentative() => Some(How::Tentative),
            Shape::Intersect if point.leaders.iter().any(|a| self.gallops(f.scope(), *a)) => Some(How::Leap),
            Shape::Intersect => {
                let folds = matches!(f.sink, Sink::Scalar { fun: Fun::Op(_), begun: None, .. });
                (folds && flat()).then_some(How::Flat)
            }
            Shape::Tree => (flat() && self.unites_flat(f, point)).then_some(How::FlatTree),
            Shape::Wide => None,
        };
        let always = match point.shape {
            Shape::Nothing | Shape::Dense => How::Every,
            Shape::Each => How::Each,
            Shape::Intersect => How::Meet,
            Shape::Tree => How::Tree,
            Shape::Wide => How::Wide,
        };
        special.into_iter().chain([always]).collect()
    }

    fn go(&self, d: &mut Symbolic, f: &Forall, point: &Point, how: How) {
        let stored = |d: &mut Symbolic, at: &Term| {
            let here = self.resting(d, f, &point.leaders);
            self.arrive(d, f, point, at, &here, Driven::Stored);
        };
        match how {
            How::Nothing => f.sink.skip(f.v),
            How::Every | How::Constant | How::Gaps | How::CountedGaps | How::Between => self.dense(d, f, point, how),
            How::Decided => self.store_decided(d, f, point),
            How::Lanes => self.follow_in_lanes(d, f, point),
            How::Each | How::Sift | How::Gapless => self.alone(d, f, point),
            How::Tentative => self.store_always(d, f, point),
            How::Leap => {
                let galloping = point.leaders.iter().map(|a| (&f.lists[a], self.gallops(f.scope(), *a)));
                leap(d, &galloping.collect::<Vec<_>>(), &mut |d, at| stored(d, at));
            }
            // Where the lists do not meet, operands read as their fill, and the sum is unchanged.
            How::Flat => self.meets(d, f, point, &mut |d, at, mut here, met| {
                let met = d.place(met);
                here.iter_mut().for_each(|here| here.present = Some(met.clone()));
                self.arrive(d, f, point, at, &here, Driven::Stored);
            }),
            How::Meet => {
                let lists: Vec<&List<Term>> = point.leaders.iter().map(|a| &f.lists[a]).collect();
                intersect(d, &lists, &mut |d, at| stored(d, at));
            }
            How::Tree | How::FlatTree => self.tree(d, f, point, how),
            How::Wide => self.wide(d, f, point),
        }
    }

    /// A loop over the entries of the leading list; followers are brought to each.
    fn alone(&self, d: &mut Symbolic, f: &Forall, point: &Point) {
        let a = point.leaders[0];
        let name = format!("q_{}", self.program.tensor(a).name);
        f.lists[&a].each(d, &name, &mut |d, entry| {
            let at = f.lists[&a].coordinate(d, &entry);
            let at = d.snapshot(&self.program.vars[f.v.0].name, at);
            let here = Here { access: a, entry: placed(d, &entry), present: None };
            self.arrive(d, f, point, &at, &[here], Driven::Stored);
        });
    }

    /// Whether an access's next level gallops to the coordinates of other lists.
    fn gallops(&self, scope: &Scope, a: AccessId) -> bool {
        self.protocol(scope, a) == Some(Iterated::As(Protocol::Gallop)) || scope.leaps(a)
    }

    /// Whether a point's value takes a few instructions and neither loop nor search: it may be computed where it is not
    /// used.
    fn is_flat(&self, scope: &Scope, point: &Point, rest: &[Index]) -> bool {
        rest.is_empty() && cheap(&point.body) && self.is_open(scope, point)
    }

    /// Whether a point's value takes neither loop nor search.
    fn is_open(&self, scope: &Scope, point: &Point) -> bool {
        let open = |a: AccessId| {
            let walked = point.leaders.contains(&a) || point.followers.contains(&a);
            self.is_located(a, scope.fiber(a).depth + walked as usize)
        };
        !has_loops(&point.body) && point.body.accesses().into_iter().all(open)
    }

    /// The entries on which lists rest.
    fn resting(&self, d: &mut Symbolic, f: &Forall, lists: &[AccessId]) -> Vec<Here> {
        let here = |&access: &AccessId| {
            let entry = f.lists[&access].entry(d);
            Here { access, entry: placed(d, &entry), present: None }
        };
        lists.iter().map(here).collect()
    }

    /// The entries on which lists rest, each present if its flag is set.
    fn flagged(&self, d: &mut Symbolic, f: &Forall, lists: &[AccessId], flags: &[&Term]) -> Vec<Here> {
        let mut here = self.resting(d, f, lists);
        for (here, flag) in here.iter_mut().zip(flags) {
            here.present = Some(d.place(flag));
        }
        here
    }

    /// A point where an access has no entry.
    fn without(&self, point: &Point, absent: Option<AccessId>) -> Point {
        let body = self.simplify.replace(&point.body, &|x| (Some(x) == absent).then(|| self.fill(x)));
        Point { body, ..point.clone() }
    }

    /// Whether the body of a union of two has an effect at each entry of either, and no entry repeats.
    fn unites_flat(&self, f: &Forall, point: &Point) -> bool {
        let alone = |a: &AccessId| !self.nothing(f.sink, &self.without(point, Some(*a)).body);
        point.leaders.iter().all(|a| alone(a) && !f.lists[a].repeats())
    }

    fn tree(&self, d: &mut Symbolic, f: &Forall, point: &Point, how: How) {
        let (a, b) = (point.leaders[0], point.leaders[1]);
        let (first, second) = (&f.lists[&a], &f.lists[&b]);
        if how == How::FlatTree {
            unite_flat(d, first, second, PATIENCE, &mut |d, at, present| {
                let here = match present {
                    None => self.resting(d, f, &point.leaders),
                    Some(flags) => self.flagged(d, f, &point.leaders, &flags),
                };
                self.arrive(d, f, point, at, &here, Driven::Stored);
            });
        } else {
            unite_two(d, first, second, &mut |d, side, at| {
                let (present, absent): (&[AccessId], Option<AccessId>) = match side {
                    Side::Both => (&[a, b], None),
                    Side::First => (&[a], Some(b)),
                    Side::Second => (&[b], Some(a)),
                };
                let here = self.resting(d, f, present);
                self.book.under(Arm(present.to_vec()), || {
                    self.arrive(d, f, &self.without(point, absent), at, &here, Driven::Stored);
                });
            });
        }
        for (_, next) in &point.edges {
            self.point(d, f, &f.lattice.points[*next]);
        }
    }

    fn wide(&self, d: &mut Symbolic, f: &Forall, point: &Point) {
        let lists: Vec<&List<Term>> = point.leaders.iter().map(|a| &f.lists[a]).collect();
        let place = |a: AccessId| point.leaders.iter().position(|l| *l == a).expect("a leader");
        let sequence = &point.sequence;
        let live = |d: &mut Symbolic, valid: &[Term]| {
            let valid: Vec<Expr> = valid.iter().map(|t| d.place(t)).collect();
            Term::fixed(self.holds(sequence, &|a| valid[place(a)].clone()))
        };
        let somewhere = matches!(sequence, Sequence::Or(parts) if parts.iter().all(|s| matches!(s, Sequence::List(_))));
        wide(d, &lists, &live, &mut |d, at, present| {
            let here = self.flagged(d, f, &point.leaders, &present.iter().collect::<Vec<_>>());
            if somewhere {
                return self.arrive(d, f, point, at, &here, Driven::Stored);
            }
            let flags: Vec<Expr> = present.iter().map(|t| d.place(t)).collect();
            let needed = self.holds(sequence, &|a| flags[place(a)].clone());
            d.when(needed, |d| self.arrive(d, f, point, at, &here, Driven::Stored), |_| {});
        });
    }

    /// Emits what happens at a coordinate of a point: followers seek it, then the body runs, if the followers that
    /// decide on it have entries.
    fn arrive(&self, d: &mut Symbolic, f: &Forall, point: &Point, at: &Term, here: &[Here], driven: Driven) {
        let mut all: Vec<Here> = here.to_vec();
        let accesses = point.body.accesses();
        let deciding = point.beside.lists();
        for &a in point.followers.iter().filter(|a| accesses.contains(a)) {
            // A deciding list may be far longer than the leaders: galloping keeps the time in proportion to theirs.
            let far = deciding.contains(&a) && self.protocol(f.scope(), a).is_none();
            if far || self.gallops(f.scope(), a) {
                f.lists[&a].gallop(d, at);
            } else {
                f.lists[&a].catch_up(d, at);
            }
            all.push(self.follow(d, f, a, at));
        }
        let enough = self.enough(point, &all);
        let at = d.place(at);
        let scope = self.come_to_entries(d, f.scope(), (f.v, at), all);
        let body = |d: &mut Symbolic| self.go_on(d, f.v, f.rest, &point.body, scope, f.sink, driven);
        if deciding.is_empty() {
            return body(d);
        }
        f.sink.skip(f.v);
        d.when(enough, body, |_| {});
    }

    /// The condition that the followers which decide on a point have entries.
    fn enough(&self, point: &Point, here: &[Here]) -> Expr {
        let present = |a| here.iter().find(|here| here.access == a).and_then(|here| here.present.clone());
        self.holds(&point.beside, &|a| present(a).expect("who follows may be absent"))
    }

    /// The scope in which an index variable is bound to a coordinate, and lists have descended to their entries there;
    /// a list in blocks is bounded by its block.
    fn come_to_entries(
        &self,
        d: &mut Symbolic,
        scope: &Scope,
        (v, at): (Index, Expr),
        here: impl IntoIterator<Item = Here>,
    ) -> Scope {
        let mut inner = scope.clone();
        self.bind(d, &mut inner, v, at);
        for Here { access, entry, present } in here {
            if scope.in_blocks.contains(&access) {
                let (begin, run) = entry;
                let end = run.expect("a block ends").end(d);
                let block = self.block(&inner, access, v, (begin, d.place(&end)));
                inner.narrow(access, block, present);
            } else {
                inner.walk(access, entry, present);
            }
        }
        inner
    }

    /// Emits the body of a loop that has bound `v`: opens levels, under a guard if a search may fail.
    #[allow(clippy::too_many_arguments)]
    fn go_on(
        &self,
        d: &mut Symbolic,
        v: Index,
        rest: &[Index],
        body: &concrete::Expr,
        mut scope: Scope,
        sink: &Sink,
        driven: Driven,
    ) {
        if self.nothing(sink, body) {
            return sink.skip(v);
        }
        if driven != Driven::Counted {
            sink.passes(v);
        }
        let nothing = |e: &concrete::Expr| self.nothing(sink, e);
        if let Some((conditions, behind)) = self.first_asked(&scope, body, sink.falls(self.program), &nothing) {
            conditions.iter().for_each(|c| drop(self.locate(d, &mut scope, c, false)));
            let all = conditions.iter().map(|c| self.value(d, &scope, c));
            let all = all.reduce(|all, c| binary(Op::AndAlso, all, c)).expect("some are asked");
            sink.skip(v);
            return d.when(all, |d| self.go_on(d, v, rest, &behind, scope, sink, driven.guarded()), |_| {});
        }
        let flagged = !rest.is_empty() || has_loops(body) || sink.keeps_entries();
        let searched = self.locate(d, &mut scope, body, flagged);
        let guard = if searched.is_empty() {
            None
        } else {
            self.guard(&mut scope, body, &searched, &|e| self.nothing(sink, e))
        };
        match guard {
            None => self.sieved(d, v, rest, body, scope, sink, driven),
            Some(c) => {
                if let (Sink::Scalar { var, fun, begun: None }, []) = (sink, rest)
                    && let Some(value) = self.folded_anyway(d, (&scope, &searched), body)
                {
                    return self.accumulate(d, (*var, *fun), None, value);
                }
                let body = &scope.holding(&searched).fold(body.clone(), |body, c| self.where_it_holds(&body, c));
                sink.skip(v);
                d.when(c, |d| self.sieved(d, v, rest, body, scope, sink, driven.guarded()), |_| {});
            }
        }
    }

    /// Emits the rest of the body under conditions of the value that are decided here. They stand around the loops
    /// inside; in an innermost loop only those stand that functions' properties give (sets that omit coordinates),
    /// since testing others costs more than the value.
    #[allow(clippy::too_many_arguments)]
    fn sieved(
        &self,
        d: &mut Symbolic,
        v: Index,
        rest: &[Index],
        body: &concrete::Expr,
        scope: Scope,
        sink: &Sink,
        driven: Driven,
    ) {
        let loops = !rest.is_empty() || !sink.inside().is_empty();
        let nothing = |e: &concrete::Expr| self.nothing(sink, e);
        let sieve = if loops {
            self.sieve(d, &scope, body, &nothing)
        } else {
            let produces = sink.keeps_entries().then(|| self.produces(&scope, body, &nothing)).flatten();
            produces.map(|c| (self.value(d, &scope, &c), body.clone()))
        };
        match sieve {
            None => self.inside(d, v, rest, body, scope, sink, driven),
            Some((c, body)) => {
                sink.skip(v);
                d.when(c, |d| self.inside(d, v, rest, &body, scope, sink, driven.guarded()), |_| {});
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn inside(
        &self,
        d: &mut Symbolic,
        v: Index,
        rest: &[Index],
        body: &concrete::Expr,
        mut scope: Scope,
        sink: &Sink,
        driven: Driven,
    ) {
        if !rest.is_empty() || has_loops(body) {
            self.keep_values(d, &mut scope, body);
        }
        let entered = sink.enters(v).and_then(|(output, slot)| {
            let at = self.coordinate(&scope, output.next_var(slot)?)?;
            Some((output, slot, at))
        });
        match entered {
            None => self.nest(d, rest, body, scope, sink),
            Some((output, slot, at)) => {
                let mut inner = |d: &mut Symbolic, slot: Slot| {
                    let slot = output.locate(slot, &|v| self.coordinate(&scope, v));
                    self.nest(d, rest, body, scope.clone(), &sink.at(slot));
                };
                output.notes.reached(slot, &|a| scope.fiber(a).depth);
                match output.shared_with(slot) {
                    Some(a) => inner(d, output.entered(slot, scope.fiber(a).position)),
                    None => output.visit(d, slot, at, driven, &mut inner),
                }
            }
        }
    }

    /// What is done at the bottom of a nest: of a scatter only where no coordinate is missing.
    fn landed(&self, d: &mut Symbolic, body: &concrete::Expr, scope: &Scope, sink: &Sink) {
        let mut scope = scope.clone();
        let lands = match sink {
            Sink::Store { nest, .. } | Sink::Scatter { nest, .. } => self.lands(d, nest, &mut scope),
            _ => None,
        };
        match lands {
            Some(lands) => d.when(lands, |d| self.leaf(d, body, &scope, sink), |_| {}),
            None => self.leaf(d, body, &scope, sink),
        }
    }

    fn leaf(&self, d: &mut Symbolic, body: &concrete::Expr, scope: &Scope, sink: &Sink) {
        match sink {
            Sink::Scalar { var, fun, begun } => {
                // Values that both places use are loaded once.
                let shared = self.both.map(|(both, _)| {
                    let mut scope = scope.clone();
                    self.keep_values(d, &mut scope, &both.rhs);
                    scope
                });
                let scope = shared.as_ref().unwrap_or(scope);
                let value = self.value(d, scope, body);
                self.accumulate(d, (*var, *fun), *begun, value);
                self.both.iter().for_each(|(both, values)| self.fold_in(d, scope, both, *values));
            }
            Sink::Store { nest, output, slot } => {
                let value = self.value(d, scope, body);
                let scope = self.placed(d, nest, scope);
                let slot = output.locate(slot.clone(), &|v| self.coordinate(&scope, v));
                let value = match nest.fold {
                    Some(fun) => self.applied(d, fun, vec![output.held(&slot), value]),
                    None => value,
                };
                output.store(d, &slot, nest.fold.is_some(), value);
            }
            Sink::Tally(tally) => self.tally(d, tally, scope),
            // There is no loop inside.
            Sink::Bound { most, .. } => d.assign(*most, super::plus(Expr::Var(*most), int(1))),
            Sink::Scatter { nest, scratch } => {
                let value = self.value(d, scope, body);
                let scope = self.placed(d, nest, scope);
                scratch.put(self, d, nest, &|v| self.coordinate(&scope, v), value);
            }
            Sink::Around { nest, output, slot, scratch } => {
                scratch.clear(self, d);
                let before = self.before(nest);
                let was = before.as_ref().map(|before| (before, &before.rhs));
                if let Some(most) = scratch.most() {
                    // A pass that only counts, before the one that puts: it loads the ends of all inner fibers into the
                    // cache, with no load waiting for another, and spares the other pass the counting.
                    d.assign(most, int(0));
                    // The counting pass must not move fingers.
                    let mut through = scope.clone();
                    through.fingers.clear();
                    for (nest, body) in was.into_iter().chain([(*nest, body)]) {
                        let sink = Sink::Bound { nest, scratch, most };
                        self.book.under(Pass::Bounding, || self.nest(d, nest.filling(), body, through.clone(), &sink));
                    }
                }
                let through = |d: &mut Symbolic, scratch: &Scratch| {
                    if let Some((nest, body)) = was {
                        self.nest(d, nest.filling(), body, scope.clone(), &Sink::Scatter { nest, scratch });
                        scratch.lay(d);
                    }
                    self.nest(d, nest.filling(), body, scope.clone(), &Sink::Scatter { nest, scratch });
                    scratch.drain(self, d, scope, output, slot);
                };
                let (Some(few), Some(most)) = (scratch.of_few(), scratch.most()) else { return through(d, scratch) };
                let with_few = |d: &mut Symbolic| {
                    few.clear(self, d);
                    self.book.under(Pass::Short, || through(d, &few));
                };
                d.when(Few::suffices(self, most), with_few, |d| through(d, scratch));
            }
        }
    }
}

impl Context<'_> {
    /// `t = f(t, value)`
    fn accumulate(&self, d: &mut Symbolic, (t, fun): (Var, Fun), begun: Option<Var>, value: Expr) {
        let Some(begun) = begun else {
            let joined = self.applied(d, fun, vec![Expr::Var(t), value]);
            return d.assign(t, joined);
        };
        let value = d.define("value", d.vars[t.0 as usize].1, value);
        let first = |d: &mut Symbolic| {
            d.assign(t, value.clone());
            d.assign(begun, yes());
        };
        let join = |d: &mut Symbolic| {
            let joined = self.applied(d, fun, vec![Expr::Var(t), value.clone()]);
            d.assign(t, joined);
        };
        d.when(Expr::Var(begun), join, first);
    }

    /// Folds the second value of an `also` into its place: the result is a vector with a place for each coordinate.
    fn fold_in(&self, d: &mut Symbolic, scope: &Scope, Both { at, fun, rhs }: &Both, values: BufferId) {
        let value = self.value(d, scope, rhs);
        let at = self.coordinate(scope, *at).expect("bound: checked concrete notation");
        let was = Expr::Load(values, Box::new(at.clone()));
        let joined = self.applied(d, *fun, vec![was, value]);
        d.emit(Stmt::Store(values, at, joined));
    }
}

impl<'a> Sink<'a> {
    fn slot(&self) -> Option<(&'a Output, &Slot)> {
        match self {
            Sink::Store { output, slot, .. } | Sink::Around { output, slot, .. } => Some((output, slot)),
            _ => None,
        }
    }

    /// The loops of the nest inside of the workspace, if this sink is around one.
    fn inside(&self) -> &'a [Index] {
        match self {
            Sink::Around { nest, .. } => nest.filling(),
            _ => &[],
        }
    }

    /// Whether it stores entries: a coordinate without effect must not reach it.
    fn keeps_entries(&self) -> bool {
        match self {
            Sink::Scalar { .. } => false,
            Sink::Store { output, .. } => output.keeps_entries(),
            Sink::Scatter { .. } | Sink::Around { .. } | Sink::Bound { .. } | Sink::Tally(_) => true,
        }
    }

    /// The output, if a loop over `v` is the innermost that moves its next level.
    fn enters(&self, v: Index) -> Option<(&'a Output, &Slot)> {
        self.slot().filter(|(output, slot)| output.next_ends_with(slot, v))
    }

    /// The output, if its next level is that of `v` and appends.
    fn appends(&self, v: Index) -> Option<(&'a Output, &Slot)> {
        self.enters(v).filter(|(output, slot)| output.is_list(slot.level))
    }

    /// Notes that a loop over `v` does not visit all of its coordinates.
    fn passes(&self, v: Index) {
        if let Some((output, _)) = self.slot() {
            output.notes.passes(v);
        }
    }

    /// Notes that some coordinate of `v` is passed over.
    fn skip(&self, v: Index) {
        self.passes(v);
        if let Some((output, slot)) = self.slot().filter(|(output, slot)| output.next_follows(slot, v)) {
            output.notes.skipped(slot);
        }
    }

    /// The same sink one level further.
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

/// The only list of a point: one leader, no follower.
fn alone(point: &Point) -> Option<AccessId> {
    (point.shape == Shape::Each && point.followers.is_empty()).then(|| point.leaders[0])
}

/// The access whose whole fiber is walked, with no other list beside it.
fn walked_whole(parts: &[Part]) -> Option<AccessId> {
    let [part] = parts else { return None };
    alone(part.top()).filter(|a| part.fibers[a].is_counted())
}

fn has_loops(e: &concrete::Expr) -> bool {
    match e {
        concrete::Expr::Reduce(..) | concrete::Expr::Fold(..) | concrete::Expr::Where(..) => true,
        concrete::Expr::Call(_, args, _) => args.iter().any(has_loops),
        concrete::Expr::Concat(c, _) => c.exprs().any(has_loops),
        _ => false,
    }
}

/// Whether a value takes a few simple instructions.
pub(super) fn cheap(e: &concrete::Expr) -> bool {
    match e {
        concrete::Expr::Literal(_)
        | concrete::Expr::Index(_)
        | concrete::Expr::Access(..)
        | concrete::Expr::Column(_) => true,
        concrete::Expr::Call(Fun::User(_), ..) => false,
        concrete::Expr::Call(Fun::Op(op), args, _) => {
            let simple = match op {
                Op::Add | Op::Sub | Op::Mul | Op::Min | Op::Max | Op::And | Op::Or | Op::Xor | Op::Neg | Op::Not => {
                    true
                }
                Op::Convert(_) => true,
                op => op.is_comparison(),
            };
            simple && args.len() <= 3 && args.iter().all(cheap)
        }
        concrete::Expr::Reduce(..) | concrete::Expr::Fold(..) | concrete::Expr::Concat(..) => false,
        concrete::Expr::Where(..) => false,
    }
}

/// `true`, for flags.
pub(super) fn yes() -> Expr {
    Expr::Const(Value::bool(true))
}
