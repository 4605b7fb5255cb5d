//! Loops whose iterations append, as two that a device runs: the first counts, the second writes.
//!
//! ```text
//!   parallel for i in 0..n joining             parallel for i in 0..n
//!       pos[i + 1] = c, crd[c]                   c_2 = 0; … c_2 = c_2 + 1 …; counts[i + 1] = c_2
//!     …                                        counts[0] = c; for i in 0..n { counts[i + 1] = counts[i + 1] + counts[i] }
//!     crd[c] = …                        ──▶    reserve crd[counts[n]]
//!     c = c + 1                                parallel for i in 0..n
//!     pos[i + 1] = c                             c = counts[i]; … crd[c] = …; c = c + 1 …; pos[i + 1] = c
//!                                              c = counts[n]
//! ```
//!
//! What an iteration does is the same wherever its counters begin, and whatever room there is (`rewrites/joins.rs`). So the first loop runs
//! the statements on which counters depend, with counters from 0, and the second runs all of them from where serial iterations would: no
//! two write one element, and there is room for each. A store at or behind the place where an iteration ends, which nothing keeps, would meet
//! one of the next iteration: it is left out.

use super::slice::Slice;
use crate::arith::{binary, int, plus};
use crate::names::{Vars, loop_again, workspace};
use crate::{BufferId, Entry, Expr, How, Joined, Kernel, Stmt, Var, map_blocks, map_exprs};
use fiberloom_core::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// A loop whose iterations append.
pub(super) struct Twice {
    var: Var,
    how: How,
    body: Vec<Stmt>,
    /// The first iteration, and the one past the last.
    range: [Var; 2],
    counters: Vec<Counter>,
}

/// A counter, and the array that has what it is before the first iteration, and behind each.
struct Counter {
    var: Var,
    counts: BufferId,
    /// The variable that holds what it is behind the iteration that runs.
    end: Var,
}

impl Counter {
    /// What it is before the iteration that is so many behind the first.
    fn at(&self, iteration: Expr) -> Expr {
        Expr::Load(self.counts, Box::new(iteration))
    }
}

impl Twice {
    /// A loop whose iterations append as one that counts and one that writes, with what stands around; any other statement as it is.
    ///
    /// # Errors
    /// That what iterations append depends on what they write elsewhere.
    pub fn of(kernel: &mut Kernel, stmt: Stmt) -> Result<Vec<Stmt>, String> {
        let Stmt::For { var, lo, hi, how, body } = stmt else { return Ok(vec![stmt]) };
        if how.joined().is_empty() {
            return Ok(vec![Stmt::For { var, lo, hi, how, body }]);
        }
        let twice = Twice::new(kernel, var, how, body);
        let past = binary(Op::Max, Expr::Var(twice.range[0]), hi);
        let mut out = vec![Stmt::Let(twice.range[0], lo), Stmt::Let(twice.range[1], past)];
        out.extend(twice.counting(kernel)?);
        out.extend(twice.sums(kernel));
        out.push(twice.writing()?);
        out.extend(twice.counters.iter().map(|c| Stmt::Set(c.var, c.at(twice.iterations()))));
        Ok(out)
    }

    fn new(kernel: &mut Kernel, var: Var, how: How, body: Vec<Stmt>) -> Twice {
        let counters = how.counters(var).into_iter().map(|c| {
            let name = kernel.vars[c.0 as usize].0.clone();
            let counts = workspace(kernel, &format!("{name}_counts"), Type::I64);
            let end = Vars::of(&mut kernel.vars).index(&format!("{name}_end"));
            Counter { var: c, counts, end }
        });
        let counters = counters.collect();
        let mut vars = Vars::of(&mut kernel.vars);
        let range = ["first", "past"].map(|name| vars.index(name));
        let body = without_room(body, how.joined());
        Twice { var, how, body, range, counters }
    }

    /// The number of iterations.
    fn iterations(&self) -> Expr {
        binary(Op::Sub, Expr::Var(self.range[1]), Expr::Var(self.range[0]))
    }

    /// By how much the iteration that runs is behind the first.
    fn behind(&self) -> Expr {
        binary(Op::Sub, Expr::Var(self.var), Expr::Var(self.range[0]))
    }

    /// A loop over the iterations with this body.
    fn each(&self, own: Vec<BufferId>, folded: Vec<Var>, body: Vec<Stmt>) -> Stmt {
        let how = How::Parallel { own, joined: vec![], folded, arrays: vec![] };
        let [lo, hi] = self.range.map(Expr::Var);
        Stmt::For { var: self.var, lo, hi, how, body }
    }

    /// The loop that counts what iterations append.
    ///
    /// # Errors
    /// That what they append depends on what they write elsewhere.
    fn counting(&self, kernel: &mut Kernel) -> Result<Vec<Stmt>, String> {
        let own = if let How::Parallel { own, .. } = &self.how { &own[..] } else { &[] };
        let counters: Vec<Var> = self.counters.iter().map(|c| c.var).collect();
        let slice = Slice::of(kernel, &self.body, &counters, own)?;
        if let Some(v) = self.how.folded().iter().find(|v| slice.depends_on(**v)) {
            return Err(format!(
                "what its iterations append depends on `{}`, into which they fold",
                kernel.vars[v.0 as usize].0
            ));
        }
        let own = own.iter().filter(|b| slice.reads(**b)).copied().collect();
        let begin = self.counters.iter().map(|c| Stmt::Set(c.var, int(0)));
        let next = plus(self.behind(), int(1));
        let end = self.counters.iter().map(|c| Stmt::Store(c.counts, next.clone(), Expr::Var(c.var)));
        let body = begin.chain(slice.statements()).chain(end).collect();
        let each = self.each(own, vec![], body);
        let each = loop_again(kernel, each, BTreeMap::new());
        let alloc = |c: &Counter| {
            let len = plus(self.iterations(), int(1));
            Stmt::Call(Entry::Alloc { buffer: c.counts, len, fill: None })
        };
        Ok(self.counters.iter().map(alloc).chain(each).collect())
    }

    /// The sums of counts, and room for what iterations append.
    fn sums(&self, kernel: &mut Kernel) -> Vec<Stmt> {
        let mut out = vec![];
        for c in &self.counters {
            let at = Vars::of(&mut kernel.vars).index("iteration");
            let [here, next] = [Expr::Var(at), plus(Expr::Var(at), int(1))];
            let sum = binary(Op::Add, c.at(next.clone()), c.at(here));
            let body = vec![Stmt::Store(c.counts, next, sum)];
            out.push(Stmt::Store(c.counts, int(0), Expr::Var(c.var)));
            out.push(Stmt::For { var: at, lo: int(0), hi: self.iterations(), how: How::Serial, body });
        }
        for (joined, c, more) in self.how.joined().iter().filter_map(|j| self.counted(j)) {
            let len = plus(c.at(self.iterations()), int(more));
            out.push(Stmt::Call(Entry::Reserve { buffer: joined.array, len }));
        }
        out
    }

    /// The counter at which iterations append to an array, and by how much behind it.
    fn counted<'j>(&self, joined: &'j Joined) -> Option<(&'j Joined, &Counter, i64)> {
        let (v, more) = joined.counter(self.var)?;
        Some((joined, self.counters.iter().find(|c| c.var == v)?, more))
    }

    /// The loop that writes.
    fn writing(&self) -> Result<Stmt, String> {
        let own = if let How::Parallel { own, .. } = &self.how { own.clone() } else { vec![] };
        let ends = self.how.joined().iter().filter_map(|j| self.counted(j));
        let ends = ends.map(|(j, c, more)| (j.array, End { counter: c.var, more, end: c.end })).collect();
        let mut bounds = Bounds { ends, below: vec![], asked: BTreeSet::new() };
        let inside = bounds.block(&self.body)?;
        let begin = self.counters.iter().map(|c| Stmt::Set(c.var, c.at(self.behind())));
        let used = self.counters.iter().filter(|c| bounds.asked.contains(&c.end));
        let end = used.map(|c| Stmt::Let(c.end, c.at(plus(self.behind(), int(1)))));
        let body = begin.chain(end).chain(inside).collect();
        Ok(self.each(own, self.how.folded().to_vec(), body))
    }
}

/// Where what an iteration appends to an array ends.
struct End {
    counter: Var,
    more: i64,
    end: Var,
}

impl End {
    /// The index at which the next element is appended.
    fn next(&self) -> Expr {
        plus(Expr::Var(self.counter), int(self.more))
    }
}

/// Statements that ask for no room in arrays, and are as if there were none.
fn without_room(block: Vec<Stmt>, joined: &[Joined]) -> Vec<Stmt> {
    let is_joined = |b: &BufferId| joined.iter().any(|j| j.array == *b);
    fn is_none(e: &Expr, is_joined: &dyn Fn(&BufferId) -> bool) -> bool {
        match e {
            Expr::Capacity(b) => is_joined(b),
            Expr::Op(Op::Min, args) => args.iter().all(|arg| is_none(arg, is_joined)),
            _ => false,
        }
    }
    let none = |e: &Expr| e.with(&|e| is_none(e, &is_joined).then(|| int(0)));
    fn without(block: Vec<Stmt>, is_joined: &dyn Fn(&BufferId) -> bool) -> Vec<Stmt> {
        let asks = |stmt: &Stmt| matches!(stmt, Stmt::Call(Entry::Reserve { buffer, .. }) if is_joined(buffer));
        let kept = block.into_iter().filter(|stmt| !asks(stmt)).collect();
        let block = map_blocks(kept, &mut |inner| without(inner, is_joined));
        let is_empty = |stmt: &Stmt| matches!(stmt, Stmt::If(_, yes, no) if yes.is_empty() && no.is_empty());
        block.into_iter().filter(|stmt| !is_empty(stmt)).collect()
    }
    map_exprs(without(block, &is_joined), &none)
}

/// Keeps stores from what the next iteration appends.
struct Bounds {
    ends: BTreeMap<BufferId, End>,
    /// Loop variables that are below a counter.
    below: Vec<(Var, Var)>,
    /// The variables of ends that stores are compared with.
    asked: BTreeSet<Var>,
}

impl Bounds {
    fn block(&mut self, block: &[Stmt]) -> Result<Vec<Stmt>, String> {
        let each = |(n, stmt): (usize, &Stmt)| self.statement(stmt, &block[n + 1..]);
        block.iter().enumerate().map(each).collect()
    }

    /// A statement that stores nothing at or behind an end.
    fn statement(&mut self, stmt: &Stmt, behind: &[Stmt]) -> Result<Stmt, String> {
        Ok(match stmt {
            Stmt::Store(b, at, _) => match self.ends.get(b).filter(|end| !self.is_kept((end, at), behind)) {
                Some(end) => {
                    self.asked.insert(end.end);
                    let before = binary(Op::Lt, at.clone(), plus(Expr::Var(end.end), int(end.more)));
                    Stmt::If(before, vec![stmt.clone()], vec![])
                }
                None => stmt.clone(),
            },
            Stmt::Call(Entry::SortInto { into, at, len, .. }) => match self.ends.get(into) {
                Some(end) if *at != end.next() || !grows_by(end, len, behind) => {
                    return Err("it sorts what it may not append".to_string());
                }
                _ => stmt.clone(),
            },
            Stmt::For { var, lo, hi, how, body } => {
                let known = self.below.len();
                if let Expr::Var(c) = hi
                    && self.ends.values().any(|end| end.counter == *c)
                    && !sets(body, *c)
                {
                    self.below.push((*var, *c));
                }
                let body = self.block(body)?;
                self.below.truncate(known);
                let how = if body.iter().any(has_branch) && how.is_vector() { How::Serial } else { how.clone() };
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), how, body }
            }
            Stmt::If(c, yes, no) => Stmt::If(c.clone(), self.block(yes)?, self.block(no)?),
            Stmt::While(c, body) => Stmt::While(c.clone(), self.block(body)?),
            stmt => stmt.clone(),
        })
    }

    /// Whether an element is before the end of what the iteration appends: it is below the counter, or that grows behind the store.
    fn is_kept(&self, (end, at): (&End, &Expr), behind: &[Stmt]) -> bool {
        let below = |(v, c): &(Var, Var)| *c == end.counter && *at == plus(Expr::Var(*v), int(end.more));
        self.below.iter().any(below) || *at == end.next() && grows_by(end, &int(1), behind)
    }
}

fn has_branch(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::If(..)) || stmt.blocks().flatten().any(has_branch)
}

fn sets(block: &[Stmt], v: Var) -> bool {
    let mut found = false;
    block.iter().for_each(|stmt| stmt.each_set(&mut |w, _| found |= w == v));
    found
}

/// Whether the counter grows by so much behind a statement, before all else that sets it.
fn grows_by(end: &End, by: &Expr, behind: &[Stmt]) -> bool {
    for stmt in behind {
        match stmt {
            Stmt::Set(v, e) if *v == end.counter => return *e == plus(Expr::Var(*v), by.clone()),
            stmt if sets(std::slice::from_ref(stmt), end.counter) => return false,
            _ => {}
        }
    }
    false
}
