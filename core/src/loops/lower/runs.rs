//! A result's last level of runs.
//!
//! ```text
//!   q[i] = v for i in lo..hi       next < lo     a run of fill up to lo
//!                                  then v: the last run, if it holds the same, reaches further; else a run of its own
//!   a later fiber, or the end      next < n      a run of fill up to n: also of fibers that are passed over
//! ```
//!
//! A fiber is not done before another is begun: several loops may lead through it.
//!
//! Invariant: at each statement outside, the runs of the fiber at hand end with `next`, and every fiber before it has all of
//! the extent.

use super::output::{Output, Slot, reserve};
use super::{Expr, binary, compared, held, int, plus, store_index};
use crate::algebra::{Op, Type};
use crate::format::LevelKind;
use crate::loops::{Stmt, Var};
use crate::notation::concrete::Tensor;
use crate::stream::Symbolic;

/// Where the loops of a result have come in its last level of runs.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The parent position of the fiber at hand.
    parent: Var,
    /// Its first position.
    begin: Var,
    /// The coordinate behind its last run.
    next: Var,
    /// The last run's value.
    held: Var,
}

impl Ends {
    /// Of a tensor whose last level has runs.
    pub fn of(d: &mut Symbolic, tensor: &Tensor) -> Option<Ends> {
        if tensor.format.levels.last() != Some(&LevelKind::Runs) {
            return None;
        }
        let [parent, begin, next] =
            ["parent", "begin", "next"].map(|name| d.fresh(&format!("{name}_{}", tensor.name), Type::I64));
        let held = d.fresh(&format!("held_{}", tensor.name), tensor.ty);
        Some(Ends { parent, begin, next, held })
    }
}

impl Output {
    /// Before anything is stored.
    pub(super) fn begin_runs(&self, d: &mut Symbolic) {
        if let Some(Ends { parent, begin, next, held }) = self.ends {
            [parent, begin, next].into_iter().for_each(|v| d.assign(v, int(0)));
            d.assign(held, Expr::Const(self.fill));
        }
    }

    /// The loops come to the fiber of a parent position, which is that at hand or a later one: those before it end.
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

    /// Before runs without gaps, if it is they that are next: of fill up to the first, and room for so many.
    pub(super) fn expect_runs(&self, d: &mut Symbolic, slot: &Slot, first: Expr, most: Expr) {
        if self.ends.is_some() && slot.level + 1 == self.levels.len() {
            self.fill_up(d, first);
            self.make_room(d, most);
        }
    }

    /// A value for the coordinates from `lo` up to `hi`, of which there are some; `None` for one of those that are expected, which
    /// begins where the last one ends.
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

    /// Room for more runs.
    fn make_room(&self, d: &mut Symbolic, more: Expr) {
        let level = self.levels.len() - 1;
        let room = held(d, "room", plus(self.count(level), more));
        for buffer in [self.crd(level).expect("runs have coordinates"), self.values] {
            reserve(d, buffer, room.clone());
        }
    }

    /// Fill up to a coordinate of the fiber at hand.
    fn fill_up(&self, d: &mut Symbolic, end: Expr) {
        let Some(ends) = self.ends.filter(|_| end != int(0)) else { return };
        let gap = binary(Op::Lt, Expr::Var(ends.next), end.clone());
        let fill = |d: &mut Symbolic| {
            self.make_room(d, int(1));
            self.push(d, end, Expr::Const(self.fill));
        };
        d.when(gap, fill, |_| {});
    }

    /// A run up to a coordinate, or the last one going on; there is room.
    fn push(&self, d: &mut Symbolic, end: Expr, value: Expr) {
        let Some(ends) = self.ends else { return };
        let level = self.levels.len() - 1;
        let crd = self.crd(level).expect("runs have coordinates");
        let (count, last) = (self.count(level), binary(Op::Sub, end, int(1)));
        // Nobody can predict whether it goes on: it is written either way, over the last one or behind it.
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
