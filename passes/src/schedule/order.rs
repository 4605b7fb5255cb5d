//! Chooses the order of loops by estimated visits.
//!
//! ```text
//!   C[i,j] = sum(k: A[i,k] * D[k,j]), all CSR
//!     i j k   D cannot be followed: transposed; every pair (i, j) is visited
//!     i k j   rows of D are added up in a workspace: visits Σᵢ Σₖ |D[k]|      ◀ least
//! ```
//!
//! The model knows no data. A dense level has 1000 coordinates, a list 10 entries (the outermost one 100), neither more than the extent
//! that the program says; an inverse has one entry for each iteration of the loops that it is of; and a loop whose coordinate a condition fixes, as `j == p[i]` does inside of `i`, has one iteration. Inside of
//! a loop that also visits coordinates at which a list has no entry, levels below the list are present in proportion: of `{dense,
//! compressed}` plus `{compressed, dense}` few rows are full. Branch and bound over permutations skips orders that are worse than the
//! best so far.

use fiberloom_core::algebra::{Op, Value};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::iteration::{Sequence, Simplify, background};
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::{ALWAYS, AccessId, Expr, Index, Place, Program};
use fiberloom_core::notation::typed::Fun;
use fiberloom_core::shape::Classes;
use std::collections::{BTreeMap, BTreeSet};

/// The assumed data by which orders are compared.
#[derive(Clone, Copy)]
struct Model {
    /// The coordinates of a level that is not a list.
    extent: f64,
    /// The entries of a list.
    entries: f64,
    /// The entries of an outermost list.
    first: f64,
}

/// Usual data.
const USUAL: Model = Model { extent: 1e3, entries: 10.0, first: 100.0 };

/// More rows of the same length: costs that differ by a power of the extent differ clearly here.
const LARGE: Model = Model { extent: 1e5, entries: 10.0, first: 1e4 };

/// The best order on usual data gives way to another that costs at most [`DEARER`] times as much there and less than 1/[`WORSE`] on large
/// data.
const WORSE: f64 = 10.0;
const DEARER: f64 = 4.0;

/// Relative costs, per entry, of assembling the result and of copying an operand.
const IN_PLACE: f64 = 1.2;
const WORKSPACE: f64 = 3.0;
const SORTED: f64 = 25.0;
const COPIED: f64 = 30.0;
const STRIDED: f64 = 1.5;
/// The cost of a value that is stored in a temporary, and copied to the result unless it is the fill value.
const THROUGH: f64 = 10.0;
/// Factor on the visits of an order that needs a copy: the model is only this precise.
const COPYING: f64 = 1.5;

/// The most coordinates at which a row is searched one by one; the program has to give the number.
const FEW: u64 = 32;

/// The most loops whose orders are searched exhaustively; more are ordered greedily.
const EXHAUSTIVE: usize = 7;

/// A statement whose loops are to be ordered.
pub struct Question<'a> {
    /// The program with its tensors.
    pub program: &'a Program,
    /// The result.
    pub target: Target<'a>,
    /// The variables that are folded over.
    pub sums: &'a [Index],
    /// The function that folds; `None` if there are no such variables.
    pub fold: Option<Fun>,
    /// Whether values go to computed coordinates.
    pub scatters: bool,
    /// The value.
    pub body: &'a Expr,
    /// The extents that the program states.
    pub classes: &'a Classes,
    /// Tensors that hold for each iteration of some loops, their later modes, one coordinate of their first.
    pub inverses: &'a BTreeSet<Place>,
    /// Simplification under the program's mode.
    pub simplify: Simplify<'a>,
}

/// A result under distinct variables, one a mode. A mapped variable ascends with the loops over its roots.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The program that its variables belong to.
    pub program: &'a Program,
    /// The result's format.
    pub format: &'a Format,
    /// The result's fill value.
    pub fill: Value,
    /// The result's variables. A scatter has none: its target's coordinates are computed.
    pub vars: &'a [Index],
}

struct Search<'a, 'b> {
    q: &'b Question<'a>,
    model: Model,
    accesses: Vec<AccessId>,
    /// The sequence of a loop over these lists, by the lists and the arrival of its values: several orders share it.
    visited: BTreeMap<(Vec<AccessId>, Arrival, Option<Index>), Sequence>,
    best: Option<(f64, Vec<Index>)>,
    /// Loops inside of all others, around a value that is not the result's.
    inner: &'b [Index],
}

/// The destination of a loop's values, which determines the iterations that may be skipped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Arrival {
    /// The values are stored in the result: iterations whose value is the fill may be skipped.
    Stored,
    /// The values are folded with other values of the same element: iterations whose value is the identity may be skipped.
    Folded,
    /// All values are folded into one: equal values of many iterations may be folded at once.
    Within,
}

/// Per access, the share of the iterations so far in which its next levels are present; 1 for accesses that are not listed.
type Presence = BTreeMap<AccessId, f64>;

/// The estimates for one loop.
struct Trips {
    /// The number of coordinates visited.
    trips: f64,
    /// The work to find them.
    work: f64,
    /// The presence inside of the loop.
    there: Presence,
}

/// The cheapest order of the target's variables and the sums.
pub fn choose(q: &Question) -> Vec<Index> {
    let vars: Vec<Index> = natural(q);
    if vars.len() > EXHAUSTIVE {
        return Search::new(q, USUAL).greedy(vars);
    }
    let mut usual = Search::new(q, USUAL);
    let Some((cost, best)) = usual.least(&vars) else { return vars };
    if q.is_vague() {
        return best;
    }
    let mut large = Search::new(q, LARGE);
    match large.least(&vars) {
        Some((least, other)) if large.cost(&best) > WORSE * least && usual.cost(&other) <= DEARER * cost => other,
        _ => best,
    }
}

/// Whether a fold costs less as a nest of its own than inside, with the loops `inner` in this order inside of all others; both on usual
/// and on large data.
pub fn is_better_apart(q: &Question, inner: &[Index]) -> bool {
    let (outer, vars) = (q.target.levels().flatten().collect::<Vec<Index>>(), natural(q));
    vars.len() <= EXHAUSTIVE
        && [USUAL, LARGE].into_iter().all(|model| {
            let inside = Search { inner, ..Search::new(q, model) }.least(&outer);
            let mut search = Search::new(q, model);
            let made = search.coordinates(&outer) * IN_PLACE;
            let apart = search.least(&vars);
            apart.zip(inside).is_some_and(|((apart, _), (inside, _))| apart + made < inside)
        })
}

/// Whether the loops of a nest, in the cheapest order, visit each coordinate of its target at least once on average.
pub fn fills(q: &Question) -> bool {
    let vars = natural(q);
    let mut search = Search::new(q, USUAL);
    let order = match vars.len() {
        0..=EXHAUSTIVE => search.least(&vars).map_or(vars, |(_, order)| order),
        _ => search.greedy(vars),
    };
    let outer: Vec<Index> = q.target.levels().flatten().collect();
    // The visits are at most those of loops over the target's variables alone.
    let visits = search.visits(&order).min(search.visits(&outer));
    visits >= search.coordinates(&outer)
}

impl Question<'_> {
    /// Whether the model is unreliable on large data: several loops move one level of an operand, or the program says a list's protocol.
    fn is_vague(&self) -> bool {
        let several = |v: &Index| self.program.roots(*v).len() > 1;
        let vague = |a: &AccessId| {
            let access = &self.program.accesses[a.0];
            access.vars.iter().any(several) || !access.protocols.is_empty()
        };
        self.body.accesses().iter().any(vague)
    }
}

/// The variables in the order in which the result stores them, then the sums. Among orders of equal cost, the first wins.
fn natural(q: &Question) -> Vec<Index> {
    let mut vars: Vec<Index> = q.target.levels().flatten().collect();
    vars.extend(q.sums);
    vars
}

impl<'a, 'b> Search<'a, 'b> {
    fn new(q: &'b Question<'a>, model: Model) -> Search<'a, 'b> {
        Search { q, model, accesses: q.body.accesses(), visited: BTreeMap::new(), best: None, inner: &[] }
    }

    /// The cheapest order of these variables, with its cost.
    fn least(&mut self, vars: &[Index]) -> Option<(f64, Vec<Index>)> {
        self.extend(&mut Vec::new(), vars, (1.0, 0.0), &Presence::new());
        self.best.take()
    }

    /// The cost of an order.
    fn cost(&mut self, order: &[Index]) -> f64 {
        self.total((&[], order), (1.0, 0.0), &Presence::new())
    }

    /// The number of iterations of the innermost loop of an order.
    fn visits(&mut self, order: &[Index]) -> f64 {
        self.walked((&[], order), (1.0, 0.0), &Presence::new()).0
    }

    /// The number of coordinates under these variables.
    fn coordinates(&self, vars: &[Index]) -> f64 {
        vars.iter().map(|v| self.extent(*v)).product()
    }

    /// The cost of an order that continues with these loops.
    fn total(&mut self, (order, more): (&[Index], &[Index]), so_far: (f64, f64), there: &Presence) -> f64 {
        let (visits, cost) = self.walked((order, more), so_far, there);
        cost + self.leaf(&[order, more].concat(), visits)
    }

    /// The iterations of the innermost loop, and the work of all loops, of an order that continues with these loops.
    fn walked(
        &mut self,
        (order, more): (&[Index], &[Index]),
        (mut visits, mut cost): (f64, f64),
        there: &Presence,
    ) -> (f64, f64) {
        let (mut order, mut there) = (order.to_vec(), there.clone());
        for v in more {
            let Trips { trips, work, there: inside } = self.trips(&order, *v, &there);
            (visits, cost, there) = (visits * trips, cost + visits * work, inside);
            order.push(*v);
        }
        (visits, cost)
    }

    fn extend(&mut self, order: &mut Vec<Index>, vars: &[Index], (visits, cost): (f64, f64), there: &Presence) {
        if self.best.as_ref().is_some_and(|(best, _)| cost >= *best) {
            return;
        }
        if order.len() == vars.len() {
            let total = self.total((order, self.inner), (visits, cost), there);
            if self.best.as_ref().is_none_or(|(best, _)| total < *best) {
                self.best = Some((total, order.clone()));
            }
            return;
        }
        for &v in vars {
            if order.contains(&v) {
                continue;
            }
            let Trips { trips, work, there } = self.trips(order, v, there);
            order.push(v);
            self.extend(order, vars, (visits * trips, cost + visits * work), &there);
            order.pop();
        }
    }

    /// Chooses one variable after the other, each time the one whose loop costs least.
    fn greedy(&mut self, mut vars: Vec<Index>) -> Vec<Index> {
        let (mut order, mut there) = (Vec::new(), Presence::new());
        while !vars.is_empty() {
            let all: Vec<Trips> = vars.iter().map(|v| self.trips(&order, *v, &there)).collect();
            let next = (0..vars.len()).min_by(|&a, &b| all[a].work.total_cmp(&all[b].work)).unwrap_or(0);
            order.push(vars.remove(next));
            there = all.into_iter().nth(next).expect("it is one of them").there;
        }
        order
    }

    /// The coordinates at which the body is not a constant without effect, as a sequence over these lists.
    fn visited(&mut self, lists: Vec<AccessId>, arrival: Arrival, v: Index) -> Sequence {
        let key = (lists, arrival, (arrival == Arrival::Within).then_some(v));
        if let Some(known) = self.visited.get(&key) {
            return known.clone();
        }
        let lists = &key.0;
        let fill = |a: AccessId| -> Value { self.q.program.tensor(a).fill };
        let (sequence, rest) = background(self.q.body, lists, &fill, self.q.simplify);
        let quiet = match &rest {
            Expr::Literal(x) => self.quiet(*x, arrival),
            rest => arrival == Arrival::Within && self.is_folded_at_once(rest, v),
        };
        let visited = if quiet { sequence } else { Sequence::Full };
        self.visited.insert(key, visited.clone());
        visited
    }

    /// The estimates for a loop over `v` inside `order`, given the presence around it.
    fn trips(&mut self, order: &[Index], v: Index, there: &Presence) -> Trips {
        if self.is_said(order, v) {
            return Trips { trips: 1.0, work: 1.0, there: there.clone() };
        }
        let part = |a: AccessId| there.get(&a).copied().unwrap_or(1.0);
        let extent = self.extent(v);
        let of_extent = |(a, n): (AccessId, f64)| (a, n.min(extent));
        let lists = self.accesses.iter().filter_map(|&a| self.list(order, a, v).map(of_extent));
        let lists: Vec<(AccessId, f64)> = lists.collect();
        // An access that is not always present counts as a list over the whole extent.
        let seldom = |a: &&AccessId| part(**a) < 1.0 && lists.iter().all(|(b, _)| b != *a) && self.moves(**a, v);
        let seldom: Vec<AccessId> = self.accesses.iter().filter(seldom).copied().collect();
        let arrival = self.arrival(order, v);
        let sequence = self.visited(lists.iter().map(|(a, _)| *a).chain(seldom).collect(), arrival, v);
        let listed = |a: AccessId| lists.iter().find(|(b, _)| *b == a).map_or(extent, |(_, n)| *n);
        let length = |a: AccessId| part(a) * listed(a);
        // A list that stays beside one that loops move is asked instead of walked.
        let parts: Vec<Vec<AccessId>> = sequence.intersections();
        let moved = |a: &AccessId| self.q.program.moved_by(*a, order, v);
        let asked = |a: AccessId| {
            let mut most =
                parts.iter().filter(|part| part.contains(&a)).filter_map(|part| part.iter().map(moved).max());
            most.any(|most| self.q.program.stays(a, most, order, v))
        };
        let walked: f64 = lists.iter().filter(|(a, _)| !asked(*a)).map(|(a, n)| part(*a) * n).sum();
        // Lists are assumed to be independent.
        let (mut both, mut either) = (|a: f64, b: f64| a * b / extent, |a: f64, b: f64| (a + b).min(extent));
        let (trips, work) = match sequence {
            Sequence::Full => (extent, walked.max(extent)),
            _ => (sequence.fold(&mut |a| length(a), &|_| 0.0, &mut both, &mut either), walked),
        };
        let mut there = there.clone();
        for (a, n) in lists.iter().filter(|(_, n)| *n < trips) {
            *there.entry(*a).or_insert(1.0) *= n / trips;
        }
        Trips { trips, work, there }
    }

    /// The estimated number of coordinates of a loop.
    fn extent(&self, v: Index) -> f64 {
        self.coordinates_of(self.q.program.vars[v.0].extent)
    }

    /// The estimated number of coordinates of an access's level, under all of those above.
    fn coordinates_of_level(&self, a: AccessId, l: usize) -> f64 {
        let tensor = self.q.program.tensor(a);
        let extent = self.coordinates_of(tensor.extents[tensor.format.order[l]]);
        if l == 0 && tensor.format.levels[l].is_short() { self.model.first.min(extent) } else { extent }
    }

    /// The estimated number of coordinates of an extent.
    fn coordinates_of(&self, extent: ClassId) -> f64 {
        let stated = self.q.classes.value(extent);
        stated.map_or(self.model.extent, |n| (n as f64).clamp(1.0, self.model.extent))
    }

    /// Whether a loop over `v` moves an access.
    fn moves(&self, a: AccessId, v: Index) -> bool {
        self.q.program.accesses[a.0].vars.iter().any(|w| self.q.program.follows(*w, v))
    }

    /// Whether a condition `v == e`, where `e` is known inside `order`, leaves one iteration to a loop over `v`.
    fn is_said(&self, order: &[Index], v: Index) -> bool {
        let bound = |w: Index| self.q.program.time(w, order).is_some();
        let leaf = |e: &Expr| match e {
            Expr::Literal(_) | Expr::Call(Fun::Op(_), ..) => true,
            Expr::Index(w) => bound(*w),
            Expr::Access(a, _) => self.q.program.accesses[a.0].vars.iter().all(|w| bound(*w)),
            Expr::Column(column) => self.q.program.accesses[column.of.0].vars.iter().all(|w| bound(*w)),
            _ => false,
        };
        let known = |e: &Expr| {
            let mut all = true;
            e.each(&mut |part| all &= leaf(part));
            all
        };
        let (mut said, arrival) = (false, self.arrival(order, v));
        self.q.body.each(&mut |e| {
            let Expr::Call(Fun::Op(Op::Eq), sides, _) = e else { return };
            let says = |a: usize| sides[a] == Expr::Index(v) && known(&sides[1 - a]);
            if says(0) || says(1) {
                let never = Value::bool(false);
                let rest = self.q.simplify.simplify(&self.q.body.clone().settled(&|part| (part == e).then_some(never)));
                said |= matches!(rest, Expr::Literal(x) if self.quiet(x, arrival));
            }
        });
        said
    }

    /// Where the values of a loop over `v` inside `order` go.
    fn arrival(&self, order: &[Index], v: Index) -> Arrival {
        let summed = |v: &Index| self.q.sums.contains(v);
        match summed(&v) {
            true if !self.q.scatters && self.q.target.levels().flatten().all(|u| order.contains(&u)) => Arrival::Within,
            false if !order.iter().any(summed) => Arrival::Stored,
            _ => Arrival::Folded,
        }
    }

    /// Whether a value that a loop over `v` does not move is folded in once for all of its iterations.
    fn is_folded_at_once(&self, e: &Expr, v: Index) -> bool {
        let Some(fun) = self.q.fold else { return false };
        let mut moved = e.has_loops();
        e.each(&mut |e| {
            moved |= match e {
                Expr::Index(w) => self.q.program.follows(*w, v),
                e => e.access().is_some_and(|a| self.moves(a, v)),
            }
        });
        !moved && self.q.simplify.at_once(fun, e.ty(), None)
    }

    /// Whether iterations with this value may be skipped, or folded at once.
    fn quiet(&self, x: Value, arrival: Arrival) -> bool {
        let Some(fun) = self.q.fold else {
            return self.q.simplify.same(x, self.q.target.fill) || self.q.simplify.same(x, Value::zero(x.ty()));
        };
        match arrival {
            Arrival::Stored => self.q.simplify.same(x, self.q.target.fill) || self.q.simplify.neutral(fun, x),
            Arrival::Folded => self.q.simplify.neutral(fun, x),
            Arrival::Within => self.q.simplify.neutral(fun, x) || self.q.simplify.at_once(fun, x.ty(), Some(x)),
        }
    }

    /// The access with its estimated entries, if it walks a list over `v`: its level there is a list and the levels above are open.
    fn list(&self, order: &[Index], a: AccessId, v: Index) -> Option<(AccessId, f64)> {
        let access = &self.q.program.accesses[a.0];
        let format = &self.q.program.tensor(a).format;
        let program = self.q.program;
        if !self.moves(a, v) {
            return None;
        }
        let time = |w: Index| program.time(w, order);
        let bound = |l: usize| time(access.vars[format.order[l]]).is_some();
        if !self.followed(&[order, &[v]].concat(), a) {
            // The access will be transposed. A list under a computed coordinate is searched, whatever the order of levels.
            let walked = access.vars.iter().any(|w| program.binds(v, *w, |u| order.contains(&u)));
            let open = (0..format.rank()).filter(|l| bound(*l));
            let coordinates: Vec<f64> = open.map(|l| self.coordinates_of_level(a, l)).collect();
            let within = self.stored(a) / coordinates.iter().product::<f64>();
            // A matrix has lists of the usual length. A tree's list that loops bring outside of others has nearly all entries, so that
            // lists below it have one.
            let least = if format.rank() == 2 && !self.is_inverse(a) { self.model.entries } else { 1.0 };
            return (walked && !coordinates.is_empty()).then_some((a, within.clamp(least, self.model.extent)));
        }
        let level =
            (0..format.rank()).find(|&l| program.binds(v, access.vars[format.order[l]], |u| order.contains(&u)))?;
        let above = (0..level).all(bound);
        (above && format.levels[level].is_short()).then(|| (a, self.entries(a, level)))
    }

    /// The estimated entries of a list.
    fn entries(&self, a: AccessId, level: usize) -> f64 {
        if self.is_inverse(a) {
            let above: f64 = (0..level).map(|l| self.coordinates_of_level(a, l)).product();
            return (self.stored(a) / above).max(1.0);
        }
        if level == 0 { self.model.first } else { self.model.entries }
    }

    /// Whether an access reads a tensor that has one entry for each iteration of some loops.
    fn is_inverse(&self, a: AccessId) -> bool {
        self.q.inverses.contains(&self.q.program.accesses[a.0].tensor)
    }

    /// Whether loops in this order follow the access.
    fn followed(&self, order: &[Index], a: AccessId) -> bool {
        is_followed(self.q.program, (self.q.classes, self.q.simplify), (a, self.q.body), order)
    }

    /// The cost of an order besides its loops: transposed operands, and visits weighted by assembly and strides.
    fn leaf(&self, order: &[Index], visits: f64) -> f64 {
        let copies: f64 = self.accesses.iter().filter(|a| !self.followed(order, **a)).map(|a| self.copy(*a)).sum();
        let assembly = assembly(self.q.target, order);
        let through = if assembly == Assembly::Append { 0.0 } else { self.stored_through() };
        let mut factor = match assembly {
            _ if !self.inner.is_empty() => 1.0,
            Assembly::Append => 1.0,
            Assembly::InPlace => IN_PLACE,
            Assembly::Workspace { vars: 1, .. } if !self.collapses() => WORKSPACE,
            Assembly::Workspace { .. } if self.collapses() => 2.0 * SORTED,
            Assembly::Workspace { .. } => SORTED,
        };
        if let Some(&inner) = order.last() {
            let strided = self.accesses.iter().filter(|a| self.strided(**a, inner)).count();
            factor *= STRIDED.powi(strided as i32);
            factor *= if self.inner.is_empty() && self.target_strided(inner) { STRIDED } else { 1.0 };
        }
        factor *= if copies > 0.0 { COPYING } else { 1.0 };
        copies + visits * factor + through
    }

    /// The values of a temporary that starts with the fold's identity, if the result, which has lists, has another fill value: every
    /// coordinate has one.
    fn stored_through(&self) -> f64 {
        let Target { format, fill, vars, .. } = self.q.target;
        match self.q.fold.is_some_and(|fun| !starts_as_identity((format, fill), fun, self.q.simplify)) {
            true => THROUGH * self.coordinates(vars),
            false => 0.0,
        }
    }

    /// Whether several loops move the target's last level. Sorting its entries then costs more than copying an operand into the loops'
    /// order.
    fn collapses(&self) -> bool {
        self.q.target.levels().last().is_some_and(|roots| roots.len() > 1)
    }

    fn copy(&self, a: AccessId) -> f64 {
        COPIED * self.stored(a)
    }

    /// The estimated number of entries of an access's tensor.
    fn stored(&self, a: AccessId) -> f64 {
        let tensor = self.q.program.tensor(a);
        if self.is_inverse(a) {
            return tensor.extents[1..].iter().map(|extent| self.coordinates_of(*extent)).product();
        }
        let level = |(l, kind): (usize, &LevelKind)| {
            let extent = self.coordinates_of(tensor.extents[tensor.format.order[l]]);
            match kind {
                _ if !kind.is_short() => extent,
                _ if l == 0 => self.model.first.min(extent),
                _ => self.model.entries.min(extent),
            }
        };
        tensor.format.levels.iter().enumerate().map(level).product()
    }

    fn strided(&self, a: AccessId, inner: Index) -> bool {
        let access = &self.q.program.accesses[a.0];
        strided(&access.vars, &self.q.program.tensor(a).format, inner)
    }

    fn target_strided(&self, inner: Index) -> bool {
        strided(self.q.target.vars, self.q.target.format, inner)
    }
}

/// Whether loops in this order follow an access of a value: its lists are walked, or no loop inside asks a list or an interval again at the
/// coordinate that a loop around has. A loop over another list, which the loops around move, may ask again.
///
/// Of `B[p[k], j]` by columns a loop over j inside of k would search row p[k] in every column.
pub(crate) fn is_followed(
    program: &Program,
    (classes, simplify): (&Classes, Simplify),
    (a, value): (AccessId, &Expr),
    order: &[Index],
) -> bool {
    let time = |b: AccessId, l: usize| {
        let v = program.level_var(&program.accesses[b.0], l);
        (v, program.time(v, order).unwrap_or(order.len()))
    };
    let (access, format) = (&program.accesses[a.0], &program.tensor(a).format);
    let times: Vec<usize> = access.vars.iter().map(|v| program.time(*v, order).unwrap_or(order.len())).collect();
    let leads = |b: AccessId, (v, at): (Index, usize)| {
        let levels = &program.tensor(b).format.levels;
        let over = |l: &usize| levels[*l].is_short() && program.binds(v, time(b, *l).0, |_| true);
        let level = (0..levels.len()).find(over);
        let open = |level: usize| (0..level).all(|l| time(b, l).1 < at || time(b, l).1 == ALWAYS);
        level.is_some_and(open) && program.moved_by(b, &order[..at], v) > 0
    };
    let is_led = |v: Index, at: usize| {
        let lists: Vec<AccessId> = value.accesses().into_iter().filter(|b| *b != a && leads(*b, (v, at))).collect();
        let (sequence, rest) = background(value, &lists, &|a| program.tensor(a).fill, simplify);
        sequence != Sequence::Full && matches!(rest, Expr::Literal(_))
    };
    let asks_again = |l: usize| {
        let ((w, at), kind) = (time(a, l), format.levels[l]);
        let again = |(v, later): (Index, usize)| later != ALWAYS && later > at && !is_led(v, later);
        let walked = kind.is_list() || kind.is_in_blocks();
        let asked = kind.is_narrow() || walked && program.computed(w).is_some();
        asked
            && at != ALWAYS
            && !access.protocols.contains_key(&format.order[l])
            && !are_few(program, classes, &program.made_of(w))
            && (0..l).any(|above| again(time(a, above)))
    };
    program.concordant(a, &times) && !(0..format.rank()).any(asks_again)
}

/// Whether loops have few iterations together, as far as the program says: that many searches of a row cost less than walking it.
pub(crate) fn are_few(program: &Program, classes: &Classes, loops: &[Index]) -> bool {
    let turns = loops.iter().map(|v| classes.value(program.vars[v.0].extent));
    turns.reduce(|a, b| a?.checked_mul(b?)).flatten().is_some_and(|turns| turns <= FEW)
}

/// Whether a result of this format and fill value, before anything is folded in, holds the fold's identity: that is the fill value, or the
/// result is dense and filled with it.
pub(crate) fn starts_as_identity((format, fill): (&Format, Value), fun: Fun, simplify: Simplify) -> bool {
    format.is_dense() || simplify.begins(fun, fill.ty()).is_some_and(|i| simplify.same(i, fill))
}

/// Whether `inner` moves a located level that is not the last.
fn strided(vars: &[Index], format: &Format, inner: Index) -> bool {
    let rank = format.rank();
    rank > 1
        && vars[format.order[rank - 1]] != inner
        && (0..rank - 1).any(|l| format.levels[l].is_located() && vars[format.order[l]] == inner)
}

/// The assembly of a result under an order of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assembly {
    /// Coordinates arrive in order and once; sums are innermost.
    Append,
    /// Only located levels are visited more than once or out of order: values are folded in place.
    InPlace,
    /// From loop `prefix` on, values of `vars` of the result's variables arrive out of order at a compressed level.
    Workspace {
        /// Loops around the workspace.
        prefix: usize,
        /// The number of the result's variables that it ranges over.
        vars: usize,
    },
}

impl Target<'_> {
    /// The loops' variables that move each level of the target, outermost first.
    fn levels(&self) -> impl Iterator<Item = Vec<Index>> + '_ {
        self.format.order.iter().map(|&m| self.program.roots(self.vars[m]))
    }

    /// Whether loop `n` counts pieces of the loops that move the next levels, and these stand behind it, so that coordinates arrive as
    /// without it. Only the last level may begin in one piece and continue in the next, if it appends.
    fn passes(&self, order: &[Index], n: usize, levels: &[Vec<Index>], (next, begun): (usize, usize)) -> bool {
        let Some((pieces, loops)) = self.program.cut_by(order[n]) else { return false };
        let first = order.iter().position(|v| pieces.contains(v)).expect("one of them");
        if !order[first..].starts_with(&[&pieces[..], &loops].concat()) {
            return false;
        }
        let (mut level, mut root) = (next, begun);
        for (n, v) in loops.iter().enumerate() {
            if levels.get(level).and_then(|roots| roots.get(root)) != Some(v) {
                return false;
            }
            root += 1;
            if root == levels[level].len() {
                if n + 1 < loops.len() && !self.format.levels[level].is_located() {
                    return false;
                }
                (level, root) = (level + 1, 0);
            }
        }
        true
    }
}

/// The assembly of the target under `order`; variables of `order` that are not the target's are sums.
pub fn assembly(target: Target, order: &[Index]) -> Assembly {
    let format = target.format;
    let levels: Vec<Vec<Index>> = target.levels().collect();
    // The number of open levels; the number of loops that opened them; the number of loops that have bound roots of the next level.
    let (mut next, mut prefix, mut begun) = (0, 0, 0);
    for (n, v) in order.iter().enumerate() {
        if next == levels.len() {
            return Assembly::Append;
        }
        if target.passes(order, n, &levels, (next, begun)) {
            continue;
        }
        if levels[next].get(begun) == Some(v) {
            begun += 1;
            if begun == levels[next].len() {
                (next, prefix, begun) = (next + 1, n + 1, 0);
            }
        } else if format.levels[next..].iter().all(|k| k.holds_any()) {
            return Assembly::InPlace;
        } else {
            return Assembly::Workspace { prefix, vars: levels.len() - next };
        }
    }
    Assembly::Append
}
