//! The entries that are appended: what bounds their number, and which of them are stored only where a condition holds.

use super::{Point, Tree};
use crate::choose::access;
use crate::choose::symbol::Name;
use crate::plan::{Block, Driver, Level, Op, Room};
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::concrete::WorkspaceKind;
use std::collections::BTreeSet;

/// The loops around an operation.
#[derive(Clone, Copy)]
struct Around<'t> {
    /// How many there are.
    depth: usize,
    /// The innermost one.
    last: Option<&'t Op>,
    /// Whether some visits the pieces of levels, of which each makes room for its own entries.
    in_pieces: bool,
}

impl<'t> Tree<'t> {
    /// The bound on the entries of the last level, if there is one. Nothing bounds the entries that a workspace drains, unless they are
    /// those of a list.
    pub(super) fn room(&self) -> Option<Room> {
        if !self.form.ends(LevelKind::is_list) {
            return None;
        }
        let mut leaders: BTreeSet<Level> = self.split.iter().map(|of| (*of, 0)).collect();
        let around = Around { depth: 0, last: None, in_pieces: false };
        let bounded = self.blocks.iter().all(|block| self.leads(block, around, &mut leaders));
        let led = self.nest.workspace().is_none() || !leaders.is_empty();
        (bounded && led).then(|| Room { leaders: leaders.into_iter().collect(), spare: self.tries() })
    }

    /// Collects the lists that bound the entries that a block appends; `false` if there is no bound.
    fn leads(&self, Block(ops): &'t Block, around: Around<'t>, all: &mut BTreeSet<Level>) -> bool {
        ops.iter().all(|op| {
            let Some(led) = self.led_by(op, around) else { return false };
            all.extend(led);
            op.blocks().into_iter().all(|(at, block)| {
                let in_pieces = around.in_pieces || matches!(op, Op::Steps { .. } | Op::Blocks { .. });
                let inner = match at {
                    Some(_) => Around { depth: around.depth + 1, last: Some(op), in_pieces },
                    None => Around { in_pieces, ..around },
                };
                self.leads(block, inner, all)
            })
        })
    }

    /// The lists that bound the entries that an operation itself appends; `None` if nothing does.
    fn led_by(&self, op: &Op, around: Around<'t>) -> Option<Vec<Level>> {
        let own = |output: &Name, insertion: &Name| *output == self.output && self.is_last(*insertion);
        match op {
            Op::Visit { output, insertion, body, .. } if own(output, insertion) => {
                self.visited_by(around.last?, body, around.depth).filter(|_| !around.in_pieces)
            }
            Op::MakeRoom { output, insertion, .. } if own(output, insertion) => None,
            Op::Drain { output, along: Some(list), insertion, .. } if *output == self.output => {
                let v = *self.form.vars.get(self.level(*insertion)?)?;
                let loops = [self.nest.order().get(..around.depth)?, &[v]].concat();
                access::visits_once(self.cx, list.of, &loops).then(|| vec![list.of])
            }
            _ => Some(vec![]),
        }
    }

    /// The lists of which one has an entry at each coordinate that a loop visits; `None` if there are none, or if the loops around visit
    /// an entry of one twice. Where lists meet, the first of them has an entry, and each has one where a value is kept.
    fn visited_by(&self, of: &Op, body: &Block, depth: usize) -> Option<Vec<Level>> {
        let once = |list: &Name| self.once(*self.opened.get(list)?, depth);
        let one = |led: Option<Level>| led.map(|led| vec![led]);
        let kept = || body.0.iter().any(|op| matches!(op, Op::StoreIf { .. }));
        match of {
            Op::Each { list, .. } | Op::Filter { list, .. } => one(self.once(list.of, depth)),
            Op::EachOpen { list, .. } | Op::Along { list, .. } => one(once(list)),
            Op::Intersect { lists, .. } => one(lists.iter().find_map(once)),
            Op::Leap { lists, .. } => one(lists.iter().find_map(|leaping| once(&leaping.list))),
            Op::Meet { lists, .. } if kept() => one(lists.iter().find_map(once)),
            Op::MeetLanes { lists, .. } if kept() => one(lists.iter().find_map(once)),
            Op::Meet { lists, .. } => one(once(lists.first()?)),
            Op::MeetLanes { lists: [first, _], .. } => one(once(first)),
            Op::Unite { lists, .. } | Op::UniteFlat { lists, .. } => lists.iter().map(once).collect(),
            Op::Wide { lists, .. } => lists.iter().map(|(_, list)| once(list)).collect(),
            _ => None,
        }
    }

    /// A list, if these many loops of the nest visit none of its entries twice.
    fn once(&self, list: Level, depth: usize) -> Option<Level> {
        let order = self.nest.order();
        let loops = order.get(..depth)?;
        access::visits_once(self.cx, list, loops).then_some(list)
    }

    /// Whether the level below an insertion point is the last one.
    fn is_last(&self, insertion: Name) -> bool {
        self.level(insertion).is_some_and(|level| level + 1 == self.form.kinds.len())
    }

    /// Whether an entry may be written behind the last one, and not be kept.
    pub(super) fn tries(&self) -> bool {
        self.any(&|op| match op {
            Op::StoreIf { output, .. } => *output == self.output,
            Op::Drain { output, insertion, .. } => {
                let last = |point: &Point| {
                    point.level < self.form.kinds.len() && self.form.appends_last(point.level, point.marked)
                };
                let dense = self.nest.workspace().is_some_and(|w| w.kind == WorkspaceKind::Dense);
                *output == self.output && dense && self.points.get(insertion).is_some_and(last)
            }
            _ => false,
        })
    }

    /// Whether some value is stored only if it differs from the fill value: where loops come to a coordinate of the last list that no
    /// list has led them to.
    pub(super) fn filters(&self) -> bool {
        self.any(&|op| match op {
            Op::Visit { output, insertion, driver, .. } => {
                let own = *output == self.output && self.is_last(*insertion);
                own && self.form.ends(|_| true) && !self.form.is_of_runs() && *driver != Driver::Stored
            }
            _ => false,
        })
    }

    /// Whether there is such an operation.
    fn any(&self, such: &dyn Fn(&Op) -> bool) -> bool {
        fn in_block(Block(ops): &Block, such: &dyn Fn(&Op) -> bool) -> bool {
            ops.iter().any(|op| such(op) || op.blocks().into_iter().any(|(_, block)| in_block(block, such)))
        }
        self.blocks.iter().any(|block| in_block(block, such))
    }
}
