//! A schedule's loops: index variables that commands derive, mapped to their loops, and the order that commands say.
//!
//! ```text
//!  split(i -> i0, i1, 16)       i = 16*i0 + i1, under loops over i0 and i1 that end where i does
//!  pos(j -> q, A); split(q -> q0, q1, 8)
//!                               a loop over q0 counts pieces; that over j, which q1 stands for, visits one
//! ```

use super::given::length;
use super::out::Out;
use super::rename::Renaming;
use crate::algebra::Mode;
use crate::map::{Map, Size};
use crate::notation::Diagnostic;
use crate::notation::concrete::{self, Index, Length, Limit, Origin, Program, Provenance, Terms, Within};
use crate::notation::typed::{self, Kind, Parts, VarId};
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
    pub fn of(loops: Loops) -> Scheduled {
        Scheduled { loops, ..Scheduled::default() }
    }

    /// Whether no command is about loops.
    pub fn is_bare(&self) -> bool {
        self.loops.is_bare()
    }

    /// Whether each turn of a loop begins within what it is a part of: it counts parts of so many turns of a loop that is no part itself.
    pub fn begins_within(&self, loop_: Index) -> bool {
        let Some(v) = self.named.get(&loop_) else { return false };
        let part = |whole: VarId| self.loops.splits.iter().any(|s| s.outer == whole || s.inner == whole);
        let of = self.loops.splits.iter().find(|split| split.outer == *v);
        of.is_some_and(|split| matches!(split.parts, Parts::Of(_)) && !part(split.whole))
    }

    /// How a coordinate is split, if it is.
    fn split(&self, v: VarId) -> Option<Split> {
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

/// The loops of variables.
impl Scheduled {
    /// The loops of a variable: one, or where something is collapsed to it in `body` one for each part.
    pub fn loops_of(&mut self, v: VarId, body: &typed::Expr, out: &mut Out) -> Vec<Index> {
        if let Some(split) = self.split(v) {
            return self.split_by_command(split, out);
        }
        let loops = self.loops_over(v, body, out);
        loops.iter().for_each(|l| self.stands_for(*l, v, out));
        loops
    }

    /// The loops of a variable that no command splits.
    fn loops_over(&mut self, v: VarId, body: &typed::Expr, out: &mut Out) -> Vec<Index> {
        let mut parts: Option<(&[VarId], &typed::Expr)> = None;
        body.walk(&mut |e| {
            if let Kind::Collapse { body, from, to } = &e.kind
                && *to == v
            {
                parts.get_or_insert((from, body));
            }
        });
        match parts {
            None => {
                let known = out.of(v);
                if out.vars[known.0].origin != Origin::Loop {
                    // Another sum over the same variable collapses to it.
                    let own = out.own_loop(v);
                    out.bind(v, own);
                }
                vec![out.of(v)]
            }
            Some((from, body)) => self.split_loop(v, from, body, out),
        }
    }

    /// Loops over the parts of a variable, which is mapped to them.
    pub fn split_loop(&mut self, v: VarId, from: &[VarId], body: &typed::Expr, out: &mut Out) -> Vec<Index> {
        let (mut loops, mut whole) = (Vec::new(), None);
        for part in from {
            // These loops run around what stands beside the collapsed expression, where their names may be others'. Each part's are
            // numbered before the next part's, also where it is collapsed itself.
            let own = out.own_loop(*part);
            out.bind(*part, own);
            loops.extend(self.loops_of(*part, body, out));
            let map = out.map_of(*part);
            whole = Some(match whole {
                None => map,
                Some(outer) => Map::split((&outer, &map), &length(out.classes, out.classes.class_of_var(*part))),
            });
        }
        out.bind_to_map(v, whole.expect("two parts or more"));
        loops
    }

    /// The loops of a variable that a command splits: those of its parts. It is mapped to them.
    fn split_by_command(&mut self, split: Split, out: &mut Out) -> Vec<Index> {
        let Split { whole, outer, inner, parts } = split;
        let loops = [self.part_of(outer, out), self.part_of(inner, out)].concat();
        let length = match parts {
            Parts::Of(n) => Size::number(n as i64),
            Parts::Into(_) => out.classes.size(out.classes.class_of_var(inner)),
        };
        let at = Map::split((&out.map_of(outer), &out.map_of(inner)), &length);
        let extent = out.classes.class_of_var(whole);
        let reached = [outer, inner].map(|v| out.classes.value(out.classes.class_of_var(v)));
        let exact = reached[0].zip(reached[1]).and_then(|(a, b)| a.checked_mul(b));
        if exact.is_none() || exact != out.classes.value(extent) {
            out.limits.push((None, Limit::Below { at: at.clone(), extent }));
        }
        out.bind_to_map(whole, at);
        loops
    }

    /// The loops of a part.
    fn part_of(&mut self, v: VarId, out: &mut Out) -> Vec<Index> {
        if let Some(split) = self.split(v) {
            return self.split_by_command(split, out);
        }
        let own = out.own_loop(v);
        out.bind(v, own);
        self.stands_for(own, v, out);
        vec![own]
    }

    /// Notes which loop of the schedule one is.
    fn stands_for(&mut self, own: Index, v: VarId, out: &mut Out) {
        self.named.insert(own, v);
        out.vars[own.0].asked = self.loops.asked(v);
    }

    /// A loop's variable of its own for each.
    pub fn fresh_loops(&mut self, vars: &[Index], out: &mut Out) -> Renaming {
        let own = |v: &Index| {
            let concrete::Var { name, extent, .. } = out.vars[v.0].clone();
            (*v, out.fresh(name, extent))
        };
        let fresh: Renaming = vars.iter().map(own).collect();
        self.limited(&fresh, out);
        fresh
    }

    /// Loops that have taken the places of others go as far as those, and have their places in the schedule.
    fn limited(&mut self, fresh: &Renaming, out: &mut Out) {
        let moved =
            |(on, limit): &&(Option<Index>, Limit)| on.is_none() && limit.vars().iter().any(|v| fresh.contains_key(v));
        let mut own = |v: Index| fresh.get(&v).copied().unwrap_or(v);
        let limits: Vec<Limit> = out.limits.iter().filter(moved).map(|(_, limit)| limit.clone()).collect();
        for limit in limits {
            out.limits.push((None, limit.renamed(&mut own, &mut |cut| cut)));
        }
        for (old, new) in fresh {
            if let Some(name) = self.named.get(old).copied() {
                self.named.insert(*new, name);
            }
        }
    }
}

/// The order of loops.
impl Scheduled {
    /// These loops in the order that the schedule says, if it says one of all of them; with loops over the pieces of what is cut.
    pub fn said(&mut self, loops: &[Index], out: &mut Out) -> Option<Vec<Index>> {
        let says = |said: &Loops| said.ordered || said.none || !said.cuts.is_empty();
        let said = Some(&self.loops).filter(|said| says(said)).cloned()?;
        let names: FxHashMap<Index, VarId> = loops.iter().filter_map(|l| Some((*l, *self.named.get(l)?))).collect();
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
                let pieces = self.pieces(cut, here.clone(), out);
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
    fn pieces(&mut self, cut: &Cut, loops: Vec<Index>, out: &mut Out) -> Pieces {
        let key = (cut.whole, loops.clone());
        if let Some(known) = self.pieces.get(&key) {
            return known.clone();
        }
        let said = self.loops.clone();
        let place = |v: VarId| said.place(v).expect("parts are loops");
        let rest = said.innermost(cut.whole);
        let parts = said.parts(cut.whole);
        let last = parts.iter().map(|(v, _)| place(*v)).max().expect("it is split");
        // Where what is left is counted outside of some pieces, it is counted one by one.
        let counted = place(rest) < last;
        let tensors = cut.tensors.iter().map(|t| out.reading(*t)).collect();
        let extents = loops.iter().map(|l| out.vars[l.0].extent).collect();
        out.cuts.push(concrete::Cut { counted: cut.counted, tensors, extents });
        let number = out.cuts.len() - 1;
        let mut made: FxHashMap<VarId, Index> = FxHashMap::default();
        let mut pieces = Pieces { loops: vec![], cut: last };
        for (v, _) in parts.iter().filter(|(v, _)| *v != rest || counted) {
            let own = out.own_loop(*v);
            out.vars[own.0].asked = said.asked(*v);
            out.vars[own.0].limits.push(Limit::Pieces { cut: number, turns: said.length(*v) });
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
            out.limits.push((Some(*l), Limit::Within(within)));
        }
        self.pieces.insert(key, pieces.clone());
        pieces
    }

    /// The program in which what commands have split is one loop each, and its parts, outermost first; `None` if nothing is split.
    pub fn unsplit(&self, out: &Out) -> Option<(Program, Wholes)> {
        let said = &self.loops;
        let mut program = None;
        let mut parts = vec![];
        for split in said.splits.iter().filter(|split| said.root(split.whole) == split.whole) {
            let Some(whole) = out.bound(split.whole) else { continue };
            if let Origin::Mapped(map) = &out.vars[whole.0].origin {
                let mut own: Vec<Index> = map.factors.keys().copied().collect();
                own.sort_by_key(|l| self.named.get(l).and_then(|v| said.place(*v)));
                let program: &mut Program = program.get_or_insert_with(|| Program::clone(out));
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

/// The loops over pieces of what these are, which are a sum's as they are.
pub(super) fn pieces_of(graph: &Provenance, sums: &[Index], order: &[Index]) -> Vec<Index> {
    let cuts = |l: &Index, p: &Index| {
        let of = |(on, limit): &(Option<Index>, Limit)| *on == Some(*l) && limit.vars().contains(p);
        graph.limits.iter().any(of)
    };
    order.iter().filter(|p| graph.counts_pieces(**p) && sums.iter().any(|l| cuts(l, p))).copied().collect()
}
