//! `reorder(i, j, …)`: nested loops change places.
//!
//! Legal among the loops of the left side and of a fold that is the whole right side, and among those of any other fold: a fold does not
//! distribute over the expression around it. A fold whose order is part of its meaning keeps it. Operands' storage restricts nothing: an
//! operand that loops cannot follow is copied.

use super::loops::{Apply, Group, Legal};
use fiberloom_core::notation::typed::VarId;

impl Apply<'_> {
    pub(super) fn reorder(&mut self, vars: &[VarId]) -> Legal {
        let places = vars.iter().map(|v| self.is_loop(*v)).collect::<Result<Vec<usize>, _>>()?;
        let (Some(first), Some(last)) = (places.iter().min().copied(), places.iter().max().copied()) else {
            return Ok(());
        };
        if let Some(between) = (first..=last).find(|n| !places.contains(n)) {
            let between = self.name(self.loops.order[between]);
            let message = format!("the loop over `{between}` stands between loops that are reordered");
            return self.refuse(message, format!("name it, too: the loops are {}", self.names(&self.loops.order)));
        }
        let run = &self.loops.order[first..=last];
        let moved = |n: &usize| vars[*n] != run[*n];
        let around: Vec<Group> = vars.iter().map(|v| self.loops.group_of(*v)).collect();
        let was: Vec<Group> = run.iter().map(|v| self.loops.group_of(*v)).collect();
        if let Some(n) = (0..vars.len()).find(|n| around[*n] != was[*n]) {
            let (moved, over) = (self.name(vars[n]), self.name(run[n]));
            let message = format!(
                "`{moved}` and `{over}` cannot change places: what stands around the fold does not distribute over it"
            );
            return self.refuse(message, "reorder the loops of the left side among themselves, and those of each fold");
        }
        if let Some(n) = (0..vars.len()).filter(moved).find(|n| around[*n].ordered) {
            let message = format!("the loop over `{}` folds in its order, and stays where it is", self.name(vars[n]));
            return self.refuse(message, "sums of floats may be regrouped in `algebraic` mode alone");
        }
        self.loops.order.splice(first..=last, vars.iter().copied());
        self.loops.ordered = true;
        Ok(())
    }
}
