//! What each operation of a plan asks of its parts: what names stand for, the types of symbols, what levels can do.

use super::check::Checker;
use super::{Entry, Found, Kind, Level, List, Op, There, Visit};
use crate::choose::cut::Counted;
use crate::choose::symbol::{Array, Meaning, Name, Sym};
use crate::stream::Shift;
use fiberloom_core::algebra::{Type, result_type};
use fiberloom_core::format::{Holds, LevelKind};
use fiberloom_core::notation::concrete::{AccessId, Place, WorkspaceKind};
use fiberloom_core::notation::typed::Fun;

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Thing {
    /// A cursor that stays, or a hint.
    Cursor,
    /// An open list, whose entries may be runs.
    List { runs: bool },
    /// The pieces of a level.
    Pieces(Kind),
    /// The run of an entry's positions.
    Run,
    /// A result.
    Result(Place),
    /// An insertion point of a result, above a level.
    Insertion(Name, usize),
    /// A workspace of a tensor, of a number of variables; with the bound on the number of values that are put.
    Workspace(Place, usize, WorkspaceKind, Option<Sym>),
    /// A list in its position map.
    Laid,
}

impl Thing {
    fn word(self) -> &'static str {
        match self {
            Thing::Cursor => "a cursor",
            Thing::List { .. } => "an open list",
            Thing::Pieces(_) => "the pieces of a level",
            Thing::Run => "a run",
            Thing::Result(_) => "a result",
            Thing::Insertion(..) => "an insertion point",
            Thing::Workspace(..) => "a workspace",
            Thing::Laid => "a list in its position map",
        }
    }
}

/// Whether the entries of a list may be runs.
fn runs(list: &List) -> bool {
    list.repeats || list.view.blocks.is_some()
}

/// What is wrong with an operation.
type Rule<T = ()> = Result<T, String>;

impl Checker<'_> {
    /// What the names stand for that an operation defines, but runs.
    pub(super) fn defines(&self, op: &Op) -> Rule<Vec<(Name, Thing)>> {
        Ok(match op {
            Op::Finger { it, .. } | Op::Hint { it } => vec![(*it, Thing::Cursor)],
            Op::Open { it, list } => vec![(*it, Thing::List { runs: runs(list) })],
            Op::OpenPieces { it, kind, .. } => vec![(*it, Thing::Pieces(*kind))],
            Op::Scatter { it, .. } => vec![(*it, Thing::Laid)],
            Op::InBulk { into, said, .. } => vec![(*said, self.thing(*into)?)],
            Op::Make { made } => {
                let place = made.nest.target.tensor;
                vec![(made.output, Thing::Result(place)), (made.root, Thing::Insertion(made.output, 0))]
            }
            Op::Visit { output, insertion, below, .. } | Op::Locate { output, insertion, below, .. } => {
                let (_, level) = self.insertion(*output, *insertion)?;
                vec![(*below, Thing::Insertion(*output, level + 1))]
            }
            Op::Work { work } => {
                let w = work.nest.workspace().ok_or("the nest has no workspace")?;
                let place = work.nest.target.tensor;
                let it = |most| Thing::Workspace(place, self.program.drained(&work.nest).len(), w.kind, most);
                let few = work.few.map(|few| (few, it(None)));
                [(work.it, it(work.most))].into_iter().chain(few).collect()
            }
            _ => vec![],
        })
    }

    /// Checks what an operation asks of its parts.
    pub(super) fn rule(&self, op: &Op) -> Rule {
        match op {
            Op::Let { it, of } | Op::Hold { it, of } | Op::Var { it, of } => self.has(*it, self.ty(*of)?),
            Op::Fresh { .. } => Ok(()),
            Op::Set { var, to } => self.variable(*var).and(self.is(*to, self.ty(*var)?)),
            Op::Call { it, fun, args } => {
                let types = args.iter().map(|arg| self.ty(*arg)).collect::<Rule<Vec<_>>>()?;
                self.has(*it, self.applied(*fun, &types)?)
            }
            Op::Fail { .. } | Op::Range { .. } | Op::Hint { .. } => Ok(()),
            Op::When { cond, .. } => self.condition(*cond),
            op => self.of_lists(op),
        }
    }

    fn of_lists(&self, op: &Op) -> Rule {
        match op {
            Op::RunEnd { it, run } => self.run(run.name).and(self.number(*it)),
            Op::Interval { is, of, parent, present } => {
                self.can(*of, "have an interval", |kind| kind.holds(Holds::Positions))?;
                self.numbers(is)?;
                self.number(*parent)?;
                present.map_or(Ok(()), |present| self.condition(present))
            }
            Op::Finger { of, begin, .. } => self.made(self.program.accesses[of.0].tensor).and(self.number(*begin)),
            Op::Open { list, .. } => self.list(list),
            Op::Rest { is, list } => self.entry(is, self.runs(*list)?),
            Op::CatchUp { list, at, .. } | Op::ComeNear { list, at } => self.open(*list).and(self.number(*at)),
            Op::Follow { here, is, list, at } => {
                self.entry(is, self.runs(*list)?)?;
                self.holds(*here).and(self.number(*at))
            }
            Op::NextIf { list, cond } => self.open(*list).and(self.condition(*cond)),
            Op::Seek { is, by, at } => self.seek(is, by).and(self.number(*at)),
            Op::Ask { found, position, of, at, inside } => {
                self.can(*of, "be in a position map", LevelKind::is_list)?;
                self.table(*of)?;
                self.number(*at)?;
                inside.map_or(Ok(()), |inside| self.condition(inside))?;
                let by_value = self.tables.iter().any(|table| table.list == *of && table.by_value);
                let ty = if by_value { self.program.tensor(of.0).ty } else { Type::Bool };
                self.has(*found, ty).and(self.number(*position))
            }
            Op::Scatter { list, flags, .. } => {
                self.list(list)?;
                self.table(list.of)?;
                let flagged = self.tables.iter().any(|table| table.list == list.of && table.flagged);
                match flags {
                    Some(flags) if flagged => self.number(flags.position).and(self.condition(flags.cond)),
                    Some(_) => Err("the table of the list has no flags".to_string()),
                    None if flagged => Err("the table of the list has flags".to_string()),
                    None => Ok(()),
                }
            }
            Op::ClearMap { it } => self.want(*it, |thing| thing == Thing::Laid, "a list in its position map"),
            Op::Edge { is, of, hints, at, count, extents, .. } => {
                hints.iter().try_for_each(|hint| self.cursor(*hint))?;
                self.numbers(is)?;
                self.numbers(extents)?;
                self.number(*at).and(self.number(*count))?;
                self.counted(of, (hints.len(), extents.len()))?;
                if is.len() == extents.len() + of.found(self.facts, extents.len()).len() {
                    Ok(())
                } else {
                    Err("a coordinate for each extent is defined, and a position in each list that is weighed"
                        .to_string())
                }
            }
            op => self.of_loops(op),
        }
    }

    fn of_loops(&self, op: &Op) -> Rule {
        match op {
            Op::Every { at, lo, hi, .. } => self.numbers(&[*at, *lo, *hi]),
            Op::Each { list, visit, .. } => self.list(list).and(self.visit(visit, runs(list))),
            Op::EachOpen { list, visit } => self.visit(visit, self.runs(*list)?),
            Op::Along { at, list, .. } => self.open(*list).and(self.number(*at)),
            Op::Filter { list, kept, stored, .. } => {
                self.list(list)?;
                if list.view.start.is_none() {
                    return Err("a list that is all in view is not filtered".to_string());
                }
                self.holds(*kept).and(self.visit(stored, false))
            }
            Op::InBulk { list, into, visit, .. } => {
                self.list(list)?;
                let has_set = |thing| matches!(thing, Thing::Workspace(_, 1, WorkspaceKind::Dense, _));
                self.want(*into, has_set, "a dense workspace of one variable")?;
                let straight =
                    |op: &Op| matches!(op, Op::Let { .. } | Op::Hold { .. } | Op::Call { .. } | Op::Put { .. });
                if !visit.body.0.iter().all(straight) {
                    return Err("what is inserted at once is put under no condition and in no loop".to_string());
                }
                self.visit(visit, runs(list))
            }
            Op::Intersect { at, lists, .. } => self.opens(lists).and(self.number(*at)),
            Op::Leap { at, lists, .. } => {
                let lists: Vec<Name> = lists.iter().map(|leaping| leaping.list).collect();
                self.opens(&lists).and(self.number(*at))
            }
            Op::Meet { at, met, lists, .. } => self.opens(lists).and(self.number(*at)).and(self.holds(*met)),
            Op::MeetLanes { at, met, entries, lists, .. } => {
                self.opens(lists)?;
                entries.iter().zip(lists).try_for_each(|(entry, list)| self.entry(entry, self.runs(*list)?))?;
                self.number(*at).and(self.holds(*met))
            }
            Op::Unite { at, lists, .. } => self.opens(lists).and(self.number(*at)),
            Op::UniteFlat { at, flags, lists, .. } => {
                self.opens(lists)?;
                flags.iter().try_for_each(|flag| self.holds(*flag))?;
                self.number(*at)
            }
            Op::Wide { at, present, lists, live, .. } => {
                let names: Vec<Name> = lists.iter().map(|(_, name)| *name).collect();
                self.opens(&names)?;
                let known = |a: &AccessId| lists.iter().any(|(of, _)| of == a);
                if !live.lists().iter().all(known) {
                    return Err("the loop goes on as long as lists have entries that are not in it".to_string());
                }
                self.flags(present, names.len()).and(self.number(*at))
            }
            Op::Gaps { list, from, to, counts, visit, gap } => {
                counts.map_or(Ok(()), |counts| self.number(counts))?;
                self.numbers(&[*from, *to, gap.begin, gap.end])?;
                self.visit(visit, self.runs(*list)?)
            }
            Op::Between { at, present, lists, from, to, gap, .. } => {
                self.opens(lists)?;
                self.flags(present, lists.len())?;
                self.numbers(&[*at, *from, *to, gap.begin, gap.end])
            }
            Op::Beside { list, at, .. } => self.open(*list).and(self.number(*at)),
            op => self.of_pieces(op),
        }
    }

    fn of_pieces(&self, op: &Op) -> Rule {
        match op {
            Op::OpenPieces { list, kind, extent, .. } => {
                self.in_pieces(list, *kind)?;
                self.number(*extent)
            }
            Op::Left { it, pieces } | Op::PieceEnd { it, pieces } => {
                self.pieces(*pieces, |_| true)?;
                self.number(*it)
            }
            Op::PieceNumber { it, pieces, .. } => self.pieces(*pieces, |_| true).and(self.number(*it)),
            Op::Steps { begin, from, to, stop, .. } => self.numbers(&[*begin, *from, *to, *stop]),
            Op::Blocks { pieces, lists, .. } => {
                if pieces.is_empty() {
                    return Err("blocks are of one level or more".to_string());
                }
                pieces.iter().try_for_each(|of| self.pieces(*of, |_| true))?;
                lists.iter().try_for_each(|(cursor, end)| self.cursor(*cursor).and(self.number(*end)))
            }
            Op::PieceBlock { is, pieces, .. } => {
                self.pieces(*pieces, |kind| kind != Kind::Runs)?;
                self.numbers(is)
            }
            Op::PiecePacked { is, pieces, .. } => {
                self.pieces(*pieces, |kind| kind == Kind::Packed)?;
                self.holds(is[0]).and(self.numbers(&is[1..]))
            }
            Op::Leave { pieces, cond } => {
                self.pieces(*pieces, |_| true)?;
                cond.map_or(Ok(()), |cond| self.condition(cond))
            }
            op => self.of_results(op),
        }
    }

    fn of_results(&self, op: &Op) -> Rule {
        match op {
            Op::OpenFiber { output, insertion, bound } | Op::MakeRoom { output, insertion, bound } => {
                self.above(*output, *insertion)?;
                self.number(*bound)
            }
            Op::CloseFiber { output, insertion } => self.above(*output, *insertion).map(drop),
            Op::Visit { output, insertion, at, positions, .. } => {
                self.above(*output, *insertion)?;
                positions.iter().try_for_each(|(_, position)| self.number(*position))?;
                self.number(*at)
            }
            Op::Locate { output, insertion, at, .. } => {
                let (place, level) = self.above(*output, *insertion)?;
                if self.program.tensors[place.0].format.levels[level].is_list() {
                    return Err(format!("level {level} of `{}` is not located", self.program.tensors[place.0].name));
                }
                self.number(*at)
            }
            Op::Store { output, insertion, fold, value } => {
                let ty = self.below(*output, *insertion)?;
                fold.map_or(Ok(ty), |fun| self.applied(fun, &[ty, ty]))?;
                self.is(*value, ty)
            }
            Op::StoreIf { output, insertion, value, kept } => {
                let ty = self.below(*output, *insertion)?;
                self.is(*value, ty).and(self.condition(*kept))
            }
            Op::Expect { output, insertion, first, most } => {
                self.above(*output, *insertion)?;
                self.number(*first).and(self.number(*most))
            }
            Op::PutRun { output, insertion, lo, hi, value } => {
                let (place, _) = self.above(*output, *insertion)?;
                lo.map_or(Ok(()), |lo| self.number(lo))?;
                self.number(*hi).and(self.is(*value, self.program.tensors[place.0].ty))
            }
            Op::FoldIn { of, at, fun, value } => {
                self.made(*of)?;
                let ty = self.program.tensors[of.0].ty;
                self.applied(*fun, &[ty, ty])?;
                self.number(*at).and(self.is(*value, ty))
            }
            Op::Tally { row, place } => {
                self.number(*row)?;
                place.map_or(Ok(()), |(at, _)| self.number(at))
            }
            op => self.of_workspaces(op),
        }
    }

    fn of_workspaces(&self, op: &Op) -> Rule {
        match op {
            Op::Work { work } => {
                self.want(work.output, |thing| matches!(thing, Thing::Result(_)), "a result")?;
                work.most.map_or(Ok(()), |most| self.number(most))
            }
            Op::ByLength { work, few, is_short, .. } => {
                self.workspace(*work).and(self.workspace(*few))?;
                self.condition(*is_short)
            }
            Op::Clear { work } | Op::MarkOld { work } => self.workspace(*work).map(drop),
            Op::Put { work, at, fold, value } => {
                let (place, vars) = self.workspace(*work)?;
                let ty = self.program.tensors[place.0].ty;
                if at.len() != vars {
                    return Err(format!("the workspace has {vars} variables, and {} coordinates are given", at.len()));
                }
                self.numbers(at)?;
                fold.map_or(Ok(ty), |fun| self.applied(fun, &[ty, ty]))?;
                self.is(*value, ty)
            }
            Op::Drain { work, along, output, insertion } => {
                self.workspace(*work)?;
                if let Thing::Workspace(.., Some(most)) = self.thing(*work)?
                    && self.unset.contains(&most)
                {
                    return Err("the bound on the number of values has no value yet".to_string());
                }
                along.as_ref().map_or(Ok(()), |list| self.list(list))?;
                self.above(*output, *insertion).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// What a name that is used stands for.
    pub(super) fn thing(&self, n: Name) -> Rule<Thing> {
        let found = self.seen.iter().rev().find_map(|seen| seen.names.get(&n));
        found.copied().ok_or_else(|| "a name is used where it is not defined".to_string())
    }

    fn want(&self, n: Name, is: impl Fn(Thing) -> bool, what: &str) -> Rule {
        let thing = self.thing(n)?;
        if is(thing) { Ok(()) } else { Err(format!("expected {what}, found {}", thing.word())) }
    }

    fn cursor(&self, n: Name) -> Rule {
        self.want(n, |thing| thing == Thing::Cursor, "a cursor")
    }

    fn run(&self, n: Name) -> Rule {
        self.want(n, |thing| thing == Thing::Run, "a run")
    }

    fn open(&self, n: Name) -> Rule {
        self.want(n, |thing| matches!(thing, Thing::List { .. }), "an open list")
    }

    /// Whether the entries of an open list may be runs.
    fn runs(&self, n: Name) -> Rule<bool> {
        match self.thing(n)? {
            Thing::List { runs } => Ok(runs),
            other => Err(format!("expected an open list, found {}", other.word())),
        }
    }

    /// One open list or more, each once.
    fn opens(&self, lists: &[Name]) -> Rule {
        if lists.is_empty() || (1..lists.len()).any(|n| lists[..n].contains(&lists[n])) {
            return Err("a loop is over one list or more, each once".to_string());
        }
        lists.iter().try_for_each(|list| self.open(*list))
    }

    fn pieces(&self, n: Name, is: impl Fn(Kind) -> bool) -> Rule {
        self.want(n, |thing| matches!(thing, Thing::Pieces(kind) if is(kind)), "pieces of that kind")
    }

    fn workspace(&self, n: Name) -> Rule<(Place, usize)> {
        match self.thing(n)? {
            Thing::Workspace(place, vars, ..) => Ok((place, vars)),
            other => Err(format!("expected a workspace, found {}", other.word())),
        }
    }

    /// A result, and the level below one of its insertion points.
    fn insertion(&self, output: Name, insertion: Name) -> Rule<(Place, usize)> {
        match (self.thing(output)?, self.thing(insertion)?) {
            (Thing::Result(place), Thing::Insertion(of, level)) if of == output => Ok((place, level)),
            (Thing::Result(_), Thing::Insertion(..)) => Err("the insertion is another result's".to_string()),
            (Thing::Result(_), other) | (other, _) => {
                Err(format!("expected a result and its insertion, found {}", other.word()))
            }
        }
    }

    /// A result and a level that is there.
    fn above(&self, output: Name, insertion: Name) -> Rule<(Place, usize)> {
        let (place, level) = self.insertion(output, insertion)?;
        let tensor = &self.program.tensors[place.0];
        if level < tensor.format.rank() {
            Ok((place, level))
        } else {
            Err(format!("`{}` has no level {level}", tensor.name))
        }
    }

    /// The type of a result's values, if the insertion point is below all levels.
    fn below(&self, output: Name, insertion: Name) -> Rule<Type> {
        let (place, level) = self.insertion(output, insertion)?;
        let tensor = &self.program.tensors[place.0];
        if level == tensor.format.rank() {
            return Ok(tensor.ty);
        }
        Err(format!(
            "a value of `{}` is below {} levels, and this insertion below {level}",
            tensor.name,
            tensor.format.rank()
        ))
    }

    /// The type of a symbol.
    fn ty(&self, s: Sym) -> Rule<Type> {
        match self.all.meaning(s) {
            Meaning::Constant(x) => Ok(x.ty()),
            Meaning::Held(_) | Meaning::Read(_) => Ok(self.all.named(s).map_or(Type::I64, |(_, ty)| ty)),
            Meaning::Load(array, at) => {
                self.number(at)?;
                self.array(array)
            }
            Meaning::Length(array) => self.array(array).map(|_| Type::I64),
            Meaning::Of(op, args) => {
                let types = args.iter().map(|arg| self.ty(*arg)).collect::<Rule<Vec<_>>>()?;
                self.applied(Fun::Op(op), &types)
            }
        }
    }

    /// The type of an array's elements, positions and coordinates as numbers.
    fn array(&self, array: Array) -> Rule<Type> {
        let (Array::Level(place, ..) | Array::Values(place)) = array;
        self.made(place)?;
        Ok(match array {
            Array::Level(_, _, Holds::Positions | Holds::Coordinates) => Type::I64,
            Array::Level(_, _, holds) => holds.ty().unwrap_or(self.program.tensors[place.0].ty),
            Array::Values(place) => self.program.tensors[place.0].ty,
        })
    }

    /// The type of a function's value.
    fn applied(&self, fun: Fun, types: &[Type]) -> Rule<Type> {
        let shown = || types.iter().map(|ty| ty.name()).collect::<Vec<_>>().join(", ");
        match fun {
            Fun::Op(op) => result_type(op, types).ok_or_else(|| format!("`{}` does not take ({})", op.name(), shown())),
            Fun::User(f) => {
                let f = &self.program.functions[f.index()];
                if f.takes(types) { Ok(f.result) } else { Err(format!("`{}` does not take ({})", f.name, shown())) }
            }
        }
    }

    /// A value has a type.
    fn is(&self, s: Sym, ty: Type) -> Rule {
        match self.ty(s)? {
            found if found == ty => Ok(()),
            found => Err(format!("expected a value of type {ty}, found one of type {found}")),
        }
    }

    fn condition(&self, s: Sym) -> Rule {
        self.is(s, Type::Bool)
    }

    /// What is defined has a type. What is known already is 0.
    fn has(&self, s: Sym, ty: Type) -> Rule {
        if s == Sym::ZERO { Ok(()) } else { self.is(s, ty) }
    }

    fn holds(&self, s: Sym) -> Rule {
        self.has(s, Type::Bool)
    }

    pub(super) fn number(&self, s: Sym) -> Rule {
        self.has(s, Type::I64)
    }

    fn numbers(&self, of: &[Sym]) -> Rule {
        of.iter().try_for_each(|s| self.number(*s))
    }

    fn flags(&self, of: &[Sym], len: usize) -> Rule {
        if of.len() != len {
            return Err("a flag is defined for each list".to_string());
        }
        of.iter().try_for_each(|s| self.holds(*s))
    }

    fn variable(&self, s: Sym) -> Rule {
        if self.vars.contains(&s) { Ok(()) } else { Err("what is set is no variable".to_string()) }
    }

    /// An entry of a list whose entries may be runs.
    fn entry(&self, entry: &Entry, runs: bool) -> Rule {
        if entry.run.is_some() && !runs {
            return Err("an entry of this list is no run".to_string());
        }
        self.number(entry.position)
    }

    fn visit(&self, visit: &Visit, runs: bool) -> Rule {
        self.number(visit.at).and(self.entry(&visit.entry, runs))
    }

    fn seek(&self, is: &There, by: &Found) -> Rule {
        is.found.map_or(Ok(()), |found| self.holds(found))?;
        self.entry(&is.entry, matches!(by, Found::Search { list } if runs(list)))?;
        match by {
            Found::Search { list } => self.list(list),
            Found::Hash { list, parent } => {
                self.can(list.of, "be hashed", LevelKind::has_table)?;
                self.list(list).and(self.number(*parent))
            }
            Found::Pieces { list, kind, extent } => self.in_pieces(list, *kind).and(self.number(*extent)),
        }
    }

    fn counted(&self, of: &Counted, (hints, loops): (usize, usize)) -> Rule {
        match of {
            Counted::Nothing | Counted::Coordinates => Ok(()),
            Counted::Weight(weights) => weights.iter().try_for_each(|weight| {
                let (a, first) = weight.of;
                if self.program.tensor(a).format.weighed(first, loops).is_none() {
                    return Err("what is weighed does not say how much it stores".to_string());
                }
                self.numbers(&[weight.begin, weight.end, weight.before])
            }),
            Counted::Entries { access, first, begin, ends } => {
                self.can((*access, *first), "be counted", |_| true)?;
                self.number(*begin).and(self.numbers(ends))?;
                if hints == ends.len() {
                    Ok(())
                } else {
                    Err("a hint is needed for each level that is searched".to_string())
                }
            }
        }
    }

    /// Checks a list in its view: it is of a level with coordinates.
    pub(super) fn list(&self, list: &List) -> Rule {
        self.can(list.of, "be walked", |kind| kind.holds(Holds::Coordinates))?;
        self.in_view(list)
    }

    fn in_view(&self, List { of, begin, end, view, run, bucket_index, .. }: &List) -> Rule {
        self.numbers(&[*begin, *end])?;
        let shift = view.shift.as_ref().map(|(Shift::Up(c) | Shift::Down(c))| *c);
        let parts = [shift, view.stride, view.blocks, view.extent, view.start, view.stop, view.mark];
        self.numbers(&parts.into_iter().flatten().collect::<Vec<_>>())?;
        view.finger.map_or(Ok(()), |finger| self.cursor(finger))?;
        run.map_or(Ok(()), |run| self.run(run.name))?;
        if bucket_index.is_some() && !self.bucket_indices.contains(&of.0) {
            return Err("the list has no bucket index".to_string());
        }
        if view.mark.is_some() && !self.marks.contains(of) {
            return Err("the list has no table of windows".to_string());
        }
        Ok(())
    }

    fn in_pieces(&self, list: &List, kind: Kind) -> Rule {
        self.can(list.of, "be in such pieces", |level| Kind::of(level) == Some(kind))?;
        self.in_view(list)
    }

    fn table(&self, of: Level) -> Rule {
        if self.tables.iter().any(|table| table.list == of) { Ok(()) } else { Err("the list has no table".to_string()) }
    }

    /// A level is of a kind that can do this, and its arrays are there.
    pub(super) fn can(&self, (a, level): Level, what: &str, can: impl Fn(LevelKind) -> bool) -> Rule {
        let tensor = self.program.tensor(a);
        self.made(self.program.accesses[a.0].tensor)?;
        match tensor.format.levels.get(level) {
            Some(kind) if can(*kind) => Ok(()),
            _ => Err(format!("level {level} of `{}` cannot {what}", tensor.name)),
        }
    }

    /// The arrays of a tensor are there.
    pub(super) fn made(&self, place: Place) -> Rule {
        let tensor = &self.program.tensors[place.0];
        if self.seen.iter().any(|seen| seen.made.contains(&place)) {
            Ok(())
        } else {
            Err(format!("`{}` is not computed yet", tensor.name))
        }
    }
}
