//! Decides how loops are lowered, from the facts that are known where each loop begins.
//!
//! ```text
//!  known      facts       the program, its extents, the compilation options: the same everywhere        (extent.rs)
//!             scope       the variables that loops around have bound, and open and absent levels               (scope.rs)
//!             piece       a range of a loop, in which the body is one expression              (range.rs, piece.rs)
//!             symbol      coordinates, positions and conditions: whether two are the same        (symbol.rs)
//!             effect      where the loop's values go
//!  asked      access      the levels that open at a loop, and the lists that are walked                 (access.rs)
//!             coordinate  index variables, lines and sizes as symbols                          (coordinate.rs)
//!             form        the levels of a result, and how each is made                          (form.rs)
//!             along       lines `c + r·v` of variables along a loop, and what they reach                 (along.rs)
//!             condition   conditions that loops around have decided, and bodies without effect           (condition.rs)
//!  decided    split       the ends of a loop's ranges: choices, comparisons, phases      (split.rs, keys.rs, budget.rs)
//!             walk        the way to walk each point of the lattice                                      (walk.rs)
//!             fingers     lists whose consecutive pieces or blocks loops see                           (fingers.rs)
//!             cut         what the cuts of loops count, and the edges of pieces                        (cut.rs)
//!             tables      lists in position maps; windows that are marked                    (tables.rs, windows.rs)
//!             result      results with an operand's arrays; temporaries inside of loops      (result.rs, inner.rs)
//! ```
//!
//! Functions return their decisions, of which the [planner](super::planner) makes a plan. Nothing here emits code.

pub(super) mod access;
pub(super) mod along;
pub(super) mod budget;
pub(super) mod condition;
pub(super) mod coordinate;
pub(super) mod cut;
mod extent;
pub(super) mod fingers;
pub(super) mod form;
pub(super) mod inner;
pub(super) mod keys;
pub(super) mod piece;
pub(super) mod range;
pub(super) mod result;
pub(super) mod scope;
pub(super) mod split;
pub(super) mod symbol;
pub(super) mod tables;
pub(super) mod walk;
pub(super) mod windows;

pub(super) use extent::Extents;
use fiberloom_core::algebra::Value;
use fiberloom_core::format::LevelKind;
use fiberloom_core::iteration::Simplify;
use fiberloom_core::notation::concrete::{AccessId, Expr, Place, Program};
use fiberloom_core::notation::typed::Fun;
use rustc_hash::{FxHashMap, FxHashSet};

/// The facts about a kernel that are known before any loop begins.
pub(super) struct Facts<'a> {
    pub program: &'a Program,
    pub simplify: Simplify<'a>,
    pub extents: Extents,
    /// The symbols of values.
    pub symbols: symbol::Symbols,
    /// Tensors whose arrays move.
    pub moving: FxHashSet<Place>,
    /// Tensors that take the arrays of an earlier version.
    pub taken: FxHashMap<Place, Place>,
}

/// The options of a compilation that choices depend on, besides the program.
pub(super) struct Costs {
    /// As [`Options::few`](crate::lower::Options::few).
    pub few: i64,
    /// As [`Options::sought`](crate::lower::Options::sought).
    pub sought: u32,
    /// Whether coordinates of results have 32 bits.
    pub narrow: bool,
}

/// The effect of a value at its place, as far as decisions about loops depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// `t = f(t, value)`. If it `begins`, the first value is assigned and not folded in.
    Folded { fun: Fun, begins: bool },
    /// Stored over this value.
    Stored(Value),
    /// Stored over any value: an element of the version before.
    Replaces,
}

impl Facts<'_> {
    /// The fill value of an access's tensor.
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
            // A fold without any value ends with its identity.
            Effect::Folded { fun, begins } => {
                let identity = || self.simplify.begins(fun, v.ty()) == Some(*v);
                self.simplify.neutral(fun, *v) && (!begins || identity())
            }
            Effect::Stored(initial) => self.simplify.same(initial, *v),
            Effect::Replaces => false,
        }
    }
}
