//! `pos(i -> p, T)`: a loop counts the entries of a tensor. `coord(p -> i)`: it counts coordinates again.
//!
//! ```text
//!  pos(j -> q, A); split(q -> q0, q1, 8)       pieces of eight entries of a row of A
//! ```
//!
//! Legal where the tensor is read under the loop's variable alone, at a level that has a position for each entry. Collapsed loops have to
//! be in the order of its levels. At the start of a piece every other operand is searched.

use super::loops::{Apply, Cut, Legal, Loops};
use fiberloom_core::algebra::Op;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::concrete::Counted;
use fiberloom_core::notation::typed::{Command, CommandKind, Expr, Fun, Kind, Program, Statement, TensorId, VarId};

impl Apply<'_> {
    pub(super) fn pos(&mut self, from: VarId, to: VarId, tensor: TensorId) -> Legal {
        let place = self.is_loop(from)?;
        let name = self.program.tensors[tensor.index()].name.clone();
        if self.loops.cut(from).is_some() {
            let message = format!("`{}` counts entries already", self.name(from));
            return self.refuse(message, "`coord` makes it a coordinate again");
        }
        let coordinates = self.loops.coordinates(from);
        let originals: Vec<VarId> = coordinates.iter().map(|v| self.loops.root(*v)).collect();
        let levels = self.levels(tensor, &originals)?;
        let format = self.program.tensors[tensor.index()].format.as_ref();
        let last = *levels.last().expect("some are collapsed");
        if let Some(kind) = format.map(|format| format.levels[last]).filter(|kind| !kind.is_list()) {
            let variable = self.name(*originals.last().expect("some are collapsed"));
            let message =
                format!("the level of `{name}` over `{variable}` is `{}`: it stores no positions", kind.name());
            let help = format!("`weigh({variable}, …)` cuts a loop by what is stored below its coordinates");
            return self.refuse(message, help);
        }
        let tensors = vec![tensor];
        self.loops.cuts.push(Cut { whole: to, loops: coordinates, counted: Counted::Entries, tensors });
        let group = self.loops.group_of(from);
        self.loops.groups.push((to, group));
        self.loops.named.push((to, from));
        self.loops.order[place] = to;
        Ok(())
    }

    /// The consecutive levels of a tensor that is read under these variables.
    pub(super) fn levels(&self, tensor: TensorId, vars: &[VarId]) -> Result<Vec<usize>, Diagnostic> {
        let declared = &self.program.tensors[tensor.index()];
        let order: Vec<usize> = match &declared.format {
            Some(format) => format.order.to_vec(),
            None => (0..declared.sizes.len()).collect(),
        };
        let mut read = vec![];
        self.statement.accesses(&mut |t, indices, written| {
            if t == tensor && !written {
                let level = |v: &VarId| order.iter().position(|m| indices[*m].bare() == Some(*v));
                read.push(vars.iter().map(level).collect::<Vec<_>>());
            }
        });
        let name = &declared.name;
        if read.is_empty() {
            return self.refuse(format!("`{name}` is not read here"), "name a tensor of the right side");
        }
        let under = |levels: &Vec<Option<usize>>| levels.iter().copied().collect::<Option<Vec<usize>>>();
        let Some(levels) = read.iter().find_map(under) else {
            let message = format!("`{name}` is not read under {}", self.names(vars));
            return self.refuse(message, "name a tensor whose index is that variable alone");
        };
        if levels.windows(2).any(|pair| pair[0] >= pair[1]) {
            let message = format!("`{name}` does not store {} in this order", self.names(vars));
            return self.refuse(message, "collapse loops in the order of the tensor's levels");
        }
        Ok(levels)
    }

    pub(super) fn coord(&mut self, from: VarId, to: VarId) -> Legal {
        let place = self.is_loop(from)?;
        let Some(Cut { whole, .. }) = self.loops.cut(from).cloned() else {
            let message = format!("`{}` is a coordinate already", self.name(from));
            return self.refuse(message, "`coord` is for what `pos` has made");
        };
        let innermost = self.loops.innermost(whole);
        if innermost != from {
            let message = format!("`{}` counts pieces, of which each has several coordinates", self.name(from));
            return self.refuse(message, format!("name the innermost part, `{}`", self.name(innermost)));
        }
        self.loops.named.push((to, from));
        let group = self.loops.group_of(from);
        self.loops.groups.push((to, group));
        if whole == from {
            self.loops.cuts.retain(|cut| cut.whole != from);
        }
        self.loops.order[place] = to;
        Ok(())
    }
}

impl Loops {
    /// Checks that the pieces of a cut by entries are in their order, or that the entries' list leads alone.
    pub(super) fn pieces_ascend(&self, program: &Program, statement: &Statement) -> Legal {
        for cut in self.cuts.iter().filter(|cut| cut.counted == Counted::Entries && self.split(cut.whole).is_some()) {
            let places: Vec<Option<usize>> = self.parts(cut.whole).iter().map(|(v, _)| self.place(*v)).collect();
            let tensor = cut.tensors[0];
            if places.is_sorted() || leads(&statement.rhs, tensor) {
                continue;
            }
            let name = |v: VarId| &program.vars[v.index()].name;
            let made = |command: &&Command| matches!(&command.kind, CommandKind::Pos { to, .. } if *to == cut.whole);
            let span = statement.commands.iter().find(made).map_or(statement.span, |command| command.span);
            let message = format!(
                "parts of `{}` stand out of their order, and `{}` does not lead its loop alone: it is no factor of a product",
                name(cut.whole),
                program.tensors[tensor.index()].name
            );
            let parts: Vec<String> = self.parts(cut.whole).iter().map(|(v, _)| format!("`{}`", name(*v))).collect();
            return Err(Diagnostic::new(span, message).help(format!("reorder them as {}", parts.join(", "))));
        }
        Ok(())
    }
}

/// Whether an expression is a product with the tensor as a factor, or a fold of one.
fn leads(e: &Expr, tensor: TensorId) -> bool {
    match &e.kind {
        Kind::Access(t, _) => *t == tensor,
        Kind::Call(Fun::Op(Op::Mul), factors) => factors.iter().any(|e| leads(e, tensor)),
        Kind::Call(Fun::Op(Op::Neg), of) => leads(&of[0], tensor),
        Kind::Reduce { body, start: None, .. } => leads(body, tensor),
        _ => false,
    }
}
