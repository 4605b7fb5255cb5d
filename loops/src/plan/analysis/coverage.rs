//! What operations certainly come to: whether loops visit every coordinate, range behind range, and do there what is asked.
//!
//! ```text
//!  every j in 0 .. cut   { … store … }
//!  every j in cut .. n_J { … store … }        from 0 they come to `cut`, and from there to `n_J`
//! ```

use super::Tree;
use crate::choose::range::Bound;
use crate::choose::scope::Scope;
use crate::choose::symbol::{Array, Meaning, Name, Sym};
use crate::choose::{along, coordinate, result};
use crate::plan::{Block, List, Op, Visit};
use fiberloom_core::algebra::Op as Fn;
use fiberloom_core::format::Holds;
use fiberloom_core::notation::concrete::{AccessId, Index, Limit, WorkspaceKind};

/// What is asked.
pub(super) enum Goal {
    /// A value is stored at every place of a dense result.
    Stored,
    /// A list is closed below each of its parents; the levels from `from` on above it are dense.
    Closed { list: usize, from: usize },
    /// A value is stored for each entry of an access, whose levels are over the loops' variables; in pieces of its entries, for each that
    /// a piece visits.
    Along(AccessId),
}

/// A place in the tree.
#[derive(Clone)]
struct Here<'t> {
    /// The variables of the loops inside.
    order: &'t [Index],
    /// The coordinates of the loops around.
    scope: Scope,
    /// The position of the access along which the loops are.
    position: Sym,
}

/// What operations come to, from some coordinates on.
struct Reached {
    /// Whether they certainly do what is asked.
    done: bool,
    /// The coordinates up to which loops do it.
    to: Vec<Sym>,
}

impl Reached {
    /// What comes of two alternatives.
    fn or(self, other: Reached) -> Reached {
        match (self.done, other.done) {
            (true, _) => other,
            (_, true) => self,
            _ => Reached { done: false, to: self.to.into_iter().filter(|at| other.to.contains(at)).collect() },
        }
    }
}

/// A question about a tree.
struct Question<'q> {
    tree: &'q Tree<'q>,
    goal: &'q Goal,
}

impl Tree<'_> {
    /// Whether operations certainly do what is asked. A nest that replaces elements of the version before has that copied by other loops.
    pub(super) fn is_certain(&self, goal: &Goal) -> bool {
        // A split comes to the entries of a vector, not to its rows.
        if self.split.is_some() {
            return false;
        }
        let before = result::before(self.cx, self.nest);
        let orders: Vec<_> = before.iter().chain([self.nest]).map(|nest| nest.order()).collect();
        let question = Question { tree: self, goal };
        let from = |order| Here { order, scope: Scope::default(), position: Sym::ZERO };
        let reached = |here: Here| self.blocks.iter().any(|block| question.from(block, &here));
        orders.iter().map(|order| from(&order[..])).any(reached)
    }
}

impl<'q> Question<'q> {
    /// Whether what is asked is done wherever a block begins from which it is asked.
    fn from(&self, block: &Block, here: &Here) -> bool {
        match self.goal {
            Goal::Closed { from, .. } if *from > 0 => self.below_all(block, *from, here),
            _ => self.does(block, here),
        }
    }

    /// Whether what is asked is done below each visit of a coordinate of the level above `from`.
    fn below_all(&self, Block(ops): &Block, from: usize, here: &Here) -> bool {
        ops.iter().all(|op| match op {
            Op::Visit { output, insertion, body, .. }
                if *output == self.tree.output && self.tree.level(*insertion) == Some(from - 1) =>
            {
                self.does(body, here)
            }
            Op::Drain { .. } if self.drains(op) => self.does_by(op, here),
            _ => op.blocks().into_iter().all(|(at, block)| {
                let inner = at.and_then(|at| here.at(self, at));
                self.below_all(block, from, inner.as_ref().unwrap_or(here))
            }),
        })
    }

    /// Whether a block certainly does what is asked, by itself or in loops over every coordinate.
    fn does(&self, block: &Block, here: &Here) -> bool {
        let reached = self.reached(block, here, vec![Sym::ZERO]);
        // Where there are no coordinates, no loop is along an access.
        let is_along = |end: Sym| end != Sym::ZERO || !matches!(self.goal, Goal::Along(_));
        reached.done || self.end(here).is_some_and(|end| is_along(end) && reached.to.contains(&end))
    }

    /// What a block comes to.
    fn reached(&self, Block(ops): &Block, here: &Here, from: Vec<Sym>) -> Reached {
        let mut reached = Reached { done: false, to: from };
        for op in ops {
            match op {
                Op::Range { body, .. } => {
                    let done = reached.done;
                    reached = self.reached(body, here, reached.to);
                    reached.done |= done;
                }
                Op::When { then, otherwise, .. } => {
                    let done = reached.done;
                    let there = self.reached(then, here, reached.to.clone());
                    reached = there.or(self.reached(otherwise, here, reached.to));
                    reached.done |= done;
                }
                op if self.does_by(op, here) => reached.done = true,
                op => reached.to.extend(self.stretch(op, here, &reached)),
            }
        }
        reached
    }

    /// The coordinate to which a loop comes that begins at one of those that are reached. Loops along an access are in one range: the
    /// checker of loops sees no more of them.
    fn stretch(&self, op: &Op, here: &Here, reached: &Reached) -> Option<Sym> {
        let meant = |s: &Sym| self.tree.meant(*s);
        let spans = |body: &Block, begin: &Sym, end: &Sym| {
            self.reached(body, here, vec![meant(begin)]).to.contains(&meant(end))
        };
        let comes = |from: &Sym| reached.to.contains(&meant(from));
        let whole = |hi: &Sym| !matches!(self.goal, Goal::Along(_)) || self.end(here) == Some(meant(hi));
        let (does, to) = match op {
            Op::Every { at, lo, hi, body } => (comes(lo) && whole(hi) && self.does_at(*at, body, here), hi),
            Op::Steps { begin, from, to, stop, body } => (comes(from) && spans(body, begin, stop), to),
            Op::Gaps { from, to, counts: None, visit: Visit { at, body, .. }, gap, .. } => {
                let all = comes(from) && self.does_at(*at, body, here);
                (all && spans(&gap.body, &gap.begin, &gap.end), to)
            }
            _ => return None,
        };
        does.then(|| meant(to)).filter(|to| self.tree.is_fixed(*to))
    }

    /// Whether the body of a loop certainly does what is asked at a coordinate.
    fn does_at(&self, at: Sym, body: &Block, here: &Here) -> bool {
        here.at(self, at).is_some_and(|here| self.does(body, &here))
    }

    /// Whether an operation certainly does what is asked.
    fn does_by(&self, op: &Op, here: &Here) -> bool {
        let tree = self.tree;
        match op {
            Op::Visit { output, body, .. } if *output == tree.output => self.does(body, here),
            Op::Beside { present, absent, .. } => self.does(present, here) && self.does(absent, here),
            Op::ByLength { body, .. } => self.does(body, here),
            Op::Every { at, body, .. } if here.is_cut(self) => self.does_at(*at, body, here),
            Op::Every { at, lo: Sym::ZERO, hi, body } => self.runs(*hi, here) && self.does_at(*at, body, here),
            Op::Each { list, single: false, visit } => {
                here.walk(self, list, visit).is_some_and(|here| self.does(&visit.body, &here))
            }
            Op::Store { output, insertion, .. } if *output == tree.output => {
                let stored = matches!(self.goal, Goal::Stored | Goal::Along(_));
                stored && tree.level(*insertion) == Some(tree.form.kinds.len()) && self.lies(*insertion, here)
            }
            Op::CloseFiber { output, insertion } if *output == tree.output => {
                let closed = |list| tree.level(*insertion) == Some(list);
                matches!(self.goal, Goal::Closed { list, .. } if closed(*list)) && self.lies(*insertion, here)
            }
            Op::Drain { insertion, .. } => {
                self.drains(op) && self.is_drained(*insertion) && self.lies(*insertion, here)
            }
            _ => false,
        }
    }

    /// Whether a loop up to a number has an iteration, and only counts: no level's coordinate depends on it.
    fn runs(&self, hi: Sym, here: &Here) -> bool {
        let symbols = &self.tree.cx.symbols;
        let some = |s: &Sym| symbols.number(*s).is_some_and(|n| n > 0);
        let moves = |v: &Index| self.tree.form.roots.iter().any(|roots| roots.contains(v));
        let runs = match symbols.meaning(self.tree.meant(hi)) {
            Meaning::Of(Fn::Max, args) => args.iter().any(some),
            _ => some(&hi),
        };
        runs && here.order.first().is_some_and(|v| !moves(v))
    }

    /// Whether an operation drains a workspace into the result.
    fn drains(&self, op: &Op) -> bool {
        matches!(op, Op::Drain { output, .. } if *output == self.tree.output)
    }

    /// Whether a drain does what is asked. A workspace with a place for each value of a row stores them all; the others close the
    /// lists that they append to, below each entry of a list, but not below each coordinate of a dense level.
    fn is_drained(&self, insertion: Name) -> bool {
        let (form, first) = (&self.tree.form, self.tree.level(insertion));
        let rows = self.tree.nest.workspace().is_some_and(|w| w.kind == WorkspaceKind::Row);
        match *self.goal {
            Goal::Stored => rows && !form.kinds.iter().any(|kind| kind.is_triangle()),
            Goal::Closed { list, .. } => {
                let below = first.is_some_and(|first| first == list || first < list && form.is_list(list - 1));
                !rows && below && !form.is_mapped(list)
            }
            Goal::Along(_) => false,
        }
    }

    /// Whether loops come to an insertion point at the coordinates of dense levels that they are at.
    fn lies(&self, insertion: Name, here: &Here) -> bool {
        let tree = self.tree;
        let first = if let Goal::Closed { from, .. } = self.goal { *from } else { 0 };
        let mut points = std::iter::successors(tree.points.get(&insertion), |point| {
            point.from.and_then(|(above, _)| tree.points.get(&above))
        });
        points.all(|point| {
            let Some((_, at)) = point.from else { return true };
            let level = point.level - 1;
            let known = || coordinate::of(tree.cx, &here.scope, tree.form.vars[level]);
            level < first || tree.form.is_list(level) || known().is_some_and(|x| tree.meant(x) == tree.meant(at))
        })
    }

    /// The coordinate up to which loops have to come; `None` if the next loop is not over a dense level.
    fn end(&self, here: &Here) -> Option<Sym> {
        let (cx, form) = (self.tree.cx, &self.tree.form);
        let v = *here.order.first()?;
        let own = form.vars.iter().position(|w| *w == v).filter(|l| !form.is_list(*l));
        let mapped = || form.roots.iter().any(|roots| roots.contains(&v));
        let counts = match self.goal {
            Goal::Stored => own.is_some() || mapped(),
            Goal::Closed { list, from } => own.is_some_and(|l| (*from..*list).contains(&l)),
            Goal::Along(_) => own.is_some(),
        };
        let (limits, whole) = (&cx.program.vars[v.0].limits, along::whole(cx, v).hi);
        if !counts || own.is_some() && !limits.is_empty() {
            return None;
        }
        let within = limits.iter().try_fold(whole, |hi, limit| match limit {
            Limit::Below { at, extent } => {
                let line = along::line(cx, at.clone(), v);
                coordinate::mapped(cx, &here.scope, &line.c)?;
                let limit = coordinate::limit(cx, &here.scope, v, (at, *extent), &hi);
                Some(limit.map_or(hi, Bound::at))
            }
            Limit::Pieces { .. } | Limit::Within(_) => None,
        });
        within.map(|hi| self.tree.meant(hi.at))
    }
}

impl<'t> Here<'t> {
    /// The place inside of the next loop, at a coordinate.
    fn at(&self, of: &Question, at: Sym) -> Option<Here<'t>> {
        let (v, order) = self.order.split_first()?;
        let (mut here, level) = (Here { order, ..self.clone() }, self.level(of));
        here.scope.bind(*v, at);
        if let Goal::Along(a) = of.goal
            && !result::counts_entries(of.tree.cx, *v, *a)
        {
            let cx = of.tree.cx;
            let tensor = cx.program.tensor(*a);
            let extent = tensor.format.order.get(level).map(|mode| cx.extents.name(tensor.extents[*mode]))?;
            here.position = cx.symbols.plus(cx.symbols.times(self.position, extent), at);
        }
        Some(here)
    }

    /// The level of the access along which the next loop is.
    fn level(&self, of: &Question) -> usize {
        let Goal::Along(a) = *of.goal else { return 0 };
        self.scope.order.iter().filter(|v| !result::counts_entries(of.tree.cx, **v, a)).count()
    }

    /// Whether the next loop is cut into pieces of the entries of the access along which the loops are, and loops around count these.
    fn is_cut(&self, of: &Question) -> bool {
        let (cx, Some(v), Goal::Along(a)) = (of.tree.cx, self.order.first(), of.goal) else { return false };
        let limits = |v: &Index| cx.program.vars[v.0].limits.iter();
        let counted = |cut| {
            let counts =
                |v: &&Index| limits(v).any(|limit| matches!(limit, Limit::Pieces { cut: of, .. } if *of == cut));
            self.scope.order.iter().any(|v| counts(&v) && result::counts_entries(cx, *v, *a))
        };
        limits(v).any(|limit| matches!(limit, Limit::Within(within) if counted(within.cut)))
    }

    /// The place at each entry of a fiber, if that is the whole one of the access along which the loops are, or the part of it in a piece.
    fn walk(&self, of: &Question, list: &List, visit: &Visit) -> Option<Here<'t>> {
        let Goal::Along(a) = *of.goal else { return None };
        let (tree, symbols, level) = (of.tree, &of.tree.cx.symbols, self.level(of));
        let positions = Array::Level(tree.cx.program.accesses[a.0].tensor, level, Holds::Positions);
        let ends = [self.position, symbols.add(self.position, symbols.int(1))].map(|at| symbols.load(positions, at));
        let is_cut = self.is_cut(of);
        let within = |at: Sym, by: Fn, end: Sym| match symbols.meaning(tree.meant(at)) {
            _ if tree.meant(at) == end => true,
            Meaning::Of(f, args) => is_cut && f == by && args.iter().any(|arg| tree.meant(*arg) == end),
            _ => false,
        };
        let inside = within(list.begin, Fn::Max, ends[0]) && within(list.end, Fn::Min, ends[1]);
        let whole = list.of == (a, level) && list.is_counted() && inside;
        let here = self.at(of, visit.at).filter(|_| whole)?;
        Some(Here { position: visit.entry.position, ..here })
    }
}
