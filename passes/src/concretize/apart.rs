//! Folds inside of a value: which of them cost less as a nest of their own, and how what that makes is stored.
//!
//! ```text
//!  C[i,j] = max(sum(k: A[i,k] * B[k,j]), 0)     all dense
//!    i j k    inside: the innermost loop strides through B
//!    i k j    apart: it runs along rows of B, and adds to sum[i,j], which the statement reads       ◀ least
//! ```
//!
//! Costs are those by which orders of loops are chosen (`passes/src/schedule/order.rs`). A fold that costs the same stays inside.

use super::given::Given;
use super::out::Out;
use crate::schedule::order::{Question, Target, choose, fills, is_better_apart};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::notation::concrete::{AccessId, Expr, Index, Origin, Program};
use fiberloom_core::notation::typed::Fun;

/// A fold that may be materialized before the loops that read it.
pub(super) struct Apart<'e> {
    pub fun: Fun,
    /// The fold's loops, in the order in which they would run inside of the value.
    pub inner: &'e [Index],
    pub body: &'e Expr,
    /// The loops' variables that are free in the fold: it is computed for each of their coordinates.
    pub free: &'e [Index],
}

impl Apart<'_> {
    /// Whether the fold is estimated to cost less as a nest of its own. A fold that may fail stays: the statement may not evaluate it
    /// everywhere.
    pub fn pays(&self, out: &Out, given: Given) -> bool {
        if !self.is_plain(out) || may_fail(out, self.body) {
            return false;
        }
        self.asked(out, given, |question| is_better_apart(question, self.inner)).unwrap_or(false)
    }

    /// The fold's own loops, if the cheapest order puts all of them inside of the others. Then a nest of its own gains nothing.
    pub fn runs_last(&self, out: &Out, given: Given) -> Option<Vec<Index>> {
        if !self.is_plain(out) {
            return None;
        }
        let inner = self.asked(out, given, choose)?.split_off(self.free.len());
        inner.iter().all(|v| self.inner.contains(v)).then_some(inner)
    }

    /// Whether the fold has free variables, all of its loops visit whole extents, and its body contains no loop.
    fn is_plain(&self, out: &Out) -> bool {
        let is_loop = |v: &Index| out.vars[v.0].origin == Origin::Loop && out.vars[v.0].limits.is_empty();
        !self.free.is_empty() && !self.body.has_loops() && self.free.iter().chain(self.inner).all(is_loop)
    }

    /// Whether the estimated number of values added to a dense result exceeds the number of its coordinates.
    fn fills(&self, out: &Out, given: Given) -> bool {
        self.asked(out, given, fills).unwrap_or(false)
    }

    /// Asks a question about the order of the fold's loops, with a dense tensor as the result.
    fn asked<T>(&self, out: &Out, given: Given, ask: impl FnOnce(&Question) -> T) -> Option<T> {
        let (format, simplify) = (Format::dense(self.free.len()), given.simplify);
        let fill = simplify.begins(self.fun, self.body.ty())?;
        let target = Target { program: out, format: &format, fill, vars: self.free };
        let (sums, body, classes) = (self.inner, self.body, given.classes);
        let (fold, scatters, inverses) = (Some(self.fun), false, &out.inverses);
        Some(ask(&Question { program: out, target, sums, fold, scatters, body, classes, inverses, simplify }))
    }

    /// The levels of the temporary, whose value equals the fold's identity where the body's lists have no entry. They are dense if the
    /// fold's values fill a dense tensor. But where an operand stores its rows as a list there may be few rows, and a long row is a list
    /// unless the operands store it located.
    pub fn levels(&self, out: &Out, given: Given) -> Format {
        let lists = self.body.accesses();
        let rows = |a: &AccessId| out.tensor(*a).format.levels.first().is_none_or(|kind| kind.is_located());
        let located = |v: &Index| all_along(out, &lists, *v, |kind| kind.is_located());
        let short = |v: &Index| located(v) || !given.sizes.wide(out.vars[v.0].extent);
        match lists.iter().all(rows) && self.fills(out, given) && self.free.iter().all(short) {
            true => Format::dense(self.free.len()),
            false => levels(out, self.free, &lists),
        }
    }
}

/// Levels of a temporary that has entries only where its operands' lists have. The outermost level is dense if every operand's level
/// there is located; an inner one, if every operand is full along it and below.
pub(super) fn levels(program: &Program, vars: &[Index], accesses: &[AccessId]) -> Format {
    let full = |v: &Index| {
        accesses.iter().all(|&a| {
            let (access, format) = (&program.accesses[a.0], &program.tensor(a).format);
            let first = (0..format.rank()).find(|l| program.follows(program.level_var(access, *l), *v));
            first.is_none_or(|l| format.levels[l..].iter().all(|kind| kind.is_full()))
        })
    };
    let level = |(l, v): (usize, &Index)| {
        let dense = if l == 0 { all_along(program, accesses, *v, |kind| kind.is_located()) } else { full(v) };
        if dense { LevelKind::Dense } else { LevelKind::Compressed }
    };
    Format::of(vars.iter().enumerate().map(level).collect())
}

/// Whether every level that `v` moves is of such a kind.
fn all_along(program: &Program, accesses: &[AccessId], v: Index, kind: impl Fn(LevelKind) -> bool) -> bool {
    accesses.iter().all(|&a| {
        let (access, format) = (&program.accesses[a.0], &program.tensor(a).format);
        let along = |l: usize| program.follows(access.vars[format.order[l]], v);
        (0..format.rank()).all(|l| !along(l) || kind(format.levels[l]))
    })
}

/// Whether evaluating an expression at a coordinate that the statement skips may end the program: a computed coordinate may lie outside
/// of its tensor, and a declared function may exceed its limit of iterations.
fn may_fail(program: &Program, e: &Expr) -> bool {
    let mut may = program.under(e).iter().any(|v| matches!(program.vars[v.0].origin, Origin::Computed(_)));
    e.each(&mut |e| may |= matches!(e, Expr::Call(Fun::User(_), ..)));
    may
}
