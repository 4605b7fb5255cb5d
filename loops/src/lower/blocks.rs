//! A result's last level of blocks.
//!
//! ```text
//!   q[j] = v     of any length      b += (j is not the next coordinate); crd[b - 1] = j; values[c] = v; c += 1; ofs[b] = c
//!                aligned            where j begins another block: crd[b] = j div 4, values[c..c + 4] = fill value; c += 4
//!                                   values[c - 4 + j mod 4] = v
//! ```
//!
//! The code has no branch on whether a coordinate is the next one: where entries are scattered it is unpredictable.

use super::assembler::{Assembler, Current, Ground, Grow};
use super::insertion::Insertion;
use super::room::{alloc, reserve};
use super::{Expr, Holds, binary, int, plus, store_index, times};
use crate::{BufferId, Stmt, Symbolic, Var};
use fiberloom_core::algebra::{Op, Type, Value};

/// A last level of blocks of any length.
pub(super) struct Blocks {
    crd: BufferId,
    ofs: BufferId,
    values: BufferId,
    count: Var,
    /// The number of blocks so far.
    blocks: Var,
    /// One more than the last coordinate of the current fiber's last block; −1 before the first block.
    next: Var,
    current: Current,
}

impl Blocks {
    pub fn of(d: &mut Symbolic, ground: &Ground) -> Blocks {
        let [blocks, next] = ["blocks", "next"].map(|name| d.fresh(&format!("{name}_{}", ground.name), Type::I64));
        Blocks {
            crd: ground.array(Holds::Coordinates),
            ofs: *ground.arrays.named("ofs"),
            values: ground.values,
            count: ground.count,
            blocks,
            next,
            current: Current::of(d, ground),
        }
    }
}

impl Assembler for Blocks {
    fn begin(&self, d: &mut Symbolic, entries: &Expr) {
        alloc(d, self.ofs, plus(entries.clone(), int(1)), None);
        store_index(d, self.ofs, int(0), int(0));
        self.current.begin(d);
        d.assign(self.blocks, int(0));
        d.assign(self.next, int(-1));
    }

    fn enter(&self, d: &mut Symbolic, parent: &Expr) {
        self.current.enter(d, parent, |d| d.assign(self.next, int(-1)));
    }

    fn room(&self, d: &mut Symbolic, most: &dyn Fn(&mut Symbolic) -> Expr, grow: Grow) {
        let most = most(d);
        let blocks = d.define("room", Type::I64, plus(Expr::Var(self.blocks), most.clone()));
        grow(d, self.crd, blocks.clone());
        grow(d, self.ofs, plus(blocks, int(1)));
        let values = d.define("room", Type::I64, plus(Expr::Var(self.count), most));
        grow(d, self.values, values);
    }

    fn put(&self, d: &mut Symbolic, _: &Insertion, at: Expr, value: Expr) {
        let (blocks, count) = (Expr::Var(self.blocks), Expr::Var(self.count));
        let begins = binary(Op::Ne, at.clone(), Expr::Var(self.next));
        d.assign(self.blocks, plus(blocks.clone(), Expr::Op(Op::Convert(Type::I64), vec![begins])));
        store_index(d, self.crd, binary(Op::Sub, blocks.clone(), int(1)), at.clone());
        d.emit(Stmt::Store(self.values, count.clone(), value));
        d.assign(self.count, plus(count.clone(), int(1)));
        store_index(d, self.ofs, blocks, count);
        d.assign(self.next, plus(at, int(1)));
    }

    fn end(&self) -> Option<Expr> {
        Some(Expr::Var(self.blocks))
    }

    fn lengths(&self, _: &Expr) -> Vec<(BufferId, Expr)> {
        let blocks = Expr::Var(self.blocks);
        vec![(self.crd, blocks.clone()), (self.ofs, plus(blocks, int(1)))]
    }
}

/// A last level of aligned blocks.
pub(super) struct Aligned {
    crd: BufferId,
    values: BufferId,
    count: Var,
    /// The number of blocks so far.
    blocks: Var,
    /// The block coordinate (j div size) of the current fiber's last block; −1 before the first block.
    last: Var,
    current: Current,
    size: i64,
    fill: Value,
}

impl Aligned {
    pub fn of(d: &mut Symbolic, ground: &Ground, size: i64) -> Aligned {
        let [blocks, last] = ["blocks", "last"].map(|name| d.fresh(&format!("{name}_{}", ground.name), Type::I64));
        Aligned {
            crd: ground.array(Holds::Coordinates),
            values: ground.values,
            count: ground.count,
            blocks,
            last,
            current: Current::of(d, ground),
            size,
            fill: ground.fill,
        }
    }
}

impl Assembler for Aligned {
    fn begin(&self, d: &mut Symbolic, _: &Expr) {
        self.current.begin(d);
        d.assign(self.blocks, int(0));
        d.assign(self.last, int(-1));
    }

    fn enter(&self, d: &mut Symbolic, parent: &Expr) {
        self.current.enter(d, parent, |d| d.assign(self.last, int(-1)));
    }

    /// Reserves nothing: each block reserves its own room.
    fn room(&self, _: &mut Symbolic, _: &dyn Fn(&mut Symbolic) -> Expr, _: Grow) {}

    fn put(&self, d: &mut Symbolic, _: &Insertion, at: Expr, value: Expr) {
        let (blocks, count) = (Expr::Var(self.blocks), Expr::Var(self.count));
        let number = d.define("block", Type::I64, binary(Op::FloorDiv, at.clone(), int(self.size)));
        let begin = |d: &mut Symbolic| {
            let more = d.define("more", Type::I64, plus(blocks.clone(), int(1)));
            reserve(d, self.crd, more.clone());
            store_index(d, self.crd, blocks, number.clone());
            d.assign(self.blocks, more.clone());
            let end = d.define("end", Type::I64, times(more, int(self.size)));
            reserve(d, self.values, end.clone());
            d.each("q", count.clone(), end.clone(), |d, q| d.emit(Stmt::Store(self.values, q, Expr::Const(self.fill))));
            d.assign(self.count, end);
            d.assign(self.last, number.clone());
        };
        d.when(binary(Op::Ne, number.clone(), Expr::Var(self.last)), begin, |_| {});
        let within = binary(Op::FloorRem, at, int(self.size));
        let position = binary(Op::Sub, count, binary(Op::Sub, int(self.size), within));
        d.emit(Stmt::Store(self.values, position, value));
    }

    fn end(&self) -> Option<Expr> {
        Some(Expr::Var(self.blocks))
    }

    fn lengths(&self, _: &Expr) -> Vec<(BufferId, Expr)> {
        vec![(self.crd, Expr::Var(self.blocks))]
    }
}
