//! Cases whose first statement meets what is wanted; all else is drawn as ever.
//!
//! ```text
//!  wanted: `*` of compressed with dense into hashed, i8      R0[k,i] = (A0[i,j] * A1[i]) + …
//!                                                               │          │       └ dense along i
//!                                                               │          └ compressed along i
//!                                                               └ hashed along i; folded: i is not here
//! ```
//!
//! The variable along which they meet is `v`. It runs over something; other extents may be 0.

use super::make::{Defined, Maker};
use super::{Case, Expr, VARS};
use crate::notation::legal::LEGAL;
use crate::notation::product::{Fold, Meeting, Target, Wanted};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::format::{Format, LevelKind};

/// A case of these bytes that meets what is wanted.
pub fn directed(u: &mut Unstructured, wanted: &Wanted) -> Case {
    let mut m = Maker::new(u);
    let v = m.below(VARS.len() - 3);
    let size = m.case.vars[v];
    let extent = &mut m.case.sizes[size].0;
    *extent = (*extent).max(1);
    m.scope = vec![v];
    for _ in 0..m.below(3) {
        let w = m.below(VARS.len() - 3);
        if !m.scope.contains(&w) {
            m.scope.push(w);
        }
    }
    let statements = m.one(&[1, 1, 1, 2]);
    match wanted {
        Wanted::Meeting(meeting) => m.meeting(v, meeting, statements == 1),
        Wanted::Fold(fold) => m.folding(v, fold, statements == 1),
    }
    (1..statements).for_each(|n| m.statement(n, n + 1 == statements));
    m.case
}

impl Maker<'_, '_> {
    fn meeting(&mut self, v: usize, wanted: &Meeting, last: bool) {
        let call = LEGAL.of(wanted.operator, wanted.ty).expect("what is wanted is legal");
        self.ty = call.result;
        let levels: Vec<LevelKind> = [Some(wanted.levels.0), wanted.levels.1].into_iter().flatten().collect();
        let before = call.args.len() - levels.len();
        let met: Vec<Expr> =
            call.args[before..].iter().zip(levels).map(|(ty, kind)| self.of_type(*ty, |m| m.held(v, kind))).collect();
        self.further();
        // What stands before the two, a condition, may be anything.
        let mut args: Vec<Expr> = call.args[..before].iter().map(|ty| self.of_type(*ty, |m| m.expr(1))).collect();
        for (a, ty) in met.into_iter().zip(&call.args[before..]) {
            args.push(self.of_type(*ty, |m| m.wrapped(a)));
        }
        let core = Expr::Apply(call.op, args);
        // A sum that is spelled out binds the variable, which is free nowhere else then.
        if wanted.into == Target::Folded && self.below(2) == 0 {
            self.scope.retain(|w| *w != v);
            let folded = Expr::Reduce(self.reduction(), v, Box::new(core));
            let rhs = self.among_others(folded);
            return self.into(v, wanted.into, rhs, last);
        }
        let rhs = self.among_others(core);
        self.into(v, wanted.into, rhs, last);
    }

    fn folding(&mut self, v: usize, wanted: &Fold, last: bool) {
        self.ty = wanted.ty;
        let body = self.held(v, wanted.level);
        self.further();
        let body = self.wrapped(body);
        self.scope.retain(|w| *w != v);
        let rhs = Expr::Reduce(wanted.function, v, Box::new(body));
        let rhs = self.among_others(rhs);
        self.into(v, Target::Folded, rhs, last);
    }

    /// An element of a new operand that has this level along `v`, in the type wanted.
    fn held(&mut self, v: usize, kind: LevelKind) -> Expr {
        let below = kind == LevelKind::Singleton || kind.is_triangle();
        let ranks: &[usize] = if below { &[2, 3] } else { &[1, 2, 2, 3] };
        let rank = self.one(ranks);
        let mut format = self.format(rank);
        let least = below as usize;
        let level = least + self.below(rank - least);
        hold(&mut format, level, kind);
        let scope = self.scope.clone();
        let mut vars: Vec<usize> = (0..rank).map(|_| self.one(&scope)).collect();
        vars[format.order[level]] = v;
        if kind.is_triangle() {
            let alike = |w: &usize| self.case.vars[*w] == self.case.vars[v] && *w != v;
            let alike: Vec<usize> = scope.iter().copied().filter(alike).collect();
            vars[format.order[level - 1]] = if alike.is_empty() { v } else { self.one(&alike) };
        }
        let ty = if self.below(8) == 7 { self.one(&Type::ALL) } else { self.ty };
        let t = self.case.tensors.len();
        self.stored(t, ty, vars.iter().map(|v| self.case.vars[*v]).collect(), format);
        self.converted(Expr::access(t, vars))
    }

    /// Operands besides.
    fn further(&mut self) {
        for _ in 0..self.below(3) {
            self.operand(self.case.tensors.len());
        }
    }

    /// What meets need not be the access itself.
    fn wrapped(&mut self, e: Expr) -> Expr {
        match self.below(5) {
            3 => Expr::Apply(self.one(&[Op::Mul, Op::Add]), vec![e, self.leaf()]),
            4 => Expr::Apply(self.one(&[Op::Mul, Op::Add]), vec![self.leaf(), e]),
            _ => e,
        }
    }

    /// The wanted part, alone or beside others.
    fn among_others(&mut self, part: Expr) -> Expr {
        if self.scope.is_empty() {
            return part;
        }
        match self.below(5) {
            3 => Expr::Apply(self.one(&[Op::Mul, Op::Add]), vec![part, self.expr(2)]),
            4 => Expr::Apply(self.one(&[Op::Mul, Op::Add]), vec![self.expr(2), part]),
            _ => part,
        }
    }

    /// Defines a result with the level wanted along `v`.
    fn into(&mut self, v: usize, target: Target, rhs: Expr, last: bool) {
        let other = |m: &mut Self, w: &usize| *w != v && rhs.uses(*w) && m.below(2) == 0;
        let mut vars: Vec<usize> = self.scope.clone().into_iter().filter(|w| other(self, w)).collect();
        if target != Target::Folded {
            let at = self.below(vars.len() + 1);
            vars.insert(at, v);
        }
        let format = match target {
            Target::Undeclared => None,
            Target::Folded => Some(self.result_format(&vars)),
            Target::Level(kind) => {
                // A variable that nothing on the right has: every coordinate of it gets the same.
                let free = |w: &usize| !vars.contains(w) && !rhs.binds(*w);
                let alike = |w: &usize| *w != v && self.case.vars[*w] == self.case.vars[v];
                if kind.is_triangle() && !vars.iter().any(alike) {
                    let known = (0..VARS.len()).find(|w| alike(w) && free(w));
                    vars.push(known.unwrap_or_else(|| self.another(v)));
                }
                let free = |w: &usize| !vars.contains(w) && !rhs.binds(*w);
                let more = self.below(8) == 7 || kind == LevelKind::Singleton && vars.len() == 1;
                let new = (0..VARS.len() - 3).find(free).filter(|_| more);
                vars.extend(new);
                Some(self.holding(kind, &vars, v))
            }
        };
        self.define(0, last, vars, rhs, Defined { format, freely: target == Target::Undeclared });
    }

    /// A variable of its own over the size of `v`.
    fn another(&mut self, v: usize) -> usize {
        self.case.vars.push(self.case.vars[v]);
        self.case.vars.len() - 1
    }

    /// A format with this level along `v`.
    fn holding(&mut self, kind: LevelKind, vars: &[usize], v: usize) -> Format {
        let mut format = self.format(vars.len());
        let of = |order: &[usize]| order.iter().position(|m| vars[*m] == v).expect("it is among them");
        if kind == LevelKind::Singleton && of(&format.order) == 0 {
            format.order_mut().swap(0, 1);
        }
        if kind.is_triangle() {
            let alike = |m: &usize| vars[*m] != v && self.case.vars[vars[*m]] == self.case.vars[v];
            let beside = format.order.iter().position(alike).expect("another of the same extent");
            let mut order = format.order.to_vec();
            let mode = order.remove(beside);
            order.insert(of(&order), mode);
            format.order = order.into();
        }
        let level = of(&format.order);
        hold(&mut format, level, kind);
        format
    }
}

/// Makes a level one of this kind, and what stands around it fit.
fn hold(format: &mut Format, level: usize, kind: LevelKind) {
    use LevelKind::*;
    let begins = |k: LevelKind| matches!(k, Nonunique | Singleton);
    let levels = format.levels_mut();
    levels[level] = kind;
    if kind == Singleton && !begins(levels[level - 1]) {
        levels[level - 1] = Nonunique;
    }
    if kind.is_triangle() {
        levels[level - 1] = Dense;
    }
    settle(format);
}

/// Makes of singletons that stand in no chain, and of triangles that stand below no dense level, lists.
pub(super) fn settle(format: &mut Format) {
    use LevelKind::*;
    let levels = format.levels_mut();
    for l in 1..levels.len() {
        let above = levels[l - 1];
        let alone = levels[l] == Singleton && !matches!(above, Nonunique | Singleton);
        if alone || levels[l].is_triangle() && above != Dense {
            levels[l] = Compressed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::product;
    use crate::notation::statistics::Statistics;
    use crate::{Effort, bytes};

    /// The product, without running it: what is wanted stands in the case that is made. Usually each so-manieth, so that each column
    /// comes with each other.
    #[test]
    fn every_combination_can_be_made() {
        let each = if Effort::said() < Effort::Long { 61 } else { 1 };
        for (n, wanted) in product::all().enumerate().step_by(each) {
            let case = directed(&mut Unstructured::new(&bytes(n as u64, 2000)), &wanted);
            let mut seen = Statistics::default();
            seen.count(&case);
            assert!(seen.has(&wanted), "{wanted:?}\n{case}");
        }
    }
}
