//! Chooses the storage of temporaries by their size.
//!
//! ```text
//!   coordinates come     of one variable, its extent ...        of several
//!     again and again    narrow: dense        wide: hashed      hashed
//!     once               narrow: dense        wide: list        list
//!     in any order       narrow: dense        wide: list        hashed; list where an extent is beyond 2¹⁶
//! ```
//!
//! A dense workspace costs its extent once, and a cache miss for each value if it does not fit the cache. A hashed one costs some steps
//! for each value, and a sort. Keys are one number if all extents together fit 63 bits, else a word for each variable.
//!
//! A GPU's threads, of which each has workspaces of its own, have no room for long arrays, and hash tables do not grow there: what is added up is a
//! list then, sorted before it is ([`Sizes::in_lists`]).
//!
//! Each extent is known as a [`Magnitude`] when a kernel is planned, so that not every extent has a kernel of its own.
//! An unknown extent counts as narrow. The choice affects cost and memory, never results. Exact extents are used only
//! for fill values of undeclared results that depend on them, such as a sum of a tensor that is filled with 2.

use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::{Keys, WorkspaceKind};
use fiberloom_core::notation::typed::Extents;
use fiberloom_core::notation::typed::{Program, SizeId, VarId};
use fiberloom_core::shape::{Classes, Magnitude};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Extents that lowering has used although the program does not state them, given or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    /// The sizes whose magnitudes chose storage.
    pub magnitudes: BTreeSet<SizeId>,
    /// Whether the fill value of an undeclared result depends on extents.
    pub extents: bool,
    /// The index variables of sums of floats that were taken out of products. Where the extent of one is 0, the sum is 0 and an infinite
    /// factor times it NaN, while the sum of the products is 0: on such data the program is lowered anew, with these in
    /// `empty` of the options of loops.
    pub summed: BTreeSet<VarId>,
}

/// The extents that are known when a program is lowered, with a record of their use.
pub struct Sizes<'a> {
    classes: &'a Classes,
    given: BTreeMap<ClassId, Magnitude>,
    extents: Option<&'a Extents>,
    asked: RefCell<BTreeSet<ClassId>>,
    asked_exactly: Cell<bool>,
    lists: bool,
}

impl<'a> Sizes<'a> {
    /// Extents that the program states, and those that are given besides.
    pub fn new(classes: &'a Classes, given: &BTreeMap<SizeId, Magnitude>, extents: Option<&'a Extents>) -> Sizes<'a> {
        let given = given.iter().map(|(size, m)| (classes.class_of_size(*size), *m)).collect();
        Sizes { classes, given, extents, asked: RefCell::default(), asked_exactly: Cell::default(), lists: false }
    }

    /// The same, where what is added up is a list of what is added, if it is longer than 2¹⁶, or of several variables.
    #[must_use]
    pub fn in_lists(self, lists: bool) -> Sizes<'a> {
        Sizes { lists, ..self }
    }

    /// The extents used so far.
    pub fn asked(&self, program: &Program) -> Asked {
        let asked = self.asked.borrow();
        let sizes = (0..program.sizes.len() as u32).map(SizeId);
        let magnitudes = sizes.filter(|s| asked.contains(&self.classes.class_of_size(*s))).collect();
        Asked { magnitudes, extents: self.asked_exactly.get(), summed: BTreeSet::new() }
    }

    /// An extent, if the program states it or it is given.
    pub fn extent(&self, extent: ClassId) -> Option<u64> {
        self.classes.value(extent).or_else(|| {
            self.asked_exactly.set(true);
            self.extents.map(|all| all.of_class(extent))
        })
    }

    fn magnitude(&self, extent: ClassId) -> Option<Magnitude> {
        if let Some(n) = self.classes.value(extent) {
            return Some(Magnitude::of(n));
        }
        self.asked.borrow_mut().insert(extent);
        self.given.get(&extent).copied()
    }

    /// Whether an array of this extent is too long for a workspace of few values.
    pub fn wide(&self, extent: ClassId) -> bool {
        self.magnitude(extent).is_some_and(Magnitude::is_wide)
    }

    /// The kind of a workspace over these extents.
    pub fn workspace(&self, extents: &[ClassId], folds: bool) -> WorkspaceKind {
        let long = |e: &ClassId| self.magnitude(*e).is_some_and(|m| m > Magnitude::ALL[0]);
        // Visits every extent, to record its use.
        let listed = self.lists && folds && (extents.iter().filter(|e| long(e)).count() > 0 || extents.len() > 1);
        match extents {
            [extent] if !listed && !self.wide(*extent) => return WorkspaceKind::Dense,
            _ => {}
        }
        let kind = if folds && !listed { WorkspaceKind::Hashed } else { WorkspaceKind::List };
        kind(if self.together(extents) { Keys::Together } else { Keys::Apart })
    }

    /// The kind of a scatter's workspace, whose coordinates arrive in any order. Values at the same coordinates are folded as they arrive
    /// if there are few coordinates, so that many values meet; else they are sorted, which costs less than a search for each.
    pub fn scattered(&self, extents: &[ClassId], folds: bool) -> WorkspaceKind {
        let few = |e: &ClassId| self.magnitude(*e).is_none_or(|m| m <= Magnitude::ALL[0]);
        let all_few = extents.iter().filter(|e| !few(e)).count() == 0;
        self.workspace(extents, folds && all_few)
    }

    /// Whether one number can hold a coordinate of each extent.
    fn together(&self, extents: &[ClassId]) -> bool {
        // Visits every extent, also those behind an unknown one, to record its use; an unknown extent counts as one bit.
        extents.len() == 1 || extents.iter().map(|e| self.magnitude(*e).map_or(1, Magnitude::bits)).sum::<u32>() <= 63
    }
}
