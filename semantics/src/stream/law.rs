//! The laws of streams, as named predicates over all states that skips reach.
//!
//! ```text
//!   states  q, skip(q, b), skip(skip(q, b), b′), …   for all bounds b = (i, r), i within the index set or one past it
//!   law     ∀ q ∀ b  …                               and likewise for every value that is a stream
//! ```

use super::{Bound, Index, Level, Nested, Relation, Schema, Semiring, Typed, evaluate};
use std::collections::BTreeMap;

/// A law. The first four are the paper's; a contracted level need not be strictly monotonic. The last two are for the emitted iterators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Law {
    /// From every state δ reaches an end, so evaluation is a finite sum (Definition 5.10). Products end if, moreover, a skip to a state's
    /// own order or further changes the state: [`Law::SkipIsRepeatedNext`] is enough.
    Terminates,
    /// index(q) ≤ index(skip(q, b)), for every bound (section 5).
    Monotone,
    /// A skip from a ready state to its own order or more increases the index (section 6.2).
    StrictlyMonotone,
    /// A skip to (i, r) leaves the evaluation unchanged at every j with (i, r) ≤ (j, 0) (section 6.1).
    Lawful,
    /// Every state but the last is ready.
    Settled,
    /// A skip to b reaches the first of q, δ(q), δ²(q), … whose order is above b.
    SkipIsRepeatedNext,
}

/// The laws of the paper, weakest hypothesis first.
pub const LAWS: [Law; 4] = [Law::Terminates, Law::Monotone, Law::StrictlyMonotone, Law::Lawful];

/// The most states of a level that a law examines; a level with more counts as one that does not end.
const MOST: usize = 1_000;

impl Law {
    /// The laws that a stream breaks at any level. A stream that does not end only breaks [`Law::Terminates`].
    pub fn broken<K: Semiring, I: Index>(laws: &[Law], q: &Typed<K, I>, schema: &Schema<I>) -> Vec<Law> {
        let mut levels = Vec::new();
        if !reach(&q.stream, &q.ty, schema, &mut levels) {
            return vec![Law::Terminates];
        }
        laws.iter().copied().filter(|law| !levels.iter().all(|level| level.obeys(*law))).collect()
    }
}

/// The states of a level, and the target of each skip.
struct Reached<K, I: Index> {
    /// The attribute of the level, the dummy under a name of its own, and those below.
    ty: Vec<Option<char>>,
    contracted: bool,
    states: Vec<Level<K, I>>,
    bounds: Vec<Bound<I>>,
    /// The target of each skip, by state and bound.
    skips: Vec<Vec<usize>>,
    next: Vec<usize>,
}

/// Explores a stream and every stream that is a value of it; returns whether all have an end.
fn reach<K: Semiring, I: Index>(
    q: &Nested<K, I>,
    ty: &[Option<char>],
    schema: &Schema<I>,
    into: &mut Vec<Reached<K, I>>,
) -> bool {
    let Nested::Stream(q) = q else { return true };
    let all = match ty[0].map(|a| &schema[&a]) {
        Some(set) => I::all(set).into_iter().chain([I::beyond(set)]).collect(),
        None => vec![I::STAR],
    };
    let bounds = all.into_iter().flat_map(|i: I| [(i.clone(), false), (i, true)]).collect();
    let mut numbers = BTreeMap::from([(q.state(), 0)]);
    let mut level = Reached {
        ty: std::iter::once(Some(ty[0].unwrap_or('*'))).chain(ty[1..].iter().copied()).collect(),
        contracted: ty[0].is_none(),
        states: vec![q.clone()],
        bounds,
        skips: vec![],
        next: vec![],
    };
    while level.skips.len() < level.states.len() {
        let q = level.states[level.skips.len()].clone();
        let mut number = |r: Level<K, I>| {
            *numbers.entry(r.state()).or_insert_with(|| {
                level.states.push(r);
                level.states.len() - 1
            })
        };
        let skips = level.bounds.iter().map(|b| number(q.skip(b.clone()))).collect();
        level.next.push(number(q.next()));
        level.skips.push(skips);
        if level.states.len() > MOST {
            return false;
        }
    }
    let ends = level.obeys(Law::Terminates);
    let values: Vec<_> = level.states.iter().filter(|q| q.ready()).map(|q| q.value()).collect();
    into.push(level);
    ends && values.iter().all(|value| reach(value, &ty[1..], schema, into))
}

impl<K: Semiring, I: Index> Reached<K, I> {
    fn obeys(&self, law: Law) -> bool {
        match law {
            Law::Terminates => (0..self.states.len()).all(|q| self.walk(q).any(|r| self.index(r) == I::END)),
            Law::Monotone => self.every(|q, _, to| self.index(q) <= self.index(to)),
            Law::StrictlyMonotone => {
                let moved = |q: usize, b: &Bound<I>| self.states[q].ready() && self.states[q].order() <= *b;
                self.contracted || self.every(|q, b, to| !moved(q, b) || self.index(q) < self.index(to))
            }
            Law::Lawful => {
                let meaning = |q: &Level<K, I>| evaluate(&Nested::Stream(q.clone()), &self.ty);
                let meanings: Vec<_> = self.states.iter().map(meaning).collect();
                self.every(|q, b, to| from(&meanings[q], b).eq(from(&meanings[to], b)))
            }
            Law::Settled => self.states.iter().all(|q| q.ready() || q.index() == I::END),
            Law::SkipIsRepeatedNext => self.every(|q, b, to| {
                let mut ahead = self.walk(q).filter(|r| self.index(*r) == I::END || self.states[*r].order() > *b);
                ahead.next() == Some(to)
            }),
        }
    }

    fn index(&self, q: usize) -> I {
        self.states[q].index()
    }

    /// q, δ(q), δ²(q), …, as many as there are states.
    fn walk(&self, q: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(q), |q| Some(self.next[*q])).take(self.states.len())
    }

    fn every(&self, law: impl Fn(usize, &Bound<I>, usize) -> bool) -> bool {
        let skips = |q: usize| self.bounds.iter().zip(&self.skips[q]);
        (0..self.states.len()).all(|q| skips(q).all(|(b, to)| law(q, b, *to)))
    }
}

/// The relation at the tuples whose first index is at the bound or later.
fn from<'r, K: Semiring, I: Index>(
    relation: &'r Relation<K, I>,
    b: &'r Bound<I>,
) -> impl Iterator<Item = (&'r [I], &'r K)> {
    relation.support().filter(move |(tuple, _)| if b.1 { tuple[0] > b.0 } else { tuple[0] >= b.0 })
}
