//! `weigh(i, T, …)`: a loop, or collapsed loops, are split into parts of equal numbers of entries.
//!
//! ```text
//!  weigh(i, A, B); split(i -> i0, i1, 64)                     pieces of whole rows, of some 64 entries of A and B
//!  collapse(i, j -> f); weigh(f, A, B); split(f -> p, q, 64)  pieces of 64 entries of A and B, which may begin and end within a row
//! ```
//!
//! Legal where the tensors say how many entries stand before a coordinate: the loops are over consecutive levels, located ones or lists, and the
//! last of these is a list, or a list is below it.

use super::loops::{Apply, Cut, Legal};
use fiberloom_core::notation::concrete::Counted;
use fiberloom_core::notation::typed::{TensorId, VarId};

impl Apply<'_> {
    pub(super) fn weigh(&mut self, v: VarId, tensors: &[TensorId]) -> Legal {
        self.is_loop(v)?;
        if self.loops.cut(v).is_some() {
            return self.refuse(format!("`{}` counts entries already", self.name(v)), "weigh a loop over coordinates");
        }
        let loops = self.loops.coordinates(v);
        let originals: Vec<VarId> = loops.iter().map(|v| self.loops.root(*v)).collect();
        for tensor in tensors {
            let levels = self.levels(*tensor, &originals)?;
            let declared = &self.program.tensors[tensor.index()];
            let Some(format) = &declared.format else { continue };
            if format.weighed(levels[0], levels.len()).is_some() && levels.is_sorted_by(|a, b| a + 1 == *b) {
                continue;
            }
            let message =
                format!("`{}` does not say how much it stores below each {}", declared.name, self.names(&originals));
            let help = "name tensors with consecutive levels there, dense ones or lists, of which the last is a list or has one below it";
            return self.refuse(message, help);
        }
        let tensors = tensors.to_vec();
        self.loops.cuts.push(Cut { whole: v, loops, counted: Counted::Weight, tensors });
        Ok(())
    }
}
