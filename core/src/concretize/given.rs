//! What concretizing reads and does not change: the program, its extents, and what its functions are known to do.

use crate::algebra::{Mode, Op, Type, Value, properties};
use crate::iteration::Simplify;
use crate::map::{ClassId, Size};
use crate::notation::typed::{self, Fun, TensorId};
use crate::schedule::storage::Sizes;
use crate::shape::Classes;
use std::collections::BTreeSet;

/// The program to concretize, and what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub typed: &'a typed::Program,
    pub classes: &'a Classes,
    pub sizes: &'a Sizes<'a>,
    pub simplify: Simplify<'a>,
    /// Results that the caller gives initial values of.
    pub initial: &'a BTreeSet<TensorId>,
    /// As [`Options::held`](crate::Options::held).
    pub held: bool,
}

impl Given<'_> {
    /// The extents of a tensor, one a mode.
    pub fn extents(self, id: TensorId) -> Vec<ClassId> {
        let sizes = &self.typed.tensors[id.index()].sizes;
        sizes.iter().map(|s| self.classes.class_of_size(*s)).collect()
    }

    /// A function's identity, if folding with it may begin with that and go in any order: in strict mode no sum and no product
    /// of floats, and nothing of floats that a program declares.
    pub fn unordered(self, fun: Fun, ty: Type) -> Option<Value> {
        let mode = self.simplify.mode;
        let (begins, any_order) = match fun {
            Fun::Op(op) => {
                let known = properties(op, ty, mode);
                (self.simplify.begins(fun, ty), known.commutative && known.associative)
            }
            Fun::User(f) => {
                let begins = self.simplify.functions[f.index()].unordered().filter(|v| v.ty() == ty);
                (begins, mode == Mode::Algebraic || !ty.is_float())
            }
        };
        begins.filter(|_| any_order)
    }

    /// A function's identity, if what it folds into something may be gathered from that on: it changes nothing. (A `gcd` with
    /// 0 is a magnitude.) A product of floats may overflow where 0 is `there` to be multiplied: it begins with that.
    pub fn gathered(self, fun: Fun, ty: Type, there: bool) -> Option<Value> {
        let overflows = fun == Fun::Op(Op::Mul) && ty.is_float() && there;
        self.unordered(fun, ty).filter(|i| !overflows && self.simplify.neutral(fun, *i))
    }

    /// Whether folds with a function may begin with a value, in any order.
    pub fn begins_with(self, fun: Fun, v: Value) -> bool {
        self.gathered(fun, v.ty(), false).is_some_and(|identity| self.simplify.same(identity, v))
    }

    /// A function whose identity is a value.
    pub fn joins(self, v: Value) -> Option<Fun> {
        let known: &[Op] = if v.ty() == Type::Bool { &[Op::OrElse, Op::AndAlso] } else { &[Op::Add, Op::Min, Op::Max] };
        known.iter().map(|op| Fun::Op(*op)).find(|fun| self.begins_with(*fun, v))
    }
}

/// An extent as a factor: a number if the program says it, and it is not 0.
pub(super) fn length(classes: &Classes, class: ClassId) -> Size {
    Some(classes.size(class)).filter(|n| *n != Size::default()).unwrap_or(Size::unknown(class))
}
