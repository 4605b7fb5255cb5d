//! Building blocks of operations.

use crate::choose::{
    Facts,
    scope::{Positions, Run},
    symbol::Sym,
};
use crate::plan::{Block, Entry, List, Op};
use fiberloom_core::algebra::Type;

impl Block {
    /// Adds an operation.
    pub fn push(&mut self, op: Op) {
        self.0.push(op);
    }

    /// The operations that `f` adds to an empty block.
    pub fn of(f: impl FnOnce(&mut Block)) -> Block {
        let mut block = Block::default();
        f(&mut block);
        block
    }

    /// A new variable with a value; a constant needs none.
    pub fn define(&mut self, cx: &Facts, name: &str, ty: Type, of: Sym) -> Sym {
        if cx.symbols.constant(of).is_some() {
            return of;
        }
        let it = cx.symbols.held(name, ty);
        self.push(Op::Let { it, of });
        it
    }

    /// Names a coordinate or position in a variable, unless it is a variable or a constant.
    pub fn held(&mut self, cx: &Facts, name: &str, of: Sym) -> Sym {
        if cx.symbols.is_held(of) {
            return of;
        }
        let it = cx.symbols.held(name, Type::I64);
        self.push(Op::Hold { it, of });
        it
    }

    /// A variable that is set again.
    pub fn var(&mut self, cx: &Facts, name: &str, ty: Type, of: Sym) -> Sym {
        let it = cx.symbols.held(name, ty);
        self.push(Op::Var { it, of });
        it
    }

    /// Sets a variable.
    pub fn set(&mut self, var: Sym, to: Sym) {
        self.push(Op::Set { var, to });
    }

    /// A conditional.
    pub fn when(&mut self, cond: Sym, then: impl FnOnce(&mut Block), otherwise: impl FnOnce(&mut Block)) {
        let (then, otherwise) = (Block::of(then), Block::of(otherwise));
        self.push(Op::When { cond, then, otherwise });
    }
}

impl Entry {
    /// An entry of a list.
    pub fn of(cx: &Facts, list: &List) -> Entry {
        let open = list.view.blocks.is_none().then_some(list.end);
        let run = list.is_of_runs().then(|| Run { name: cx.symbols.name(), open });
        Entry { position: cx.symbols.read("p", Type::I64), run }
    }

    /// An entry of one position.
    pub fn single(cx: &Facts) -> Entry {
        Entry { position: cx.symbols.read("p", Type::I64), run: None }
    }

    /// Its positions.
    pub fn positions(&self) -> Positions {
        (self.position, self.run)
    }
}
