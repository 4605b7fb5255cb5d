//! A coordinate of a loop: followers are advanced to it, levels are opened, guards are tested, and the loops inside begin.

use super::{
    Context, choice,
    destination::{Destination, Frame, effect, is_nothing},
    leaf, levels,
    output::Arrival,
    position_map, value,
};
use crate::choose::{
    access, condition, coordinate, fingers,
    piece::Piece,
    scope::{Positions, Scope},
    symbol::{Name, Sym},
    walk::{How, Listed, Loop},
};
use crate::plan::{Block, Driver, Entry, List, Op, Visit};
use fiberloom_core::algebra::Type;
use fiberloom_core::iteration::{Lattice, Point};
use fiberloom_core::notation::concrete::{self, AccessId, Index};
use std::collections::BTreeMap;

/// The current entry of a list while a loop is at a coordinate.
#[derive(Clone)]
pub(super) struct Here {
    pub access: AccessId,
    pub entry: Positions,
    /// The condition under which the entry is at this coordinate; `None` if it always is.
    pub present: Option<Sym>,
}

/// One range of an index variable's loop, while its points are planned.
pub(super) struct Forall<'a> {
    pub frame: Frame<'a>,
    pub piece: &'a Piece,
    pub lattice: &'a Lattice,
    pub fibers: &'a BTreeMap<AccessId, List>,
    /// The open lists.
    pub lists: &'a BTreeMap<AccessId, Name>,
}

impl Forall<'_> {
    /// The scope of the loop: the bindings of the loops around it.
    pub fn scope(&self) -> &Scope {
        &self.piece.scope
    }

    /// Open lists, by their accesses.
    pub fn names(&self, of: &[AccessId]) -> Vec<Name> {
        of.iter().map(|a| self.lists[a]).collect()
    }

    /// A symbol for the loop's coordinate.
    pub fn coordinate(&self, cx: &Context) -> Sym {
        cx.symbols.read(&cx.program.vars[self.frame.v.0].name, Type::I64)
    }

    /// An entry of an access's list.
    pub fn entry(&self, cx: &Context, a: AccessId) -> Entry {
        Entry::of(cx, &self.fibers[&a])
    }

    /// Applies a function to the description of this loop that choices of walks use.
    pub fn chosen<R>(&self, cx: &Context, of: impl FnOnce(&Loop) -> R) -> R {
        let (goal, effect) = (self.frame.destination.goal(self.frame.v), effect(cx, self.frame.destination));
        let list = |a: AccessId| Listed { lanes: self.fibers[&a].has_lanes(), repeats: self.fibers[&a].is_of_runs() };
        of(&Loop { rest: self.frame.rest, scope: self.scope(), goal, effect, list: &list })
    }

    /// The way to walk a point.
    pub fn way(&self, cx: &Context, point: &Point) -> How {
        self.chosen(cx, |of| of.way(cx, point))
    }
}

/// The loop over the entries of the leading list; followers are advanced to each entry.
pub(super) fn alone_in_loop(cx: &Context, b: &mut Block, f: &Forall, point: &Point) {
    let a = point.leaders[0];
    let (at, entry) = (f.coordinate(cx), f.entry(cx, a));
    let here = Here { access: a, entry: entry.positions(), present: None };
    let body = Block::of(|b| arrive(cx, b, f, point, (at, Driver::Stored), &[here]));
    let visit = Visit { at, entry, body };
    b.push(Op::EachOpen { list: f.lists[&a], visit });
}

/// The current entries of lists.
pub(super) fn resting(cx: &Context, b: &mut Block, f: &Forall, lists: &[AccessId]) -> Vec<Here> {
    let here = |&access: &AccessId| {
        let is = f.entry(cx, access);
        b.push(Op::Rest { list: f.lists[&access], is });
        Here { access, entry: is.positions(), present: None }
    };
    lists.iter().map(here).collect()
}

/// The current entries of lists, each present if its flag is set.
pub(super) fn flagged(cx: &Context, b: &mut Block, f: &Forall, lists: &[AccessId], flags: &[Sym]) -> Vec<Here> {
    let mut here = resting(cx, b, f, lists);
    for (here, flag) in here.iter_mut().zip(flags) {
        here.present = Some(*flag);
    }
    here
}

/// Plans a coordinate of a point: followers are advanced to it, then the body runs, if the followers' entries there satisfy the point's
/// condition on them.
pub(super) fn arrive(
    cx: &Context,
    b: &mut Block,
    f: &Forall,
    point: &Point,
    (at, driver): (Sym, Driver),
    here: &[Here],
) {
    let mut all: Vec<Here> = here.to_vec();
    let accesses = point.body.accesses();
    let deciding = point.beside.lists();
    for &a in point.followers.iter().filter(|a| accesses.contains(a)) {
        // A follower in that condition may be far longer than the leaders: exponential search keeps the time in proportion to the
        // leaders' entries.
        let far = deciding.contains(&a) && access::protocol(cx, f.scope(), a).is_none();
        let gallops = far || access::gallops(cx, f.scope(), a);
        b.push(Op::CatchUp { list: f.lists[&a], at, gallops });
        all.push(follow(cx, b, f, a, at));
    }
    let enough = enough(cx, point, &all);
    let scope = come_to_entries(cx, b, f.scope(), (f.frame.v, at), all);
    let body = |b: &mut Block| go_on(cx, b, f.frame, &point.body, scope, driver);
    if deciding.is_empty() {
        return body(b);
    }
    b.when(enough, body, |_| {});
}

/// The condition on the followers' entries under which a point's body runs.
pub(super) fn enough(cx: &Context, point: &Point, here: &[Here]) -> Sym {
    let present = |a| here.iter().find(|here| here.access == a).and_then(|here| here.present);
    levels::holds(cx, &point.beside, &|a| present(a).expect("who follows may be absent"))
}

/// The scope in which an index variable is bound to a coordinate, and lists have descended to their entries there; a list in blocks is
/// bounded by its block.
pub(super) fn come_to_entries(
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
pub(super) fn go_on(cx: &Context, b: &mut Block, of: Frame, body: &concrete::Expr, mut scope: Scope, driver: Driver) {
    let Frame { rest, destination, .. } = of;
    if is_nothing(cx, destination, body) {
        return;
    }
    let nothing = |e: &concrete::Expr| is_nothing(cx, destination, e);
    if let Some((conditions, behind)) =
        condition::first_asked(cx, &scope, body, destination.falls(cx.program), &nothing)
    {
        conditions.iter().for_each(|c| drop(value::locate(cx, b, &mut scope, c, false)));
        let all: Vec<Sym> = conditions.iter().map(|c| value::value(cx, b, &scope, c)).collect();
        let all = cx.symbols.all(all).expect("some are asked");
        return b.when(all, |b| go_on(cx, b, of, &behind, scope, driver.guarded()), |_| {});
    }
    let flagged = !rest.is_empty() || body.has_loops() || destination.keeps_entries();
    let searched = value::locate(cx, b, &mut scope, body, flagged);
    let guard = if searched.is_empty() {
        None
    } else {
        value::guard(cx, &mut scope, body, &searched, &|e| is_nothing(cx, destination, e))
    };
    let Some(guard) = guard else { return under_guard(cx, b, of, body, scope, driver) };
    if let (Destination::Scalar { var, fun, begun: None }, []) = (destination, rest)
        && let Some(value) = position_map::folded_branch_free(cx, b, (&scope, &searched), body)
    {
        return leaf::accumulate(cx, b, (*var, *fun), None, value);
    }
    let body = &scope.holding(&searched).fold(body.clone(), |body, c| condition::where_it_holds(cx, &body, c));
    b.when(guard, |b| under_guard(cx, b, of, body, scope, driver.guarded()), |_| {});
}

/// A guard that bound variables determine, without which a body has no effect, and the body under that guard; `None` if there is none.
pub(super) fn early_guard(
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
    let all: Vec<Sym> = conditions.iter().map(|c| value::value(cx, b, scope, c)).collect();
    cx.symbols.all(all).map(|all| (all, body))
}

/// Plans the rest of the body under those guards that can be evaluated here. They stand before the loops inside. An innermost loop has
/// only guards that keep entries out of a result: guards from properties of functions (sets that omit coordinates), and comparisons of
/// values. Elsewhere a guard costs more than the value.
fn under_guard(cx: &Context, b: &mut Block, of: Frame, body: &concrete::Expr, scope: Scope, driver: Driver) {
    let Frame { rest, destination, .. } = of;
    let loops = !rest.is_empty() || !destination.inside().is_empty();
    let nothing = |e: &concrete::Expr| is_nothing(cx, destination, e);
    let early_guard = if loops {
        early_guard(cx, b, &scope, body, &nothing)
    } else {
        let keeps = destination.keeps_entries();
        let produces = keeps.then(|| condition::produces(cx, &scope, body, &nothing)).flatten();
        let produces = produces.map(|c| (value::value(cx, b, &scope, &c), body.clone()));
        // Values are put into a workspace without a test.
        let stores = keeps && matches!(destination, Destination::Store { .. });
        produces.or_else(|| all_hold(cx, b, &scope, stores.then(|| condition::on_values(cx, &scope, body, &nothing))?))
    };
    match early_guard {
        None => inside(cx, b, of, body, scope, driver),
        Some((c, body)) => b.when(c, |b| inside(cx, b, of, &body, scope, driver.guarded()), |_| {}),
    }
}

pub(super) fn inside(cx: &Context, b: &mut Block, of: Frame, body: &concrete::Expr, mut scope: Scope, driver: Driver) {
    let Frame { v, rest, destination } = of;
    if !rest.is_empty() || body.has_loops() {
        value::keep_values(cx, b, &mut scope, body);
    }
    let entered = destination.enters(v).and_then(|(output, insertion)| {
        let at = coordinate::of(cx, &scope, output.next_var(insertion)?)?;
        Some((output, insertion, at))
    });
    let Some((output, insertion, at)) = entered else { return (cx.nest)(cx, b, rest, body, scope, destination) };
    let positions = output.shared(insertion, &scope);
    output.visit(cx, b, insertion, Arrival { at, driver, positions }, |b, insertion| {
        let insertion = output.locate(cx, b, insertion, &scope);
        (cx.nest)(cx, b, rest, body, scope.clone(), &destination.at(insertion));
    });
}

/// The entry at a cursor, and the condition that it is at a coordinate. The cursor is not yet behind that coordinate.
pub(super) fn follow(cx: &Context, b: &mut Block, f: &Forall, access: AccessId, at: Sym) -> Here {
    let (here, is) = (cx.symbols.held("here", Type::Bool), f.entry(cx, access));
    b.push(Op::Follow { list: f.lists[&access], at, here, is });
    Here { access, entry: is.positions(), present: Some(here) }
}
