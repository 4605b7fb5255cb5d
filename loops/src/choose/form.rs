//! The form of a result: its levels, and the variables of which its coordinates are functions.

use crate::choose::Facts;
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::concrete::{Index, Nest};

/// The levels of a result.
pub struct Form {
    pub vars: Vec<Index>,
    /// For each of `vars`, the loops' variables of which it is a function.
    pub roots: Vec<Vec<Index>>,
    pub kinds: Vec<LevelKind>,
    /// For each list, the first level of its chain; for each other level, itself.
    heads: Vec<usize>,
}

impl Form {
    /// The form of a nest's result.
    pub fn of(cx: &Facts, nest: &Nest) -> Form {
        let format = &cx.program.tensors[nest.target.tensor.0].format;
        let rank = format.rank();
        let vars: Vec<Index> = (0..rank).map(|l| cx.program.level_var(&nest.target, l)).collect();
        Form {
            roots: vars.iter().map(|v| cx.program.roots(*v)).collect(),
            vars,
            kinds: format.levels.to_vec(),
            heads: (0..rank).map(|l| format.chain(l).map_or(l, |chain| chain.start)).collect(),
        }
    }

    /// Whether the coordinate of level `l` is a function of loops' variables rather than one of them.
    pub fn is_mapped(&self, l: usize) -> bool {
        self.roots[l] != [self.vars[l]]
    }

    /// Whether level `l` is assembled by appending.
    pub fn is_list(&self, l: usize) -> bool {
        self.kinds.get(l).is_some_and(|kind| kind.is_appended())
    }

    /// Whether the chain of level `l` continues below it.
    pub fn chained(&self, l: usize) -> bool {
        self.heads.get(l + 1).is_some_and(|head| *head <= l)
    }

    /// Whether there are flags above the levels below level `l`, up to the last list, if there are some above it: `marked`.
    pub fn marks(&self, l: usize, marked: bool) -> bool {
        if self.is_list(l) { marked && self.chained(l) } else { marked || self.kinds[l].is_flagged() }
    }

    /// Whether to append to level `l` is to append to the last list and nothing else: there are no flags above it.
    pub fn appends_last(&self, l: usize, marked: bool) -> bool {
        l + 1 == self.kinds.len() && self.kinds[l].is_list() && !marked
    }

    /// Whether the last level has runs, in pieces or not.
    pub fn is_of_runs(&self) -> bool {
        self.ends(|kind| kind.is_stepped() && !kind.is_in_blocks())
    }

    /// Whether some level stores entries, so that not every coordinate is stored.
    pub fn keeps_entries(&self) -> bool {
        self.kinds.iter().any(|kind| !kind.is_full() && !kind.is_triangle())
    }

    /// Whether the last level is appended to, and such a level.
    pub fn ends(&self, such: impl Fn(LevelKind) -> bool) -> bool {
        self.kinds.last().is_some_and(|kind| kind.is_appended() && such(*kind))
    }
}
