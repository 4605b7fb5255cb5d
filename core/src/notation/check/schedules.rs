//! Schedules: the names in them. What each command does, and when it may, its own file in `schedule` says.

use super::Check;
use crate::notation::Diagnostic;
use crate::notation::syntax::{Affine, CommandKind, Factor, Ident, Index, Schedule};

impl Check {
    /// Resolves names against the statement's index variables and those that earlier commands derive.
    pub(super) fn schedule(&mut self, schedule: &Schedule, vars: &[String]) {
        let mut known: Vec<String> = vars.to_vec();
        for command in &schedule.commands {
            let (uses, makes) = names(&command.kind);
            for (n, name) in uses.iter().enumerate() {
                self.known_var(name, &known);
                if uses[..n].iter().any(|other| other.name == name.name) {
                    self.say(name.span, format!("index variable `{name}` stands twice in one command"));
                }
            }
            if let CommandKind::Split { factor: 0, .. } | CommandKind::Unroll(_, 0) = command.kind {
                let d = Diagnostic::new(command.span, "a loop in parts of no turns");
                self.error(d.help("a number from 1 says how many turns a part has"));
            }
            for name in makes {
                if known.contains(&name.name) {
                    let message = format!("index variable `{}` exists already: shadowing is an error", name.name);
                    self.error(
                        Diagnostic::new(name.span, message).help("choose a new name for what the command makes"),
                    );
                }
                known.push(name.name.clone());
            }
            match &command.kind {
                CommandKind::Pos { tensor, .. } => self.known_tensor(tensor),
                CommandKind::Protocol(access, _) => {
                    self.known_tensor(&access.tensor);
                    for index in &access.indices {
                        if let Index::Affine { map, .. } = index {
                            self.known_vars(map, &known);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn known_vars(&mut self, map: &Affine, known: &[String]) {
        for (_, term) in &map.terms {
            match &term.factor {
                Factor::Var(name) => self.known_var(name, known),
                Factor::Group(inner) => self.known_vars(inner, known),
                Factor::Int(_) => {}
            }
        }
    }

    fn known_var(&mut self, name: &Ident, known: &[String]) {
        if !known.contains(&name.name) {
            self.unknown("index variable", name, known.iter().map(String::as_str));
        }
    }

    fn known_tensor(&mut self, name: &Ident) {
        if !self.tensors.contains_key(&name.name) {
            let known: Vec<String> = self.tensors.keys().cloned().collect();
            self.unknown("tensor", name, known.iter().map(String::as_str));
        }
    }
}

/// The index variables that a command uses, and those that it makes.
fn names(command: &CommandKind) -> (Vec<&Ident>, Vec<&Ident>) {
    match command {
        CommandKind::None | CommandKind::Protocol(..) => (vec![], vec![]),
        CommandKind::Pos { from, to, .. } | CommandKind::Coord { from, to } => (vec![from], vec![to]),
        CommandKind::Collapse { from, to } => (vec![&from.0, &from.1], vec![to]),
        CommandKind::Split { from, to, .. } => (vec![from], vec![&to.0, &to.1]),
        CommandKind::Reorder(vars) => (vars.iter().collect(), vec![]),
        CommandKind::Precompute { from, to, .. } => (from.iter().collect(), to.iter().collect()),
        CommandKind::Bound(var, _) | CommandKind::Unroll(var, _) | CommandKind::Parallelize(var, ..) => {
            (vec![var], vec![])
        }
    }
}
