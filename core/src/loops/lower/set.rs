//! A set of one variable's coordinates: filled in any order, read in ascending order, and no sort.
//!
//! ```text
//!   bits[j / 64]         a bit a coordinate
//!   words[j / 4096]      a bit for each of 64 words of bits: it is not 0
//!   blocks[j / 32768]    whether any of 8 such words is not 0
//! ```
//!
//! The cost of an insertion does not depend on the extent. Reading tests a flag for each block of the extent, the 8
//! words of each block that is not empty, and the words of bits that are not 0: for a row of few entries among millions
//! of columns that is little more than sorting the row.
//!
//! Invariant: reading leaves bits, words and blocks clear.

use super::output::alloc;
use super::{Expr, binary, int, plus, times};
use crate::algebra::{Op, Type, Value};
use crate::loops::arith::yes;
use crate::loops::{BufferId, Role, Stmt, Symbolic, Var};

/// log₂ of the coordinates of a word, and of the words that a word of words stands for.
const WORD: i64 = 6;

/// log₂ of the words of words of a block. A block has a flag and not a bit: storing it does not wait for a load.
const BLOCK: i64 = 3;

/// A set of coordinates.
pub(super) struct Set {
    bits: BufferId,
    words: BufferId,
    blocks: BufferId,
}

impl Set {
    /// An empty set of coordinates below `extent`.
    pub fn begin(d: &mut Symbolic, name: &str, extent: &Expr) -> Set {
        let mut buffer = |what: &str, ty: Type, shift: i64| {
            let buffer = d.buffer(&format!("{name}{what}"), ty, Role::Workspace);
            let len = shifted(plus(extent.clone(), int((1 << shift) - 1)), shift);
            alloc(d, buffer, len, Some(Value::zero(ty)));
            buffer
        };
        Set {
            bits: buffer("bits", Type::I64, WORD),
            words: buffer("words", Type::I64, 2 * WORD),
            blocks: buffer("blocks", Type::Bool, 2 * WORD + BLOCK),
        }
    }

    /// The condition that a coordinate is not in the set.
    pub fn absent(&self, at: &Expr) -> Expr {
        let bits = load(self.bits, shifted(at.clone(), WORD));
        binary(Op::Eq, binary(Op::And, bits, binary(Op::Shl, int(1), at.clone())), int(0))
    }

    /// Inserts a coordinate that is not in the set. (Inserting without the test would make each insertion into a word
    /// wait for the last.)
    pub fn insert(&self, d: &mut Symbolic, at: &Expr) {
        let up = |levels: i64| shifted(at.clone(), WORD * levels);
        let set = |d: &mut Symbolic, buffer: BufferId, level: i64| {
            // A shift goes by the distance modulo 64.
            let joined = binary(Op::Or, load(buffer, up(level)), binary(Op::Shl, int(1), up(level - 1)));
            d.emit(Stmt::Store(buffer, up(level), joined));
        };
        set(d, self.bits, 1);
        set(d, self.words, 2);
        d.emit(Stmt::Store(self.blocks, shifted(at.clone(), 2 * WORD + BLOCK), yes()));
    }

    /// Inserts a coordinate and the `distance` ones behind it, below 63, whether or not they are in the set.
    pub fn insert_all(&self, d: &mut Symbolic, first: &Expr, distance: Expr) {
        let all = binary(Op::Sub, binary(Op::Shl, int(2), distance), int(1));
        let all = d.define("all", Type::I64, all);
        let word = d.define("word", Type::I64, shifted(first.clone(), WORD));
        self.join(d, &word, binary(Op::Shl, all.clone(), first.clone()));
        // Two shifts, since a shift by 64 is one by 0.
        let beyond = binary(Op::Shr, shifted(all, 1), binary(Op::Xor, first.clone(), int(63)));
        let beyond = d.define("beyond", Type::I64, beyond);
        let next = |d: &mut Symbolic| self.join(d, &plus(word, int(1)), beyond.clone());
        d.when(binary(Op::Ne, beyond.clone(), int(0)), next, |_| {});
    }

    /// Adds bits to a word.
    fn join(&self, d: &mut Symbolic, word: &Expr, with: Expr) {
        let up = |levels: i64| shifted(word.clone(), WORD * levels);
        d.emit(Stmt::Store(self.bits, word.clone(), binary(Op::Or, load(self.bits, word.clone()), with)));
        let bit = binary(Op::Shl, int(1), word.clone());
        d.emit(Stmt::Store(self.words, up(1), binary(Op::Or, load(self.words, up(1)), bit)));
        d.emit(Stmt::Store(self.blocks, shifted(word.clone(), WORD + BLOCK), yes()));
    }

    /// Removes all coordinates, in ascending order; `inner` is emitted for each.
    pub fn drain(&self, d: &mut Symbolic, name: &str, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        self.each_word(d, &mut |d, word, bits| each_bit(d, name, (word, bits), |d, at| inner(d, at)));
    }

    /// Removes all coordinates two by two; the second is one only where the condition that comes with it holds. The
    /// number of bits in a word is unpredictable, but where coordinates are few it is mostly one or two, so that the
    /// loop has one turn.
    pub fn drain_pairs(&self, d: &mut Symbolic, inner: &mut dyn FnMut(&mut Symbolic, Expr, Option<Expr>)) {
        self.each_word(d, &mut |d, word, bits| {
            while_some(d, (word, bits), |d, first, rest| {
                inner(d, plus(first.clone(), lowest(rest)), None);
                drop_lowest(d, rest);
                // If no bit is left, `ctz` is 64: keep the coordinate within this word.
                let second = binary(Op::And, lowest(rest), int(63));
                inner(d, plus(first, second), Some(some(rest)));
                drop_lowest(d, rest);
            });
        });
    }

    /// Removes every word that is not 0; `inner` gets its number and its bits.
    fn each_word(&self, d: &mut Symbolic, inner: &mut dyn FnMut(&mut Symbolic, Expr, Expr)) {
        d.each("block", int(0), Expr::Capacity(self.blocks), |d, block| {
            let some = |d: &mut Symbolic| {
                d.emit(Stmt::Store(self.blocks, block.clone(), Expr::Const(Value::bool(false))));
                let begin = times(block.clone(), int(1 << BLOCK));
                let end = plus(begin.clone(), int(1 << BLOCK));
                d.each("group", begin, binary(Op::Min, end, Expr::Capacity(self.words)), |d, group| {
                    let some = take(d, self.words, &group);
                    each_bit(d, "word", (group, some), |d, word| {
                        let some = take(d, self.bits, &word);
                        inner(d, word, some);
                    });
                });
            };
            d.when(load(self.blocks, block.clone()), some, |_| {});
        });
    }
}

/// Loads a word and clears it.
fn take(d: &mut Symbolic, words: BufferId, at: &Expr) -> Expr {
    let taken = d.define("taken", Type::I64, load(words, at.clone()));
    d.emit(Stmt::Store(words, at.clone(), int(0)));
    taken
}

/// A loop over the coordinates of a word's set bits, ascending, from the word's number and its bits.
fn each_bit(d: &mut Symbolic, name: &str, (word, bits): (Expr, Expr), inner: impl FnOnce(&mut Symbolic, Expr)) {
    while_some(d, (word, bits), |d, first, rest| {
        let at = d.define(name, Type::I64, plus(first, lowest(rest)));
        drop_lowest(d, rest);
        inner(d, at);
    });
}

/// A loop while a word has bits left: `inner` gets the coordinate of bit 0, and the variable that holds the bits.
fn while_some(d: &mut Symbolic, (word, bits): (Expr, Expr), inner: impl FnOnce(&mut Symbolic, Expr, Var)) {
    let first = d.define("first", Type::I64, times(word, int(64)));
    let rest = d.fresh("bits", Type::I64);
    d.assign(rest, bits);
    d.during(some(rest), |d| inner(d, first, rest));
}

/// The condition that a bit is set.
fn some(bits: Var) -> Expr {
    binary(Op::Ne, Expr::Var(bits), int(0))
}

/// The number of the lowest bit that is set.
fn lowest(bits: Var) -> Expr {
    Expr::Op(Op::TrailingZeros, vec![Expr::Var(bits)])
}

fn drop_lowest(d: &mut Symbolic, bits: Var) {
    let less = binary(Op::Sub, Expr::Var(bits), int(1));
    d.assign(bits, binary(Op::And, Expr::Var(bits), less));
}

fn load(buffer: BufferId, at: Expr) -> Expr {
    Expr::Load(buffer, Box::new(at))
}

/// `e` divided by a power of two, rounded down.
fn shifted(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { binary(Op::Shr, e, int(by)) }
}
