//! A set of one variable's coordinates: filled in any order, read in ascending order, and no sort.
//!
//! ```text
//!   bits[j / 64]         a bit a coordinate
//!   words[j / 4096]      a bit for each of 64 words of bits: it is not 0
//!   blocks[j / 262144]   whether any of 64 such words is not 0
//! ```
//!
//! What an insertion costs does not depend on the extent; reading looks at a truth value for each block of the extent, at
//! the 64 words of each block that has something, and at what is there. Three levels, so that a row of few entries among
//! millions of columns costs no more than to sort it would.
//!
//! Invariant: reading leaves the set empty.

use super::nest::yes;
use super::output::alloc;
use super::{Expr, binary, int, plus, times};
use crate::algebra::{Op, Type, Value};
use crate::loops::{BufferId, Role, Stmt, Var};
use crate::stream::Symbolic;

/// Coordinates that are written to the list at once, whether a word has so many or not: a turn for each would end at a
/// place that no branch predictor foresees.
const AT_ONCE: i64 = 4;

/// How far the bit number of a coordinate is shifted to that of its word's bit, and so on.
const WORD: i64 = 6;

/// A set of coordinates.
pub(super) struct Set {
    bits: BufferId,
    words: BufferId,
    blocks: BufferId,
    /// Where the coordinates are listed.
    list: BufferId,
}

impl Set {
    /// An empty set of coordinates below `extent`; they will be listed as `crd`s.
    pub fn begin(d: &mut Symbolic, name: &str, extent: &Expr, crd: Type) -> Set {
        let mut buffer = |what: &str, ty: Type| d.buffer(&format!("{name}{what}"), ty, Role::Workspace);
        let list = buffer("list", crd);
        let (bits, words) = (buffer("bits", Type::I64), buffer("words", Type::I64));
        let blocks = buffer("blocks", Type::Bool);
        // Behind the last word's coordinates there is room for what is written and not kept.
        alloc(d, list, plus(extent.clone(), int(AT_ONCE - 1)), None);
        for (level, buffer) in [(1, bits), (2, words), (3, blocks)] {
            let shift = WORD * level;
            let len = shifted(plus(extent.clone(), int((1 << shift) - 1)), shift);
            alloc(d, buffer, len, Some(Value::zero(d.element(buffer))));
        }
        Set { bits, words, blocks, list }
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
        d.when(
            absent,
            |d| {
                set(d, self.bits, 1);
                set(d, self.words, 2);
                d.emit(Stmt::Store(self.blocks, up(3), yes()));
                first(d);
            },
            again,
        );
    }

    /// Lists all coordinates in ascending order, and takes them out; `count` becomes how many there were.
    pub fn list(&self, d: &mut Symbolic, count: Var) {
        d.assign(count, int(0));
        d.each("block", int(0), Expr::Capacity(self.blocks), |d, block| {
            let some = |d: &mut Symbolic| {
                d.emit(Stmt::Store(self.blocks, block.clone(), Expr::Const(Value::bool(false))));
                let begin = times(block.clone(), int(64));
                let end = binary(Op::Min, plus(begin.clone(), int(64)), Expr::Capacity(self.words));
                d.each("group", begin, end, |d, group| self.list_group(d, group, count));
            };
            d.when(load(self.blocks, block.clone()), some, |_| {});
        });
    }

    /// Lists the coordinates of the words of bits that an element of `words` stands for.
    fn list_group(&self, d: &mut Symbolic, group: Expr, count: Var) {
        let words = d.fresh("words", Type::I64);
        d.assign(words, load(self.words, group.clone()));
        let some = binary(Op::Ne, Expr::Var(words), int(0));
        let each = |d: &mut Symbolic| {
            d.emit(Stmt::Store(self.words, group.clone(), int(0)));
            d.during(some.clone(), |d| {
                let word = plus(times(group, int(64)), ctz(words));
                let word = d.define("word", Type::I64, word);
                without_lowest(d, words);
                self.list_word(d, word, count);
            });
        };
        d.when(some.clone(), each, |_| {});
    }

    /// Lists the coordinates of a word of bits that is not 0.
    fn list_word(&self, d: &mut Symbolic, word: Expr, count: Var) {
        let crd = d.element(self.list);
        let narrow = |e: Expr| if crd == Type::I64 { e } else { Expr::Op(Op::Convert(crd), vec![e]) };
        let first = d.define("first", crd, narrow(times(word.clone(), int(64))));
        let (bits, at) = (d.fresh("bits", Type::I64), d.fresh("at", Type::I64));
        d.assign(bits, load(self.bits, word.clone()));
        d.emit(Stmt::Store(self.bits, word, int(0)));
        d.assign(at, Expr::Var(count));
        d.assign(count, plus(Expr::Var(count), Expr::Op(Op::CountOnes, vec![Expr::Var(bits)])));
        d.during(binary(Op::Lt, Expr::Var(at), Expr::Var(count)), |d| {
            for more in 0..AT_ONCE {
                let j = binary(Op::Add, first.clone(), narrow(ctz(bits)));
                d.emit(Stmt::Store(self.list, plus(Expr::Var(at), int(more)), j));
                without_lowest(d, bits);
            }
            d.assign(at, plus(Expr::Var(at), int(AT_ONCE)));
        });
    }

    /// Coordinate `at` of those that were listed.
    pub fn listed(&self, d: &Symbolic, at: Expr) -> Expr {
        d.index(self.list, at)
    }
}

fn load(buffer: BufferId, at: Expr) -> Expr {
    Expr::Load(buffer, Box::new(at))
}

/// `e` divided by a power of two, rounded down.
fn shifted(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { binary(Op::Shr, e, int(by)) }
}

fn ctz(v: Var) -> Expr {
    Expr::Op(Op::TrailingZeros, vec![Expr::Var(v)])
}

/// Clears the lowest bit that is set, if there is one.
fn without_lowest(d: &mut Symbolic, bits: Var) {
    let less = binary(Op::Sub, Expr::Var(bits), int(1));
    d.assign(bits, binary(Op::And, Expr::Var(bits), less));
}
