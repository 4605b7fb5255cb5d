//! A result's last level of runs.
//!
//! ```text
//!   q[i] = v for i in lo..hi       next < lo     a run of fill up to lo
//!                                  then v: the last run, if it holds the same, reaches further; else a run of its own
//!   end of the fiber               next < n      a run of fill up to n
//!   fibers passed over             a run of fill each, before the next one that is not
//! ```
//!
//! Invariant: at each statement outside, the runs of the fiber so far end with `next`, and every fiber before it has all of
//! the extent.

use super::output::{Output, Slot, reserve};
use super::{Expr, binary, int, plus, store_index};
use crate::algebra::{Op, Type};
use crate::format::LevelKind;
use crate::loops::{Stmt, Var};
use crate::notation::concrete::Tensor;
use crate::stream::Symbolic;

/// Where the loops of a result have come in its last level of runs.
pub(super) struct Ends {
    /// The first position of the fiber.
    begin: Var,
    /// The coordinate behind the last run.
    next: Var,
    /// The first parent position whose fiber is not done.
    open: Var,
}

impl Ends {
    /// Of a tensor whose last level has runs.
    pub fn of(d: &mut Symbolic, tensor: &Tensor) -> Option<Ends> {
        let mut named = |name: &str| d.fresh(&format!("{name}_{}", tensor.name), Type::I64);
        let last = tensor.format.levels.last() == Some(&LevelKind::Runs);
        last.then(|| Ends { begin: named("begin"), next: named("next"), open: named("open") })
    }
}

impl Output {
    /// Before anything is stored.
    pub(super) fn begin_runs(&self, d: &mut Symbolic) {
        if let Some(ends) = &self.ends {
            d.assign(ends.open, int(0));
        }
    }

    /// At the beginning of a fiber.
    pub(super) fn open_runs(&self, d: &mut Symbolic, slot: &Slot) {
        let Some(ends) = &self.ends else { return };
        if slot.level > 0 {
            self.pass_over(d, &slot.position);
        }
        d.assign(ends.begin, self.count(slot.level));
        d.assign(ends.next, int(0));
    }

    /// At the end of a fiber.
    pub(super) fn close_runs(&self, d: &mut Symbolic, slot: &Slot) {
        let Some(ends) = &self.ends else { return };
        self.fill_up(d, self.extents[slot.level].clone());
        let next = plus(slot.position.clone(), int(1));
        let pos = self.pos(slot.level).expect("runs have positions");
        store_index(d, pos, next.clone(), self.count(slot.level));
        d.assign(ends.open, next);
    }

    /// At the end of the result, which has so many fibers.
    pub(super) fn finish_runs(&self, d: &mut Symbolic, parents: &Expr) {
        if self.ends.is_some() && self.levels.len() > 1 {
            self.pass_over(d, parents);
        }
    }

    /// A value for the coordinates `lo..hi`, of which there are some.
    pub(super) fn put_run(&self, d: &mut Symbolic, slot: &Slot, [lo, hi]: [Expr; 2], value: Expr) {
        let Some(ends) = &self.ends else { return };
        let value = d.define("value", self.fill.ty(), value);
        self.fill_up(d, lo);
        self.push(d, hi.clone(), value);
        d.assign(ends.next, hi);
        slot.mark(d);
    }

    /// Fill up to a coordinate.
    fn fill_up(&self, d: &mut Symbolic, end: Expr) {
        let Some(ends) = &self.ends else { return };
        let gap = binary(Op::Lt, Expr::Var(ends.next), end.clone());
        d.when(gap, |d| self.push(d, end, Expr::Const(self.fill)), |_| {});
    }

    /// The fibers before a parent position that are not done are all fill.
    fn pass_over(&self, d: &mut Symbolic, parent: &Expr) {
        let Some(ends) = &self.ends else { return };
        let last = self.levels.len() - 1;
        let pos = self.pos(last).expect("runs have positions");
        d.each("passed", Expr::Var(ends.open), parent.clone(), |d, passed| {
            d.assign(ends.begin, self.count(last));
            d.assign(ends.next, int(0));
            self.fill_up(d, self.extents[last].clone());
            store_index(d, pos, plus(passed, int(1)), self.count(last));
        });
    }

    /// A run up to a coordinate, or the last one going on.
    fn push(&self, d: &mut Symbolic, end: Expr, value: Expr) {
        let Some(ends) = &self.ends else { return };
        let level = self.levels.len() - 1;
        let crd = self.crd(level).expect("runs have coordinates");
        let (count, last) = (self.count(level), binary(Op::Sub, end, int(1)));
        let before = binary(Op::Sub, count.clone(), int(1));
        let held = Expr::Load(self.values, Box::new(before.clone()));
        let some = binary(Op::Gt, count.clone(), Expr::Var(ends.begin));
        let goes_on = binary(Op::AndAlso, some, binary(Op::Eq, held, value.clone()));
        let (longer, own) = (last.clone(), last);
        d.when(
            goes_on,
            |d| store_index(d, crd, before, longer),
            |d| {
                reserve(d, crd, plus(count.clone(), int(1)));
                reserve(d, self.values, plus(count.clone(), int(1)));
                d.emit(Stmt::Store(self.values, count.clone(), value));
                store_index(d, crd, count.clone(), own);
                d.assign(self.counts[level].expect("runs are counted"), plus(count, int(1)));
            },
        );
    }
}
