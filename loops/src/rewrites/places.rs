//! The places of a loop's iterations: whether the elements that iterations touch lie in parts of an array that no two iterations share.
//!
//! ```text
//!   for i in 0..n                                   Index
//!     y[i]                                          Index
//!     C[i·m + j]          j in 0..m                 Row(Index, m)
//!     A_vals[p]           p in pos[i]..pos[i + 1]   Fiber(pos, Index)          also max(pos[i], a)..min(pos[i + 1], b)
//!     B[p·m + crd[q]]     crd of extent m           Row(Fiber(pos, Index), m)
//!     y[i·64 + w + r·8]   w in 0..8, r in 0..8      Row(Index, 64)
//!   for p in pos[0]..pos[1]
//!     y[crd[p]]                                     Coordinate(crd)
//!   for w in 0..8
//!     y[b·64 + w + r·8]                             Every(8)
//! ```
//!
//! A *place* names a function from an iteration to a set of indices: sets of different iterations are disjoint. Indices with one place lie
//! in one set of each iteration; so where all accesses of an array have one place, no two iterations share an element.
//!
//! Invariant: positions of an operand do not descend, its coordinates are below the extent, and those of a fiber are distinct, as
//! `Tensor::check` says.

use super::collapse::one_fiber;
use crate::arith::{int, plus};
use crate::{BufferId, Expr, Holds, Kernel, Role, Stmt, Var};
use fiberloom_core::algebra::{Op, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Disjoint sets of indices, one for each iteration.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// The iteration's number.
    Index,
    /// The coordinate at the iteration's position in a fiber.
    Coordinate(BufferId),
    /// The positions of a list's fibers, whose numbers are in a place.
    Fiber(BufferId, Box<Place>),
    /// Rows of this length, whose numbers are in a place.
    Row(Box<Place>, Expr),
    /// The indices that leave the iteration's number as the remainder by this number, which is at least the number of iterations.
    Every(i64),
    /// A place that is shifted by a loop-invariant number.
    Shifted(Box<Place>, Expr),
    /// The distance of a place from a loop-invariant number.
    Mirrored(Box<Place>, Expr),
}

/// What is known of the operands of a kernel.
pub(super) struct Operands {
    /// The arrays of positions, each with its array of coordinates, if those of a fiber are distinct.
    positions: BTreeMap<BufferId, Option<BufferId>>,
    /// The arrays of coordinates, each with the variable of its extent.
    extents: BTreeMap<BufferId, Var>,
    /// The params, which are not negative.
    params: BTreeSet<Var>,
}

impl Operands {
    pub fn of(kernel: &Kernel) -> Operands {
        let mut operands = Operands {
            positions: BTreeMap::new(),
            extents: BTreeMap::new(),
            params: kernel.params.iter().copied().collect(),
        };
        for argument in kernel.arguments.iter().filter(|argument| argument.operand) {
            for (n, (level, mode)) in argument.levels.iter().zip(argument.format.order.iter()).enumerate() {
                let given = |b: &BufferId| kernel.buffers[b.0 as usize].role == Role::Operand;
                let crd = level.array(Holds::Coordinates).filter(|crd| given(crd) && level.kind().is_plain());
                operands.extents.extend(crd.map(|crd| (crd, argument.extents[*mode])));
                let distinct = crd.filter(|_| !argument.format.repeats(n));
                operands.positions.extend(level.array(Holds::Positions).filter(given).map(|pos| (pos, distinct)));
            }
        }
        operands
    }

    /// Whether a variable is a param.
    pub fn is_param(&self, v: Var) -> bool {
        self.params.contains(&v)
    }
}

/// The body of a loop: how its variables are defined.
pub(super) struct Body<'k> {
    operands: &'k Operands,
    /// The loop's variable.
    index: Var,
    /// A number that the loop's variable is below, if it is not negative.
    below: Option<i64>,
    /// The coordinates of the fiber that the loop walks, if they are distinct.
    fiber: Option<BufferId>,
    /// The variables that are defined once, by `let`.
    lets: BTreeMap<Var, &'k Expr>,
    /// The variables of loops inside, with their ranges.
    loops: BTreeMap<Var, (&'k Expr, &'k Expr)>,
    /// All variables that the body defines or sets.
    defined: BTreeSet<Var>,
}

impl<'k> Body<'k> {
    pub fn of(operands: &'k Operands, (index, lo, hi): (Var, &Expr, &Expr), body: &'k [Stmt]) -> Body<'k> {
        let (lets, loops, defined) = Default::default();
        let fiber = one_fiber(lo, hi).and_then(|(pos, _)| operands.positions.get(&pos).copied().flatten());
        let mut found = Body { operands, index, below: None, fiber, lets, loops, defined };
        found.below = found.at_most(hi).filter(|_| found.is_natural(lo));
        let mut twice = BTreeSet::new();
        found.note(body, &mut twice);
        found.lets.retain(|v, _| !twice.contains(v));
        found.loops.retain(|v, _| !twice.contains(v));
        found
    }

    fn note(&mut self, block: &'k [Stmt], twice: &mut BTreeSet<Var>) {
        for stmt in block {
            let defined = match stmt {
                Stmt::Let(v, e) => {
                    self.lets.insert(*v, e);
                    Some(*v)
                }
                Stmt::For { var, lo, hi, .. } => {
                    self.loops.insert(*var, (lo, hi));
                    Some(*var)
                }
                Stmt::Set(v, _) => {
                    twice.insert(*v);
                    Some(*v)
                }
                _ => None,
            };
            twice.extend(defined.filter(|v| !self.defined.insert(*v)));
            stmt.blocks().for_each(|inner| self.note(inner, twice));
        }
    }

    /// The place of an index.
    pub fn place(&self, at: &Expr) -> Option<Place> {
        let at = self.defined_as(at);
        match at {
            Expr::Var(v) if *v == self.index => return Some(Place::Index),
            Expr::Var(v) => return self.in_fiber(*v),
            Expr::Load(crd, at) if self.fiber == Some(*crd) && *self.defined_as(at) == Expr::Var(self.index) => {
                return Some(Place::Coordinate(*crd));
            }
            Expr::Op(Op::Sub, args) if self.is_fixed(&args[0]) => {
                return Some(Place::Mirrored(Box::new(self.place(&args[1])?), args[0].clone()));
            }
            Expr::Op(Op::Sub, args) if self.is_fixed(&args[1]) => {
                let by = Expr::Op(Op::Sub, vec![int(0), args[1].clone()]);
                return Some(Place::Shifted(Box::new(self.place(&args[0])?), by));
            }
            _ => {}
        }
        let mut terms = vec![];
        self.terms(at, &mut terms);
        self.sum(&terms)
    }

    /// The place of a sum.
    fn sum(&self, terms: &[&Expr]) -> Option<Place> {
        let found = (0..terms.len()).find_map(|n| self.row(terms, n).or_else(|| self.every(terms, n)));
        found.or_else(|| self.shifted(terms))
    }

    /// The place of a sum whose term `n` is a row's begin, and whose others are an index in the row.
    fn row(&self, terms: &[&Expr], n: usize) -> Option<Place> {
        let Expr::Op(Op::Mul, factors) = self.defined_as(terms[n]) else { return None };
        let rest: Vec<&Expr> = terms.iter().enumerate().filter(|(k, _)| *k != n).map(|(_, e)| *e).collect();
        let row = |number: &Expr, length: &Expr| {
            let fits =
                self.is_fixed(length) && if rest.is_empty() { positive(length) } else { self.is_below(&rest, length) };
            fits.then(|| self.place(number)).flatten().map(|place| Place::Row(Box::new(place), length.clone()))
        };
        row(&factors[0], &factors[1]).or_else(|| row(&factors[1], &factors[0]))
    }

    /// The place of a sum whose term `n` is the loop's variable, and whose others are multiples of a number that it is below.
    fn every(&self, terms: &[&Expr], n: usize) -> Option<Place> {
        let below = self.below.filter(|_| *self.defined_as(terms[n]) == Expr::Var(self.index))?;
        let others = terms.iter().enumerate().filter(|(k, _)| *k != n);
        let step = others.map(|(_, e)| self.multiple(e)).try_fold(0, |all, one| Some(gcd(all, one?)))?;
        (below <= step).then_some(Place::Every(step))
    }

    /// A number that an expression is a multiple of, by its form.
    fn multiple(&self, e: &Expr) -> Option<i64> {
        match self.defined_as(e) {
            Expr::Op(Op::Mul, factors) => factors.iter().find_map(constant).filter(|n| *n > 0),
            e => constant(e).filter(|n| *n > 0),
        }
    }

    /// The place of a sum of which some terms are loop-invariant.
    fn shifted(&self, terms: &[&Expr]) -> Option<Place> {
        let (fixed, moving): (Vec<&Expr>, Vec<&Expr>) = terms.iter().partition(|e| self.is_fixed(e));
        let by = fixed.into_iter().cloned().reduce(plus)?;
        let place = if let [e] = moving[..] { self.place(e) } else { self.sum(&moving) };
        Some(Place::Shifted(Box::new(place?), by))
    }

    /// The place of the variable of a loop over a fiber, or a part of one.
    fn in_fiber(&self, v: Var) -> Option<Place> {
        let (lo, hi) = self.loops.get(&v)?;
        let (begins, ends) = (self.bounds(lo, Op::Max), self.bounds(hi, Op::Min));
        let fiber = |begin: &&Expr| {
            let Expr::Load(pos, first) = begin else { return None };
            let next = plus(first.as_ref().clone(), int(1));
            let is_end = |end: &&Expr| matches!(end, Expr::Load(other, past) if pos == other && next == **past);
            let known = self.operands.positions.contains_key(pos) && ends.iter().any(is_end);
            known.then(|| self.place(first)).flatten().map(|place| Place::Fiber(*pos, Box::new(place)))
        };
        begins.iter().find_map(fiber)
    }

    /// The bounds of which an expression is the greatest, or the least.
    fn bounds<'e>(&self, e: &'e Expr, of: Op) -> Vec<&'e Expr>
    where
        'k: 'e,
    {
        match self.defined_as(e) {
            Expr::Op(op, args) if *op == of => args.iter().flat_map(|arg| self.bounds(arg, of)).collect(),
            e => vec![e],
        }
    }

    /// An expression, or what defines it.
    fn defined_as<'e>(&self, e: &'e Expr) -> &'e Expr
    where
        'k: 'e,
    {
        match e {
            Expr::Op(Op::Convert(Type::I64), args) => self.defined_as(&args[0]),
            Expr::Var(v) => self.lets.get(v).map_or(e, |definition| self.defined_as(definition)),
            _ => e,
        }
    }

    /// The terms of a sum.
    fn terms<'e>(&self, e: &'e Expr, out: &mut Vec<&'e Expr>)
    where
        'k: 'e,
    {
        match self.defined_as(e) {
            Expr::Op(Op::Add, args) => args.iter().for_each(|arg| self.terms(arg, out)),
            _ => out.push(e),
        }
    }

    /// Whether an expression is the same in each iteration.
    pub fn is_fixed(&self, e: &Expr) -> bool {
        let mut fixed = true;
        e.each(&mut |e| {
            fixed &= match e {
                Expr::Var(v) => *v != self.index && !self.defined.contains(v),
                Expr::Load(..) | Expr::Among(..) | Expr::Capacity(_) => false,
                Expr::Const(_) | Expr::Op(..) => true,
            }
        });
        fixed
    }

    /// Whether a sum of terms is in `0..length`.
    fn is_below(&self, terms: &[&Expr], length: &Expr) -> bool {
        if let [e] = terms
            && self.is_one_below(e, length)
        {
            return true;
        }
        if let Some(length) = constant(length) {
            let most = terms.iter().map(|e| self.most(e)).try_fold(0i64, |all, one| all.checked_add(one?));
            return most.is_some_and(|most| most < length);
        }
        let Expr::Op(Op::Mul, of) = length else { return false };
        let in_rows = |n: usize| {
            let Expr::Op(Op::Mul, factors) = self.defined_as(terms[n]) else { return false };
            let rest: Vec<&Expr> = terms.iter().enumerate().filter(|(k, _)| *k != n).map(|(_, e)| *e).collect();
            [(0, 1), (1, 0)].into_iter().any(|(number, row)| {
                let rows = if factors[row] == of[1] { &of[0] } else { &of[1] };
                of.contains(&factors[row])
                    && self.is_one_below(&factors[number], rows)
                    && (rest.is_empty() || self.is_below(&rest, &factors[row]))
            })
        };
        (0..terms.len()).any(in_rows)
    }

    /// Whether an expression is in `0..length`.
    fn is_one_below(&self, e: &Expr, length: &Expr) -> bool {
        match self.defined_as(e) {
            Expr::Const(x) => (0..constant(length).unwrap_or(0)).contains(&(x.bits() as i64)),
            Expr::Var(v) => {
                let range = self.loops.get(v);
                range.is_some_and(|(lo, hi)| self.is_natural(lo) && self.is_at_most(hi, length))
            }
            Expr::Load(crd, _) => self.operands.extents.get(crd).is_some_and(|extent| *length == Expr::Var(*extent)),
            _ => false,
        }
    }

    /// The greatest value that an expression may have, if it is not negative.
    fn most(&self, e: &Expr) -> Option<i64> {
        match self.defined_as(e) {
            Expr::Const(x) => Some(x.bits() as i64).filter(|n| *n >= 0),
            Expr::Var(v) => {
                let (_, hi) = self.loops.get(v).filter(|(lo, _)| self.is_natural(lo))?;
                self.at_most(hi).map(|hi| hi.max(1) - 1)
            }
            Expr::Op(Op::Mul, factors) => self.most(&factors[0])?.checked_mul(self.most(&factors[1])?),
            Expr::Op(Op::Add, terms) => self.most(&terms[0])?.checked_add(self.most(&terms[1])?),
            _ => None,
        }
    }

    /// A number that an expression, which may be negative, is at most.
    fn at_most(&self, e: &Expr) -> Option<i64> {
        match self.defined_as(e) {
            Expr::Op(Op::Min, args) => args.iter().filter_map(|arg| self.at_most(arg)).min(),
            Expr::Op(Op::Max, args) => {
                args.iter().map(|arg| self.at_most(arg)).try_fold(i64::MIN, |most, arg| Some(most.max(arg?)))
            }
            e => constant(e),
        }
    }

    /// Whether an expression is not negative.
    fn is_natural(&self, e: &Expr) -> bool {
        match self.defined_as(e) {
            Expr::Const(x) => x.bits() as i64 >= 0,
            Expr::Var(v) => {
                *v != self.index && self.operands.params.contains(v)
                    || self.loops.get(v).is_some_and(|(lo, _)| self.is_natural(lo))
            }
            Expr::Load(crd, _) => self.operands.extents.contains_key(crd),
            Expr::Op(Op::Max, args) => args.iter().any(|arg| self.is_natural(arg)),
            Expr::Op(Op::Min | Op::Add, args) => args.iter().all(|arg| self.is_natural(arg)),
            _ => false,
        }
    }

    /// Whether an expression is at most a length, which is not negative.
    fn is_at_most(&self, e: &Expr, length: &Expr) -> bool {
        match self.defined_as(e) {
            e if e == length => true,
            Expr::Const(x) => x.bits() as i64 <= constant(length).unwrap_or(0),
            Expr::Op(Op::Min, args) => args.iter().any(|arg| self.is_at_most(arg, length)),
            Expr::Op(Op::Max, args) => args.iter().all(|arg| self.is_at_most(arg, length)),
            Expr::Var(_) => self.is_one_below(e, length),
            _ => false,
        }
    }
}

fn constant(e: &Expr) -> Option<i64> {
    if let Expr::Const(x) = e { Some(x.bits() as i64) } else { None }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn positive(e: &Expr) -> bool {
    constant(e).is_some_and(|n| n > 0)
}
