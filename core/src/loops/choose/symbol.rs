//! Symbols: names of values, and arithmetic on them. Decisions know a value only as a symbol: whether it equals another, is a number, or
//! is a function of others. The expressions of the remaining symbols are known where loops are emitted (`lower/symbols.rs`).

use crate::algebra::{Op, Value};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// A coordinate, a position or a condition. Symbols that are built in the same way from the same symbols are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sym(u32);

impl Sym {
    /// The number 0.
    pub const ZERO: Sym = Sym(0);
}

/// The positions of an entry that has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run(pub u32);

/// The count of a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counting(pub u32);

/// A cut's piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch(pub u32);

/// The meaning of a symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    /// A constant.
    Constant(Value),
    /// The value of a variable, by a number.
    Held(u32),
    /// A value that is read where it is used, by a number.
    Read(u32),
    /// A built-in function of other symbols.
    Of(Op, Vec<Sym>),
}

/// All symbols of a kernel.
pub struct Symbols(RefCell<Known>);

struct Known {
    meanings: Vec<Meaning>,
    symbols: FxHashMap<Meaning, Sym>,
    /// The number of held and read symbols.
    named: u32,
}

impl Default for Symbols {
    fn default() -> Symbols {
        let zero = Meaning::Constant(Value::i64(0));
        let symbols = [(zero.clone(), Sym::ZERO)].into_iter().collect();
        Symbols(RefCell::new(Known { meanings: vec![zero], symbols, named: 0 }))
    }
}

impl Symbols {
    /// The symbol with this meaning.
    pub fn of(&self, meaning: Meaning) -> Sym {
        let Known { meanings, symbols, .. } = &mut *self.0.borrow_mut();
        *symbols.entry(meaning).or_insert_with_key(|meaning| {
            meanings.push(meaning.clone());
            Sym(meanings.len() as u32 - 1)
        })
    }

    /// The meaning of a symbol.
    pub fn meaning(&self, s: Sym) -> Meaning {
        self.0.borrow().meanings[s.0 as usize].clone()
    }

    /// The next number for a held or read symbol.
    pub fn next(&self) -> u32 {
        let known = &mut *self.0.borrow_mut();
        known.named += 1;
        known.named - 1
    }

    /// A symbol for the value of a new variable.
    pub fn held(&self) -> Sym {
        self.of(Meaning::Held(self.next()))
    }

    /// A symbol for a value that is read where it is used.
    pub fn read(&self) -> Sym {
        self.of(Meaning::Read(self.next()))
    }

    /// Whether a symbol is a constant or the value of a variable.
    pub fn is_held(&self, s: Sym) -> bool {
        matches!(self.0.borrow().meanings[s.0 as usize], Meaning::Constant(_) | Meaning::Held(_))
    }

    /// The symbol of an integer.
    pub fn int(&self, x: i64) -> Sym {
        self.of(Meaning::Constant(Value::i64(x)))
    }

    /// The integer that a symbol stands for, if it is constant.
    pub fn number(&self, s: Sym) -> Option<i64> {
        if let Meaning::Constant(x) = self.0.borrow().meanings[s.0 as usize] { Some(x.bits() as i64) } else { None }
    }

    /// The symbol of a built-in function of other symbols.
    pub fn op(&self, op: Op, args: impl Into<Vec<Sym>>) -> Sym {
        self.of(Meaning::Of(op, args.into()))
    }

    /// `a + b`, with constants combined at the end.
    pub fn plus(&self, a: Sym, b: Sym) -> Sym {
        match (self.number(a), self.number(b)) {
            (Some(x), Some(y)) => self.int(x.wrapping_add(y)),
            (Some(0), None) => b,
            (None, Some(0)) => a,
            (None, Some(y)) => match self.sum(a) {
                Some((of, x)) => self.plus(of, self.int(x.wrapping_add(y))),
                None => self.op(Op::Add, [a, b]),
            },
            (_, None) => self.op(Op::Add, [a, b]),
        }
    }

    /// A sum with a number as its symbol and number, if a symbol is such a sum.
    fn sum(&self, s: Sym) -> Option<(Sym, i64)> {
        let Meaning::Of(Op::Add, args) = self.meaning(s) else { return None };
        Some((args[0], self.number(args[1])?))
    }

    /// `a - b`.
    pub fn sub(&self, a: Sym, b: Sym) -> Sym {
        self.op(Op::Sub, [a, b])
    }

    /// `a - b`, without subtracting 0.
    pub fn minus(&self, a: Sym, b: Sym) -> Sym {
        if b == Sym::ZERO { a } else { self.sub(a, b) }
    }

    /// `a - b`, as the addition of the negated number if `b` is a number.
    pub fn less(&self, a: Sym, b: Sym) -> Sym {
        self.number(b).map_or_else(|| self.sub(a, b), |b| self.plus(a, self.int(b.wrapping_neg())))
    }

    /// `a · b`, without multiplying by 0 or 1.
    pub fn times(&self, a: Sym, b: Sym) -> Sym {
        match (self.number(a), self.number(b)) {
            (Some(0), _) | (_, Some(0)) => Sym::ZERO,
            (Some(1), _) => b,
            (_, Some(1)) => a,
            _ => self.op(Op::Mul, [a, b]),
        }
    }

    /// The minimum of two symbols.
    pub fn min(&self, a: Sym, b: Sym) -> Sym {
        self.op(Op::Min, [a, b])
    }

    /// The maximum of two symbols.
    pub fn max(&self, a: Sym, b: Sym) -> Sym {
        self.op(Op::Max, [a, b])
    }

    /// `a - b`, if the form of `a` shows that it is a number.
    pub fn ahead(&self, a: Sym, b: Sym) -> Option<i64> {
        if a == b { Some(0) } else { self.sum(a).filter(|(of, _)| *of == b).map(|(_, n)| n) }
    }
}
