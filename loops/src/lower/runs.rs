//! A result's last level of runs, or of packbits: runs in pieces (`pieces.rs`).
//!
//! ```text
//!   q[i] = v for i in lo..hi       next < lo     a run of fill up to lo
//!                                  then v: extends the last run, if that has the same value; else begins a run
//!   a later fiber, or the end      next < n      a run of fill up to n, also in skipped fibers
//! ```
//!
//! A fiber ends when the next one begins, since several loops may append to it.
//!
//! Invariant: between the statements that this module emits, the runs of the current fiber end at `next`, and those of
//! every fiber before it reach the extent.

use super::assembler::{Assembler, Ground, Grow};
use super::insertion::Insertion;
use super::pieces::Pieces;
use super::room::reserve;
use super::{BufferId, Expr, Holds, binary, compared, held, int, plus, store_index};
use crate::{Stmt, Symbolic, Var};
use fiberloom_core::algebra::{Mode, Op, Type, Value};

/// The assembler of a result's last level of runs.
pub(super) struct Runs {
    pos: BufferId,
    crd: BufferId,
    values: BufferId,
    count: Var,
    extent: Expr,
    fill: Value,
    mode: Mode,
    /// The parent position of the current fiber.
    parent: Var,
    /// The first position of the current fiber.
    begin: Var,
    /// The coordinate behind the last run of the current fiber.
    next: Var,
    /// The value of the last run.
    held: Var,
    /// The pieces, in packbits.
    pieces: Option<Pieces>,
    is_root: bool,
}

impl Runs {
    pub fn of(d: &mut Symbolic, ground: &Ground) -> Runs {
        let [parent, begin, next] =
            ["parent", "begin", "next"].map(|name| d.fresh(&format!("{name}_{}", ground.name), Type::I64));
        let held = d.fresh(&format!("held_{}", ground.name), ground.fill.ty());
        Runs {
            pos: ground.array(Holds::Positions),
            crd: ground.array(Holds::Coordinates),
            values: ground.values,
            count: ground.count,
            extent: ground.extent.clone(),
            fill: ground.fill,
            mode: ground.mode,
            parent,
            begin,
            next,
            held,
            pieces: Pieces::of(d, ground),
            is_root: ground.level == 0,
        }
    }

    fn appended(&self) -> Expr {
        Expr::Var(self.count)
    }

    /// Ends the fibers before the one below a parent position.
    fn below(&self, d: &mut Symbolic, position: &Expr) {
        d.during(binary(Op::Lt, Expr::Var(self.parent), position.clone()), |d| {
            self.fill_up(d, self.extent.clone());
            self.end_run(d, None);
            d.assign(self.parent, plus(Expr::Var(self.parent), int(1)));
            let end = self.pieces.as_ref().map_or(self.appended(), Pieces::appended);
            store_index(d, self.pos, Expr::Var(self.parent), end);
            d.assign(self.begin, self.appended());
            d.assign(self.next, int(0));
            self.pieces.iter().for_each(|pieces| pieces.enter(d));
        });
    }

    /// Emitted before at most `most` runs without gaps from `first` on: appends a run of fill up to `first`, and makes room for all.
    pub fn expect(&self, d: &mut Symbolic, first: Expr, most: Expr) {
        self.fill_up(d, first);
        self.make_room(d, most);
    }

    /// Stores a value for the coordinates from `lo` up to `hi`, at least one. For a run announced by [`Runs::expect`] `lo` is `None`: the
    /// run begins where the last one ends.
    pub fn put_run(&self, d: &mut Symbolic, insertion: &Insertion, (lo, hi): (Option<Expr>, Expr), value: Expr) {
        self.put_up_to(d, (lo, hi), value);
        insertion.mark(d);
    }

    fn put_up_to(&self, d: &mut Symbolic, (lo, hi): (Option<Expr>, Expr), value: Expr) {
        let value = d.define("value", self.fill.ty(), value);
        if let Some(lo) = lo {
            self.fill_up(d, lo);
            self.make_room(d, int(1));
        }
        self.push(d, hi.clone(), value);
        d.assign(self.next, hi);
    }

    /// Makes room for `more` runs.
    fn make_room(&self, d: &mut Symbolic, more: Expr) {
        let room = held(d, "room", plus(self.appended(), more.clone()));
        match &self.pieces {
            Some(pieces) => pieces.make_room(d, more),
            None => reserve(d, self.crd, room.clone()),
        }
        reserve(d, self.values, room);
    }

    /// Stores a run of fill up to a coordinate of the current fiber, if its runs end before it.
    fn fill_up(&self, d: &mut Symbolic, end: Expr) {
        if end == int(0) {
            return;
        }
        let gap = binary(Op::Lt, Expr::Var(self.next), end.clone());
        let fill = |d: &mut Symbolic| {
            self.make_room(d, int(1));
            self.push(d, end.clone(), Expr::Const(self.fill));
            if self.pieces.is_some() {
                d.assign(self.next, end);
            }
        };
        d.when(gap, fill, |_| {});
    }

    /// Appends a run up to a coordinate, or extends the last run if its value is the same. There must be room.
    fn push(&self, d: &mut Symbolic, end: Expr, value: Expr) {
        let (count, last) = (self.appended(), binary(Op::Sub, end, int(1)));
        // Whether values are equal is unpredictable, so there is no branch: the run is written over the last one or
        // behind it.
        let first = binary(Op::Eq, count.clone(), Expr::Var(self.begin));
        let differs = compared(self.mode, Op::Ne, Expr::Var(self.held), (value.clone(), self.fill.ty()));
        self.end_run(d, Some(differs.clone()));
        let begins = binary(Op::Or, first, differs);
        let more = Expr::Op(Op::Convert(Type::I64), vec![begins]);
        d.assign(self.count, plus(count.clone(), more));
        let at = binary(Op::Sub, count, int(1));
        d.emit(Stmt::Store(self.values, at.clone(), value.clone()));
        if self.pieces.is_none() {
            store_index(d, self.crd, at, last);
        }
        d.assign(self.held, value);
    }

    /// In packbits: ends the last run of the current fiber, if it has one, and `only` holds.
    fn end_run(&self, d: &mut Symbolic, only: Option<Expr>) {
        let Some(pieces) = &self.pieces else { return };
        let some = binary(Op::Ne, self.appended(), Expr::Var(self.begin));
        let ends = only.into_iter().fold(some, |some, only| binary(Op::And, some, only));
        pieces.end_run(d, ends, (binary(Op::Sub, self.appended(), int(1)), Expr::Var(self.next)));
    }
}

impl Assembler for Runs {
    fn begin(&self, d: &mut Symbolic, entries: &Expr) {
        [self.parent, self.begin, self.next].into_iter().for_each(|v| d.assign(v, int(0)));
        d.assign(self.held, Expr::Const(self.fill));
        self.pieces.iter().for_each(|pieces| pieces.begin(d, entries));
    }

    fn enter(&self, d: &mut Symbolic, parent: &Expr) {
        // The fiber at the root is the first one: no positions are before it.
        if !self.is_root {
            self.below(d, parent);
        }
    }

    /// Reserves nothing: each run reserves its own room.
    fn room(&self, _: &mut Symbolic, _: &dyn Fn(&mut Symbolic) -> Expr, _: Grow) {}

    fn put(&self, d: &mut Symbolic, _: &Insertion, at: Expr, value: Expr) {
        self.put_up_to(d, (Some(at.clone()), plus(at, int(1))), value);
    }

    fn filters(&self) -> bool {
        false
    }

    fn end(&self) -> Option<Expr> {
        None
    }

    fn finish(&self, d: &mut Symbolic, parents: &Expr) {
        self.below(d, parents);
        self.pieces.iter().for_each(|pieces| pieces.finish(d, self.appended()));
    }

    fn lengths(&self, _: &Expr) -> Vec<(BufferId, Expr)> {
        self.pieces.as_ref().map_or_else(|| vec![(self.crd, self.appended())], Pieces::lengths)
    }
}
