//! What appends the values of a result's last level.
//!
//! The coordinates of a fiber arrive in ascending order, each once, and fibers arrive in order. Several loops, one behind the other, may
//! append to one fiber, if that is known ([`Ground::resumed`]).

use super::insertion::Insertion;
use super::{BufferId, Expr, Holds, LevelBuffers, binary, int};
use crate::{Symbolic, Var};
use fiberloom_core::algebra::{Mode, Op, Type, Value};

/// Emits a test that a buffer has room for a number of elements, and grows it otherwise.
pub(super) type Grow<'a> = &'a dyn Fn(&mut Symbolic, BufferId, Expr);

/// Appends the values of a result's last level, fiber by fiber.
pub(super) trait Assembler {
    /// Emitted before anything is stored, after the level's arrays are allocated: the first fiber has no value yet. `entries` is the
    /// number of entries that the kernel may expect.
    fn begin(&self, d: &mut Symbolic, entries: &Expr) {
        let _ = (d, entries);
    }

    /// Makes the fiber below a parent position the current one. It is the current fiber or a later one.
    fn enter(&self, d: &mut Symbolic, parent: &Expr) {
        let _ = (d, parent);
    }

    /// Makes room for `most` more values of the current fiber.
    fn room(&self, d: &mut Symbolic, most: &dyn Fn(&mut Symbolic) -> Expr, grow: Grow);

    /// Stores a value at a coordinate behind those of the current fiber. `insertion` is below the level.
    fn put(&self, d: &mut Symbolic, insertion: &Insertion, at: Expr, value: Expr);

    /// Whether loops over coordinates store only values that differ from the fill value.
    fn filters(&self) -> bool {
        true
    }

    /// The end of the current fiber, for the array of positions; `None` if it is stored when the next fiber begins.
    fn end(&self) -> Option<Expr>;

    /// Emitted behind all loops: ends the fibers of `parents` parents.
    fn finish(&self, d: &mut Symbolic, parents: &Expr) {
        let _ = (d, parents);
    }

    /// The lengths of the level's arrays, except for positions.
    fn lengths(&self, parents: &Expr) -> Vec<(BufferId, Expr)>;
}

/// The description of a last level that its assembler gets.
#[derive(Clone)]
pub(super) struct Ground<'a> {
    /// The result's name.
    pub name: &'a str,
    pub level: usize,
    pub arrays: &'a LevelBuffers,
    pub values: BufferId,
    /// The number of the level's positions so far.
    pub count: Var,
    pub extent: Expr,
    pub fill: Value,
    pub mode: Mode,
    /// Whether several loops, one behind the other, may append to one fiber: because several loops move the level, or because pieces of
    /// one loop end within a fiber.
    pub resumed: bool,
}

impl Ground<'_> {
    /// The level's array with these contents.
    ///
    /// # Panics
    /// If the level has no such array.
    pub fn array(&self, holds: Holds) -> BufferId {
        self.arrays.array(holds).expect("a level has the arrays of its kind")
    }
}

/// The fiber to which values are appended.
#[derive(Clone, Copy)]
pub(super) struct Current {
    /// The fiber's parent, if loops may come back to it.
    parent: Option<Var>,
    /// Whether the fiber is the level's only one.
    is_root: bool,
}

impl Current {
    /// The current fiber of a level; it needs no variable if no loop comes back to it.
    pub fn of(d: &mut Symbolic, ground: &Ground) -> Current {
        let is_root = ground.level == 0;
        let again = ground.resumed && !is_root;
        Current { parent: again.then(|| d.fresh(&format!("parent_{}", ground.name), Type::I64)), is_root }
    }

    /// Emitted before anything is stored.
    pub fn begin(&self, d: &mut Symbolic) {
        self.parent.iter().for_each(|current| d.assign(*current, int(-1)));
    }

    /// Emits `fresh` where a fiber begins, if the level has several.
    pub fn enter(&self, d: &mut Symbolic, parent: &Expr, fresh: impl FnOnce(&mut Symbolic)) {
        if self.is_root {
            return;
        }
        let Some(current) = self.parent else { return fresh(d) };
        let next = |d: &mut Symbolic| {
            d.assign(current, parent.clone());
            fresh(d);
        };
        d.when(binary(Op::Ne, Expr::Var(current), parent.clone()), next, |_| {});
    }
}
