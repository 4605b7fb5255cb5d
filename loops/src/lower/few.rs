//! A set of a few coordinates of one variable: a flag for each coordinate, and a list of the set's members, which is sorted at the end.
//!
//! ```text
//!   there[j]           whether j is in the set
//!   few[0..listed]     the members, in order of insertion
//! ```
//!
//! A sorting network sorts at most [`crate::Entry::FEW`] coordinates in registers. A set that is read in order ([`super::set`])
//! takes an unpredictable branch for each of its words.
//!
//! Invariant: reading leaves all flags clear.

use super::insertion::Insertion;
use super::output::Output;
use super::room::alloc;
use super::{Expr, int, plus};
use crate::arith::yes;
use crate::{BufferId, Stmt, Symbolic, Var};
use fiberloom_core::algebra::{Op, Type, Value};

/// A set of few coordinates.
#[derive(Clone, Copy)]
pub(super) struct Few {
    there: BufferId,
    list: BufferId,
    listed: Var,
}

impl Few {
    /// An empty set of up to `most` coordinates below `extent`, which will be copied to an array with elements of type `ty`.
    pub fn begin(d: &mut Symbolic, name: &str, extent: &Expr, ty: Type, most: i64) -> Few {
        let there = d.private(&format!("{name}there"), Type::Bool);
        alloc(d, there, extent.clone(), Some(Value::bool(false)));
        let list = d.private(&format!("{name}few"), ty);
        alloc(d, list, int(most), None);
        Few { there, list, listed: d.fresh(&format!("{name}listed"), Type::I64) }
    }

    /// Empties the list, for the next row.
    pub fn clear(&self, d: &mut Symbolic) {
        d.assign(self.listed, int(0));
    }

    /// The condition that a coordinate is not in the set.
    pub fn absent(&self, at: &Expr) -> Expr {
        Expr::Op(Op::Not, vec![Expr::Load(self.there, Box::new(at.clone()))])
    }

    /// Inserts a coordinate that is not in the set.
    pub fn insert(&self, d: &mut Symbolic, at: &Expr) {
        d.emit(Stmt::Store(self.there, at.clone(), yes()));
        super::store_index(d, self.list, Expr::Var(self.listed), at.clone());
        d.assign(self.listed, plus(Expr::Var(self.listed), int(1)));
    }

    /// Appends all coordinates to a last list, in ascending order, without values. Returns the number of the first entry appended.
    pub fn note(&self, d: &mut Symbolic, output: &Output, insertion: &Insertion) -> Expr {
        output.open(d, insertion, &|_| Expr::Var(self.listed));
        let begin = output.list().noted(d);
        output.list().note_sorted(d, insertion, self.list, Expr::Var(self.listed));
        begin
    }

    /// Removes all coordinates, in order of insertion, so that no iteration waits for the sort.
    pub fn drain(&self, d: &mut Symbolic, name: &str, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        d.each("q", int(0), Expr::Var(self.listed), |d, q| {
            let at = d.index(self.list, q);
            let at = d.define(name, Type::I64, at);
            d.emit(Stmt::Store(self.there, at.clone(), Expr::Const(Value::bool(false))));
            inner(d, at);
        });
    }
}
