//! Cases whose first statement has shape operators in one another, as a chain says; all else is drawn as ever.
//!
//! ```text
//!  wanted: collapse of concat       R0[k] = collapse(concat((A0[l,j], A1[m,j] * A2[j]), (l, m) -> i), (i, j) -> k) + …
//!                                           │        │        ╰ at the end a core: an element, a product, a sum, a reduction
//!                                           │        ╰ around what is bound by the one before
//!                                           ╰ around variables of the result, or of a reduction
//! ```
//!
//! One case in eight is a copy through the chain's first operators and nothing else, of lists mostly: a result may have arrays of what it
//! copies, which nothing else shows.
//!
//! Each operator may stand in a product, a sum or a reduction, with whatever is in scope there. Variables that are bound and not
//! yet bound further are *pending*: something inside is indexed with them, which says their extents.

use super::make::{Defined, Maker};
use super::shape::Bound;
use super::{Case, Expr, Shape};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::format::{Format, LevelKind};

/// A link of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// Without steps.
    Slice,
    /// A slice with steps.
    Stride,
    /// Of one variable into two.
    Split,
    /// Of two variables or three into one.
    Collapse,
    /// Of two parts or three.
    Concat,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 5] =
        [Operator::Slice, Operator::Stride, Operator::Split, Operator::Collapse, Operator::Concat];
}

/// Most operators in one another.
const DEEPEST: u32 = 4;

/// How many chains there are, of one to four operators.
pub fn chains() -> u64 {
    (1..=DEEPEST).map(|depth| (Operator::ALL.len() as u64).pow(depth)).sum()
}

/// The chain of a seed, from the outside in: as many consecutive seeds as there are chains take each once, and every fourth is
/// of another depth.
pub fn chain(seed: u64) -> Vec<Operator> {
    let all = Operator::ALL.len() as u64;
    // 7 and the number of chains have no common divisor.
    let mut n = seed % chains() * 7 % chains();
    let mut depth = 1;
    while n >= all.pow(depth) {
        n -= all.pow(depth);
        depth += 1;
    }
    (0..depth).map(|link| Operator::ALL[(n / all.pow(link) % all) as usize]).collect()
}

/// A case of these bytes whose first statement has the chain.
pub fn nested(u: &mut Unstructured, chain: &[Operator]) -> Case {
    let mut m = Maker::new(u);
    m.ty = m.one(&[Type::I64, Type::I64, Type::F64, Type::Bool]);
    if m.below(4) == 3 {
        m.ty = m.one(&Type::ALL);
    }
    for _ in 0..m.below(3) {
        m.operand(m.case.tensors.len());
    }
    m.scope.clear();
    let mut room = 24;
    m.emptied = m.case.sizes[0].0 == 0;
    for _ in 0..m.one(&[2, 1, 3, 2]) {
        let extents: Vec<u64> = [4, 6, 3, 2, 8, 5, 4, 6, 1, 0].into_iter().filter(|e| *e <= room).collect();
        let extent = m.extent(&extents);
        room /= extent.max(1);
        let v = m.unbound(extent, &[]);
        m.scope.push(v);
    }
    let scope = m.scope.clone();
    if m.below(8) == 7 {
        let links = 1 + m.below(chain.len().min(2));
        let rhs = m.copied(&chain[..links], &scope);
        let format = Some(m.list(scope.len()));
        m.define(0, true, scope, rhs, Defined { format, freely: false });
        return m.case;
    }
    let rhs = m.link(chain, &scope);
    let mut vars: Vec<usize> = scope.into_iter().filter(|_| m.below(5) < 4).collect();
    for at in (1..vars.len()).rev() {
        let with = at - m.below(at + 1);
        vars.swap(at, with);
    }
    let declared = !vars.iter().all(|v| rhs.uses(*v)) || m.below(4) > 0;
    let format = declared.then(|| m.result_format(&vars));
    let statements = m.one(&[1, 1, 1, 2]);
    m.define(0, statements == 1, vars, rhs, Defined { format, freely: true });
    (1..statements).for_each(|n| m.statement(n, n + 1 == statements));
    m.case
}

impl Maker<'_, '_> {
    /// The rest of a chain over the variables in scope, some of which are pending.
    fn link(&mut self, chain: &[Operator], pending: &[usize]) -> Expr {
        match self.below(8) {
            4 => {
                let part = self.bare(chain, pending);
                Expr::Apply(Op::Mul, self.beside(part))
            }
            5 => {
                let part = self.bare(chain, pending);
                Expr::Apply(Op::Add, self.beside(part))
            }
            6 => self.folded(&mut |m, v| m.bare(chain, &[pending, &[v]].concat())),
            _ => self.bare(chain, pending),
        }
    }

    /// A part, before or behind something over what is in scope.
    fn beside(&mut self, part: Expr) -> Vec<Expr> {
        let some: Vec<usize> = self.scope.clone().into_iter().filter(|_| self.below(2) == 0).collect();
        let other = if self.below(3) == 0 { self.expr(2) } else { self.element(&some) };
        if self.below(2) == 0 { vec![part, other] } else { vec![other, part] }
    }

    /// One of these extents, or 0.
    fn extent(&mut self, of: &[u64]) -> u64 {
        if self.emptied && self.below(3) == 2 { 0 } else { self.one(of) }
    }

    /// A reduction over a variable of its own.
    fn folded(&mut self, body: &mut dyn FnMut(&mut Self, usize) -> Expr) -> Expr {
        let extent = self.extent(&[2, 3, 4, 1, 6]);
        let v = self.unbound(extent, &[]);
        self.scope.push(v);
        let body = body(self, v);
        self.scope.retain(|w| *w != v);
        if !body.uses(v) {
            return body;
        }
        Expr::Reduce(self.reduction(), v, Box::new(body))
    }

    fn bare(&mut self, chain: &[Operator], pending: &[usize]) -> Expr {
        let Some((operator, rest)) = chain.split_first() else { return self.core(pending) };
        let fresh = if pending.is_empty() { self.scope.clone() } else { pending.to_vec() };
        let Some(to) = self.any(&fresh) else { return self.folded(&mut |m, v| m.bare(chain, &[v])) };
        let others: Vec<usize> = self.scope.iter().copied().filter(|v| *v != to).collect();
        let bound = match operator {
            Operator::Slice => self.slice(to, false),
            Operator::Stride => self.slice(to, true),
            Operator::Concat => self.concat(to),
            Operator::Collapse => self.collapse(to),
            Operator::Split => {
                let Some(other) = self.any(&others) else {
                    return self.folded(&mut |m, v| m.bare(chain, &[pending, &[v]].concat()));
                };
                let (outer, inner) = if self.below(2) == 0 { (to, other) } else { (other, to) };
                match self.split(outer, inner) {
                    Some(bound) => bound,
                    None => return self.bare(rest, pending),
                }
            }
        };
        self.operator(bound, rest, pending)
    }

    /// An operator around the rest of a chain. What is pending stands in its first part, if not in all.
    fn operator(&mut self, bound: Bound, rest: &[Operator], pending: &[usize]) -> Expr {
        let left: Vec<usize> = pending.iter().copied().filter(|v| !bound.2.contains(v)).collect();
        let first = if bound.0 == Shape::Concat { self.below(2) } else { 0 };
        self.around(bound, &mut |m, from, n| {
            let pending = if n == first || m.below(2) == 0 { [&left, from].concat() } else { from.to_vec() };
            if n == first || m.below(2) == 0 { m.link(rest, &pending) } else { m.core(&pending) }
        })
    }

    /// What a chain ends with.
    fn core(&mut self, pending: &[usize]) -> Expr {
        match self.below(7) {
            2 => Expr::Apply(Op::Mul, vec![self.element(pending), self.element(pending)]),
            3 => Expr::Apply(Op::Add, vec![self.element(pending), self.element(pending)]),
            4 => self.folded(&mut |m, v| m.element(&[pending, &[v]].concat())),
            5 => self.folded(&mut |m, v| {
                let all = [pending, &[v]].concat();
                Expr::Apply(Op::Mul, vec![m.element(&all), m.element(&[v])])
            }),
            _ => self.element(pending),
        }
    }

    /// A new operand's element through operators, which keep the order of what it is indexed with.
    fn copied(&mut self, chain: &[Operator], vars: &[usize]) -> Expr {
        let Some((operator, rest)) = chain.split_first() else {
            let sizes = vars.iter().map(|v| self.case.vars[*v]).collect();
            let format = self.list(vars.len());
            let t = self.case.tensors.len();
            self.stored(t, self.ty, sizes, format);
            return Expr::access(t, vars.to_vec());
        };
        let at = self.below(vars.len());
        let to = vars[at];
        let bound = match operator {
            Operator::Slice => Some(self.slice(to, false)),
            Operator::Stride => Some(self.slice(to, true)),
            Operator::Concat => Some(self.concat(to)),
            Operator::Collapse => Some(self.collapse(to)),
            Operator::Split => vars.get(at + 1).copied().and_then(|inner| self.split(to, inner)),
        };
        let Some(bound) = bound else { return self.copied(rest, vars) };
        let behind = at + bound.2.len();
        self.around(bound, &mut |m, from, _| m.copied(rest, &[&vars[..at], from, &vars[behind..]].concat()))
    }

    /// A format that lists its entries in the order of the modes, mostly.
    fn list(&mut self, rank: usize) -> Format {
        use LevelKind::{Compressed, Dense, Nonunique, Singleton};
        let mut levels = vec![self.one(&[Dense, Compressed, Nonunique]); rank];
        let (first, then) = match levels.first() {
            None => return Format::dense(0),
            Some(Nonunique) => (Nonunique, Singleton),
            Some(kind) => (*kind, Compressed),
        };
        levels[1..].fill(then);
        levels[0] = if rank == 1 { Compressed } else { first };
        let list = Format { levels: levels.into(), order: (0..rank).collect::<Vec<_>>().into() };
        if self.below(4) == 3 { self.format(rank) } else { list }
    }

    /// An element of a new operand that is indexed with these variables, perhaps with others, and in windows.
    pub(super) fn element(&mut self, with: &[usize]) -> Expr {
        let mut vars = with.to_vec();
        if self.below(4) == 0
            && let Some(v) = self.any(&self.scope.clone())
        {
            vars.push(v);
        }
        for at in (1..vars.len()).rev() {
            let other = at - self.below(at + 1);
            vars.swap(at, other);
        }
        let at: Vec<_> = vars.iter().map(|v| self.widened(*v)).collect();
        let (sizes, at): (Vec<usize>, Vec<_>) = at.into_iter().unzip();
        let format = self.format(sizes.len());
        let t = self.case.tensors.len();
        self.stored(t, self.ty, sizes, format);
        Expr::Access(t, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_walk_takes_each_chain_once() {
        let walked: BTreeSet<Vec<Operator>> = (5..5 + chains()).map(chain).collect();
        assert_eq!((walked.len(), chains()), (780, 780));
        assert!(walked.iter().all(|c| (1..=4).contains(&c.len())));
        let deep = |seeds: std::ops::Range<u64>| seeds.map(chain).filter(|c| c.len() < 4).count();
        assert!(deep(0..78) > 8, "those that are not deep are spread over the walk");
    }
}
