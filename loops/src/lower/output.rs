//! The assembly of a result's levels, from the outermost in.
//!
//! ```text
//!   located level      position = parent · extent + coordinate; the levels below have room for every coordinate;
//!                      in a bytemap or bitmap the flag is set when something is stored below
//!   triangle           position = position of its row + coordinate, inside of the triangle; outside, a value that is not the fill
//!                      value makes the kernel fail; in a symmetric level values behind the diagonal are kept, to be compared (mirror.rs)
//!   list               append: crd[c] = coordinate, c += 1, if something was stored below; when the fiber is done,
//!                      pos[parent + 1] = c; for hashed levels the table is made at the end
//!   chain              nonunique, singleton, …, singleton appends as one list, a coordinate to each of its levels
//!   last               each value is appended with its coordinate (last.rs)
//!   shared             the result has an operand's arrays, and each value goes to its entry's position
//! ```
//!
//! Invariants: coordinates of a list arrive in ascending order, each once (concretizing ensures it); position arrays start as zeros, and
//! where loops may skip a parent, a last pass carries the counts forward; values under located levels start as `initial`, so only other
//! values must be stored.

use super::assembler::Ground;
use super::form::Form;
use super::insertion::{Insertion, Sides};
use super::last::Last;
use super::list::List;
use super::mirror::Mirror;
use super::room::{alloc, product, reserve, reserve_more};
use super::runs::Runs;
use super::shared::Kept;
use super::stored;
use super::triangle::Row;
use super::{
    BufferRole, Context, Expr, Holds, LevelBuffers, binary, checked_product, compared, int, plus, store_index, times,
};
use crate::arith::yes;
use crate::choose::result;
use crate::lower;
use crate::plan::Driver;
use crate::plan::{Arrays, Assembly};
use crate::stream::Table;
use crate::{BufferId, Entry, Failure, Stmt, Symbolic, Term, Var};
use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_core::format::triangle::Triangle;
use fiberloom_core::notation::concrete::{self, AccessId, Nest, Place};

/// The largest factor by which an array grows beyond what is needed.
const GROWTH: i64 = 32;

/// A result that is being assembled.
pub(super) struct Output {
    pub form: Form,
    values: BufferId,
    /// The values behind the diagonals, if the last level is symmetric.
    mirror: Option<Mirror>,
    /// For each level that is appended to, its number of positions so far; the levels of a chain share one counter.
    pub(super) counts: Vec<Option<Var>>,
    /// For each list, the assembler that appends to it and to the levels of its chain above.
    lists: Vec<Option<List>>,
    /// The assembler of the last level, if it is appended to.
    last: Option<Last>,
    /// For each bytemap or bitmap, an array with a byte per position; a bitmap's bytes are packed into bits at the end.
    flags: Vec<Option<BufferId>>,
    fill: Value,
    mode: Mode,
    result: bool,
    /// The value of every element before anything is stored: the fill value, or the identity of a fold in place.
    pub initial: Value,
    /// How the result's arrays are allocated.
    assembly: Assembly,
    /// The room for all entries, if their number is bounded.
    room: Option<Expr>,
    /// Arrays that are shared with an operand, into which nothing is stored.
    kept: Option<Kept>,
}

impl Output {
    /// Begins the nest's result, with nothing stored. With `again`, the result reuses its arrays.
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
        let form = Form::of(cx, d, nest);
        let counts = counts(d, tensor);
        let is_kept = |b: BufferId| kept.as_ref().is_some_and(|kept: &Kept| kept.has(b));
        let list = |l: usize| form.list(l, (counts[l]?, arrays.values), &is_kept);
        let lists: Vec<Option<List>> = (0..rank).map(list).collect();
        let last = rank.checked_sub(1).and_then(|level| {
            let ground = Ground {
                name: &tensor.name,
                level,
                arrays: &arrays.levels[level],
                values: arrays.values,
                count: counts[level]?,
                extent: form.extents[level].clone(),
                fill: tensor.fill,
                mode: cx.simplify.mode,
                resumed: form.is_mapped(level) || nest.order().iter().any(|v| cx.program.counts_pieces(*v)),
            };
            Last::of(d, &ground, lists[level].as_ref())
        });
        let output = Output {
            mirror: Mirror::of(d, &form, (&tensor.name, tensor.ty, cx.simplify.mode), arrays.values),
            form,
            values: arrays.values,
            counts,
            lists,
            last,
            flags: arrays.levels.iter().map(|level| flags(d, level, &tensor.name)).collect(),
            fill: tensor.fill,
            mode: cx.simplify.mode,
            result: result::is_finished(cx, place),
            initial: result::initial(cx, nest),
            assembly: assembly.clone(),
            room: assembly.room.as_ref().map(|room| stored::room_for(cx, d, room)),
            kept,
        };
        if let Some(was) = output.takes() {
            let from = lower::arrays_of(cx, was).values;
            d.call(Entry::Move { to: output.values, from });
            return output;
        }
        if output.shared().is_some() {
            alloc(d, output.values, output.entries(), output.assembly.filled.then_some(output.initial));
            return output;
        }
        if again {
            output.clear(d);
            return output;
        }
        // Half of the operands' entries, unless each entry of one operand is likely to be stored: growing copies everything stored so
        // far, so more room would cost more where the guess is too small.
        let whole = stored::is_kept(cx, &nest.rhs);
        let half = |stored| if whole { stored } else { binary(Op::Shr, stored, int(1)) };
        let guess = stored::guess(cx, d, &nest.rhs).map_or_else(|| int(0), half);
        let guess = plus(guess, int(16));
        output.allocate(d, guess);
        output
    }

    /// Declares the arrays of a nest's result that is computed again and again.
    pub fn arrays(cx: &Context, d: &mut Symbolic, nest: &Nest) {
        let output = Output::begin(cx, d, nest, &Assembly::default(), None, true);
        output.allocate(d, int(16));
    }

    /// The access whose levels the result shares.
    fn shared(&self) -> Option<AccessId> {
        if let Arrays::Levels(a) = self.assembly.arrays { Some(a) } else { None }
    }

    /// The earlier version whose arrays the result reuses.
    pub fn takes(&self) -> Option<Place> {
        if let Arrays::Taken(was) = self.assembly.arrays { Some(was) } else { None }
    }

    /// Whether an array is shared with an operand, so that nothing is stored in it.
    fn is_kept(&self, buffer: BufferId) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.has(buffer))
    }

    /// The assembler of the last level, which is a list.
    ///
    /// # Panics
    /// If the last level is not a list.
    pub fn list(&self) -> &List {
        self.lists.last().and_then(Option::as_ref).expect("a last list")
    }

    /// The number of entries of the operand whose levels the result shares.
    fn entries(&self) -> Expr {
        let last = self.form.crd(self.form.levels.len() - 1);
        Expr::Capacity(last.expect("a last list has coordinates"))
    }

    /// The access whose entries' positions are the positions of the values below the insertion point's level.
    pub fn shared_with(&self, insertion: &Insertion) -> Option<AccessId> {
        self.shared().filter(|_| self.form.is_list(insertion.level))
    }

    /// The insertion point one level further, at an entry's position.
    pub fn entered(&self, insertion: &Insertion, position: Expr) -> Insertion {
        Insertion { level: insertion.level + 1, position, ..insertion.clone() }
    }

    /// Empties a result that is computed again, of dense levels and plain lists.
    fn clear(&self, d: &mut Symbolic) {
        let first = self.form.next_list(0).unwrap_or(self.form.levels.len());
        let top = product(&self.form.widths[..first]);
        let fill = |d: &mut Symbolic, buffer: BufferId, len: Expr, value: Value| {
            d.each("b", int(0), len, |d, b| d.emit(Stmt::Store(buffer, b, Expr::Const(value))));
        };
        if first == self.form.levels.len() {
            return if self.assembly.filled {
                fill(d, self.values, top, self.initial)
            };
        }
        for l in first..self.form.levels.len() {
            if self.form.is_list(l) && self.form.heads[l] == l {
                d.assign(self.counts[l].expect("lists count"), int(0));
            }
        }
        // The end of an outermost fiber is always stored.
        if let Some(pos) = self.form.pos(first).filter(|_| first > 0) {
            fill(d, pos, plus(top, int(1)), Value::zero(d.element(pos)));
        }
    }

    fn allocate(&self, d: &mut Symbolic, guess: Expr) {
        let first = self.form.next_list(0);
        let above = &self.form.widths[..first.unwrap_or(self.form.levels.len())];
        let top = checked_product(d, &above.iter().filter(|n| **n != int(1)).cloned().collect::<Vec<_>>());
        for (l, flags) in self.flags.iter().enumerate().filter_map(|(l, f)| f.map(|f| (l, f))) {
            let len = if first.is_none_or(|first| l < first) { product(&self.form.widths[..=l]) } else { int(0) };
            alloc(d, flags, len, Some(Value::bool(false)));
        }
        let Some(first) = first else {
            let filled = self.assembly.filled || self.form.keeps_entries();
            let all = self.mirror.iter().map(|mirror| mirror.behind).chain([self.values]);
            return all.for_each(|values| alloc(d, values, top.clone(), filled.then_some(self.initial)));
        };
        let last = self.form.heads[self.form.levels.len() - 1];
        let entries = self.room.clone().unwrap_or(guess);
        for l in first..self.form.levels.len() {
            if let Some(pos) = self.form.pos(l) {
                let parents = if l == first { plus(top.clone(), int(1)) } else { int(1) };
                alloc(d, pos, parents, Some(Value::zero(d.element(pos))));
            }
            if let Some(begins) = self.begins().filter(|_| l + 1 == self.form.levels.len()) {
                alloc(d, begins, if l == first { top.clone() } else { int(0) }, Some(Value::zero(d.element(begins))));
            } else if let Some(crd) = self.form.crd(l).filter(|crd| !self.is_kept(*crd)) {
                alloc(d, crd, if self.form.heads[l] == last { entries.clone() } else { int(16) }, None);
            }
            if self.form.is_list(l) && self.form.heads[l] == l {
                d.assign(self.counts[l].expect("lists count"), int(0));
            }
        }
        self.last.iter().for_each(|last| last.assembler().begin(d, &entries));
        let dense_tail = !self.form.is_list(self.form.levels.len() - 1);
        if !self.is_kept(self.values) {
            alloc(d, self.values, if dense_tail { int(0) } else { entries }, None);
        }
    }

    /// The insertion point above all levels.
    pub fn root(&self) -> Insertion {
        Insertion {
            level: 0,
            position: int(0),
            covered: true,
            pending: None,
            parent: int(0),
            row: None,
            sides: None,
            inside: None,
            counted: false,
            chain: vec![],
            marks: vec![],
            written: None,
        }
    }

    /// Whether appending below an insertion point means appending to the last list and nothing else: there are no flags above it.
    pub fn appends_last(&self, insertion: &Insertion) -> bool {
        insertion.level + 1 == self.form.levels.len()
            && self.form.kind(insertion.level).is_list()
            && insertion.marks.is_empty()
    }

    pub(super) fn count(&self, l: usize) -> Expr {
        Expr::Var(self.counts[l].expect("lists count"))
    }

    /// The array in which a last level has one element per parent position, besides positions.
    fn begins(&self) -> Option<BufferId> {
        if let Some(Last::Interval(interval)) = &self.last { interval.first } else { None }
    }

    /// The assembler of the level below an insertion point, if that is the last level, and appended to.
    fn last_below(&self, insertion: &Insertion) -> Option<&Last> {
        self.last.as_ref().filter(|_| insertion.level + 1 == self.form.levels.len() && self.shared().is_none())
    }

    /// Emitted before the loop over a level's coordinates. If the level is the last and appended to, makes the fiber below the insertion point the
    /// current one, and makes room for `bound` more values.
    pub fn open(&self, d: &mut Symbolic, insertion: &Insertion, bound: &dyn Fn(&mut Symbolic) -> Expr) {
        if let Some(last) = self.last_below(insertion) {
            last.assembler().enter(d, &insertion.position);
            self.make_room(d, insertion, bound);
        }
    }

    /// Makes room for `bound` more values of the current fiber.
    pub fn make_room(&self, d: &mut Symbolic, insertion: &Insertion, bound: &dyn Fn(&mut Symbolic) -> Expr) {
        let Some(last) = self.last_below(insertion).filter(|_| self.room.is_none()) else { return };
        let grow = |d: &mut Symbolic, buffer: BufferId, needed: Expr| {
            reserve_more(d, buffer, needed.clone(), self.foreseen(insertion, buffer, needed));
        };
        last.assembler().room(d, bound, &grow);
    }

    /// The room to make where there is less than `needed`. If loops visit all fibers in order, it is a little more than all fibers need
    /// if the remaining ones are as full as those so far, so that arrays grow once or twice and not by many doublings; but at most
    /// [`GROWTH`] times the present room, since the first fibers may be the fullest.
    fn foreseen(&self, insertion: &Insertion, buffer: BufferId, needed: Expr) -> Expr {
        if insertion.level == 0 || !insertion.covered || self.form.next_list(0) != Some(insertion.level) {
            return needed;
        }
        let more = plus(needed.clone(), binary(Op::Shr, needed.clone(), int(4)));
        let each = plus(binary(Op::Div, more, plus(insertion.position.clone(), int(1))), int(1));
        let all = times(each, product(&self.form.widths[..insertion.level]));
        binary(Op::Max, needed, binary(Op::Min, all, times(Expr::Capacity(buffer), int(GROWTH))))
    }

    /// Emitted after the loop over a list's coordinates: stores the end of the fiber.
    pub fn close(&self, d: &mut Symbolic, insertion: &Insertion) {
        let Some(pos) = self.form.pos(insertion.level).filter(|_| self.shared().is_none()) else { return };
        let end = match self.last_below(insertion) {
            Some(last) => last.assembler().end(),
            None => Some(self.count(insertion.level)),
        };
        let Some(end) = end else { return };
        store_index(d, pos, plus(insertion.position.clone(), int(1)), end);
    }

    /// Emits one coordinate of the insertion point's level: `inner` stores the values below it.
    pub fn visit(
        &self,
        d: &mut Symbolic,
        insertion: &Insertion,
        at: Expr,
        driver: Driver,
        inner: &mut dyn FnMut(&mut Symbolic, Insertion),
    ) {
        let l = insertion.level;
        let driver = if self.form.is_mapped(l) && driver == Driver::Counted { Driver::Guarded } else { driver };
        let counted = insertion.counted || driver != Driver::Stored;
        if !self.form.is_list(l) {
            let covered = insertion.covered && driver == Driver::Counted;
            let mut below = self.located(Insertion { covered, counted, ..insertion.clone() }, at);
            below.row = below.row.map(|row| row.held(d));
            return inner(d, below);
        }
        if self.form.chained(l) {
            let chain = insertion.chain.iter().cloned().chain([(l, at)]).collect();
            return inner(d, Insertion { level: l + 1, counted, chain, ..insertion.clone() });
        }
        let below = Insertion {
            level: l + 1,
            position: self.count(l),
            parent: insertion.position.clone(),
            covered: true,
            counted,
            pending: None,
            written: None,
            ..insertion.clone()
        };
        if l + 1 == self.form.levels.len() {
            let counted = driver != Driver::Stored;
            return inner(d, Insertion { pending: Some(at), counted, ..below });
        }
        let below = Insertion { chain: vec![], marks: vec![], ..below };
        let list = self.lists[l].as_ref().expect("levels above the last are located, or lists");
        for (_, crd) in &list.levels {
            reserve(d, *crd, plus(self.count(l), int(1)));
        }
        self.make_block(d, l);
        let append = |d: &mut Symbolic| {
            list.append(d, insertion, at.clone());
            insertion.mark(d);
        };
        match self.form.next_list(l + 1) {
            Some(m) => {
                // Fibers that end when the next one begins end here: later values are below this entry.
                let last = self.last_below(&below).map(Last::assembler).filter(|last| last.end().is_none());
                last.iter().for_each(|last| last.enter(d, &below.position));
                let before = d.define("before", Type::I64, self.count(m));
                inner(d, below);
                d.when(binary(Op::Gt, self.count(m), before), append, |_| {});
            }
            None if driver == Driver::Stored => {
                inner(d, below);
                append(d);
            }
            None => {
                let written = d.fresh("written", Type::Bool);
                d.assign(written, Expr::Const(Value::bool(false)));
                inner(d, Insertion { written: Some(written), ..below });
                d.when(Expr::Var(written), append, |_| {});
            }
        }
    }

    /// The insertion point one located level further.
    pub fn located(&self, mut insertion: Insertion, at: Expr) -> Insertion {
        let (l, above) = (insertion.level, insertion.position.clone());
        insertion.position = match (self.form.kind(l).triangle(), insertion.row.take()) {
            (Some(_), Some(Row { base, at: row, behind: Some(behind) })) => {
                let is_behind = binary(Op::Lt, row, at.clone());
                insertion.sides = Some(Sides { is_behind, position: plus(behind, at.clone()) });
                plus(base, at)
            }
            (Some(side), Some(Row { base, at: row, .. })) => {
                let [low, high] = if side == Triangle::Upper { [row, at.clone()] } else { [at.clone(), row] };
                let within = binary(Op::Le, low, high);
                insertion.inside =
                    Some(insertion.inside.into_iter().fold(within, |all, other| binary(Op::AndAlso, other, all)));
                plus(base, at)
            }
            _ => {
                insertion.row = self.form.row(l + 1, above.clone(), &at);
                plus(times(above, self.form.extents[l].clone()), at)
            }
        };
        insertion.marks.extend(self.flags[insertion.level].map(|flags| (flags, insertion.position.clone())));
        insertion.level += 1;
        insertion
    }

    /// Makes room below the entry of level `l` that is about to be appended, down to the next list.
    fn make_block(&self, d: &mut Symbolic, l: usize) {
        let next = self.form.next_list(l + 1);
        let below = next.unwrap_or(self.form.levels.len());
        for k in l + 1..below {
            if let Some(flags) = self.flags[k] {
                self.fill_block(d, (flags, int(0)), (l, k + 1), Value::bool(false));
            }
        }
        match next {
            Some(m) => {
                let pos = self.form.pos(m).expect("a list below a list has positions");
                self.fill_block(d, (pos, int(1)), (l, m), Value::zero(d.element(pos)));
                if let Some(begins) = self.begins().filter(|_| m + 1 == self.form.levels.len()) {
                    self.fill_block(d, (begins, int(0)), (l, m), Value::zero(d.element(begins)));
                }
            }
            None => self.fill_block(d, (self.values, int(0)), (l, below), self.initial),
        }
    }

    /// Makes room in a buffer, from `offset` on, for the positions that levels `l + 1..below` have under the entry of level `l` that is
    /// about to be appended, and fills them with `value`; positions of a list right below are stored later by that list.
    fn fill_block(
        &self,
        d: &mut Symbolic,
        (buffer, offset): (BufferId, Expr),
        (l, below): (usize, usize),
        value: Value,
    ) {
        let width = product(&self.form.widths[l + 1..below]);
        let (begin, end) = (times(self.count(l), width.clone()), times(plus(self.count(l), int(1)), width));
        let (begin, end) = (plus(begin, offset.clone()), plus(end, offset));
        reserve(d, buffer, end.clone());
        if below > l + 1 {
            d.each("b", begin, end, |d, b| d.emit(Stmt::Store(buffer, b, Expr::Const(value))));
        }
    }

    /// Appends a value to a last list if a condition holds, without a branch: writes it behind the last entry, and adds the
    /// condition to the number of entries. There must be room for one entry more than are kept.
    pub fn store_if(&self, d: &mut Symbolic, insertion: &Insertion, value: Expr, kept: Expr) {
        self.list().store(d, insertion.position.clone(), value);
        self.list().note(d, insertion, insertion.pending.clone().expect("a last list"), Some(kept));
    }

    /// The value that is stored below all levels; outside of a triangle, the initial value.
    pub fn held(&self, insertion: &Insertion) -> Expr {
        let value = match (&self.mirror, &insertion.sides) {
            (Some(mirror), Some(sides)) => mirror.load(insertion.position.clone(), sides),
            _ => Expr::Load(self.values, Box::new(insertion.position.clone())),
        };
        match &insertion.inside {
            Some(inside) => Expr::Op(Op::Select, vec![inside.clone(), value, Expr::Const(self.initial)]),
            None => value,
        }
    }

    /// Stores a value below all levels. `folds`: the value replaces a stored one, which was folded into it.
    pub fn store(&self, d: &mut Symbolic, insertion: &Insertion, folds: bool, value: Expr) {
        let put = |d: &mut Symbolic, value: Expr| {
            self.put(d, insertion, value);
            insertion.mark(d);
        };
        let ty = self.fill.ty();
        let differs = |value: &Expr| compared(self.mode, Op::Ne, value.clone(), (Expr::Const(self.fill), ty));
        if let (Some(at), Some(last)) = (insertion.pending.clone(), &self.last) {
            let last = last.assembler();
            let append = |d: &mut Symbolic, value: Expr| {
                last.put(d, insertion, at, value);
                insertion.mark(d);
            };
            if !insertion.counted || !last.filters() {
                return append(d, value);
            }
            let value = d.define("value", ty, value);
            return d.when(differs(&value), |d| append(d, value), |_| {});
        }
        if let Some(inside) = &insertion.inside {
            let value = d.define("value", ty, value);
            let fail = |d: &mut Symbolic| d.call(Entry::Fail(Failure::Unheld));
            let other = |d: &mut Symbolic| d.when(differs(&value), fail, |_| {});
            d.when(inside.clone(), |d| put(d, value.clone()), other);
        } else if folds || insertion.marks.is_empty() || !insertion.counted {
            put(d, value);
        } else {
            // Where no flag is set the value must stay bit-identical to the fill value; a zero of the other sign is not.
            let value = d.define("value", ty, value);
            d.when(differs(&value), |d| put(d, value.clone()), |_| {});
        }
        if let Some(flag) = insertion.written {
            d.assign(flag, yes());
        }
    }

    /// Stores a value below levels all of which are located.
    fn put(&self, d: &mut Symbolic, insertion: &Insertion, value: Expr) {
        let store = |d: &mut Symbolic, values, at, value| d.emit(Stmt::Store(values, at, value));
        let (Some(mirror), Some(sides)) = (&self.mirror, &insertion.sides) else {
            return store(d, self.values, insertion.position.clone(), value);
        };
        let value = d.define("value", self.fill.ty(), value);
        let behind = |d: &mut Symbolic| store(d, mirror.behind, sides.position.clone(), value.clone());
        let before = |d: &mut Symbolic| store(d, self.values, insertion.position.clone(), value.clone());
        d.when(sides.is_behind.clone(), behind, before);
    }

    /// The assembler of runs, if they are the last level, right below the insertion point.
    pub fn runs(&self, insertion: &Insertion) -> Option<&Runs> {
        match self.last_below(insertion) {
            Some(Last::Runs(runs)) => Some(runs),
            _ => None,
        }
    }

    /// Ends the result: carries positions forward over parents that loops skipped, then sets all lengths.
    pub fn finish(&self, d: &mut Symbolic) {
        if self.shared().is_some() {
            return self.finished(d, self.values, self.entries());
        }
        self.mirror.iter().for_each(|mirror| mirror.compare(d, &self.form));
        let mut parents = int(1);
        for l in 0..self.form.levels.len() {
            if !self.form.is_list(l) {
                parents = times(parents, self.form.widths[l].clone());
                self.finish_flags(d, l, &parents);
                continue;
            }
            let last = self.last.as_ref().filter(|_| l + 1 == self.form.levels.len()).map(Last::assembler);
            last.iter().for_each(|last| last.finish(d, &parents));
            if let Some(pos) = self.form.pos(l) {
                self.finish_positions(d, l, pos, &parents);
            }
            if self.form.levels[l].kind().has_table() {
                let [pos, crd, table] = ["pos", "crd", "table"].map(|name| *self.form.levels[l].named(name));
                make_table(d, (pos, crd, table), &parents, self.count(l));
                self.finished(d, table, Expr::Capacity(table));
            }
            let lengths = match last {
                Some(last) => last.lengths(&parents),
                None => self.form.crd(l).map(|crd| (crd, self.count(l))).into_iter().collect(),
            };
            lengths.into_iter().for_each(|(array, len)| self.finished(d, array, len));
            if !self.form.chained(l) {
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

    /// Ends the flags of `len` positions; a bitmap's flags are packed into words.
    fn finish_flags(&self, d: &mut Symbolic, l: usize, len: &Expr) {
        let Some(flags) = self.flags[l] else { return };
        let Some(words) = self.form.levels[l].array(Holds::Words) else {
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

/// The buffer with a level's flags, a byte each, if the level has flags.
fn flags(d: &mut Symbolic, level: &LevelBuffers, name: &str) -> Option<BufferId> {
    let packed = || d.buffer(&format!("{name}_flags"), Type::Bool, BufferRole::Workspace);
    level.kind().is_flagged().then(|| level.array(Holds::Flags).unwrap_or_else(packed))
}

/// Packs word `w` of a bitmap: the flags from 64·w on, of the first `len`.
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

/// Fills the table of a hashed level. Its length is the least power of two that is at least twice `count`; each entry goes to the first
/// free slot from its own slot on.
fn make_table(d: &mut Symbolic, (pos, crd, table): (BufferId, BufferId, BufferId), parents: &Expr, count: Expr) {
    let size = d.fresh("size", Type::I64);
    d.assign(size, int(2));
    d.during(binary(Op::Lt, Expr::Var(size), times(count, int(2))), |d| {
        d.assign(size, times(Expr::Var(size), int(2)));
    });
    let free = fiberloom_core::algebra::apply(Op::Convert(d.element(table)), &[Value::i64(-1)]).expect("an integer");
    alloc(d, table, Expr::Var(size), Some(free));
    let size = Term::fixed(Expr::Capacity(table));
    let whole = Table { crd, table, size };
    d.each("q", int(0), parents.clone(), |d, q| {
        let (begin, end) = (d.index(pos, q.clone()), d.index(pos, plus(q.clone(), int(1))));
        d.each("p", begin, end, |d, p| {
            let at = Term::fixed(d.index(crd, p.clone()));
            let insertion = whole.free(d, &Term::fixed(q), &at);
            let insertion = d.place(&insertion);
            store_index(d, table, insertion, p);
        });
    });
}
