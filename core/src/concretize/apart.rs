//! Folds inside of a value: which of them cost less as a nest of their own, and how what that makes is stored.
//!
//! ```text
//!  C[i,j] = max(sum(k: A[i,k] * B[k,j]), 0)     all dense
//!    i j k    inside: the innermost loop strides through B
//!    i k j    apart: it runs along rows of B, and adds to sum[i,j], which the statement reads       ◀ least
//! ```
//!
//! Costs are those by which orders of loops are chosen (`core/src/schedule/order.rs`). A fold that costs the same stays inside.

use super::given::Given;
use super::out::Out;
use crate::format::{Format, LevelKind};
use crate::notation::concrete::{AccessId, Expr, Index, Origin, Program};
use crate::notation::typed::Fun;
use crate::schedule::order::{Question, Target, choose, fills, is_better_apart};

/// A fold that may run before the loops that read it.
pub(super) struct Apart<'e> {
    pub fun: Fun,
    /// Its loops, in the order in which they would run inside.
    pub inner: &'e [Index],
    pub body: &'e Expr,
    /// The loops' variables that are free in it: it is made for each of their coordinates.
    pub free: &'e [Index],
}

impl Apart<'_> {
    /// Whether it is estimated to cost less apart. What may fail stays: the statement may not look at it everywhere.
    pub fn pays(&self, out: &Out, given: Given) -> bool {
        if !self.is_plain(out) || may_fail(out, self.body) {
            return false;
        }
        self.asked(out, given, |question| is_better_apart(question, self.inner)).unwrap_or(false)
    }

    /// Its own loops, if in the order that costs least all of them are inside of the others: then nothing is gained apart.
    pub fn runs_last(&self, out: &Out, given: Given) -> Option<Vec<Index>> {
        if !self.is_plain(out) {
            return None;
        }
        let inner = self.asked(out, given, choose)?.split_off(self.free.len());
        inner.iter().all(|v| self.inner.contains(v)).then_some(inner)
    }

    /// Whether it is made for some coordinates, and all loops go over whole extents, with none inside its body.
    fn is_plain(&self, out: &Out) -> bool {
        let is_loop = |v: &Index| out.vars[v.0].origin == Origin::Loop && out.vars[v.0].limits.is_empty();
        !self.free.is_empty() && !self.body.has_loops() && self.free.iter().chain(self.inner).all(is_loop)
    }

    /// Whether its values, added up in a full tensor, are more than that has coordinates.
    fn fills(&self, out: &Out, given: Given) -> bool {
        self.asked(out, given, fills).unwrap_or(false)
    }

    /// The order of its loops as a question, with a full tensor for a result.
    fn asked<T>(&self, out: &Out, given: Given, ask: impl FnOnce(&Question) -> T) -> Option<T> {
        let (format, simplify) = (Format::dense(self.free.len()), given.simplify);
        let fill = simplify.begins(self.fun, self.body.ty())?;
        let target = Target { program: out, format: &format, fill, vars: self.free };
        let (sums, body, classes) = (self.inner, self.body, given.classes);
        let (fold, scatters) = (Some(self.fun), false);
        Some(ask(&Question { program: out, target, sums, fold, scatters, body, classes, simplify }))
    }

    /// The levels of what it makes, where its value is what it begins with wherever its lists have no entry. Dense, if its loops fill
    /// that; but where an operand lists its rows there may be few, and a long row is a list unless operands store it otherwise.
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

/// Levels of a temporary that has entries only where lists have. The outermost is dense if all operands store it so; another, if all
/// operands are full along it, and below.
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

/// Whether all levels that a loop moves are of such a kind.
fn all_along(program: &Program, accesses: &[AccessId], v: Index, kind: impl Fn(LevelKind) -> bool) -> bool {
    accesses.iter().all(|&a| {
        let (access, format) = (&program.accesses[a.0], &program.tensor(a).format);
        let along = |l: usize| program.follows(access.vars[format.order[l]], v);
        (0..format.rank()).all(|l| !along(l) || kind(format.levels[l]))
    })
}

/// Whether evaluating an expression at coordinates at which nobody asks for it may end the program: a coordinate that is read may lie
/// outside of its tensor, and a declared function may take too many turns.
fn may_fail(program: &Program, e: &Expr) -> bool {
    let mut may = program.under(e).iter().any(|v| matches!(program.vars[v.0].origin, Origin::Computed(_)));
    e.each(&mut |e| may |= matches!(e, Expr::Call(Fun::User(_), ..)));
    may
}
