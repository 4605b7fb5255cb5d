//! The commands of a statement's schedule, their names resolved.
//!
//! An index variable that a command makes is *derived*: it is one of the program's, bound by no expression, and what it was made of
//! stands in the command. Its extent follows (`shape`).

use super::super::{Span, command};
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
pub type CommandKind = command::Kind<VarId, TensorId, TensorCommand>;

/// Commands that make or copy tensors.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorCommand {
    /// `stage(expr, W[…])`, and `precompute(expr, i -> iw, W)`: `store` has given `W` its format.
    Stage(Stage),
    /// `copy(tensor, format)`
    Copy(TensorId, Format),
}

impl Program {
    /// All commands of its statements.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.statements.iter().flat_map(|s| &s.commands)
    }

    /// Whether a command makes this tensor.
    pub fn is_staged(&self, tensor: TensorId) -> bool {
        self.commands().any(|command| matches!(&command.kind, CommandKind::Tensor(TensorCommand::Stage(stage)) if stage.tensor == tensor))
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
