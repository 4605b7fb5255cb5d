//! Facts about a result that planning its loops shows; they determine how its arrays are allocated and filled.

use crate::plan::Level;
use fiberloom_core::notation::concrete::AccessId;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The facts about a result's loops that choose its arrays.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// Whether the loops append every value that they reach.
    pub appends_all: bool,
    /// The access such that the loops visit exactly its entries.
    pub along: Option<AccessId>,
}

/// The record of facts about the loops of a result.
pub(super) struct Notes {
    /// Whether each level is appended to.
    appended: Vec<bool>,
    seen: RefCell<Seen>,
}

/// The facts recorded so far.
#[derive(Clone)]
pub(super) struct Seen {
    /// Lists for which loops may skip a parent, so that positions must be carried forward.
    pub carried: BTreeSet<usize>,
    /// Whether loops may leave some value of dense levels unstored.
    pub gaps: bool,
    /// Whether loops may write an entry behind the last one and not keep it.
    pub speculative: bool,
    /// Whether some value is stored only if it differs from the fill value.
    filtered: bool,
    /// The access such that exactly its entries are stored.
    along: Along,
    /// The lists whose entries bound the appended ones; `None` once a loop appends without a bound.
    pub leaders: Option<BTreeSet<Level>>,
}

/// Whether the loops of a result visit exactly the entries of one access, in all of its fibers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    /// No loop walks a list so far.
    Open,
    By(AccessId),
    Not,
}

impl Along {
    fn access(self) -> Option<AccessId> {
        if let Along::By(a) = self { Some(a) } else { None }
    }
}

impl Notes {
    /// An empty record; `gaps` is known from the start.
    pub fn of(appended: Vec<bool>, gaps: bool) -> Notes {
        let seen = Seen {
            carried: BTreeSet::new(),
            gaps,
            speculative: false,
            filtered: false,
            along: Along::Open,
            leaders: Some(BTreeSet::new()),
        };
        Notes { appended, seen: RefCell::new(seen) }
    }

    /// The facts recorded so far.
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// The facts, after the loops are planned.
    pub fn shown(&self) -> Shown {
        let seen = self.seen.borrow();
        Shown { appends_all: !seen.filtered && !seen.speculative, along: seen.along.access() }
    }

    /// Records that the loop over a list's coordinates visits all entries of one access and nothing else; `None` records that the result
    /// is not along any access.
    pub fn goes_along(&self, access: Option<AccessId>) {
        let mut seen = self.seen.borrow_mut();
        seen.along = match (seen.along, access) {
            (Along::Open, Some(a)) => Along::By(a),
            (Along::By(before), Some(a)) if before == a => Along::By(a),
            _ => Along::Not,
        };
    }

    /// Records the depth of accesses where loops reach a list's entry. An access that has descended further, through a level whose
    /// coordinate is known, does not have that entry's position.
    pub fn reached(&self, level: usize, depth: &dyn Fn(AccessId) -> usize) {
        if self.shown().along.is_some_and(|a| self.appends(level) && depth(a) != level + 1) {
            self.seen.borrow_mut().along = Along::Not;
        }
    }

    fn appends(&self, level: usize) -> bool {
        self.appended.get(level).is_some_and(|appended| *appended)
    }

    /// Records that a loop does not visit all of its coordinates. If the loop moves the result, or counts pieces of such loops, the
    /// values at skipped coordinates are not stored.
    pub fn passes(&self) {
        self.seen.borrow_mut().gaps = true;
    }

    /// Records the lists that bound the entries that one loop appends; `None` if nothing does.
    pub fn led_by(&self, level: usize, by: Option<Vec<Level>>) {
        if level + 1 == self.appended.len() {
            let leaders = &mut self.seen.borrow_mut().leaders;
            *leaders = match (leaders.take(), by) {
                (Some(all), Some(more)) => Some(all.into_iter().chain(more).collect()),
                _ => None,
            };
        }
    }

    /// Records that a coordinate of a level is not visited.
    pub fn skipped(&self, level: usize) {
        self.goes_along(None);
        if level < self.appended.len() && !self.appends(level) {
            let next = (level..self.appended.len()).find(|l| self.appended[*l]);
            self.seen.borrow_mut().carried.extend(next);
        }
    }

    /// Records that loops may skip a parent of level `l`.
    pub fn carries(&self, l: usize) {
        self.seen.borrow_mut().carried.insert(l);
    }

    /// Records that some value is stored only if it differs from the fill value.
    pub fn filters(&self) {
        self.seen.borrow_mut().filtered = true;
    }

    /// Records that an entry may be written behind the last one and not kept.
    pub fn tries(&self) {
        self.seen.borrow_mut().speculative = true;
    }
}
