//! Choosing: what is decided of loops, each decision from what is known where the loop begins.
//!
//! ```text
//!  known      facts       the program, its extents, what it is compiled for: the same everywhere        (extent.rs)
//!             scope       what the loops around have bound, opened and found absent                      (scope.rs)
//!             range       a part of a loop, in which the body is one expression                         (range.rs)
//!             symbol      coordinates, positions and conditions: whether two are the same        (symbol.rs)
//!             effect      what becomes of the loop's values
//!  asked      access      which levels open at a loop, which lists are walked                           (access.rs)
//!             coordinate  index variables, lines and sizes as symbols                          (coordinate.rs)
//!             along       lines `c + r·v` of variables along a loop, and what they reach                 (along.rs)
//!             condition   which conditions loops around have decided, and what has no effect         (condition.rs)
//!  decided    split       what ends the ranges of a loop: choices, comparisons, phases    (split.rs, keys.rs, budget.rs)
//!             walk        how each point of the lattice is walked                                         (walk.rs)
//!             fingers     lists that loops see in pieces or blocks                                     (fingers.rs)
//!             given       what is computed before a loop                                          (given.rs)
//!             tables      lists that are scattered into tables; windows that are marked     (tables.rs, windows.rs)
//!             result      arrays of a result that are an operand's; temporaries inside      (result.rs, inner.rs)
//! ```
//!
//! Nothing here emits. What a function decides it returns, and [`lower`](super::lower) writes it into the plan or reads it from one.

pub(super) mod access;
pub(super) mod along;
pub(super) mod budget;
pub(super) mod condition;
pub(super) mod coordinate;
mod extent;
pub(super) mod fingers;
pub(super) mod given;
pub(super) mod inner;
pub(super) mod keys;
pub(super) mod range;
pub(super) mod result;
pub(super) mod scope;
pub(super) mod split;
pub(super) mod symbol;
pub(super) mod tables;
pub(super) mod walk;
pub(super) mod windows;

use crate::algebra::Value;
use crate::format::LevelKind;
use crate::iteration::Simplify;
use crate::notation::concrete::{AccessId, Expr, Place, Program};
use crate::notation::typed::Fun;
pub(super) use extent::Extents;
use rustc_hash::FxHashSet;

/// What is known of a kernel before any loop begins.
pub(super) struct Facts<'a> {
    pub program: &'a Program,
    pub simplify: Simplify<'a>,
    pub extents: Extents,
    /// Symbols of values.
    pub symbols: symbol::Symbols,
    /// Tensors whose arrays move.
    pub moving: FxHashSet<Place>,
}

/// What a place does with the values that come to it, as far as loops are chosen by it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// `t = f(t, value)`; where it `begins`, the first value is assigned and not folded in.
    Folded { fun: Fun, begins: bool },
    /// Stored over this value.
    Stored(Value),
}

impl Facts<'_> {
    /// The fill value of what an access reads.
    pub fn fill(&self, a: AccessId) -> Value {
        self.program.tensor(a).fill
    }

    /// The kind of an access's level.
    pub fn kind(&self, a: AccessId, level: usize) -> LevelKind {
        self.program.tensor(a).format.levels[level]
    }

    /// Whether a body leaves the place of its values unchanged.
    pub fn is_nothing(&self, effect: Effect, body: &Expr) -> bool {
        let Expr::Literal(v) = body else { return false };
        match effect {
            // A fold that has not begun at its end takes its identity.
            Effect::Folded { fun, begins } => {
                let identity = || self.simplify.begins(fun, v.ty()) == Some(*v);
                self.simplify.neutral(fun, *v) && (!begins || identity())
            }
            Effect::Stored(initial) => self.simplify.same(initial, *v),
        }
    }
}
