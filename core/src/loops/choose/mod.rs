//! Choosing: what is decided of loops, each decision from what is known where the loop begins.
//!
//! ```text
//!   facts      the program, its extents, what it is compiled for: the same everywhere in a kernel
//!   scope      what the loops around a place have bound, opened and found absent                    (scope.rs)
//! ```
//!
//! Nothing here emits: what a function decides it returns, and [`lower`](super::lower) writes it down.

pub(super) mod access;
pub(super) mod along;
pub(super) mod budget;
pub(super) mod condition;
pub(super) mod cut;
mod extent;
pub(super) mod fingers;
pub(super) mod inner;
pub(super) mod keys;
pub(super) mod range;
pub(super) mod result;
pub(super) mod scope;
pub(super) mod split;
pub(super) mod walk;
pub(super) mod windows;

use super::lower::Widths;
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
    /// Index widths of what the kernel makes.
    pub made: Widths,
    /// As [`Options::few`](super::lower::Options::few).
    pub few: i64,
    /// As [`Options::sought`](super::lower::Options::sought).
    pub sought: u32,
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
