//! Splits long loops that append into a loop for each array.
//!
//! ```text
//!   for p in A1_pos[0]..A1_pos[n_I]                  let begin = A1_pos[0]
//!     let j = A1_crd[p]                              let last = A1_pos[n_I]
//!     C0_crd[c] = i32(j + n_J)               ──▶     let ahead = c - begin
//!     C_vals[c] = A_vals[p]                          for p in begin..last
//!     c = c + 1                                        C_vals[ahead + p] = A_vals[p]
//!                                                    for p in begin..last
//!                                                      let j = A1_crd[p]
//!                                                      C0_crd[ahead + p] = i32(j + n_J)
//!                                                    c = ahead + max(last, begin)
//! ```
//!
//! Consecutive fibers become one loop for the arrays whose elements do not depend on the fiber, such as the values and column coordinates
//! of a matrix in compressed rows that is converted to a list:
//!
//! ```text
//!   for i in 0..n_I                                  if 0 < n_I
//!     for p in A1_pos[i]..A1_pos[i + 1]                let begin = A1_pos[0] …
//!       C0_crd[c] = i                        ──▶       for p in begin..last
//!       C_vals[c] = A_vals[p]                            C_vals[ahead + p] = A_vals[p]
//!       c = c + 1                                    for i in 0..n_I
//!                                                      for p in A1_pos[i]..A1_pos[i + 1]
//!                                                        C0_crd[c] = i
//!                                                        c = c + 1
//! ```
//!
//! A loop that only copies becomes a copy of memory ([`whole_copy`]), which the C library does in the best way for the machine. Only
//! loops that are in no other loop are rewritten: for short rows there are [strips](super::strip_mine).

use super::appending::{Appending, Appends, in_no_loop};
use super::blocks::{steps_with, with};
use super::collapse::{Known, one_fiber, replaced};
use crate::arith::{int, minus, plus};
use crate::ir::map_exprs;
use crate::names::Vars;
use crate::{Buffer, BufferId, Expr, Hints, How, Kernel, Stmt, Var};
use fiberloom_core::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Splits copies off loops that append and are in no other loop.
pub fn distribute(kernel: &mut Kernel) {
    let (appends, known) = (Appends::of(kernel), Known::of(kernel));
    let body = std::mem::take(&mut kernel.body);
    let (buffers, hints, vars) = (&kernel.buffers, &mut kernel.hints, Vars::of(&mut kernel.vars));
    let mut copies = Copies { appends, known, buffers, hints, vars };
    kernel.body = in_no_loop(body, &mut |stmt| copies.stmt(stmt));
}

/// An element of an array: the buffer and the index.
pub type Element<'s> = (BufferId, &'s Expr);

/// The destination and the source of a loop that only copies consecutive elements of one array into another, as elements at an iteration;
/// `None` for any other loop.
pub fn whole_copy<'s>(turn: Var, body: &'s [Stmt], buffers: &[Buffer]) -> Option<[Element<'s>; 2]> {
    let [Stmt::Store(to, at, Expr::Load(from, start))] = body else { return None };
    let moving = BTreeSet::from([turn]);
    let steps = [at, &**start].into_iter().all(|e| steps_with(e, turn, &moving));
    // Any byte except 0 is a valid true value; copying bytes would not normalize it.
    let is_bytes = buffers[to.0 as usize].ty != Type::Bool;
    (to != from && is_bytes && steps).then_some([(*to, at), (*from, start)])
}

struct Copies<'k> {
    appends: Appends,
    known: Known,
    buffers: &'k [Buffer],
    hints: &'k mut BTreeMap<Var, Hints>,
    vars: Vars<'k>,
}

/// An array that a loop copies: destination, source, and the index in the source.
type Copied<'s> = (BufferId, BufferId, &'s Expr);

impl Copies<'_> {
    /// Rewrites a statement that is in no loop.
    fn stmt(&mut self, stmt: Stmt) -> Vec<Stmt> {
        self.one_loop(&stmt).or_else(|| self.fibers(&stmt)).unwrap_or_else(|| vec![stmt])
    }

    fn one_loop(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let of = self.appends.turn_of(stmt)?;
        let copied = self.copied(&of);
        (!copied.is_empty()).then(|| {
            let (mut out, behind) = self.array_by_array(&of, [of.lo, of.hi], &copied, &|_| true);
            out.push(Stmt::Set(of.count, behind));
            out
        })
    }

    /// Rewrites a loop over consecutive fibers.
    fn fibers(&mut self, stmt: &Stmt) -> Option<Vec<Stmt>> {
        let Stmt::For { var: outer, lo, hi, how: How::Serial, body } = stmt else { return None };
        let [fiber] = &body[..] else { return None };
        let of = self.appends.turn_of(fiber)?;
        let (pos, at) = one_fiber(of.lo, of.hi)?;
        let asks = asking(*outer, &of);
        let mut copied = self.copied(&of);
        copied.retain(|(to, ..)| !asks.contains(to));
        if copied.is_empty() || !self.known.ascends(pos) || !steps_with(at, *outer, &BTreeSet::from([*outer])) {
            return None;
        }
        let [begin, end] = [lo, hi].map(|i| replaced(of.lo, pos, &with(at, *outer, i)));
        let (mut out, behind) = self.array_by_array(&of, [&begin, &end], &copied, &|b| !asks.contains(&b));
        let rest = without(of.body.to_vec(), &|b| !asks.contains(&b));
        let nest = |rest| Stmt::For { var: *outer, lo: lo.clone(), hi: hi.clone(), how: How::Serial, body: vec![rest] };
        let rest = match &rest[..] {
            [Stmt::Set(..)] => {
                out.push(Stmt::Set(of.count, behind));
                None
            }
            _ => Some(nest(of.each(of.lo.clone(), of.hi.clone(), rest))),
        };
        let some = Expr::Op(Op::Lt, vec![lo.clone(), hi.clone()]);
        Some(std::iter::once(Stmt::If(some, out, vec![])).chain(rest).collect())
    }

    /// The arrays that get consecutive elements of operands unchanged.
    fn copied<'s>(&self, of: &Appending<'s>) -> Vec<Copied<'s>> {
        let arrays: BTreeSet<BufferId> = of.stores().map(|(b, _)| b).collect();
        if arrays.len() < of.stores().count() || of.reads_count() {
            return vec![];
        }
        let copied = |(to, value): (BufferId, &'s Expr)| match self.as_it_is(of, value, to) {
            Some(Expr::Load(from, at)) if self.appends.operands[from.0 as usize] && of.steps(at) => {
                Some((to, *from, &**at))
            }
            _ => None,
        };
        of.stores().filter_map(copied).collect()
    }

    /// The element that is stored, without conversions that only widen and narrow it.
    fn as_it_is<'s>(&self, of: &Appending<'s>, value: &'s Expr, to: BufferId) -> Option<&'s Expr> {
        match value {
            Expr::Var(v) => {
                let named = |stmt: &'s Stmt| match stmt {
                    Stmt::Let(w, e) if w == v => Some(e),
                    _ => None,
                };
                self.as_it_is(of, of.entry.iter().find_map(named)?, to)
            }
            // Conversion from 32 bits to 64 and back to 32 changes nothing.
            Expr::Op(Op::Convert(Type::I32 | Type::I64), args) if self.ty(to) == Type::I32 => {
                self.as_it_is(of, &args[0], to)
            }
            Expr::Load(from, _) => (self.ty(*from) == self.ty(to)).then_some(value),
            _ => None,
        }
    }

    fn ty(&self, b: BufferId) -> Type {
        self.buffers[b.0 as usize].ty
    }

    /// The loop from `lo` to `hi` as one loop for each copied array, then one loop for all other `chosen` arrays; and the number of
    /// entries behind it.
    fn array_by_array(
        &mut self,
        of: &Appending,
        [lo, hi]: [&Expr; 2],
        copied: &[Copied],
        chosen: &dyn Fn(BufferId) -> bool,
    ) -> (Vec<Stmt>, Expr) {
        let [begin, last, ahead, counted] =
            ["begin", "last", "ahead", "counted"].map(|name| self.vars.fresh(name, Type::I64));
        let turns = |body| of.each(Expr::Var(begin), Expr::Var(last), body);
        // Where a schedule deals the loop out, each of these is dealt out, and told from the others by its variable.
        let dealt = self.hints.get(&of.turn).copied().filter(|hints| hints.deal.is_some());
        let place = |p: Expr| plus(Expr::Var(ahead), p);
        let mut out = vec![
            Stmt::Let(begin, lo.clone()),
            Stmt::Let(last, hi.clone()),
            Stmt::Let(ahead, minus(Expr::Var(of.count), Expr::Var(begin))),
        ];
        for (to, from, at) in copied {
            let element = Expr::Load(*from, Box::new((*at).clone()));
            let copies = turns(vec![Stmt::Store(*to, place(Expr::Var(of.turn)), element)]);
            out.push(match &dealt {
                Some(hints) => self.with_own_variable(copies, *hints),
                None => copies,
            });
        }
        let is_copied = |b: BufferId| copied.iter().any(|(to, ..)| *to == b);
        let rest = placed(of, &place(Expr::Var(of.turn)), counted);
        let rest = without(rest, &|b| is_copied(b) || !chosen(b));
        out.extend((!rest.is_empty()).then(|| turns(rest)));
        (out, place(Expr::Op(Op::Max, vec![Expr::Var(last), Expr::Var(begin)])))
    }

    /// The same loop over a new variable, about which the same is said.
    fn with_own_variable(&mut self, stmt: Stmt, hints: Hints) -> Stmt {
        let Stmt::For { var, lo, hi, how, body } = stmt else { return stmt };
        let own = self.vars.again(var);
        self.hints.insert(own, hints);
        let now = BTreeMap::from([(var, own)]);
        Stmt::For { var: own, lo, hi, how, body: map_exprs(body, &|e| e.renamed(&now)) }
    }
}

/// The arrays whose stores depend on `outer` or on the count.
fn asking(outer: Var, of: &Appending) -> BTreeSet<BufferId> {
    let (mut known, mut arrays) = (BTreeSet::from([outer, of.count]), BTreeSet::new());
    for stmt in of.body {
        let asks = stmt.exprs().any(|e| known.iter().any(|v| e.reads(*v)));
        match stmt {
            Stmt::Let(v, _) if asks => drop(known.insert(*v)),
            Stmt::Store(b, _, e) if of.notes.contains(stmt) || known.iter().any(|v| e.reads(*v)) => {
                arrays.insert(*b);
            }
            _ => {}
        }
    }
    arrays
}

/// The body of an iteration whose entry is stored at `place`; notes use `counted` for the count.
fn placed(of: &Appending, place: &Expr, counted: Var) -> Vec<Stmt> {
    let now = BTreeMap::from([(of.count, counted)]);
    let entry = of.entry.iter().map(|stmt| match stmt {
        Stmt::Store(b, _, e) => Stmt::Store(*b, place.clone(), e.clone()),
        stmt => stmt.clone(),
    });
    let noted = of.notes.iter().filter_map(|note| match note {
        Stmt::Store(b, at, e) => Some(Stmt::Store(*b, at.renamed(&now), e.renamed(&now))),
        _ => None,
    });
    entry.chain([Stmt::Let(counted, plus(place.clone(), int(1)))]).chain(noted).collect()
}

/// The body of an iteration without the stores to some arrays, and without names that only those stores use.
fn without(turn: Vec<Stmt>, some: &dyn Fn(BufferId) -> bool) -> Vec<Stmt> {
    let mut needed: BTreeSet<Var> = BTreeSet::new();
    let mut out = vec![];
    for stmt in turn.into_iter().rev() {
        let kept = match &stmt {
            Stmt::Store(b, ..) => !some(*b),
            Stmt::Let(v, _) => needed.contains(v),
            _ => true,
        };
        if kept {
            stmt.exprs().for_each(|e| {
                e.each(&mut |e| {
                    if let Expr::Var(v) = e {
                        needed.insert(*v);
                    }
                })
            });
            out.push(stmt);
        }
    }
    out.reverse();
    out
}
