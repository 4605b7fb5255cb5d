//! Columns of a table: tensors of one structure are one list with one position.
//!
//! ```text
//!  l_extendedprice[o,l] * (1 - l_discount[o,l])   ─▶   l_extendedprice[o,l] * (1 - l_discount of l_extendedprice[o,l])
//! ```
//!
//! The first column that a program reads is walked for all. Operands are checked to have the same levels when they are given.

use super::out::Out;
use fiberloom_core::notation::concrete::{Access, Column, Expr, Nest, Place, Role};
use fiberloom_core::notation::typed::{Program, TensorId};
use rustc_hash::FxHashMap;

/// The table of each operand that belongs to one, by the table's place in the program.
pub fn structures(program: &Program) -> FxHashMap<TensorId, usize> {
    let ids = program.tensors.iter().enumerate();
    ids.filter_map(|(id, t)| Some((TensorId(id as u32), *program.tables.get(&t.name)?))).collect()
}

/// The columns of a program's tables.
pub(super) struct Columns {
    /// The table of each operand that belongs to one.
    tables: FxHashMap<TensorId, usize>,
    /// Per table, the operand that is walked for all of its columns.
    walked: FxHashMap<usize, Place>,
}

impl Columns {
    /// The columns of a program, none of them read yet.
    pub fn of(program: &Program) -> Columns {
        Columns { tables: structures(program), walked: FxHashMap::default() }
    }

    /// Whether the program reads no table.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Reads each column of the nest beside the first that was read. (A nest that is a copy walks the tensor's own levels.)
    pub fn walked(&mut self, nest: Nest, out: &mut Out) -> Nest {
        match nest.rhs {
            Expr::Access(..) => nest,
            rhs => Nest { rhs: self.beside(rhs, out), ..nest },
        }
    }

    /// Reads each column of the expression beside the first column of its table that was read: each table is walked once.
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
