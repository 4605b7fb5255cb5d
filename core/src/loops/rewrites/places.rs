//! The places of a loop's iterations: whether the elements that iterations touch lie in parts of an array that no two iterations share.
//!
//! ```text
//!   for i in 0..n                                   Index
//!     y[i]                                          Index
//!     C[i·m + j]          j in 0..m                 Row(Index, m)
//!     A_vals[p]           p in pos[i]..pos[i + 1]   Fiber(pos, Index)
//!     B[p·m + crd[q]]     crd of extent m           Row(Fiber(pos, Index), m)
//!   for p in pos[0]..pos[1]
//!     y[crd[p]]                                     Coordinate(crd)
//! ```
//!
//! A *place* names a function from an iteration to an interval of indices: intervals of different iterations are disjoint. Indices with
//! one place lie in one interval of each iteration; so where all accesses of an array have one place, no two iterations share an element.
//!
//! Invariant: positions of an operand do not descend, its coordinates are below the extent, and those of a fiber are distinct, as
//! `Tensor::check` says.

use super::collapse::one_fiber;
use crate::algebra::{Op, Type};
use crate::loops::arith::{int, plus};
use crate::loops::{BufferId, Expr, Holds, Kernel, Role, Stmt, Var};
use std::collections::{BTreeMap, BTreeSet};

/// Disjoint intervals of indices, one for each iteration.
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
        let mut found = Body { operands, index, fiber, lets, loops, defined };
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
        (0..terms.len()).find_map(|n| self.row(&terms, n)).or_else(|| self.shifted(terms))
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

    /// The place of a sum some of whose terms are loop-invariant.
    fn shifted(&self, terms: Vec<&Expr>) -> Option<Place> {
        let (fixed, moving): (Vec<&Expr>, Vec<&Expr>) = terms.into_iter().partition(|e| self.is_fixed(e));
        let by = fixed.into_iter().cloned().reduce(plus)?;
        let inner = moving.into_iter().cloned().reduce(plus)?;
        Some(Place::Shifted(Box::new(self.place(&inner)?), by))
    }

    /// The place of the variable of a loop over a fiber.
    fn in_fiber(&self, v: Var) -> Option<Place> {
        let (lo, hi) = self.loops.get(&v)?;
        let (Expr::Load(pos, first), Expr::Load(other, past)) = (self.defined_as(lo), self.defined_as(hi)) else {
            return None;
        };
        let next = plus(first.as_ref().clone(), int(1)) == **past;
        (pos == other && next && self.operands.positions.contains_key(pos))
            .then(|| self.place(first))
            .flatten()
            .map(|place| Place::Fiber(*pos, Box::new(place)))
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

fn positive(e: &Expr) -> bool {
    constant(e).is_some_and(|n| n > 0)
}
