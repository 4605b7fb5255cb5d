//! A set of one variable's coordinates: filled in any order, read in ascending order, and no sort.
//!
//! ```text
//!   bits[j / 64]         a bit a coordinate
//!   words[j / 4096]      a bit for each of 64 words of bits: it is not 0
//!   blocks[j / 262144]   whether any of 64 such words is not 0
//! ```
//!
//! What an insertion costs does not depend on the extent; reading looks at a truth value for each block of the extent, at
//! the 64 words of each block that has something, and at what is there: of a row of few entries among millions of columns
//! that is little more than to sort it would be.
//!
//! Invariant: reading leaves bits, words and blocks clear.

use super::nest::yes;
use super::output::alloc;
use super::{Expr, binary, int, plus, times};
use crate::algebra::{Op, Type, Value};
use crate::loops::{BufferId, Role, Stmt};
use crate::stream::Symbolic;

/// How far a coordinate is shifted to find its word, and a word's number to find that word's.
const WORD: i64 = 6;

/// A set of coordinates.
pub(super) struct Set {
    bits: BufferId,
    words: BufferId,
    blocks: BufferId,
}

impl Set {
    /// An empty set of coordinates below `extent`.
    pub fn begin(d: &mut Symbolic, name: &str, extent: &Expr) -> Set {
        let mut buffer = |what: &str, ty: Type| d.buffer(&format!("{name}{what}"), ty, Role::Workspace);
        let (bits, words) = (buffer("bits", Type::I64), buffer("words", Type::I64));
        let blocks = buffer("blocks", Type::Bool);
        for (level, buffer) in [(1, bits), (2, words), (3, blocks)] {
            let shift = WORD * level;
            let len = shifted(plus(extent.clone(), int((1 << shift) - 1)), shift);
            alloc(d, buffer, len, Some(Value::zero(d.element(buffer))));
        }
        Set { bits, words, blocks }
    }

    /// Puts in a coordinate; `again` is what else happens if it is in already, `first` if it is not.
    pub fn insert(
        &self,
        d: &mut Symbolic,
        at: &Expr,
        first: impl FnOnce(&mut Symbolic),
        again: impl FnOnce(&mut Symbolic),
    ) {
        let up = |levels: i64| shifted(at.clone(), WORD * levels);
        // A shift goes by the distance modulo 64.
        let bit = |levels: i64| binary(Op::Shl, int(1), up(levels));
        let absent = binary(Op::Eq, binary(Op::And, load(self.bits, up(1)), bit(0)), int(0));
        let set = |d: &mut Symbolic, buffer: BufferId, level: i64| {
            let joined = binary(Op::Or, load(buffer, up(level)), bit(level - 1));
            d.emit(Stmt::Store(buffer, up(level), joined));
        };
        let insert = |d: &mut Symbolic| {
            // A write each time would make the next one to the same word wait for it.
            set(d, self.bits, 1);
            set(d, self.words, 2);
            d.emit(Stmt::Store(self.blocks, up(3), yes()));
            first(d);
        };
        d.when(absent, insert, again);
    }

    /// Takes out all coordinates, in ascending order.
    pub fn drain(&self, d: &mut Symbolic, name: &str, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        d.each("block", int(0), Expr::Capacity(self.blocks), |d, block| {
            let some = |d: &mut Symbolic| {
                d.emit(Stmt::Store(self.blocks, block.clone(), Expr::Const(Value::bool(false))));
                let begin = times(block.clone(), int(64));
                let end = binary(Op::Min, plus(begin.clone(), int(64)), Expr::Capacity(self.words));
                d.each("group", begin, end, |d, group| {
                    let words = d.define("group_words", Type::I64, load(self.words, group.clone()));
                    let clear = Stmt::Store(self.words, group.clone(), int(0));
                    let each = |d: &mut Symbolic| {
                        d.emit(clear);
                        each_bit(d, "words", words.clone(), |d, bit| {
                            let word = d.define("word", Type::I64, plus(times(group, int(64)), bit));
                            self.drain_word(d, name, word, inner);
                        });
                    };
                    d.when(binary(Op::Ne, words.clone(), int(0)), each, |_| {});
                });
            };
            d.when(load(self.blocks, block.clone()), some, |_| {});
        });
    }

    fn drain_word(&self, d: &mut Symbolic, name: &str, word: Expr, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        let first = d.define("first", Type::I64, times(word.clone(), int(64)));
        let bits = d.define("word_bits", Type::I64, load(self.bits, word.clone()));
        d.emit(Stmt::Store(self.bits, word, int(0)));
        each_bit(d, "bits", bits, |d, bit| {
            let at = d.define(name, Type::I64, plus(first, bit));
            inner(d, at);
        });
    }
}

/// The numbers of the bits that are set, ascending.
fn each_bit(d: &mut Symbolic, name: &str, of: Expr, inner: impl FnOnce(&mut Symbolic, Expr)) {
    let rest = d.fresh(name, Type::I64);
    d.assign(rest, of);
    d.during(binary(Op::Ne, Expr::Var(rest), int(0)), |d| {
        let lowest = d.define("bit", Type::I64, Expr::Op(Op::TrailingZeros, vec![Expr::Var(rest)]));
        let less = binary(Op::Sub, Expr::Var(rest), int(1));
        d.assign(rest, binary(Op::And, Expr::Var(rest), less));
        inner(d, lowest);
    });
}

fn load(buffer: BufferId, at: Expr) -> Expr {
    Expr::Load(buffer, Box::new(at))
}

/// `e` divided by a power of two, rounded down.
fn shifted(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { binary(Op::Shr, e, int(by)) }
}
