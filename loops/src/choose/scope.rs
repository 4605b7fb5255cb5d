//! The variables that loops around a place have bound, and the state of each access.

use crate::choose::{
    Facts,
    budget::{self, Budget},
    cut::{Edges, Opened},
    range::Range,
    symbol::{Name, Sym},
};
use crate::stream::Interval;
use fiberloom_core::map::{Map, Size};
use fiberloom_core::notation::concrete::{self, AccessId, Index};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The run of positions of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Its name.
    pub name: Name,
    /// The end of the list that it is in, if its own end is not known before it is walked.
    pub open: Option<Sym>,
}

/// An entry's first position, and the run of its positions if it has several.
pub type Positions = (Sym, Option<Run>);

/// The part of an access's level in which a range lies.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Within its interval: a coordinate's position is the coordinate plus this.
    Inside(Sym),
    /// Behind the diagonal of a symmetric level.
    Mirrored,
    /// In a packed piece, which is a run or has a position for each coordinate: a position is `base + step · coordinate`, with `step` 0
    /// or 1.
    Packed { base: Sym, step: Sym },
    /// Unknown: each coordinate is tested.
    Guarded,
}

/// The levels that an access has opened.
#[derive(Clone, Debug)]
pub struct Fiber {
    /// The number of open levels.
    pub depth: usize,
    /// The position in the last open level; 0 at the root.
    pub position: Sym,
    /// The position in the level above that.
    pub above: Sym,
    /// The positions of the entry, if the level's coordinates repeat.
    pub run: Option<Run>,
    /// The conditions under all of which the access has this fiber, the newest first. Where one fails, `position` is not used.
    pub present: Vec<Sym>,
    /// Guards of parts that hold wherever the access has this fiber.
    pub implies: Vec<Sym>,
    /// The value, if it is loaded already.
    pub value: Option<Sym>,
}

impl Fiber {
    /// Whether the access may lack this fiber.
    pub fn may_miss(&self) -> bool {
        !self.present.is_empty()
    }
}

/// The variables that loops around a place have bound, and the state of each access.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    coordinates: FxHashMap<Index, Sym>,
    /// The variables in the order in which they were bound.
    pub order: Vec<Index>,
    fibers: FxHashMap<AccessId, Fiber>,
    /// The phases of levels that open next, in the innermost loop's current range, by access and depth.
    phases: FxHashMap<(AccessId, usize), Phase>,
    intervals: FxHashMap<(AccessId, usize), Interval<Sym>>,
    blocks: FxHashMap<(AccessId, usize), Block>,
    /// The accesses whose next levels the innermost loop sees in blocks.
    pub in_blocks: Vec<AccessId>,
    /// The cursors of loops in lists, by access and level.
    pub fingers: FxHashMap<(AccessId, usize), Finger>,
    /// The lists that are in position maps, by access and level.
    laid: FxHashSet<(AccessId, usize)>,
    /// Conditions that hold for each entry in an access's position map; entries that violate one are left out of it.
    holding: FxHashMap<AccessId, Vec<concrete::Expr>>,
    /// The list that gallops to another's coordinates, because it is much longer.
    leaps: Option<AccessId>,
    /// The cuts of which a loop over pieces has begun.
    pub cuts: FxHashMap<usize, Rc<Opened>>,
    /// The edges of the current piece of each cut whose loops have begun.
    pub pieces: FxHashMap<usize, Rc<Edges>>,
    /// The ranges of the loops that have begun, before they were split.
    pub ranges: FxHashMap<Index, (Sym, Sym)>,
    /// The number of lines that the statement may have for the loops inside of this place.
    pub budget: Budget,
    /// Variables that may leave their extents. Only lists are below them, which have no entry there.
    loose: FxHashSet<Index>,
    /// Parts of concatenations with a range that may begin behind the part.
    stray: FxHashSet<Index>,
    /// Parts of concatenations that are guarded at each coordinate.
    guarded: Vec<GuardedPart>,
    /// Whether the loops here are planned elsewhere too, or stand between the ends of pieces: their ranges are not shown.
    pub is_aside: bool,
}

/// A part of a concatenation that is guarded, instead of ending the loop's ranges (`choice.rs`).
#[derive(Clone, Debug)]
pub struct GuardedPart {
    /// The loop's variable.
    pub by: Index,
    /// The part's variable.
    pub part: Index,
    /// The range in which the part holds.
    pub range: Range,
    /// The ends of the range that lie inside of the loop's range.
    pub ends: [Option<Sym>; 2],
    /// The accesses below the part that are present only where it holds.
    pub under: Vec<AccessId>,
    /// The lists below the part that are walked in its range.
    pub walked: Vec<AccessId>,
    /// The accesses below it that a part inside of it has recorded already.
    pub inner: Vec<AccessId>,
    /// The guard at the loop's coordinate, once that is bound; `None` if the part always holds.
    pub inside: Option<Sym>,
}

/// The current block of a list's fiber, for a loop around that sees the list in blocks.
#[derive(Clone, Debug)]
pub struct Block {
    /// The block's first position.
    pub begin: Sym,
    /// One past the block's last position.
    pub end: Sym,
    /// The first coordinate that may be in the block.
    pub from: Map<Index>,
    /// The number of coordinates that may be in the block.
    pub length: Size,
}

/// A cursor in a list whose consecutive pieces loops see.
#[derive(Clone, Debug)]
pub struct Finger {
    /// The cursor.
    pub at: Name,
    /// The variables of the loops that move it; it stays valid within an iteration of the outermost.
    pub through: Vec<Index>,
}

impl Scope {
    /// The scope outside of the loops of a nest.
    pub fn of(cx: &Facts, nest: &concrete::Nest) -> Scope {
        Scope { budget: Budget::of(cx, nest), ..Scope::default() }
    }

    /// The scope in which the loops are planned once more, or between the ends of pieces.
    pub fn aside(&self) -> Scope {
        Scope { is_aside: true, ..self.clone() }
    }

    /// An index variable's value, if it is bound.
    pub fn coordinate(&self, v: Index) -> Option<Sym> {
        self.coordinates.get(&v).copied()
    }

    /// Records the value of an index variable that no loop binds.
    pub fn compute(&mut self, v: Index, x: Sym) {
        self.coordinates.insert(v, x);
    }

    /// Binds an index variable.
    pub fn bind(&mut self, v: Index, x: Sym) {
        self.coordinates.insert(v, x);
        self.order.push(v);
    }

    /// Whether the list that an access opens next is in its position map.
    pub fn is_laid(&self, a: AccessId) -> bool {
        self.laid.contains(&(a, self.fiber(a).depth))
    }

    /// Records that the list that an access opens next is in its position map.
    pub fn lay(&mut self, a: AccessId) {
        self.laid.insert((a, self.fiber(a).depth));
    }

    /// Records that an access's position map flags only entries for which these conditions hold.
    pub fn lay_holding(&mut self, a: AccessId, conditions: Vec<concrete::Expr>) {
        self.holding.insert(a, conditions);
    }

    /// The conditions that hold because these accesses' entries were found in their position maps.
    pub fn holding<'s>(&'s self, found: &'s [AccessId]) -> impl Iterator<Item = &'s concrete::Expr> {
        let certain = found.iter().filter(|a| !self.fiber(**a).may_miss());
        certain.flat_map(|a| self.holding.get(a).into_iter().flatten())
    }

    /// The scope in which `leaps` gallops to the entries of `walked`, which is walked and not looked up in its position map.
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

    /// The state of an access.
    pub fn fiber(&self, a: AccessId) -> Fiber {
        let root = || Fiber {
            depth: 0,
            position: Sym::ZERO,
            above: Sym::ZERO,
            run: None,
            present: vec![],
            implies: vec![],
            value: None,
        };
        self.fibers.get(&a).cloned().unwrap_or_else(root)
    }

    /// Moves an access one level down, to an entry of a list that is walked. In a guarded part, a list is walked only where the guard
    /// holds.
    pub fn walk(&mut self, a: AccessId, place: Positions, present: Option<Sym>) {
        self.descend(a, place, present.into_iter().collect());
        let walked = self.guarded.iter().filter(|asked| asked.walked.contains(&a));
        walked.filter_map(|asked| asked.inside).collect::<Vec<_>>().into_iter().for_each(|c| self.imply(a, c));
    }

    /// Records that a condition holds wherever an access has its fiber.
    pub fn imply(&mut self, a: AccessId, condition: Sym) {
        let mut fiber = self.fiber(a);
        if !fiber.implies.contains(&condition) {
            fiber.implies.push(condition);
            self.fibers.insert(a, fiber);
        }
    }

    /// Moves an access one level down, to an entry there.
    pub fn descend(&mut self, a: AccessId, (position, run): Positions, present: Vec<Sym>) {
        let Fiber { depth, position: above, implies, .. } = self.fiber(a);
        self.fibers.insert(a, Fiber { depth: depth + 1, position, above, run, present, implies, value: None });
    }

    /// The phase of the level that an access opens next, if loops around have determined it.
    pub fn phase(&self, a: AccessId) -> Option<&Phase> {
        self.phases.get(&(a, self.fiber(a).depth))
    }

    /// Records the phase of the level that an access opens next.
    pub fn enter(&mut self, a: AccessId, phase: Phase) {
        self.phases.insert((a, self.fiber(a).depth), phase);
    }

    /// The interval of the level that an access opens next, if it is loaded already.
    pub fn interval(&self, a: AccessId) -> Option<&Interval<Sym>> {
        self.intervals.get(&(a, self.fiber(a).depth))
    }

    /// Records the interval of the level that an access opens next.
    pub fn found(&mut self, a: AccessId, interval: Interval<Sym>) {
        self.intervals.insert((a, self.fiber(a).depth), interval);
    }

    /// The block that bounds an access's next level, if a loop around sees that level in blocks.
    pub fn block(&self, a: AccessId) -> Option<&Block> {
        self.blocks.get(&(a, self.fiber(a).depth))
    }

    /// Bounds an access's next level by a block, which exists where `present` holds; it then needs no finger.
    pub fn narrow(&mut self, a: AccessId, block: Block, present: Option<Sym>) {
        let level = (a, self.fiber(a).depth);
        self.fingers.remove(&level);
        self.blocks.insert(level, block);
        present.into_iter().for_each(|present| self.restrict(a, present));
    }

    /// Records that a condition around this place implies that the access has its fiber.
    pub fn certain(&mut self, a: AccessId) {
        let fiber = Fiber { present: vec![], ..self.fiber(a) };
        self.fibers.insert(a, fiber);
    }

    /// Adds a condition that the access needs for its fiber, unless the fiber implies it.
    pub fn require(&mut self, a: AccessId, condition: Sym) {
        if !self.fiber(a).implies.contains(&condition) {
            self.imply(a, condition);
            self.restrict(a, condition);
        }
    }

    /// Adds a condition that the access needs for its fiber.
    pub fn restrict(&mut self, a: AccessId, condition: Sym) {
        let mut fiber = self.fiber(a);
        fiber.present.insert(0, condition);
        self.fibers.insert(a, fiber);
    }

    /// Records that a variable may leave its extent; only lists are below it.
    pub fn loosen(&mut self, w: Index) {
        self.loose.insert(w);
    }

    /// Whether a variable may leave its extent.
    pub fn is_loose(&self, w: Index) -> bool {
        self.loose.contains(&w)
    }

    /// Records that a loop's range in which a part holds may begin behind the part; it is empty then.
    pub fn stray(&mut self, w: Index) {
        self.stray.insert(w);
    }

    /// The variables of parts behind which a range may begin.
    pub fn strays(&self) -> impl Iterator<Item = Index> {
        self.stray.iter().copied()
    }

    /// Records a guarded part. Lists that are walked in its range need no finger: they are not pieces of consecutive ranges.
    pub fn guard(&mut self, part: GuardedPart) {
        part.walked.iter().for_each(|a| drop(self.fingers.remove(&(*a, self.fiber(*a).depth))));
        self.guarded.push(part);
    }

    /// The part under a variable, if it is guarded.
    pub fn guarded(&self, w: Index) -> Option<&GuardedPart> {
        self.guarded.iter().find(|asked| asked.part == w)
    }

    /// The guarded parts.
    pub fn guarded_parts(&self) -> &[GuardedPart] {
        &self.guarded
    }

    /// Records the guard of the nth guarded part at the coordinate of its loop.
    pub fn answer(&mut self, n: usize, inside: Sym) {
        self.guarded[n].inside = Some(inside);
        self.guarded[n].under.clone().into_iter().for_each(|a| self.require(a, inside));
        self.guarded[n].inner.clone().into_iter().for_each(|a| self.imply(a, inside));
    }

    /// Whether an access is present only in a part of the next loop that is guarded at each coordinate.
    pub fn is_pending(&self, a: AccessId) -> bool {
        let pending =
            |asked: &&GuardedPart| asked.ends.iter().any(Option::is_some) && self.coordinate(asked.by).is_none();
        self.guarded.iter().filter(pending).any(|asked| asked.under.contains(&a))
    }

    /// The part in whose range a loop over `v` walks a list, if there is one.
    pub fn walked_in(&self, a: AccessId, v: Index) -> Option<&GuardedPart> {
        self.guarded.iter().find(|asked| asked.by == v && asked.walked.contains(&a))
    }

    /// Records the value of an access, which is loaded.
    pub fn keep(&mut self, a: AccessId, value: Sym) {
        let fiber = Fiber { value: Some(value), ..self.fiber(a) };
        self.fibers.insert(a, fiber);
    }

    /// An estimate of the lines of the loops of a body here.
    fn lines(&self, cx: &Facts, body: &concrete::Expr) -> u64 {
        let of = |a: AccessId| {
            let depth = self.fiber(a).depth;
            let lists = cx.program.tensor(a).format.levels[depth..].iter().filter(|kind| kind.is_list()).count();
            1 + budget::OF_LIST * lists as u64 + budget::OF_LEVEL * budget::structured(cx, a, depth)
        };
        budget::OF_LOOP + body.accesses().into_iter().map(of).sum::<u64>()
    }

    /// Whether the loops inside of a range may be planned once for each of so many parts of it.
    pub fn affords(&self, cx: &Facts, body: &concrete::Expr, parts: u64) -> bool {
        let Budget { most, ranges } = self.budget;
        ranges.saturating_mul(parts).saturating_mul(self.lines(cx, body)) <= most
    }
}
