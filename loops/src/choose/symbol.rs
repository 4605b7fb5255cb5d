//! Symbols: names of values, and arithmetic on them. Decisions know a value only as a symbol: whether it equals another, is a number, or
//! is a function of others. The expressions of the remaining symbols are known where loops are emitted (`lower/symbols.rs`).

use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::Holds;
use fiberloom_core::notation::concrete::Place;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// A coordinate, a position or a condition. Symbols that are built in the same way from the same symbols are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sym(u32);

impl Sym {
    /// The number 0.
    pub const ZERO: Sym = Sym(0);
}

/// The name of something that a plan makes and later operations use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Name(pub u32);

/// An array of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Array {
    /// The first array of a level with these contents.
    Level(Place, usize, Holds),
    /// The values.
    Values(Place),
}

/// The meaning of a symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Meaning {
    /// A constant.
    Constant(Value),
    /// The value of a variable, by a number.
    Held(u32),
    /// A value that is read where it is used, by a number.
    Read(u32),
    /// An element of an array; positions and coordinates are 64-bit integers.
    Load(Array, Sym),
    /// The length of an operand's array.
    Length(Array),
    /// A built-in function of other symbols.
    Of(Op, Arc<[Sym]>),
}

/// All symbols of a kernel.
#[derive(Clone, Debug)]
pub struct Symbols(RefCell<Known>);

#[derive(Clone, Debug)]
struct Known {
    meanings: Vec<Meaning>,
    symbols: FxHashMap<Meaning, Sym>,
    /// The names and types of held and read symbols, by number.
    named: Vec<(String, Type)>,
    /// The number of names.
    names: u32,
}

impl Default for Symbols {
    fn default() -> Symbols {
        let zero = Meaning::Constant(Value::i64(0));
        let symbols = [(zero.clone(), Sym::ZERO)].into_iter().collect();
        Symbols(RefCell::new(Known { meanings: vec![zero], symbols, named: vec![], names: 0 }))
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

    /// A new name.
    pub fn name(&self) -> Name {
        let known = &mut *self.0.borrow_mut();
        known.names += 1;
        Name(known.names - 1)
    }

    /// A number for a held or read symbol.
    fn next(&self, name: &str, ty: Type) -> u32 {
        let named = &mut self.0.borrow_mut().named;
        named.push((name.to_string(), ty));
        named.len() as u32 - 1
    }

    /// A symbol for the value of a new variable.
    pub fn held(&self, name: &str, ty: Type) -> Sym {
        self.of(Meaning::Held(self.next(name, ty)))
    }

    /// A symbol for a value that is read where it is used.
    pub fn read(&self, name: &str, ty: Type) -> Sym {
        self.of(Meaning::Read(self.next(name, ty)))
    }

    /// The name and type of a held or read symbol; `None` for any other.
    pub fn named(&self, s: Sym) -> Option<(String, Type)> {
        let known = self.0.borrow();
        match known.meanings[s.0 as usize] {
            Meaning::Held(number) | Meaning::Read(number) => Some(known.named[number as usize].clone()),
            _ => None,
        }
    }

    /// The held and read symbols so far, in the order in which they were made.
    pub fn all_named(&self) -> Vec<Sym> {
        let known = self.0.borrow();
        let named = |(_, meaning): &(usize, &Meaning)| matches!(meaning, Meaning::Held(_) | Meaning::Read(_));
        known.meanings.iter().enumerate().filter(named).map(|(at, _)| Sym(at as u32)).collect()
    }

    /// The value of a symbol, if it is constant.
    pub fn constant(&self, s: Sym) -> Option<Value> {
        if let Meaning::Constant(x) = self.0.borrow().meanings[s.0 as usize] { Some(x) } else { None }
    }

    /// The symbol of a constant.
    pub fn value(&self, x: Value) -> Sym {
        self.of(Meaning::Constant(x))
    }

    /// A condition's symbol: `true` or `false`.
    pub fn bool(&self, x: bool) -> Sym {
        self.value(Value::bool(x))
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
        self.constant(s).map(|x| x.bits() as i64)
    }

    /// The symbol of a built-in function of other symbols.
    pub fn op(&self, op: Op, args: impl Into<Arc<[Sym]>>) -> Sym {
        self.of(Meaning::Of(op, args.into()))
    }

    /// An element of an array.
    pub fn load(&self, array: Array, at: Sym) -> Sym {
        self.of(Meaning::Load(array, at))
    }

    /// `a && b`.
    pub fn and(&self, a: Sym, b: Sym) -> Sym {
        self.op(Op::AndAlso, [a, b])
    }

    /// All of these conditions, the first one outermost; `None` if there are none.
    pub fn all(&self, conditions: impl IntoIterator<Item = Sym>) -> Option<Sym> {
        conditions.into_iter().reduce(|a, b| self.and(a, b))
    }

    /// `a || b`.
    pub fn or(&self, a: Sym, b: Sym) -> Sym {
        self.op(Op::OrElse, [a, b])
    }

    /// `a` where a condition holds, else `b`.
    pub fn select(&self, c: Sym, a: Sym, b: Sym) -> Sym {
        self.op(Op::Select, [c, a, b])
    }

    /// `a + b`; the sum of two numbers is a number.
    pub fn add(&self, a: Sym, b: Sym) -> Sym {
        match (self.number(a), self.number(b)) {
            (Some(x), Some(y)) => self.int(x.wrapping_add(y)),
            _ => self.op(Op::Add, [a, b]),
        }
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
