//! The fixed inputs of concretizing: the program, its extents, and the properties of its functions.

use crate::schedule::storage::Sizes;
use fiberloom_core::algebra::{Mode, Op, Type, Value, properties};
use fiberloom_core::iteration::Simplify;
use fiberloom_core::map::{ClassId, Size};
use fiberloom_core::notation::typed::{self, Fun, TensorId};
use fiberloom_core::shape::Classes;
use std::collections::BTreeSet;

/// The program to concretize, with its extents and the algebra of its functions.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub typed: &'a typed::Program,
    pub classes: &'a Classes,
    pub sizes: &'a Sizes<'a>,
    pub simplify: Simplify<'a>,
    /// Results whose initial values the caller gives.
    pub initial: &'a BTreeSet<TensorId>,
    /// Whether results are held, as options of loops say.
    pub held: bool,
}

impl Given<'_> {
    /// The extents of a tensor, one a mode.
    pub fn extents(self, id: TensorId) -> Vec<ClassId> {
        let sizes = &self.typed.tensors[id.index()].sizes;
        sizes.iter().map(|s| self.classes.class_of_size(*s)).collect()
    }

    /// A function's identity, if a fold with it may begin with the identity and go in any order. In strict mode, sums and products of
    /// floats may not, nor may declared functions on floats.
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

    /// A function's identity, if values may be gathered from the identity on and then joined with another: joining with the identity
    /// changes nothing (`gcd` with 0 does: it takes the magnitude). A product of floats that multiplies what is `there` may not: it could
    /// overflow where that is 0, so it begins with that.
    pub fn gathered(self, fun: Fun, ty: Type, there: bool) -> Option<Value> {
        let overflows = fun == Fun::Op(Op::Mul) && ty.is_float() && there;
        self.unordered(fun, ty).filter(|i| !overflows && self.simplify.neutral(fun, *i))
    }

    /// Whether folds with a function may begin with this value, in any order: it is the function's identity.
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
