//! What the loops emitted so far show of the result that they assemble, from which it follows how its arrays are made.

use super::output::Slot;
use crate::loops::plan::Level;
use crate::notation::concrete::AccessId;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// What loops show of the result that they assemble.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// Whether they append every value that they reach.
    pub appends_all: bool,
    /// The access whose entries alone they visit.
    pub along: Option<AccessId>,
}

/// What loops show of a result of such levels.
pub(super) struct Notes {
    /// Whether each level is appended to.
    appended: Vec<bool>,
    seen: RefCell<Seen>,
}

/// What was seen so far.
#[derive(Clone)]
pub(super) struct Seen {
    /// Lists of which loops may pass over a parent, so that positions must be carried forward.
    pub carried: BTreeSet<usize>,
    /// Whether loops may leave some value of dense levels unstored.
    pub gaps: bool,
    /// Whether loops may write an entry behind the last one and not keep it.
    pub tentative: bool,
    /// Whether some value is stored only if it differs from the fill.
    sifted: bool,
    /// The access whose entries alone are stored.
    along: Along,
    /// Lists whose entries bound the appended ones; `None` once a loop appends without a bound.
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
    /// Nothing is shown so far; whether there may be `gaps` is known.
    pub fn of(appended: Vec<bool>, gaps: bool) -> Notes {
        let seen = Seen {
            carried: BTreeSet::new(),
            gaps,
            tentative: false,
            sifted: false,
            along: Along::Open,
            leaders: Some(BTreeSet::new()),
        };
        Notes { appended, seen: RefCell::new(seen) }
    }

    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// What loops show, once they are emitted.
    pub fn shown(&self) -> Shown {
        let seen = self.seen.borrow();
        Shown { appends_all: !seen.sifted && !seen.tentative, along: seen.along.access() }
    }

    /// Notes that the loop over a list's coordinates visits all entries of one access and nothing else; `None`: that the
    /// result is not along any access.
    pub fn goes_along(&self, access: Option<AccessId>) {
        let mut seen = self.seen.borrow_mut();
        seen.along = match (seen.along, access) {
            (Along::Open, Some(a)) => Along::By(a),
            (Along::By(before), Some(a)) if before == a => Along::By(a),
            _ => Along::Not,
        };
    }

    /// Notes the depth of accesses where loops reach a list's entry. An access that has descended further, through a level
    /// whose coordinate is known, no longer has that entry's position.
    pub fn reached(&self, slot: &Slot, depth: &dyn Fn(AccessId) -> usize) {
        if self.shown().along.is_some_and(|a| self.appends(slot) && depth(a) != slot.level + 1) {
            self.seen.borrow_mut().along = Along::Not;
        }
    }

    fn appends(&self, slot: &Slot) -> bool {
        self.appended.get(slot.level).is_some_and(|appended| *appended)
    }

    /// Notes that a loop does not visit all of its coordinates: of one that moves the result, or counts pieces of such loops, what
    /// stands there is not stored.
    pub fn passes(&self) {
        self.seen.borrow_mut().gaps = true;
    }

    /// Notes the lists that bound the entries that one loop appends; `None` if nothing does.
    pub fn led_by(&self, slot: &Slot, by: Option<Vec<Level>>) {
        if slot.level + 1 == self.appended.len() {
            let leaders = &mut self.seen.borrow_mut().leaders;
            *leaders = match (leaders.take(), by) {
                (Some(all), Some(more)) => Some(all.into_iter().chain(more).collect()),
                _ => None,
            };
        }
    }

    /// Notes that a coordinate of the slot's level is not visited.
    pub fn skipped(&self, slot: &Slot) {
        self.goes_along(None);
        if slot.level < self.appended.len() && !self.appends(slot) {
            let next = (slot.level..self.appended.len()).find(|l| self.appended[*l]);
            self.seen.borrow_mut().carried.extend(next);
        }
    }

    /// Notes that loops may pass over a parent of level `l`.
    pub fn carries(&self, l: usize) {
        self.seen.borrow_mut().carried.insert(l);
    }

    /// Notes that some value is stored only if it differs from the fill.
    pub fn sifts(&self) {
        self.seen.borrow_mut().sifted = true;
    }

    /// Notes that an entry may be written behind the last one and not kept.
    pub fn tries(&self) {
        self.seen.borrow_mut().tentative = true;
    }
}
