//! What symbols stand for: expressions, and what else loops around have opened.

use super::cut::{Opened, Piece};
use super::{Context, Expr, binary, int};
use crate::algebra::Op;
use crate::loops::Term;
use crate::loops::choose::{
    range::Bound,
    scope::Fiber,
    symbol::{Counting, Run, Stretch, Sym},
};
use crate::map::ClassId;
use crate::stream::{EntryRun, Interval};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// What each symbol stands for.
pub(super) struct Symbols(RefCell<Known>);

struct Known {
    exprs: Vec<Expr>,
    numbers: FxHashMap<Expr, Sym>,
    runs: Vec<EntryRun<Term>>,
    counted: Vec<Opened>,
    pieces: Vec<Piece>,
}

impl Default for Symbols {
    fn default() -> Symbols {
        let numbers = [(int(0), Sym::ZERO)].into_iter().collect();
        Symbols(RefCell::new(Known { exprs: vec![int(0)], numbers, runs: vec![], counted: vec![], pieces: vec![] }))
    }
}

/// The number of what is put at the end of a list.
fn put<T>(all: &mut Vec<T>, one: T) -> u32 {
    all.push(one);
    all.len() as u32 - 1
}

impl Symbols {
    /// The symbol of an expression.
    pub fn of(&self, e: Expr) -> Sym {
        let Known { exprs, numbers, .. } = &mut *self.0.borrow_mut();
        *numbers.entry(e).or_insert_with_key(|e| Sym(put(exprs, e.clone())))
    }
}

impl Context<'_> {
    /// The symbol of an expression.
    pub fn sym(&self, e: Expr) -> Sym {
        self.symbols.of(e)
    }

    /// The expression of a symbol.
    pub fn expr(&self, s: Sym) -> Expr {
        self.symbols.0.borrow().exprs[s.0 as usize].clone()
    }

    /// An extent as an expression.
    pub fn extent(&self, class: ClassId) -> Expr {
        self.expr(self.extents.name(class))
    }

    /// A bound that is not known in terms of extents.
    pub fn bound(&self, at: Expr) -> Bound {
        Bound::at(self.sym(at))
    }

    /// The run of positions that a symbol stands for.
    pub fn run(&self, run: Run) -> EntryRun<Term> {
        self.symbols.0.borrow().runs[run.0 as usize].clone()
    }

    /// The symbol of a run of positions.
    pub fn name_run(&self, run: EntryRun<Term>) -> Run {
        Run(put(&mut self.symbols.0.borrow_mut().runs, run))
    }

    /// What a cut counts.
    pub fn counting(&self, of: Counting) -> Opened {
        self.symbols.0.borrow().counted[of.0 as usize].clone()
    }

    /// The symbol of what a cut counts.
    pub fn name_counting(&self, of: Opened) -> Counting {
        Counting(put(&mut self.symbols.0.borrow_mut().counted, of))
    }

    /// The piece of a cut that a symbol stands for.
    pub fn piece(&self, of: Stretch) -> Piece {
        self.symbols.0.borrow().pieces[of.0 as usize].clone()
    }

    /// The symbol of a piece of a cut.
    pub fn name_piece(&self, of: Piece) -> Stretch {
        Stretch(put(&mut self.symbols.0.borrow_mut().pieces, of))
    }

    /// An interval's ends and base, as expressions.
    pub fn interval(&self, Interval { start, stop, base }: &Interval<Sym>) -> Interval<Expr> {
        Interval { start: self.expr(*start), stop: self.expr(*stop), base: self.expr(*base) }
    }

    /// The same by their symbols.
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
