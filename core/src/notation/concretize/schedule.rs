//! A schedule's loops: index variables that commands derive, mapped to their loops, and the order that commands say.
//!
//! ```text
//!  split(i -> i0, i1, 16)       i = 16*i0 + i1, under loops over i0 and i1 that end where i does
//! ```

use super::super::Diagnostic;
use super::super::concrete::{Index, Limit};
use super::super::typed::{self, Parts, VarId};
use super::Concretize;
use crate::algebra::Mode;
use crate::schedule::loops::{Loops, Split};
use crate::shape::{Map, Size};
use rustc_hash::FxHashMap;

/// What a statement's schedule says of its loops.
#[derive(Default)]
pub(super) struct Scheduled {
    /// What commands make of them.
    loops: Loops,
    /// Which of them each loop of the concrete program is.
    pub named: FxHashMap<Index, VarId>,
}

impl Scheduled {
    /// Of a statement.
    pub(super) fn of(loops: Loops) -> Scheduled {
        Scheduled { loops, named: FxHashMap::default() }
    }

    /// How a coordinate is split, if it is.
    pub(super) fn split(&self, v: VarId) -> Option<Split> {
        self.loops.split(v).filter(|split| self.loops.cut(split.whole).is_none()).cloned()
    }
}

/// The loops of each statement under its commands.
///
/// # Errors
/// Of each statement the first command that is not legal.
pub(super) fn loops(program: &typed::Program, mode: Mode) -> Result<Vec<Loops>, Vec<Diagnostic>> {
    let (mut all, mut errors) = (vec![], vec![]);
    for statement in &program.statements {
        match Loops::of(program, statement, mode) {
            Ok(loops) => all.push(loops),
            Err(e) => errors.push(e),
        }
    }
    if errors.is_empty() { Ok(all) } else { Err(errors) }
}

impl Concretize<'_> {
    /// The loops of a variable that a command splits: those of its parts. It is mapped to them.
    pub(super) fn split_by_command(&mut self, split: Split) -> Vec<Index> {
        let Split { whole, outer, inner, parts } = split;
        let loops = [self.part_of(outer), self.part_of(inner)].concat();
        let length = match parts {
            Parts::Of(n) => Size::number(n as i64),
            Parts::Into(_) => Size::extent(self.classes, self.classes.class_of_var(inner)),
        };
        let at = Map::split((&self.map_of(outer), &self.map_of(inner)), &length);
        let extent = self.classes.class_of_var(whole);
        let reached = [outer, inner].map(|v| self.classes.value(self.classes.class_of_var(v)));
        let exact = reached[0].zip(reached[1]).and_then(|(a, b)| a.checked_mul(b));
        if exact.is_none() || exact != self.classes.value(extent) {
            self.out.limits.push(Limit { at: at.clone(), extent });
        }
        self.mapped(whole, at);
        loops
    }

    /// The loops of a part.
    fn part_of(&mut self, v: VarId) -> Vec<Index> {
        if let Some(split) = self.scheduled.split(v) {
            return self.split_by_command(split);
        }
        let own = self.own_name(v);
        let own = self.fresh(own, self.classes.class_of_var(v));
        self.vars.insert(v, own);
        self.scheduled.named.insert(own, v);
        vec![own]
    }

    /// These loops in the order that the schedule says, if it says one of all of them.
    pub(super) fn said(&self, loops: &[Index]) -> Option<Vec<Index>> {
        let Scheduled { loops: said, named } = &self.scheduled;
        if !said.ordered && !said.none {
            return None;
        }
        let place = |l: &Index| said.order.iter().position(|v| Some(v) == named.get(l));
        let mut placed = loops.iter().map(|l| Some((place(l)?, *l))).collect::<Option<Vec<_>>>()?;
        placed.sort_by_key(|(place, _)| *place);
        Some(placed.into_iter().map(|(_, l)| l).collect())
    }

    /// An order in which the parts of what is split stand directly in each other, the outer ones first.
    pub(super) fn together(&self, order: Vec<Index>) -> Vec<Index> {
        let Scheduled { loops: said, named } = &self.scheduled;
        let root = |l: &Index| named.get(l).map(|v| said.root(*v));
        let place = |l: &Index| said.order.iter().position(|v| Some(v) == named.get(l));
        let mut all: Vec<Index> = vec![];
        for l in &order {
            if all.contains(l) {
                continue;
            }
            let mut parts: Vec<Index> = match root(l) {
                Some(of) => order.iter().filter(|m| root(m) == Some(of)).copied().collect(),
                None => vec![*l],
            };
            parts.sort_by_key(|l| place(l));
            all.extend(parts);
        }
        all
    }
}
