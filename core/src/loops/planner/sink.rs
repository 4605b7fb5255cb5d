//! The destinations of a nest's values.

use super::{Context, output::Output, output::Slot, workspace::Scratch};
use crate::algebra::Type;
use crate::loops::choose::{
    Effect,
    symbol::Sym,
    walk::{Goal, Stored},
};
use crate::notation::concrete::{self, Index, Nest};
use crate::notation::typed::Fun;

/// The destination of a nest's values.
pub(super) enum Sink<'a> {
    /// Folds into a scalar: `t = f(t, value)`. With the flag `begun`, the first value is assigned instead of folded.
    Scalar { var: (Sym, Type), fun: Fun, begun: Option<Sym> },
    /// Stores into the result's levels, at the slot that the loops have reached.
    Store { nest: &'a Nest, output: &'a Output, slot: Slot },
    /// Puts values into a workspace.
    Scatter { nest: &'a Nest, scratch: &'a Scratch },
    /// Counts, and then places, the entries of a copy.
    Tally(&'a Tally<'a>),
    /// Stores nothing: each innermost loop adds to `most` a bound on the number of values that it would put into the workspace.
    Bound { nest: &'a Nest, scratch: &'a Scratch, most: Sym },
    /// The loops around a workspace: inside of the innermost one, the rest of the nest fills the workspace, then it is drained.
    Around { nest: &'a Nest, output: &'a Output, slot: Slot, scratch: &'a Scratch },
}

/// A loop that is being planned.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    /// Its variable.
    pub v: Index,
    /// The variables of the loops inside of it.
    pub rest: &'a [Index],
    /// The destination of values.
    pub sink: &'a Sink<'a>,
}

/// A counted copy in one of the two passes.
pub(super) struct Tally<'a> {
    pub nest: &'a Nest,
    /// Whether entries are placed: not in the first pass, which counts them.
    pub places: bool,
}

/// How a destination uses a value: it folds the value, or stores it.
pub(super) fn effect(cx: &Context, sink: &Sink) -> Effect {
    let stored = |nest: &Nest, initial| match (nest.fold, nest.before) {
        (Some(fun), _) => Effect::Folded { fun, begins: false },
        (None, Some(_)) => Effect::Replaces,
        (None, None) => Effect::Stored(initial),
    };
    match sink {
        Sink::Scalar { fun, begun, .. } => Effect::Folded { fun: *fun, begins: begun.is_some() },
        Sink::Scatter { nest, scratch } | Sink::Bound { nest, scratch, .. } => stored(nest, scratch.initial),
        Sink::Tally(tally) => Effect::Stored(cx.program.tensors[tally.nest.target.tensor.0].fill),
        Sink::Store { nest, output, .. } | Sink::Around { nest, output, .. } => stored(nest, output.initial),
    }
}

/// Whether a body leaves the destination unchanged.
pub(super) fn is_nothing(cx: &Context, sink: &Sink, body: &concrete::Expr) -> bool {
    cx.is_nothing(effect(cx, sink), body)
}

impl<'a> Sink<'a> {
    pub fn slot(&self) -> Option<(&'a Output, &Slot)> {
        match self {
            Sink::Store { output, slot, .. } | Sink::Around { output, slot, .. } => Some((output, slot)),
            _ => None,
        }
    }

    /// The destination of the values of a loop over `v`, as choices of walks describe it.
    pub fn goal(&self, v: Index) -> Goal {
        match self {
            Sink::Scalar { .. } => Goal::Scalar,
            Sink::Store { nest, output, slot } => {
                let appends = self.appends(v).is_some();
                Goal::Result(Stored {
                    assigned: nest.places.is_none() && nest.fold.is_none(),
                    appends,
                    last: appends && output.appends_last(slot),
                    chained: output.form.chained(slot.level),
                    whole: output.has_whole_fibers(slot),
                    runs: output.is_of_runs() && output.next_var(slot) == Some(v),
                })
            }
            Sink::Scatter { nest, scratch } => {
                Goal::Workspace { in_bulk: nest.places.is_none() && scratch.has_set(v, nest.fold.is_some()) }
            }
            Sink::Tally(_) => Goal::Counts,
            Sink::Bound { .. } | Sink::Around { .. } => Goal::Around,
        }
    }

    /// The nest's loops inside of the workspace, if this destination is around a workspace.
    pub fn inside(&self) -> &'a [Index] {
        match self {
            Sink::Around { nest, .. } => nest.filling(),
            _ => &[],
        }
    }

    /// Whether the result has a level over `v` itself, so that coordinates that the loop does not reach are not stored.
    pub fn has_level(&self, v: Index) -> bool {
        self.slot().is_some_and(|(output, _)| output.form.vars.contains(&v))
    }

    /// Whether it stores entries: a coordinate without effect must not reach it.
    pub fn keeps_entries(&self) -> bool {
        match self {
            Sink::Scalar { .. } => false,
            Sink::Store { output, .. } => output.form.keeps_entries(),
            Sink::Scatter { .. } | Sink::Around { .. } | Sink::Bound { .. } | Sink::Tally(_) => true,
        }
    }

    /// The output, if a loop over `v` is the innermost of those that determine the coordinate of its next level.
    pub fn enters(&self, v: Index) -> Option<(&'a Output, &Slot)> {
        self.slot().filter(|(output, slot)| output.next_ends_with(slot, v))
    }

    /// The output, if `v` is the innermost variable of its next level, and that level is appended to.
    pub fn appends(&self, v: Index) -> Option<(&'a Output, &Slot)> {
        self.enters(v).filter(|(output, slot)| output.form.is_list(slot.level))
    }

    /// Records that a loop does not visit all of its coordinates.
    pub fn passes(&self) {
        if let Some((output, _)) = self.slot() {
            output.notes.passes();
        }
    }

    /// Records that some coordinate of `v` is skipped.
    pub fn skip(&self, v: Index) {
        self.passes();
        let moves = |output: &Output, slot: &Slot| output.next_follows(slot, v) || output.is_moved_by_none(v);
        if let Some((output, slot)) = self.slot().filter(|(output, slot)| moves(output, slot)) {
            output.notes.skipped(slot.level);
        }
    }

    /// This destination, at a slot further down.
    pub fn at(&self, slot: Slot) -> Sink<'a> {
        match self {
            Sink::Store { nest, output, .. } => Sink::Store { nest, output, slot },
            Sink::Around { nest, output, scratch, .. } => Sink::Around { nest, output, slot, scratch },
            Sink::Scalar { var, fun, begun } => Sink::Scalar { var: *var, fun: *fun, begun: *begun },
            Sink::Scatter { nest, scratch } => Sink::Scatter { nest, scratch },
            Sink::Bound { nest, scratch, most } => Sink::Bound { nest, scratch, most: *most },
            Sink::Tally(tally) => Sink::Tally(tally),
        }
    }

    /// Whether this is the destination of a scatter to computed coordinates.
    pub fn falls(&self, program: &concrete::Program) -> bool {
        let (Sink::Store { nest, .. } | Sink::Scatter { nest, .. } | Sink::Around { nest, .. }) = self else {
            return false;
        };
        let computed =
            |place: &concrete::Expr| matches!(place, concrete::Expr::Index(u) if program.computed(*u).is_some());
        nest.places.iter().flatten().any(computed)
    }
}
