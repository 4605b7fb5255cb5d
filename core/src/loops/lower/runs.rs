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
use super::{Expr, binary, compared, int, plus, store_index};
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
}

impl Ends {
    /// Of a tensor whose last level has runs.
    pub fn of(d: &mut Symbolic, tensor: &Tensor) -> Option<Ends> {
        let mut named = |name: &str| d.fresh(&format!("{name}_{}", tensor.name), Type::I64);
        let last = tensor.format.levels.last() == Some(&LevelKind::Runs);
        last.then(|| Ends { parent: named("parent"), begin: named("begin"), next: named("next") })
    }
}

impl Output {
    /// Before anything is stored.
    pub(super) fn begin_runs(&self, d: &mut Symbolic) {
        if let Some(Ends { parent, begin, next }) = self.ends {
            [parent, begin, next].into_iter().for_each(|v| d.assign(v, int(0)));
        }
    }

    /// The loops come to the fiber of a parent position, which is that at hand or a later one: those before it end.
    pub(super) fn runs_below(&self, d: &mut Symbolic, position: &Expr) {
        let Some(Ends { parent, begin, next }) = self.ends else { return };
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

    /// A value for the coordinates `lo..hi`, of which there are some.
    pub(super) fn put_run(&self, d: &mut Symbolic, slot: &Slot, [lo, hi]: [Expr; 2], value: Expr) {
        let Some(ends) = self.ends else { return };
        let value = d.define("value", self.fill.ty(), value);
        self.fill_up(d, lo);
        self.push(d, hi.clone(), value);
        d.assign(ends.next, hi);
        slot.mark(d);
    }

    /// Fill up to a coordinate.
    fn fill_up(&self, d: &mut Symbolic, end: Expr) {
        let Some(ends) = self.ends else { return };
        let gap = binary(Op::Lt, Expr::Var(ends.next), end.clone());
        d.when(gap, |d| self.push(d, end, Expr::Const(self.fill)), |_| {});
    }

    /// A run up to a coordinate, or the last one going on.
    fn push(&self, d: &mut Symbolic, end: Expr, value: Expr) {
        let Some(ends) = self.ends else { return };
        let level = self.levels.len() - 1;
        let crd = self.crd(level).expect("runs have coordinates");
        let (count, last) = (self.count(level), binary(Op::Sub, end, int(1)));
        let before = binary(Op::Sub, count.clone(), int(1));
        let held = Expr::Load(self.values, Box::new(before.clone()));
        let some = binary(Op::Gt, count.clone(), Expr::Var(ends.begin));
        let same = compared(self.mode, Op::Eq, held, (value.clone(), self.fill.ty()));
        let goes_on = binary(Op::AndAlso, some, same);
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
