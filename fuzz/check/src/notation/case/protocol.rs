//! Protocols of a statement's schedule.
//!
//! ```text
//!  R0[i] = A0[i] * A1[i] schedule { protocol(A1[i], gallop); }
//! ```
//!
//! One that is not legal any more, because formats or the right side have been made simpler, is not written.

use super::make::Maker;
use super::{At, Case, Expr, Statement, name};
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::syntax::Protocol;

/// How a tensor is iterated along a variable.
#[derive(Clone, Copy, Debug)]
pub struct Iterated {
    /// The tensor.
    pub tensor: usize,
    /// A variable under which it is read.
    pub var: usize,
    /// How its level is iterated.
    pub protocol: Protocol,
}

impl Case {
    /// The schedule of a statement, with a blank before it; nothing where it has none.
    pub(super) fn schedule(&self, s: &Statement) -> String {
        let command = |i: &Iterated| {
            let tensor = &self.tensors[i.tensor].name;
            format!("protocol({tensor}[{}], {});", name(i.var), i.protocol)
        };
        let protocols = s.protocols.iter().filter(|i| self.is_legal(s, i)).map(command);
        let commands: Vec<String> = protocols.chain(self.commands(s)).collect();
        if commands.is_empty() { String::new() } else { format!(" schedule {{ {} }}", commands.join(" ")) }
    }

    /// Whether the statement reads the tensor so, and gallops over lists only.
    pub fn is_legal(&self, s: &Statement, Iterated { tensor, var, protocol }: &Iterated) -> bool {
        let levels = self.read_under(s, *tensor, *var);
        let gallops = |level: &Option<LevelKind>| level.is_none_or(|kind| kind.is_list());
        !levels.is_empty() && (*protocol != Protocol::Gallop || levels.iter().all(gallops))
    }

    /// The levels of a tensor that a statement reads under a variable, as far as its format is declared.
    fn read_under(&self, s: &Statement, tensor: usize, var: usize) -> Vec<Option<LevelKind>> {
        let mut levels = vec![];
        let format = self.tensors[tensor].format.as_ref();
        s.rhs.walk(&mut |e| {
            if let Expr::Access(t, at) = e
                && *t == tensor
            {
                let along = |at: &At| at.vars().any(|v| v == var);
                let modes = at.iter().enumerate().filter(|(_, at)| along(at)).map(|(m, _)| m);
                levels.extend(modes.map(|m| {
                    let format = format?;
                    Some(format.levels[format.order.iter().position(|mode| *mode == m)?])
                }));
            }
        });
        levels
    }
}

impl Maker<'_, '_> {
    /// Now and then how one or two operands of a statement are iterated.
    pub(super) fn protocols(&mut self, rhs: &Expr) -> Vec<Iterated> {
        let mut read = vec![];
        rhs.walk(&mut |e| {
            if let Expr::Access(tensor, at) = e {
                read.extend(at.iter().filter_map(At::var).map(|var| (*tensor, var)));
            }
        });
        let count = self.one(&[0, 0, 0, 0, 0, 1, 2]).min(read.len());
        let one = |m: &mut Self| {
            let (tensor, var) = m.one(&read);
            Iterated {
                tensor,
                var,
                protocol: m.one(&[Protocol::Gallop, Protocol::Locate, Protocol::Gallop, Protocol::Walk]),
            }
        };
        (0..count).map(|_| one(self)).collect()
    }
}
