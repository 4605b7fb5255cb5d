//! `collapse(i, j -> f)`: two loops, one directly inside of the other, become one, which may be split, or counted by `pos`.

use super::loops::{Apply, Legal};
use fiberloom_core::notation::typed::VarId;

impl Apply<'_> {
    pub(super) fn collapse(&mut self, (outer, inner): (VarId, VarId), to: VarId) -> Legal {
        let (first, second) = (self.is_loop(outer)?, self.is_loop(inner)?);
        if let Some(cut) = [outer, inner].iter().find(|v| self.loops.cut(**v).is_some()) {
            let message = format!("`{}` counts entries, and cannot be collapsed", self.name(*cut));
            return self.refuse(message, "collapse loops over coordinates, then count with `pos`");
        }
        if first + 1 != second {
            let loops = self.names(&self.loops.order);
            let message = format!("`{}` does not stand directly inside of `{}`", self.name(inner), self.name(outer));
            return self.refuse(message, format!("`reorder` them first: the loops are {loops}"));
        }
        let (around, inside) = (self.loops.group_of(outer), self.loops.group_of(inner));
        if around != inside {
            let message = format!("`{}` and `{}` belong to different folds", self.name(outer), self.name(inner));
            return self.refuse(message, "collapse loops of the left side and a sum that is all of the right side");
        }
        self.loops.collapsed.push((to, [outer, inner]));
        self.loops.groups.push((to, around));
        self.loops.order.splice(first..=second, [to]);
        Ok(())
    }
}
