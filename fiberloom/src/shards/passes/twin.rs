//! Two index variables over rows of one table: one of them reads a twin of the table.
//!
//! ```text
//!  pairs[] = count(n, m: a[n] == a[m])        tensor a_2: i64[N_2] dense
//!                                             pairs[] = count(n, m: a[n] == a_2[m])
//! ```
//!
//! The twin has the same data. So there are two splits, and a box is a pair of batches.

use super::Cut;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{
    Access, Argument, Expr, ExprKind, Ident, Index, Item, Program, Size, Statement, Tensor,
};
use std::collections::BTreeMap;

/// The second reading of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct Twin {
    /// What its tensors are called, by those of the table.
    pub(super) names: BTreeMap<String, String>,
    /// What numbers its rows.
    pub(super) size: String,
}

/// A program in which an index variable of a statement reads the twin, where other variables are over the same rows. `text` has names that
/// are taken.
pub(super) fn parted(
    plain: &mut Program,
    (statement, variable): (Span, &str),
    (cut, text): (&Cut, &str),
    twin: &mut Twin,
) {
    if twin.size.is_empty() {
        twin.size = super::fresh(text, &format!("{}_2", if cut.size.is_empty() { "rows" } else { &cut.size }));
    }
    let mut swap = Swap { cut, text, variable, twin };
    for item in &mut plain.items {
        if let Item::Statement(s) = item
            && s.span == statement
        {
            swap.statement(s);
        }
    }
    let is_declared = |plain: &Program, name: &str| {
        plain.items.iter().any(|item| matches!(item, Item::Tensor(t) if t.name.name == name))
    };
    for (own, name) in &twin.names {
        if is_declared(plain, name) {
            continue;
        }
        let of = plain.items.iter().find_map(|item| match item {
            Item::Tensor(t) if t.name.name == *own => Some(t.clone()),
            _ => None,
        });
        let Some(of) = of else { continue };
        let mut sizes = of.sizes.clone();
        sizes[0] = Size::Name(Ident { name: twin.size.clone(), span: of.name.span });
        let name = Ident { name: name.clone(), span: of.name.span };
        plain.items.insert(0, Item::Tensor(Tensor { name, sizes, ..of }));
    }
}

struct Swap<'s> {
    cut: &'s Cut,
    text: &'s str,
    variable: &'s str,
    twin: &'s mut Twin,
}

impl Swap<'_> {
    fn statement(&mut self, s: &mut Statement) {
        s.locals.iter_mut().for_each(|local| self.statement(local));
        self.indices(&mut s.lhs);
        self.expr(&mut s.rhs);
    }

    /// What is read within the indices of an access.
    fn indices(&mut self, access: &mut Access) {
        for index in &mut access.indices {
            match index {
                Index::Access(inner) => self.access(inner),
                Index::Computed { of, .. } => self.expr(of),
                Index::Affine { .. } | Index::Slice { .. } => {}
            }
        }
    }

    fn access(&mut self, access: &mut Access) {
        self.indices(access);
        let is_at = access.indices.first().and_then(Index::variable).is_some_and(|v| v.name == self.variable);
        if is_at && self.cut.tensors.contains(&access.tensor.name) {
            let (text, own) = (self.text, &access.tensor.name);
            let name = self.twin.names.entry(own.clone()).or_insert_with(|| super::fresh(text, &format!("{own}_2")));
            access.tensor.name.clone_from(name);
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        match &mut e.kind {
            ExprKind::Access(access) => self.access(access),
            ExprKind::Unary(_, x) => self.expr(x),
            ExprKind::Binary(_, a, b) => [a, b].into_iter().for_each(|e| self.expr(e)),
            ExprKind::If(c, a, b) => [c, a, b].into_iter().for_each(|e| self.expr(e)),
            ExprKind::Call(_, args) => {
                for arg in args {
                    if let Argument::Expr(e) = arg {
                        self.expr(e);
                    }
                }
            }
            ExprKind::Reduce { body, start, .. } => {
                self.expr(body);
                start.iter_mut().for_each(|start| self.expr(start));
            }
            ExprKind::Collapse { body, .. } | ExprKind::Split { body, .. } | ExprKind::Slice { body, .. } => {
                self.expr(body);
            }
            ExprKind::Concat { parts, .. } => parts.iter_mut().for_each(|part| self.expr(part)),
            ExprKind::Literal(_) | ExprKind::Name(_) => {}
        }
    }
}
