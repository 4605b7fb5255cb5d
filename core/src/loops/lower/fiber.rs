//! Where accesses stand: the fibers that the loops around have opened, levels that are located or searched, and loads.

use super::budget::Budget;
use super::builtin::builtin;
use super::cut::Opened;
use super::nest::Sink;
use super::range::Range;
use super::spread::Laid;
use super::structure::Phase;
use super::{Context, Expr, Holds, LevelBuffers, binary, held, int, plus, times};
use crate::algebra::{Op, Type, Value};
use crate::format::LevelKind;
use crate::iteration::{Sequence, background};
use crate::loops::choose::Facts;
use crate::loops::lower;
use crate::loops::lower::call;
use crate::loops::lower::choice;
use crate::loops::lower::nest;
use crate::loops::lower::range;
use crate::loops::lower::spread;
use crate::loops::lower::structure;
use crate::loops::plan::{self, Seek, Sought};
use crate::loops::{self, Failure, Symbolic, Term};
use crate::map::{Map, Size};
use crate::notation::concrete::{self, AccessId, Computed, Fold, Index, Iterated};
use crate::notation::syntax::Protocol;
use crate::notation::typed::Fun;
use crate::stream::{Directory, Domain, Entry, EntryRun, Interval, List, ListFiber, State, Table, bounds};
use rustc_hash::{FxHashMap, FxHashSet};

/// How far an access has been opened.
#[derive(Clone, Debug)]
pub(super) struct Fiber {
    /// Levels that are open.
    pub depth: usize,
    /// Position in the last open level; 0 at the root.
    pub position: Expr,
    /// Position in the level above that.
    pub above: Expr,
    /// If the level's coordinates repeat: where the entry's positions end.
    pub run: Option<EntryRun<Term>>,
    /// A condition under which the access has this fiber; `None` if it always has. Where it fails, `position` is not
    /// used.
    pub present: Option<Expr>,
    /// Conditions of parts that are asked, which hold wherever the access has this fiber.
    pub implies: Vec<Expr>,
    /// The value, if it is loaded already.
    pub value: Option<Expr>,
}

impl Fiber {
    /// `e` where the access has this fiber, 0 elsewhere.
    pub fn if_present(&self, e: Expr) -> Expr {
        match &self.present {
            Some(present) => Expr::Op(Op::Select, vec![present.clone(), e, int(0)]),
            None => e,
        }
    }
}

/// What the loops around a place have bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    coordinates: FxHashMap<Index, Expr>,
    /// Variables in the order in which they were bound.
    pub order: Vec<Index>,
    fibers: FxHashMap<AccessId, Fiber>,
    /// The phase that the innermost loop is in, of levels that open next, by depth.
    phases: FxHashMap<(AccessId, usize), Phase>,
    intervals: FxHashMap<(AccessId, usize), Interval<Expr>>,
    blocks: FxHashMap<(AccessId, usize), Block>,
    /// The accesses whose next levels the innermost loop sees in blocks.
    pub in_blocks: Vec<AccessId>,
    /// Cursors of loops in lists, by access and level.
    pub fingers: FxHashMap<(AccessId, usize), Finger>,
    /// Lists that are scattered into tables, by access and level.
    laid: FxHashMap<(AccessId, usize), Laid>,
    /// Conditions that hold of each entry that an access has in its table; entries that violate one are not in it.
    holding: FxHashMap<AccessId, Vec<concrete::Expr>>,
    /// The list that gallops to another's coordinates, because it is much longer.
    leaps: Option<AccessId>,
    /// Cuts of which some loop over pieces has begun.
    pub cuts: FxHashMap<usize, Opened>,
    /// The piece of each cut whose loops have begun.
    pub pieces: FxHashMap<usize, super::cut::Piece>,
    /// The ranges of the loops that have begun, before they were split.
    pub ranges: FxHashMap<Index, (Expr, Expr)>,
    /// How many lines of loops the statement may have for what is inside of this place.
    pub budget: Budget,
    /// Variables that may leave their extents, and under which there are lists alone: those have no entry there.
    loose: FxHashSet<Index>,
    /// Parts of concatenations behind which the range may begin in which they hold.
    stray: FxHashSet<Index>,
    /// Parts of concatenations of which each coordinate is asked whether they hold there.
    asked: Vec<Asked>,
}

/// A part of a concatenation that a loop does not end with (`choice.rs`).
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The loop's variable.
    pub by: Index,
    /// The part's variable.
    pub part: Index,
    /// Where it holds.
    pub range: Range,
    /// The ends of the range inside of the loop's.
    pub ends: [Option<Expr>; 2],
    /// The accesses below it that are present where it holds.
    pub under: Vec<AccessId>,
    /// The lists below it that are walked in its range.
    pub walked: Vec<AccessId>,
    /// The accesses below it that are already noted of a part within it.
    pub inner: Vec<AccessId>,
    /// Whether it holds at the loop's coordinate, once that is bound; `None` if it always does.
    pub inside: Option<Expr>,
}

/// The block of a list's fiber that a loop around, which sees the list in blocks, is at.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its first position.
    pub begin: Expr,
    /// One past its last position.
    pub end: Expr,
    /// The first coordinate that may be in it.
    pub from: Map<Index>,
    /// Number of coordinates that may be in it.
    pub length: Size,
}

/// A cursor in a list of which loops see one piece after the other.
#[derive(Clone, Debug)]
pub(super) struct Finger {
    /// The cursor's position.
    pub at: State,
    /// Variables of the loops that move it, from the outermost inside of whose turns it stays valid.
    pub through: Vec<Index>,
}

impl Scope {
    /// That around the loops of a nest.
    pub fn of(cx: &Facts, nest: &concrete::Nest) -> Scope {
        Scope { budget: Budget::of(cx, nest), ..Scope::default() }
    }

    /// An index variable's value, if it is bound.
    pub fn coordinate(&self, v: Index) -> Option<&Expr> {
        self.coordinates.get(&v)
    }

    /// Notes the value of an index variable that no loop binds.
    fn compute(&mut self, v: Index, x: Expr) {
        self.coordinates.insert(v, x);
    }

    /// Binds an index variable.
    pub fn bind(&mut self, v: Index, x: Expr) {
        self.coordinates.insert(v, x);
        self.order.push(v);
    }

    /// The table that holds the list that an access opens next, if it is scattered into one.
    pub fn laid(&self, a: AccessId) -> Option<Laid> {
        self.laid.get(&(a, self.fiber(a).depth)).copied()
    }

    /// Notes that `table` holds the list that an access opens next.
    pub fn lay(&mut self, a: AccessId, table: Laid) {
        self.laid.insert((a, self.fiber(a).depth), table);
    }

    /// Notes that an access's table flags only entries for which these conditions hold.
    pub fn lay_holding(&mut self, a: AccessId, conditions: Vec<concrete::Expr>) {
        self.holding.insert(a, conditions);
    }

    /// Conditions that hold because these accesses' entries were found in their tables.
    pub fn holding<'s>(&'s self, found: &'s [AccessId]) -> impl Iterator<Item = &'s concrete::Expr> {
        let certain = found.iter().filter(|a| self.fiber(**a).present.is_none());
        certain.flat_map(|a| self.holding.get(a).into_iter().flatten())
    }

    /// The scope in which `leaps` gallops to the entries of `walked`, which is walked and not looked up in its table.
    pub fn leaping(&self, leaps: AccessId, walked: AccessId) -> Scope {
        let mut scope = self.clone();
        scope.laid.remove(&(walked, self.fiber(walked).depth));
        scope.holding.remove(&walked);
        scope.leaps = Some(leaps);
        scope
    }

    /// Whether lowering, not the program, chose that a list gallops.
    pub fn leaps(&self, a: AccessId) -> bool {
        self.leaps == Some(a)
    }

    /// Where an access stands.
    pub fn fiber(&self, a: AccessId) -> Fiber {
        let root = || Fiber {
            depth: 0,
            position: int(0),
            above: int(0),
            run: None,
            present: None,
            implies: vec![],
            value: None,
        };
        self.fibers.get(&a).cloned().unwrap_or_else(root)
    }

    /// Moves an access one level down, to an entry of a list that is walked. In a part that is asked, a list is walked where that
    /// holds.
    pub fn walk(&mut self, a: AccessId, place: Place, present: Option<Expr>) {
        self.descend(a, place, present);
        let walked = self.asked.iter().filter(|asked| asked.walked.contains(&a));
        walked.filter_map(|asked| asked.inside.clone()).collect::<Vec<_>>().into_iter().for_each(|c| self.imply(a, c));
    }

    /// Notes that a condition holds wherever an access has its fiber.
    fn imply(&mut self, a: AccessId, condition: Expr) {
        let mut fiber = self.fiber(a);
        if !fiber.implies.contains(&condition) {
            fiber.implies.push(condition);
            self.fibers.insert(a, fiber);
        }
    }

    /// Moves an access one level down, to an entry there.
    pub fn descend(&mut self, a: AccessId, (position, run): Place, present: Option<Expr>) {
        let Fiber { depth, position: above, implies, .. } = self.fiber(a);
        self.fibers.insert(a, Fiber { depth: depth + 1, position, above, run, present, implies, value: None });
    }

    /// The phase of the level that an access opens next, if loops around have determined it.
    pub fn phase(&self, a: AccessId) -> Option<&Phase> {
        self.phases.get(&(a, self.fiber(a).depth))
    }

    /// Notes the phase of the level that an access opens next.
    pub fn enter(&mut self, a: AccessId, phase: Phase) {
        self.phases.insert((a, self.fiber(a).depth), phase);
    }

    /// The interval of values of the level that an access opens next, if it is loaded already.
    pub fn interval(&self, a: AccessId) -> Option<&Interval<Expr>> {
        self.intervals.get(&(a, self.fiber(a).depth))
    }

    /// Notes the interval of values of the level that an access opens next.
    pub fn found(&mut self, a: AccessId, interval: Interval<Expr>) {
        self.intervals.insert((a, self.fiber(a).depth), interval);
    }

    /// The block that bounds an access's next level, if a loop around sees that level in blocks.
    pub fn block(&self, a: AccessId) -> Option<&Block> {
        self.blocks.get(&(a, self.fiber(a).depth))
    }

    /// Bounds an access's next level by a block, which exists where `present` holds; it then needs no finger.
    pub fn narrow(&mut self, a: AccessId, block: Block, present: Option<Expr>) {
        let level = (a, self.fiber(a).depth);
        self.fingers.remove(&level);
        self.blocks.insert(level, block);
        present.into_iter().for_each(|present| self.restrict(a, present));
    }

    /// Notes that a condition around this place implies that the access has its fiber.
    pub fn certain(&mut self, a: AccessId) {
        let fiber = Fiber { present: None, ..self.fiber(a) };
        self.fibers.insert(a, fiber);
    }

    /// Adds a condition under which alone the access has its fiber, unless that implies it.
    fn require(&mut self, a: AccessId, condition: Expr) {
        if !self.fiber(a).implies.contains(&condition) {
            self.imply(a, condition.clone());
            self.restrict(a, condition);
        }
    }

    /// Adds a condition under which alone the access has its fiber.
    fn restrict(&mut self, a: AccessId, condition: Expr) {
        let fiber = self.fiber(a);
        let all = fiber.present.into_iter().fold(condition, |all, present| binary(Op::AndAlso, all, present));
        self.fibers.insert(a, Fiber { present: Some(all), ..fiber });
    }

    /// Notes that a variable may leave its extent: what is under it are lists.
    pub fn loosen(&mut self, w: Index) {
        self.loose.insert(w);
    }

    /// Whether a variable may leave its extent.
    pub fn is_loose(&self, w: Index) -> bool {
        self.loose.contains(&w)
    }

    /// Notes that a loop's range in which a part holds may begin behind the part; it is empty then.
    pub fn stray(&mut self, w: Index) {
        self.stray.insert(w);
    }

    /// The variables of parts behind which a range may begin.
    pub fn strays(&self) -> impl Iterator<Item = Index> {
        self.stray.iter().copied()
    }

    /// Notes a part that is asked. What is walked in its range is no piece behind another.
    pub fn ask(&mut self, asked: Asked) {
        asked.walked.iter().for_each(|a| drop(self.fingers.remove(&(*a, self.fiber(*a).depth))));
        self.asked.push(asked);
    }

    /// The part under a variable, if it is asked.
    pub fn asked(&self, w: Index) -> Option<&Asked> {
        self.asked.iter().find(|asked| asked.part == w)
    }

    /// The parts that are asked.
    pub fn all_asked(&self) -> &[Asked] {
        &self.asked
    }

    /// Notes whether the nth part that is asked holds at the coordinate that its loop is at.
    pub fn answer(&mut self, n: usize, inside: Expr) {
        self.asked[n].inside = Some(inside.clone());
        self.asked[n].under.clone().into_iter().for_each(|a| self.require(a, inside.clone()));
        self.asked[n].inner.clone().into_iter().for_each(|a| self.imply(a, inside.clone()));
    }

    /// Whether an access is present only in a part of the loop that comes, which asks at each coordinate.
    pub fn is_pending(&self, a: AccessId) -> bool {
        let pending = |asked: &&Asked| asked.ends.iter().any(Option::is_some) && self.coordinate(asked.by).is_none();
        self.asked.iter().filter(pending).any(|asked| asked.under.contains(&a))
    }

    /// The part in whose range a loop over `v` walks a list, if there is one.
    pub fn walked_in(&self, a: AccessId, v: Index) -> Option<&Asked> {
        self.asked.iter().find(|asked| asked.by == v && asked.walked.contains(&a))
    }

    pub fn keep(&mut self, a: AccessId, value: Expr) {
        let fiber = Fiber { value: Some(value), ..self.fiber(a) };
        self.fibers.insert(a, fiber);
    }
}

/// The flag at a position of a level that has flags: false where nothing is stored.
fn flag(level: &LevelBuffers, position: &Expr) -> Option<Expr> {
    if let Some(flags) = level.array(Holds::Flags) {
        return Some(Expr::Load(flags, Box::new(position.clone())));
    }
    let words = level.array(Holds::Words)?;
    let word = binary(Op::FloorDiv, position.clone(), int(64));
    let bit = binary(Op::FloorRem, position.clone(), int(64));
    let bit = Expr::Op(Op::Convert(Type::U64), vec![bit]);
    let shifted = binary(Op::Shr, Expr::Load(words, Box::new(word)), bit);
    let one = Expr::Const(Value::from_bits(Type::U64, 1));
    Some(binary(Op::Eq, binary(Op::And, shifted, one.clone()), one))
}

/// An entry's first position, and where its run of positions ends if it has several.
pub(super) type Place = (Expr, Option<EntryRun<Term>>);

/// An entry's positions as expressions that may be placed here.
pub(super) fn placed(d: &mut Symbolic, entry: &Entry<Term>) -> Place {
    let run = entry.run.as_ref().map(|run| match run {
        EntryRun::Ends(end) => EntryRun::Ends(Term::fixed(d.place(end))),
        open => open.clone(),
    });
    (d.place(&entry.position), run)
}

/// The variable of an access's next level, if it has one.
pub(super) fn next_var(cx: &Context, scope: &Scope, a: AccessId) -> Option<(usize, Index)> {
    let access = &cx.program.accesses[a.0];
    let level = scope.fiber(a).depth;
    (level < access.vars.len()).then(|| (level, cx.program.level_var(access, level)))
}

/// The protocol of an access's next level, if it has one.
pub(super) fn protocol(cx: &Context, scope: &Scope, a: AccessId) -> Option<Iterated> {
    cx.program.protocol(a, scope.fiber(a).depth)
}

/// The accesses of a body whose next level is a list over `v`.
pub(super) fn lists(cx: &Context, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    opened_by(cx, scope, body, v, LevelKind::is_list)
}

/// The accesses of a body whose next level is over `v`, and of such a kind.
pub(super) fn opened_by(
    cx: &Context,
    scope: &Scope,
    body: &concrete::Expr,
    v: Index,
    such: impl Fn(LevelKind) -> bool,
) -> Vec<AccessId> {
    let mut all = body.accesses();
    all.retain(|a| match next_var(cx, scope, *a) {
        Some((l, w)) => range::binds(cx, scope, v, w) && such(cx.program.tensor(*a).format.levels[l]),
        None => false,
    });
    all
}

/// The lists over `v` that are walked. The others are searched: hashed ones that are intersected with other lists,
/// those in tables, and those with the protocol `locate`.
pub(super) fn walked(cx: &Context, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<AccessId> {
    let mut lists = lists(cx, scope, body, v);
    let asked = |a: AccessId| protocol(cx, scope, a) == Some(Iterated::As(Protocol::Locate));
    lists.retain(|a| !asked(*a) && scope.laid(*a).is_none());
    let hashed = |a: AccessId| {
        let kind = cx.program.tensor(a).format.levels[scope.fiber(a).depth];
        kind.has_table() && protocol(cx, scope, a).is_none()
    };
    if !lists.iter().any(|a| hashed(*a)) {
        return lists;
    }
    let fill = |a: AccessId| cx.fill(a);
    let (sequence, _) = background(body, &lists, &fill, cx.simplify);
    for part in sequence.intersections() {
        if part.iter().any(|a| !hashed(*a)) {
            lists.retain(|a| !(hashed(*a) && part.contains(a)));
        }
    }
    lists
}

/// The looplets of a body's accesses along `v`: one for each level that opens when `v` is bound.
pub(super) fn looplets(cx: &Context, scope: &Scope, body: &concrete::Expr, v: Index) -> Vec<plan::Fiber> {
    let mut all = Vec::new();
    for a in body.accesses() {
        let access = &cx.program.accesses[a.0];
        let mut along = false;
        for l in scope.fiber(a).depth..access.vars.len() {
            let w = cx.program.level_var(access, l);
            let here = range::binds(cx, scope, v, w);
            if !here && range::coordinate(cx, scope, w).is_none() {
                break;
            }
            let looplet = cx.program.tensor(a).format.levels[l].looplet();
            let looplet = if along || !here { looplet.bound() } else { looplet };
            all.push(plan::Fiber { level: (a, l), looplet });
            along = true;
        }
    }
    all
}

pub(super) fn levels<'c>(cx: &'c Context, a: AccessId) -> &'c [LevelBuffers] {
    &lower::arrays_of(cx, cx.program.accesses[a.0].tensor).levels
}

/// The whole fiber that an access opens next, of a list or of the ends of runs and blocks; an absent fiber is
/// empty.
pub(super) fn unopened(cx: &Context, d: &mut Symbolic, scope: &Scope, a: AccessId) -> ListFiber<Term> {
    let fiber = scope.fiber(a);
    let parent = Term::fixed(fiber.position.clone());
    let level = &levels(cx, a)[fiber.depth];
    let crd = level.array(Holds::Coordinates).expect("only lists have entries");
    let (begin, end) = match level.array(Holds::Positions) {
        Some(pos) => bounds(d, pos, &parent),
        None => {
            let end = fiber.run.map(|run| run.end(d));
            (parent, end.unwrap_or_else(|| Term::fixed(plus(fiber.position, int(1)))))
        }
    };
    let within = scope.block(a).map(|block| (Term::fixed(block.begin.clone()), Term::fixed(block.end.clone())));
    let (begin, end) = within.unwrap_or((begin, end));
    let repeats = cx.program.tensor(a).format.repeats(fiber.depth);
    let directory = directory(cx, scope, a);
    let all = |begin: Term, end: Term| ListFiber { repeats, directory, ..ListFiber::unique(crd, begin, end) };
    let Some(present) = fiber.present else { return all(begin, end) };
    let present = Term::fixed(present);
    let zero = d.int(0);
    let begin = d.select(&present, &|_| begin.clone(), zero.clone());
    let end = d.select(&present, &|_| end.clone(), zero);
    all(begin, end)
}

/// The directory of an access's first list, where its loop is: it knows the extent where the loop's range may begin behind
/// it. There is none where the loop itself goes on behind it.
fn directory_here(cx: &Context, scope: &Scope, a: AccessId, directory: &Directory<Term>) -> Option<Directory<Term>> {
    let Some((level, w)) = next_var(cx, scope, a) else { return Some(directory.clone()) };
    if scope.is_loose(w) || choice::is_of_asked(cx, scope, w) {
        return None;
    }
    let tensor = cx.program.tensor(a);
    let extent = || Term::fixed(cx.extents.at(tensor.extents[tensor.format.order[level]]));
    Some(Directory { extent: choice::is_of_stray(cx, scope, w).then(extent), ..directory.clone() })
}

/// The fiber below an entry whose run of positions has no known end, if walking it one by one may find the end.
pub(super) fn of_run(cx: &Context, scope: &Scope, a: AccessId) -> Option<ListFiber<Term>> {
    let Fiber { depth, position, run, present, .. } = scope.fiber(a);
    let level = &levels(cx, a)[depth];
    let crd = level.array(Holds::Coordinates).filter(|_| level.kind().continues_chain())?;
    let once = present.is_none() && scope.block(a).is_none() && !cx.program.tensor(a).format.repeats(depth);
    match run {
        Some(EntryRun::Open(run)) if once => Some(ListFiber::of_run(crd, run, Term::fixed(position))),
        _ => None,
    }
}

/// Opens every further level whose variable is bound: located ones by arithmetic, lists by search. Returns the
/// accesses that may be absent; flags are loaded only if `flagged`.
///
/// Nothing is read at a coordinate out of its array: an access is absent where a coordinate is missing, or out of a part that is
/// asked.
pub(super) fn locate(
    cx: &Context,
    d: &mut Symbolic,
    scope: &mut Scope,
    body: &concrete::Expr,
    flagged: bool,
) -> Vec<AccessId> {
    let mut searched = Vec::new();
    for a in body.accesses() {
        while let Some((level, v)) = next_var(cx, scope, a)
            && let Some(at) = come_to(cx, d, scope, v)
        {
            let inside = in_array(cx, scope, (a, level), v, &at);
            inside.iter().for_each(|inside| scope.require(a, inside.clone()));
            let fiber = scope.fiber(a);
            let tensor = cx.program.tensor(a);
            let seek = seek(cx, scope, a, flagged);
            if tensor.format.levels[level].is_located() {
                let extent = cx.extents.at(tensor.extents[tensor.format.order[level]]);
                let position = plus(times(fiber.position, extent), at);
                let flag = flag(&levels(cx, a)[level], &position).filter(|_| seek == Sought::Flag);
                let present = match (fiber.present, flag) {
                    (present, None) => present,
                    (present, Some(flag)) => {
                        searched.push(a);
                        let flag = present.into_iter().fold(flag, |f, p| binary(Op::AndAlso, p, f));
                        Some(d.define("set", Type::Bool, flag))
                    }
                };
                scope.descend(a, (position, None), present);
            } else if !tensor.format.levels[level].is_list() {
                if structure::open_computed(cx, d, scope, a, at) {
                    searched.push(a);
                }
                // An interval that begins with 0 has no test of its begin, so what is before it must be excluded here.
                inside.into_iter().filter(|_| fiber.present.is_some()).for_each(|inside| scope.restrict(a, inside));
            } else {
                let at = held(d, &cx.program.vars[v.0].name, at);
                let inside = inside.into_iter().filter(|_| fiber.present.is_some());
                let inside = inside.reduce(|a, b| binary(Op::AndAlso, a, b));
                search(cx, d, scope, (a, seek), (at, inside));
                searched.push(a);
            }
        }
    }
    searched
}

/// How an access's next level is opened at a coordinate: the first way in which it can be.
fn seek(cx: &Context, scope: &Scope, a: AccessId, flagged: bool) -> Sought {
    let level = (a, scope.fiber(a).depth);
    let kind = cx.program.tensor(a).format.levels[level.1];
    let list = kind.is_list();
    let can = |by: &Sought| match by {
        Sought::Flag => flagged && kind.is_flagged(),
        Sought::Locate => kind.is_located(),
        Sought::Piece => !kind.is_located() && !list,
        Sought::Table => list && scope.laid(a).is_some(),
        Sought::Hash => list && kind.has_table() && scope.laid(a).is_none(),
        Sought::Directory => list && directory(cx, scope, a).is_some() && scope.laid(a).is_none(),
        Sought::Search => list && scope.laid(a).is_none(),
    };
    let first = || Sought::ALL.into_iter().find(can).expect("a level is located, listed or in pieces");
    cx.book.decide_if(|seek: &Seek| seek.level == level && can(&seek.by), || Seek { level, by: first() }).by
}

/// The directory of the list that an access opens next, if it has one here.
fn directory(cx: &Context, scope: &Scope, a: AccessId) -> Option<Directory<Term>> {
    let first = scope.fiber(a).depth == 0 && scope.block(a).is_none();
    cx.prepared.directories.get(&a).filter(|_| first).and_then(|directory| directory_here(cx, scope, a, directory))
}

/// The conditions that the coordinate of an access's level is one of its array; none of a list that has no entry elsewhere.
fn in_array(cx: &Context, scope: &Scope, (a, level): (AccessId, usize), v: Index, at: &Expr) -> Vec<Expr> {
    let missing = cx.program.may_miss(v).then(|| binary(Op::Ge, at.clone(), int(0)));
    let list = cx.program.tensor(a).format.levels[level].is_list() && scope.laid(a).is_none();
    let asked = if list && scope.is_loose(v) { vec![] } else { choice::asked_around(cx, scope, v) };
    missing.into_iter().chain(asked).collect()
}

/// An index variable's value, if loops have bound it or every variable that it is computed from.
pub(super) fn come_to(cx: &Context, d: &mut Symbolic, scope: &mut Scope, v: Index) -> Option<Expr> {
    if let Some(at) = range::coordinate(cx, scope, v) {
        return Some(at);
    }
    let computed = cx.program.computed(v)?;
    let ready = cx.program.roots(v).into_iter().all(|u| scope.coordinate(u).is_some());
    ready.then(|| {
        let at = compute(cx, d, scope, v, computed);
        scope.compute(v, at.clone());
        at
    })
}

/// Computes a coordinate that no loop follows. Tensors that it reads are located. A coordinate that leaves its
/// extent is −1 where the index permits it, and ends the kernel elsewhere; one that is computed from a missing
/// coordinate is −1.
fn compute(cx: &Context, d: &mut Symbolic, scope: &mut Scope, v: Index, computed: &Computed) -> Expr {
    let Computed { of, permit, caught } = computed;
    locate(cx, d, scope, of, false);
    let concrete::Var { name, extent, .. } = &cx.program.vars[v.0];
    let at = value(cx, d, scope, of);
    let at = d.define(name, Type::I64, at);
    if !computed.is_read() && !permit {
        return at;
    }
    let leaves = binary(Op::Lt, at.clone(), int(0));
    let leaves = binary(Op::OrElse, leaves, binary(Op::Ge, at.clone(), cx.extents.at(*extent)));
    let unless = |d: &mut Symbolic, missing: Expr| {
        let found = Expr::Op(Op::Select, vec![missing, int(-1), at.clone()]);
        d.define(name, Type::I64, found)
    };
    let under = cx.program.under(of).into_iter().filter(|u| !caught && cx.program.may_miss(*u));
    let missing = under.map(|u| binary(Op::Lt, range::coordinate(cx, scope, u).expect("computed before"), int(0)));
    let missing = missing.chain(choice::is_outside(cx, scope, &cx.program.under(of)));
    let missing = missing.reduce(|a, b| binary(Op::OrElse, a, b));
    if *permit {
        return unless(d, leaves);
    }
    let outside =
        missing.iter().fold(leaves, |out, missing| binary(Op::AndAlso, Expr::Op(Op::Not, vec![missing.clone()]), out));
    d.when(outside, |d| d.call(loops::Entry::Fail(Failure::Outside)), |_| {});
    missing.map_or(at.clone(), |missing| unless(d, missing))
}

/// Opens a list at a coordinate, which may be out of its array where the condition does not hold.
fn search(
    cx: &Context,
    d: &mut Symbolic,
    scope: &mut Scope,
    (a, by): (AccessId, Sought),
    (at, inside): (Expr, Option<Expr>),
) {
    let name = format!("p_{}", cx.program.tensor(a).name);
    if let Some(table) = scope.laid(a) {
        return spread::ask(cx, d, scope, (a, table), (at, inside));
    }
    let target = Term::fixed(at);
    let fiber = scope.fiber(a);
    let mut unopened = unopened(cx, d, scope, a);
    let level = &levels(cx, a)[fiber.depth];
    if by == Sought::Hash {
        let [crd, table] = ["crd", "table"].map(|name| *level.named(name));
        let parent = Term::fixed(fiber.position);
        let size = Term::fixed(Expr::Capacity(table));
        let (found, position) = Table { crd, table, size }.find(d, &name, &parent, &unopened, &target);
        let (found, position) = (d.place(&found), d.place(&position));
        return scope.descend(a, (position, None), Some(found));
    }
    unopened.end = d.snapshot("end", unopened.end);
    unopened.directory = unopened.directory.filter(|_| by == Sought::Directory);
    let list = List::open(d, &name, unopened);
    list.seek(d, &target);
    let found = list.found(d, &target);
    let found = d.snapshot_bool("found", found);
    let entry = list.entry(d);
    let (found, entry) = (d.place(&found), placed(d, &entry));
    scope.descend(a, entry, Some(found));
}

/// The condition under which a body that has searched `lists` has an effect; `None` if it always has. Marks in
/// `scope` the lists that are certainly present where it holds.
pub(super) fn guard(
    cx: &Context,
    scope: &mut Scope,
    body: &concrete::Expr,
    lists: &[AccessId],
    nothing: &impl Fn(&concrete::Expr) -> bool,
) -> Option<Expr> {
    let fill = |a: AccessId| cx.fill(a);
    let (sequence, rest) = background(body, lists, &fill, cx.simplify);
    if !nothing(&rest) {
        return None;
    }
    let condition = holds(&sequence, &|a| scope.fiber(a).present.expect("searched for"));
    for &a in lists.iter().filter(|a| sequence.exhaust(**a) == Sequence::Empty) {
        scope.certain(a);
    }
    Some(condition)
}

/// A sequence as a condition: `present` says whether a list has an entry.
pub(super) fn holds(s: &Sequence, present: &impl Fn(AccessId) -> Expr) -> Expr {
    let constant = |c: bool| Expr::Const(crate::algebra::Value::bool(c));
    let mut and = |a, b| binary(Op::AndAlso, a, b);
    let mut or = |a, b| binary(Op::OrElse, a, b);
    s.fold(&mut |a| present(a), &constant, &mut and, &mut or)
}

/// Loads the values of accesses whose levels are all open, once, outside of the loops inside.
pub(super) fn keep_values(cx: &Context, d: &mut Symbolic, scope: &mut Scope, body: &concrete::Expr) {
    for a in body.accesses() {
        let fiber = scope.fiber(a);
        if next_var(cx, scope, a).is_none() && fiber.value.is_none() && fiber.depth > 0 {
            let tensor = cx.program.tensor(a);
            let value = load(cx, &fiber, a);
            let value = d.define(&tensor.name.to_lowercase(), tensor.ty, value);
            scope.keep(a, value);
        }
    }
}

/// The value of an access whose levels are all open.
pub(super) fn load(cx: &Context, fiber: &Fiber, a: AccessId) -> Expr {
    if let Some(value) = &fiber.value {
        return value.clone();
    }
    load_from(cx, fiber, cx.program.accesses[a.0].tensor)
}

/// The value that a tensor of an access's structure has where it stands, its levels all open: its fill where nothing does.
fn load_from(cx: &Context, fiber: &Fiber, tensor: concrete::Place) -> Expr {
    let load = Expr::Load(lower::arrays_of(cx, tensor).values, Box::new(fiber.position.clone()));
    let fill = cx.program.tensors[tensor.0].fill;
    match &fiber.present {
        None => load,
        Some(present) => Expr::Op(Op::Select, vec![present.clone(), load, Expr::Const(fill)]),
    }
}

/// The value of a body whose loops around are all bound; sums inside it emit loops of their own.
pub(super) fn value(cx: &Context, d: &mut Symbolic, scope: &Scope, body: &concrete::Expr) -> Expr {
    match body {
        concrete::Expr::Literal(v) => Expr::Const(*v),
        concrete::Expr::Index(v) => {
            let known = range::coordinate(cx, scope, *v);
            known.or_else(|| come_to(cx, d, &mut scope.clone(), *v)).expect("bound: checked concrete notation")
        }
        concrete::Expr::Access(a, _) => load(cx, &scope.fiber(*a), *a),
        concrete::Expr::Column(column) => load_from(cx, &scope.fiber(column.of), column.tensor),
        concrete::Expr::Call(fun, args, _) => {
            let args = args.iter().map(|e| value(cx, d, scope, e)).collect();
            applied(cx, d, *fun, args)
        }
        concrete::Expr::Reduce(op, vars, inner, ty) => reduction(cx, d, scope, (*op, vars, inner, *ty)),
        concrete::Expr::Fold(fold, ty) => folded(cx, d, scope, fold, *ty),
        concrete::Expr::Concat(c, ty) => choice::asked_value(cx, d, scope, c, *ty),
        concrete::Expr::Where(..) => unreachable!("it is made before the loops that read it: checked"),
    }
}

fn reduction(
    cx: &Context,
    d: &mut Symbolic,
    scope: &Scope,
    (fun, vars, inner, ty): (Fun, &[Index], &concrete::Expr, Type),
) -> Expr {
    let start = cx.simplify.begins(fun, ty).expect("reductions have an identity");
    let t = d.fresh("t", ty);
    d.assign(t, Expr::Const(start));
    let sink = Sink::Scalar { var: t, fun, begun: None };
    nest::emit(cx, d, vars, inner, scope.clone(), &sink);
    Expr::Var(t)
}

/// A fold in the order of its loops. It begins with its `start`, else with a neutral value if there is one, else
/// with its first value. Of no values it is the function's identity; the check of extents refuses an empty fold of
/// a function without one.
fn folded(cx: &Context, d: &mut Symbolic, scope: &Scope, fold: &Fold, ty: Type) -> Expr {
    let none = cx.simplify.begins(fold.fun, ty);
    let start = match &fold.start {
        Some(start) => Some(value(cx, d, scope, start)),
        None => first(cx, fold, ty),
    };
    let begun = start.is_none().then(|| d.fresh("begun", Type::Bool));
    let t = d.fresh("t", ty);
    d.assign(t, start.unwrap_or(Expr::Const(none.unwrap_or(Value::zero(ty)))));
    if let Some(begun) = begun {
        d.assign(begun, Expr::Const(Value::bool(false)));
    }
    let sink = Sink::Scalar { var: t, fun: fold.fun, begun };
    nest::emit(cx, d, &fold.vars, &fold.body, scope.clone(), &sink);
    Expr::Var(t)
}

/// A value with which a fold may begin, in the place of its first value. (The sum of nothing is 0.0, but 0.0 + −0.0
/// is 0.0: a sum of something begins with −0.0.)
fn first(cx: &Context, fold: &Fold, ty: Type) -> Option<Expr> {
    let none = cx.simplify.begins(fold.fun, ty);
    if let Some(v) = none.filter(|v| cx.simplify.leads(fold.fun, *v)) {
        return Some(Expr::Const(v));
    }
    let leads = cx.simplify.leader(fold.fun, ty)?;
    let some = fold.vars.iter().map(|v| binary(Op::Gt, cx.extents.at(cx.program.vars[v.0].extent), int(0)));
    let some = some.reduce(|a, b| binary(Op::AndAlso, a, b))?;
    Some(Expr::Op(Op::Select, vec![some, Expr::Const(leads), Expr::Const(none?)]))
}

/// The function applied to the arguments; declared functions are written out.
pub(super) fn applied(cx: &Context, d: &mut Symbolic, fun: Fun, args: Vec<Expr>) -> Expr {
    match fun {
        Fun::Op(op) => builtin(d, op, args, cx.simplify.mode),
        Fun::User(f) => call::call(cx, d, f, args),
    }
}
