//! The pieces of a result's last level of packbits; they are made as its runs end.
//!
//! ```text
//!   a run of one coordinate, behind another such run      the piece is extended: crd[p - 1] = the run's end
//!   any other run                                         the next piece:    crd[p] = the run's end; ofs[p] = its position; p += 1
//! ```
//!
//! A run may grow until another begins, or its fiber ends. Whether runs have one coordinate depends on values and is unpredictable, so
//! there is no branch: the piece is written over the last one or behind it.
//!
//! Invariant: where a fiber has a run, `crd` has room for one piece more than there are, and `ofs` for two.

use super::assembler::Ground;
use super::room::{alloc, reserve};
use super::{Expr, Holds, binary, held, int, plus, store_index};
use crate::{BufferId, Symbolic, Var};
use fiberloom_core::algebra::{Op, Type, Value};

/// The pieces of the runs that have ended.
pub(super) struct Pieces {
    crd: BufferId,
    ofs: BufferId,
    /// The number of pieces.
    count: Var,
    /// The first coordinate of the run that has not ended.
    from: Var,
    /// Whether the previous run of the fiber has one coordinate.
    open: Var,
}

impl Pieces {
    /// The pieces of a level; `None` if the level has none.
    pub fn of(d: &mut Symbolic, ground: &Ground) -> Option<Pieces> {
        let ofs = ground.arrays.find("ofs").copied()?;
        let [count, from] = ["pieces", "from"].map(|name| d.fresh(&format!("{name}_{}", ground.name), Type::I64));
        let open = d.fresh(&format!("open_{}", ground.name), Type::Bool);
        Some(Pieces { crd: ground.array(Holds::Coordinates), ofs, count, from, open })
    }

    /// Emitted before anything is stored; the kernel may expect `runs` runs.
    pub fn begin(&self, d: &mut Symbolic, runs: &Expr) {
        alloc(d, self.ofs, plus(runs.clone(), int(1)), None);
        d.assign(self.count, int(0));
        self.enter(d);
    }

    /// Begins a fiber: it has no run yet.
    pub fn enter(&self, d: &mut Symbolic) {
        d.assign(self.from, int(0));
        d.assign(self.open, Expr::Const(Value::bool(false)));
    }

    /// The number of pieces so far.
    pub fn appended(&self) -> Expr {
        Expr::Var(self.count)
    }

    /// Makes room for the pieces of `more` further runs.
    pub fn make_room(&self, d: &mut Symbolic, more: Expr) {
        let room = held(d, "room", plus(self.appended(), plus(more, int(1))));
        reserve(d, self.crd, room.clone());
        reserve(d, self.ofs, plus(room, int(1)));
    }

    /// Ends the current fiber's last run, which has this position, at the coordinate before `next`, if a condition holds.
    pub fn end_run(&self, d: &mut Symbolic, ends: Expr, (position, next): (Expr, Expr)) {
        let (count, from, open) = (self.appended(), Expr::Var(self.from), Expr::Var(self.open));
        let ends = d.define("ends", Type::Bool, ends);
        let one = d.define("one", Type::Bool, binary(Op::Eq, binary(Op::Sub, next.clone(), from.clone()), int(1)));
        let goes_on = binary(Op::And, ends.clone(), binary(Op::And, one.clone(), open.clone()));
        let number = |d: &mut Symbolic, name: &str, e: Expr| {
            d.define(name, Type::I64, Expr::Op(Op::Convert(Type::I64), vec![e]))
        };
        let goes_on = number(d, "joined", goes_on);
        store_index(
            d,
            self.crd,
            binary(Op::Sub, count.clone(), goes_on.clone()),
            binary(Op::Sub, next.clone(), int(1)),
        );
        store_index(d, self.ofs, count.clone(), position);
        let ended = number(d, "ended", ends.clone());
        d.assign(self.count, plus(count, binary(Op::Sub, ended, goes_on)));
        d.assign(self.open, Expr::Op(Op::Select, vec![ends.clone(), one, open]));
        d.assign(self.from, Expr::Op(Op::Select, vec![ends, next, from]));
    }

    /// Emitted behind all loops: stores the end, which is the number of positions.
    pub fn finish(&self, d: &mut Symbolic, positions: Expr) {
        store_index(d, self.ofs, self.appended(), positions);
    }

    /// The lengths of the pieces' arrays.
    pub fn lengths(&self) -> Vec<(BufferId, Expr)> {
        vec![(self.crd, self.appended()), (self.ofs, plus(self.appended(), int(1)))]
    }
}
