//! A statement on its way from the program to a nest.

use crate::schedule::order::Assembly;
use fiberloom_core::notation::concrete::{
    Access, Assign, Body, Expr, Index, Nest, Onto, Place, Provenance, Workspace, WorkspaceKind,
};

/// A statement as it stands between two decisions: each takes it and returns it changed (`mod.rs`).
///
/// ```text
///  place[target]  =      fold(sums: rhs)
///  place[places]  fold=  rhs                a scatter, over the loops `sums`; `target` is bound by none of them
/// place[places]  =      rhs                a scatter that writes each place at most once
/// ```
pub(super) struct Draft {
    /// Whether it is a statement of the program, whose loops commands name, and not a temporary of one.
    pub stated: bool,
    /// The tensor that is defined.
    pub place: Place,
    /// The variables of its coordinates, one a mode.
    pub target: Vec<Index>,
    /// How values come to their places.
    pub assign: Assign,
    /// The loops that are folded over.
    pub sums: Vec<Index>,
    /// The value.
    pub rhs: Expr,
    /// The loops, outermost first, once their order is decided.
    pub order: Option<Vec<Index>>,
    /// The order in which the loops produce coordinates.
    pub assembly: Assembly,
    /// The number of loops around the workspace in which values wait, and its kind.
    pub workspace: Option<(usize, WorkspaceKind)>,
}

impl Draft {
    /// The statement `place[target] = rhs`.
    pub fn new(place: Place, target: Vec<Index>, rhs: Expr) -> Draft {
        Draft::of(place, target, Assign::Once, (vec![], rhs)).opened()
    }

    /// A scatter over these loops, which run in this order if its function depends on the order.
    pub fn scatter(place: Place, target: Vec<Index>, loops: Vec<Index>, to: (Vec<Expr>, Onto), rhs: Expr) -> Draft {
        Draft::of(place, target, Assign::Scatter(to.0, to.1), (loops, rhs))
    }

    fn of(place: Place, target: Vec<Index>, assign: Assign, (sums, rhs): (Vec<Index>, Expr)) -> Draft {
        let (order, assembly, workspace) = (None, Assembly::Append, None);
        Draft { stated: false, place, target, assign, sums, rhs, order, assembly, workspace }
    }

    /// The draft as a statement of the program.
    pub fn stated(self) -> Draft {
        Draft { stated: true, ..self }
    }

    /// The draft with a sum that is its whole value taken as the statement's fold.
    pub fn opened(self) -> Draft {
        match self.rhs {
            Expr::Reduce(fun, sums, rhs, _) if self.assign == Assign::Once => {
                Draft { assign: Assign::Fold(fun), sums, rhs: *rhs, ..self }
            }
            _ => self,
        }
    }

    /// The loops over the result's coordinates.
    pub fn outer(&self, graph: &Provenance) -> Vec<Index> {
        match self.assign {
            Assign::Scatter(..) => vec![],
            Assign::Once | Assign::Fold(_) => self.target.iter().flat_map(|v| graph.roots(*v)).collect(),
        }
    }

    /// All loops around the value.
    pub fn loops(&self, graph: &Provenance) -> Vec<Index> {
        [self.outer(graph), self.sums.clone()].concat()
    }

    /// The nest of a statement for which everything is decided.
    pub fn nest(self) -> Nest {
        let mut loops = self.order.expect("its loops are ordered before");
        let body = match self.workspace {
            Some((around, kind)) => Body::Where(Workspace { kind, loops: loops.split_off(around) }, self.assign),
            None => Body::Assign(self.assign),
        };
        Nest { target: Access::of(self.place, self.target), loops, body, rhs: self.rhs }
    }
}
