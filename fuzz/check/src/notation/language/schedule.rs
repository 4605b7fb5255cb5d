//! Schedules: every command, over variables that there are.

use super::{Known, Maker, NOWHERE, named};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::{self, LevelKind};
use fiberloom_core::notation::syntax::*;

impl Maker<'_, '_> {
    pub(super) fn schedule(&mut self, vars: &[String]) -> Schedule {
        let mut vars = vars.to_vec();
        let mut kind = |m: &mut Self| match (m.lowered, m.lowered && m.chance(3)) {
            (_, true) => m.copy(),
            (true, _) => m.protocol(),
            (false, _) => m.command(&mut vars),
        };
        let mut kinds: Vec<CommandKind> = (0..self.below(4)).map(|_| kind(self)).collect();
        only_legal_copies(&mut kinds);
        let commands = kinds.into_iter().map(|kind| Command { kind, span: NOWHERE }).collect();
        Schedule { commands, span: NOWHERE }
    }

    /// A variable that a command makes.
    fn derived(&mut self, vars: &mut Vec<String>) -> Ident {
        let made = format!("d{}", vars.len());
        vars.push(made.clone());
        self.ident(&made)
    }

    fn command(&mut self, vars: &mut Vec<String>) -> CommandKind {
        use fiberloom_core::notation::command::Kind::*;
        let tensors: Vec<String> = self.declared.iter().map(|t| t.name.name.clone()).collect();
        if vars.is_empty() || tensors.is_empty() {
            return None;
        }
        let (from, tensor, n) = (self.one(vars), self.one(&tensors), 1 + self.below(8) as u64);
        // A command names a variable once.
        let others: Vec<String> = vars.iter().filter(|v| **v != from).cloned().collect();
        let second = (!others.is_empty()).then(|| self.one(&others)).map(|v| self.ident(&v));
        let (from, tensor, n) = (self.ident(&from), self.ident(&tensor), self.int(n));
        match self.below(11) {
            0 => None,
            1 => Pos { from, to: self.derived(vars), tensor },
            2 => Coord { from, to: self.derived(vars) },
            3 => match second {
                Some(second) => Collapse { from: (from, second), to: self.derived(vars) },
                Option::None => None,
            },
            4 => {
                let to = (self.derived(vars), self.derived(vars));
                Split { from, to, parts: if self.below(2) == 1 { Parts::Into(n) } else { Parts::Of(n) } }
            }
            5 => Reorder(vars.clone().iter().map(|v| self.ident(v)).collect()),
            6 => {
                let second = second.filter(|_| self.below(2) == 1);
                let from: Vec<Ident> = [from].into_iter().chain(second).collect();
                let to = from.iter().map(|_| self.derived(vars)).collect();
                let tensors = (self.tensors.clone(), self.declared.clone());
                let expr = self.expr(Type::F64, 2);
                // What is made for it is part of no statement.
                (self.tensors, self.declared) = tensors;
                Tensor(TensorCommand::Precompute { expr, from, to, workspace: named("W") })
            }
            7 => Bound(from, n),
            8 => Unroll(from, n),
            9 => {
                use {Race::*, Unit::*};
                let unit = self.one(&[CpuThread, CpuVector, GpuBlock, GpuWarp, GpuThread]);
                Parallelize(from, unit, self.one(&[NoRaces, Atomics, Temporary, ParallelReduction]))
            }
            _ => self.protocol(),
        }
    }

    /// A copy of an operand that the statement reads, for values or to say where.
    fn copy(&mut self) -> CommandKind {
        let known =
            |t: &&Known| t.operand && !t.extents.is_empty() && self.read.iter().any(|(name, ..)| *name == t.name);
        let computed = |t: &&Known| self.computes.iter().any(|f| f.name.name == t.name);
        let read = self.tensors.iter().filter(known).filter(|t| !computed(t));
        let read: Vec<(String, usize)> = read.map(|t| (t.name.clone(), t.extents.len())).collect();
        if read.is_empty() {
            return CommandKind::None;
        }
        let (name, rank) = self.one(&read);
        let kinds = [LevelKind::Dense, LevelKind::Compressed, LevelKind::Hashed, LevelKind::Bytemap, LevelKind::Bitmap];
        let levels: Vec<LevelKind> = (0..rank).map(|_| self.one(&kinds)).collect();
        let levels = levels.into_iter().map(|kind| self.ident(kind.name())).collect();
        let order = self.order(rank).into_iter().map(|m| self.int(m as u64)).collect();
        CommandKind::Tensor(TensorCommand::Copy(
            self.ident(&name),
            Format::Levels { levels, order: Some(order), span: NOWHERE },
        ))
    }

    /// How something that the statement reads is iterated. Not all of it can gallop: of what is lowered only that does which can.
    fn protocol(&mut self) -> CommandKind {
        use super::Protocol::*;
        if self.read.is_empty() {
            return CommandKind::None;
        }
        let read = self.read.clone();
        let (tensor, var, _) = self.one(&read);
        let mut along = read.iter().filter(|(t, v, _)| *t == tensor && *v == var);
        let gallops = along.all(|(_, _, mode)| self.is_list(&tensor, *mode));
        let all: &[_] = if self.lowered && !gallops { &[Locate, Walk] } else { &[Locate, Gallop, Walk] };
        let protocol = self.one(all);
        let access = Access { tensor: self.ident(&tensor), indices: vec![self.bare(&var)], span: NOWHERE };
        CommandKind::Tensor(TensorCommand::Protocol(access, protocol))
    }

    /// Whether a mode of a tensor is stored in a list, as far as its format is declared.
    fn is_list(&self, tensor: &str, mode: usize) -> bool {
        let Some(declared) = self.declared.iter().find(|t| t.name.name == tensor) else { return true };
        let format = match &declared.format {
            None => return true,
            Some(format) => format::Format::read(&format.to_string(), declared.sizes.len()).ok(),
        };
        let level = |f: &format::Format| f.order.iter().position(|m| *m == mode);
        format.is_some_and(|f| level(&f).is_some_and(|l| f.levels[l].is_list()))
    }
}

/// Leaves out copies of what gallops or is copied already: how a copy is iterated, its own format says.
fn only_legal_copies(kinds: &mut Vec<CommandKind>) {
    let galloping = |kind: &CommandKind| match kind {
        CommandKind::Tensor(TensorCommand::Protocol(access, Protocol::Gallop)) => Some(access.tensor.name.clone()),
        _ => None,
    };
    let mut taken: Vec<String> = kinds.iter().filter_map(galloping).collect();
    kinds.retain(|kind| match kind {
        CommandKind::Tensor(TensorCommand::Copy(tensor, _)) if taken.contains(&tensor.name) => false,
        CommandKind::Tensor(TensorCommand::Copy(tensor, _)) => {
            taken.push(tensor.name.clone());
            true
        }
        _ => true,
    });
}
