//! A result's levels, assembled from the outermost in.
//!
//! ```text
//!   dense level        position = parent · extent + coordinate; what is below was made for every coordinate
//!   compressed level   append: crd[c] = coordinate, c += 1, if something was stored below; when the fiber is done,
//!                      pos[parent + 1] = c
//! ```
//!
//! Invariants: coordinates of a compressed level arrive in ascending order, once (concretizing sees to it); position
//! arrays start as zeros, and where a parent may be passed over a last pass carries the counts forward; what a dense
//! level holds starts as `initial`, so only what differs must be stored.

use super::nest::{Driven, yes};
use super::{Context, Expr, LevelBuffers, binary, checked_product, int, plus, store_index, times};
use crate::algebra::{Op, Type, Value, identity};
use crate::format::LevelKind;
use crate::loops::{BufferId, Entry, Failure, Stmt, Var};
use crate::notation::concrete::{self, AccessId, Index, Nest, Role};
use crate::stream::Symbolic;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A result that is being assembled.
pub(super) struct Output {
    vars: Vec<Index>,
    extents: Vec<Expr>,
    levels: Vec<LevelBuffers>,
    values: BufferId,
    counts: Vec<Option<Var>>,
    fill: Value,
    result: bool,
    /// What everything holds before anything is stored: the fill, or the identity of a fold in place.
    pub initial: Value,
    uncovered: RefCell<BTreeSet<usize>>,
    /// Room for everything that is appended, if it was made at the beginning.
    roomy: bool,
    /// The accesses whose stored values bound what is appended; `None` once something is appended without such bound.
    leaders: RefCell<Option<BTreeSet<AccessId>>>,
}

/// A place that loops have reached in a result.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The level that comes next.
    pub level: usize,
    position: Expr,
    /// Whether every position of the level above is certainly visited.
    covered: bool,
    /// Of a last compressed level: the coordinate that the value is appended with, and whether it was counted to.
    pending: Option<(Expr, bool)>,
    /// Set when something is stored.
    written: Option<Var>,
}

impl Output {
    /// Whether a nest's result might need no more room than its operands have entries.
    pub fn may_know_its_room(cx: &Context, nest: &Nest) -> bool {
        let levels = &cx.program.tensors[nest.target.tensor.0].format.levels;
        nest.workspace.is_none() && levels.last() == Some(&LevelKind::Compressed)
    }

    /// Makes the nest's result, with nothing stored; with `room` for all that will be appended, if that is known.
    pub fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, room: Option<Expr>) -> Output {
        let place = nest.target.tensor;
        let (tensor, arrays) = (&cx.program.tensors[place.0], &cx.arrays[place.0]);
        let rank = tensor.format.rank();
        let in_place = nest.fold.filter(|_| nest.workspace.is_none());
        let initial =
            in_place.map_or(tensor.fill, |op| identity(op, tensor.ty).expect("folds in place have an identity"));
        let output = Output {
            vars: (0..rank).map(|l| cx.program.level_var(&nest.target, l)).collect(),
            extents: (0..rank).map(|l| cx.extent(tensor.extents[tensor.format.order[l]])).collect(),
            levels: arrays.levels.clone(),
            values: arrays.values,
            counts: (0..rank)
                .map(|l| {
                    let counted = tensor.format.levels[l] == LevelKind::Compressed;
                    counted.then(|| d.fresh(&format!("c{l}_{}", tensor.name), Type::I64))
                })
                .collect(),
            fill: tensor.fill,
            result: matches!(tensor.role, Role::Result(_)),
            initial,
            uncovered: RefCell::default(),
            roomy: room.is_some(),
            leaders: RefCell::new(Some(BTreeSet::new())),
        };
        let guess = room.or_else(|| cx.stored_guess(&nest.rhs)).unwrap_or_else(|| int(16));
        output.allocate(d, guess);
        output
    }

    /// Notes what bounds the values that one loop appends.
    pub fn led_by(&self, slot: &Slot, by: Option<Vec<AccessId>>) {
        if slot.level + 1 == self.levels.len() {
            let mut leaders = self.leaders.borrow_mut();
            *leaders = match (leaders.take(), by) {
                (Some(all), Some(more)) => Some(all.into_iter().chain(more).collect()),
                _ => None,
            };
        }
    }

    /// Room for everything that was appended, if entries of operands bound it.
    pub fn room(&self, cx: &Context) -> Option<Expr> {
        let leaders = self.leaders.borrow();
        let capacities = leaders.as_ref()?.iter().map(|a| Expr::Capacity(cx.values(*a)));
        Some(capacities.reduce(|a, b| binary(Op::Add, a, b)).unwrap_or_else(|| int(0)))
    }

    fn allocate(&self, d: &mut Symbolic, guess: Expr) {
        let first = self.next_compressed(0);
        let top = checked_product(d, &self.extents[..first.unwrap_or(self.levels.len())]);
        let Some(first) = first else {
            return alloc(d, self.values, top, Some(self.initial));
        };
        for l in first..self.levels.len() {
            if let LevelBuffers::Compressed { pos, crd } = self.levels[l] {
                let parents = if l == first { plus(top.clone(), int(1)) } else { int(1) };
                alloc(d, pos, parents, Some(Value::zero(d.element(pos))));
                let last = l + 1 == self.levels.len();
                alloc(d, crd, if last { guess.clone() } else { int(16) }, None);
                d.assign(self.counts[l].expect("compressed levels count"), int(0));
            }
        }
        let dense_tail = self.is_dense(self.levels.len() - 1);
        alloc(d, self.values, if dense_tail { int(0) } else { guess }, None);
    }

    /// Nothing reached yet.
    pub fn root(&self) -> Slot {
        Slot { level: 0, position: int(0), covered: true, pending: None, written: None }
    }

    /// The variable of the level that comes next.
    pub fn next_var(&self, slot: &Slot) -> Option<Index> {
        self.vars.get(slot.level).copied()
    }

    /// Whether level `l` is compressed.
    pub fn is_compressed(&self, l: usize) -> bool {
        l < self.levels.len() && !self.is_dense(l)
    }

    fn is_dense(&self, l: usize) -> bool {
        matches!(self.levels[l], LevelBuffers::Dense)
    }

    fn next_compressed(&self, from: usize) -> Option<usize> {
        (from..self.levels.len()).find(|&l| !self.is_dense(l))
    }

    fn count(&self, l: usize) -> Expr {
        Expr::Var(self.counts[l].expect("compressed levels count"))
    }

    fn arrays(&self, l: usize) -> (BufferId, BufferId) {
        match self.levels[l] {
            LevelBuffers::Compressed { pos, crd } => (pos, crd),
            LevelBuffers::Dense => unreachable!("dense levels have no arrays"),
        }
    }

    /// Before the loop over a compressed level's coordinates: makes room for `bound` of the last level.
    pub fn open(&self, d: &mut Symbolic, slot: &Slot, bound: &dyn Fn(&mut Symbolic) -> Expr) {
        if self.roomy || slot.level + 1 < self.levels.len() {
            return;
        }
        let needed = plus(self.count(slot.level), bound(d));
        let needed = d.define("room", Type::I64, needed);
        let (_, crd) = self.arrays(slot.level);
        reserve(d, crd, needed.clone());
        reserve(d, self.values, needed);
    }

    /// After the loop over a compressed level's coordinates: the fiber ends here.
    pub fn close(&self, d: &mut Symbolic, slot: &Slot) {
        if !slot.covered {
            self.uncovered.borrow_mut().insert(slot.level);
        }
        let (pos, _) = self.arrays(slot.level);
        store_index(d, pos, plus(slot.position.clone(), int(1)), self.count(slot.level));
    }

    /// A coordinate of the slot's level will not be visited.
    pub fn skipped(&self, slot: &Slot) {
        if slot.level < self.levels.len()
            && self.is_dense(slot.level)
            && let Some(next) = self.next_compressed(slot.level)
        {
            self.uncovered.borrow_mut().insert(next);
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
        if self.is_dense(l) {
            let position = plus(times(slot.position.clone(), self.extents[l].clone()), at);
            let covered = slot.covered && driven == Driven::Counted;
            return inner(d, Slot { level: l + 1, position, covered, ..slot.clone() });
        }
        let below = Slot { level: l + 1, position: self.count(l), covered: true, pending: None, written: None };
        if l + 1 == self.levels.len() {
            return inner(d, Slot { pending: Some((at, driven != Driven::Stored)), ..below });
        }
        let (_, crd) = self.arrays(l);
        reserve(d, crd, plus(self.count(l), int(1)));
        self.make_block(d, l);
        let append = |d: &mut Symbolic| self.append(d, l, at.clone());
        match self.next_compressed(l + 1) {
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

    /// Room below the entry of level `l` that is about to be appended, down to the next compressed level.
    fn make_block(&self, d: &mut Symbolic, l: usize) {
        let next = self.next_compressed(l + 1);
        let width = product(&self.extents[l + 1..next.unwrap_or(self.levels.len())]);
        let (begin, end) = (times(self.count(l), width.clone()), times(plus(self.count(l), int(1)), width));
        let (buffer, offset, value) = match next {
            Some(m) => {
                let (pos, _) = self.arrays(m);
                (pos, int(1), Value::zero(d.element(pos)))
            }
            None => (self.values, int(0), self.initial),
        };
        let (begin, end) = (plus(begin, offset.clone()), plus(end, offset));
        reserve(d, buffer, end.clone());
        if next != Some(l + 1) {
            d.each("b", begin, end, |d, b| d.emit(Stmt::Store(buffer, b, Expr::Const(value))));
        }
    }

    fn append(&self, d: &mut Symbolic, l: usize, at: Expr) {
        let (_, crd) = self.arrays(l);
        store_index(d, crd, self.count(l), at);
        d.assign(self.counts[l].expect("compressed levels count"), plus(self.count(l), int(1)));
    }

    /// Opens dense levels whose variables are bound already.
    pub fn locate(&self, mut slot: Slot, coordinate: &dyn Fn(Index) -> Option<Expr>) -> Slot {
        while slot.level < self.levels.len()
            && self.is_dense(slot.level)
            && let Some(at) = coordinate(self.vars[slot.level])
        {
            slot.position = plus(times(slot.position, self.extents[slot.level].clone()), at);
            slot.level += 1;
        }
        slot
    }

    /// Stores a value below all levels.
    pub fn store(&self, d: &mut Symbolic, slot: &Slot, fold: Option<Op>, value: Expr) {
        if let Some((at, counted)) = slot.pending.clone() {
            let last = self.levels.len() - 1;
            let append = |d: &mut Symbolic, value: Expr| {
                d.emit(Stmt::Store(self.values, slot.position.clone(), value));
                self.append(d, last, at);
            };
            if !counted {
                return append(d, value);
            }
            let value = d.define("value", self.fill.ty(), value);
            let differs = binary(Op::Ne, value.clone(), Expr::Const(self.fill));
            return d.when(differs, |d| append(d, value), |_| {});
        }
        let value = match fold {
            None => value,
            Some(op) => binary(op, Expr::Load(self.values, Box::new(slot.position.clone())), value),
        };
        d.emit(Stmt::Store(self.values, slot.position.clone(), value));
        if let Some(flag) = slot.written {
            d.assign(flag, yes());
        }
    }

    /// The result's end: positions that were passed over, then lengths.
    pub fn finish(self, d: &mut Symbolic) {
        let uncovered = self.uncovered.borrow();
        let mut parents = int(1);
        for l in 0..self.levels.len() {
            if self.is_dense(l) {
                parents = times(parents, self.extents[l].clone());
                continue;
            }
            let (pos, crd) = self.arrays(l);
            if uncovered.contains(&l) {
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
            self.finished(d, pos, plus(parents, int(1)));
            parents = self.count(l);
            self.finished(d, crd, parents.clone());
        }
        self.finished(d, self.values, parents);
    }

    fn finished(&self, d: &mut Symbolic, buffer: BufferId, len: Expr) {
        if self.result {
            d.call(Entry::Finish { buffer, len });
        }
    }
}

impl Context<'_> {
    fn values(&self, a: AccessId) -> BufferId {
        self.arrays[self.program.accesses[a.0].tensor.0].values
    }

    /// A guess at the number of stored values of an expression, from those of its operands: their sum, the least of
    /// a product's. `None` where it is not made of sparse operands.
    fn stored_guess(&self, e: &concrete::Expr) -> Option<Expr> {
        match e {
            concrete::Expr::Access(a, _) => {
                let values = self.values(*a);
                let sparse = self.levels(*a).iter().any(|l| !matches!(l, LevelBuffers::Dense));
                sparse.then_some(Expr::Capacity(values))
            }
            concrete::Expr::Call(op, args, _) => {
                let known = args.iter().filter_map(|a| self.stored_guess(a));
                let join = if matches!(op, Op::Mul | Op::And | Op::AndAlso) { Op::Min } else { Op::Add };
                known.reduce(|a, b| binary(join, a, b))
            }
            concrete::Expr::Reduce(_, _, body, _) => self.stored_guess(body),
            concrete::Expr::Literal(_) | concrete::Expr::Index(_) => None,
        }
    }
}

fn product(factors: &[Expr]) -> Expr {
    factors.iter().cloned().fold(int(1), times)
}

pub(super) fn alloc(d: &mut Symbolic, buffer: BufferId, len: Expr, fill: Option<Value>) {
    d.call(Entry::Alloc { buffer, len, fill });
}

/// Room for `len` elements, if there is not.
pub(super) fn reserve(d: &mut Symbolic, buffer: BufferId, len: Expr) {
    let full = binary(Op::Gt, len.clone(), Expr::Capacity(buffer));
    d.when(full, |d| d.call(Entry::Reserve { buffer, len }), |_| {});
}
