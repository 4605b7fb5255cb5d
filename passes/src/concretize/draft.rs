//! A statement on its way from the program to a nest.

use crate::schedule::order::Assembly;
use fiberloom_core::notation::concrete::{Access, AccessId, Expr, Index, Nest, Place, Provenance, Workspace};
use fiberloom_core::notation::typed::Fun;

/// A statement as it stands between two decisions: each takes it and returns it changed (`mod.rs`).
///
/// ```text
///  place[target]  =      fold(sums: rhs)
///  place[places]  fold=  rhs                a scatter, over the loops `sums`; `target` is bound by none of them
/// place[places]  =      rhs                a scatter that writes each place at most once
/// ```
pub(super) struct Draft {
    /// The tensor that is defined.
    pub place: Place,
    /// The variables of its coordinates, one a mode.
    pub target: Vec<Index>,
    /// The function that joins values at the same coordinate, if there can be several.
    pub fold: Option<Fun>,
    /// The loops that are folded over.
    pub sums: Vec<Index>,
    /// The value.
    pub rhs: Expr,
    /// The loops, outermost first, once their order is decided.
    pub order: Option<Vec<Index>>,
    /// The order in which the loops produce coordinates.
    pub assembly: Assembly,
    /// The workspace in which values wait.
    pub workspace: Option<Workspace>,
    /// The coordinates of the values, if they are not the loops' own.
    pub scatter: Option<Scatter>,
}

/// The destination of the values of a scatter.
pub(super) struct Scatter {
    /// The coordinates, one a mode: functions of the loops.
    pub places: Vec<Expr>,
    /// The access to the version before; without it every coordinate held the tensor's fill.
    pub before: Option<AccessId>,
}

impl Draft {
    /// The statement `place[target] = rhs`.
    pub fn new(place: Place, target: Vec<Index>, rhs: Expr) -> Draft {
        let (order, assembly, workspace) = (None, Assembly::Append, None);
        let bare = Draft { place, target, fold: None, sums: vec![], rhs, order, assembly, workspace, scatter: None };
        bare.opened()
    }

    /// A scatter over these loops, which run in this order if the function depends on the order.
    pub fn scatter(place: Place, target: Vec<Index>, (fun, loops): (Fun, Vec<Index>), to: Scatter, rhs: Expr) -> Draft {
        let (order, assembly, workspace) = (None, Assembly::Append, None);
        Draft { place, target, fold: Some(fun), sums: loops, rhs, order, assembly, workspace, scatter: Some(to) }
    }

    /// A scatter that overwrites, to distinct places.
    pub fn put(place: Place, target: Vec<Index>, loops: Vec<Index>, to: Scatter, rhs: Expr) -> Draft {
        let (order, assembly, workspace) = (None, Assembly::Append, None);
        Draft { place, target, fold: None, sums: loops, rhs, order, assembly, workspace, scatter: Some(to) }
    }

    /// The draft with a sum that is its whole value taken as the statement's fold.
    pub fn opened(self) -> Draft {
        match self.rhs {
            Expr::Reduce(fun, sums, rhs, _) if self.fold.is_none() => {
                Draft { fold: Some(fun), sums, rhs: *rhs, ..self }
            }
            _ => self,
        }
    }

    /// The loops over the result's coordinates.
    pub fn outer(&self, graph: &Provenance) -> Vec<Index> {
        match self.scatter {
            Some(_) => vec![],
            None => self.target.iter().flat_map(|v| graph.roots(*v)).collect(),
        }
    }

    /// All loops around the value.
    pub fn loops(&self, graph: &Provenance) -> Vec<Index> {
        [self.outer(graph), self.sums.clone()].concat()
    }

    /// The nest of a statement for which everything is decided.
    pub fn nest(self) -> Nest {
        let (places, before) = self.scatter.map(|to| (to.places, to.before)).unzip();
        Nest {
            target: Access::of(self.place, self.target),
            order: self.order.expect("its loops are ordered before"),
            fold: self.fold,
            rhs: self.rhs,
            workspace: self.workspace,
            places,
            before: before.flatten(),
            both: None,
        }
    }
}
