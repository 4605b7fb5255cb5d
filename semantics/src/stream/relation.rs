//! K-relations of finite support, and the evaluation of streams to them (Definitions 4.6 and 5.11).

use super::{Attribute, Index, Nested, Semiring, Type, walk};
use std::collections::BTreeMap;

/// A function from tuples of a shape to a semiring, which stores the values that are not zero. A tuple's indices are in the order of
/// attributes.
#[derive(Clone, PartialEq, Debug)]
pub struct Relation<K, I = i64> {
    support: BTreeMap<Vec<I>, K>,
}

impl<K: Semiring, I: Index> Relation<K, I> {
    /// The relation that is zero everywhere.
    pub fn zero() -> Relation<K, I> {
        Relation { support: BTreeMap::new() }
    }

    /// The value at a tuple.
    pub fn at(&self, tuple: &[I]) -> K {
        self.support.get(tuple).cloned().unwrap_or_else(K::zero)
    }

    /// Adds the singleton `tuple ↦ value`.
    pub fn add(&mut self, tuple: &[I], value: &K) {
        let sum = self.at(tuple).plus(value);
        match sum == K::zero() {
            true => self.support.remove(tuple),
            false => self.support.insert(tuple.to_vec(), sum),
        };
    }

    /// The tuples at which the relation is not zero, ascending, with their values.
    pub fn support(&self) -> impl Iterator<Item = (&[I], &K)> {
        self.support.iter().map(|(tuple, value)| (&tuple[..], value))
    }
}

/// ⟦q⟧: the sum of the values of its reachable states, each at its index; at a level of the dummy attribute, at no index.
///
/// # Panics
/// If the stream does not end, or is not of the type.
pub fn evaluate<K: Semiring, I: Index>(q: &Nested<K, I>, ty: &[Option<Attribute>]) -> Relation<K, I> {
    let mut sum = Relation::zero();
    gather(q, ty, &mut Vec::new(), &mut sum);
    sum
}

fn gather<K: Semiring, I: Index>(
    q: &Nested<K, I>,
    ty: &[Option<Attribute>],
    at: &mut Vec<I>,
    sum: &mut Relation<K, I>,
) {
    let q = match q {
        Nested::Value(value) => {
            assert!(ty.is_empty(), "a value where the type has {ty:?}");
            return sum.add(at, value);
        }
        Nested::Stream(q) => q,
    };
    let (level, inner) = ty.split_first().expect("a level of the type");
    for r in walk(q).filter(|r| r.ready()) {
        let above = at.len();
        at.extend(level.map(|_| r.index()));
        gather(&r.value(), inner, at, sum);
        at.truncate(above);
    }
}

/// The attributes of a type.
pub(super) fn attributes(ty: &Type) -> impl Iterator<Item = Attribute> {
    ty.iter().copied().flatten()
}
