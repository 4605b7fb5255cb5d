//! What a workspace does, and what all of them have.

use super::insertion::Insertion;
use super::output::Output;
use super::{Context, Expr, call};
use crate::stream::ListFiber;
use crate::{Symbolic, Term};
use fiberloom_core::algebra::Value;
use fiberloom_core::notation::concrete::{Index, Nest};
use fiberloom_core::notation::typed::Fun;
use std::rc::Rc;

/// A result, and the insertion point below which a workspace is drained.
pub(super) type Into<'a> = (&'a Output, &'a Insertion);

/// A workspace of one nest.
pub(super) trait Scratch {
    /// Emitted before values are put: empties the workspace, if draining does not.
    fn clear(&self, d: &mut Symbolic);

    /// Puts a value at coordinates, folded with a function, if there is one, into the value there.
    fn put(&self, cx: &Context, d: &mut Symbolic, fold: Option<Fun>, at: &[Expr], value: Expr);

    /// Whether the workspace has a set, into which coordinates can be inserted in bulk.
    fn has_set(&self) -> bool {
        false
    }

    /// Inserts a coordinate and the `distance` ones behind it, below 63, in bulk. Returns the workspace in which their
    /// values must be put, without a test; `None` if there is no set.
    fn said(&self, _d: &mut Symbolic, _first: &Expr, _distance: Expr) -> Option<Rc<dyn Scratch>> {
        None
    }

    /// Notes that the values put so far are the old version, into which the others are folded.
    fn lay(&self, _d: &mut Symbolic) {}

    /// Moves everything into the result's next levels, in ascending order; along a list, if values were put at its entries alone.
    fn drain(&self, cx: &Context, d: &mut Symbolic, along: Option<&ListFiber<Term>>, into: Into);
}

/// The variables of a workspace.
#[derive(Clone)]
pub(super) struct Front {
    /// Its tensor's name.
    pub name: String,
    /// The names of its variables, in the order of the tensor's levels.
    pub vars: Vec<String>,
    pub extents: Vec<Expr>,
    /// The value of coordinates at which nothing is put.
    pub initial: Value,
}

impl Front {
    pub fn of(cx: &Context, nest: &Nest) -> Front {
        let tensor = &cx.program.tensors[nest.target.tensor.0];
        let vars: Vec<Index> = cx.program.drained(nest);
        let extents = vars.iter().map(|v| cx.extent(cx.program.vars[v.0].extent)).collect();
        let vars = vars.iter().map(|v| cx.program.vars[v.0].name.clone()).collect();
        Front { name: tensor.name.clone(), vars, extents, initial: tensor.fill }
    }
}

/// A fold's value after its first: `value` folded into `first`, or `value` itself if `first` is neutral bit for bit.
pub(super) fn begun(cx: &Context, d: &mut Symbolic, (fun, first): (Fun, Value), value: Expr) -> Expr {
    match cx.simplify.leads(fun, first) {
        true => value,
        false => call::applied(cx, d, fun, vec![Expr::Const(first), value]),
    }
}
