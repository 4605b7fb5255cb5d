//! Extents that nothing in an expression says: sizes of a `reshape`, the new axis of a `stack`.
//!
//! ```text
//!  split(a[k], k -> (i, j))   ─▶   select(true, split(a[k], k -> (i, j)), extent_1[i])   where { extent_1[axis_1] = 0 }
//! ```
//!
//! A bare index of a tensor with a declared size says an extent. What stands behind `select(true, …)` is checked, and is
//! gone before there are loops: nothing is computed of it, and the local, where nothing is stored, is never read.

use super::array::Mode;
use super::expr::{Expr, Tensor, Var, call, literal};
use super::name::{ident, own};
use super::{Builder, Type, syntax};
use fiberloom_core::notation::Span;

/// A tensor that is there for its size.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    ty: Type,
    size: syntax::Size,
    name: String,
}

impl Builder {
    /// The expression, of this type, with the mode held to this size, where not something else says it.
    pub(super) fn sized(&mut self, e: Expr, ty: Type, mode: &Mode, size: &syntax::Size) -> Expr {
        if mode.size.as_ref() == Some(size) {
            return e;
        }
        let name = self.extent(ty, size);
        call("select", [literal(true), e, Tensor(&name).at([Var(&mode.var)]).into()])
    }

    /// The tensor of this type and size.
    fn extent(&mut self, ty: Type, size: &syntax::Size) -> String {
        if let Some(known) = self.extents.iter().find(|known| (known.ty, &known.size) == (ty, size)) {
            return known.name.clone();
        }
        let name = own(&format!("extent_{}", self.extents.len() + 1));
        let (format, sizes) = (Some(syntax::Format::named(ident("sparse"))), vec![size.clone()]);
        self.items.push(syntax::Item::Tensor(syntax::Tensor {
            name: ident(&name),
            sort: syntax::Sort::Plain(ty),
            sizes,
            fill: None,
            format,
        }));
        self.extents.push(Extent { ty, size: size.clone(), name: name.clone() });
        name
    }

    /// Gives each statement the extents that stand in it as locals.
    pub(super) fn define_extents(&mut self) {
        if !self.extents.is_empty() {
            define(&self.extents, &mut self.items);
        }
    }
}

/// Gives each statement, those of blocks too, the extents that stand in it as locals.
fn define(extents: &[Extent], items: &mut [syntax::Item]) {
    for item in items {
        match item {
            syntax::Item::Statement(statement) => {
                // Printing is a walk too: the name of an extent is in the text where it is in the tree, and nothing else is.
                let text = statement.to_string();
                let read = extents.iter().filter(|extent| text.contains(&format!("{}[", extent.name)));
                let defined: Vec<syntax::Statement> = read.map(Extent::defined).collect();
                statement.locals.splice(0..0, defined);
            }
            syntax::Item::Repeat(block) => define(extents, &mut block.body),
            _ => {}
        }
    }
}

impl Extent {
    /// `extent_1[axis_1] = 0`
    fn defined(&self) -> syntax::Statement {
        let zero = if self.ty == Type::Bool { literal(false) } else { literal(0) };
        let lhs = Tensor(&self.name).at([Var(&own("axis_1"))]).0;
        let (op, rhs, span) = (syntax::Assign::Set, zero.tree, Span::default());
        syntax::Statement { lhs, op, rhs, locals: Vec::new(), schedule: None, span }
    }
}
