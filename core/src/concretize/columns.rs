//! Columns of a table: tensors of one structure are one list with one position.
//!
//! ```text
//!  l_extendedprice[o,l] * (1 - l_discount[o,l])   ─▶   l_extendedprice[o,l] * (1 - l_discount of l_extendedprice[o,l])
//! ```
//!
//! The first of them that a program reads is walked for all. That they have the same levels is checked where they are given.

use super::Concretize;
use crate::notation::concrete::{Access, Column, Expr, Role};
use crate::notation::relation::What;
use crate::notation::typed::{Program, TensorId};
use rustc_hash::FxHashMap;

/// The table, by its place, of each operand that is a table's.
pub fn structures(program: &Program) -> FxHashMap<TensorId, usize> {
    let tables = program.relations.tables.iter().enumerate().filter(|(_, table)| !table.made);
    let own = tables.flat_map(|(n, table)| {
        let columns = table.columns.iter().map(|column| &column.name);
        [&table.name].into_iter().chain(columns).map(move |name| (name, n))
    });
    let asked = program.relations.asked.iter().filter_map(|asked| match asked.what {
        What::Column { table, .. } => Some((&asked.tensor, table)),
        _ => None,
    });
    let named: FxHashMap<&String, usize> = own.chain(asked).collect();
    let ids = program.tensors.iter().enumerate();
    ids.filter_map(|(id, t)| Some((TensorId(id as u32), *named.get(&t.name)?))).collect()
}

impl Concretize<'_> {
    /// An expression in which tables are walked once: each column beside the first that was read.
    pub(super) fn beside(&mut self, e: Expr) -> Expr {
        if self.structures.is_empty() {
            return e;
        }
        e.map_accesses(&mut |a, ty| {
            let Access { tensor, vars, protocols } = self.out.accesses[a.0].clone();
            let own = &self.out.tensors[tensor.0];
            let Role::Operand(id) = own.role else { return Expr::Access(a, ty) };
            let Some(table) = self.structures.get(&id).filter(|_| !own.format.is_dense()) else {
                return Expr::Access(a, ty);
            };
            let walked = *self.walked.entry(*table).or_insert(tensor);
            if walked == tensor || self.out.tensors[walked.0].format != own.format {
                return Expr::Access(a, ty);
            }
            let fill = own.fill;
            let of = self.out.accessed(Access { tensor: walked, vars, protocols });
            Expr::Column(Box::new(Column { of, tensor, fill }))
        })
    }
}
