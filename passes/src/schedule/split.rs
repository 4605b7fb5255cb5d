//! `split(i -> i0, i1, n)` and `split_up`: a loop becomes two, one over parts and one within each.
//!
//! ```text
//!  split(i -> i0, i1, 16)        i = 16*i0 + i1          parts of 16 iterations; the last ends where i does
//!  split_up(i -> i0, i1, 16)     i = n*i0 + i1           16 parts of n = ⌈|i| / 16⌉ iterations
//! ```
//!
//! The split of a coordinate is an index map; the split of a cut's counter makes pieces. Always legal.

use super::loops::{Apply, Cut, Legal, Split};
use fiberloom_core::notation::concrete::Counted;
use fiberloom_core::notation::typed::{Parts, VarId};

impl Apply<'_> {
    pub(super) fn split(&mut self, from: VarId, to: (VarId, VarId), parts: Parts) -> Legal {
        let place = self.is_loop(from)?;
        let (Parts::Of(n) | Parts::Into(n)) = parts;
        if i64::try_from(n).is_err() {
            return self.refuse(format!("a loop in parts of {n} turns"), "extents are below 2⁶³, and so are parts");
        }
        let within = self.loops.named.iter().find(|(name, of)| *name == from && self.loops.cut(*of).is_some());
        if let Some((_, of)) = within.filter(|_| self.loops.cut(from).is_none()) {
            let message = format!("`{}` runs within a piece of what `{}` counts", self.name(from), self.name(*of));
            return self.refuse(message, "split the coordinate before `pos`");
        }
        if self.loops.collapsed.iter().any(|(whole, _)| *whole == from) && self.loops.cut(from).is_none() {
            let loops = self.loops.coordinates(from);
            self.loops.cuts.push(Cut { whole: from, loops, counted: Counted::Coordinates, tensors: vec![] });
        }
        let group = self.loops.group_of(from);
        self.loops.groups.extend([(to.0, group), (to.1, group)]);
        self.loops.splits.push(Split { whole: from, outer: to.0, inner: to.1, parts });
        self.loops.order.splice(place..=place, [to.0, to.1]);
        Ok(())
    }
}
