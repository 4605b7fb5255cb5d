//! What makes a result's last level, if it is appended to.
//!
//! ```text
//!   list       crd[c] = coordinate; c += 1                                         (list.rs)
//!   runs       a run for each value, and of the fill value between them            (runs.rs)
//!   packbits   the same, in pieces                                                 (runs.rs, pieces.rs)
//!   interval   a value for each coordinate, and the fill value between them        (interval.rs)
//!   blocks     coordinates that follow one another, aligned or not                 (blocks.rs)
//! ```
//!
//! Coordinates of a fiber arrive in ascending order, each once, and fibers in theirs. Loops may come to a fiber in several turns, one
//! behind the other, if it is known that they do ([`Ground::resumed`]). Which of them makes a level, its file says
//! ([`LevelKind::maker`]).
//!
//! [`LevelKind::maker`]: crate::format::LevelKind::maker

use super::blocks::{Aligned, Blocks};
use super::interval::Interval;
use super::list::List;
use super::output::Slot;
use super::runs::Runs;
use super::{BufferId, Expr, Holds, LevelBuffers};
use crate::algebra::{Mode, Op, Type, Value};
use crate::format::Maker;
use crate::loops::{Symbolic, Var};

/// Emits a test that a buffer has room for so many elements, and makes it.
pub(super) type Grow<'a> = &'a dyn Fn(&mut Symbolic, BufferId, Expr);

/// The values of a result's last level, fiber by fiber.
pub(super) trait Assembler {
    /// Emitted before anything is stored, when the level's arrays are there: no value of the first fiber. The kernel may expect so
    /// many `entries`.
    fn begin(&self, d: &mut Symbolic, entries: &Expr) {
        let _ = (d, entries);
    }

    /// Makes the fiber below a parent position, not before the current one, the current one.
    fn enter(&self, d: &mut Symbolic, parent: &Expr) {
        let _ = (d, parent);
    }

    /// Makes room for `most` more values of the current fiber.
    fn room(&self, d: &mut Symbolic, most: &dyn Fn(&mut Symbolic) -> Expr, grow: Grow);

    /// Stores a value at a coordinate behind those of the current fiber. `slot` is below the level.
    fn put(&self, d: &mut Symbolic, slot: &Slot, at: Expr, value: Expr);

    /// Whether a value that differs from the fill value is stored, and no other, where loops count coordinates.
    fn sifts(&self) -> bool {
        true
    }

    /// Where the current fiber ends, as positions have it; `None` if it is stored when the next one begins.
    fn end(&self) -> Option<Expr>;

    /// Emitted behind all loops: ends the fibers of so many parents.
    fn finish(&self, d: &mut Symbolic, parents: &Expr) {
        let _ = (d, parents);
    }

    /// The lengths of the level's arrays, but for positions.
    fn lengths(&self, parents: &Expr) -> Vec<(BufferId, Expr)>;
}

/// A last level as what makes it sees it.
#[derive(Clone)]
pub(super) struct Ground<'a> {
    /// The result's name.
    pub name: &'a str,
    pub level: usize,
    pub arrays: &'a LevelBuffers,
    pub values: BufferId,
    /// The number of its positions so far.
    pub count: Var,
    pub extent: Expr,
    pub fill: Value,
    pub mode: Mode,
    /// Whether several loops in turn may append to one fiber: several move the level, or pieces of one end within a fiber.
    pub resumed: bool,
}

impl Ground<'_> {
    /// An array of the level.
    ///
    /// # Panics
    /// If the level has none that holds this.
    pub fn array(&self, holds: Holds) -> BufferId {
        self.arrays.array(holds).expect("a level has the arrays of its kind")
    }
}

/// What makes a last level.
pub(super) enum Last {
    List(List),
    Runs(Runs),
    Interval(Interval),
    Blocks(Blocks),
    Aligned(Aligned),
}

impl Last {
    /// What makes a level in this way; `list` is that of a list. `None` if it is not appended to.
    pub fn of(d: &mut Symbolic, maker: Maker, ground: &Ground, list: Option<&List>) -> Option<Last> {
        Some(match maker {
            Maker::Located | Maker::Triangle(_) => return None,
            Maker::List => Last::List(list?.clone()),
            Maker::Runs | Maker::Pieces => Last::Runs(Runs::of(d, ground)),
            Maker::Interval => Last::Interval(Interval::of(d, ground)),
            Maker::Blocks => Last::Blocks(Blocks::of(d, ground)),
            Maker::Aligned(size) => Last::Aligned(Aligned::of(d, ground, size)),
        })
    }

    /// The assembler of this kind.
    pub fn assembler(&self) -> &dyn Assembler {
        match self {
            Last::List(list) => list,
            Last::Runs(runs) => runs,
            Last::Interval(interval) => interval,
            Last::Blocks(blocks) => blocks,
            Last::Aligned(blocks) => blocks,
        }
    }

    /// Whether a fiber is begun anew where loops come to its parent, so that all of it has to come at once, unless loops are known to
    /// come back.
    pub fn begins_anew(&self) -> bool {
        matches!(self, Last::Interval(_) | Last::Blocks(_) | Last::Aligned(_))
    }

    /// Whether each value takes at most one element of each array: operands' entries that bound the values bound all arrays.
    pub fn is_bounded(&self) -> bool {
        matches!(self, Last::List(_))
    }
}

/// The fiber to which values are appended.
#[derive(Clone, Copy)]
pub(super) struct Current {
    /// Its parent, where loops may come back to it.
    parent: Option<Var>,
    /// Whether it is the level's only one.
    is_root: bool,
}

impl Current {
    /// Of a level that is made; a fiber to which no loop comes back needs no variable.
    pub fn of(d: &mut Symbolic, ground: &Ground) -> Current {
        let is_root = ground.level == 0;
        let again = ground.resumed && !is_root;
        Current { parent: again.then(|| d.fresh(&format!("parent_{}", ground.name), Type::I64)), is_root }
    }

    /// Emitted before anything is stored.
    pub fn begin(&self, d: &mut Symbolic) {
        self.parent.iter().for_each(|current| d.assign(*current, super::int(-1)));
    }

    /// Emits `fresh` where a fiber begins, of which there are several.
    pub fn enter(&self, d: &mut Symbolic, parent: &Expr, fresh: impl FnOnce(&mut Symbolic)) {
        if self.is_root {
            return;
        }
        let Some(current) = self.parent else { return fresh(d) };
        let next = |d: &mut Symbolic| {
            d.assign(current, parent.clone());
            fresh(d);
        };
        d.when(super::binary(Op::Ne, Expr::Var(current), parent.clone()), next, |_| {});
    }
}
