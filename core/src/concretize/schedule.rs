//! A schedule's loops: index variables that commands derive, mapped to their loops, and the order that commands say.
//!
//! ```text
//!  split(i -> i0, i1, 16)       i = 16*i0 + i1, under loops over i0 and i1 that end where i does
//!  pos(j -> q, A); split(q -> q0, q1, 8)
//!                               a loop over q0 counts pieces; that over j, which q1 stands for, visits one
//! ```

use super::Concretize;
use crate::algebra::Mode;
use crate::map::{Map, Size};
use crate::notation::Diagnostic;
use crate::notation::concrete::{self, Index, Length, Limit, Origin, Terms, Within};
use crate::notation::typed::{self, Parts, VarId};
use crate::schedule::loops::{Cut, Loops, Split};
use rustc_hash::FxHashMap;

/// What a statement's schedule says of its loops.
#[derive(Default)]
pub(super) struct Scheduled {
    /// What commands make of them.
    loops: Loops,
    /// Which of them each loop of the concrete program is.
    pub named: FxHashMap<Index, VarId>,
    /// The loops over pieces of each cut, by the loops that it cuts.
    pieces: FxHashMap<(VarId, Vec<Index>), Pieces>,
}

/// Loops that commands have split, each with its parts, outermost first.
type Wholes = Vec<(Index, Vec<Index>)>;

/// Loops over the pieces of a cut, each with its place in the schedule's order, and the place of the loops that are cut.
#[derive(Clone)]
struct Pieces {
    loops: Vec<(usize, Index)>,
    cut: usize,
}

impl Scheduled {
    /// Of a statement.
    pub(super) fn of(loops: Loops) -> Scheduled {
        Scheduled { loops, ..Scheduled::default() }
    }

    /// Whether no command is about loops.
    pub(super) fn is_bare(&self) -> bool {
        self.loops.is_bare()
    }

    /// Whether each turn of a loop begins within what it is a part of: it counts parts of so many turns of a loop that is no part itself.
    pub(super) fn begins_within(&self, loop_: Index) -> bool {
        let Some(v) = self.named.get(&loop_) else { return false };
        let part = |whole: VarId| self.loops.splits.iter().any(|s| s.outer == whole || s.inner == whole);
        let of = self.loops.splits.iter().find(|split| split.outer == *v);
        of.is_some_and(|split| matches!(split.parts, Parts::Of(_)) && !part(split.whole))
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
            Parts::Into(_) => self.classes.size(self.classes.class_of_var(inner)),
        };
        let at = Map::split((&self.map_of(outer), &self.map_of(inner)), &length);
        let extent = self.classes.class_of_var(whole);
        let reached = [outer, inner].map(|v| self.classes.value(self.classes.class_of_var(v)));
        let exact = reached[0].zip(reached[1]).and_then(|(a, b)| a.checked_mul(b));
        if exact.is_none() || exact != self.classes.value(extent) {
            self.out.limits.push((None, Limit::Below { at: at.clone(), extent }));
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
        self.stands_for(own, v);
        vec![own]
    }

    /// Notes which loop of the schedule one is.
    pub(super) fn stands_for(&mut self, own: Index, v: VarId) {
        self.scheduled.named.insert(own, v);
        self.out.vars[own.0].asked = self.scheduled.loops.asked(v);
    }

    /// These loops in the order that the schedule says, if it says one of all of them; with loops over the pieces of what is cut.
    pub(super) fn said(&mut self, loops: &[Index]) -> Option<Vec<Index>> {
        let says = |said: &Loops| said.ordered || said.none || !said.cuts.is_empty();
        let said = Some(&self.scheduled.loops).filter(|said| says(said)).cloned()?;
        let names: FxHashMap<Index, VarId> =
            loops.iter().filter_map(|l| Some((*l, *self.scheduled.named.get(l)?))).collect();
        let name = |l: &Index| names.get(l).copied();
        let mut placed = vec![];
        for l in loops {
            let (of, within) = said.standing(name(l)?);
            placed.push((said.order.iter().position(|v| *v == of)?, within, *l));
        }
        for cut in &said.cuts {
            let cut_here: Option<Vec<Index>> =
                cut.loops.iter().map(|v| loops.iter().find(|l| name(l) == Some(*v)).copied()).collect();
            if let Some(here) = cut_here.filter(|_| said.split(cut.whole).is_some()) {
                let pieces = self.pieces(cut, here.clone());
                placed.extend(pieces.loops.iter().map(|(place, l)| (*place, 0, *l)));
                let innermost = |entry: &mut (usize, usize, Index)| {
                    if here.contains(&entry.2) {
                        entry.0 = pieces.cut;
                        // Behind the loop that counts what is left, where there is one.
                        entry.1 += 1;
                    }
                };
                placed.iter_mut().for_each(innermost);
            }
        }
        placed.sort_by_key(|(place, within, _)| (*place, *within));
        Some(placed.into_iter().map(|(_, _, l)| l).collect())
    }

    /// Loops over the pieces of a cut of these loops.
    fn pieces(&mut self, cut: &Cut, loops: Vec<Index>) -> Pieces {
        let key = (cut.whole, loops.clone());
        if let Some(known) = self.scheduled.pieces.get(&key) {
            return known.clone();
        }
        let said = self.scheduled.loops.clone();
        let place = |v: VarId| said.place(v).expect("parts are loops");
        let rest = said.innermost(cut.whole);
        let parts = said.parts(cut.whole);
        let last = parts.iter().map(|(v, _)| place(*v)).max().expect("it is split");
        // Where what is left is counted outside of some pieces, it is counted one by one.
        let counted = place(rest) < last;
        let tensors = cut.tensors.iter().map(|t| self.reading(*t)).collect();
        let extents = loops.iter().map(|l| self.out.vars[l.0].extent).collect();
        self.out.cuts.push(concrete::Cut { counted: cut.counted, tensors, extents });
        let number = self.out.cuts.len() - 1;
        let mut made: FxHashMap<VarId, Index> = FxHashMap::default();
        let mut pieces = Pieces { loops: vec![], cut: last };
        for (v, _) in parts.iter().filter(|(v, _)| *v != rest || counted) {
            let name = self.own_name(*v);
            let own = self.fresh(name, self.classes.class_of_var(*v));
            self.out.vars[own.0].asked = said.asked(*v);
            self.out.vars[own.0].limits.push(Limit::Pieces { cut: number, turns: said.length(*v) });
            made.insert(*v, own);
            pieces.loops.push((place(*v), own));
        }
        let terms = |parts: &[(VarId, Vec<Length>)]| -> Terms {
            parts.iter().filter_map(|(v, by)| Some((*made.get(v)?, by.clone()))).collect()
        };
        let unit = if counted { Length::Number(1) } else { said.length(rest) };
        let ends: Vec<(Terms, Length)> =
            said.spine(cut.whole).iter().map(|(before, end)| (terms(before), end.clone())).collect();
        let beyond: Vec<(Terms, Length)> =
            said.beyond(cut.whole).iter().map(|(parts, length)| (terms(parts), length.clone())).collect();
        for (place, l) in loops.iter().enumerate() {
            let within = Within {
                cut: number,
                place,
                from: terms(&parts),
                unit: unit.clone(),
                ends: ends.clone(),
                beyond: beyond.clone(),
            };
            self.out.limits.push((Some(*l), Limit::Within(within)));
        }
        self.scheduled.pieces.insert(key, pieces.clone());
        pieces
    }

    /// Whether a loop counts pieces.
    pub(super) fn is_piece(&self, v: Index) -> bool {
        self.out.vars[v.0].limits.iter().any(|limit| matches!(limit, Limit::Pieces { .. }))
    }

    /// The loops over pieces of what these are, which are a sum's as they are.
    pub(super) fn pieces_of(&self, sums: &[Index], order: &[Index]) -> Vec<Index> {
        let cuts = |l: &Index, p: &Index| {
            let of = |(on, limit): &(Option<Index>, Limit)| *on == Some(*l) && limit.vars().contains(p);
            self.out.limits.iter().any(of)
        };
        order.iter().filter(|p| self.is_piece(**p) && sums.iter().any(|l| cuts(l, p))).copied().collect()
    }

    /// The program in which what commands have split is one loop each, and its parts, outermost first; `None` if nothing is split.
    pub(super) fn unsplit(&self) -> Option<(concrete::Program, Wholes)> {
        let said = &self.scheduled.loops;
        let mut program = None;
        let mut parts = vec![];
        for split in said.splits.iter().filter(|split| said.root(split.whole) == split.whole) {
            let Some(whole) = self.vars.get(&split.whole).copied() else { continue };
            if let Origin::Mapped(map) = &self.out.vars[whole.0].origin {
                let mut own: Vec<Index> = map.factors.keys().copied().collect();
                own.sort_by_key(|l| self.scheduled.named.get(l).and_then(|v| said.place(*v)));
                let program: &mut concrete::Program = program.get_or_insert_with(|| self.out.clone());
                let one = Map::var(whole);
                for var in program.vars.iter_mut().filter(|var| var.origin == Origin::Mapped(map.clone())) {
                    var.origin = Origin::Mapped(one.clone());
                }
                program.vars[whole.0].origin = Origin::Loop;
                parts.push((whole, own));
            }
        }
        Some((program?, parts))
    }
}
