//! The loops of a statement under the commands of its schedule: what each command does to them, and when it may.
//!
//! ```text
//!  y[i] = A[i,j] * x[j]                     i, j
//!    split(i -> i0, i1, 16)                 i0, i1, j          i = 16*i0 + i1
//!    reorder(i0, j, i1)                     i0, j, i1
//!  C[i,j] = A[i,j] + B[i,j]                 i, j
//!    collapse(i, j -> f); pos(f -> p, A)    p                  p runs over i and j
//!    split(p -> p0, p1, 64)                 p0, p1             p1 runs over i and j, as far as 64 entries of A reach
//! ```
//!
//! No command rewrites an iteration: it is an index map, or a *cut* of the coordinates that loops visit. What index variables are
//! made of is the *provenance graph* of the schedules paper (section 4): [`Loops::splits`] and [`Loops::cuts`] are its edges.

use crate::algebra::{Mode, Op, properties};
use crate::format::LevelKind;
use crate::notation::Diagnostic;
use crate::notation::concrete::Length;
use crate::notation::syntax::{Race, Unit};
use crate::notation::typed::{Command, CommandKind, Expr, Fun, Kind, Parts, Program, Statement, TensorId, VarId};

/// A loop that has become two.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// It: a coordinate, or what a cut counts.
    pub whole: VarId,
    /// Its parts.
    pub outer: VarId,
    /// What runs in each.
    pub inner: VarId,
    /// How many.
    pub parts: Parts,
}

/// Loops that are cut into consecutive pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// What is split: it counts what the measure says.
    pub whole: VarId,
    /// The loops, outermost first.
    pub loops: Vec<VarId>,
    /// What is counted.
    pub counted: Counted,
    /// Whose entries.
    pub tensors: Vec<TensorId>,
}

/// What makes pieces equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Coordinates, in lexicographic order.
    Coordinates,
    /// Entries of a tensor: `pos`.
    Entries,
    /// Entries of tensors, in whole turns of the loop: `weigh`.
    Weight,
}

impl Counted {
    /// All of them.
    pub const ALL: [Counted; 3] = [Counted::Coordinates, Counted::Entries, Counted::Weight];

    /// The word for it in prints.
    pub fn name(self) -> &'static str {
        match self {
            Counted::Coordinates => "coordinates",
            Counted::Entries => "entries",
            Counted::Weight => "weight",
        }
    }
}

/// What commands make of a statement's loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loops {
    /// Loops and pieces, outermost first. Of what is cut and not split, or split, its innermost part stands for the loops that are cut.
    pub order: Vec<VarId>,
    /// Whether the schedule says the order.
    pub ordered: bool,
    /// Whether the planner is turned off: the order is that of the meaning.
    pub none: bool,
    /// In the order of the commands.
    pub splits: Vec<Split>,
    /// In the order of the commands.
    pub cuts: Vec<Cut>,
    /// Loops whose bodies are repeated so often.
    pub unrolled: Vec<(VarId, u64)>,
    /// Loops whose turns are independent, or joined: nothing changes them any more.
    parallel: Vec<VarId>,
    /// Loops that stand for what two others were: inner ones of a `collapse`.
    collapsed: Vec<(VarId, [VarId; 2])>,
    /// Coordinates that are others by another name, by `pos` and `coord`.
    named: Vec<(VarId, VarId)>,
    /// For each loop the fold to which it belongs.
    groups: Vec<(VarId, Group)>,
}

/// Loops that may stand in any order among one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    /// Its number: 0 is that of the left side.
    number: usize,
    /// Whether it is a fold whose order is its meaning.
    ordered: bool,
}

impl Loops {
    /// The loops of a statement, under its commands.
    ///
    /// # Errors
    /// The first command that is not legal: the index variable, the rule, and what to change.
    pub fn of(program: &Program, statement: &Statement, mode: Mode) -> Result<Loops, Diagnostic> {
        let mut loops = Loops::bare(program, statement, mode);
        for command in &statement.commands {
            let apply = Apply { program, statement, command, loops: &mut loops };
            apply.run()?;
        }
        loops.pieces_ascend(program, statement)?;
        Ok(loops)
    }

    /// The loops of the meaning.
    fn bare(program: &Program, statement: &Statement, mode: Mode) -> Loops {
        let mut bare = Bare { program, mode, loops: Loops::default(), groups: 0 };
        let group = bare.group(false);
        bare.add(&statement.vars, group);
        let folded = statement.fold.filter(|_| !statement.folded.is_empty());
        let inside = match folded {
            Some(fun) if !bare.unordered(fun, &statement.rhs) => bare.group(true),
            _ => group,
        };
        bare.add(&statement.folded, inside);
        bare.expr(&statement.rhs, (statement.fold.is_none() || folded.is_some()).then_some((inside, folded)));
        bare.loops
    }

    /// Pieces of entries stand in their order, or the entries' list leads alone.
    fn pieces_ascend(&self, program: &Program, statement: &Statement) -> Legal {
        for cut in self.cuts.iter().filter(|cut| cut.counted == Counted::Entries && self.split(cut.whole).is_some()) {
            let place = |v: &VarId| self.order.iter().position(|w| w == v);
            let places: Vec<Option<usize>> = self.parts(cut.whole).iter().map(|(v, _)| place(v)).collect();
            let tensor = cut.tensors[0];
            if places.is_sorted() || leads(&statement.rhs, tensor) {
                continue;
            }
            let name = |v: VarId| &program.vars[v.index()].name;
            let made = |command: &&Command| matches!(&command.kind, CommandKind::Pos { to, .. } if *to == cut.whole);
            let span = statement.commands.iter().find(made).map_or(statement.span, |command| command.span);
            let message = format!(
                "parts of `{}` stand out of their order, and `{}` does not lead its loop alone: it is no factor of a product",
                name(cut.whole),
                program.tensors[tensor.index()].name
            );
            let parts: Vec<String> = self.parts(cut.whole).iter().map(|(v, _)| format!("`{}`", name(*v))).collect();
            return Err(Diagnostic::new(span, message).help(format!("reorder them as {}", parts.join(", "))));
        }
        Ok(())
    }

    /// Whether no command changes a loop.
    pub fn is_bare(&self) -> bool {
        !self.ordered && !self.none && self.splits.is_empty() && self.cuts.is_empty()
    }

    /// The split of a variable, if it is split.
    pub fn split(&self, v: VarId) -> Option<&Split> {
        self.splits.iter().find(|split| split.whole == v)
    }

    /// The cut that a variable counts, or is a part of the count of.
    pub fn cut(&self, v: VarId) -> Option<&Cut> {
        let of = self.splits.iter().find(|split| split.outer == v || split.inner == v);
        self.cuts.iter().find(|cut| cut.whole == v).or_else(|| self.cut(of?.whole))
    }

    /// The coordinates that a variable stands for where it is no part of a cut: of a collapsed one those of its loops.
    fn coordinates(&self, v: VarId) -> Vec<VarId> {
        if let Some((_, of)) = self.named.iter().find(|(name, _)| *name == v) {
            return self.coordinates(*of);
        }
        match self.collapsed.iter().find(|(whole, _)| *whole == v) {
            Some((_, [outer, inner])) => [self.coordinates(*outer), self.coordinates(*inner)].concat(),
            None => vec![v],
        }
    }

    /// The variable of the meaning of which one is a part, or which it is.
    pub fn root(&self, v: VarId) -> VarId {
        let split = self.splits.iter().find(|split| split.outer == v || split.inner == v);
        split.map_or(v, |split| self.root(split.whole))
    }

    /// The loop of the order in whose place one stands, and which of those there it is: of what is cut or collapsed that of the
    /// whole, or of its innermost part.
    pub fn standing(&self, v: VarId) -> (VarId, usize) {
        if let Some((whole, [outer, _])) =
            self.collapsed.iter().find(|(_, of)| of.iter().any(|w| self.stands_for(*w, v)))
        {
            let before = if self.stands_for(*outer, v) { 0 } else { self.coordinates(*outer).len() };
            let inside = if self.stands_for(*outer, v) { *outer } else { self.collapsed_inner(*whole) };
            let own = self.coordinates(inside).iter().position(|w| *w == v).unwrap_or(0);
            let (of, within) = self.standing(*whole);
            return (of, within + before + own);
        }
        let named = self.named.iter().find(|(name, of)| *of == v && *name != v).map(|(name, _)| *name);
        let innermost = self.innermost(named.map_or(v, |name| self.standing(name).0));
        match self.named.iter().find(|(_, of)| *of == innermost) {
            Some((name, _)) if !self.order.contains(&innermost) => (*name, 0),
            _ => (innermost, 0),
        }
    }

    fn collapsed_inner(&self, whole: VarId) -> VarId {
        self.collapsed.iter().find(|(w, _)| *w == whole).expect("it is collapsed").1[1]
    }

    /// Whether a loop is one of those that a variable stands for.
    fn stands_for(&self, whole: VarId, v: VarId) -> bool {
        self.coordinates(whole).contains(&v)
    }

    /// The part of a cut that stands for its loops.
    pub fn innermost(&self, v: VarId) -> VarId {
        self.split(v).filter(|_| self.cut(v).is_some()).map_or(v, |split| self.innermost(split.inner))
    }

    /// The parts of what a cut counts, each with its factors, outermost first.
    pub fn parts(&self, v: VarId) -> Vec<(VarId, Vec<Length>)> {
        let Some(split) = self.split(v) else { return vec![(v, vec![])] };
        let by = self.factor(split);
        let outer = self.parts(split.outer).into_iter().map(|(v, mut all)| {
            all.push(by.clone());
            (v, all)
        });
        outer.chain(self.parts(split.inner)).collect()
    }

    /// Where parts that stand in each other end at the latest: each end counted from the parts before it.
    pub fn spine(&self, v: VarId) -> Vec<(Vec<(VarId, Vec<Length>)>, Length)> {
        let (mut ends, mut before, mut at) = (vec![], vec![], v);
        while let Some(split) = self.split(at) {
            let by = self.factor(split);
            before.extend(self.parts(split.outer).into_iter().map(|(v, mut all)| {
                all.push(by.clone());
                (v, all)
            }));
            // What is not split again ends where its unit does.
            if self.split(split.inner).is_some() {
                ends.push((before.clone(), self.length(split.inner)));
            }
            at = split.inner;
        }
        ends
    }

    fn factor(&self, split: &Split) -> Length {
        match split.parts {
            Parts::Of(n) => Length::Number(n),
            Parts::Into(_) => self.length(split.inner),
        }
    }

    /// How many there are of a part of what a cut counts.
    pub fn length(&self, v: VarId) -> Length {
        let Some(split) = self.splits.iter().find(|split| split.outer == v || split.inner == v) else {
            return Length::All;
        };
        match split.parts {
            Parts::Of(n) if split.inner == v => Length::Number(n),
            Parts::Into(n) if split.outer == v => Length::Number(n),
            Parts::Of(n) | Parts::Into(n) => Length::Over(Box::new(self.length(split.whole)), n),
        }
    }

    fn group_of(&self, v: VarId) -> Group {
        let group = self.groups.iter().find(|(w, _)| *w == v).map(|(_, group)| *group);
        group.expect("every loop has a group")
    }
}

/// Gathers the loops of the meaning.
struct Bare<'a> {
    program: &'a Program,
    mode: Mode,
    loops: Loops,
    groups: usize,
}

impl Bare<'_> {
    fn group(&mut self, ordered: bool) -> Group {
        self.groups += 1;
        Group { number: self.groups - 1, ordered }
    }

    fn add(&mut self, vars: &[VarId], group: Group) {
        for v in vars {
            // Sums of one statement share their variables.
            if !self.loops.order.contains(v) {
                self.loops.order.push(*v);
                self.loops.groups.push((*v, group));
            }
        }
    }

    /// Whether values may be folded in any order.
    fn unordered(&self, fun: Fun, of: &Expr) -> bool {
        match fun {
            Fun::Op(op) => {
                let known = properties(op, of.ty, self.mode);
                known.commutative && known.associative
            }
            Fun::User(f) => {
                let known = self.program.functions[f.index()].unordered().is_some();
                known && (self.mode == Mode::Algebraic || !of.ty.is_float())
            }
        }
    }

    /// The loops of an expression; those of a fold that is all of it, with the function that is folded around it if there is one, are
    /// of the group `at`.
    fn expr(&mut self, e: &Expr, at: Option<(Group, Option<Fun>)>) {
        match &e.kind {
            Kind::Reduce { fun, vars, body, start } => {
                let unordered = self.unordered(*fun, e);
                let joins = at.filter(|(_, around)| unordered && start.is_none() && around.is_none_or(|f| f == *fun));
                let group = joins.map_or_else(|| self.group(!unordered), |(group, _)| group);
                self.add(vars, group);
                self.expr(body, unordered.then_some((group, Some(*fun))));
                start.iter().for_each(|e| self.expr(e, None));
            }
            _ => e.children().for_each(|part| self.expr(part, None)),
        }
    }
}

/// A command that is applied.
struct Apply<'a> {
    program: &'a Program,
    statement: &'a Statement,
    command: &'a Command,
    loops: &'a mut Loops,
}

type Legal = Result<(), Diagnostic>;

impl Apply<'_> {
    fn run(mut self) -> Legal {
        match &self.command.kind {
            CommandKind::None => {
                self.loops.none = true;
                Ok(())
            }
            CommandKind::Split { from, to, parts } => self.split(*from, *to, *parts),
            CommandKind::Reorder(vars) => self.reorder(vars),
            CommandKind::Collapse { from, to } => self.collapse(*from, *to),
            CommandKind::Pos { from, to, tensor } => self.pos(*from, *to, *tensor),
            CommandKind::Coord { from, to } => self.coord(*from, *to),
            CommandKind::Weigh { var, tensors } => self.weigh(*var, tensors),
            CommandKind::Bound(v, _) => self.bound(*v),
            CommandKind::Unroll(v, n) => {
                self.is_loop(*v)?;
                self.loops.unrolled.push((*v, *n));
                Ok(())
            }
            CommandKind::Parallelize(v, unit, race) => self.parallelize(*v, *unit, *race),
            // They are about what is read, and have been followed.
            CommandKind::Stage(_) | CommandKind::Copy(..) => Ok(()),
        }
    }

    fn name(&self, v: VarId) -> &str {
        &self.program.vars[v.index()].name
    }

    fn names(&self, vars: &[VarId]) -> String {
        vars.iter().map(|v| format!("`{}`", self.name(*v))).collect::<Vec<_>>().join(", ")
    }

    fn refuse<T>(&self, message: String, help: impl Into<String>) -> Result<T, Diagnostic> {
        Err(Diagnostic::new(self.command.span, message).help(help.into()))
    }

    /// Where a loop stands.
    fn is_loop(&self, v: VarId) -> Result<usize, Diagnostic> {
        if self.statement.is_part() && !self.loops.order.is_empty() {
            let message = "a schedule of loops, of a statement that defines a part of its tensor".to_string();
            return self.refuse(message, "name what is assigned in a statement of its own, and schedule that");
        }
        if let Some(place) = self.loops.order.iter().position(|w| *w == v) {
            let keeps =
                matches!(self.command.kind, CommandKind::Unroll(..) | CommandKind::Bound(..) | CommandKind::Reorder(_));
            if self.loops.parallel.contains(&v) && !keeps {
                let message = format!("the loop over `{}` is parallel already", self.name(v));
                return self.refuse(message, "`parallelize` a loop once it is what it is to be");
            }
            return Ok(place);
        }
        let name = self.name(v);
        let split = self.loops.split(v).map(|s| format!("it was split into {}", self.names(&[s.outer, s.inner])));
        let collapsed = self.loops.collapsed.iter().find(|(_, of)| of.contains(&v));
        let collapsed = collapsed.map(|(whole, _)| format!("it was collapsed into `{}`", self.name(*whole)));
        let named = self.loops.named.iter().find(|(_, of)| *of == v);
        let named = named.map(|(name, _)| format!("it is called `{}` now", self.name(*name)));
        let why = split.or(collapsed).or(named).unwrap_or_else(|| "a shape operator binds it".to_string());
        let loops = self.names(&self.loops.order);
        self.refuse(format!("index variable `{name}` is no loop here: {why}"), format!("the loops are {loops}"))
    }

    fn split(&mut self, from: VarId, to: (VarId, VarId), parts: Parts) -> Legal {
        let place = self.is_loop(from)?;
        let (Parts::Of(n) | Parts::Into(n)) = parts;
        if i64::try_from(n).is_err() {
            return self.refuse(format!("a loop in parts of {n} turns"), "extents are below 2⁶³, and so are parts");
        }
        let within = self.loops.named.iter().find(|(name, of)| *name == from && self.loops.cut(*of).is_some());
        if let Some((_, of)) = within.filter(|_| self.loops.cut(from).is_none()) {
            let message = format!("`{}` runs within a piece of what `{}` counts", self.name(from), self.name(*of));
            return self.refuse(message, "split the coordinate before `pos`");
        }
        if self.loops.collapsed.iter().any(|(whole, _)| *whole == from) && self.loops.cut(from).is_none() {
            let loops = self.loops.coordinates(from);
            self.loops.cuts.push(Cut { whole: from, loops, counted: Counted::Coordinates, tensors: vec![] });
        }
        let group = self.loops.group_of(from);
        self.loops.groups.extend([(to.0, group), (to.1, group)]);
        self.loops.splits.push(Split { whole: from, outer: to.0, inner: to.1, parts });
        self.loops.order.splice(place..=place, [to.0, to.1]);
        Ok(())
    }

    fn reorder(&mut self, vars: &[VarId]) -> Legal {
        let places = vars.iter().map(|v| self.is_loop(*v)).collect::<Result<Vec<usize>, _>>()?;
        let (Some(first), Some(last)) = (places.iter().min().copied(), places.iter().max().copied()) else {
            return Ok(());
        };
        if let Some(between) = (first..=last).find(|n| !places.contains(n)) {
            let between = self.name(self.loops.order[between]);
            let message = format!("the loop over `{between}` stands between loops that are reordered");
            return self.refuse(message, format!("name it, too: the loops are {}", self.names(&self.loops.order)));
        }
        let run = &self.loops.order[first..=last];
        let moved = |n: &usize| vars[*n] != run[*n];
        let around: Vec<Group> = vars.iter().map(|v| self.loops.group_of(*v)).collect();
        let was: Vec<Group> = run.iter().map(|v| self.loops.group_of(*v)).collect();
        if let Some(n) = (0..vars.len()).find(|n| around[*n] != was[*n]) {
            let (moved, over) = (self.name(vars[n]), self.name(run[n]));
            let message = format!(
                "`{moved}` and `{over}` cannot change places: what stands around the fold does not distribute over it"
            );
            return self.refuse(message, "reorder the loops of the left side among themselves, and those of each fold");
        }
        if let Some(n) = (0..vars.len()).filter(moved).find(|n| around[*n].ordered) {
            let message = format!("the loop over `{}` folds in its order, and stays where it is", self.name(vars[n]));
            return self.refuse(message, "sums of floats may be regrouped in `algebraic` mode alone");
        }
        self.loops.order.splice(first..=last, vars.iter().copied());
        self.loops.ordered = true;
        Ok(())
    }

    fn collapse(&mut self, (outer, inner): (VarId, VarId), to: VarId) -> Legal {
        let (first, second) = (self.is_loop(outer)?, self.is_loop(inner)?);
        if let Some(cut) = [outer, inner].iter().find(|v| self.loops.cut(**v).is_some()) {
            let message = format!("`{}` counts entries, and cannot be collapsed", self.name(*cut));
            return self.refuse(message, "collapse loops over coordinates, then count with `pos`");
        }
        if first + 1 != second {
            let loops = self.names(&self.loops.order);
            let message = format!("`{}` does not stand directly inside of `{}`", self.name(inner), self.name(outer));
            return self.refuse(message, format!("`reorder` them first: the loops are {loops}"));
        }
        let (around, inside) = (self.loops.group_of(outer), self.loops.group_of(inner));
        if around != inside {
            let message = format!("`{}` and `{}` belong to different folds", self.name(outer), self.name(inner));
            return self.refuse(message, "collapse loops of the left side and a sum that is all of the right side");
        }
        self.loops.collapsed.push((to, [outer, inner]));
        self.loops.groups.push((to, around));
        self.loops.order.splice(first..=second, [to]);
        Ok(())
    }

    fn pos(&mut self, from: VarId, to: VarId, tensor: TensorId) -> Legal {
        let place = self.is_loop(from)?;
        let name = self.program.tensors[tensor.index()].name.clone();
        if self.loops.cut(from).is_some() {
            let message = format!("`{}` counts entries already", self.name(from));
            return self.refuse(message, "`coord` makes it a coordinate again");
        }
        let coordinates = self.loops.coordinates(from);
        let originals: Vec<VarId> = coordinates.iter().map(|v| self.loops.root(*v)).collect();
        let levels = self.levels(tensor, &originals)?;
        let format = self.program.tensors[tensor.index()].format.as_ref();
        let last = *levels.last().expect("some are collapsed");
        if let Some(kind) = format.map(|format| format.levels[last]).filter(|kind| !stores_positions(*kind)) {
            let variable = self.name(*originals.last().expect("some are collapsed"));
            let message =
                format!("the level of `{name}` over `{variable}` is `{}`: it stores no positions", kind.name());
            let help = format!("`weigh({variable}, …)` cuts a loop by what is stored below its coordinates");
            return self.refuse(message, help);
        }
        let tensors = vec![tensor];
        self.loops.cuts.push(Cut { whole: to, loops: coordinates, counted: Counted::Entries, tensors });
        let group = self.loops.group_of(from);
        self.loops.groups.push((to, group));
        self.loops.named.push((to, from));
        self.loops.order[place] = to;
        Ok(())
    }

    /// The levels of a tensor that is read under these variables, one behind the other.
    fn levels(&self, tensor: TensorId, vars: &[VarId]) -> Result<Vec<usize>, Diagnostic> {
        let declared = &self.program.tensors[tensor.index()];
        let order: Vec<usize> = match &declared.format {
            Some(format) => format.order.to_vec(),
            None => (0..declared.sizes.len()).collect(),
        };
        let mut read = vec![];
        self.statement.accesses(&mut |t, indices, written| {
            if t == tensor && !written {
                let level = |v: &VarId| order.iter().position(|m| indices[*m].bare() == Some(*v));
                read.push(vars.iter().map(level).collect::<Vec<_>>());
            }
        });
        let name = &declared.name;
        if read.is_empty() {
            return self.refuse(format!("`{name}` is not read here"), "name a tensor of the right side");
        }
        let under = |levels: &Vec<Option<usize>>| levels.iter().copied().collect::<Option<Vec<usize>>>();
        let Some(levels) = read.iter().find_map(under) else {
            let message = format!("`{name}` is not read under {}", self.names(vars));
            return self.refuse(message, "name a tensor whose index is that variable alone");
        };
        if levels.windows(2).any(|pair| pair[0] >= pair[1]) {
            let message = format!("`{name}` does not store {} in this order", self.names(vars));
            return self.refuse(message, "collapse loops in the order of the tensor's levels");
        }
        Ok(levels)
    }

    fn coord(&mut self, from: VarId, to: VarId) -> Legal {
        let place = self.is_loop(from)?;
        let Some(Cut { whole, .. }) = self.loops.cut(from).cloned() else {
            let message = format!("`{}` is a coordinate already", self.name(from));
            return self.refuse(message, "`coord` is for what `pos` has made");
        };
        let innermost = self.loops.innermost(whole);
        if innermost != from {
            let message = format!("`{}` counts pieces, of which each has several coordinates", self.name(from));
            return self.refuse(message, format!("name the innermost part, `{}`", self.name(innermost)));
        }
        self.loops.named.push((to, from));
        let group = self.loops.group_of(from);
        self.loops.groups.push((to, group));
        if whole == from {
            self.loops.cuts.retain(|cut| cut.whole != from);
        }
        self.loops.order[place] = to;
        Ok(())
    }

    fn weigh(&mut self, v: VarId, tensors: &[TensorId]) -> Legal {
        self.is_loop(v)?;
        if self.loops.cut(v).is_some() {
            return self.refuse(format!("`{}` counts entries already", self.name(v)), "weigh a loop over coordinates");
        }
        let loops = self.loops.coordinates(v);
        if loops.len() > 1 {
            let help = "`pos` cuts collapsed loops by one tensor's entries";
            return self.refuse(format!("`{}` is collapsed, and cannot be weighed", self.name(v)), help);
        }
        for tensor in tensors {
            self.levels(*tensor, &[self.loops.root(v)])?;
        }
        let tensors = tensors.to_vec();
        self.loops.cuts.push(Cut { whole: v, loops, counted: Counted::Weight, tensors });
        Ok(())
    }

    fn parallelize(&mut self, v: VarId, _unit: Unit, race: Race) -> Legal {
        self.is_loop(v)?;
        self.loops.parallel.push(v);
        let name = self.name(v);
        let target = &self.program.tensors[self.statement.tensor.index()].name;
        let races = self.races(v);
        let group = self.loops.group_of(v);
        if race == Race::NoRaces && races {
            let message = format!("turns of `{name}` write the same places of `{target}`");
            let help = "`temporary` and `parallel_reduction` join what turns have folded, `atomics` fold in place";
            return self.refuse(message, help);
        }
        if group.ordered {
            let message = format!("the loop over `{name}` folds in its order: its turns depend on one another");
            return self.refuse(message, "sums of floats may be regrouped in `algebraic` mode alone");
        }
        let format = self.program.tensors[self.statement.tensor.index()].format.as_ref();
        let level = format.and_then(|format| format.levels.iter().find(|kind| !kind.is_located()));
        if let (Race::Atomics, true, Some(kind)) = (race, races, level) {
            let message = format!("`{target}` has a level `{}`, and no place for each coordinate", kind.name());
            return self.refuse(message, "`atomics` fold into located levels: `temporary` folds into any");
        }
        Ok(())
    }

    /// Whether two turns of a loop may write one place of the target: it is a sum's, or a piece may end within what is summed.
    fn races(&self, v: VarId) -> bool {
        let places = |v: VarId| self.statement.indices.iter().any(|i| i.bare() == Some(v));
        let told_apart = !self.statement.scatters() && !self.statement.is_part();
        let loops = match self.loops.cut(v) {
            Some(cut) => cut.loops.clone(),
            None => self.loops.coordinates(v),
        };
        !(told_apart && loops.iter().all(|v| places(self.loops.root(*v))))
    }

    fn bound(&self, v: VarId) -> Legal {
        self.is_loop(v)?;
        if self.loops.cut(v).is_some() {
            let message = format!("`{}` counts entries, of which data alone say how many there are", self.name(v));
            return self.refuse(message, "bound a loop over coordinates");
        }
        Ok(())
    }
}

/// Whether an expression is a product, or a fold of one, of which a tensor is a factor.
fn leads(e: &Expr, tensor: TensorId) -> bool {
    match &e.kind {
        Kind::Access(t, _) => *t == tensor,
        Kind::Call(Fun::Op(Op::Mul), factors) => factors.iter().any(|e| leads(e, tensor)),
        Kind::Call(Fun::Op(Op::Neg), of) => leads(&of[0], tensor),
        Kind::Reduce { body, start: None, .. } => leads(body, tensor),
        _ => false,
    }
}

/// Whether a level has a position for each entry, and none for anything else.
fn stores_positions(kind: LevelKind) -> bool {
    kind.is_list()
}
