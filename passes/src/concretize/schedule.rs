//! A schedule's loops: the index variables that commands derive, mapped to loops, and the loops' order under the schedule.
//!
//! ```text
//!  split(i -> i0, i1, 16)       i = 16*i0 + i1, under loops over i0 and i1 that end where i does
//!  pos(j -> q, A); split(q -> q0, q1, 8)
//!                               a loop over q0 counts pieces; q1 is the loop over j inside of one piece
//! ```

use super::given::length;
use super::out::Out;
use super::rename::Renaming;
use crate::schedule::loops::{Cut, Loops, Split};
use fiberloom_core::algebra::Mode;
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::concrete::{self, Index, Length, Limit, Origin, Program, Provenance, Terms, Within};
use fiberloom_core::notation::typed::{self, CommandKind, Kind, Parts, VarId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The schedule of a statement, applied to its loops.
#[derive(Default)]
pub(super) struct Scheduled {
    /// The loops that commands derive.
    loops: Loops,
    /// The schedule's variable of each loop in the concrete program.
    named: FxHashMap<Index, VarId>,
    /// The loops over the pieces of each cut, by the loops that it cuts.
    pieces: FxHashMap<(VarId, Vec<Index>), Pieces>,
}

/// Split loops, each with its parts, outermost first.
type Wholes = Vec<(Index, Vec<Index>)>;

/// Loops over the pieces of a cut, each with its place in the schedule's order, and the place of the loops that are cut.
#[derive(Clone)]
struct Pieces {
    loops: Vec<(usize, Index)>,
    cut: usize,
}

impl Scheduled {
    /// The schedule with these loops.
    pub fn of(loops: Loops) -> Scheduled {
        Scheduled { loops, ..Scheduled::default() }
    }

    /// Whether no command is about loops.
    pub fn is_bare(&self) -> bool {
        self.loops.is_bare()
    }

    /// Whether each iteration of a loop begins within the loop that it is a part of: it counts parts of fixed length of a loop that is no
    /// part itself.
    pub fn begins_within(&self, loop_: Index) -> bool {
        let Some(v) = self.named.get(&loop_) else { return false };
        let part = |whole: VarId| self.loops.splits.iter().any(|s| s.outer == whole || s.inner == whole);
        let of = self.loops.splits.iter().find(|split| split.outer == *v);
        of.is_some_and(|split| matches!(split.parts, Parts::Of(_)) && !part(split.whole))
    }

    /// The split of a variable by a command, if there is one and the variable is not cut.
    fn split(&self, v: VarId) -> Option<Split> {
        self.loops.split(v).filter(|split| self.loops.cut(split.whole).is_none()).cloned()
    }
}

/// The loops of each statement under its commands.
///
/// # Errors
/// For each statement, the first command that is not legal.
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

/// Variables to loops.
impl Scheduled {
    /// The loops of a variable: one, or one for each part where `body` collapses parts to it.
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
                    // Another sum over the same variable collapses to it and has bound it.
                    let own = out.own_loop(v);
                    out.bind(v, own);
                }
                vec![out.of(v)]
            }
            Some((from, body)) => self.split_loop(v, from, body, out),
        }
    }

    /// Loops over the parts of a collapsed variable, which is bound to a map of them.
    pub fn split_loop(&mut self, v: VarId, from: &[VarId], body: &typed::Expr, out: &mut Out) -> Vec<Index> {
        let (mut loops, mut whole) = (Vec::new(), None);
        for part in from {
            // These loops run around the expressions beside the collapsed one, in which variables may have the same names. A part's loops
            // are numbered before the next part's, also where the part is collapsed itself.
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

    /// The loops over the parts of a variable that a command splits. The variable is bound to a map of them.
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

    /// The schedule's variables of loops, if all of them have one.
    pub fn names(&self, loops: &[Index]) -> Option<Vec<VarId>> {
        loops.iter().map(|v| self.named.get(v).copied()).collect()
    }

    /// Records the schedule's variable of a loop.
    fn stands_for(&mut self, own: Index, v: VarId, out: &mut Out) {
        self.named.insert(own, v);
        out.vars[own.0].hints = self.loops.hints(v);
    }

    /// A new loop variable for each of these.
    pub fn fresh_loops(&mut self, vars: &[Index], out: &mut Out) -> Renaming {
        let own = |v: &Index| {
            let concrete::Var { name, extent, .. } = out.vars[v.0].clone();
            (*v, out.fresh(name, extent))
        };
        let fresh: Renaming = vars.iter().map(own).collect();
        self.limited(&fresh, out);
        fresh
    }

    /// Gives new loops the limits of those that they replace, and their places in the schedule.
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
    /// Applies an order of a statement's loops as the command `reorder`. Returns the command; `None` where it would change nothing,
    /// where commands are about loops already, and where not all of the loops are the schedule's or the command is not legal.
    pub fn reordered(&mut self, order: &[Index], of: (&typed::Program, &typed::Statement)) -> Option<CommandKind> {
        let vars = self.names(order)?;
        let meant = vars.iter().map(|v| self.loops.order.iter().position(|w| w == v)).collect::<Option<Vec<_>>>()?;
        // Folds of one statement may share their variables: then one name is of several loops.
        let distinct = meant.iter().collect::<BTreeSet<_>>().len() == meant.len();
        if !self.is_bare() || meant.is_sorted() || !distinct {
            return None;
        }
        let command = typed::Command { kind: CommandKind::Reorder(vars), span: of.1.span };
        let mut loops = self.loops.clone();
        loops.apply(of, &command).ok()?;
        self.loops = loops;
        Some(command.kind)
    }

    /// The loops in the schedule's order, if it orders all of them; with loops over the pieces of cuts.
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
                        // The cut loops go behind the loop over the remainder, if there is one.
                        entry.1 += 1;
                    }
                };
                placed.iter_mut().for_each(innermost);
            }
        }
        placed.sort_by_key(|(place, within, _)| (*place, *within));
        Some(placed.into_iter().map(|(_, _, l)| l).collect())
    }

    /// The loops over the pieces of a cut of these loops.
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
        // The remainder is counted one by one where its loop stands outside of some loop over pieces.
        let counted = place(rest) < last;
        let tensors = cut.tensors.iter().map(|t| out.reading(*t)).collect();
        let extents = loops.iter().map(|l| out.vars[l.0].extent).collect();
        out.cuts.push(concrete::Cut { counted: cut.counted, tensors, extents });
        let number = out.cuts.len() - 1;
        let mut made: FxHashMap<VarId, Index> = FxHashMap::default();
        let mut pieces = Pieces { loops: vec![], cut: last };
        for (v, _) in parts.iter().filter(|(v, _)| *v != rest || counted) {
            let own = out.own_loop(*v);
            out.vars[own.0].hints = said.hints(*v);
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

    /// The program with each split loop as one, and the parts of those, outermost first; `None` if nothing is split.
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

/// The loops over pieces of a sum's loops: these are the sum's as well.
pub(super) fn pieces_of(graph: &Provenance, sums: &[Index], order: &[Index]) -> Vec<Index> {
    let cuts = |l: &Index, p: &Index| {
        let of = |(on, limit): &(Option<Index>, Limit)| *on == Some(*l) && limit.vars().contains(p);
        graph.limits.iter().any(of)
    };
    order.iter().filter(|p| graph.counts_pieces(**p) && sums.iter().any(|l| cuts(l, p))).copied().collect()
}
