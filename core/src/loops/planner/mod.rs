//! The planner: concrete notation to a plan of loops.
//!
//! ```text
//!  statement  a statement's preparations, the arrays of its result, its loops              (statement.rs, shared.rs, quotient.rs)
//!  nest       loop by loop: sequence expression, lattice, one loop shape per lattice point             (nest.rs)
//!  range      the parts of concatenations as ranges of a loop; the view of a fiber in a range       (range.rs)
//!  choice     concatenations and windows: ends of ranges, or guards                                 (choice.rs)
//!  compare    comparisons of index variables as ends of ranges                                     (compare.rs)
//!  structure  levels that are not lists: intervals, triangles                                    (structure.rs)
//!  cut        cuts of loops into pieces                                                                (cut.rs)
//!  fiber      the fiber at which each access is; located levels; values                 (fiber.rs, builtin.rs)
//!  spread     lists in position maps                                       (spread.rs; directory.rs: bucket indices)
//!  output     the levels of the result, and the slots that loops reach               (output.rs; notes.rs: what loops show)
//!  workspace  results whose coordinates arrive out of order                     (workspace.rs; counting.rs: counted copies)
//!  made       materialized temporaries that are computed inside of loops                              (made.rs)
//!  repeat     blocks: loops around nests                                                           (repeat.rs)
//! ```
//!
//! Functions in [`choose`](super::choose) make the decisions. Nothing here emits code.

mod build;
mod builtin;
mod choice;
mod compare;
mod counting;
mod cut;
mod directory;
mod fiber;
mod made;
mod nest;
mod notes;
mod output;
mod quotient;
mod range;
mod repeat;
mod shared;
mod spread;
mod statement;
mod structure;
mod workspace;

use super::choose::{Costs, Facts};
use super::plan;
use crate::notation::concrete::{AccessId, Both, Index, Place};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

/// The state that all of planning shares.
struct Context<'a> {
    facts: &'a Facts<'a>,
    few: i64,
    sought: u32,
    narrow: bool,
    /// Tensors that reuse the arrays of an earlier version.
    taken: BTreeMap<Place, Place>,
    /// The second destination, if any, into which the current statement's sum is folded (`also`).
    both: Option<(&'a Both, Place)>,
    /// What is prepared before the current statement's loops.
    prepared: Prepared,
    /// The ranges of loops, as they are shown.
    ranges: RefCell<Vec<plan::Loop>>,
    /// The number of walks around this place whose ranges are not shown.
    aside: Cell<usize>,
}

impl<'a> Deref for Context<'a> {
    type Target = Facts<'a>;

    fn deref(&self) -> &Facts<'a> {
        self.facts
    }
}

/// What is prepared before a statement's loops.
#[derive(Default)]
struct Prepared {
    /// The lists whose windows have marks, with the loop that has one for each iteration.
    marks: BTreeMap<(AccessId, usize), Option<Index>>,
    /// The accesses whose first lists have bucket indices.
    directories: BTreeSet<AccessId>,
    /// The lists with position maps.
    tables: BTreeMap<(AccessId, usize), plan::Table>,
}

impl Context<'_> {
    /// Plans one of several walks over the same loops, or what stands between the ends of pieces: its ranges are not shown.
    fn aside<R>(&self, f: impl FnOnce() -> R) -> R {
        self.aside.set(self.aside.get() + 1);
        let made = f();
        self.aside.set(self.aside.get() - 1);
        made
    }

    /// Shows a range.
    fn show(&self, range: impl FnOnce() -> plan::Loop) {
        if self.aside.get() == 0 {
            self.ranges.borrow_mut().push(range());
        }
    }
}

/// Plans a kernel.
pub(super) fn plan<'a>(facts: &'a Facts<'a>, Costs { few, sought, narrow }: Costs) -> plan::Plan {
    let taken = facts.program.taken().into_iter().collect();
    let prepared = Prepared::default();
    let (ranges, aside) = (RefCell::default(), Cell::new(0));
    let mut cx = Context { facts, few, sought, narrow, taken, both: None, prepared, ranges, aside };
    let steps = repeat::in_order(&mut cx, &facts.program.steps);
    plan::Plan::new(steps, cx.ranges.into_inner())
}
