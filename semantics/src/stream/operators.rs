//! The operators on streams: vectors, products, sums, contraction, expansion, map; and on typed ones, by attribute.
//!
//! ```text
//!             index         ready                        skip(to)
//!   x · y     max           both, at one index           both skip to it
//!   x + y     min           of the smaller order         both skip to it
//!   Σ q       STAR          q's                          q skips to its own index
//!   ⇑ v       i             always                       max(i, to)
//!   map f q   q's           q's                          q's
//! ```
//! Sources: sections 5.1 and 5.2; the sum as the Lean text of the paper has it.

use super::relation::attributes;
use super::{Attribute, Bound, Index, Level, Nested, Relation, Semiring, Stream, Type, evaluate};
use std::rc::Rc;

/// An index of a vector, with a value if the state is ready.
type Entry<K, I> = (I, Option<Nested<K, I>>);

/// A sparse vector that may have internal states: entries of an index, with a value in ready states.
struct Sparse<K, I: Index> {
    entries: Rc<[Entry<K, I>]>,
    at: usize,
}

impl<K: Semiring, I: Index> Stream<K, I> for Sparse<K, I> {
    fn state(&self) -> Vec<i64> {
        vec![self.at as i64]
    }
    fn index(&self) -> I {
        self.entries.get(self.at).map_or(I::END, |entry| entry.0.clone())
    }
    fn ready(&self) -> bool {
        self.entries.get(self.at).is_some_and(|entry| entry.1.is_some())
    }
    fn value(&self) -> Nested<K, I> {
        self.entries[self.at].1.clone().expect("a ready state")
    }
    fn skip(&self, to: Bound<I>) -> Level<K, I> {
        let ahead = |(i, value): &Entry<K, I>| (i, value.is_some()) > (&to.0, to.1);
        let moved = self.entries[self.at..].iter().position(ahead);
        let at = moved.map_or(self.entries.len(), |n| self.at + n);
        Rc::new(Sparse { entries: self.entries.clone(), at })
    }
}

/// The vector of these entries, whose (index, ready) ascend strictly (Example 5.2, with internal states).
pub fn sparse<K: Semiring, I: Index>(entries: impl IntoIterator<Item = Entry<K, I>>) -> Nested<K, I> {
    Nested::Stream(Rc::new(Sparse { entries: entries.into_iter().collect(), at: 0 }))
}

/// A value at every index of a set, stored or computed.
struct Dense<K, I: Index> {
    value: Rc<dyn Fn(I) -> Nested<K, I>>,
    at: Option<I>,
    set: I::Set,
}

impl<K: Semiring, I: Index> Stream<K, I> for Dense<K, I> {
    fn state(&self) -> Vec<i64> {
        vec![self.index().place(&self.set)]
    }
    fn index(&self) -> I {
        self.at.clone().unwrap_or(I::END)
    }
    fn ready(&self) -> bool {
        self.at.is_some()
    }
    fn value(&self) -> Nested<K, I> {
        (self.value)(self.index())
    }
    fn skip(&self, to: Bound<I>) -> Level<K, I> {
        let at = self.at.clone().and_then(|at| I::least(&self.set, &to.max((at, false))));
        Rc::new(Dense { value: self.value.clone(), at, set: self.set.clone() })
    }
}

/// A value at every index of a set (Example 5.2); with a constant value, the expansion ⇑. Over unbounded numbers ([`super::END`]) it has
/// no last state, and only its products with streams that end can be evaluated.
pub fn dense<K: Semiring, I: Index>(set: I::Set, value: impl Fn(I) -> Nested<K, I> + 'static) -> Nested<K, I> {
    let at = I::least(&set, &(I::STAR, false));
    Nested::Stream(Rc::new(Dense { value: Rc::new(value), at, set }))
}

/// The product of two streams (Definition 5.4).
struct Product<K, I: Index>(Level<K, I>, Level<K, I>);

impl<K: Semiring, I: Index> Stream<K, I> for Product<K, I> {
    fn state(&self) -> Vec<i64> {
        [self.0.state(), self.1.state()].concat()
    }
    fn index(&self) -> I {
        self.0.index().max(self.1.index())
    }
    fn ready(&self) -> bool {
        self.0.ready() && self.1.ready() && self.0.index() == self.1.index()
    }
    fn value(&self) -> Nested<K, I> {
        product(self.0.value(), self.1.value())
    }
    fn skip(&self, to: Bound<I>) -> Level<K, I> {
        Rc::new(Product(self.0.skip(to.clone()), self.1.skip(to)))
    }
}

/// x · y, for strictly monotonic streams of one type.
///
/// # Panics
/// If one stream has more levels than the other.
pub fn product<K: Semiring, I: Index>(x: Nested<K, I>, y: Nested<K, I>) -> Nested<K, I> {
    match (x, y) {
        (Nested::Value(x), Nested::Value(y)) => Nested::Value(x.times(&y)),
        (Nested::Stream(x), Nested::Stream(y)) => Nested::Stream(Rc::new(Product(x, y))),
        _ => panic!("factors of different types"),
    }
}

/// The union of two streams, by order.
struct Sum<K, I: Index>(Level<K, I>, Level<K, I>);

impl<K: Semiring, I: Index> Stream<K, I> for Sum<K, I> {
    fn state(&self) -> Vec<i64> {
        [self.0.state(), self.1.state()].concat()
    }
    fn index(&self) -> I {
        self.0.index().min(self.1.index())
    }
    fn ready(&self) -> bool {
        self.0.order().min(self.1.order()).1
    }
    fn value(&self) -> Nested<K, I> {
        match self.0.order().cmp(&self.1.order()) {
            std::cmp::Ordering::Less => self.0.value(),
            std::cmp::Ordering::Equal => sum(self.0.value(), self.1.value()),
            std::cmp::Ordering::Greater => self.1.value(),
        }
    }
    fn skip(&self, to: Bound<I>) -> Level<K, I> {
        Rc::new(Sum(self.0.skip(to.clone()), self.1.skip(to)))
    }
}

/// x + y, for lawful streams of one type.
///
/// # Panics
/// If one stream has more levels than the other.
pub fn sum<K: Semiring, I: Index>(x: Nested<K, I>, y: Nested<K, I>) -> Nested<K, I> {
    match (x, y) {
        (Nested::Value(x), Nested::Value(y)) => Nested::Value(x.plus(&y)),
        (Nested::Stream(x), Nested::Stream(y)) => Nested::Stream(Rc::new(Sum(x, y))),
        _ => panic!("terms of different types"),
    }
}

/// The contraction of a stream (section 5.1.2).
struct Contract<K, I: Index>(Level<K, I>);

impl<K: Semiring, I: Index> Stream<K, I> for Contract<K, I> {
    fn state(&self) -> Vec<i64> {
        self.0.state()
    }
    fn index(&self) -> I {
        if self.0.index() == I::END { I::END } else { I::STAR }
    }
    fn ready(&self) -> bool {
        self.0.ready()
    }
    fn value(&self) -> Nested<K, I> {
        self.0.value()
    }
    fn skip(&self, (_, past): Bound<I>) -> Level<K, I> {
        Rc::new(Contract(self.0.skip((self.0.index(), past))))
    }
}

/// Σ q: the same states without their indices. It is lawful, and not strictly monotonic.
///
/// # Panics
/// If `q` is a value.
pub fn contract<K: Semiring, I: Index>(q: Nested<K, I>) -> Nested<K, I> {
    match q {
        Nested::Stream(q) => Nested::Stream(Rc::new(Contract(q))),
        Nested::Value(_) => panic!("a value has no level to contract"),
    }
}

/// A function on the values of a stream.
pub type Function<K, I = i64> = Rc<dyn Fn(Nested<K, I>) -> Nested<K, I>>;

/// A stream with a function applied to its values (section 5.2).
struct Map<K, I: Index>(Level<K, I>, Function<K, I>);

impl<K: Semiring, I: Index> Stream<K, I> for Map<K, I> {
    fn state(&self) -> Vec<i64> {
        self.0.state()
    }
    fn index(&self) -> I {
        self.0.index()
    }
    fn ready(&self) -> bool {
        self.0.ready()
    }
    fn value(&self) -> Nested<K, I> {
        (self.1)(self.0.value())
    }
    fn skip(&self, to: Bound<I>) -> Level<K, I> {
        Rc::new(Map(self.0.skip(to), self.1.clone()))
    }
}

/// mapᵏ f: `f` applied below `k` levels.
///
/// # Panics
/// If there are fewer levels.
pub fn map<K: Semiring, I: Index>(k: usize, f: Function<K, I>, q: Nested<K, I>) -> Nested<K, I> {
    match (k, q) {
        (0, q) => f(q),
        (_, Nested::Stream(q)) => Nested::Stream(Rc::new(Map(q, Rc::new(move |value| map(k - 1, f.clone(), value))))),
        _ => panic!("a value has no level below it"),
    }
}

/// A stream with its type: an element of the stream algebra 𝒮 (Definition 5.8), whose operations are Figure 9's.
#[derive(Clone)]
pub struct Typed<K, I: Index = i64> {
    /// The stream's levels, outermost first.
    pub ty: Type,
    /// The stream.
    pub stream: Nested<K, I>,
}

impl<K: Semiring, I: Index> Typed<K, I> {
    /// x + y, for streams of one shape. Dummy levels that one of them lacks are inserted, each with one ready state.
    pub fn plus(mut self, mut other: Typed<K, I>) -> Typed<K, I> {
        self.same_shape(&other);
        let differ = |x: &Type, y: &Type| (0..x.len().max(y.len())).find(|k| x.get(*k) != y.get(*k));
        while let Some(k) = differ(&self.ty, &other.ty) {
            let lacking = if self.ty.get(k) == Some(&None) { &mut other } else { &mut self };
            *lacking = lacking.clone().insert(k, None, Rc::new(|v| sparse([(I::STAR, Some(v))])));
        }
        Typed { ty: self.ty, stream: sum(self.stream, other.stream) }
    }

    /// x · y, for streams of one shape; a contracted factor is stored first.
    pub fn times(self, other: Typed<K, I>) -> Typed<K, I> {
        self.same_shape(&other);
        let (x, y) = (self.stored(), other.stored());
        Typed { ty: x.ty, stream: product(x.stream, y.stream) }
    }

    /// Σ over an attribute of the shape.
    pub fn contract(mut self, a: Attribute) -> Typed<K, I> {
        let k = self.ty.iter().position(|level| *level == Some(a)).expect("an attribute of the shape");
        self.ty[k] = None;
        Typed { ty: self.ty, stream: map(k, Rc::new(contract), self.stream) }
    }

    /// ⇑ over an attribute outside of the shape, with this index set.
    pub fn expand(self, a: Attribute, set: I::Set) -> Typed<K, I> {
        let later = self.ty.iter().position(|level| level.is_some_and(|b| b > a));
        let k = later.unwrap_or(self.ty.len());
        self.insert(k, Some(a), Rc::new(move |v| dense(set.clone(), move |_| v.clone())))
    }

    /// The stream under other attributes, whose order ρ has to keep.
    pub fn rename(self, rho: impl Fn(Attribute) -> Attribute) -> Typed<K, I> {
        let ty: Type = self.ty.iter().map(|level| level.map(&rho)).collect();
        assert!(attributes(&ty).is_sorted_by(|a, b| a < b), "attributes out of order: {ty:?}");
        Typed { ty, stream: self.stream }
    }

    /// A strictly monotonic stream of the same relation: the stream itself, or its evaluation if it has dummy levels.
    pub fn stored(self) -> Typed<K, I> {
        if !self.ty.contains(&None) {
            return self;
        }
        let relation = self.evaluate();
        let tuples: Vec<(&[I], &K)> = relation.support().collect();
        let ty: Type = attributes(&self.ty).map(Some).collect();
        Typed { stream: nest(&tuples, ty.len()), ty }
    }

    /// The stream's K-relation.
    pub fn evaluate(&self) -> Relation<K, I> {
        evaluate(&self.stream, &self.ty)
    }

    fn insert(mut self, k: usize, level: Option<Attribute>, f: Function<K, I>) -> Typed<K, I> {
        self.ty.insert(k, level);
        Typed { ty: self.ty, stream: map(k, f, self.stream) }
    }

    fn same_shape(&self, other: &Typed<K, I>) {
        assert!(attributes(&self.ty).eq(attributes(&other.ty)), "shapes of {:?} and {:?}", self.ty, other.ty);
    }
}

/// Sparse vectors of sparse vectors for the last `levels` levels of these ascending tuples.
fn nest<K: Semiring, I: Index>(tuples: &[(&[I], &K)], levels: usize) -> Nested<K, I> {
    if levels == 0 {
        return Nested::Value(tuples.first().map_or_else(K::zero, |(_, value)| (*value).clone()));
    }
    let index = |tuple: &[I]| tuple[tuple.len() - levels].clone();
    let fibers = tuples.chunk_by(|a, b| index(a.0) == index(b.0));
    sparse(fibers.map(|fiber| (index(fiber[0].0), Some(nest(fiber, levels - 1)))))
}
