//! A result's levels, assembled from the outermost in.
//!
//! ```text
//!   located level      position = parent · extent + coordinate; the levels below have room for every coordinate;
//!                      of a bytemap or bitmap the flag is set when something is stored below
//!   list               append: crd[c] = coordinate, c += 1, if something was stored below; when the fiber is done,
//!                      pos[parent + 1] = c; of hashed levels the table is made at the end
//!   chain              nonunique, singleton, …, singleton appends as one list, a coordinate to each of its levels
//!   shared             levels are an operand's, array by array, and each value goes to its entry's position
//! ```
//!
//! Invariants: coordinates of a list arrive in ascending order, each once (concretizing ensures it); position arrays
//! start as zeros, and where loops may pass over a parent, a last pass carries the counts forward; values under located
//! levels start as `initial`, so only others must be stored.

use super::nest::Driven;
use super::runs::Ends;
use super::shared::Kept;
use super::{
    BufferRole, Context, Expr, Holds, LevelBuffers, binary, checked_product, compared, int, plus, store_index, times,
};
use crate::algebra::{Mode, Op, Type, Value};
use crate::loops::arith::yes;
use crate::loops::choose::result;
use crate::loops::lower::{self, fiber};
use crate::loops::plan::{Arrays, Assembly, Level, Room};
use crate::loops::{BufferId, Entry, Failure, Stmt, Symbolic, Term, Var};
use crate::notation::concrete::{self, AccessId, Index, Nest, WorkspaceKind};
use crate::notation::typed::Fun;
use crate::stream::Table;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Largest factor by which room grows beyond what is needed.
const GROWTH: i64 = 32;

/// A result that is being assembled.
pub(super) struct Output {
    vars: Vec<Index>,
    /// For each of `vars`, the loops' variables that it is a function of.
    roots: Vec<Vec<Index>>,
    pub(super) extents: Vec<Expr>,
    pub(super) levels: Vec<LevelBuffers>,
    pub(super) values: BufferId,
    /// For each list, its number of entries so far; the levels of a chain share one counter.
    pub(super) counts: Vec<Option<Var>>,
    /// For each list, the first level of its chain; for each other level, itself.
    heads: Vec<usize>,
    /// For each bytemap or bitmap, a byte a position; a bitmap's bytes are packed into bits at the end.
    flags: Vec<Option<BufferId>>,
    pub(super) fill: Value,
    pub(super) mode: Mode,
    result: bool,
    /// The value of every element before anything is stored: the fill, or the identity of a fold in place.
    pub initial: Value,
    /// If the last level is runs: how far they reach so far.
    pub(super) ends: Option<Ends>,
    /// How its arrays are made.
    assembly: Assembly,
    /// Room for all entries, if something bounds their number.
    room: Option<Expr>,
    /// Arrays that are an operand's, of which nothing is stored.
    kept: Option<Kept>,
    notes: RefCell<Notes>,
}

/// What loops show of the result that they assemble.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// Whether they append every value that they reach.
    pub appends_all: bool,
    /// The access whose entries alone they visit.
    pub along: Option<AccessId>,
}

/// What the loops emitted so far show of the result, from which it follows how its arrays are made.
struct Notes {
    /// Lists of which loops may pass over a parent, so that positions must be carried forward.
    carried: BTreeSet<usize>,
    /// Whether loops may leave some value of dense levels unstored.
    gaps: bool,
    /// Whether loops may write an entry behind the last one and not keep it.
    tentative: bool,
    /// Whether some value is stored only if it differs from the fill.
    sifted: bool,
    /// The access whose entries alone are stored.
    along: Along,
    /// Lists whose entries bound the appended ones; `None` once a loop appends without a bound.
    leaders: Option<BTreeSet<Level>>,
}

/// Whether the loops of a result visit exactly the entries of one access, in all of its fibers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    /// No loop walks a list so far.
    Open,
    By(AccessId),
    Not,
}

impl Along {
    fn access(self) -> Option<AccessId> {
        if let Along::By(a) = self { Some(a) } else { None }
    }
}

/// The place in a result that loops have reached.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The level that comes next.
    pub level: usize,
    pub(super) position: Expr,
    /// Whether loops certainly visit every position of the level above.
    covered: bool,
    /// Below a last list: the coordinate that is appended with the value.
    pending: Option<Expr>,
    /// Whether a loop counts to some coordinate, so that the value may be the fill.
    counted: bool,
    /// The coordinates of the chain's levels above.
    chain: Vec<(usize, Expr)>,
    /// The flags of the bytemaps and bitmaps above, up to the last list: set when something is stored.
    marks: Vec<(BufferId, Expr)>,
    /// A variable that is set when something is stored.
    written: Option<Var>,
}

impl Slot {
    pub(super) fn mark(&self, d: &mut Symbolic) {
        for (flags, at) in &self.marks {
            d.emit(Stmt::Store(*flags, at.clone(), yes()));
        }
    }
}

impl Output {
    /// Makes the nest's result, with nothing stored; `again`, in the arrays that it had before.
    pub fn begin(
        cx: &Context,
        d: &mut Symbolic,
        nest: &Nest,
        assembly: &Assembly,
        kept: Option<Kept>,
        again: bool,
    ) -> Output {
        let place = nest.target.tensor;
        let (tensor, arrays) = (&cx.program.tensors[place.0], lower::arrays_of(cx, place));
        let rank = tensor.format.rank();
        let in_place = nest.fold.filter(|_| nest.workspace.is_none_or(|w| w.kind == WorkspaceKind::Row));
        // A scatter folds into the old version.
        let initial = match in_place.filter(|_| nest.places.is_none()) {
            Some(fun) => cx.simplify.begins(fun, tensor.ty).expect("folds in place have an identity"),
            _ => tensor.fill,
        };
        let output = Output {
            vars: (0..rank).map(|l| cx.program.level_var(&nest.target, l)).collect(),
            roots: (0..rank).map(|l| cx.program.roots(cx.program.level_var(&nest.target, l))).collect(),
            extents: (0..rank).map(|l| cx.extents.at(tensor.extents[tensor.format.order[l]])).collect(),
            levels: arrays.levels.clone(),
            values: arrays.values,
            counts: counts(d, tensor),
            heads: (0..rank).map(|l| tensor.format.chain(l).map_or(l, |chain| chain.start)).collect(),
            flags: arrays.levels.iter().map(|level| flags(d, level, &tensor.name)).collect(),
            fill: tensor.fill,
            mode: cx.simplify.mode,
            result: result::is_finished(cx, place),
            initial,
            ends: Ends::of(d, tensor),
            assembly: assembly.clone(),
            room: assembly.room.as_ref().map(|room| room_for(cx, room)),
            kept,
            notes: RefCell::new(Notes {
                carried: BTreeSet::new(),
                gaps: in_place.is_some() && nest.workspace.is_none(),
                tentative: false,
                sifted: false,
                along: Along::Open,
                leaders: Some(BTreeSet::new()),
            }),
        };
        if output.shared().is_some() {
            alloc(d, output.values, output.entries(), None);
            return output;
        }
        if again {
            output.clear(d);
            return output;
        }
        // Half of the operands' entries: growing copies everything stored by then, so more room would cost more where it fails.
        let half = stored_guess(cx, &nest.rhs).map(|stored| binary(Op::Shr, stored, int(1)));
        let guess = plus(half.unwrap_or_else(|| int(0)), int(16));
        output.allocate(d, guess);
        output
    }

    /// The arrays of a nest's result that is made again and again.
    pub fn arrays(cx: &Context, d: &mut Symbolic, nest: &Nest) {
        let output = Output::begin(cx, d, nest, &Assembly::default(), None, true);
        output.allocate(d, int(16));
    }

    /// What loops show, once they are emitted.
    pub fn shown(&self) -> Shown {
        let notes = self.notes.borrow();
        Shown { appends_all: !notes.sifted && !notes.tentative, along: notes.along.access() }
    }

    /// The access whose levels the result has.
    fn shared(&self) -> Option<AccessId> {
        if let Arrays::Levels(a) = self.assembly.arrays { Some(a) } else { None }
    }

    /// How the arrays of the result must be made, once the loops are emitted. If operands' entries bound the appended ones, room for all
    /// can be allocated at once. If loops store every value, they need not be filled.
    pub fn needs(&self, nest: &Nest) -> Assembly {
        let (notes, arrays) = (self.notes.borrow(), self.assembly.arrays);
        let some = |carried, filled, room| Assembly { arrays, filled, carried, room };
        let Some(last) = self.levels.len().checked_sub(1).filter(|_| self.keeps_entries()) else {
            return some(vec![], notes.gaps, None);
        };
        if self.shared().is_some() {
            return some(vec![], false, None);
        }
        // Nothing bounds the number of entries that a workspace drains, unless its leaders are known.
        let led = nest.workspace.is_none() || notes.leaders.as_ref().is_some_and(|all| !all.is_empty());
        let bounded = led && self.is_list(last) && self.ends.is_none();
        let leaders = notes.leaders.as_ref().filter(|_| bounded).map(|all| all.iter().copied().collect());
        let room = leaders.map(|leaders| Room { leaders, spare: notes.tentative });
        some(notes.carried.iter().copied().collect(), false, room)
    }

    /// Whether nothing is stored in an array, since it is an operand's.
    fn is_kept(&self, buffer: BufferId) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.has(buffer))
    }

    /// The number of entries of the last list.
    pub fn appended(&self) -> Expr {
        self.count(self.levels.len() - 1)
    }

    /// Notes that the loop over a list's coordinates visits all entries of one access and nothing else; `None`: that the
    /// result is not along any access.
    pub fn goes_along(&self, access: Option<AccessId>) {
        let mut notes = self.notes.borrow_mut();
        notes.along = match (notes.along, access) {
            (Along::Open, Some(a)) => Along::By(a),
            (Along::By(before), Some(a)) if before == a => Along::By(a),
            _ => Along::Not,
        };
    }

    /// Notes the depth of accesses where loops reach a list's entry. An access that has descended further, through a level
    /// whose coordinate is known, no longer has that entry's position.
    pub fn reached(&self, slot: &Slot, depth: &dyn Fn(AccessId) -> usize) {
        if self.shown().along.is_some_and(|a| self.is_list(slot.level) && depth(a) != slot.level + 1) {
            self.notes.borrow_mut().along = Along::Not;
        }
    }

    /// The number of entries of the operand whose levels it shares.
    fn entries(&self) -> Expr {
        let last = self.crd(self.levels.len() - 1);
        Expr::Capacity(last.expect("a last list has coordinates"))
    }

    /// The access whose entries' positions are those of the values below the slot's level.
    pub fn shared_with(&self, slot: &Slot) -> Option<AccessId> {
        self.shared().filter(|_| self.is_list(slot.level))
    }

    /// One level further, at an entry's position.
    pub fn entered(&self, slot: &Slot, position: Expr) -> Slot {
        Slot { level: slot.level + 1, position, ..slot.clone() }
    }

    /// Notes that a loop over `v` does not visit all of its coordinates.
    pub fn passes(&self, v: Index) {
        if self.roots.iter().any(|roots| roots.contains(&v)) {
            self.notes.borrow_mut().gaps = true;
        }
    }

    /// Notes the lists that bound the entries that one loop appends; `None` if nothing does.
    pub fn led_by(&self, slot: &Slot, by: Option<Vec<Level>>) {
        if slot.level + 1 == self.levels.len() {
            let leaders = &mut self.notes.borrow_mut().leaders;
            *leaders = match (leaders.take(), by) {
                (Some(all), Some(more)) => Some(all.into_iter().chain(more).collect()),
                _ => None,
            };
        }
    }

    /// Empties a result that is made again, of dense levels and plain lists.
    fn clear(&self, d: &mut Symbolic) {
        let first = self.next_list(0).unwrap_or(self.levels.len());
        let top = product(&self.extents[..first]);
        let fill = |d: &mut Symbolic, buffer: BufferId, len: Expr, value: Value| {
            d.each("b", int(0), len, |d, b| d.emit(Stmt::Store(buffer, b, Expr::Const(value))));
        };
        if first == self.levels.len() {
            return if self.assembly.filled {
                fill(d, self.values, top, self.initial)
            };
        }
        for l in first..self.levels.len() {
            if self.is_list(l) && self.heads[l] == l {
                d.assign(self.counts[l].expect("lists count"), int(0));
            }
        }
        // The end of an outermost fiber is always stored.
        if let Some(pos) = self.pos(first).filter(|_| first > 0) {
            fill(d, pos, plus(top, int(1)), Value::zero(d.element(pos)));
        }
    }

    fn allocate(&self, d: &mut Symbolic, guess: Expr) {
        let first = self.next_list(0);
        let top = checked_product(d, &self.extents[..first.unwrap_or(self.levels.len())]);
        for (l, flags) in self.flags.iter().enumerate().filter_map(|(l, f)| f.map(|f| (l, f))) {
            let len = if first.is_none_or(|first| l < first) { product(&self.extents[..=l]) } else { int(0) };
            alloc(d, flags, len, Some(Value::bool(false)));
        }
        let Some(first) = first else {
            let filled = self.assembly.filled || self.keeps_entries();
            return alloc(d, self.values, top, filled.then_some(self.initial));
        };
        let last = self.heads[self.levels.len() - 1];
        let entries = self.room.clone().unwrap_or(guess);
        for l in first..self.levels.len() {
            if let Some(pos) = self.pos(l) {
                let parents = if l == first { plus(top.clone(), int(1)) } else { int(1) };
                alloc(d, pos, parents, Some(Value::zero(d.element(pos))));
            }
            if let Some(crd) = self.crd(l).filter(|crd| !self.is_kept(*crd)) {
                alloc(d, crd, if self.heads[l] == last { entries.clone() } else { int(16) }, None);
            }
            if self.is_list(l) && self.heads[l] == l {
                d.assign(self.counts[l].expect("lists count"), int(0));
            }
        }
        self.begin_runs(d);
        let dense_tail = !self.is_list(self.levels.len() - 1);
        if !self.is_kept(self.values) {
            alloc(d, self.values, if dense_tail { int(0) } else { entries }, None);
        }
    }

    /// The slot above all levels.
    pub fn root(&self) -> Slot {
        Slot {
            level: 0,
            position: int(0),
            covered: true,
            pending: None,
            counted: false,
            chain: vec![],
            marks: vec![],
            written: None,
        }
    }

    /// The variable of the level that comes next.
    pub fn next_var(&self, slot: &Slot) -> Option<Index> {
        self.vars.get(slot.level).copied()
    }

    /// Whether a loop over `v` moves the level that comes next.
    pub fn next_follows(&self, slot: &Slot, v: Index) -> bool {
        self.roots.get(slot.level).is_some_and(|roots| roots.contains(&v))
    }

    /// Whether a loop over `v` is the innermost of those that move the level that comes next.
    pub fn next_ends_with(&self, slot: &Slot, v: Index) -> bool {
        self.roots.get(slot.level).is_some_and(|roots| roots.last() == Some(&v))
    }

    /// Whether several loops move level `l`.
    fn is_mapped(&self, l: usize) -> bool {
        self.roots[l] != [self.vars[l]]
    }

    /// Whether level `l` is appended to: a list, or runs.
    pub fn is_list(&self, l: usize) -> bool {
        self.levels.get(l).is_some_and(|level| level.kind().is_appended())
    }

    /// Whether appending below a slot means appending to the last list and nothing else: no flags above it.
    pub fn appends_last(&self, slot: &Slot) -> bool {
        slot.level + 1 == self.levels.len() && self.is_list(slot.level) && slot.marks.is_empty() && self.ends.is_none()
    }

    /// The type of the last list's coordinates, if every slot right above the last level is above a list with no flags above it.
    pub fn appends_always(&self, d: &Symbolic) -> Option<Type> {
        let last = self.levels.len().checked_sub(1)?;
        let plain = self.ends.is_none() && self.flags.iter().all(Option::is_none);
        self.crd(last).filter(|_| plain && self.is_list(last)).map(|crd| d.element(crd))
    }

    /// Whether some level stores entries, so that only some coordinates are stored.
    pub fn keeps_entries(&self) -> bool {
        self.levels.iter().any(|level| !level.kind().is_full())
    }

    fn next_list(&self, from: usize) -> Option<usize> {
        (from..self.levels.len()).find(|&l| self.is_list(l))
    }

    /// Whether level `l` is in a chain that goes on below it.
    pub fn chained(&self, l: usize) -> bool {
        self.heads.get(l + 1).is_some_and(|head| *head <= l)
    }

    pub(super) fn count(&self, l: usize) -> Expr {
        Expr::Var(self.counts[l].expect("lists count"))
    }

    pub(super) fn pos(&self, l: usize) -> Option<BufferId> {
        self.levels[l].array(Holds::Positions)
    }

    pub(super) fn crd(&self, l: usize) -> Option<BufferId> {
        self.levels[l].array(Holds::Coordinates)
    }

    /// The arrays of coordinates of the chain that ends at level `l`, each with its level.
    fn chain(&self, l: usize) -> impl Iterator<Item = (usize, BufferId)> + '_ {
        (self.heads[l]..=l).map(|k| (k, self.crd(k).expect("lists have coordinates")))
    }

    /// Emitted before the loop over a list's coordinates: makes room for `bound` more entries of the last level.
    pub fn open(&self, d: &mut Symbolic, slot: &Slot, bound: &dyn Fn(&mut Symbolic) -> Expr) {
        if self.shared().is_some() || slot.level + 1 < self.levels.len() {
            return;
        }
        if self.ends.is_some() {
            // The fiber at the root is the first one: no positions stand before it.
            if slot.level > 0 {
                self.runs_below(d, &slot.position);
            }
            return;
        }
        if self.room.is_some() {
            return;
        }
        let needed = plus(self.count(slot.level), bound(d));
        let needed = d.define("room", Type::I64, needed);
        let crds = self.chain(slot.level).map(|(_, crd)| crd);
        for buffer in crds.chain([self.values]).filter(|b| !self.is_kept(*b)) {
            reserve_more(d, buffer, needed.clone(), self.foreseen(slot, buffer, needed.clone()));
        }
    }

    /// How much room to make where there is less than `needed`. If loops visit all fibers in order: a little more than all of
    /// them need if the rest are like those so far, so that room grows once or twice and not by many doublings; but at most
    /// [`GROWTH`] times the room there is, since the first fibers may be the fullest.
    fn foreseen(&self, slot: &Slot, buffer: BufferId, needed: Expr) -> Expr {
        if slot.level == 0 || !slot.covered || self.next_list(0) != Some(slot.level) {
            return needed;
        }
        let more = plus(needed.clone(), binary(Op::Shr, needed.clone(), int(4)));
        let each = plus(binary(Op::Div, more, plus(slot.position.clone(), int(1))), int(1));
        let all = times(each, product(&self.extents[..slot.level]));
        binary(Op::Max, needed, binary(Op::Min, all, times(Expr::Capacity(buffer), int(GROWTH))))
    }

    /// Emitted after the loop over a list's coordinates: stores where the fiber ends.
    pub fn close(&self, d: &mut Symbolic, slot: &Slot) {
        let Some(pos) = self.pos(slot.level).filter(|_| self.shared().is_none()) else { return };
        if slot.level + 1 == self.levels.len() && self.ends.is_some() {
            return;
        }
        // The loop around the innermost of a mapped level may have no turn.
        if !slot.covered || slot.level > 0 && self.is_mapped(slot.level) {
            self.notes.borrow_mut().carried.insert(slot.level);
        }
        store_index(d, pos, plus(slot.position.clone(), int(1)), self.count(slot.level));
    }

    /// Notes that a coordinate of the slot's level is not visited.
    pub fn skipped(&self, slot: &Slot) {
        self.goes_along(None);
        if slot.level < self.levels.len()
            && !self.is_list(slot.level)
            && let Some(next) = self.next_list(slot.level)
        {
            self.notes.borrow_mut().carried.insert(next);
        }
    }

    /// One coordinate of the slot's level: `inner` stores what is below.
    pub fn visit(
        &self,
        d: &mut Symbolic,
        slot: &Slot,
        at: Expr,
        driven: Driven,
        inner: &mut dyn FnMut(&mut Symbolic, Slot),
    ) {
        let l = slot.level;
        let driven = if self.is_mapped(l) && driven == Driven::Counted { Driven::Guarded } else { driven };
        let counted = slot.counted || driven != Driven::Stored;
        // Along an operand's levels, loops visit all coordinates of a dense level, and only the entries of a list.
        let as_stored = if self.is_list(l) { driven == Driven::Stored } else { driven == Driven::Counted };
        if !as_stored {
            self.goes_along(None);
        }
        if !self.is_list(l) {
            let covered = slot.covered && driven == Driven::Counted;
            return inner(d, self.located(Slot { covered, counted, ..slot.clone() }, at));
        }
        if self.chained(l) {
            let chain = slot.chain.iter().cloned().chain([(l, at)]).collect();
            return inner(d, Slot { level: l + 1, counted, chain, ..slot.clone() });
        }
        let below = Slot {
            level: l + 1,
            position: self.count(l),
            covered: true,
            counted,
            pending: None,
            written: None,
            ..slot.clone()
        };
        if l + 1 == self.levels.len() {
            let counted = driven != Driven::Stored;
            return inner(d, Slot { pending: Some(at), counted, ..below });
        }
        let below = Slot { chain: vec![], marks: vec![], ..below };
        for (_, crd) in self.chain(l).filter(|(_, crd)| !self.is_kept(*crd)) {
            reserve(d, crd, plus(self.count(l), int(1)));
        }
        self.make_block(d, l);
        let append = |d: &mut Symbolic| self.append(d, l, slot, at.clone());
        match self.next_list(l + 1) {
            Some(m) => {
                let before = d.define("before", Type::I64, self.count(m));
                inner(d, below);
                d.when(binary(Op::Gt, self.count(m), before), append, |_| {});
            }
            None if driven == Driven::Stored => {
                inner(d, below);
                append(d);
            }
            None => {
                let written = d.fresh("written", Type::Bool);
                d.assign(written, Expr::Const(Value::bool(false)));
                inner(d, Slot { written: Some(written), ..below });
                d.when(Expr::Var(written), append, |_| {});
            }
        }
    }

    /// A slot one located level further.
    fn located(&self, mut slot: Slot, at: Expr) -> Slot {
        slot.position = plus(times(slot.position, self.extents[slot.level].clone()), at);
        slot.marks.extend(self.flags[slot.level].map(|flags| (flags, slot.position.clone())));
        slot.level += 1;
        slot
    }

    /// Makes room below the entry of level `l` that is about to be appended, down to the next list.
    fn make_block(&self, d: &mut Symbolic, l: usize) {
        let next = self.next_list(l + 1);
        let below = next.unwrap_or(self.levels.len());
        for k in l + 1..below {
            if let Some(flags) = self.flags[k] {
                self.fill_block(d, (flags, int(0)), (l, k + 1), Value::bool(false));
            }
        }
        match next {
            Some(m) => {
                let pos = self.pos(m).expect("a list below a list has positions");
                self.fill_block(d, (pos, int(1)), (l, m), Value::zero(d.element(pos)));
            }
            None => self.fill_block(d, (self.values, int(0)), (l, below), self.initial),
        }
    }

    /// Makes room in a buffer, from `offset` on, for the positions that levels `l + 1..below` have under the entry of level
    /// `l` that is about to be appended, and fills them with `value`; positions of a list right below are set by it later.
    fn fill_block(
        &self,
        d: &mut Symbolic,
        (buffer, offset): (BufferId, Expr),
        (l, below): (usize, usize),
        value: Value,
    ) {
        let width = product(&self.extents[l + 1..below]);
        let (begin, end) = (times(self.count(l), width.clone()), times(plus(self.count(l), int(1)), width));
        let (begin, end) = (plus(begin, offset.clone()), plus(end, offset));
        reserve(d, buffer, end.clone());
        if below > l + 1 {
            d.each("b", begin, end, |d, b| d.emit(Stmt::Store(buffer, b, Expr::Const(value))));
        }
    }

    /// Appends an entry to level `l` and to the levels of its chain, and sets the flags above it.
    fn append(&self, d: &mut Symbolic, l: usize, slot: &Slot, at: Expr) {
        self.write_coordinates(d, l, slot, at);
        d.assign(self.counts[l].expect("lists count"), plus(self.count(l), int(1)));
        slot.mark(d);
    }

    /// Stores the coordinates of the next entry of level `l` and of its chain, without counting it.
    fn write_coordinates(&self, d: &mut Symbolic, l: usize, slot: &Slot, at: Expr) {
        for (k, crd) in self.chain(l).filter(|(_, crd)| !self.is_kept(*crd)) {
            let at = slot.chain.iter().find(|(level, _)| *level == k).map_or(&at, |(_, at)| at);
            store_index(d, crd, self.count(l), at.clone());
        }
    }

    /// Opens located levels whose variables are bound already.
    pub fn locate(&self, mut slot: Slot, coordinate: &dyn Fn(Index) -> Option<Expr>) -> Slot {
        while slot.level < self.levels.len()
            && !self.is_list(slot.level)
            && let Some(at) = coordinate(self.vars[slot.level])
        {
            slot = self.located(slot, at);
        }
        slot
    }

    /// Appends a value to a last list if a condition holds, without a branch: writes it behind the last entry, and adds the
    /// condition to the number of entries. There must be room for one entry more than are kept.
    pub fn store_if(&self, d: &mut Symbolic, slot: &Slot, value: Expr, kept: Expr) {
        d.emit(Stmt::Store(self.values, slot.position.clone(), value));
        self.note(d, slot, slot.pending.clone().expect("a last list"), Some(kept));
    }

    /// A snapshot of the number of entries of the last list.
    pub fn noted(&self, d: &mut Symbolic) -> Expr {
        d.define("begin", Type::I64, self.count(self.levels.len() - 1))
    }

    /// Appends a coordinate to a last list, below `slot`, if `kept` holds, without a branch; its value comes later ([`Output::fill_in`]).
    pub fn note(&self, d: &mut Symbolic, slot: &Slot, at: Expr, kept: Option<Expr>) {
        let last = self.levels.len() - 1;
        self.write_coordinates(d, last, slot, at);
        self.notes.borrow_mut().tentative |= kept.is_some();
        let more = kept.map_or(int(1), |kept| Expr::Op(Op::Convert(Type::I64), vec![kept]));
        d.assign(self.counts[last].expect("lists count"), plus(self.count(last), more));
    }

    /// Appends the first `len` of `keys`, at most as many as a network sorts, to a last list, in ascending order; [`Output::fill_in`]
    /// stores their values.
    pub fn note_sorted(&self, d: &mut Symbolic, slot: &Slot, keys: BufferId, len: Expr) {
        let last = self.levels.len() - 1;
        let end = plus(self.count(last), len.clone());
        for (k, crd) in self.chain(last) {
            match slot.chain.iter().find(|(level, _)| *level == k) {
                None => d.call(Entry::SortInto { keys, into: crd, at: self.count(last), len: len.clone() }),
                Some((_, at)) => {
                    d.each("q", self.count(last), end.clone(), |d, q| store_index(d, crd, q, at.clone()));
                }
            }
        }
        d.assign(self.counts[last].expect("lists count"), end);
    }

    /// Stores the values of the entries from number `begin` on, each computed from its coordinate. No two have the same coordinate.
    pub fn fill_in(
        &self,
        d: &mut Symbolic,
        (name, begin): (&str, Expr),
        value: &mut dyn FnMut(&mut Symbolic, Expr) -> Expr,
    ) {
        let last = self.levels.len() - 1;
        d.each_apart("q", begin, self.count(last), |d, q| {
            let at = d.index(self.crd(last).expect("a last list"), q.clone());
            let at = d.define(name, Type::I64, at);
            let value = value(d, at);
            d.emit(Stmt::Store(self.values, q, value));
        });
    }

    /// The value that is stored now, below all levels.
    pub fn held(&self, slot: &Slot) -> Expr {
        Expr::Load(self.values, Box::new(slot.position.clone()))
    }

    /// Stores a value below all levels. `folds` says that it replaces a stored one, into which it was folded.
    pub fn store(&self, d: &mut Symbolic, slot: &Slot, folds: bool, value: Expr) {
        let put = |d: &mut Symbolic, value: Expr| {
            if !self.is_kept(self.values) {
                d.emit(Stmt::Store(self.values, slot.position.clone(), value));
            }
        };
        let fill = (Expr::Const(self.fill), self.fill.ty());
        let differs = |value: &Expr| compared(self.mode, Op::Ne, value.clone(), fill.clone());
        if let Some(at) = slot.pending.clone() {
            let last = self.levels.len() - 1;
            if self.ends.is_some() {
                return self.put_run(d, slot, (Some(at.clone()), plus(at, int(1))), value);
            }
            let append = |d: &mut Symbolic, value: Expr| {
                put(d, value);
                self.append(d, last, slot, at);
            };
            if !slot.counted {
                return append(d, value);
            }
            self.notes.borrow_mut().sifted = true;
            let value = d.define("value", self.fill.ty(), value);
            return d.when(differs(&value), |d| append(d, value), |_| {});
        }
        if folds || slot.marks.is_empty() || !slot.counted {
            put(d, value);
            slot.mark(d);
        } else {
            // Where no flag is set the value must stay bit-identical to the fill; a zero of another sign is not.
            let value = d.define("value", self.fill.ty(), value);
            let stored = |d: &mut Symbolic| {
                put(d, value.clone());
                slot.mark(d);
            };
            d.when(differs(&value), stored, |_| {});
        }
        if let Some(flag) = slot.written {
            d.assign(flag, yes());
        }
    }

    /// Ends the result: carries positions forward over parents that loops passed over, then sets all lengths.
    pub fn finish(self, d: &mut Symbolic) {
        if self.shared().is_some() {
            return self.finished(d, self.values, self.entries());
        }
        let mut parents = int(1);
        for l in 0..self.levels.len() {
            if !self.is_list(l) {
                parents = times(parents, self.extents[l].clone());
                self.finish_flags(d, l, &parents);
                continue;
            }
            if l + 1 == self.levels.len() {
                self.runs_below(d, &parents);
            }
            if let Some(pos) = self.pos(l) {
                self.finish_positions(d, l, pos, &parents);
            }
            if self.levels[l].kind().has_table() {
                let [pos, crd, table] = ["pos", "crd", "table"].map(|name| *self.levels[l].named(name));
                make_table(d, (pos, crd, table), &parents, self.count(l));
                self.finished(d, table, Expr::Capacity(table));
            }
            if let Some(crd) = self.crd(l) {
                self.finished(d, crd, self.count(l));
            }
            if !self.chained(l) {
                parents = self.count(l);
            }
        }
        self.finished(d, self.values, parents);
    }

    fn finish_positions(&self, d: &mut Symbolic, l: usize, pos: BufferId, parents: &Expr) {
        if self.assembly.carried.contains(&l) {
            d.each("q", int(0), parents.clone(), |d, q| {
                let next = plus(q.clone(), int(1));
                let (here, there) = (d.index(pos, q), d.index(pos, next.clone()));
                store_index(d, pos, next, binary(Op::Max, there, here));
            });
        }
        if d.element(pos) == Type::I32 {
            let over = binary(Op::Gt, self.count(l), int(i32::MAX as i64));
            d.when(over, |d| d.call(Entry::Fail(Failure::Positions)), |_| {});
        }
        self.finished(d, pos, plus(parents.clone(), int(1)));
    }

    /// Ends the flags of `len` positions; a bitmap's are packed into words.
    fn finish_flags(&self, d: &mut Symbolic, l: usize, len: &Expr) {
        let Some(flags) = self.flags[l] else { return };
        let Some(words) = self.levels[l].array(Holds::Words) else {
            return self.finished(d, flags, len.clone());
        };
        let count = binary(Op::FloorDiv, plus(len.clone(), int(63)), int(64));
        alloc(d, words, count.clone(), None);
        d.each("w", int(0), count.clone(), |d, w| pack(d, (flags, words), w, len));
        self.finished(d, words, count);
    }

    fn finished(&self, d: &mut Symbolic, buffer: BufferId, len: Expr) {
        if self.result && !self.is_kept(buffer) {
            d.call(Entry::Finish { buffer, len });
        }
    }
}

/// Room for as many entries as lists have.
fn room_for(cx: &Context, Room { leaders, spare }: &Room) -> Expr {
    let crd = |(a, l): &Level| fiber::levels(cx, *a)[*l].array(Holds::Coordinates).expect("lists have coordinates");
    let all = leaders.iter().map(|list| Expr::Capacity(crd(list)));
    let all = all.reduce(|a, b| binary(Op::Add, a, b)).unwrap_or_else(|| int(0));
    if *spare { plus(all, int(1)) } else { all }
}

pub(super) fn values(cx: &Context, a: AccessId) -> BufferId {
    lower::arrays_of(cx, cx.program.accesses[a.0].tensor).values
}

/// A guess at the number of stored values of an expression: the sum of its operands' numbers, of a product the least of
/// them. `None` if no operand is sparse.
fn stored_guess(cx: &Context, e: &concrete::Expr) -> Option<Expr> {
    match e {
        concrete::Expr::Access(a, _) => {
            let values = values(cx, *a);
            let sparse = fiber::levels(cx, *a).iter().any(|l| !l.kind().is_full());
            sparse.then_some(Expr::Capacity(values))
        }
        concrete::Expr::Call(fun, args, _) => {
            let known = args.iter().filter_map(|a| stored_guess(cx, a));
            let all = matches!(fun, Fun::Op(Op::Mul | Op::And | Op::AndAlso));
            let join = if all { Op::Min } else { Op::Add };
            known.reduce(|a, b| binary(join, a, b))
        }
        concrete::Expr::Reduce(_, _, body, _) => stored_guess(cx, body),
        concrete::Expr::Fold(fold, _) => stored_guess(cx, &fold.body),
        concrete::Expr::Where(made, _) => stored_guess(cx, &made.nest.rhs),
        concrete::Expr::Concat(c, _) => {
            let known = c.exprs().filter_map(|part| stored_guess(cx, part));
            known.reduce(|a, b| binary(Op::Add, a, b))
        }
        concrete::Expr::Literal(_) | concrete::Expr::Index(_) | concrete::Expr::Column(_) => None,
    }
}

/// A counter for each list; the levels of a chain share one.
fn counts(d: &mut Symbolic, tensor: &concrete::Tensor) -> Vec<Option<Var>> {
    let mut counts: Vec<Option<Var>> = vec![];
    for (l, kind) in tensor.format.levels.iter().enumerate() {
        let head = tensor.format.chain(l).map_or(l, |chain| chain.start);
        let shared = counts.get(head).copied().flatten();
        let made =
            kind.is_appended().then(|| shared.unwrap_or_else(|| d.fresh(&format!("c{l}_{}", tensor.name), Type::I64)));
        counts.push(made);
    }
    counts
}

/// The buffer in which a level's flags are set, a byte each, if it has flags.
fn flags(d: &mut Symbolic, level: &LevelBuffers, name: &str) -> Option<BufferId> {
    let packed = || d.buffer(&format!("{name}_flags"), Type::Bool, BufferRole::Workspace);
    level.kind().is_flagged().then(|| level.array(Holds::Flags).unwrap_or_else(packed))
}

/// Word `w` of a bitmap: flags 64·w … of the first `len`.
fn pack(d: &mut Symbolic, (flags, words): (BufferId, BufferId), w: Expr, len: &Expr) {
    let from = d.define("from", Type::I64, times(w.clone(), int(64)));
    let left = binary(Op::Min, binary(Op::Sub, len.clone(), from.clone()), int(64));
    let word = d.fresh("word", Type::U64);
    d.assign(word, Expr::Const(Value::zero(Type::U64)));
    d.each("bit", int(0), left, |d, bit| {
        let flag = Expr::Load(flags, Box::new(plus(from, bit.clone())));
        let unsigned = |e: Expr| Expr::Op(Op::Convert(Type::U64), vec![e]);
        let shifted = binary(Op::Shl, unsigned(flag), unsigned(bit));
        d.assign(word, binary(Op::Or, Expr::Var(word), shifted));
    });
    d.emit(Stmt::Store(words, w, Expr::Var(word)));
}

/// Makes the table of a hashed level: its length is the least power of two that is at least twice `count`; each entry goes to
/// the first free slot from its own on.
fn make_table(d: &mut Symbolic, (pos, crd, table): (BufferId, BufferId, BufferId), parents: &Expr, count: Expr) {
    let size = d.fresh("size", Type::I64);
    d.assign(size, int(2));
    d.during(binary(Op::Lt, Expr::Var(size), times(count, int(2))), |d| {
        d.assign(size, times(Expr::Var(size), int(2)));
    });
    let free = crate::algebra::apply(Op::Convert(d.element(table)), &[Value::i64(-1)]).expect("an integer");
    alloc(d, table, Expr::Var(size), Some(free));
    let size = Term::fixed(Expr::Capacity(table));
    let whole = Table { crd, table, size };
    d.each("q", int(0), parents.clone(), |d, q| {
        let (begin, end) = (d.index(pos, q.clone()), d.index(pos, plus(q.clone(), int(1))));
        d.each("p", begin, end, |d, p| {
            let at = Term::fixed(d.index(crd, p.clone()));
            let slot = whole.free(d, &Term::fixed(q), &at);
            let slot = d.place(&slot);
            store_index(d, table, slot, p);
        });
    });
}

fn product(factors: &[Expr]) -> Expr {
    factors.iter().cloned().fold(int(1), times)
}

pub(super) fn alloc(d: &mut Symbolic, buffer: BufferId, len: Expr, fill: Option<Value>) {
    d.call(Entry::Alloc { buffer, len, fill });
}

/// Makes room for `len` elements, if there is less.
pub(super) fn reserve(d: &mut Symbolic, buffer: BufferId, len: Expr) {
    reserve_more(d, buffer, len.clone(), len);
}

/// Makes room for `len` elements, if there is less than `needed`.
fn reserve_more(d: &mut Symbolic, buffer: BufferId, needed: Expr, len: Expr) {
    let full = binary(Op::Gt, needed, Expr::Capacity(buffer));
    d.when(full, |d| d.call(Entry::Reserve { buffer, len }), |_| {});
}
