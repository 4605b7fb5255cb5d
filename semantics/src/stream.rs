//! The meaning of streams: indexed streams as automata, and the K-relations to which they evaluate.
//!
//! ```text
//!       e : Expr ──────── stream, figure 9 ────────▶ Typed
//!          │                                           │
//!          │ at each tuple, figure 4c                  │ evaluate, definition 5.11
//!          ▼                                           ▼
//!      K-relation ═════════ theorem 6.1 ═════════ Relation
//!
//!   q : i →s j →s K       (0,ready) ──δ──▶ (1,—) ──δ──▶ (4,ready) ──δ──▶ END
//!                             ╎ value                       ╎ value
//!                             ▼                             ▼
//!                         j →s K                        j →s K
//! ```
//!
//! After Kovach, Kolichala, Gu and Kjolstad, *Indexed Streams: A Formal Intermediate Representation for Fused
//! Contraction Programs*, PLDI 2023, whose names are kept:
//!
//! | the paper | here |
//! |---|---|
//! | 4.2 attribute, index set, shape | [`Attribute`], any ordered set ([`Index`]) by a [`Schema`], the attributes of a [`Type`] |
//! | 4.5 semiring; 4.6 K-relation | [`Semiring`]; [`Relation`], of finite support |
//! | 5.1 stream (σ, q₀, index, value, ready, skip); 5.3 δ | [`Stream`], in one of its states; [`Stream::next`] |
//! | 5.1, 5.2 product, sum, Σ, ⇑, map | [`product`], [`sum`], [`contract`], [`dense`], [`map`()] |
//! | 5.8 the stream algebra; figure 9 | [`Typed`]; [`Expr::stream`] |
//! | 4.1 the language ℒ; figure 4 | [`Expr`]; [`Expr::shape`], [`Expr::at`] |
//! | 5.7 valid streams, the dummy attribute `*` | [`Type`], with `None` for `*` |
//! | 5.11 ⟦·⟧ | [`evaluate`] |
//! | 6.1 lawful, 6.2 strictly monotonic | [`Law`] |
//! | 6.1 the theorem | proved in `proofs/coq/`, checked in `proofs/src/theorem.rs` |
//!
//! Indices are numbers unless said otherwise; [`Label`]s are numbers and texts, each attribute's own.
//!
//! Invariants: a stream at its end has the index [`END`], above all others, and is not ready (the paper's terminal state; `valid` in its
//! Lean text), so that a product's maximum ends the product and a sum's minimum does not end the sum. `value` is called only in ready
//! states.
//!
//! Where this differs from the text of the paper (`proofs/src/mistakes.rs` shows what the first three would break):
//! * ⇑ skips to max(i, i′ + r), as dense vectors do; the text's i′ + r goes back, and is not monotone.
//! * A sum follows the smaller (index, ready), as the paper's Lean text does. By the smaller index alone it would skip
//!   past a side that is not ready yet at an index where the other is.
//! * A contracted stream is lawful but not strictly monotonic, so the theorem does not speak of products of it:
//!   (Σ x) · (Σ y) pairs terms by number. [`Typed::times`] stores such a factor first, and the theorem then holds of
//!   every expression.
//! * Terms of a sum may have dummy attributes in different places; [`Typed::plus`] puts in those that are missing.
//!
//! **The emitted iterators** (`loops/src/stream/`) are these streams with three restrictions: they are *settled* (every state but the last
//! is ready); `skip` is split into `next`, which is δ, and `seek(i)`, which is skip to (i, 0); and a product or sum of them is a loop,
//! not a stream (`loops/src/stream/merge.rs`). `proofs/src/emitted.rs` reads them as streams and tests the same laws.

mod expression;
mod index;
mod law;
mod operators;
mod relation;
mod semiring;

pub use expression::{Context, Expr, IllTyped, Shape, Variable};
pub use index::{Index, Label};
pub use law::{LAWS, Law};
pub use operators::{Function, Typed, contract, dense, map, product, sparse, sum};
pub use relation::{Relation, evaluate};
pub use semiring::{MinPlus, Polynomial, Semiring, semiring_laws};

use std::collections::BTreeMap;
use std::rc::Rc;

/// An attribute; attributes are ordered as characters are.
pub type Attribute = char;
/// Each attribute's index set: of numbers, the extent n of `0..n`.
pub type Schema<I = i64> = BTreeMap<Attribute, <I as Index>::Set>;
/// The attribute of each level of a nested stream, outermost first; `None` is the dummy attribute `*`, of a level that is summed over.
/// Attributes ascend (Definition 5.7).
pub type Type = Vec<Option<Attribute>>;
/// The target of a skip: the first state at or after an index, or (`true`) past that index. Ordered lexicographically.
pub type Bound<I = i64> = (I, bool);
/// A stream, shared.
pub type Level<K, I = i64> = Rc<dyn Stream<K, I>>;

/// The only index of a level that is summed over.
pub const STAR: i64 = 0;
/// The index of a stream that has ended.
pub const END: i64 = i64::MAX;

/// An indexed stream in one of its states (Definition 5.1): the paper, too, writes `q` for both.
pub trait Stream<K, I: Index = i64> {
    /// The element of σ: the positions of the streams from which this one is built, left to right.
    fn state(&self) -> Vec<i64>;
    /// A lower bound of the remaining indices; [`Index::END`] if there are none.
    fn index(&self) -> I;
    /// Whether the stream has a value at its index.
    fn ready(&self) -> bool;
    /// The value; only in a ready state.
    fn value(&self) -> Nested<K, I>;
    /// The state after a skip.
    fn skip(&self, to: Bound<I>) -> Level<K, I>;

    /// Index and readiness: the order that skips compare.
    fn order(&self) -> Bound<I> {
        (self.index(), self.ready())
    }
    /// The successor δ (Definition 5.3).
    fn next(&self) -> Level<K, I> {
        self.skip(self.order())
    }
}

/// A value of a stream: a scalar, or a stream again.
#[derive(Clone)]
pub enum Nested<K, I: Index = i64> {
    /// An element of the semiring.
    Value(K),
    /// A stream, in its first state.
    Stream(Level<K, I>),
}

/// The most states of a walk; more count as a stream that does not end.
const ENDLESS: usize = 10_000;

/// The states that δ reaches, without the last one.
///
/// # Panics
/// If there are more than 10,000, as from a stream that does not end.
fn walk<K, I: Index>(q: &Level<K, I>) -> impl Iterator<Item = Level<K, I>> {
    let live = |q: Level<K, I>| (q.index() != I::END).then_some(q);
    let states = std::iter::successors(live(q.clone()), move |q| live(q.next()));
    states.enumerate().map(|(n, q)| {
        assert!(n < ENDLESS, "a stream that does not end, at {:?}", q.order());
        q
    })
}
