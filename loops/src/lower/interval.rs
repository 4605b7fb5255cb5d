//! A result's last level of intervals: a fiber is stored from its first coordinate, or from 0, to its last.
//!
//! ```text
//!   q[i] = v         base + i = c          the next coordinate: values[c] = v; c += 1
//!                    base + i > c          the fill value at c .. base + i, then v
//!                    no value so far       in a band: first[parent] = i; the interval begins there
//! ```
//!
//! Invariant: the position of coordinate i of the current fiber is `base` + i. Before the first value of a band's fiber `base` is the
//! count plus one, so that no coordinate is the next one.

use super::assembler::{Assembler, Current, Ground, Grow};
use super::insertion::Insertion;
use super::room::reserve;
use super::{Expr, Holds, binary, int, plus, store_index};
use crate::{BufferId, Stmt, Symbolic, Var};
use fiberloom_core::algebra::{Op, Type, Value};

/// A last level of intervals.
pub(super) struct Interval {
    /// The first coordinate of each parent's interval; `None` if it is 0.
    pub first: Option<BufferId>,
    values: BufferId,
    count: Var,
    base: Var,
    /// A bound on the values to come; there is room for that many.
    most: Var,
    current: Current,
    fill: Value,
}

impl Interval {
    pub fn of(d: &mut Symbolic, ground: &Ground) -> Interval {
        let [base, most] = ["base", "most"].map(|name| d.fresh(&format!("{name}_{}", ground.name), Type::I64));
        Interval {
            first: ground.arrays.array(Holds::Coordinates),
            values: ground.values,
            count: ground.count,
            base,
            most,
            current: Current::of(d, ground),
            fill: ground.fill,
        }
    }

    fn appended(&self) -> Expr {
        Expr::Var(self.count)
    }

    /// Resets `base`: the current fiber has no value yet.
    fn empty(&self, d: &mut Symbolic) {
        let before = if self.first.is_some() { 1 } else { 0 };
        d.assign(self.base, plus(self.appended(), int(before)));
    }
}

impl Assembler for Interval {
    fn begin(&self, d: &mut Symbolic, _: &Expr) {
        self.current.begin(d);
        d.assign(self.most, int(0));
        self.empty(d);
    }

    fn enter(&self, d: &mut Symbolic, parent: &Expr) {
        self.current.enter(d, parent, |d| self.empty(d));
    }

    fn room(&self, d: &mut Symbolic, most: &dyn Fn(&mut Symbolic) -> Expr, grow: Grow) {
        let most = most(d);
        d.assign(self.most, most);
        let needed = d.define("room", Type::I64, plus(self.appended(), Expr::Var(self.most)));
        grow(d, self.values, needed);
    }

    fn put(&self, d: &mut Symbolic, insertion: &Insertion, at: Expr, value: Expr) {
        let position = d.define("position", Type::I64, plus(Expr::Var(self.base), at.clone()));
        let fill_up = |d: &mut Symbolic| {
            reserve(d, self.values, plus(position.clone(), Expr::Var(self.most)));
            d.each("q", self.appended(), position.clone(), |d, q| {
                d.emit(Stmt::Store(self.values, q, Expr::Const(self.fill)));
            });
            d.assign(self.count, position.clone());
        };
        let skips = binary(Op::Ne, position.clone(), self.appended());
        let Some(first) = self.first else {
            d.when(skips, fill_up, |_| {});
            return self.push(d, value);
        };
        let begin = |d: &mut Symbolic| {
            store_index(d, first, insertion.parent(), at.clone());
            d.assign(self.base, binary(Op::Sub, self.appended(), at.clone()));
        };
        let none = binary(Op::Gt, Expr::Var(self.base), self.appended());
        d.when(skips, |d| d.when(none, begin, fill_up), |_| {});
        self.push(d, value);
    }

    fn end(&self) -> Option<Expr> {
        Some(self.appended())
    }

    fn lengths(&self, parents: &Expr) -> Vec<(BufferId, Expr)> {
        self.first.iter().map(|first| (*first, parents.clone())).collect()
    }
}

impl Interval {
    /// Appends the value of the next coordinate.
    fn push(&self, d: &mut Symbolic, value: Expr) {
        d.emit(Stmt::Store(self.values, self.appended(), value));
        d.assign(self.count, plus(self.appended(), int(1)));
    }
}
