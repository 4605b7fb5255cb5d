//! Sets of one variable's coordinates in a kernel: their arrays, and the operations of [`Set`](stream::Set).

use super::room::alloc;
use super::{Expr, binary, int, plus};
use crate::stream;
use crate::{Symbolic, Term};
use fiberloom_core::algebra::{Op, Type, Value};

/// A set of coordinates.
pub(super) struct Set(stream::Set);

impl Set {
    /// An empty set of coordinates below `extent`.
    pub fn begin(d: &mut Symbolic, name: &str, extent: &Expr) -> Set {
        let [bits, words, blocks] = stream::Set::SHIFTS;
        let mut buffer = |what: &str, ty: Type, shift: i64| {
            let buffer = d.private(&format!("{name}{what}"), ty);
            let len = binary(Op::Shr, plus(extent.clone(), int((1 << shift) - 1)), int(shift));
            alloc(d, buffer, len, Some(Value::zero(ty)));
            buffer
        };
        Set(stream::Set {
            bits: buffer("bits", Type::I64, bits),
            words: buffer("words", Type::I64, words),
            blocks: buffer("blocks", Type::Bool, blocks),
        })
    }

    /// The condition that a coordinate is not in the set.
    pub fn absent(&self, d: &mut Symbolic, at: &Expr) -> Expr {
        let absent = self.0.absent(d, &Term::fixed(at.clone()));
        d.place(&absent)
    }

    /// Inserts a coordinate that is not in the set.
    pub fn insert(&self, d: &mut Symbolic, at: &Expr) {
        self.0.insert(d, &Term::fixed(at.clone()));
    }

    /// Inserts a coordinate and the next `distance` ones, whether or not they are in the set; `distance` is below 63.
    pub fn insert_all(&self, d: &mut Symbolic, first: &Expr, distance: Expr) {
        self.0.insert_all(d, &Term::fixed(first.clone()), &Term::fixed(distance));
    }

    /// Removes all coordinates, in ascending order; `inner` is emitted for each.
    pub fn drain(&self, d: &mut Symbolic, name: &str, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        self.0.drain(d, name, &mut |d, at| {
            let at = d.place(&at);
            inner(d, at);
        });
    }

    /// Removes all coordinates in pairs; the second of a pair is valid only where the condition that comes with it holds.
    pub fn drain_pairs(&self, d: &mut Symbolic, inner: &mut dyn FnMut(&mut Symbolic, Expr, Option<Expr>)) {
        self.0.drain_pairs(d, &mut |d, at, there| {
            let (at, there) = (d.place(&at), there.map(|there| d.place(&there)));
            inner(d, at, there);
        });
    }
}
