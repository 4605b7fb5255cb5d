//! A result's last level of runs.
//!
//! ```text
//!   q[i] = v for i in lo..hi       next < lo     a run of fill up to lo
//!                                  then v: extends the last run, if that has the same value; else a run of its own
//!   a later fiber, or the end      next < n      a run of fill up to n; fibers that are passed over too
//! ```
//!
//! A fiber ends when the next one begins, since several loops may append to it.
//!
//! Invariant: between the statements that this module emits, the runs of the current fiber end at `next`, and those of
//! every fiber before it reach the extent.

use super::output::{Output, Slot, reserve};
use super::{Expr, binary, compared, held, int, plus, store_index};
use crate::algebra::{Op, Type};
use crate::looplet::Looplet;
use crate::loops::{Stmt, Symbolic, Var};
use crate::notation::concrete::Tensor;

/// How far a result's last level of runs reaches.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The parent position of the current fiber.
    parent: Var,
    /// Its first position.
    begin: Var,
    /// The coordinate behind its last run.
    next: Var,
    /// The last run's value.
    held: Var,
}

impl Ends {
    /// Variables for a tensor whose last level is runs; `None` for others.
    pub fn of(d: &mut Symbolic, tensor: &Tensor) -> Option<Ends> {
        if tensor.format.levels.last().is_none_or(|kind| kind.looplet() != Looplet::Runs) {
            return None;
        }
        let [parent, begin, next] =
            ["parent", "begin", "next"].map(|name| d.fresh(&format!("{name}_{}", tensor.name), Type::I64));
        let held = d.fresh(&format!("held_{}", tensor.name), tensor.ty);
        Some(Ends { parent, begin, next, held })
    }
}

impl Output {
    /// Emitted before anything is stored: no run of the first fiber.
    pub(super) fn begin_runs(&self, d: &mut Symbolic) {
        if let Some(Ends { parent, begin, next, held }) = self.ends {
            [parent, begin, next].into_iter().for_each(|v| d.assign(v, int(0)));
            d.assign(held, Expr::Const(self.fill));
        }
    }

    /// Makes the fiber of a parent position, not before the current one, the current one: ends those before it.
    pub(super) fn runs_below(&self, d: &mut Symbolic, position: &Expr) {
        let Some(Ends { parent, begin, next, .. }) = self.ends else { return };
        let last = self.levels.len() - 1;
        let pos = self.pos(last).expect("runs have positions");
        d.during(binary(Op::Lt, Expr::Var(parent), position.clone()), |d| {
            self.fill_up(d, self.extents[last].clone());
            d.assign(parent, plus(Expr::Var(parent), int(1)));
            store_index(d, pos, Expr::Var(parent), self.count(last));
            d.assign(begin, self.count(last));
            d.assign(next, int(0));
        });
    }

    /// Emitted before at most `most` runs without gaps from `first` on, if the slot is right above the runs: a run of
    /// fill up to `first`, and room for all.
    pub(super) fn expect_runs(&self, d: &mut Symbolic, slot: &Slot, first: Expr, most: Expr) {
        if self.ends.is_some() && slot.level + 1 == self.levels.len() {
            self.fill_up(d, first);
            self.make_room(d, most);
        }
    }

    /// Stores a value for the coordinates from `lo` up to `hi`, at least one. `lo` is `None` for a run announced by
    /// `expect_runs`, which begins where the last one ends.
    pub(super) fn put_run(&self, d: &mut Symbolic, slot: &Slot, (lo, hi): (Option<Expr>, Expr), value: Expr) {
        let Some(ends) = self.ends else { return };
        let value = d.define("value", self.fill.ty(), value);
        if let Some(lo) = lo {
            self.fill_up(d, lo);
            self.make_room(d, int(1));
        }
        self.push(d, hi.clone(), value);
        d.assign(ends.next, hi);
        slot.mark(d);
    }

    /// Makes room for `more` runs.
    fn make_room(&self, d: &mut Symbolic, more: Expr) {
        let level = self.levels.len() - 1;
        let room = held(d, "room", plus(self.count(level), more));
        for buffer in [self.crd(level).expect("runs have coordinates"), self.values] {
            reserve(d, buffer, room.clone());
        }
    }

    /// Stores a run of fill up to a coordinate of the current fiber, if its runs end before it.
    fn fill_up(&self, d: &mut Symbolic, end: Expr) {
        let Some(ends) = self.ends.filter(|_| end != int(0)) else { return };
        let gap = binary(Op::Lt, Expr::Var(ends.next), end.clone());
        let fill = |d: &mut Symbolic| {
            self.make_room(d, int(1));
            self.push(d, end, Expr::Const(self.fill));
        };
        d.when(gap, fill, |_| {});
    }

    /// Appends a run up to a coordinate, or extends the last one if its value is the same. There must be room.
    fn push(&self, d: &mut Symbolic, end: Expr, value: Expr) {
        let Some(ends) = self.ends else { return };
        let level = self.levels.len() - 1;
        let crd = self.crd(level).expect("runs have coordinates");
        let (count, last) = (self.count(level), binary(Op::Sub, end, int(1)));
        // Whether values are equal is unpredictable, so there is no branch: the run is written over the last one or
        // behind it.
        let first = binary(Op::Eq, count.clone(), Expr::Var(ends.begin));
        let differs = compared(self.mode, Op::Ne, Expr::Var(ends.held), (value.clone(), self.fill.ty()));
        let begins = binary(Op::Or, first, differs);
        let more = Expr::Op(Op::Convert(Type::I64), vec![begins]);
        d.assign(self.counts[level].expect("runs are counted"), plus(count.clone(), more));
        let at = binary(Op::Sub, count, int(1));
        d.emit(Stmt::Store(self.values, at.clone(), value.clone()));
        store_index(d, crd, at, last);
        d.assign(ends.held, value);
    }
}
