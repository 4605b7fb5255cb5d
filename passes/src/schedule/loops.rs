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
//! No command rewrites an iteration: each is an index map, or a *cut* of the coordinates that loops visit. The *provenance graph* of the
//! schedules paper (section 4) records how index variables are derived: [`Loops::splits`] and [`Loops::cuts`] are its edges.

use fiberloom_core::algebra::Mode;
use fiberloom_core::notation::Diagnostic;
use fiberloom_core::notation::concrete::Counted;
use fiberloom_core::notation::concrete::{Hints, Length};
use fiberloom_core::notation::typed::{
    Command, CommandKind, Parts, Program, Statement, TensorCommand, TensorId, VarId,
};

/// A variable that is split into two loops.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The variable that is split: a coordinate, or the counter of a cut.
    pub whole: VarId,
    /// The loop over the parts.
    pub outer: VarId,
    /// The loop inside of each part.
    pub inner: VarId,
    /// The number of parts, or their length.
    pub parts: Parts,
}

/// Loops that are cut into consecutive pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The counter of the cut, in units of `counted`.
    pub whole: VarId,
    /// The loops, outermost first.
    pub loops: Vec<VarId>,
    /// The unit that is counted.
    pub counted: Counted,
    /// The tensors whose entries are counted.
    pub tensors: Vec<TensorId>,
}

/// A statement's loops under its commands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loops {
    /// Loops and pieces, outermost first. A cut is listed as its pieces; the innermost piece marks where the cut loops run.
    pub order: Vec<VarId>,
    /// Whether the schedule says the order.
    pub ordered: bool,
    /// Whether the planner is turned off: the order is that of the meaning.
    pub none: bool,
    /// The splits, in the order of the commands.
    pub splits: Vec<Split>,
    /// The cuts, in the order of the commands.
    pub cuts: Vec<Cut>,
    /// Requests to unroll or vectorize loops.
    pub hints: Vec<(VarId, Hints)>,
    /// Loops that are parallel, whose iterations are independent or joined. Later commands may not change them.
    pub(super) parallel: Vec<VarId>,
    /// Loops that `collapse` has made, each with the two loops that it combines.
    pub(super) collapsed: Vec<(VarId, [VarId; 2])>,
    /// New names of coordinates, by `pos` and `coord`: (new, old).
    pub(super) named: Vec<(VarId, VarId)>,
    /// The fold to which each loop belongs.
    pub(super) groups: Vec<(VarId, Group)>,
}

/// A count as a sum of parts, each multiplied by its factors.
pub type Sum = Vec<(VarId, Vec<Length>)>;

/// Loops that may be reordered among one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The group's number; the left side's is 0.
    pub number: usize,
    /// Whether the group is a fold whose order is part of its meaning.
    pub ordered: bool,
}

impl Loops {
    /// The loops of a statement, under its commands.
    ///
    /// # Errors
    /// The first command that is not legal: it names the index variable, the rule, and the change to make.
    pub fn of(program: &Program, statement: &Statement, mode: Mode) -> Result<Loops, Diagnostic> {
        let mut loops = Loops::bare(program, statement, mode);
        for command in &statement.commands {
            loops.apply((program, statement), command)?;
        }
        loops.pieces_ascend(program, statement)?;
        Ok(loops)
    }

    /// Applies a command: the statement's own, or one that the planner decides. What a refused command leaves is of no use.
    ///
    /// # Errors
    /// The rule that the command breaks, and the change to make.
    pub fn apply(&mut self, (program, statement): (&Program, &Statement), command: &Command) -> Result<(), Diagnostic> {
        Apply { program, statement, command, loops: self }.run()
    }

    /// Whether no command changes a loop.
    pub fn is_bare(&self) -> bool {
        !self.ordered && !self.none && self.splits.is_empty() && self.cuts.is_empty()
    }

    /// The split of a variable, if it is split.
    pub fn split(&self, v: VarId) -> Option<&Split> {
        self.splits.iter().find(|split| split.whole == v)
    }

    /// The cut whose counter this variable is, or is a part of.
    pub fn cut(&self, v: VarId) -> Option<&Cut> {
        let of = self.splits.iter().find(|split| split.outer == v || split.inner == v);
        self.cuts.iter().find(|cut| cut.whole == v).or_else(|| self.cut(of?.whole))
    }

    /// The coordinates that a variable stands for: those of its loops, if it is collapsed. A variable that is no part of a cut stands for
    /// itself.
    pub(super) fn coordinates(&self, v: VarId) -> Vec<VarId> {
        if let Some((_, of)) = self.named.iter().find(|(name, _)| *name == v) {
            return self.coordinates(*of);
        }
        match self.collapsed.iter().find(|(whole, _)| *whole == v) {
            Some((_, [outer, inner])) => [self.coordinates(*outer), self.coordinates(*inner)].concat(),
            None => vec![v],
        }
    }

    /// The requests for a loop, including those for a variable of which it is the innermost loop.
    pub fn hints(&self, v: VarId) -> Hints {
        let of = |w: VarId| {
            w == v
                || self.coordinates(w).last() == Some(&v)
                || self.cut(w).is_some_and(|cut| self.innermost(cut.whole) == w && cut.loops.last() == Some(&v))
        };
        let all = self.hints.iter().filter(|(w, _)| of(*w));
        all.fold(Hints::default(), |all, (w, hints)| Hints {
            unroll: all.unroll.max(hints.unroll),
            lanes: all.lanes | hints.lanes,
            deal: all.deal.or(hints.deal),
            claim: all.claim.max(hints.claim),
            seamed: all.seamed | (hints.seamed && *w == v),
        })
    }

    /// The variable of the meaning from which a variable is split; itself, if it is not split from another.
    pub fn root(&self, v: VarId) -> VarId {
        let split = self.splits.iter().find(|split| split.outer == v || split.inner == v);
        split.map_or(v, |split| self.root(split.whole))
    }

    /// The place of a loop: the variable of [`order`](Loops::order) in whose place it runs, and its rank among the loops that run there. A
    /// cut or collapsed loop runs in the place of the whole, or of its innermost part.
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

    /// The place of a variable in the order, under any of its names.
    pub fn place(&self, v: VarId) -> Option<usize> {
        let name = self.named.iter().find(|(_, of)| *of == v).map(|(name, _)| *name);
        self.order.iter().position(|w| *w == v).or_else(|| self.place(name?))
    }

    fn collapsed_inner(&self, whole: VarId) -> VarId {
        self.collapsed.iter().find(|(w, _)| *w == whole).expect("it is collapsed").1[1]
    }

    /// Whether a variable is `whole`, or one of the coordinates that it stands for.
    fn stands_for(&self, whole: VarId, v: VarId) -> bool {
        whole == v || self.coordinates(whole).contains(&v)
    }

    /// The innermost part of a cut's counter: in its place the cut loops run.
    pub fn innermost(&self, v: VarId) -> VarId {
        self.split(v).filter(|_| self.cut(v).is_some()).map_or(v, |split| self.innermost(split.inner))
    }

    /// The parts of a cut's counter, each with its factors, outermost first.
    pub fn parts(&self, v: VarId) -> Sum {
        let Some(split) = self.split(v) else { return vec![(v, vec![])] };
        self.outer_parts(split).chain(self.parts(split.inner)).collect()
    }

    /// The parts of the outer loop of a split, each with the split's factor.
    fn outer_parts(&self, split: &Split) -> impl Iterator<Item = (VarId, Vec<Length>)> {
        let by = self.factor(split);
        self.parts(split.outer).into_iter().map(move |(v, mut all)| {
            all.push(by.clone());
            (v, all)
        })
    }

    /// The ends of nested parts: each limits the count from the start of the parts before it.
    pub fn spine(&self, v: VarId) -> Vec<(Sum, Length)> {
        let (mut ends, mut before, mut at) = (vec![], vec![], v);
        while let Some(split) = self.split(at) {
            before.extend(self.outer_parts(split));
            // A part that is not split again ends where its unit does.
            if self.split(split.inner).is_some() {
                ends.push((before.clone(), self.length(split.inner)));
            }
            at = split.inner;
        }
        ends
    }

    /// Lengths of parts that are split again: their own parts may not divide them, so no piece lies beyond these lengths.
    pub fn beyond(&self, v: VarId) -> Vec<(Sum, Length)> {
        let Some(split) = self.split(v) else { return vec![] };
        let mut all = vec![];
        let mut open = vec![split.outer];
        while let Some(part) = open.pop() {
            if let Some(split) = self.split(part) {
                all.push((self.parts(part), self.length(part)));
                open.extend([split.outer, split.inner]);
            }
        }
        all.extend(self.beyond(split.inner));
        all
    }

    /// The number of units of the whole in one iteration of a split's outer loop.
    fn factor(&self, split: &Split) -> Length {
        match split.parts {
            Parts::Of(n) => Length::Number(n),
            Parts::Into(_) => self.length(split.inner),
        }
    }

    /// The number of iterations of a part of a cut's counter.
    pub fn length(&self, v: VarId) -> Length {
        let counted = self.cuts.iter().any(|cut| cut.whole == v);
        let made = self.splits.iter().find(|split| split.outer == v || split.inner == v);
        let Some(split) = made.filter(|_| !counted) else { return Length::All };
        match split.parts {
            Parts::Of(n) if split.inner == v => Length::Number(n),
            Parts::Into(n) if split.outer == v => Length::Number(n),
            Parts::Of(n) | Parts::Into(n) => Length::Over(Box::new(self.length(split.whole)), n),
        }
    }

    pub(super) fn group_of(&self, v: VarId) -> Group {
        let group = self.groups.iter().find(|(w, _)| *w == v).map(|(_, group)| *group);
        group.expect("every loop has a group")
    }
}

/// Applies a command to a statement's loops.
pub(super) struct Apply<'a> {
    pub program: &'a Program,
    pub statement: &'a Statement,
    pub command: &'a Command,
    pub loops: &'a mut Loops,
}

/// An error says why a command is not legal.
pub(super) type Legal = Result<(), Diagnostic>;

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
                let unroll = u32::try_from(*n).unwrap_or(u32::MAX);
                self.loops.hints.push((*v, Hints { unroll, ..Hints::default() }));
                Ok(())
            }
            CommandKind::Parallelize(v, unit, race) => self.parallelize(*v, *unit, *race),
            // These commands concern expressions and reads, not loops, and have been applied.
            CommandKind::Tensor(TensorCommand::Stage(_)) | CommandKind::Tensor(TensorCommand::Copy(..)) => Ok(()),
        }
    }

    pub(super) fn name(&self, v: VarId) -> &str {
        &self.program.vars[v.index()].name
    }

    pub(super) fn names(&self, vars: &[VarId]) -> String {
        vars.iter().map(|v| format!("`{}`", self.name(*v))).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn refuse<T>(&self, message: String, help: impl Into<String>) -> Result<T, Diagnostic> {
        Err(Diagnostic::new(self.command.span, message).help(help.into()))
    }

    /// The place of a loop in the order.
    pub(super) fn is_loop(&self, v: VarId) -> Result<usize, Diagnostic> {
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
}
