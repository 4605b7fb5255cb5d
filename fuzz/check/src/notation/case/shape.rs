//! Shape operators of a case, inside and around anything: each makes the sizes and variables that it needs.

use super::make::Maker;
use super::{Case, Expr, name, names};
use fiberloom_core::algebra::Op;
use std::fmt;

/// A shape operator, without its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// From a start, by a step, as far as the extent of its result needs.
    Slice(u64, u64),
    /// Of one variable into two.
    Split,
    /// Of two variables into one.
    Collapse,
    /// Of an expression for each variable.
    Concat,
}

impl Shape {
    /// All of them.
    pub const NAMES: [&str; 4] = ["slice", "split", "collapse", "concat"];

    /// Its name in programs.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Slice(..) => "slice",
            Shape::Split => "split",
            Shape::Collapse => "collapse",
            Shape::Concat => "concat",
        }
    }
}

impl Case {
    pub(super) fn write_shape(
        &self,
        f: &mut fmt::Formatter,
        (shape, from, to): (Shape, &[usize], &[usize]),
        parts: &[String],
    ) -> fmt::Result {
        let names = |vars: &[usize]| match vars {
            [v] => name(*v),
            _ => format!("({})", names(vars)),
        };
        let body = if parts.len() == 1 { parts[0].clone() } else { format!("({})", parts.join(", ")) };
        write!(f, "{}({body}, {} -> {}", shape.name(), names(from), names(to))?;
        if let Shape::Slice(start, step) = shape {
            let length = self.extent(to[0]);
            let end = if length == 0 { start } else { start + step * (length - 1) + 1 };
            write!(f, ", {start}:{end}:{step}")?;
        }
        write!(f, ")")
    }
}

/// What a shape operator binds, and what it makes of that.
pub(super) type Bound = (Shape, Vec<usize>, Vec<usize>);

/// Most coordinates of a variable that a split binds.
const LONGEST: u64 = 60;

impl Maker<'_, '_> {
    /// A variable of this extent that is not in scope, nor one of these: perhaps one that is bound elsewhere.
    pub(super) fn unbound(&mut self, extent: u64, but: &[usize]) -> usize {
        let fits = |v: &usize| self.case.extent(*v) == extent && !self.scope.contains(v) && !but.contains(v);
        let fitting: Vec<usize> = (0..self.case.vars.len()).filter(fits).collect();
        if self.below(3) == 0
            && let Some(v) = self.any(&fitting)
        {
            return v;
        }
        let sizes: Vec<usize> = (0..self.case.sizes.len()).filter(|n| self.case.sizes[*n].0 == extent).collect();
        let size = self.any(&sizes).filter(|_| self.below(4) < 3);
        let size = size.unwrap_or_else(|| self.new_size(extent));
        self.case.vars.push(size);
        self.case.vars.len() - 1
    }

    /// Any shape operator around any expressions.
    pub(super) fn shape(&mut self, depth: usize) -> Expr {
        let to = self.one(&self.scope.clone());
        let bound = match self.below(5) {
            0 => Some(self.slice(to, false)),
            1 => Some(self.slice(to, true)),
            2 => Some(self.concat(to)),
            3 => Some(self.collapse(to)),
            _ => {
                let others: Vec<usize> = self.scope.iter().copied().filter(|v| *v != to).collect();
                self.any(&others).and_then(|inner| self.split(to, inner))
            }
        };
        let Some(bound) = bound else { return self.leaf() };
        self.around(bound, &mut |m, bound, _| {
            let part = m.expr(depth);
            // The extents of what is bound are said by what is indexed with it.
            let unsaid: Vec<usize> = bound.iter().copied().filter(|v| !part.uses(*v)).collect();
            if unsaid.is_empty() {
                return part;
            }
            let saying = m.element(&unsaid);
            Expr::Apply(m.one(&[Op::Mul, Op::Mul, Op::Add]), vec![part, saying])
        })
    }

    /// A shape operator around what `part` makes of the variables that are bound, and of which part it is.
    pub(super) fn around(
        &mut self,
        (shape, from, to): Bound,
        part: &mut dyn FnMut(&mut Self, &[usize], usize) -> Expr,
    ) -> Expr {
        let outer = self.scope.clone();
        // What is bound outside is not named inside, but the variables that the operator binds are.
        self.scope.retain(|v| !to.contains(v));
        let bodies: Vec<Vec<usize>> = match shape {
            Shape::Concat => from.iter().map(|v| vec![*v]).collect(),
            _ => vec![from.clone()],
        };
        let mut parts = vec![];
        for (n, bound) in bodies.iter().enumerate() {
            self.scope.extend(bound);
            parts.push(part(self, bound, n));
            self.scope.truncate(self.scope.len() - bound.len());
        }
        self.scope = outer;
        Expr::Shape(shape, from, to, parts)
    }

    pub(super) fn slice(&mut self, to: usize, strided: bool) -> Bound {
        let n = self.case.extent(to);
        let step = if strided { self.one(&[2, 3]) } else { 1 };
        let start = self.one(&[0, 1, 2, 3]);
        let needed = if n == 0 { start } else { start + step * (n - 1) + 1 };
        let behind = self.one(&[0, 1, 2]);
        let from = self.unbound(needed + behind, &[]);
        (Shape::Slice(start, step), vec![from], vec![to])
    }

    pub(super) fn concat(&mut self, to: usize) -> Bound {
        let mut left = self.case.extent(to);
        let mut from = vec![];
        for _ in 0..1 + self.below(3) / 2 {
            let part = self.below(left as usize + 1) as u64;
            from.push(self.unbound(part, &from));
            left -= part;
        }
        from.push(self.unbound(left, &from));
        (Shape::Concat, from, vec![to])
    }

    /// `None` where what is split would be too long.
    pub(super) fn split(&mut self, outer: usize, inner: usize) -> Option<Bound> {
        let whole = self.case.extent(outer) * self.case.extent(inner);
        let fits = whole <= LONGEST;
        fits.then(|| (Shape::Split, vec![self.unbound(whole, &[])], vec![outer, inner]))
    }

    pub(super) fn collapse(&mut self, to: usize) -> Bound {
        let mut left = self.case.extent(to);
        let mut from = vec![];
        for _ in 0..1 + self.below(4) / 3 {
            let factors: Vec<u64> = match left {
                0 => vec![0, 0, 2, 3],
                // The plain ones are the rarer.
                n => (1..=n).chain(2..n).chain(2..n).filter(|f| n % f == 0).collect(),
            };
            let part = self.one(&factors);
            from.push(self.unbound(part, &from));
            left = match (left, part) {
                (0, 0) => self.one(&[0, 2, 3]),
                _ => left / part,
            };
        }
        from.push(self.unbound(left, &from));
        (Shape::Collapse, from, vec![to])
    }
}
