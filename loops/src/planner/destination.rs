//! The destinations of a nest's values.

use super::{Context, output::Insertion, output::Output, workspace::Scratch};
use crate::choose::{
    Effect, result,
    symbol::Sym,
    walk::{Goal, Stored},
};
use fiberloom_core::algebra::Type;
use fiberloom_core::notation::concrete::{self, Assign, Index, Nest};
use fiberloom_core::notation::typed::Fun;

/// The destination of a nest's values.
pub(super) enum Destination<'a> {
    /// Folds into a scalar: `t = f(t, value)`. With the flag `begun`, the first value is assigned instead of folded.
    Scalar { var: (Sym, Type), fun: Fun, begun: Option<Sym> },
    /// Stores into the result's levels, at the insertion point that the loops have reached.
    Store { nest: &'a Nest, output: &'a Output, insertion: Insertion },
    /// Puts values into a workspace.
    Scatter { nest: &'a Nest, scratch: &'a Scratch },
    /// Counts, and then places, the entries of a copy.
    Tally(&'a Tally<'a>),
    /// Stores nothing: each innermost loop adds to `most` a bound on the number of values that it would put into the workspace.
    Bound { nest: &'a Nest, scratch: &'a Scratch, most: Sym },
    /// The loops around a workspace: inside of the innermost one, the rest of the nest fills the workspace, then it is drained.
    Around { nest: &'a Nest, output: &'a Output, insertion: Insertion, scratch: &'a Scratch },
}

/// A loop that is being planned.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    /// Its variable.
    pub v: Index,
    /// The variables of the loops inside of it.
    pub rest: &'a [Index],
    /// The destination of values.
    pub destination: &'a Destination<'a>,
}

/// A counted copy in one of the two passes.
pub(super) struct Tally<'a> {
    pub nest: &'a Nest,
    /// Whether entries are placed: not in the first pass, which counts them.
    pub places: bool,
}

/// How a destination uses a value: it folds the value, or stores it.
pub(super) fn effect(cx: &Context, destination: &Destination) -> Effect {
    let nest = match destination {
        Destination::Scalar { fun, begun, .. } => return Effect::Folded { fun: *fun, begins: begun.is_some() },
        Destination::Tally(tally) => tally.nest,
        Destination::Store { nest, .. } | Destination::Around { nest, .. } => nest,
        Destination::Scatter { nest, .. } | Destination::Bound { nest, .. } => nest,
    };
    match (nest.assign().fold(), nest.assign().before()) {
        (Some(fun), _) => Effect::Folded { fun, begins: false },
        (None, Some(_)) => Effect::Replaces,
        (None, None) => Effect::Stored(result::initial(cx, nest)),
    }
}

/// Whether a body leaves the destination unchanged.
pub(super) fn is_nothing(cx: &Context, destination: &Destination, body: &concrete::Expr) -> bool {
    cx.is_nothing(effect(cx, destination), body)
}

impl<'a> Destination<'a> {
    pub fn insertion(&self) -> Option<(&'a Output, &Insertion)> {
        match self {
            Destination::Store { output, insertion, .. } | Destination::Around { output, insertion, .. } => {
                Some((output, insertion))
            }
            _ => None,
        }
    }

    /// The destination of the values of a loop over `v`, as choices of walks describe it.
    pub fn goal(&self, v: Index) -> Goal {
        match self {
            Destination::Scalar { .. } => Goal::Scalar,
            Destination::Store { nest, output, insertion } => {
                let appends = self.appends(v).is_some();
                Goal::Result(Stored {
                    assigned: *nest.assign() == Assign::Once,
                    appends,
                    last: appends && output.appends_last(insertion),
                    chained: output.form.chained(insertion.level),
                    whole: output.has_whole_fibers(insertion),
                    runs: output.form.is_of_runs() && output.next_var(insertion) == Some(v),
                })
            }
            Destination::Scatter { nest, scratch } => {
                let assign = nest.assign();
                Goal::Workspace { in_bulk: !assign.scatters() && scratch.has_set(v, assign.fold().is_some()) }
            }
            Destination::Tally(_) => Goal::Counts,
            Destination::Bound { .. } | Destination::Around { .. } => Goal::Around,
        }
    }

    /// The nest's loops inside of the workspace, if this destination is around a workspace.
    pub fn inside(&self) -> &'a [Index] {
        match self {
            Destination::Around { nest, .. } => nest.filling(),
            _ => &[],
        }
    }

    /// Whether it stores entries: a coordinate without effect must not reach it.
    pub fn keeps_entries(&self) -> bool {
        match self {
            Destination::Scalar { .. } => false,
            Destination::Store { output, .. } => output.form.keeps_entries(),
            Destination::Scatter { .. }
            | Destination::Around { .. }
            | Destination::Bound { .. }
            | Destination::Tally(_) => true,
        }
    }

    /// The output, if a loop over `v` is the innermost of those that determine the coordinate of its next level.
    pub fn enters(&self, v: Index) -> Option<(&'a Output, &Insertion)> {
        self.insertion().filter(|(output, insertion)| output.next_ends_with(insertion, v))
    }

    /// The output, if `v` is the innermost variable of its next level, and that level is appended to.
    pub fn appends(&self, v: Index) -> Option<(&'a Output, &Insertion)> {
        self.enters(v).filter(|(output, insertion)| output.form.is_list(insertion.level))
    }

    /// This destination, at an insertion point further down.
    pub fn at(&self, insertion: Insertion) -> Destination<'a> {
        match self {
            Destination::Store { nest, output, .. } => Destination::Store { nest, output, insertion },
            Destination::Around { nest, output, scratch, .. } => {
                Destination::Around { nest, output, insertion, scratch }
            }
            Destination::Scalar { var, fun, begun } => Destination::Scalar { var: *var, fun: *fun, begun: *begun },
            Destination::Scatter { nest, scratch } => Destination::Scatter { nest, scratch },
            Destination::Bound { nest, scratch, most } => Destination::Bound { nest, scratch, most: *most },
            Destination::Tally(tally) => Destination::Tally(tally),
        }
    }

    /// Whether this is the destination of a scatter to computed coordinates.
    pub fn falls(&self, program: &concrete::Program) -> bool {
        let (Destination::Store { nest, .. } | Destination::Scatter { nest, .. } | Destination::Around { nest, .. }) =
            self
        else {
            return false;
        };
        let computed =
            |place: &concrete::Expr| matches!(place, concrete::Expr::Index(u) if program.computed(*u).is_some());
        nest.places().iter().any(computed)
    }
}
