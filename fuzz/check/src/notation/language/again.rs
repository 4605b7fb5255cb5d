//! Statements about what one before has defined: they define it anew, or a part of it, or add to it.

use super::{Known, Maker, NOWHERE, named};
use fiberloom_core::notation::syntax::*;

impl Maker<'_, '_> {
    /// A statement about a declared result of one before, or any statement if there is none.
    pub(super) fn again(&mut self) -> Statement {
        let is_result = |t: &Known| t.name.starts_with('R') && self.declared.iter().any(|d| d.name.name == t.name);
        let results: Vec<Known> = self.tensors.iter().filter(|t| is_result(t)).cloned().collect();
        if results.is_empty() {
            return self.statement(2);
        }
        let Known { name, ty, extents, .. } = self.one(&results);
        let outer = std::mem::take(&mut self.vars);
        (self.fresh, self.read) = (0, vec![]);
        let part = self.below(2) == 1;
        let indices = extents.iter().map(|n| if part { self.within(*n) } else { self.over(*n) }).collect();
        let rhs = self.anchored(ty, true, |m| m.expr(ty, 3));
        let op = if part || self.below(3) > 0 { Assign::Set } else { Assign::Add };
        self.vars = outer;
        let lhs = Access { tensor: named(&name), indices, span: NOWHERE };
        Statement { lhs, op, rhs, locals: vec![], schedule: None, span: NOWHERE }
    }

    /// A new index variable over a whole mode.
    fn over(&mut self, extent: u64) -> Index {
        let v = self.loops(extent);
        self.bare(&v)
    }

    /// A new index variable of this extent.
    fn loops(&mut self, extent: u64) -> String {
        let v = self.new_var();
        self.vars.push((v.clone(), extent));
        v
    }

    /// An index of a part within a mode of this extent: one coordinate, or each or every other from some coordinate on.
    fn within(&mut self, extent: u64) -> Index {
        let kind = self.below(4);
        if kind == 0 || extent == 0 {
            return self.over(extent);
        }
        let start = self.below(extent as usize) as u64;
        let term = |coefficient, factor| (false, Term { coefficient, factor, divisions: vec![] });
        let first = term(None, Factor::Int(start));
        if kind == 1 {
            return Index::Affine { permit: false, map: Affine { terms: vec![first] }, span: NOWHERE };
        }
        let factor = self.one(&[1, 1, 2]);
        let count = (extent - start).div_ceil(factor) - self.below(2) as u64;
        let v = self.loops(count);
        let var = term((factor > 1).then_some(factor), Factor::Var(self.ident(&v)));
        Index::Affine { permit: false, map: Affine { terms: vec![var, first] }, span: NOWHERE }
    }
}
