//! Extents of a kernel: numbers, parameters, and expressions of these.

use crate::loops::arith::int;
use crate::loops::{Expr, Var};
use crate::map::{ClassId, Size};
use crate::notation::typed::{SizeId, VarId};
use std::collections::BTreeMap;

/// The extents of a kernel.
#[derive(Default)]
pub struct Extents {
    /// What the caller passes.
    pub params: BTreeMap<ClassId, Var>,
    /// Parameters that are extents of no tensor of the caller.
    pub solved: Vec<(Var, VarId)>,
    /// Parameters that are extents of no tensor, and sizes that the caller says.
    pub given: Vec<(Var, SizeId)>,
    /// Extents that follow from the parameters.
    pub derived: BTreeMap<ClassId, Expr>,
    /// Extents that are made of other extents, in terms of these.
    pub sizes: BTreeMap<ClassId, Size>,
    /// Extents that the program states as numbers.
    pub constants: BTreeMap<ClassId, i64>,
}

impl Extents {
    /// An extent as an expression.
    pub fn at(&self, class: ClassId) -> Expr {
        let constant = self.number(class).map(int);
        let parameter = || self.params.get(&class).map(|v| Expr::Var(*v));
        constant.or_else(parameter).unwrap_or_else(|| self.derived[&class].clone())
    }

    /// An extent that the program states as a number.
    pub fn number(&self, class: ClassId) -> Option<i64> {
        self.constants.get(&class).copied()
    }

    /// Whether the kernel can say an extent.
    pub fn has(&self, class: ClassId) -> bool {
        self.params.contains_key(&class) || self.derived.contains_key(&class) || self.constants.contains_key(&class)
    }

    /// Makes an extent a parameter that the caller solves for.
    pub fn solve(&mut self, class: ClassId, param: Var, of: VarId) {
        self.params.insert(class, param);
        self.solved.push((param, of));
    }

    /// A size with known extents as numbers, as expressions take it.
    pub fn numbered(&self, size: &Size) -> Size {
        size.within(&|c| self.number(c).map(Size::number))
    }

    /// A size in the form in which sizes are compared: known extents are numbers, and extents made of parts are replaced by
    /// these.
    pub fn known(&self, size: &Size) -> Size {
        let number = |c: ClassId| self.number(c).map(Size::number);
        size.within(&|c| number(c).or_else(|| Some(self.sizes.get(&c)?.within(&number))))
    }

    /// An extent in that form.
    pub fn known_extent(&self, class: ClassId) -> Size {
        self.known(&Size::unknown(class))
    }

    /// The size of an extent; an extent of 0 is not told from one that is unknown.
    pub fn length(&self, class: ClassId) -> Size {
        self.number(class).filter(|n| *n != 0).map_or_else(|| Size::unknown(class), Size::number)
    }
}
