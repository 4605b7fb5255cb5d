//! What is cut into batches: the tensors of a table, and what is over its rows.

use super::twin::Twin;
use crate::error::Error;
use crate::program::Program;
use fiberloom_core::notation::Span;
use fiberloom_core::notation::typed::{Kind, SizeId, Statement, VarId};
use fiberloom_core::shape::Classes;
use std::collections::BTreeSet;

/// What is cut into batches.
pub(super) struct Cut {
    /// The table.
    pub(super) table: String,
    /// The operands that its columns are.
    pub(super) tensors: BTreeSet<String>,
    /// What numbers its rows.
    pub(super) size: String,
    /// The index variables over its rows.
    pub(super) vars: BTreeSet<VarId>,
    /// Those over the rows of its twin.
    pub(super) others: BTreeSet<VarId>,
    /// Its second reading.
    pub(super) twin: Twin,
    /// Results that say about how large others are.
    pub(super) about: BTreeSet<String>,
    /// Whether rows are found by keys.
    pub(super) is_keyed: bool,
}

impl Cut {
    /// Whether a tensor is one of the table, or of its twin.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.contains(name) || self.twin.names.values().any(|own| own == name)
    }

    /// The names of the sizes of its rows.
    pub(super) fn sizes(&self) -> impl Iterator<Item = &str> {
        [self.size.as_str(), &self.twin.size].into_iter().filter(|size| !size.is_empty())
    }

    /// Whether an index variable is over rows.
    pub(super) fn is_over(&self, v: &VarId) -> bool {
        self.vars.contains(v) || self.others.contains(v)
    }

    /// The name of a size that numbers rows of the table, or of its twin.
    pub(super) fn named(&self, program: &Program, classes: &Classes, size: SizeId) -> Option<String> {
        let typed = program.typed();
        let is_rows = |is_one: &dyn Fn(&str) -> bool| {
            let own = typed.tensors.iter().find(|t| is_one(&t.name)).and_then(|t| t.sizes.first());
            own.is_some_and(|own| classes.class_of_size(*own) == classes.class_of_size(size))
        };
        let name = if is_rows(&|name| self.tensors.contains(name)) {
            &self.size
        } else if is_rows(&|name| self.twin.names.values().any(|own| own == name)) {
            &self.twin.size
        } else {
            return None;
        };
        Some(name.clone()).filter(|name| !name.is_empty())
    }

    /// Two of these index variables, of which one is bound where the other is.
    pub(super) fn pair(&self, s: &Statement, vars: &BTreeSet<VarId>) -> Option<([VarId; 2], Span)> {
        let own = |all: &[VarId]| all.iter().copied().filter(|v| vars.contains(v)).collect::<Vec<_>>();
        let bound = [own(&s.vars), own(&s.folded)].concat();
        if let [a, b, ..] = bound[..] {
            return Some(([a, b], s.span));
        }
        let mut open = vec![(&s.rhs, bound.first().copied())];
        while let Some((e, mut around)) = open.pop() {
            if let Kind::Reduce { vars, .. } = &e.kind {
                for v in own(vars) {
                    if let Some(other) = around.filter(|other| *other != v) {
                        return Some(([other, v], e.span));
                    }
                    around = Some(v);
                }
            }
            open.extend(e.children().map(|part| (part, around)));
        }
        None
    }
}

/// The index variables whose extent is a size.
pub(super) fn over(program: &Program, size: SizeId) -> Result<BTreeSet<VarId>, Error> {
    let classes = Classes::of(program.typed()).map_err(|diagnostics| program.refused(diagnostics))?;
    let class = classes.class_of_size(size);
    let all = (0..program.typed().vars.len() as u32).map(VarId);
    Ok(all.filter(|v| classes.class_of_var(*v) == class).collect())
}
