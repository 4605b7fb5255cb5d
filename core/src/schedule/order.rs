//! The order of loops, chosen by estimated visits.
//!
//! ```text
//!   C[i,j] = sum(k: A[i,k] * D[k,j]), all CSR
//!     i j k   D cannot be followed: transposed; every pair (i, j) is visited
//!     i k j   rows of D are added up in a workspace: visits Σᵢ Σₖ |D[k]|      ◀ least
//! ```
//!
//! The model knows no data: a dense level has [`EXTENT`] coordinates, a list [`ENTRIES`] (the outermost one [`FIRST`]), and a loop
//! that a condition says the coordinate of, as `j == p[i]` does inside of `i`, one. Inside of a loop that goes on where a list has no
//! entry, what stands under the list is there as often as entries are: of `{dense, compressed}` plus `{compressed, dense}` a row is
//! seldom full.
//! Branch and bound over permutations, so that what is obviously worse is not completed.

use crate::algebra::{Op, Value};
use crate::format::{Format, LevelKind};
use crate::iteration::{Sequence, Simplify, background};
use crate::notation::concrete::{AccessId, Expr, Index, Program};
use crate::notation::typed::Fun;
use std::collections::BTreeMap;

const EXTENT: f64 = 1000.0;
const ENTRIES: f64 = 10.0;
const FIRST: f64 = 100.0;

/// Relative costs of a value's way into the result, and of copying an operand, per entry.
const IN_PLACE: f64 = 1.2;
const WORKSPACE: f64 = 3.0;
const SORTED: f64 = 25.0;
const COPIED: f64 = 30.0;
const STRIDED: f64 = 1.5;
/// A copy is to be worth its while: the model's visits are no better than that.
const COPYING: f64 = 1.5;

/// More loops than this are ordered greedily.
const EXHAUSTIVE: usize = 7;

/// What is to be ordered.
pub struct Question<'a> {
    /// The program with its tensors.
    pub program: &'a Program,
    /// What is written.
    pub target: Target<'a>,
    /// Variables that are folded over.
    pub sums: &'a [Index],
    /// The value.
    pub body: &'a Expr,
    /// Simplification under the program's mode.
    pub simplify: Simplify<'a>,
}

/// A result under distinct variables, one a mode; a mapped one ascends with the loops over its roots.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// What binds its variables.
    pub program: &'a Program,
    /// Its levels.
    pub format: &'a Format,
    /// Its value where nothing is stored.
    pub fill: Value,
    /// Its variables. A scatter has none: where it writes says nothing about the loops.
    pub vars: &'a [Index],
}

struct Search<'a, 'b> {
    q: &'b Question<'a>,
    accesses: Vec<AccessId>,
    /// Where a loop over these lists has anything to do, by the lists: other orders ask the same.
    visited: BTreeMap<Vec<AccessId>, Sequence>,
    best: Option<(f64, Vec<Index>)>,
}

/// How much of what an access reads is there, inside of the loops at hand; what is not named always is.
type Presence = BTreeMap<AccessId, f64>;

/// What a loop does.
struct Trips {
    /// Coordinates visited.
    trips: f64,
    /// Work of finding them.
    work: f64,
    /// What is there inside of it.
    there: Presence,
}

/// The cheapest order of the target's variables and the sums.
pub fn choose(q: &Question) -> Vec<Index> {
    let vars: Vec<Index> = natural(q);
    let mut search = Search { q, accesses: q.body.accesses(), visited: BTreeMap::new(), best: None };
    if vars.len() <= EXHAUSTIVE {
        search.extend(&mut Vec::new(), &vars, (1.0, 0.0), &Presence::new());
        return search.best.map_or(vars, |(_, order)| order);
    }
    search.greedy(vars)
}

/// The variables in the order in which the result stores them, then the sums: the first of equals wins.
fn natural(q: &Question) -> Vec<Index> {
    let mut vars: Vec<Index> = q.target.levels().flatten().collect();
    vars.extend(q.sums);
    vars
}

impl Search<'_, '_> {
    fn extend(&mut self, order: &mut Vec<Index>, vars: &[Index], (visits, cost): (f64, f64), there: &Presence) {
        if self.best.as_ref().is_some_and(|(best, _)| cost >= *best) {
            return;
        }
        if order.len() == vars.len() {
            let total = cost + self.leaf(order, visits);
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

    /// One variable after the other, each the cheapest next.
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

    /// Where the body is no quiet constant, in terms of these lists.
    fn visited(&mut self, lists: Vec<AccessId>) -> Sequence {
        if let Some(known) = self.visited.get(&lists) {
            return known.clone();
        }
        let fill = |a: AccessId| -> Value { self.q.program.tensor(a).fill };
        let (sequence, rest) = background(self.q.body, &lists, &fill, self.q.simplify);
        let quiet = matches!(&rest, Expr::Literal(x) if self.quiet(*x));
        let visited = if quiet { sequence } else { Sequence::Full };
        self.visited.insert(lists, visited.clone());
        visited
    }

    /// What a loop over `v` inside `order` does, where so much of what it reads is there.
    fn trips(&mut self, order: &[Index], v: Index, there: &Presence) -> Trips {
        if self.is_said(order, v) {
            return Trips { trips: 1.0, work: 1.0, there: there.clone() };
        }
        let part = |a: AccessId| there.get(&a).copied().unwrap_or(1.0);
        let lists: Vec<(AccessId, f64)> = self.accesses.iter().filter_map(|&a| self.list(order, a, v)).collect();
        // What is not always there is a list, of all coordinates.
        let seldom = |a: &&AccessId| part(**a) < 1.0 && lists.iter().all(|(b, _)| b != *a) && self.moves(**a, v);
        let seldom: Vec<AccessId> = self.accesses.iter().filter(seldom).copied().collect();
        let sequence = self.visited(lists.iter().map(|(a, _)| *a).chain(seldom).collect());
        let listed = |a: AccessId| lists.iter().find(|(b, _)| *b == a).map_or(EXTENT, |(_, n)| *n);
        let length = |a: AccessId| part(a) * listed(a);
        // What no outer loop moves, beside a list that they all move, is asked instead of walked.
        let parts: Vec<Vec<AccessId>> = sequence.intersections();
        let moved = |a: AccessId| self.q.program.moved(a, order, v);
        let led = |a: AccessId| parts.iter().any(|part| part.contains(&a) && part.iter().any(|b| moved(*b)));
        let walked: f64 = lists.iter().filter(|(a, _)| moved(*a) || !led(*a)).map(|(a, n)| part(*a) * n).sum();
        // What two lists have is independent.
        let (mut both, mut either) = (|a: f64, b: f64| a * b / EXTENT, |a: f64, b: f64| (a + b).min(EXTENT));
        let (trips, work) = match sequence {
            Sequence::Full => (EXTENT, walked.max(EXTENT)),
            _ => (sequence.fold(&mut |a| length(a), &|_| 0.0, &mut both, &mut either), walked),
        };
        let mut there = there.clone();
        for (a, n) in lists.iter().filter(|(_, n)| *n < trips) {
            *there.entry(*a).or_insert(1.0) *= n / trips;
        }
        Trips { trips, work, there }
    }

    /// Whether a loop over `v` moves an access.
    fn moves(&self, a: AccessId, v: Index) -> bool {
        self.q.program.accesses[a.0].vars.iter().any(|w| self.q.program.follows(*w, v))
    }

    /// Whether a condition leaves one coordinate to a loop over `v` inside `order`: `v == e`, where `e` is known by then.
    fn is_said(&self, order: &[Index], v: Index) -> bool {
        let bound = |w: Index| self.q.program.time(w, order).is_some();
        let leaf = |e: &Expr| match e {
            Expr::Literal(_) | Expr::Call(Fun::Op(_), ..) => true,
            Expr::Index(w) => bound(*w),
            Expr::Access(a, _) => self.q.program.accesses[a.0].vars.iter().all(|w| bound(*w)),
            _ => false,
        };
        let known = |e: &Expr| {
            let mut all = true;
            e.each(&mut |part| all &= leaf(part));
            all
        };
        let mut said = false;
        self.q.body.each(&mut |e| {
            let Expr::Call(Fun::Op(Op::Eq), sides, _) = e else { return };
            let says = |a: usize| sides[a] == Expr::Index(v) && known(&sides[1 - a]);
            if says(0) || says(1) {
                let never = Value::bool(false);
                let rest = self.q.simplify.simplify(&self.q.body.clone().settled(&|part| (part == e).then_some(never)));
                said |= matches!(rest, Expr::Literal(x) if self.quiet(x));
            }
        });
        said
    }

    fn quiet(&self, x: Value) -> bool {
        self.q.simplify.same(x, self.q.target.fill) || self.q.simplify.same(x, Value::zero(x.ty()))
    }

    /// The access, if it walks a list over `v`: its level there is compressed and those above are open.
    fn list(&self, order: &[Index], a: AccessId, v: Index) -> Option<(AccessId, f64)> {
        let access = &self.q.program.accesses[a.0];
        let format = &self.q.program.tensor(a).format;
        let program = self.q.program;
        if !self.moves(a, v) {
            return None;
        }
        let time = |w: Index| program.time(w, order);
        let bound = |l: usize| time(access.vars[format.order[l]]).is_some();
        if !self.followed(order, a) {
            // It will be transposed: a dense level first, lists below, which share what is stored.
            let open = access.vars.iter().any(|w| time(*w).is_some());
            let shared = (self.stored(a) / EXTENT).powf(1.0 / (format.rank() - 1) as f64);
            return open.then_some((a, shared.clamp(ENTRIES, EXTENT)));
        }
        let level =
            (0..format.rank()).find(|&l| program.binds(v, access.vars[format.order[l]], |u| order.contains(&u)))?;
        let above = (0..level).all(bound);
        let first = level == 0;
        (above && format.levels[level].is_list()).then_some((a, if first { FIRST } else { ENTRIES }))
    }

    /// Whether no variable of `order` has been bound before a level that must come first.
    fn followed(&self, order: &[Index], a: AccessId) -> bool {
        let access = &self.q.program.accesses[a.0];
        let late = order.len();
        let times: Vec<usize> = access.vars.iter().map(|v| self.q.program.time(*v, order).unwrap_or(late)).collect();
        self.q.program.concordant(a, &times)
    }

    /// What the order costs besides its visits: transposed operands, assembly, strides.
    fn leaf(&self, order: &[Index], visits: f64) -> f64 {
        let copies: f64 = self.accesses.iter().filter(|a| !self.followed(order, **a)).map(|a| self.copy(*a)).sum();
        let mut factor = match assembly(self.q.target, order) {
            Assembly::Append => 1.0,
            Assembly::InPlace => IN_PLACE,
            Assembly::Workspace { vars: 1, .. } if !self.collapses() => WORKSPACE,
            Assembly::Workspace { .. } if self.collapses() => 2.0 * SORTED,
            Assembly::Workspace { .. } => SORTED,
        };
        if let Some(&inner) = order.last() {
            let strided = self.accesses.iter().filter(|a| self.strided(**a, inner)).count();
            factor *= STRIDED.powi(strided as i32);
            factor *= if self.target_strided(inner) { STRIDED } else { 1.0 };
        }
        factor *= if copies > 0.0 { COPYING } else { 1.0 };
        copies + visits * factor
    }

    /// Whether the target's last level is moved by several loops: sorting what falls on it costs more than a copy of an
    /// operand in their order.
    fn collapses(&self) -> bool {
        self.q.target.levels().last().is_some_and(|roots| roots.len() > 1)
    }

    fn copy(&self, a: AccessId) -> f64 {
        COPIED * self.stored(a)
    }

    /// How many entries an access's tensor has.
    fn stored(&self, a: AccessId) -> f64 {
        let format = &self.q.program.tensor(a).format;
        let level = |(l, kind): (usize, &LevelKind)| match kind {
            _ if !kind.is_list() => EXTENT,
            _ if l == 0 => FIRST,
            _ => ENTRIES,
        };
        format.levels.iter().enumerate().map(level).product()
    }

    fn strided(&self, a: AccessId, inner: Index) -> bool {
        let access = &self.q.program.accesses[a.0];
        strided(&access.vars, &self.q.program.tensor(a).format, inner)
    }

    fn target_strided(&self, inner: Index) -> bool {
        strided(self.q.target.vars, self.q.target.format, inner)
    }
}

/// Whether `inner` moves a dense level that has others below it.
fn strided(vars: &[Index], format: &Format, inner: Index) -> bool {
    let rank = format.rank();
    rank > 1
        && vars[format.order[rank - 1]] != inner
        && (0..rank - 1).any(|l| format.levels[l].is_located() && vars[format.order[l]] == inner)
}

/// How a result is assembled under an order of loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assembly {
    /// Coordinates arrive in order, once; sums are innermost.
    Append,
    /// The levels that are visited more than once, or out of order, are dense: values are folded in where they are.
    InPlace,
    /// From loop `prefix` on, `vars` of the result's variables arrive out of order at a compressed level.
    Workspace {
        /// Loops around the workspace.
        prefix: usize,
        /// Variables that it ranges over.
        vars: usize,
    },
}

impl Target<'_> {
    /// The loops' variables that move each of its levels, outermost first.
    fn levels(&self) -> impl Iterator<Item = Vec<Index>> + '_ {
        self.format.order.iter().map(|&m| self.program.roots(self.vars[m]))
    }
}

/// How the target is assembled under `order`; variables of `order` that are not the target's are sums.
pub fn assembly(target: Target, order: &[Index]) -> Assembly {
    let format = target.format;
    let levels: Vec<Vec<Index>> = target.levels().collect();
    // Levels that are open, the loops that opened them, and how many have begun to open the next.
    let (mut next, mut prefix, mut begun) = (0, 0, 0);
    for (n, v) in order.iter().enumerate() {
        if next == levels.len() {
            return Assembly::Append;
        }
        if levels[next].get(begun) == Some(v) {
            begun += 1;
            if begun == levels[next].len() {
                (next, prefix, begun) = (next + 1, n + 1, 0);
            }
        } else if format.levels[next..].iter().all(|k| k.is_located()) {
            return Assembly::InPlace;
        } else {
            return Assembly::Workspace { prefix, vars: levels.len() - next };
        }
    }
    Assembly::Append
}
