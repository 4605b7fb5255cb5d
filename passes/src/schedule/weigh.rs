//! `weigh(i, T, …)`: a loop is split into parts of equal numbers of entries, each of whole iterations.
//!
//! Legal where the tensors store the number of entries below each coordinate: at a located level with a list below it. Of one tensor that level
//! may be a list, too, in which the coordinate at a piece's edge is searched.

use super::loops::{Apply, Cut, Legal};
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::concrete::Counted;
use fiberloom_core::notation::typed::{TensorId, VarId};

impl Apply<'_> {
    pub(super) fn weigh(&mut self, v: VarId, tensors: &[TensorId]) -> Legal {
        self.is_loop(v)?;
        if self.loops.cut(v).is_some() {
            return self.refuse(format!("`{}` counts entries already", self.name(v)), "weigh a loop over coordinates");
        }
        let loops = self.loops.coordinates(v);
        if loops.len() > 1 {
            let help = "`pos` cuts collapsed loops by one tensor's entries";
            return self.refuse(format!("`{}` is collapsed, and cannot be weighed", self.name(v)), help);
        }
        for tensor in tensors {
            let level = self.levels(*tensor, &[self.loops.root(v)])?[0];
            let declared = &self.program.tensors[tensor.index()];
            let Some(format) = &declared.format else { continue };
            let below = format.levels.get(level + 1).is_some_and(|kind| counts_below(*kind));
            let kind = format.levels[level];
            if !(kind.is_located() || kind.is_plain() && tensors.len() == 1) || !below {
                let (name, variable) = (&declared.name, self.name(self.loops.root(v)));
                let message = format!("`{name}` does not say how much it stores below each `{variable}`");
                let help = "name tensors whose level there is located, or one whose level is a list, with a list below it; `pos` cuts a list";
                return self.refuse(message, help);
            }
        }
        let tensors = tensors.to_vec();
        self.loops.cuts.push(Cut { whole: v, loops, counted: Counted::Weight, tensors });
        Ok(())
    }
}

/// Whether a level stores, for each position above it, where its entries begin.
fn counts_below(kind: LevelKind) -> bool {
    kind.is_list() && !kind.continues_chain()
}
