//! Schedules: the names in them. What each command does, and when it may, its own file in `schedule` says; those that make or copy
//! tensors are checked in `temporaries.rs`.

use super::Check;
use super::temporaries::Made;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::command::{Kind, Parts};
use fiberloom_core::notation::syntax::{self, Affine, Factor, Ident, Index, Schedule};
use fiberloom_core::notation::typed::{Command, CommandKind, Statement, TensorCommand, TensorId, VarId};
use std::ops::Range;

/// The index variables that commands may name, with what earlier ones derive.
type Known = Vec<(String, VarId)>;

/// The commands of a statement's schedule. Their names are resolved against the statement's index variables, `own`, and those that
/// earlier commands derive.
pub(super) fn commands(schedule: &Schedule, of: &Statement, own: Range<usize>, c: &mut Check) -> Vec<Command> {
    let named = |v: usize| (c.out.vars[v].name.clone(), VarId(v as u32));
    let mut known: Known = own.clone().map(named).collect();
    let mut commands = Commands { c, own, made: Made::of(of) };
    let all = schedule.commands.iter().filter_map(|command| commands.command(command, &mut known)).collect();
    commands.end();
    all
}

/// What the commands of one schedule are checked with.
pub(super) struct Commands<'c> {
    pub c: &'c mut Check,
    /// The statement's index variables.
    pub own: Range<usize>,
    /// What they have made so far.
    pub made: Made,
}

impl Commands<'_> {
    fn command(&mut self, command: &syntax::Command, known: &mut Known) -> Option<Command> {
        let (uses, makes) = names(&command.kind);
        for (n, name) in uses.iter().enumerate() {
            self.known_var(name, known);
            if uses[..n].iter().any(|other| other.name == name.name) {
                self.c.say(name.span, format!("index variable `{name}` stands twice in one command"));
            }
        }
        if let Kind::Split { parts: Parts::Of(0) | Parts::Into(0), .. } | Kind::Unroll(_, 0) = command.kind {
            let d = Diagnostic::new(command.span, "a loop in parts of no turns");
            self.c.error(d.help("a number from 1 says how many turns a part has"));
        }
        for name in makes {
            if known.iter().any(|(other, _)| *other == name.name) {
                let message = format!("index variable `{}` exists already: shadowing is an error", name.name);
                self.c.error(Diagnostic::new(name.span, message).help("choose a new name for what the command makes"));
            }
            let derived = self.c.fresh_var(name);
            known.push((name.name.clone(), derived));
        }
        let kind = self.resolved(&command.kind, known)?;
        Some(Command { kind, span: command.span })
    }

    /// A command, with what it names; `None` of one that is only looked at.
    fn resolved(&mut self, command: &syntax::CommandKind, known: &Known) -> Option<CommandKind> {
        let mut var = |name: &Ident| known.iter().find(|(other, _)| *other == name.name).map(|(_, v)| *v);
        match command {
            Kind::Tensor(command) => self.on_tensors(command, known).map(Kind::Tensor),
            command => command.resolved(&mut var, &mut |tensor| self.known_tensor(tensor), |_| None),
        }
    }

    fn on_tensors(&mut self, command: &syntax::TensorCommand, known: &Known) -> Option<TensorCommand> {
        use syntax::TensorCommand as Written;
        match command {
            Written::Stage { expr, into } => self.stage(expr, into),
            Written::Precompute { expr, from, to, workspace } => {
                let var = |name: &Ident| known.iter().find(|(other, _)| *other == name.name).map(|(_, v)| *v);
                let loops = to.iter().map(var).collect::<Option<_>>()?;
                self.precompute((expr, from, loops), workspace)
            }
            Written::Copy(tensor, format) => self.copy(tensor, format),
            Written::Store(tensor, format) => {
                self.store(tensor, format);
                None
            }
            Written::Protocol(access, _) => {
                self.known_tensor(&access.tensor);
                for index in &access.indices {
                    if let Index::Affine { map, .. } = index {
                        self.known_vars(map, known);
                    }
                }
                None
            }
        }
    }

    fn known_vars(&mut self, map: &Affine, known: &Known) {
        for (_, term) in &map.terms {
            match &term.factor {
                Factor::Var(name) => self.known_var(name, known),
                Factor::Group(inner) => self.known_vars(inner, known),
                Factor::Int(_) => {}
            }
        }
    }

    fn known_var(&mut self, name: &Ident, known: &Known) {
        if !known.iter().any(|(other, _)| *other == name.name) {
            self.c.unknown("index variable", name, known.iter().map(|(name, _)| name.as_str()));
        }
    }

    pub(super) fn known_tensor(&mut self, name: &Ident) -> Option<TensorId> {
        let found = self.c.tensors.get(&name.name).copied();
        if found.is_none() {
            let known: Vec<String> = self.c.tensors.keys().cloned().collect();
            self.c.unknown("tensor", name, known.iter().map(String::as_str));
        }
        found
    }
}

/// The index variables that a command uses, and those that it makes.
fn names(command: &syntax::CommandKind) -> (Vec<&Ident>, Vec<&Ident>) {
    match command {
        Kind::Tensor(syntax::TensorCommand::Precompute { from, to, .. }) => {
            (from.iter().collect(), to.iter().collect())
        }
        command => command.vars(),
    }
}
