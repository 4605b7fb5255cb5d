//! The expressions for which symbols stand, and other state that loops around have opened.

use super::cut::{Opened, Piece};
use super::{Context, Expr, binary, fiber, int, structure};
use crate::algebra::Op;
use crate::loops::choose::{
    given::{Given, Let},
    range::Bound,
    scope::Fiber,
    symbol::{Counting, Meaning, Run, Stretch, Sym, Symbols},
};
use crate::loops::{Symbolic, Term};
use crate::map::ClassId;
use crate::stream::{EntryRun, Interval};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// The expressions and objects for which atomic symbols stand.
#[derive(Default)]
pub(super) struct Names(RefCell<Known>);

#[derive(Default)]
struct Known {
    exprs: FxHashMap<u32, Expr>,
    numbers: FxHashMap<Expr, u32>,
    runs: Vec<EntryRun<Term>>,
    counted: Vec<Opened>,
    pieces: Vec<Piece>,
}

/// Appends to a list. Returns the number of the element.
fn put<T>(all: &mut Vec<T>, one: T) -> u32 {
    all.push(one);
    all.len() as u32 - 1
}

impl Names {
    /// The symbol of an expression.
    pub fn of(&self, symbols: &Symbols, e: Expr) -> Sym {
        let meaning = match e {
            Expr::Const(x) => Meaning::Constant(x),
            Expr::Op(op, args) => Meaning::Of(op, args.into_iter().map(|e| self.of(symbols, e)).collect()),
            Expr::Var(_) => Meaning::Held(self.number(symbols, e)),
            Expr::Load(..) | Expr::Among(..) | Expr::Capacity(_) => Meaning::Read(self.number(symbols, e)),
        };
        symbols.of(meaning)
    }

    /// The number of a variable or load.
    fn number(&self, symbols: &Symbols, e: Expr) -> u32 {
        let Known { exprs, numbers, .. } = &mut *self.0.borrow_mut();
        *numbers.entry(e).or_insert_with_key(|e| {
            let number = symbols.next();
            exprs.insert(number, e.clone());
            number
        })
    }
}

impl Context<'_> {
    /// The symbol of an expression.
    pub fn sym(&self, e: Expr) -> Sym {
        self.names.of(&self.symbols, e)
    }

    /// The expression of a symbol.
    pub fn expr(&self, s: Sym) -> Expr {
        match self.symbols.meaning(s) {
            Meaning::Constant(x) => Expr::Const(x),
            Meaning::Held(number) | Meaning::Read(number) => self.names.0.borrow().exprs[&number].clone(),
            Meaning::Of(op, args) => Expr::Op(op, args.into_iter().map(|arg| self.expr(arg)).collect()),
        }
    }

    /// Defines the expression for which an atomic symbol stands.
    fn say(&self, s: Sym, e: Expr) {
        if let Meaning::Held(number) | Meaning::Read(number) = self.symbols.meaning(s) {
            let Known { exprs, numbers, .. } = &mut *self.names.0.borrow_mut();
            numbers.entry(e.clone()).or_insert(number);
            exprs.insert(number, e);
        }
    }

    /// Emits the values to compute before a loop.
    pub fn emit_given(&self, d: &mut Symbolic, given: Given) {
        for one in given.0 {
            match one {
                Let::Held { name, ty, it, of } => {
                    let value = d.define(&name, ty, self.expr(of));
                    self.say(it, value);
                }
                Let::Value { it, of, at } => {
                    let value = fiber::value(self, d, &at, &of);
                    self.say(it, value);
                }
                Let::Interval { of, at, is } => {
                    let Interval { start, stop, base } = structure::listed_interval(self, d, &at, of);
                    [(is.start, start), (is.stop, stop), (is.base, base)].into_iter().for_each(|(s, e)| self.say(s, e));
                }
            }
        }
    }

    /// The expression of an extent.
    pub fn extent(&self, class: ClassId) -> Expr {
        self.expr(self.extents.name(class))
    }

    /// A bound that extents do not determine.
    pub fn bound(&self, at: Expr) -> Bound {
        Bound::at(self.sym(at))
    }

    /// The run of positions for which a symbol stands.
    pub fn run(&self, run: Run) -> EntryRun<Term> {
        self.names.0.borrow().runs[run.0 as usize].clone()
    }

    /// The symbol of a run of positions.
    pub fn name_run(&self, run: EntryRun<Term>) -> Run {
        Run(put(&mut self.names.0.borrow_mut().runs, run))
    }

    /// The opened cut for which a symbol stands.
    pub fn counting(&self, of: Counting) -> Opened {
        self.names.0.borrow().counted[of.0 as usize].clone()
    }

    /// The symbol of an opened cut.
    pub fn name_counting(&self, of: Opened) -> Counting {
        Counting(put(&mut self.names.0.borrow_mut().counted, of))
    }

    /// The piece of a cut for which a symbol stands.
    pub fn piece(&self, of: Stretch) -> Piece {
        self.names.0.borrow().pieces[of.0 as usize].clone()
    }

    /// The symbol of a piece of a cut.
    pub fn name_piece(&self, of: Piece) -> Stretch {
        Stretch(put(&mut self.names.0.borrow_mut().pieces, of))
    }

    /// An interval's ends and base, as expressions.
    pub fn interval(&self, Interval { start, stop, base }: &Interval<Sym>) -> Interval<Expr> {
        Interval { start: self.expr(*start), stop: self.expr(*stop), base: self.expr(*base) }
    }

    /// An interval's ends and base, as symbols.
    pub fn name_interval(&self, Interval { start, stop, base }: Interval<Expr>) -> Interval<Sym> {
        Interval { start: self.sym(start), stop: self.sym(stop), base: self.sym(base) }
    }

    /// The condition under which an access has a fiber; `None` if it always has.
    pub fn present(&self, fiber: &Fiber) -> Option<Expr> {
        let all = fiber.present.iter().rev().map(|c| self.expr(*c));
        all.reduce(|older, newer| binary(Op::AndAlso, newer, older))
    }

    /// `e` where an access has a fiber, 0 elsewhere.
    pub fn if_present(&self, fiber: &Fiber, e: Expr) -> Expr {
        match self.present(fiber) {
            Some(present) => Expr::Op(Op::Select, vec![present, e, int(0)]),
            None => e,
        }
    }
}
