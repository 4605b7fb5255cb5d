//! The planner: concrete notation to a plan of loops.
//!
//! ```text
//!  repeat     blocks: loops around nests                                                             (repeat.rs)
//!  statement  a statement's preparations, its loops, the arrays of its result    (statement.rs, quotient.rs, bucket_index.rs)
//!  nest       loop by loop: sequence expression, lattice, one loop shape for each lattice point        (nest.rs, stepped.rs)
//!  walks      a whole extent, one list, lists that store speculatively             (dense.rs, entries.rs, speculative.rs)
//!  arrive     a coordinate of a loop: levels open, guards are tested                                  (arrive.rs)
//!  leaf       the bottom of a nest: values are stored                         (leaf.rs, places.rs, counting.rs)
//!  made       materialized temporaries that are computed inside of loops                                (made.rs)
//!  choice     concatenations and windows: ends of ranges, or guards                                   (choice.rs)
//!  range      the ranges of a loop; the view of a fiber in one        (range.rs, bounds.rs, compare.rs, phases.rs, cut.rs)
//!  position_map  lists in position maps                                                         (position_map.rs)
//!  destination  the destinations of values: results, workspaces    (destination.rs; output.rs, workspace.rs)
//!  value      values, and levels that open at coordinates             (value.rs, builtin.rs, structure.rs)
//!  levels     the arrays and fibers of accesses                                                       (levels.rs)
//! ```
//!
//! Functions in [`choose`](super::choose) make the decisions. Nothing here emits code. A file takes only of files below it; the one way back up,
//! from a value to the loops of a fold in it, is [`Context::nest`].

mod arrive;
mod bounds;
mod bucket_index;
mod build;
mod builtin;
mod choice;
mod compare;
mod counting;
mod cut;
mod dense;
mod destination;
mod entries;
mod leaf;
mod levels;
mod made;
mod nest;
mod output;
mod phases;
mod places;
mod position_map;
mod quotient;
mod range;
mod repeat;
mod speculative;
mod statement;
mod stepped;
mod structure;
mod value;
mod workspace;

use super::choose::{Costs, Facts, scope::Scope};
use super::plan;
use destination::Destination;
use fiberloom_core::notation::concrete::{AccessId, Also, Expr, Index, Place};
use plan::Block;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

/// The state that all of planning shares.
struct Context<'a> {
    facts: &'a Facts<'a>,
    few: i64,
    sought: u32,
    narrow: bool,
    /// The second destination, if any, into which the current statement's sum is folded (`also`).
    also: Option<(&'a Also, Place)>,
    /// What is prepared before the current statement's loops.
    prepared: Prepared,
    /// Plans the loops of a nest, or of a fold inside of a value.
    nest: fn(&Context, &mut Block, &[Index], &Expr, Scope, &Destination),
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
    bucket_indices: BTreeSet<AccessId>,
    /// The lists with position maps.
    tables: BTreeMap<(AccessId, usize), plan::Table>,
}

/// Plans a kernel.
pub(super) fn plan<'a>(facts: &'a Facts<'a>, Costs { few, sought, narrow }: Costs) -> plan::Plan {
    let prepared = Prepared::default();
    let nest = nest::plan;
    let mut cx = Context { facts, few, sought, narrow, also: None, prepared, nest };
    let steps = repeat::in_order(&mut cx, &facts.program.steps);
    plan::Plan::new(steps)
}
