//! Accesses as loops can follow them: copies in another order of levels, or in a level that is asked.
//!
//! ```text
//!  forall i: forall k: forall j: … D[k,j]          D by columns   ─▶  D_t, by rows    (transposed)
//!  forall i: sum(j: A[i,j] * x[j])                 x a list       ─▶  x_w, asked      (spread)
//!  forall i, j: sum(k: A[j,k] * A[i,k])            A[i] stays     ─▶  A[i, k spread]
//! ```
//!
//! A copy is a nest of its own before the one that reads it, made once. The command `copy` asks for one of all that a statement reads of
//! a tensor. A list that some outer loop moves, and the last one does not, is
//! not copied but spread in each turn of those that move it (`loops/lower/spread.rs`).

use super::Concretize;
use super::draft::Draft;
use super::given::Given;
use super::out::Out;
use super::steps::Steps;
use crate::format::{Format, LevelKind};
use crate::iteration::background;
use crate::notation::concrete::{self, AccessId, Expr, Index, Iterated, Nest, Origin, Place, Program, Role, Tensor};
use crate::notation::typed::{self, TensorId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A copy that a statement reads in the place of a tensor, wherever it reads that.
#[derive(Clone, Debug, PartialEq)]
pub struct Copied {
    /// The statement, by its place in the program.
    pub statement: usize,
    /// What is copied.
    pub tensor: TensorId,
    /// The copy's format.
    pub format: Format,
}

/// The copies of operands.
#[derive(Default)]
pub(super) struct Copies {
    /// The statement at hand.
    statement: usize,
    /// Those that its commands ask for.
    wanted: Vec<(TensorId, Format)>,
    /// Copies still to be emitted, before the first nest that reads them: each as (copy, source).
    waiting: Vec<(Place, Place)>,
    /// Those that loops ask for: copy, and what is copied.
    made: Vec<(Place, Place)>,
    /// What nests of each statement read.
    read: BTreeSet<(usize, Place)>,
    /// Whether the nest at hand makes a copy.
    copying: bool,
}

impl Copies {
    /// No command is about what comes.
    pub fn none(&mut self) {
        self.wanted.clear();
    }

    /// Begins a statement.
    pub fn begin(&mut self, number: usize, s: &typed::Statement) {
        self.statement = number;
        let copy = |c: &typed::Command| match &c.kind {
            typed::CommandKind::Copy(tensor, format) => Some((*tensor, format.assembled())),
            _ => None,
        };
        self.wanted = s.commands.iter().filter_map(copy).collect();
    }

    /// A copy that waits to be made, waits no more: with what it is a copy of.
    fn due(&mut self, copy: Place) -> Option<(Place, Place)> {
        let n = self.waiting.iter().position(|(waits, _)| *waits == copy)?;
        Some(self.waiting.remove(n))
    }

    /// Notes what a nest reads.
    pub fn note(&mut self, nest: &Nest, program: &Program) {
        if !self.copying {
            let places = program.read_by(nest).map(|a| (self.statement, program.accesses[a.0].tensor));
            self.read.extend(places);
        }
    }

    /// The tensors of which statements read one copy, and nothing else of them.
    pub fn whole(&self, program: &Program) -> Vec<Copied> {
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
                whole.push(Copied { statement: *statement, tensor, format });
            }
        }
        whole
    }
}

/// What makes accesses that loops can follow: other accesses, of copies.
pub(super) struct Follow<'s, 'a> {
    pub given: Given<'a>,
    pub out: &'s mut Out<'a>,
    pub steps: &'s Steps,
    pub copies: &'s mut Copies,
}

impl Follow<'_, '_> {
    /// A nest with every access that cannot be followed replaced by one of a transposed copy.
    pub fn followed(mut self, mut nest: Nest) -> Nest {
        nest.rhs = self.follow(nest.rhs, &mut nest.order);
        nest
    }

    /// A nest with every list that would be walked anew in each turn of a loop replaced by one that is asked.
    pub fn spread(mut self, mut nest: Nest) -> Nest {
        nest.rhs = self.ask(nest.rhs, &mut nest.order);
        nest
    }

    /// The place that an access reads: the tensor's, or that of the copy that a command asks for.
    pub fn source(&mut self, id: TensorId) -> Place {
        let place = self.out.reading(id);
        let Some((_, format)) = self.copies.wanted.iter().find(|(t, _)| *t == id).cloned() else { return place };
        self.copied(place, format)
    }

    /// The expression with every access that cannot be followed replaced by one of a transposed copy.
    fn follow(&mut self, e: Expr, bound: &mut Vec<Index>) -> Expr {
        match e {
            Expr::Access(a, ty) => {
                let access = self.out.accesses[a.0].clone();
                let time = |v: &Index| self.out.time(*v, bound).expect("every variable is bound");
                let times: Vec<usize> = access.vars.iter().map(time).collect();
                if self.out.concordant(a, &times) {
                    return Expr::Access(a, ty);
                }
                let copy = self.transposed(access.tensor, &times);
                Expr::Access(self.out.accessed(concrete::Access { tensor: copy, ..access }), ty)
            }
            other => other.map_parts(bound, &mut |part, bound| self.follow(part, bound)),
        }
    }

    /// The expression with every list that would be intersected anew in each turn of an outer loop that does not move
    /// it replaced by one that is asked: of a copy, made once, whose level is located or hashed.
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

    /// The accesses, each with its level, whose lists over `v` are intersected with one that every loop of `outer`
    /// moves, or follow such ones alone, and are not moved themselves.
    fn unmoved(&self, e: &Expr, outer: &[Index], v: Index) -> Vec<(AccessId, usize)> {
        let mut level: FxHashMap<AccessId, usize> = FxHashMap::default();
        for a in e.accesses() {
            let (access, format) = (&self.out.accesses[a.0], &self.out.tensor(a).format);
            let along = |l: &usize| self.out.binds(v, access.vars[format.order[*l]], |u| outer.contains(&u));
            // A copy of levels that are computed in any order would be one of lists, which have their order.
            let lists = format.levels.iter().all(|k| k.is_list() || k.is_located());
            let first = (0..format.rank()).find(along).filter(|_| lists);
            level.extend(first.filter(|&l| format.levels[l].is_list()).map(|l| (a, l)));
        }
        let names: Vec<AccessId> = e.accesses().into_iter().filter(|a| level.contains_key(a)).collect();
        let (sequence, _) = background(e, &names, &|a| self.out.tensor(a).fill, self.given.simplify);
        let moved = |a: &AccessId| self.out.moved(*a, outer, v);
        let hashed = |a: &AccessId| self.out.tensor(*a).format.levels[level[a]].has_table();
        let free = |a: &AccessId| self.out.protocol(*a, level[a]).is_none();
        let mut parts = sequence.intersections();
        parts.retain(|part| part.iter().any(moved));
        let (mut any, mut all) = (|a, b| a || b, |a, b| a && b);
        if sequence.fold(&mut |a| moved(&a), &|full| !full, &mut any, &mut all) {
            let walked = sequence.lists();
            parts.push(names.into_iter().filter(|a| !walked.contains(a)).collect());
        }
        let mut unmoved: Vec<AccessId> =
            parts.into_iter().flatten().filter(|a| !moved(a) && !hashed(a) && free(a)).collect();
        unmoved.sort();
        unmoved.dedup();
        unmoved.into_iter().map(|a| (a, level[&a])).collect()
    }

    /// The accesses, each with its mode, whose lists over `v` the last of these loops does not move, beside lists that it moves: they
    /// would be walked beside each of those.
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

    /// A copy of a tensor in the same order of levels, of which level `l` can be asked for a coordinate at no cost.
    fn asked(&mut self, place: Place, l: usize) -> Place {
        let tensor = &self.out.tensors[place.0];
        let mut levels: Vec<LevelKind> = tensor.format.levels.to_vec();
        for kind in &mut levels {
            *kind = if kind.is_list() { LevelKind::Compressed } else { LevelKind::Dense };
        }
        // An outermost level has a flag a coordinate, if those are not too many; below, that would be one for each entry
        // and coordinate.
        let wide = self.given.sizes.wide(tensor.extents[tensor.format.order[l]]);
        levels[l] = if l == 0 && !wide { LevelKind::Bytemap } else { LevelKind::Hashed };
        let format = Format { levels: levels.into(), order: tensor.format.order.clone() };
        if self.is_still_to_be_made(place) {
            self.out.tensors[place.0].format = format;
            return place;
        }
        self.copied_by_loops(place, format)
    }

    /// Whether a tensor is a copy that loops ask for, that is not made yet, and that nothing reads but one access.
    fn is_still_to_be_made(&self, place: Place) -> bool {
        let is = |(copy, _): &(Place, Place)| *copy == place;
        let waits = self.copies.waiting.iter().any(is) && self.copies.made.iter().any(is);
        waits && self.out.accesses.iter().filter(|a| a.tensor == place).count() == 1
    }

    /// A copy of a tensor whose levels are in the order of these times, made once.
    fn transposed(&mut self, place: Place, times: &[usize]) -> Place {
        let tensor = &self.out.tensors[place.0];
        let mut order: Vec<usize> = (0..times.len()).collect();
        // What is always bound comes first.
        order.sort_by_key(|&m| times[m].wrapping_add(1));
        let mut levels = vec![LevelKind::Compressed; times.len()];
        let wide = self.given.sizes.wide(tensor.extents[order[0]]);
        if tensor.format.levels.iter().any(|k| k.is_located()) && !wide {
            levels[0] = LevelKind::Dense;
        }
        self.copied_by_loops(place, Format { levels: levels.into(), order: order.into() })
    }

    /// A copy of a tensor in another format, made once: before the blocks in which the tensor stays what it is.
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

    /// A copy that no command asks for.
    fn copied_by_loops(&mut self, place: Place, format: Format) -> Place {
        let copy = self.copied(place, format);
        self.copies.made.push((copy, place));
        copy
    }

    /// The copy of a tensor in a format that has been made since the tensor is what it is.
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

    /// What is cut by a tensor's entries is cut by a copy's, where that is read instead.
    fn counts_instead(&mut self, place: Place, copy: Place) {
        for cut in self.out.cuts.iter_mut().filter(|cut| cut.tensors.contains(&place) && !cut.tensors.contains(&copy)) {
            cut.tensors.push(copy);
        }
    }

    /// A place for a copy: named for its order of levels, or for how it is searched.
    fn copy_of(&mut self, place: Place, format: Format) -> Place {
        let tensor = self.out.tensors[place.0].clone();
        let suffix = if format.order == tensor.format.order { "w" } else { "t" };
        let name = format!("{}_{suffix}", tensor.name);
        self.out.place(Tensor { name, format, role: Role::Temporary, ..tensor })
    }
}

impl Concretize<'_> {
    /// Makes the copies that a nest reads, for values and for coordinates, unless they are there, in its order.
    pub(super) fn make_copies(&mut self, nest: &Nest) {
        for a in self.out.read_by(nest).collect::<Vec<_>>() {
            self.make_copy(self.out.accesses[a.0].tensor);
        }
    }

    /// Makes the copies that commands ask for and that nothing reads after all: what it would be part of is constant.
    pub(super) fn make_all_copies(&mut self) {
        while let Some((copy, _)) = self.copies.waiting.first() {
            self.make_copy(*copy);
        }
    }

    /// Makes a copy that waits to be made, and before it what it is a copy of.
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
