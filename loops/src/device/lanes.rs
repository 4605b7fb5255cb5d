//! A warp an iteration, whose lanes share the loops that a schedule names (`lane for`).
//!
//! ```text
//!   t = 0.0                                    t = 0.0
//!                                              if lane != 0 { t = -0.0 }                    which changes no sum
//!   lane for p in pos[i]..pos[i + 1]   ──▶     at = pos[i] + lane
//!     t = t + A[p]                             while at < pos[i + 1] { let p = at; t = t + A[p]; at = at + 32 }
//!                                              t = the fold of all lanes' t                 a `Join`: shuffles
//!   y[i] = t                                   if lane == 0 { y[i] = t }
//! ```
//!
//! All lanes run all other statements, on the same values; one of them stores, and of the entries of a loop each loads its part
//! (`handed.rs`). So iterations may not read what they write, nor fail. Lanes also share a loop whose iterations, and those of the loops
//! around it, are shown to be independent (`lane parallel for`): each lane stores what its own iterations store. (Bell and Garland,
//! *Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors*, SC 2009, call this form of a product a vector
//! kernel.)
//!
//! Where such an independent loop has few iterations, and loops in it that lanes can share, the warp is dealt out to its iterations in parts:
//!
//! ```text
//!   lane parallel for r in 0..min(n - w * 2, 2)       part = lane / 16; own = lane & 15
//!     t = 0.0                                         let r = 0 + part
//!     lane for p in pos[2·w + r]..pos[2·w + r + 1]    if r < min(n - w * 2, 2) {
//!       t = t + A[p]                            ──▶     … p from pos[2·w + r] + own on, by 16; t = the fold of the part's lanes
//!     y[2·w + r] = t                                    if own == 0 { y[2·w + r] = t } }
//! ```

use super::handed::{Alike, Hand};
use super::{Folded, Used, grid, marked};
use crate::arith::{binary, int, minus, plus};
use crate::ir::map_exprs;
use crate::names::Vars;
use crate::rewrites::{Facts, begins, uses};
use crate::{Buffer, BufferId, Deal, Expr, How, Kernel, Stmt, Var, accumulates};
use fiberloom_core::algebra::{Op, Value, neutral};
use std::collections::BTreeSet;

/// The lanes of a warp.
pub const WARP: i64 = 32;

/// A fold over the lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Join {
    /// The variable of the loop behind which the lanes join what they have.
    pub behind: Var,
    /// What each lane has a part of, and all of it afterwards.
    pub into: Var,
    /// The function that joins two parts.
    pub op: Op,
    /// How many lanes join: the part of the warp that a lane belongs to.
    pub lanes: i64,
}

/// What the lanes of a warp hand to one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shuffles {
    /// Folds over the lanes.
    pub joins: Vec<Join>,
    /// Values of one lane.
    pub hands: Vec<Hand>,
}

impl Shuffles {
    pub(super) fn extend(&mut self, more: Shuffles) {
        self.joins.extend(more.joins);
        self.hands.extend(more.hands);
    }
}

/// A loop that lanes share.
pub(super) struct Shared {
    /// The loop's variable.
    pub var: Var,
    /// Into what it folds, with which function, from which value on.
    pub folds: Vec<(Var, Op, Value)>,
    /// The lanes of each iteration: one, or a part of the warp, whose lanes share loops inside.
    each: i64,
}

/// The loops of an iteration with this body that lanes share: none, if one of its statements forbids it. The iteration is a part of one
/// whose body is `whole`.
pub(super) fn shared(kernel: &Kernel, (whole, body): (&[Stmt], &[Stmt]), atomics: &[Folded]) -> Vec<Shared> {
    if !are_apart(kernel, body, atomics) {
        return vec![];
    }
    let mut found = Find { kernel, atomics, whole: uses(whole, kernel.vars.len()), lanes: WARP, all: vec![] };
    body.iter().for_each(|stmt| found.find(stmt, true));
    found.all
}

/// Whether no lane of a warp that runs these statements reads what another writes: an array that is read and written is touched in one loop
/// alone whose iterations lanes share, and which are independent.
pub(super) fn are_apart(kernel: &Kernel, body: &[Stmt], atomics: &[Folded]) -> bool {
    let all = Used::apart(body, atomics);
    let mut parts = Parts { kernel, atomics, rest: Used::default(), shared: vec![] };
    body.iter().for_each(|stmt| parts.note(stmt, true));
    let touching = |b: &BufferId| parts.shared.iter().filter(|of| of.buffers.contains(b)).count();
    all.written.intersection(&all.loaded).all(|b| !parts.rest.buffers.contains(b) && touching(b) == 1)
}

/// What an iteration uses: in each loop with independent iterations that lanes share, and elsewhere.
struct Parts<'k> {
    kernel: &'k Kernel,
    atomics: &'k [Folded],
    rest: Used,
    shared: Vec<Used>,
}

impl Parts<'_> {
    /// Notes a statement; `apart`: no iteration of a loop around it waits for another.
    fn note(&mut self, stmt: &Stmt, apart: bool) {
        let mut inside = apart && !matches!(stmt, Stmt::While(..));
        self.rest.note_here(stmt, self.atomics);
        if let Stmt::For { var, how, body, .. } = stmt {
            inside = apart && how.is_apart();
            if apart && grid::is_dealt(self.kernel, (*var, how), Deal::Lane) {
                return self.shared.push(Used::apart(body, self.atomics));
            }
        }
        stmt.blocks().flatten().for_each(|inner| self.note(inner, inside));
    }
}

struct Find<'k> {
    kernel: &'k Kernel,
    /// The arrays into whose elements iterations fold at once.
    atomics: &'k [Folded],
    /// The number of reads of each variable.
    whole: Vec<usize>,
    /// The lanes that share what is found.
    lanes: i64,
    all: Vec<Shared>,
}

impl Find<'_> {
    /// Finds loops in a statement; `apart`: no iteration of a loop around it waits for another.
    fn find(&mut self, stmt: &Stmt, apart: bool) {
        let mut inside = apart && !matches!(stmt, Stmt::While(..));
        if let Stmt::For { var, body, how, .. } = stmt {
            inside = apart && how.is_apart();
            if marked(self.kernel, *var) == Some(Deal::Lane) {
                if apart && grid::is_dealt(self.kernel, (*var, how), Deal::Lane) {
                    return self.independent(stmt);
                }
                if let Some(folds) = self.folds(body) {
                    return self.all.push(Shared { var: *var, folds, each: 1 });
                }
            }
        }
        stmt.blocks().flatten().for_each(|inner| self.find(inner, inside));
    }

    /// Notes a loop with independent iterations: of few iterations each is run by a part of the lanes, if these can share loops inside.
    fn independent(&mut self, stmt: &Stmt) {
        let Stmt::For { var, body, .. } = stmt else { return };
        let place = self.all.len();
        self.all.push(Shared { var: *var, folds: vec![], each: 1 });
        let parts = iterations(stmt).and_then(|count| count.checked_next_power_of_two());
        let Some(part) = parts.map(|parts| self.lanes / parts as i64).filter(|part| (2..self.lanes).contains(part))
        else {
            return;
        };
        if !are_apart(self.kernel, body, self.atomics) {
            return;
        }
        let whole = std::mem::replace(&mut self.lanes, part);
        body.iter().for_each(|stmt| self.find(stmt, true));
        self.lanes = whole;
        if self.all.len() > place + 1 {
            self.all[place].each = part;
        }
    }

    /// Into what a loop's body folds, if it does nothing else that is seen behind it.
    fn folds(&self, body: &[Stmt]) -> Option<Vec<(Var, Op, Value)>> {
        let mut set = BTreeSet::new();
        body.iter().for_each(|stmt| stmt.each_set(&mut |v, _| _ = set.insert(v)));
        Used::of(body).written.is_empty().then_some(())?;
        let here = uses(body, self.whole.len());
        // Each iteration sets these before it reads them, and nothing else reads them.
        set.retain(|v| here[v.0 as usize] != self.whole[v.0 as usize] || !begins(body, *v));
        set.into_iter()
            .map(|v| {
                let op = accumulates(self.kernel, body, v)?;
                Some((v, op, neutral(op, self.kernel.vars[v.0 as usize].1)?))
            })
            .collect()
    }
}

/// An iteration's statements for a lane of its warp, and what lanes hand to one another. The iteration, with this body, is a part of one whose
/// body is `whole`.
pub(super) fn spread(
    kernel: &Kernel,
    (whole, body): (&[Stmt], &[Stmt]),
    (shared, atomics): (&[Shared], &[Folded]),
    lane: Var,
    vars: &mut Vars,
) -> (Vec<Stmt>, Shuffles) {
    let alike = Alike::of(kernel, whole, body, shared);
    let stores = first_of(lane);
    let shuffles = Shuffles::default();
    let mut spread = Spread {
        kernel,
        shared,
        atomics,
        alike,
        facts: Facts::of(kernel, &kernel.body),
        lane,
        lanes: WARP,
        vars,
        stores,
        together: true,
        apart: true,
        shuffles,
    };
    (spread.block(body), spread.shuffles)
}

/// The most iterations of a loop from 0 on, if a number bounds them.
fn iterations(stmt: &Stmt) -> Option<u64> {
    fn most(e: &Expr) -> Option<i64> {
        match e {
            Expr::Const(x) => x.as_i64(),
            Expr::Op(Op::Min, args) => args.iter().filter_map(most).min(),
            Expr::Op(Op::Max, args) => Some(most(&args[0])?.max(most(&args[1])?)),
            _ => None,
        }
    }
    let Stmt::For { lo, hi, .. } = stmt else { return None };
    u64::try_from(most(hi).filter(|_| *lo == int(0))?).ok()
}

struct Spread<'s, 'k> {
    kernel: &'s Kernel,
    shared: &'s [Shared],
    /// The arrays into whose elements iterations fold at once.
    atomics: &'s [Folded],
    alike: Alike<'s>,
    facts: Facts,
    /// The number of the lane among those that share loops here, and how many these are.
    lane: Var,
    lanes: i64,
    vars: &'s mut Vars<'k>,
    /// The condition on which a lane stores.
    stores: Expr,
    /// Whether all lanes come to a statement, and whether no iteration of a loop around it waits for another.
    together: bool,
    apart: bool,
    shuffles: Shuffles,
}

impl Spread<'_, '_> {
    fn block(&mut self, block: &[Stmt]) -> Vec<Stmt> {
        block.iter().flat_map(|stmt| self.statement(stmt)).collect()
    }

    /// A block to which all lanes come, if they come to the statement around, and what decides it is `alike`. The statement is no loop, or one
    /// whose iterations are independent, if it is `apart`.
    fn within(&mut self, (alike, apart): (bool, bool), block: &[Stmt]) -> Vec<Stmt> {
        let around = (self.together, self.apart);
        (self.together, self.apart) = (self.together && alike, self.apart && apart);
        let out = self.block(block);
        (self.together, self.apart) = around;
        out
    }

    fn statement(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        vec![match stmt {
            Stmt::For { var, lo, hi, how, body } => {
                let alike = self.alike.is(lo) && self.alike.is(hi);
                if let Some(Shared { folds, each, .. }) = self.shared.iter().find(|shared| shared.var == *var) {
                    if *each > 1 {
                        return self.in_parts((*var, *each), [lo, hi], body);
                    }
                    let in_step = self.together && alike && folds.is_empty();
                    let run = in_step.then(|| self.in_step(*var, [lo, hi], body)).flatten();
                    return run.unwrap_or_else(|| self.share(*var, [lo, hi], body, folds));
                }
                let handed = self.together && alike && !how.is_vector();
                let entries = if handed { self.alike.entries(*var, body) } else { vec![] };
                let own = how.is_apart() || self.facts.is_apart(self.kernel, (*var, lo, hi), body);
                let body = self.within((alike, own), body);
                if !entries.is_empty() {
                    return self.hand_round(*var, [lo, hi], body, &entries);
                }
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how: how.clone(), body }
            }
            Stmt::Store(..) => Stmt::If(self.stores.clone(), vec![stmt.clone()], vec![]),
            Stmt::If(c, yes, no) => {
                let alike = (self.alike.is(c), true);
                Stmt::If(c.clone(), self.within(alike, yes), self.within(alike, no))
            }
            Stmt::While(c, body) => Stmt::While(c.clone(), self.within((self.alike.is(c), false), body)),
            Stmt::Let(..) | Stmt::Set(..) | Stmt::Call(_) | Stmt::Comment(_) => stmt.clone(),
        }]
    }

    /// A loop of few iterations, each of which so many lanes run.
    fn in_parts(&mut self, (var, each): (Var, i64), [lo, hi]: [&Expr; 2], body: &[Stmt]) -> Vec<Stmt> {
        let [part, own] = ["part", "own"].map(|name| self.vars.index(name));
        let lane = Expr::Var(self.lane);
        let around = (self.lane, self.lanes, std::mem::replace(&mut self.stores, first_of(own)));
        (self.lane, self.lanes) = (own, each);
        // Lanes of other parts run another iteration, or none.
        let body = self.within((false, true), body);
        (self.lane, self.lanes, self.stores) = around;
        vec![
            Stmt::Let(part, binary(Op::Div, lane.clone(), int(each))),
            Stmt::Let(own, binary(Op::And, lane, int(each - 1))),
            Stmt::Let(var, plus(lo.clone(), Expr::Var(part))),
            Stmt::If(binary(Op::Lt, Expr::Var(var), hi.clone()), body, vec![]),
        ]
    }

    /// A loop whose iterations lanes run in turn, each one behind as many others as there are lanes.
    fn share(&mut self, var: Var, [lo, hi]: [&Expr; 2], body: &[Stmt], folds: &[(Var, Op, Value)]) -> Vec<Stmt> {
        let start = |(into, _, start): &(Var, Op, Value)| Stmt::Set(*into, Expr::Const(*start));
        let turn = ([lo, hi], Expr::Var(self.lane), int(self.lanes));
        let (at, run) = grid::every(var, turn, body.to_vec(), self.vars);
        let lanes = self.lanes;
        let joins = folds.iter().map(|(into, op, _)| Join { behind: at, into: *into, op: *op, lanes });
        self.shuffles.joins.extend(joins);
        let mut out: Vec<Stmt> = vec![];
        if !folds.is_empty() {
            out.push(Stmt::If(self.stores.clone(), vec![], folds.iter().map(start).collect()));
        }
        out.extend(run);
        out
    }

    /// The same, of a loop with independent iterations in which lanes hand entries to one another: as many iterations in each lane. Behind the
    /// last one a lane runs that once more, and stores nothing. `None` of other loops.
    fn in_step(&mut self, var: Var, [lo, hi]: [&Expr; 2], body: &[Stmt]) -> Option<Vec<Stmt>> {
        let used = Used::apart(body, self.atomics);
        used.written.is_disjoint(&used.loaded).then_some(())?;
        let ([at, end], hands) = (["at", "end"].map(|name| self.vars.index(name)), self.shuffles.hands.len());
        let own = plus(Expr::Var(at), Expr::Var(self.lane));
        let stores = binary(Op::Lt, own.clone(), Expr::Var(end));
        let outside = std::mem::replace(&mut self.stores, stores);
        let body = self.block(body);
        self.stores = outside;
        let last = minus(Expr::Var(end), int(1));
        let each = [Stmt::Let(var, binary(Op::Min, own, last))].into_iter().chain(body).collect();
        let run = grid::counted([at, end], [lo.clone(), hi.clone(), int(WARP)], each);
        (self.shuffles.hands.len() > hands).then_some(run)
    }

    /// A loop of whose iterations each lane loads the entries of one, in turns of 32, and takes those of the others from them.
    fn hand_round(&mut self, var: Var, [lo, hi]: [&Expr; 2], body: Vec<Stmt>, entries: &[BufferId]) -> Vec<Stmt> {
        let [begin, end, mine, from] = ["begin", "end", "mine", "from"].map(|name| self.vars.index(name));
        let (first, last) = (Expr::Var(begin), minus(Expr::Var(end), int(1)));
        let mut turn = vec![Stmt::Let(mine, binary(Op::Min, plus(first.clone(), Expr::Var(self.lane)), last))];
        let mut each = vec![Stmt::Let(from, minus(Expr::Var(var), first.clone()))];
        let mut taken = vec![];
        for b in entries {
            let Buffer { name, ty, .. } = &self.kernel.buffers[b.0 as usize];
            let [own, into] = [(); 2].map(|()| self.vars.fresh(name, *ty));
            turn.push(Stmt::Let(own, Expr::Load(*b, Box::new(Expr::Var(mine)))));
            each.push(Stmt::Let(into, Expr::Var(own)));
            self.shuffles.hands.push(Hand { into, from });
            taken.push((Expr::Load(*b, Box::new(Expr::Var(var))), Expr::Var(into)));
        }
        let entry = |e: &Expr| taken.iter().find(|(load, _)| load == e).map(|(_, into)| into.clone());
        let mut behind = vec![];
        for stmt in map_exprs(body, &|e| e.with(&entry)) {
            match self.kept(var, from, &stmt) {
                Some((kept, store)) => {
                    each.extend(kept);
                    behind.push(store);
                }
                None => each.push(stmt),
            }
        }
        let hi_of_turn = binary(Op::Min, plus(first.clone(), int(WARP)), Expr::Var(end));
        turn.push(Stmt::For { var, lo: first.clone(), hi: hi_of_turn, how: How::Serial, body: each });
        if !behind.is_empty() {
            let own = binary(Op::Lt, plus(first, Expr::Var(self.lane)), Expr::Var(end));
            let stores = behind.into_iter().map(|(b, kept)| Stmt::Store(b, Expr::Var(mine), Expr::Var(kept)));
            turn.push(Stmt::If(own, stores.collect(), vec![]));
        }
        grid::counted([begin, end], [lo.clone(), hi.clone(), int(WARP)], turn)
    }

    /// A store of the first lane into the element of a loop's iteration: what keeps the value for the lane `from`, and the array and the variable
    /// of which each lane stores its element behind the turn. `None` of other statements.
    fn kept(&mut self, var: Var, from: Var, stmt: &Stmt) -> Option<(Vec<Stmt>, (BufferId, Var))> {
        let Stmt::If(c, yes, _) = stmt else { return None };
        let [Stmt::Store(b, at, e)] = &yes[..] else { return None };
        let fits = self.apart && *at == Expr::Var(var) && self.alike.is_stored_once(*b);
        (fits && *c == first_of(self.lane)).then_some(())?;
        let Buffer { name, ty, .. } = &self.kernel.buffers[b.0 as usize];
        let [made, into, kept] = [(); 3].map(|()| self.vars.fresh(name, *ty));
        let first = self.vars.index("first");
        self.shuffles.hands.push(Hand { into, from: first });
        let mine = binary(Op::Eq, Expr::Var(self.lane), Expr::Var(from));
        let keeps = vec![
            Stmt::Let(made, e.clone()),
            Stmt::Let(first, int(0)),
            Stmt::Let(into, Expr::Var(made)),
            Stmt::If(mine, vec![Stmt::Set(kept, Expr::Var(into))], vec![]),
        ];
        Some((keeps, (*b, kept)))
    }
}

/// Whether a lane is the first.
fn first_of(lane: Var) -> Expr {
    binary(Op::Eq, Expr::Var(lane), int(0))
}
