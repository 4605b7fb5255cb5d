//! Columns of a table: tensors of one structure are one list with one position.
//!
//! ```text
//!  l_extendedprice[o,l] * (1 - l_discount[o,l])   ─▶   l_extendedprice[o,l] * (1 - l_discount of l_extendedprice[o,l])
//! ```
//!
//! The first of them that a program reads is walked for all. That they have the same levels is checked where they are given.

use super::out::Out;
use crate::notation::concrete::{Access, Column, Expr, Nest, Place, Role};
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

/// The tables of a program.
pub(super) struct Columns {
    /// The table of each operand that is a table's.
    tables: FxHashMap<TensorId, usize>,
    /// Of each table the operand that is walked for all of them.
    walked: FxHashMap<usize, Place>,
}

impl Columns {
    /// Of a program.
    pub fn of(program: &Program) -> Columns {
        Columns { tables: structures(program), walked: FxHashMap::default() }
    }

    /// Whether the program reads no table.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The nest with each column beside the first that was read. (A copy is made of a tensor's own levels.)
    pub fn walked(&mut self, nest: Nest, out: &mut Out) -> Nest {
        match nest.rhs {
            Expr::Access(..) => nest,
            rhs => Nest { rhs: self.beside(rhs, out), ..nest },
        }
    }

    /// An expression in which tables are walked once: each column beside the first that was read.
    pub fn beside(&mut self, e: Expr, out: &mut Out) -> Expr {
        if self.is_empty() {
            return e;
        }
        e.map_accesses(&mut |a, ty| {
            let Access { tensor, vars, protocols } = out.accesses[a.0].clone();
            let own = &out.tensors[tensor.0];
            let Role::Operand(id) = own.role else { return Expr::Access(a, ty) };
            let Some(table) = self.tables.get(&id).filter(|_| !own.format.is_dense()) else {
                return Expr::Access(a, ty);
            };
            let walked = *self.walked.entry(*table).or_insert(tensor);
            if walked == tensor || out.tensors[walked.0].format != own.format {
                return Expr::Access(a, ty);
            }
            let fill = own.fill;
            let of = out.accessed(Access { tensor: walked, vars, protocols });
            Expr::Column(Box::new(Column { of, tensor, fill }))
        })
    }
}
