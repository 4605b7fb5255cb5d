//! A number of 64 bits as a term: as its bits, where sums may wrap; where none may, as an integer, of which it is a claim
//! that it fits. As long as that holds the two are one, and the solver is far quicker with integers.

use fiberloom_loops::stream::{Arith, Compare};
use z3::ast::{BV, Bool, Int};

const BITS: u32 = 64;

/// How numbers are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// As bits.
    Bits,
    /// As integers.
    Whole,
}

impl Kind {
    /// The solver's name for what is asked.
    pub fn logic(self) -> &'static str {
        match self {
            Kind::Bits => "QF_BV",
            Kind::Whole => "QF_LIA",
        }
    }

    /// A constant.
    pub fn constant(self, c: i64) -> Word {
        match self {
            Kind::Bits => Word::Bits(BV::from_i64(c, BITS)),
            Kind::Whole => Word::Whole(Int::from_i64(c)),
        }
    }

    /// A number of which nothing is known.
    pub fn unknown(self, name: String) -> Word {
        match self {
            Kind::Bits => Word::Bits(BV::new_const(name, BITS)),
            Kind::Whole => Word::Whole(Int::new_const(name)),
        }
    }
}

/// A number.
#[derive(Clone, Debug)]
pub enum Word {
    /// As bits.
    Bits(BV),
    /// As an integer.
    Whole(Int),
}

impl Word {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Word::Bits(_) => Kind::Bits,
            Word::Whole(_) => Kind::Whole,
        }
    }

    /// The condition that it has 64 bits.
    pub fn fits(&self) -> Option<Bool> {
        let Word::Whole(x) = self else { return None };
        Some(Bool::and(&[Int::from_i64(i64::MIN).le(x), x.le(Int::from_i64(i64::MAX))]))
    }

    /// A comparison.
    pub fn compare(&self, op: Compare, other: &Word) -> Bool {
        match (self, other, op) {
            (Word::Bits(x), Word::Bits(y), Compare::Lt) => x.bvslt(y),
            (Word::Bits(x), Word::Bits(y), Compare::Le) => x.bvsle(y),
            (Word::Bits(x), Word::Bits(y), Compare::Eq) => x.eq(y),
            (Word::Bits(x), Word::Bits(y), Compare::Ne) => x.ne(y),
            (Word::Whole(x), Word::Whole(y), Compare::Lt) => x.lt(y),
            (Word::Whole(x), Word::Whole(y), Compare::Le) => x.le(y),
            (Word::Whole(x), Word::Whole(y), Compare::Eq) => x.eq(y),
            (Word::Whole(x), Word::Whole(y), Compare::Ne) => x.ne(y),
            _ => unreachable!("numbers of a run are of one kind"),
        }
    }

    /// The value in a model.
    pub fn value(&self, model: &z3::Model) -> i64 {
        match self {
            Word::Bits(x) => model.eval(x, true).and_then(|x| x.as_u64()).map_or(0, |x| x as i64),
            Word::Whole(x) => model.eval(x, true).and_then(|x| x.as_i64()).unwrap_or(0),
        }
    }

    /// An operation, of which the second operand is a constant where that is given; `None` where there is no term for it.
    pub fn arith(&self, op: Arith, other: &Word, constant: Option<i64>) -> Option<Word> {
        match (self, other) {
            (Word::Bits(x), Word::Bits(y)) => Some(Word::Bits(bits(op, x, y))),
            (Word::Whole(x), Word::Whole(y)) => whole(op, x, y, constant).map(Word::Whole),
            _ => unreachable!("numbers of a run are of one kind"),
        }
    }
}

/// `Div` and `Rem` are those of `Concrete`: by 1 at least, rounding down.
fn bits(op: Arith, x: &BV, y: &BV) -> BV {
    let number = |c: i64| BV::from_i64(c, BITS);
    let divisor = || y.bvslt(number(1)).ite(&number(1), y);
    match op {
        Arith::Add => x.bvadd(y),
        Arith::Sub => x.bvsub(y),
        Arith::Mul => x.bvmul(y),
        Arith::Div => x.bvsub(x.bvsmod(divisor())).bvsdiv(divisor()),
        Arith::Rem => x.bvsmod(divisor()),
        Arith::Min => x.bvsle(y).ite(x, y),
        Arith::Max => x.bvsle(y).ite(y, x),
        Arith::And => x.bvand(y),
        Arith::Or => x.bvor(y),
        Arith::Xor => x.bvxor(y),
        Arith::Shl => x.bvshl(y.bvand(number(63))),
        Arith::Shr => x.bvashr(y.bvand(number(63))),
    }
}

fn whole(op: Arith, x: &Int, y: &Int, constant: Option<i64>) -> Option<Int> {
    let power = || constant.filter(|k| (0..62).contains(k)).map(|k| Int::from_i64(1 << k));
    Some(match op {
        Arith::Add => Int::add(&[x, y]),
        Arith::Sub => Int::sub(&[x, y]),
        Arith::Mul => Int::mul(&[x, &Int::from_i64(constant?)]),
        Arith::Div => x.div(Int::from_i64(constant?.max(1))),
        Arith::Rem => x.modulo(Int::from_i64(constant?.max(1))),
        Arith::Min => x.le(y).ite(x, y),
        Arith::Max => x.le(y).ite(y, x),
        Arith::And => x.modulo(Int::from_i64(constant.filter(|c| *c >= 0 && c & (c + 1) == 0 && *c < i64::MAX)? + 1)),
        Arith::Or | Arith::Xor => return None,
        Arith::Shl => Int::mul(&[x, &power()?]),
        Arith::Shr => x.div(power()?),
    })
}
