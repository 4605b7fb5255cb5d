//! Semirings: the addition and multiplication of values (Definition 4.5). Products need not commute.
//!
//! ```text
//!   ℕ⟨X⟩ ──any choice of a value for each name──▶ ℤ/2⁶⁴, 𝔹, (min, +), …
//! ```
//!
//! [`Polynomial`] is the free semiring: an equation between its elements holds in every semiring, so a result for distinct names of
//! entries holds for all values. (ℕ[X], whose names commute, is its image under sorting the words.)

use std::collections::BTreeMap;
use std::fmt;
use std::num::Wrapping;

/// A semiring, whose axioms [`semiring_laws`] checks.
pub trait Semiring: Clone + PartialEq + fmt::Debug + 'static {
    /// The identity of `plus`, and the annihilator of `times`.
    fn zero() -> Self;
    /// The identity of `times`.
    fn one() -> Self;
    /// Addition: associative and commutative.
    fn plus(&self, other: &Self) -> Self;
    /// Multiplication: associative; distributes over `plus` on both sides.
    fn times(&self, other: &Self) -> Self;
}

/// Integers modulo 2⁶⁴.
impl Semiring for Wrapping<u64> {
    fn zero() -> Self {
        Wrapping(0)
    }
    fn one() -> Self {
        Wrapping(1)
    }
    fn plus(&self, other: &Self) -> Self {
        self + other
    }
    fn times(&self, other: &Self) -> Self {
        self * other
    }
}

/// Relations: truth values, for presence.
impl Semiring for bool {
    fn zero() -> Self {
        false
    }
    fn one() -> Self {
        true
    }
    fn plus(&self, other: &Self) -> Self {
        *self || *other
    }
    fn times(&self, other: &Self) -> Self {
        *self && *other
    }
}

/// Lengths of shortest paths. The greatest `i64` is infinity, and a sum beyond it is infinite: a semiring for lengths of 0 or more (a
/// negative length could undo the cut-off).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MinPlus(pub i64);

impl Semiring for MinPlus {
    fn zero() -> Self {
        MinPlus(i64::MAX)
    }
    fn one() -> Self {
        MinPlus(0)
    }
    fn plus(&self, other: &Self) -> Self {
        MinPlus(self.0.min(other.0))
    }
    fn times(&self, other: &Self) -> Self {
        MinPlus(self.0.saturating_add(other.0))
    }
}

/// ℕ⟨X⟩: the number of occurrences of each word of names; words that do not occur are not stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Polynomial(BTreeMap<Vec<u32>, u64>);

impl Polynomial {
    /// The polynomial that is a single name.
    pub fn name(x: u32) -> Polynomial {
        Polynomial([(vec![x], 1)].into())
    }

    /// The polynomial's value, given a value for each name.
    pub fn at<K: Semiring>(&self, value: impl Fn(u32) -> K) -> K {
        let word = |word: &[u32]| word.iter().fold(K::one(), |product, x| product.times(&value(*x)));
        let terms = self.0.iter().flat_map(|(w, times)| std::iter::repeat_n(word(w), *times as usize));
        terms.fold(K::zero(), |sum, term| sum.plus(&term))
    }
}

impl Semiring for Polynomial {
    fn zero() -> Self {
        Polynomial::default()
    }
    fn one() -> Self {
        Polynomial([(vec![], 1)].into())
    }
    fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        other.0.iter().for_each(|(word, times)| *sum.0.entry(word.clone()).or_default() += times);
        sum
    }
    fn times(&self, other: &Self) -> Self {
        let mut product = Polynomial::default();
        for (u, m) in &self.0 {
            for (v, n) in &other.0 {
                *product.0.entry([&u[..], &v[..]].concat()).or_default() += m * n;
            }
        }
        product
    }
}

/// Checks the axioms of Definition 4.5 on three elements.
///
/// # Errors
/// The axiom that does not hold.
pub fn semiring_laws<K: Semiring>(x: &K, y: &K, z: &K) -> Result<(), &'static str> {
    let (zero, one) = (K::zero(), K::one());
    let laws = [
        ("addition associates", x.plus(y).plus(z) == x.plus(&y.plus(z))),
        ("addition commutes", x.plus(y) == y.plus(x)),
        ("zero is neutral", x.plus(&zero) == *x),
        ("multiplication associates", x.times(y).times(z) == x.times(&y.times(z))),
        ("one is neutral", x.times(&one) == *x && one.times(x) == *x),
        ("it distributes from the left", x.times(&y.plus(z)) == x.times(y).plus(&x.times(z))),
        ("it distributes from the right", x.plus(y).times(z) == x.times(z).plus(&y.times(z))),
        ("zero absorbs", x.times(&zero) == zero && zero.times(x) == zero),
    ];
    laws.iter().find(|(_, holds)| !holds).map_or(Ok(()), |(law, _)| Err(law))
}
