//! Workspaces whose size depends on the entries put into them, not on extents: values under keys.
//!
//! ```text
//!   keys     for each entry, in order of arrival: its coordinates as one number, or a word each where one is too small
//!   values   for each entry, its value
//!   table    hashed: an entry's number, or −1, from its key's slot on      places   for each entry, its slot in the table
//!   order    while draining: the entries by ascending keys
//! ```
//!
//! A *list* stores every value as a new entry: for coordinates that arrive once, or values that must be folded in order of arrival, which
//! happens while draining. A *hashed* workspace searches for the key first, and folds into the entry that has it.
//!
//! Whatever the keys are, an insertion into a hashed workspace inspects at most [`PROBES`] slots. If other keys hold them all, the value
//! is a new entry without a slot, as in a list, and draining joins entries of the same key. So keys that are chosen to collide cost the
//! memory of a list, and at most that many steps a value.
//!
//! Invariants: between uses the table holds −1 everywhere. Its size is a power of two; it doubles when half of it is
//! taken, and halves after a use that left seven eighths of it free, so that short rows touch little memory.

use super::insertion::Insertion;
use super::output::Output;
use super::room::{alloc, reserve};
use super::scratch::{Front, Into, Scratch, begun};
use super::{Context, Expr, binary, call, int, plus, times};
use crate::plan::Driver;
use crate::stream::{ListFiber, slot};
use crate::{BufferId, Entry, Failure, Stmt, Symbolic, Term, Var};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::hash;
use fiberloom_core::notation::concrete::{self, Nest, WorkspaceKind};
use fiberloom_core::notation::typed::Fun;

/// The maximum number of slots that an insertion inspects. In a half-full table, unless keys are chosen to collide, one entry in some
/// hundred thousand needs more.
const PROBES: i64 = 64;

/// The initial room, and the least size of a table.
const LEAST: i64 = 16;

/// A workspace of values under keys.
pub(super) struct Keyed {
    front: Front,
    keys: Keys,
    values: BufferId,
    /// The number of entries.
    count: Var,
    table: Option<Table>,
    fold: Option<Fun>,
    /// For a list that is folded: the number of its first entries, which are the old version, into which the others are folded.
    laid: Option<Var>,
}

impl Keyed {
    pub fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, kind: WorkspaceKind) -> Keyed {
        let (front, is_apart) = (Front::of(cx, nest), kind.keys() == Some(concrete::Keys::Apart));
        let mut buffer = |what: &str, ty| d.private(&format!("{}_w{what}", front.name), ty);
        let values = buffer("", front.initial.ty());
        let words: Vec<BufferId> = match is_apart {
            true => front.vars.iter().map(|_| buffer("keys", Type::I64)).collect(),
            false => vec![buffer("keys", Type::I64)],
        };
        let order = buffer("order", Type::I64);
        let apart = is_apart.then(|| [buffer("word", Type::I64), buffer("turn", Type::I64)]);
        let hashed = matches!(kind, WorkspaceKind::Hashed(_));
        let hashed = hashed.then(|| [buffer("table", Type::I64), buffer("places", Type::I64)]);
        for b in words.iter().chain(apart.iter().flatten()).chain([&values, &order]) {
            alloc(d, *b, int(LEAST), None);
        }
        let shifts = if is_apart { None } else { Some(shifts(d, &front.extents)) };
        let count = d.fresh(&format!("{}_wcount", front.name), Type::I64);
        d.assign(count, int(0));
        let table = hashed.map(|[table, places]| Table::begin(d, table, places));
        let fold = nest.assign().fold();
        let laid = fold.filter(|_| table.is_none()).map(|_| d.fresh(&format!("{}_wlaid", front.name), Type::I64));
        let keys = Keys { words, shifts, order, apart };
        Keyed { front, keys, values, count, table, fold, laid }
    }
}

impl Scratch for Keyed {
    /// Removes all entries. Draining has left the table clear.
    fn clear(&self, d: &mut Symbolic) {
        if let Some(table) = &self.table {
            table.shrink(d, self.count);
        }
        d.assign(self.count, int(0));
        self.lay(d);
    }

    fn lay(&self, d: &mut Symbolic) {
        if let Some(laid) = self.laid {
            d.assign(laid, Expr::Var(self.count));
        }
    }

    fn put(&self, cx: &Context, d: &mut Symbolic, fold: Option<Fun>, at: &[Expr], value: Expr) {
        let ty = self.front.initial.ty();
        let key: Vec<Expr> = self.keys.of(at).into_iter().map(|k| d.define("key", Type::I64, k)).collect();
        let Some((table, fun)) = self.table.as_ref().zip(fold) else { return self.append(d, &key, value) };
        let value = begun(cx, d, (fun, self.front.initial), value);
        let value = d.define("value", ty, value);
        let place = table.find(d, &key, &self.keys);
        let entry = d.define("entry", Type::I64, Expr::Load(table.entries, Box::new(place.clone())));
        let free = binary(Op::Lt, entry.clone(), int(0));
        let known = binary(Op::AndAlso, binary(Op::Ge, entry.clone(), int(0)), self.keys.are(&entry, &key));
        let join = |d: &mut Symbolic| {
            let joined =
                call::applied(cx, d, fun, vec![Expr::Load(self.values, Box::new(entry.clone())), value.clone()]);
            d.emit(Stmt::Store(self.values, entry, joined));
        };
        let enter = |d: &mut Symbolic| {
            let n = Expr::Var(self.count);
            d.when(free, |d| d.emit(Stmt::Store(table.entries, place.clone(), n.clone())), |_| {});
            reserve(d, table.places, plus(n.clone(), int(1)));
            d.emit(Stmt::Store(table.places, n, place));
            self.append(d, &key, value.clone());
            table.grow_if_half_full(d, self.count, &self.keys);
        };
        d.when(known, join, enter);
    }

    fn drain(&self, cx: &Context, d: &mut Symbolic, _: Option<&ListFiber<Term>>, (output, slot): Into) {
        let n = d.define("entries", Type::I64, Expr::Var(self.count));
        if let Some(table) = &self.table {
            table.empty(d, &n);
        }
        self.keys.sort(d, &n);
        self.drain_sorted(cx, d, output, slot, (0, int(0), n));
    }
}

impl Keyed {
    /// Appends an entry.
    fn append(&self, d: &mut Symbolic, key: &[Expr], value: Expr) {
        let n = Expr::Var(self.count);
        let next = plus(n.clone(), int(1));
        for b in self.keys.words.iter().chain([&self.values]) {
            reserve(d, *b, next.clone());
        }
        for (word, k) in self.keys.words.iter().zip(key) {
            d.emit(Stmt::Store(*word, n.clone(), k.clone()));
        }
        d.emit(Stmt::Store(self.values, n, value));
        d.assign(self.count, next);
    }

    /// Drains the sorted entries `begin..end`, which agree in the variables before `t`: entries that agree in `t` too form one
    /// coordinate.
    fn drain_sorted(
        &self,
        cx: &Context,
        d: &mut Symbolic,
        output: &Output,
        slot: &Insertion,
        (t, begin, end): (usize, Expr, Expr),
    ) {
        let list = output.form.is_list(slot.level);
        if list {
            let length = binary(Op::Sub, end.clone(), begin.clone());
            output.open(d, slot, &|_| length.clone());
        }
        let last = t + 1 == self.front.vars.len();
        let s = d.fresh("s", Type::I64);
        d.assign(s, begin);
        let here = Expr::Var(s);
        d.during(binary(Op::Lt, here.clone(), end.clone()), |d| {
            let first = d.define("first", Type::I64, here.clone());
            let g = d.define("group", Type::I64, self.keys.group(t, first.clone()));
            let folded = last.then(|| {
                let folded = d.fresh("t", self.front.initial.ty());
                d.assign(folded, self.sorted(first.clone()));
                self.begin_fold(cx, d, folded, &first);
                folded
            });
            d.assign(s, plus(here.clone(), int(1)));
            let same = binary(Op::Eq, self.keys.group(t, here.clone()), g.clone());
            if !last || self.fold.is_some() {
                d.during(binary(Op::AndAlso, binary(Op::Lt, here.clone(), end.clone()), same), |d| {
                    if let (Some(folded), Some(fun)) = (folded, self.fold) {
                        let joined = call::applied(cx, d, fun, vec![Expr::Var(folded), self.sorted(here.clone())]);
                        d.assign(folded, joined);
                    }
                    d.assign(s, plus(here.clone(), int(1)));
                });
            }
            let at = self.keys.coordinate(t, g);
            let at = d.define(&self.front.vars[t], Type::I64, at);
            output.visit(d, slot, at, Driver::Stored, &mut |d, slot| match folded {
                Some(folded) => output.store(d, &slot, false, Expr::Var(folded)),
                None => self.drain_sorted(cx, d, output, &slot, (t + 1, first.clone(), here.clone())),
            });
        });
        if list {
            output.close(d, slot);
        }
    }

    /// Begins the fold of a key: if its first value is not of the old version, folds it into the initial value.
    fn begin_fold(&self, cx: &Context, d: &mut Symbolic, folded: Var, first: &Expr) {
        let Some((laid, fun)) = self.laid.zip(self.fold) else { return };
        if cx.simplify.leads(fun, self.front.initial) {
            return;
        }
        let entry = Expr::Load(self.keys.order, Box::new(first.clone()));
        let came = binary(Op::Ge, entry, Expr::Var(laid));
        let into = |d: &mut Symbolic| {
            let value = begun(cx, d, (fun, self.front.initial), Expr::Var(folded));
            d.assign(folded, value);
        };
        d.when(came, into, |_| {});
    }

    /// The value of the entry with this rank in ascending order of keys.
    fn sorted(&self, at: Expr) -> Expr {
        Expr::Load(self.values, Box::new(Expr::Load(self.keys.order, Box::new(at))))
    }
}

/// The coordinates of entries, in order of arrival.
struct Keys {
    /// One array of keys, or one for each variable.
    words: Vec<BufferId>,
    /// For one array: the number of bits by which each variable's coordinate is shifted in a key; 0 for the last.
    shifts: Option<Vec<Expr>>,
    /// The entries by ascending keys, after sorting.
    order: BufferId,
    /// For an array per variable: one of the arrays in sorted order, and the permutation that sorts it.
    apart: Option<[BufferId; 2]>,
}

impl Keys {
    /// The key of coordinates, word by word.
    fn of(&self, at: &[Expr]) -> Vec<Expr> {
        match &self.shifts {
            None => at.to_vec(),
            Some(shifts) => {
                let terms = at.iter().zip(shifts).map(|(x, s)| shifted(Op::Shl, x.clone(), s));
                vec![terms.reduce(|a, b| binary(Op::Or, a, b)).expect("a variable or more")]
            }
        }
    }

    /// The key of an entry.
    fn at(&self, entry: &Expr) -> Vec<Expr> {
        self.words.iter().map(|word| Expr::Load(*word, Box::new(entry.clone()))).collect()
    }

    /// The condition that an entry has this key.
    fn are(&self, entry: &Expr, key: &[Expr]) -> Expr {
        let equal = self.at(entry).into_iter().zip(key).map(|(k, x)| binary(Op::Eq, k, x.clone()));
        equal.reduce(|a, b| binary(Op::AndAlso, a, b)).expect("a word or more")
    }

    /// Sorts `n` entries, stably, by each word, the last word first. A single array of keys is sorted in place.
    fn sort(&self, d: &mut Symbolic, n: &Expr) {
        reserve(d, self.order, n.clone());
        let sort = |d: &mut Symbolic, keys, order| d.call(Entry::Sort { keys, order, len: n.clone() });
        let Some([word, turn]) = self.apart else { return sort(d, self.words[0], self.order) };
        reserve(d, word, n.clone());
        reserve(d, turn, n.clone());
        let load = |b: BufferId, at: Expr| Expr::Load(b, Box::new(at));
        for (k, keys) in self.words.iter().enumerate().rev() {
            let first = k + 1 == self.words.len();
            d.each("e", int(0), n.clone(), |d, e| {
                let entry = if first { e.clone() } else { load(self.order, e.clone()) };
                d.emit(Stmt::Store(word, e, load(*keys, entry)));
            });
            if first {
                sort(d, word, self.order);
                continue;
            }
            sort(d, word, turn);
            d.each("e", int(0), n.clone(), |d, e| {
                d.emit(Stmt::Store(turn, e.clone(), load(self.order, load(turn, e))));
            });
            d.each("e", int(0), n.clone(), |d, e| d.emit(Stmt::Store(self.order, e.clone(), load(turn, e))));
        }
    }

    /// A number that is equal for those sorted entries that agree in `t`, among entries that agree in the variables before it.
    fn group(&self, t: usize, at: Expr) -> Expr {
        let load = |b: BufferId, at: Expr| Expr::Load(b, Box::new(at));
        match &self.shifts {
            None => load(self.words[t], load(self.order, at)),
            Some(shifts) => shifted(Op::Shr, load(self.words[0], at), &shifts[t]),
        }
    }

    /// The coordinate of variable `t` in a group.
    fn coordinate(&self, t: usize, group: Expr) -> Expr {
        let Some(shifts) = self.shifts.as_ref().filter(|_| t > 0) else { return group };
        let outer = binary(Op::Sub, shifts[t - 1].clone(), shifts[t].clone());
        let mask = binary(Op::Sub, shifted(Op::Shl, int(1), &outer), int(1));
        binary(Op::And, group, mask)
    }
}

/// A shift of a number by a number of bits.
fn shifted(op: Op, e: Expr, by: &Expr) -> Expr {
    if *by == int(0) { e } else { binary(op, e, by.clone()) }
}

/// The number of bits by which each variable's coordinate is shifted in the combined key: the bits of the variables behind it. The kernel
/// fails if a key needs more than 63 bits.
fn shifts(d: &mut Symbolic, extents: &[Expr]) -> Vec<Expr> {
    let mut shifts = vec![int(0); extents.len()];
    for t in (0..extents.len() - 1).rev() {
        let bits = bits(d, &extents[t + 1]);
        let shift = plus(shifts[t + 1].clone(), bits);
        shifts[t] = d.define("shift", Type::I64, shift);
    }
    let most = binary(Op::Shr, int(i64::MAX), binary(Op::Min, shifts[0].clone(), int(63)));
    let over = binary(Op::OrElse, binary(Op::Gt, shifts[0].clone(), int(62)), binary(Op::Gt, extents[0].clone(), most));
    d.when(over, |d| d.call(Entry::Fail(Failure::Overflow)), |_| {});
    shifts
}

/// The number of bits that coordinates below an extent need.
fn bits(d: &mut Symbolic, extent: &Expr) -> Expr {
    if let Expr::Const(n) = extent {
        return int(i64::from(u64::BITS - (n.bits().max(1) - 1).leading_zeros()));
    }
    let bits = d.fresh("bits", Type::I64);
    d.assign(bits, int(0));
    let here = Expr::Var(bits);
    let holds = binary(Op::Lt, binary(Op::Shl, int(1), here.clone()), extent.clone());
    let more = binary(Op::AndAlso, binary(Op::Lt, here.clone(), int(63)), holds);
    d.during(more, |d| d.assign(bits, plus(here, int(1))));
    Expr::Var(bits)
}

/// A hash table from keys to entries, with open addressing.
struct Table {
    /// The entry in each slot, or −1.
    entries: BufferId,
    /// For each entry, the slot at which the search for it ended.
    places: BufferId,
    /// The number of slots in use, a power of two.
    size: Var,
}

impl Table {
    fn begin(d: &mut Symbolic, entries: BufferId, places: BufferId) -> Table {
        alloc(d, places, int(LEAST), None);
        alloc(d, entries, int(LEAST), Some(Value::i64(-1)));
        let size = d.fresh("size", Type::I64);
        d.assign(size, int(LEAST));
        Table { entries, places, size }
    }

    fn shrink(&self, d: &mut Symbolic, count: Var) {
        let size = Expr::Var(self.size);
        let idle = binary(Op::Lt, times(Expr::Var(count), int(8)), size.clone());
        let large = binary(Op::Gt, size.clone(), int(LEAST));
        d.when(binary(Op::AndAlso, idle, large), |d| d.assign(self.size, binary(Op::Shr, size, int(1))), |_| {});
    }

    /// The slot that has the key, or a free slot, or the slot at which the search gives up.
    fn find(&self, d: &mut Symbolic, key: &[Expr], keys: &Keys) -> Expr {
        self.search(d, key, &|entry| keys.are(&entry, key))
    }

    /// The first of [`PROBES`] slots, from a key's own slot on, that is free or whose entry is `wanted`; else the last of these slots.
    fn search(&self, d: &mut Symbolic, key: &[Expr], wanted: &dyn Fn(Expr) -> Expr) -> Expr {
        let (last, outer) = key.split_last().expect("a word or more");
        let parent = outer.iter().cloned().reduce(|a, b| binary(Op::Xor, times(a, int(hash::PARENT)), b));
        let (parent, size) = (Term::fixed(parent.unwrap_or_else(|| int(0))), d.read(self.size));
        let first = slot(d, (&parent, &Term::fixed(last.clone())), &size);
        let first = d.place(&first);
        let (place, left) = (d.fresh("place", Type::I64), d.fresh("left", Type::I64));
        d.assign(place, first);
        d.assign(left, int(PROBES));
        let here = Expr::Load(self.entries, Box::new(Expr::Var(place)));
        let other = Expr::Op(Op::Not, vec![wanted(here.clone())]);
        let taken = binary(Op::AndAlso, binary(Op::Ge, here, int(0)), other);
        let more = binary(Op::Gt, Expr::Var(left), int(0));
        d.during(binary(Op::AndAlso, more, taken), |d| {
            let mask = binary(Op::Sub, Expr::Var(self.size), int(1));
            d.assign(place, binary(Op::And, plus(Expr::Var(place), int(1)), mask));
            d.assign(left, binary(Op::Sub, Expr::Var(left), int(1)));
        });
        d.define("found", Type::I64, Expr::Var(place))
    }

    fn grow_if_half_full(&self, d: &mut Symbolic, count: Var, keys: &Keys) {
        let size = Expr::Var(self.size);
        let full = binary(Op::Ge, times(Expr::Var(count), int(2)), size.clone());
        let grow = |d: &mut Symbolic| {
            d.assign(self.size, times(size.clone(), int(2)));
            reserve(d, self.entries, size.clone());
            d.each("s", int(0), size, |d, s| d.emit(Stmt::Store(self.entries, s, int(-1))));
            d.each("e", int(0), Expr::Var(count), |d, e| {
                let key: Vec<Expr> = keys.at(&e).into_iter().map(|k| d.define("key", Type::I64, k)).collect();
                let place = self.search(d, &key, &|_| Expr::Const(Value::bool(false)));
                d.emit(Stmt::Store(self.places, e.clone(), place.clone()));
                let here = Expr::Load(self.entries, Box::new(place.clone()));
                d.when(binary(Op::Lt, here, int(0)), |d| d.emit(Stmt::Store(self.entries, place, e)), |_| {});
            });
        };
        d.when(full, grow, |_| {});
    }

    /// Clears the slots of all `n` entries.
    fn empty(&self, d: &mut Symbolic, n: &Expr) {
        d.each("e", int(0), n.clone(), |d, e| {
            d.emit(Stmt::Store(self.entries, Expr::Load(self.places, Box::new(e)), int(-1)));
        });
    }
}
