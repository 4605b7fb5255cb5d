//! Copies of operands that loops can follow: in another order of levels, or with a level that is asked for a coordinate.
//!
//! ```text
//!  forall i: forall k: forall j: … D[k,j]          D by columns   ─▶  D_t, by rows    (transposed)
//!  forall i: sum(j: A[i,j] * x[j])                 x a list       ─▶  x_w, asked      (spread)
//!  forall i, j: sum(k: A[j,k] * A[i,k])            A[i] stays     ─▶  A[i, k spread]
//! ```
//!
//! A copy is a nest of its own before the nest that reads it, and runs once. The command `copy` replaces all reads of a tensor in a
//! statement by reads of a copy. A list that some outer loop moves, and the last one does not, is not copied: a position map holds it
//! during each iteration of the loops that move it (`loops/lower/position_map.rs`).

use super::Concretize;
use super::draft::Draft;
use super::given::Given;
use super::out::Out;
use super::steps::Steps;
use crate::schedule::order::is_followed;
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_core::iteration::background;
use fiberloom_core::notation::concrete::{
    self, AccessId, Expr, Index, Iterated, Nest, Origin, Place, Program, Role, Tensor,
};
use fiberloom_core::notation::typed::{self, TensorId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The copies of operands.
#[derive(Default)]
pub(super) struct Copies {
    /// The copies that the statement's commands ask for.
    wanted: Vec<(TensorId, Format)>,
    /// Copies still to be emitted, before the first nest that reads them: each as (copy, source).
    waiting: Vec<(Place, Place)>,
    /// The copies that the planner asks for, each as (copy, source).
    made: Vec<(Place, Place)>,
    /// The tensors that nests read, each as (statement, tensor).
    read: BTreeSet<(usize, Place)>,
    /// Whether the nest at hand makes a copy.
    copying: bool,
}

impl Copies {
    /// Clears the copies asked for by commands: the next nests belong to no statement.
    pub fn none(&mut self) {
        self.wanted.clear();
    }

    /// Begins a statement.
    pub fn begin(&mut self, s: &typed::Statement) {
        let copy = |c: &typed::Command| match &c.kind {
            typed::CommandKind::Tensor(typed::TensorCommand::Copy(tensor, format)) => {
                Some((*tensor, format.assembled()))
            }
            _ => None,
        };
        self.wanted = s.commands.iter().filter_map(copy).collect();
    }

    /// Removes a copy from those still to be emitted; returns it with its source.
    fn due(&mut self, copy: Place) -> Option<(Place, Place)> {
        let n = self.waiting.iter().position(|(waits, _)| *waits == copy)?;
        Some(self.waiting.remove(n))
    }

    /// Records the tensors that a statement's nest reads.
    pub fn note(&mut self, (statement, nest): (usize, &Nest), program: &Program) {
        if !self.copying {
            let places = program.read_by(nest).map(|a| (statement, program.accesses[a.0].tensor));
            self.read.extend(places);
        }
    }

    /// The copies through which alone statements read tensors, as commands.
    pub fn whole(&self, program: &Program) -> Vec<(usize, typed::CommandKind)> {
        let mut whole = vec![];
        for (statement, copy) in &self.read {
            let Some((_, of)) = self.made.iter().find(|(made, _)| made == copy) else { continue };
            let Role::Operand(tensor) = program.tensors[of.0].role else { continue };
            let other = |place: &Place| {
                let copied = self.made.iter().any(|(made, from)| made == place && from == of);
                place != copy && (place == of || copied)
            };
            if !self.read.iter().any(|(s, place)| s == statement && other(place)) {
                let format = program.tensors[copy.0].format.clone();
                let copy = typed::TensorCommand::Copy(tensor, format);
                whole.push((*statement, typed::CommandKind::Tensor(copy)));
            }
        }
        whole
    }
}

/// Replaces accesses that loops cannot follow by accesses to copies.
pub(super) struct Follow<'s, 'a> {
    pub given: Given<'a>,
    pub out: &'s mut Out<'a>,
    pub steps: &'s Steps,
    pub copies: &'s mut Copies,
}

impl Follow<'_, '_> {
    /// The nest with every access that cannot be followed replaced by one to a transposed copy.
    pub fn followed(mut self, mut nest: Nest) -> Nest {
        let (value, mut bound) = (nest.rhs.clone(), nest.order());
        nest.rhs = self.follow(nest.rhs, &mut bound, &value);
        nest
    }

    /// The nest with every list that would be walked again in each iteration of a loop replaced by a copy that is asked for coordinates.
    pub fn spread(mut self, mut nest: Nest) -> Nest {
        let mut bound = nest.order();
        nest.rhs = self.ask(nest.rhs, &mut bound);
        nest
    }

    /// The place that an access to a tensor reads: its current version, or the copy that a command asks for.
    pub fn source(&mut self, id: TensorId) -> Place {
        let place = self.out.reading(id);
        let Some((_, format)) = self.copies.wanted.iter().find(|(t, _)| *t == id).cloned() else { return place };
        self.copied(place, format)
    }

    /// The expression, a part of `value`, with every access that is not followed replaced by one to a transposed copy.
    fn follow(&mut self, e: Expr, bound: &mut Vec<Index>, value: &Expr) -> Expr {
        match e {
            Expr::Access(a, ty) => {
                if is_followed(self.out, (self.given.classes, self.given.simplify), (a, value), bound) {
                    return Expr::Access(a, ty);
                }
                let access = self.out.accesses[a.0].clone();
                let time = |v: &Index| self.out.time(*v, bound).expect("every variable is bound");
                let times: Vec<usize> = access.vars.iter().map(time).collect();
                let copy = self.transposed(access.tensor, &times);
                Expr::Access(self.out.accessed(concrete::Access { tensor: copy, ..access }), ty)
            }
            other => other.map_parts(bound, &mut |part, bound| self.follow(part, bound, value)),
        }
    }

    /// The expression with every list that would be intersected again in each iteration of an outer loop that does not move it replaced
    /// by a copy, filled once, whose level is located or hashed and asked for coordinates.
    ///
    /// `y[i] = sum(j: A[i,j] * x[j])` with A by rows and x sparse costs |A| instead of rows · |x| + |A|.
    fn ask(&mut self, e: Expr, bound: &mut Vec<Index>) -> Expr {
        let mut e = e;
        for n in 1..bound.len() {
            for (a, level) in self.unmoved(&e, &bound[..n], bound[n]) {
                let access = self.out.accesses[a.0].clone();
                let ty = self.out.tensors[access.tensor.0].ty;
                let copy = self.asked(access.tensor, level);
                let copied = Expr::Access(self.out.accessed(concrete::Access { tensor: copy, ..access }), ty);
                e = e.map_accesses(&mut |b, ty| if b == a { copied.clone() } else { Expr::Access(b, ty) });
            }
            for (a, mode) in self.staying(&e, &bound[..n], bound[n]) {
                let mut access = self.out.accesses[a.0].clone();
                access.protocols.insert(mode, Iterated::Spread);
                let spread = Expr::Access(self.out.accessed(access), self.out.tensor(a).ty);
                e = e.map_accesses(&mut |b, ty| if b == a { spread.clone() } else { Expr::Access(b, ty) });
            }
        }
        e.map_parts(bound, &mut |part, bound| self.ask(part, bound))
    }

    /// The accesses, each with its level, whose lists over `v` stay where lists that they are intersected with, or that lead the value,
    /// are moved by loops of `outer`.
    fn unmoved(&self, e: &Expr, outer: &[Index], v: Index) -> Vec<(AccessId, usize)> {
        let mut level: FxHashMap<AccessId, usize> = FxHashMap::default();
        for a in e.accesses() {
            let (access, format) = (&self.out.accesses[a.0], &self.out.tensor(a).format);
            let along = |l: &usize| self.out.binds(v, access.vars[format.order[*l]], |u| outer.contains(&u));
            // A copy of levels that are assembled in any order would have lists, which are ordered.
            let lists = format.levels.iter().all(|k| k.is_list() || k.is_located());
            let first = (0..format.rank()).find(along).filter(|_| lists);
            level.extend(first.filter(|&l| format.levels[l].is_list()).map(|l| (a, l)));
        }
        let names: Vec<AccessId> = e.accesses().into_iter().filter(|a| level.contains_key(a)).collect();
        let (sequence, _) = background(e, &names, &|a| self.out.tensor(a).fill, self.given.simplify);
        let moved = |a: AccessId| self.out.moved_by(a, outer, v);
        let hashed = |a: &AccessId| self.out.tensor(*a).format.levels[level[a]].has_table();
        let free = |a: &AccessId| self.out.protocol(*a, level[a]).is_none();
        let met = |part: Vec<AccessId>| (part.iter().map(|a| moved(*a)).max().unwrap_or(0), part);
        let mut parts: Vec<(usize, Vec<AccessId>)> = sequence.intersections().into_iter().map(met).collect();
        let (walked, none) = (sequence.lists(), |full| if full { 0 } else { outer.len() });
        let led = sequence.fold(&mut |a| moved(a), &none, &mut usize::max, &mut usize::min);
        parts.push((led, names.into_iter().filter(|a| !walked.contains(a)).collect()));
        let stays =
            |(most, part): (usize, Vec<AccessId>)| part.into_iter().filter(move |a| self.out.stays(*a, most, outer, v));
        let mut unmoved: Vec<AccessId> = parts.into_iter().flat_map(stays).filter(|a| !hashed(a) && free(a)).collect();
        unmoved.sort();
        unmoved.dedup();
        unmoved.into_iter().map(|a| (a, level[&a])).collect()
    }

    /// The accesses, each with its mode, whose lists over `v` the last of these loops does not move, although lists beside them are
    /// moved: each would be walked again beside every one of those.
    fn staying(&self, e: &Expr, outer: &[Index], v: Index) -> Vec<(AccessId, usize)> {
        let [_, .., last] = outer else { return vec![] };
        let mut level: FxHashMap<AccessId, usize> = FxHashMap::default();
        for a in e.accesses() {
            let (access, format) = (&self.out.accesses[a.0], &self.out.tensor(a).format);
            let along = |l: &usize| self.out.level_var(access, *l) == v && self.out.vars[v.0].origin == Origin::Loop;
            let list = (0..format.rank()).find(along).filter(|&l| format.levels[l].is_plain());
            level.extend(list.filter(|&l| self.out.protocol(a, l).is_none()).map(|l| (a, l)));
        }
        let names: Vec<AccessId> = e.accesses().into_iter().filter(|a| level.contains_key(a)).collect();
        let (sequence, _) = background(e, &names, &|a| self.out.tensor(a).fill, self.given.simplify);
        let moves = |a: &AccessId| {
            let access = &self.out.accesses[a.0];
            (0..level[a]).any(|l| self.out.follows(self.out.level_var(access, l), *last))
        };
        let mode = |a: AccessId| self.out.tensor(a).format.order[level[&a]];
        let narrow = |a: &AccessId| !self.given.sizes.wide(self.out.tensor(*a).extents[mode(*a)]);
        let parts = sequence.intersections().into_iter().filter(|part| part.iter().any(moves));
        let mut staying: Vec<AccessId> = parts.flatten().filter(|a| !moves(a) && narrow(a)).collect();
        staying.sort();
        staying.dedup();
        staying.into_iter().map(|a| (a, mode(a))).collect()
    }

    /// A copy of a tensor in the same order of levels, in which finding a coordinate in level `l` takes constant time.
    fn asked(&mut self, place: Place, l: usize) -> Place {
        let tensor = &self.out.tensors[place.0];
        let mut levels: Vec<LevelKind> = tensor.format.levels.to_vec();
        for kind in &mut levels {
            *kind = if kind.is_list() { LevelKind::Compressed } else { LevelKind::Dense };
        }
        // An outermost level holds one flag per coordinate, unless there are too many coordinates. A level below would need one per
        // parent entry and coordinate.
        let wide = self.given.sizes.wide(tensor.extents[tensor.format.order[l]]);
        levels[l] = if l == 0 && !wide { LevelKind::Bytemap } else { LevelKind::Hashed };
        let format = Format { levels: levels.into(), order: tensor.format.order.clone() };
        if self.is_still_to_be_made(place) {
            self.out.tensors[place.0].format = format;
            return place;
        }
        self.copied_by_loops(place, format)
    }

    /// Whether a tensor is a planned copy that is still to be emitted and has exactly one access.
    fn is_still_to_be_made(&self, place: Place) -> bool {
        let is = |(copy, _): &(Place, Place)| *copy == place;
        let waits = self.copies.waiting.iter().any(is) && self.copies.made.iter().any(is);
        waits && self.out.accesses.iter().filter(|a| a.tensor == place).count() == 1
    }

    /// A copy of a tensor whose levels are in the order in which their variables are bound, filled once.
    fn transposed(&mut self, place: Place, times: &[usize]) -> Place {
        let tensor = &self.out.tensors[place.0];
        let mut order: Vec<usize> = (0..times.len()).collect();
        // Modes whose coordinate is always known come first.
        order.sort_by_key(|&m| times[m].wrapping_add(1));
        let mut levels = vec![LevelKind::Compressed; times.len()];
        let wide = self.given.sizes.wide(tensor.extents[order[0]]);
        if tensor.format.levels.iter().any(|k| k.is_located()) && !wide {
            levels[0] = LevelKind::Dense;
        }
        self.copied_by_loops(place, Format { levels: levels.into(), order: order.into() })
    }

    /// A copy of a tensor in another format, filled once, before the blocks that do not change the tensor.
    fn copied(&mut self, place: Place, format: Format) -> Place {
        let waits = |(copy, of): &&(Place, Place)| *of == place && self.out.tensors[copy.0].format == format;
        let waiting = self.copies.waiting.iter().find(waits).map(|(copy, _)| *copy);
        let copy = waiting.or_else(|| self.copy_that_is(place, &format)).unwrap_or_else(|| {
            let copy = self.copy_of(place, format);
            self.copies.waiting.push((copy, place));
            copy
        });
        self.counts_instead(place, copy);
        copy
    }

    /// A copy that the planner asks for.
    fn copied_by_loops(&mut self, place: Place, format: Format) -> Place {
        let copy = self.copied(place, format);
        self.copies.made.push((copy, place));
        copy
    }

    /// A copy of a tensor in this format that was filled after the tensor's last change, and still holds.
    fn copy_that_is(&self, place: Place, format: &Format) -> Option<Place> {
        let copies = |nest: &Nest| {
            let t = &self.out.tensors[nest.target.tensor.0];
            let all = concrete::Access::of(place, nest.target.vars.clone());
            let copies = matches!(&nest.rhs, Expr::Access(a, _) if self.out.accesses[a.0] == all);
            t.role == Role::Temporary && t.format == *format && copies
        };
        let made = self.steps.since(place).find(|nest| copies(nest) && self.steps.stays(nest));
        made.map(|nest| nest.target.tensor)
    }

    /// Lets cuts by a tensor's entries apply to a copy that is read instead.
    fn counts_instead(&mut self, place: Place, copy: Place) {
        for cut in self.out.cuts.iter_mut().filter(|cut| cut.tensors.contains(&place) && !cut.tensors.contains(&copy)) {
            cut.tensors.push(copy);
        }
    }

    /// A place for a copy. Its name ends in `_w` if it keeps the order of levels, else in `_t`.
    fn copy_of(&mut self, place: Place, format: Format) -> Place {
        let tensor = self.out.tensors[place.0].clone();
        let suffix = if format.order == tensor.format.order { "w" } else { "t" };
        let name = format!("{}_{suffix}", tensor.name);
        self.out.place(Tensor { name, format, role: Role::Temporary, ..tensor })
    }
}

impl Concretize<'_> {
    /// Emits the copies that a nest reads, for values and for coordinates, unless they exist, in the nest's order.
    pub(super) fn make_copies(&mut self, nest: &Nest) {
        for a in self.out.read_by(nest).collect::<Vec<_>>() {
            self.make_copy(self.out.accesses[a.0].tensor);
        }
    }

    /// Emits the copies that commands ask for and no nest reads: the expression around the read is constant.
    pub(super) fn make_all_copies(&mut self) {
        while let Some((copy, _)) = self.copies.waiting.first() {
            self.make_copy(*copy);
        }
    }

    /// Emits a copy that is still to be emitted, and before it the copy that is its source, if there is one.
    fn make_copy(&mut self, copy: Place) {
        if let Some((copy, place)) = self.copies.due(copy) {
            self.make_copy(place);
            self.fill_copy(copy, place);
        }
    }

    /// Emits the nest of a copy.
    fn fill_copy(&mut self, copy: Place, place: Place) {
        let inner = self.steps.leave(place);
        let around = std::mem::replace(&mut self.copies.copying, true);
        let tensor = self.out.tensors[place.0].clone();
        let vars = self.out.modes(&tensor.extents);
        let rhs = self.out.read(place, vars.clone());
        let order = tensor.format.order.iter().map(|&m| vars[m]).collect();
        self.define(Draft { order: Some(order), ..Draft::new(copy, vars, rhs) });
        self.copies.copying = around;
        self.steps.enter_again(inner);
    }
}
