//! Schedules.

use super::expr::{Access, DEEPEST, Expr, Tensor, Var};
use super::name::ident;
use super::{Format, names};
use fiberloom_core::notation::Span;
use fiberloom_core::notation::syntax::{self, CommandKind, Parts, Protocol, Race, TensorCommand, Unit};

/// A list of commands, in order.
///
/// ```
/// use fiberloom::builder::*;
///
/// let (i, outer, inner) = (var("i"), var("i0"), var("i1"));
/// let schedule = Schedule::new().split(i, [outer, inner], 32).parallelize(outer, Unit::CpuThread, Race::NoRaces);
/// assert_eq!(schedule.to_string(), "schedule { split(i -> i0, i1, 32); parallelize(i0, cpu_thread, no_races); }");
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    pub(super) tree: syntax::Schedule,
    pub(super) too_deep: bool,
}

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule::new()
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.tree.fmt(f)
    }
}

impl Schedule {
    /// An empty schedule.
    pub fn new() -> Schedule {
        Schedule { tree: syntax::Schedule { commands: Vec::new(), span: Span::default() }, too_deep: false }
    }

    fn with(mut self, kind: CommandKind) -> Schedule {
        self.tree.commands.push(syntax::Command { kind, span: Span::default() });
        self
    }

    /// `none`: turns the planner off.
    pub fn none(self) -> Schedule {
        self.with(CommandKind::None)
    }

    /// `pos(from -> to, tensor)`
    pub fn pos(self, from: Var, to: Var, tensor: Tensor) -> Schedule {
        self.with(CommandKind::Pos { from: ident(from.0), to: ident(to.0), tensor: ident(tensor.0) })
    }

    /// `coord(from -> to)`
    pub fn coord(self, from: Var, to: Var) -> Schedule {
        self.with(CommandKind::Coord { from: ident(from.0), to: ident(to.0) })
    }

    /// `collapse(outer, inner -> to)`
    pub fn collapse(self, [outer, inner]: [Var; 2], to: Var) -> Schedule {
        self.with(CommandKind::Collapse { from: (ident(outer.0), ident(inner.0)), to: ident(to.0) })
    }

    /// `split(from -> outer, inner, factor)`
    pub fn split(self, from: Var, [outer, inner]: [Var; 2], factor: u64) -> Schedule {
        let to = (ident(outer.0), ident(inner.0));
        self.with(CommandKind::Split { from: ident(from.0), to, parts: Parts::Of(factor) })
    }

    /// `split_up(from -> outer, inner, factor)`
    pub fn split_up(self, from: Var, [outer, inner]: [Var; 2], factor: u64) -> Schedule {
        let to = (ident(outer.0), ident(inner.0));
        self.with(CommandKind::Split { from: ident(from.0), to, parts: Parts::Into(factor) })
    }

    /// `reorder(vars…)`
    pub fn reorder<const N: usize>(self, vars: [Var; N]) -> Schedule {
        self.with(CommandKind::Reorder(names(&vars)))
    }

    /// `precompute(expr, from -> to, workspace)`
    pub fn precompute<const N: usize>(
        mut self,
        expr: impl Into<Expr>,
        from: [Var; N],
        to: [Var; N],
        workspace: Tensor,
    ) -> Schedule {
        let expr = expr.into();
        self.too_deep |= expr.depth > DEEPEST;
        let (from, to) = (names(&from), names(&to));
        self.with(CommandKind::Tensor(TensorCommand::Precompute {
            expr: expr.tree,
            from,
            to,
            workspace: ident(workspace.0),
        }))
    }

    /// `stage(expr, into)`: a sum becomes a temporary, with a mode for each variable that is free in it.
    ///
    /// ```
    /// use fiberloom::builder::*;
    ///
    /// let (b, x, t, j, k) = (tensor("B"), tensor("x"), tensor("t"), var("j"), var("k"));
    /// let schedule = Schedule::new().stage(sum([k], b.at([j, k]) * x.at([k])), t.at([j])).store(t, "sparse");
    /// assert_eq!(schedule.to_string(), "schedule { stage(sum(k: B[j,k] * x[k]), t[j]); store(t, sparse); }");
    /// ```
    pub fn stage(mut self, expr: impl Into<Expr>, into: Access) -> Schedule {
        let expr = expr.into();
        self.too_deep |= expr.depth > DEEPEST;
        self.with(CommandKind::Tensor(TensorCommand::Stage { expr: expr.tree, into: into.0 }))
    }

    /// `store(temporary, format)`: what a temporary of this schedule is stored in.
    pub fn store(self, temporary: Tensor, format: impl Into<Format>) -> Schedule {
        self.with(CommandKind::Tensor(TensorCommand::Store(ident(temporary.0), format.into().0)))
    }

    /// `copy(tensor, format)`: the statement reads a copy of the tensor in that format.
    pub fn copy(self, tensor: Tensor, format: impl Into<Format>) -> Schedule {
        self.with(CommandKind::Tensor(TensorCommand::Copy(ident(tensor.0), format.into().0)))
    }

    /// `weigh(var, tensors…)`: pieces of the loop are cut so that they hold equal numbers of the tensors' entries.
    ///
    /// ```
    /// use fiberloom::builder::*;
    ///
    /// let (i, outer, inner) = (var("i"), var("i0"), var("i1"));
    /// let schedule = Schedule::new().weigh(i, [tensor("A"), tensor("B")]).split(i, [outer, inner], 64);
    /// assert_eq!(schedule.to_string(), "schedule { weigh(i, A, B); split(i -> i0, i1, 64); }");
    /// ```
    pub fn weigh<const N: usize>(self, var: Var, tensors: [Tensor; N]) -> Schedule {
        self.with(CommandKind::Weigh { var: ident(var.0), tensors: tensors.map(|t| ident(t.0)).to_vec() })
    }

    /// `bound(var, n)`
    pub fn bound(self, var: Var, n: u64) -> Schedule {
        self.with(CommandKind::Bound(ident(var.0), n))
    }

    /// `unroll(var, n)`
    pub fn unroll(self, var: Var, n: u64) -> Schedule {
        self.with(CommandKind::Unroll(ident(var.0), n))
    }

    /// `parallelize(var, unit, race)`
    pub fn parallelize(self, var: Var, unit: Unit, race: Race) -> Schedule {
        self.with(CommandKind::Parallelize(ident(var.0), unit, race))
    }

    /// `protocol(access, protocol)`
    pub fn protocol(self, access: Access, protocol: Protocol) -> Schedule {
        self.with(CommandKind::Tensor(TensorCommand::Protocol(access.0, protocol)))
    }
}
