//! Shape operators of a case: over variables whose sizes happen to fit, inside and around anything.

use super::make::Maker;
use super::{Case, Expr, SIZES, VARS};
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
        let names = |vars: &[usize]| {
            let names: Vec<&str> = vars.iter().map(|v| VARS[*v]).collect();
            if vars.len() == 1 { names.join("") } else { format!("({})", names.join(", ")) }
        };
        let body = if parts.len() == 1 { parts[0].clone() } else { format!("({})", parts.join(", ")) };
        write!(f, "{}({body}, {} -> {}", shape.name(), names(from), names(to))?;
        if let Shape::Slice(start, step) = shape {
            let length = self.sizes[to[0] % SIZES].0;
            let end = if length == 0 { start } else { start + step * (length - 1) + 1 };
            write!(f, ", {start}:{end}:{step}")?;
        }
        write!(f, ")")
    }
}

impl Maker<'_, '_> {
    fn extent(&self, v: usize) -> u64 {
        self.case.sizes[v % SIZES].0
    }

    /// A variable of a size that is not in scope, nor one of these.
    fn unbound(&self, size: usize, but: &[usize]) -> Option<usize> {
        (0..VARS.len()).rev().find(|v| v % SIZES == size && !self.scope.contains(v) && !but.contains(v))
    }

    /// Any shape operator around any expressions, if there is one that fits.
    pub(super) fn shape(&mut self, depth: usize) -> Expr {
        let made = match self.below(4) {
            0 => self.slice(),
            1 => self.concat(),
            2 => self.split(),
            _ => self.collapse(),
        };
        let Some((shape, from, to)) = made else { return self.leaf() };
        let outer = self.scope.clone();
        // What is bound outside is not named inside, but the variables that the operator binds are.
        self.scope.retain(|v| !to.contains(v));
        let bodies: Vec<Vec<usize>> = match shape {
            Shape::Concat => from.iter().map(|v| vec![*v]).collect(),
            _ => vec![from.clone()],
        };
        let mut parts = vec![];
        for bound in bodies {
            self.scope.extend(&bound);
            let part = self.expr(depth);
            self.scope.truncate(self.scope.len() - bound.len());
            if !bound.iter().all(|v| part.uses(*v)) {
                self.scope = outer;
                return self.leaf();
            }
            parts.push(part);
        }
        self.scope = outer;
        Expr::Shape(shape, from, to, parts)
    }

    fn slice(&mut self) -> Option<(Shape, Vec<usize>, Vec<usize>)> {
        let to = self.one(&self.scope.clone());
        let n = self.extent(to);
        let longer: Vec<usize> = (0..SIZES).filter(|s| self.case.sizes[*s].0 >= n).collect();
        let size = self.one(&longer);
        let from = self.unbound(size, &[])?;
        let whole = self.extent(from);
        let step = self.one(&[1, 2, 3, 1]);
        let step = if n == 0 || step * (n - 1) < whole { step } else { 1 };
        let last = if n == 0 { 0 } else { step * (n - 1) + 1 };
        let start = self.below((whole - last) as usize + 1) as u64;
        Some((Shape::Slice(start, step), vec![from], vec![to]))
    }

    fn concat(&mut self) -> Option<(Shape, Vec<usize>, Vec<usize>)> {
        let to = self.one(&self.scope.clone());
        let count = 2 + self.below(3) / 2;
        let mut sums = vec![];
        for n in 0..SIZES.pow(count as u32) {
            let parts: Vec<usize> = (0..count).map(|k| n / SIZES.pow(k as u32) % SIZES).collect();
            if parts.iter().map(|s| self.case.sizes[*s].0).sum::<u64>() == self.extent(to) {
                sums.push(parts);
            }
        }
        let parts = sums.get(self.below(sums.len().max(1)))?.clone();
        let mut from = vec![];
        for size in parts {
            from.push(self.unbound(size, &from)?);
        }
        Some((Shape::Concat, from, vec![to]))
    }

    fn split(&mut self) -> Option<(Shape, Vec<usize>, Vec<usize>)> {
        let (a, b) = (self.one(&self.scope.clone()), self.one(&self.scope.clone()));
        let product = self.extent(a) * self.extent(b);
        let fits: Vec<usize> = (0..SIZES).filter(|s| self.case.sizes[*s].0 == product).collect();
        if a == b || fits.is_empty() {
            return None;
        }
        let size = self.one(&fits);
        let from = self.unbound(size, &[])?;
        Some((Shape::Split, vec![from], vec![a, b]))
    }

    fn collapse(&mut self) -> Option<(Shape, Vec<usize>, Vec<usize>)> {
        let to = self.one(&self.scope.clone());
        let product = |(a, b): &(usize, usize)| self.case.sizes[*a].0 * self.case.sizes[*b].0;
        let pairs = (0..SIZES).flat_map(|a| (0..SIZES).map(move |b| (a, b)));
        let fits: Vec<(usize, usize)> = pairs.filter(|p| product(p) == self.extent(to)).collect();
        if fits.is_empty() {
            return None;
        }
        let (a, b) = self.one(&fits);
        let a = self.unbound(a, &[])?;
        Some((Shape::Collapse, vec![a, self.unbound(b, &[a])?], vec![to]))
    }
}
