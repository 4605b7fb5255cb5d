//! The loops of the meaning: those of the left side, in its order, then the loops of each fold.

use super::loops::{Group, Loops};
use fiberloom_core::algebra::{Mode, properties};
use fiberloom_core::notation::typed::{Expr, Fun, Kind, Program, Statement, VarId};

impl Loops {
    /// The loops of a statement without its commands.
    pub(super) fn bare(program: &Program, statement: &Statement, mode: Mode) -> Loops {
        let mut bare = Bare { program, mode, loops: Loops::default(), groups: 0 };
        let group = bare.group(false);
        bare.add(&statement.vars, group);
        let folded = statement.fold.filter(|_| !statement.folded.is_empty());
        let inside = match folded {
            Some(fun) if !bare.unordered(fun, &statement.rhs) => bare.group(true),
            _ => group,
        };
        bare.add(&statement.folded, inside);
        bare.expr(&statement.rhs, (statement.fold.is_none() || folded.is_some()).then_some((inside, folded)));
        bare.loops
    }
}

/// Collects the loops of the meaning.
struct Bare<'a> {
    program: &'a Program,
    mode: Mode,
    loops: Loops,
    groups: usize,
}

impl Bare<'_> {
    fn group(&mut self, ordered: bool) -> Group {
        self.groups += 1;
        Group { number: self.groups - 1, ordered }
    }

    fn add(&mut self, vars: &[VarId], group: Group) {
        for v in vars {
            // Sums of one statement share their variables.
            if !self.loops.order.contains(v) {
                self.loops.order.push(*v);
                self.loops.groups.push((*v, group));
            }
        }
    }

    /// Whether values may be folded in any order.
    fn unordered(&self, fun: Fun, of: &Expr) -> bool {
        match fun {
            Fun::Op(op) => {
                let known = properties(op, of.ty, self.mode);
                known.commutative && known.associative
            }
            Fun::User(f) => {
                let known = self.program.functions[f.index()].unordered().is_some();
                known && (self.mode == Mode::Algebraic || !of.ty.is_float())
            }
        }
    }

    /// Adds the loops of an expression. If the expression is a fold and `at` holds a group and the fold around, its loops join that
    /// group, provided the two folds have the same function and may go in any order.
    fn expr(&mut self, e: &Expr, at: Option<(Group, Option<Fun>)>) {
        match &e.kind {
            Kind::Reduce { fun, vars, body, start } => {
                let unordered = self.unordered(*fun, e);
                let joins = at.filter(|(_, around)| unordered && start.is_none() && around.is_none_or(|f| f == *fun));
                let group = joins.map_or_else(|| self.group(!unordered), |(group, _)| group);
                self.add(vars, group);
                self.expr(body, unordered.then_some((group, Some(*fun))));
                start.iter().for_each(|e| self.expr(e, None));
            }
            _ => e.children().for_each(|part| self.expr(part, None)),
        }
    }
}
