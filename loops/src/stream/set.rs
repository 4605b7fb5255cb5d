//! A set of coordinates that is filled in any order and read in ascending order, without a sort.
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

use super::domain::{Arith, BufferId, Compare, Domain, State};

/// log₂ of the number of coordinates in a word, and of the number of words that a word of `words` stands for.
const WORD: i64 = 6;

/// log₂ of the number of words of `words` in a block. A block has a flag rather than a bit: storing it does not wait for a load.
const BLOCK: i64 = 3;

/// A set of coordinates, in three arrays.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Words of 64 bits, a bit a coordinate.
    pub bits: BufferId,
    /// A bit for each word that is not 0.
    pub words: BufferId,
    /// A flag for each block that is not empty.
    pub blocks: BufferId,
}

impl Set {
    /// log₂ of the number of coordinates that an element of each array stands for.
    pub const SHIFTS: [i64; 3] = [WORD, 2 * WORD, 2 * WORD + BLOCK];

    /// The condition that a coordinate is not in the set.
    pub fn absent<D: Domain>(&self, d: &mut D, at: &D::I) -> D::B {
        let word = shifted(d, at, WORD);
        let (bits, bit, zero) = (d.load(self.bits, &word), bit(d, at), d.int(0));
        let here = d.arith(Arith::And, &bits, &bit);
        d.compare(Compare::Eq, &here, &zero)
    }

    /// Inserts a coordinate that is not in the set. (Inserting without the test would make each insertion into a word
    /// wait for the last.)
    pub fn insert<D: Domain>(&self, d: &mut D, at: &D::I) {
        set_bit(d, self.bits, at, 1);
        set_bit(d, self.words, at, 2);
        let block = shifted(d, at, 2 * WORD + BLOCK);
        d.mark(self.blocks, &block, true);
    }

    /// Inserts a coordinate and the `distance` ones behind it, which may be in the set already; `distance` is below 63.
    pub fn insert_all<D: Domain>(&self, d: &mut D, first: &D::I, distance: &D::I) {
        let [one, two, last] = [1, 2, 63].map(|n| d.int(n));
        let beyond = d.arith(Arith::Shl, &two, distance);
        let all = d.arith(Arith::Sub, &beyond, &one);
        let all = d.snapshot("all", all);
        let word = shifted(d, first, WORD);
        let word = d.snapshot("word", word);
        let here = d.arith(Arith::Shl, &all, first);
        self.join(d, &word, &here);
        // Two shifts, since a shift by 64 is one by 0.
        let half = shifted(d, &all, 1);
        let left = d.arith(Arith::Xor, first, &last);
        let beyond = d.arith(Arith::Shr, &half, &left);
        let beyond = d.snapshot("beyond", beyond);
        let some = is_some(d, &beyond);
        let mut next = |d: &mut D| {
            let next = d.arith(Arith::Add, &word, &one);
            self.join(d, &next, &beyond);
        };
        d.branch(some, &mut next, &mut |_| {});
    }

    /// Adds bits to a word.
    fn join<D: Domain>(&self, d: &mut D, word: &D::I, with: &D::I) {
        set_bits(d, self.bits, word, with);
        let (place, bit) = (shifted(d, word, WORD), bit(d, word));
        set_bits(d, self.words, &place, &bit);
        let block = shifted(d, word, WORD + BLOCK);
        d.mark(self.blocks, &block, true);
    }

    /// Removes all coordinates, in ascending order; `inner` gets each.
    pub fn drain<D: Domain>(&self, d: &mut D, name: &str, inner: &mut dyn FnMut(&mut D, D::I)) {
        self.each_word(d, &mut |d, word, bits| each_bit(d, name, (word, bits), &mut |d, at| inner(d, at)));
    }

    /// Removes all coordinates in pairs. The second of a pair is a coordinate only where the condition that comes with it holds. The
    /// number of bits in a word is unpredictable, but where coordinates are few it is mostly one or two, so that the loop has one
    /// iteration.
    pub fn drain_pairs<D: Domain>(&self, d: &mut D, inner: &mut impl FnMut(&mut D, D::I, Option<D::B>)) {
        self.each_word(d, &mut |d, word, bits| {
            while_some(d, (word, bits), &mut |d, first, rest| {
                let at = lowest(d, rest);
                let at = d.arith(Arith::Add, first, &at);
                inner(d, at, None);
                drop_lowest(d, rest);
                // If no bit is left, the number of the lowest is 64: keep the coordinate within this word.
                let (left, last) = (lowest(d, rest), d.int(63));
                let within = d.arith(Arith::And, &left, &last);
                let second = d.arith(Arith::Add, first, &within);
                let rest_now = d.get(rest);
                let there = is_some(d, &rest_now);
                inner(d, second, Some(there));
                drop_lowest(d, rest);
            });
        });
    }

    /// Removes every word that is not 0; `inner` gets its number and its bits.
    fn each_word<D: Domain>(&self, d: &mut D, inner: &mut impl FnMut(&mut D, D::I, D::I)) {
        let (zero, blocks) = (d.int(0), d.capacity(self.blocks));
        d.count("block", zero, blocks, &mut |d, block| {
            let some = d.flag(self.blocks, &block);
            let mut taken = |d: &mut D| {
                d.mark(self.blocks, &block, false);
                let (each, words) = (d.int(1 << BLOCK), d.capacity(self.words));
                let begin = d.arith(Arith::Mul, &block, &each);
                let end = d.arith(Arith::Add, &begin, &each);
                let end = d.arith(Arith::Min, &end, &words);
                d.count("group", begin, end, &mut |d, group| {
                    let some = take(d, self.words, &group);
                    each_bit(d, "word", (group, some), &mut |d, word| {
                        let some = take(d, self.bits, &word);
                        inner(d, word, some);
                    });
                });
            };
            d.branch(some, &mut taken, &mut |_| {});
        });
    }
}

/// The bit of a number in its word: shifts take the distance modulo 64.
fn bit<D: Domain>(d: &mut D, number: &D::I) -> D::I {
    let one = d.int(1);
    d.arith(Arith::Shl, &one, number)
}

/// Sets a coordinate's bit in the words of a level.
fn set_bit<D: Domain>(d: &mut D, array: BufferId, at: &D::I, level: i64) {
    let (place, number) = (shifted(d, at, WORD * level), shifted(d, at, WORD * (level - 1)));
    let bit = bit(d, &number);
    set_bits(d, array, &place, &bit);
}

/// Sets bits of an element.
fn set_bits<D: Domain>(d: &mut D, array: BufferId, at: &D::I, with: &D::I) {
    let was = d.load(array, at);
    let joined = d.arith(Arith::Or, &was, with);
    d.store(array, at, &joined);
}

/// Loads a word and clears it.
fn take<D: Domain>(d: &mut D, words: BufferId, at: &D::I) -> D::I {
    let taken = d.load(words, at);
    let (taken, zero) = (d.snapshot("taken", taken), d.int(0));
    d.store(words, at, &zero);
    taken
}

/// A loop over the coordinates of a word's set bits, ascending, from the word's number and its bits.
fn each_bit<D: Domain>(d: &mut D, name: &str, of: (D::I, D::I), inner: &mut dyn FnMut(&mut D, D::I)) {
    while_some(d, of, &mut |d, first, rest| {
        let at = lowest(d, rest);
        let at = d.arith(Arith::Add, first, &at);
        let at = d.snapshot(name, at);
        drop_lowest(d, rest);
        inner(d, at);
    });
}

/// A loop while a word has bits left: `inner` gets the coordinate of bit 0, and the variable that holds the bits.
fn while_some<D: Domain>(d: &mut D, (word, bits): (D::I, D::I), inner: &mut dyn FnMut(&mut D, &D::I, State)) {
    let each = d.int(1 << WORD);
    let first = d.arith(Arith::Mul, &word, &each);
    let first = d.snapshot("first", first);
    let rest = d.state("bits", bits);
    let more = |d: &mut D| {
        let bits = d.get(rest);
        is_some(d, &bits)
    };
    d.repeat(&more, &mut |d| inner(d, &first, rest));
}

/// The condition that a bit is set.
fn is_some<D: Domain>(d: &mut D, bits: &D::I) -> D::B {
    let zero = d.int(0);
    d.compare(Compare::Ne, bits, &zero)
}

/// The number of the lowest bit that is set; 64 if none is.
fn lowest<D: Domain>(d: &mut D, bits: State) -> D::I {
    let bits = d.get(bits);
    d.trailing_zeros(&bits)
}

fn drop_lowest<D: Domain>(d: &mut D, bits: State) {
    let (now, one) = (d.get(bits), d.int(1));
    let less = d.arith(Arith::Sub, &now, &one);
    let left = d.arith(Arith::And, &now, &less);
    d.set(bits, left);
}

/// `x` divided by a power of two, rounded down.
fn shifted<D: Domain>(d: &mut D, x: &D::I, by: i64) -> D::I {
    if by == 0 {
        return x.clone();
    }
    let by = d.int(by);
    d.arith(Arith::Shr, x, &by)
}
