//! The commands of a statement's schedule, their names resolved.
//!
//! An index variable that a command makes is *derived*: it is one of the program's, bound by no expression, and what it was made of
//! stands in the command. Its extent follows (`shape`).

use super::super::Span;
use super::super::syntax::{Race, Unit};
use super::{Expr, Program, TensorId, VarId};
use crate::format::Format;
use std::collections::BTreeSet;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// What it does.
    pub kind: CommandKind,
    /// Where.
    pub span: Span,
}

/// What a command does: `docs/schedule.md`. Commands that are about accesses stand in the statement's `schedule`.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandKind {
    /// `none`
    None,
    /// `pos(from -> to, tensor)`
    Pos {
        /// In coordinates.
        from: VarId,
        /// In positions of the tensor's entries.
        to: VarId,
        /// Whose entries are counted.
        tensor: TensorId,
    },
    /// `coord(from -> to)`
    Coord {
        /// In positions.
        from: VarId,
        /// In coordinates.
        to: VarId,
    },
    /// `collapse(outer, inner -> whole)`
    Collapse {
        /// The two loops, which stand in each other.
        from: (VarId, VarId),
        /// Both.
        to: VarId,
    },
    /// `split(whole -> outer, inner, n)`
    Split {
        /// The loop.
        from: VarId,
        /// Its parts, and what runs in each.
        to: (VarId, VarId),
        /// How many.
        parts: Parts,
    },
    /// `weigh(var, tensors…)`
    Weigh {
        /// In coordinates.
        var: VarId,
        /// Whose entries are counted.
        tensors: Vec<TensorId>,
    },
    /// `reorder(vars…)`
    Reorder(Vec<VarId>),
    /// `bound(var, n)`
    Bound(VarId, u64),
    /// `unroll(var, n)`
    Unroll(VarId, u64),
    /// `parallelize(var, unit, race)`
    Parallelize(VarId, Unit, Race),
    /// `stage(expr, W[…])`, and `precompute(expr, i -> iw, W)`: `store` has given `W` its format.
    Stage(Stage),
    /// `copy(tensor, format)`
    Copy(TensorId, Format),
}

/// How a loop is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Into parts of so many turns: `split`.
    Of(u64),
    /// Into so many parts: `split_up`.
    Into(u64),
}

impl Program {
    /// All commands of its statements.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.statements.iter().flat_map(|s| &s.commands)
    }

    /// Whether a command makes this tensor.
    pub fn is_staged(&self, tensor: TensorId) -> bool {
        self.commands().any(|command| matches!(&command.kind, CommandKind::Stage(stage) if stage.tensor == tensor))
    }

    /// The derived index variables whose extents data decide: those that count entries, and what is made of them.
    pub fn counted(&self) -> BTreeSet<VarId> {
        let mut counted = BTreeSet::new();
        for command in self.commands() {
            match &command.kind {
                CommandKind::Pos { to, .. } | CommandKind::Coord { to, .. } => drop(counted.insert(*to)),
                CommandKind::Weigh { var, .. } => drop(counted.insert(*var)),
                CommandKind::Split { from, to: (outer, inner), .. } if counted.contains(from) => {
                    counted.extend([*outer, *inner]);
                }
                CommandKind::Collapse { from: (outer, inner), to }
                    if [outer, inner].iter().any(|v| counted.contains(v)) =>
                {
                    counted.insert(*to);
                }
                _ => {}
            }
        }
        for command in self.commands() {
            if let CommandKind::Weigh { var, .. } = &command.kind {
                counted.remove(var);
            }
        }
        counted
    }
}

/// A temporary that a statement needs before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The temporary.
    pub tensor: TensorId,
    /// Its index variables, of the statement that reads it.
    pub vars: Vec<VarId>,
    /// Those of its own loops that have names, each with the variable that it stands for.
    pub loops: Vec<(VarId, VarId)>,
    /// Its value under them.
    pub expr: Expr,
}
