//! Workspaces collect values whose coordinates arrive out of order.
//!
//! ```text
//!   Row, one short variable   row[j]  values, all of them drained
//!   Dense, one variable       w[j]    values, and the set of j's at which values were put (set.rs); for short rows also a flag
//!                                     for each j and a list (few.rs); or, if values are put only at the entries of a list that is
//!                                     fixed meanwhile, a flag for each j and that list
//!   Keyed, any variables      values under their coordinates: a list, or hashed (keyed.rs)
//! ```
//!
//! `put` fills a workspace; `drain` moves its values in ascending order into the result's next levels. Gustavson's algorithm is the dense
//! workspace inside the loop over rows.
//!
//! Invariant of a dense workspace whose fold has the identity 0: between rows every value is 0, so that values are
//! folded in without a test.

use super::few::Few;
use super::keyed::Keyed;
use super::nest::Driven;
use super::output::{Output, Slot, alloc};
use super::set::Set;
use super::{Context, Expr, binary, int, plus};
use crate::algebra::{Op, Type, Value};
use crate::loops::arith::yes;
use crate::loops::choose::scope::Scope;
use crate::loops::lower::{fiber, nest};
use crate::loops::{BufferId, Role, Stmt, Symbolic, Var};
use crate::notation::concrete::{self, AccessId, Index, Nest, Origin, Workspace, WorkspaceKind};
use crate::notation::typed::Fun;
use crate::stream::Domain;

/// The coordinate of an index variable, if it is bound.
pub(super) type Coordinate<'a> = &'a dyn Fn(Index) -> Option<Expr>;

/// A workspace of one nest.
pub(super) enum Scratch {
    Row(Row),
    Dense(Dense),
    Keyed(Keyed),
}

impl Scratch {
    /// Makes the nest's workspace.
    pub fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, w: Workspace, output: &Output) -> Scratch {
        match w.kind {
            WorkspaceKind::Row => Scratch::Row(Row::begin(cx, d, nest)),
            WorkspaceKind::Dense => Scratch::Dense(Dense::begin(cx, d, nest, w, output.appends_always(d))),
            WorkspaceKind::List | WorkspaceKind::Hashed => Scratch::Keyed(Keyed::begin(cx, d, nest, w)),
            WorkspaceKind::Counts => unreachable!("counted copies have a nest of their own"),
        }
    }

    /// The value at coordinates at which nothing is put.
    pub fn initial(&self) -> Value {
        match self {
            Scratch::Row(row) => row.initial,
            Scratch::Dense(dense) => dense.front.initial,
            Scratch::Keyed(keyed) => keyed.initial(),
        }
    }

    /// The variable that must hold a bound on the number of values that are put before the next drain, if the workspace needs one.
    pub fn most(&self) -> Option<Var> {
        match self {
            Scratch::Dense(Dense { reached: Reached::Anywhere { most, .. }, .. }) => Some(*most),
            _ => None,
        }
    }

    /// This workspace for a short row, if it has a form for these.
    pub fn of_few(&self) -> Option<Scratch> {
        match self {
            Scratch::Dense(Dense { reached: Reached::Anywhere { few: Some(few), .. }, front, values, clear }) => {
                let reached = Reached::Few(*few);
                Some(Scratch::Dense(Dense { front: front.clone(), values: *values, reached, clear: *clear }))
            }
            _ => None,
        }
    }

    /// Emitted before values are put: empties the workspace, if draining does not.
    pub fn clear(&self, cx: &Context, d: &mut Symbolic) {
        match self {
            Scratch::Row(row) => row.clear(cx, d),
            Scratch::Dense(Dense { reached: Reached::Few(few), .. }) => few.clear(d),
            Scratch::Dense(_) => {}
            Scratch::Keyed(keyed) => keyed.clear(d),
        }
    }

    /// Puts a value at the bound coordinates; if the nest has a function, folds it into the value there.
    pub fn put(&self, cx: &Context, d: &mut Symbolic, nest: &Nest, coordinate: Coordinate, value: Expr) {
        match self {
            Scratch::Row(row) => row.put(cx, d, coordinate, value),
            Scratch::Dense(dense) => dense.put(cx, d, nest.fold, coordinate, value),
            Scratch::Keyed(keyed) => keyed.put(cx, d, nest.fold, coordinate, value),
        }
    }

    /// Whether coordinates of `v` may be inserted in bulk: the workspace has a set, and values need no test for the first one.
    pub fn has_set(&self, v: Index, fold: bool) -> bool {
        match self {
            Scratch::Dense(Dense { reached: Reached::Anywhere { .. }, front, clear, .. }) => {
                front.vars[0] == v && (clear.is_some() || !fold)
            }
            _ => false,
        }
    }

    /// Inserts a coordinate and the next `distance` ones in bulk; `distance` is below 63. Returns the workspace into which their values
    /// must be put, without a test.
    ///
    /// # Panics
    /// If the workspace has no set.
    pub fn said(&self, d: &mut Symbolic, first: &Expr, distance: Expr) -> Scratch {
        match self {
            Scratch::Dense(dense) => Scratch::Dense(dense.said(d, first, distance)),
            _ => unreachable!("it was asked whether there is a set"),
        }
    }

    /// Marks the values so far as the old version, into which later values are folded.
    pub fn lay(&self, d: &mut Symbolic) {
        if let Scratch::Keyed(keyed) = self {
            keyed.lay(d);
        }
    }

    /// Moves all values into the result's next levels, in ascending order.
    pub fn drain(&self, cx: &Context, d: &mut Symbolic, scope: &Scope, output: &Output, slot: &Slot) {
        match self {
            Scratch::Row(row) => row.drain(cx, d, output, slot),
            Scratch::Dense(dense) => dense.drain(cx, d, scope, output, slot),
            Scratch::Keyed(keyed) => keyed.drain(cx, d, output, slot),
        }
    }
}

/// A workspace with one value for each coordinate of one variable, and no record of the coordinates at which values were put.
pub(super) struct Row {
    var: Index,
    extent: Expr,
    values: BufferId,
    fold: Fun,
    initial: Value,
}

impl Row {
    fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest) -> Row {
        let tensor = &cx.program.tensors[nest.target.tensor.0];
        let var = cx.program.level_var(&nest.target, tensor.format.rank() - 1);
        let extent = cx.extent(cx.program.vars[var.0].extent);
        let values = d.buffer(&format!("{}_row", tensor.name), tensor.ty, Role::Workspace);
        alloc(d, values, extent.clone(), None);
        let fold = nest.fold.expect("rows are folded: checked");
        let initial = cx.simplify.begins(fold, tensor.ty).expect("folds in place have an identity");
        Row { var, extent, values, fold, initial }
    }

    fn each(&self, cx: &Context, d: &mut Symbolic, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        d.each(&cx.program.vars[self.var.0].name, int(0), self.extent.clone(), inner);
    }

    fn clear(&self, cx: &Context, d: &mut Symbolic) {
        self.each(cx, d, &mut |d, at| d.emit(Stmt::Store(self.values, at, Expr::Const(self.initial))));
    }

    fn put(&self, cx: &Context, d: &mut Symbolic, coordinate: Coordinate, value: Expr) {
        let at = coordinate(self.var).expect("all loops are bound");
        let before = Expr::Load(self.values, Box::new(at.clone()));
        let folded = fiber::applied(cx, d, self.fold, vec![before, value]);
        d.emit(Stmt::Store(self.values, at, folded));
    }

    fn drain(&self, cx: &Context, d: &mut Symbolic, output: &Output, slot: &Slot) {
        self.each(cx, d, &mut |d, at| {
            let value = Expr::Load(self.values, Box::new(at.clone()));
            output.visit(d, slot, at, Driven::Counted, &mut |d, slot| output.store(d, &slot, false, value.clone()));
        });
    }
}

/// A list such that a nest puts values into its workspace over `v` only at the list's entries: the list is scattered while the workspace
/// is filled, and where it has no entry the folded value is neutral.
fn puts_within(cx: &Context, nest: &Nest, w: Workspace, v: Index) -> Option<AccessId> {
    let fun = nest.fold.filter(|_| nest.places.is_none() && cx.program.vars[v.0].origin == Origin::Loop)?;
    let around = &nest.order[..w.prefix];
    let stays = |a: &AccessId| {
        let access = &cx.program.accesses[a.0];
        let level = |l: usize| cx.program.level_var(access, l);
        let along = (0..access.vars.len()).find(|l| level(*l) == v);
        along.is_some_and(|l| {
            let above = (0..l).flat_map(|k| cx.program.roots(level(k)));
            cx.prepared.tables.contains_key(&(*a, l)) && above.into_iter().all(|u| around.contains(&u))
        })
    };
    let needed = |a: &AccessId| {
        let without = cx.simplify.replace(&nest.rhs, &|x| (x == *a).then(|| cx.fill(x)));
        matches!(without, concrete::Expr::Literal(v) if cx.simplify.neutral(fun, v))
    };
    nest.rhs.accesses().into_iter().find(|a| stays(a) && needed(a))
}

/// The tensor, variables and initial value of a workspace.
#[derive(Clone)]
pub(super) struct Front {
    /// The tensor's name.
    pub name: String,
    /// The workspace's variables, in the order of the tensor's levels.
    pub vars: Vec<Index>,
    pub extents: Vec<Expr>,
    /// The value at coordinates at which nothing is put.
    pub initial: Value,
}

impl Front {
    pub fn of(cx: &Context, nest: &Nest) -> Front {
        let tensor = &cx.program.tensors[nest.target.tensor.0];
        let vars = cx.program.drained(nest);
        let extents = vars.iter().map(|v| cx.extent(cx.program.vars[v.0].extent)).collect();
        Front { name: tensor.name.clone(), vars, extents, initial: tensor.fill }
    }
}

/// A workspace of one variable, with an element for each coordinate, and a record of the coordinates at which values were put.
pub(super) struct Dense {
    front: Front,
    values: BufferId,
    reached: Reached,
    /// The value of all elements between rows; `None` if they are arbitrary.
    clear: Option<Value>,
}

/// The record of the coordinates at which values were put.
enum Reached {
    /// Any coordinates. `most` bounds the number of values that are put; if it is small, `few` is used instead of the set.
    Anywhere { set: Set, most: Var, few: Option<Few> },
    /// Any coordinates, in a short row.
    Few(Few),
    /// Coordinates that were inserted beforehand; `put` tests nothing.
    Said,
    /// Entries of `list`, which is fixed meanwhile; `there` has a flag for each coordinate.
    Within { list: AccessId, there: BufferId },
}

impl Reached {
    /// Emits the record of a value put at a coordinate: `first` if it is the first value there, `again` otherwise.
    fn insert(
        &self,
        d: &mut Symbolic,
        at: &Expr,
        first: impl FnOnce(&mut Symbolic),
        again: impl FnOnce(&mut Symbolic),
    ) {
        let enter = |d: &mut Symbolic, absent: Expr, insert: &dyn Fn(&mut Symbolic)| {
            let put = |d: &mut Symbolic| {
                insert(d);
                first(d);
            };
            d.when(absent, put, again);
        };
        match self {
            Reached::Anywhere { set, .. } => {
                let absent = set.absent(d, at);
                enter(d, absent, &|d| set.insert(d, at));
            }
            Reached::Few(few) => enter(d, few.absent(at), &|d| few.insert(d, at)),
            // Each element holds a value or the clear one.
            Reached::Said => {}
            Reached::Within { there, .. } => d.emit(Stmt::Store(*there, at.clone(), yes())),
        }
    }
}

impl Dense {
    /// `appended` is the type of coordinates of the last list, if every drain appends to it.
    fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, w: Workspace, appended: Option<Type>) -> Dense {
        let front = Front::of(cx, nest);
        let ty = front.initial.ty();
        let name = format!("{}_w", front.name);
        let values = d.buffer(&name, ty, Role::Workspace);
        let within = puts_within(cx, nest, w, front.vars[0]);
        // Fresh memory is all zero bits: if that is the initial value, allocation touches no page that is not used.
        let free = front.initial == Value::zero(ty) || within.is_some();
        let clear = (nest.fold.is_some() && free).then_some(front.initial);
        alloc(d, values, front.extents[0].clone(), clear);
        let reached = match within {
            Some(list) => {
                let there = d.buffer(&format!("{name}there"), Type::Bool, Role::Workspace);
                alloc(d, there, front.extents[0].clone(), Some(Value::bool(false)));
                Reached::Within { list, there }
            }
            None => {
                let most = d.fresh(&format!("{name}most"), Type::I64);
                let few = appended.filter(|_| cx.few > 0).map(|ty| Few::begin(d, &name, &front.extents[0], ty, cx.few));
                Reached::Anywhere { set: Set::begin(d, &name, &front.extents[0]), most, few }
            }
        };
        Dense { front, values, reached, clear }
    }

    fn put(&self, cx: &Context, d: &mut Symbolic, fold: Option<Fun>, coordinate: Coordinate, value: Expr) {
        let at = coordinate(self.front.vars[0]).expect("all loops are bound");
        let before = self.value(&at);
        let store = |value: Expr| Stmt::Store(self.values, at.clone(), value);
        match fold {
            Some(fun) if self.clear.is_none() => {
                let value = d.define("value", self.front.initial.ty(), value);
                let alone = |d: &mut Symbolic| {
                    let first = begun(cx, d, (fun, self.front.initial), value.clone());
                    d.emit(store(first));
                };
                let join = |d: &mut Symbolic| {
                    let joined = fiber::applied(cx, d, fun, vec![before, value.clone()]);
                    d.emit(store(joined));
                };
                self.reached.insert(d, &at, alone, join);
            }
            fold => {
                let value = match fold {
                    Some(fun) => fiber::applied(cx, d, fun, vec![before, value]),
                    None => value,
                };
                d.emit(store(value));
                self.reached.insert(d, &at, |_| {}, |_| {});
            }
        }
    }

    /// As [`Scratch::said`].
    fn said(&self, d: &mut Symbolic, first: &Expr, distance: Expr) -> Dense {
        let Reached::Anywhere { set, .. } = &self.reached else { unreachable!("it was asked whether there is a set") };
        set.insert_all(d, first, distance);
        let Dense { front, values, clear, .. } = self;
        Dense { front: front.clone(), values: *values, reached: Reached::Said, clear: *clear }
    }

    /// Moves all values into the result's next levels, and leaves the workspace empty.
    fn drain(&self, cx: &Context, d: &mut Symbolic, scope: &Scope, output: &Output, slot: &Slot) {
        match &self.reached {
            Reached::Anywhere { set, most, .. } => self.drain_set(cx, d, (set, *most), output, slot),
            Reached::Few(few) => self.drain_few(cx, d, *few, output, slot),
            Reached::Said => unreachable!("who has the set drains"),
            Reached::Within { list, there } => self.drain_along(cx, d, (scope, *list, *there), output, slot),
        }
        output.close(d, slot);
    }

    /// Appends the coordinates of a short row, sorted, then their values. Elements are cleared in the order of the unsorted list, so that
    /// the next row does not wait for the sort.
    fn drain_few(&self, cx: &Context, d: &mut Symbolic, few: Few, output: &Output, slot: &Slot) {
        let name = &cx.program.vars[self.front.vars[0].0].name;
        let begin = few.note(d, output, slot);
        output
            .list()
            .fill_in(d, (name, begin), &mut |d, at| d.define("value", self.front.initial.ty(), self.value(&at)));
        few.drain(d, name, &mut |d, at| self.wipe(d, at));
    }

    /// Drains a set. For the last list, all coordinates are appended first and the values filled in afterwards: the number of coordinates
    /// in a word of the set is unpredictable, and so no value waits for that branch.
    fn drain_set(&self, cx: &Context, d: &mut Symbolic, (set, most): (&Set, Var), output: &Output, slot: &Slot) {
        let name = &cx.program.vars[self.front.vars[0].0].name;
        let most = binary(Op::Min, Expr::Var(most), self.front.extents[0].clone());
        if output.appends_last(slot) {
            // The second coordinate of a pair may be written and not kept, which needs room for one more.
            output.open(d, slot, &|_| plus(most.clone(), int(1)));
            let begin = output.list().noted(d);
            output.notes.tries();
            set.drain_pairs(d, &mut |d, at, kept| output.list().note(d, slot, at, kept));
            return output.list().fill_in(d, (name, begin), &mut |d, at| {
                let value = d.define("value", self.front.initial.ty(), self.value(&at));
                self.wipe(d, at);
                value
            });
        }
        output.open(d, slot, &|_| most.clone());
        set.drain(d, name, &mut |d, at| {
            output.visit(d, slot, at.clone(), Driven::Stored, &mut |d, slot| {
                output.store(d, &slot, false, self.value(&at));
            });
            self.wipe(d, at);
        });
    }

    /// Drains the values that were put at entries of a list. Which entries have a value is unpredictable: for the last list, each entry
    /// is written, without a branch, and kept if a value was put there.
    fn drain_along(
        &self,
        cx: &Context,
        d: &mut Symbolic,
        (scope, list, there): (&Scope, AccessId, BufferId),
        output: &Output,
        slot: &Slot,
    ) {
        let v = self.front.vars[0];
        let fiber = fiber::unopened(cx, d, scope, list);
        let (begin, end) = (d.place(&fiber.begin), d.place(&fiber.end));
        output.notes.led_by(slot, nest::comes_along(cx, scope, list, v).map(|led| vec![led]));
        output.open(d, slot, &|_| binary(Op::Sub, end.clone(), begin.clone()));
        d.count("q", fiber.begin, fiber.end, &mut |d, q| {
            let at = d.load(fiber.crd, &q);
            let at = d.snapshot(&cx.program.vars[v.0].name, at);
            let at = d.place(&at);
            let put = Expr::Load(there, Box::new(at.clone()));
            let gone = Stmt::Store(there, at.clone(), Expr::Const(Value::bool(false)));
            if output.appends_last(slot) {
                output.visit(d, slot, at.clone(), Driven::Stored, &mut |d, slot| {
                    output.store_if(d, &slot, self.value(&at), put.clone());
                });
                d.emit(gone);
                return self.wipe(d, at);
            }
            let append = |d: &mut Symbolic| {
                d.emit(gone);
                output.visit(d, slot, at.clone(), Driven::Stored, &mut |d, slot| {
                    output.store(d, &slot, false, self.value(&at));
                });
                self.wipe(d, at.clone());
            };
            d.when(put, append, |_| {});
        });
    }

    fn value(&self, at: &Expr) -> Expr {
        Expr::Load(self.values, Box::new(at.clone()))
    }

    fn wipe(&self, d: &mut Symbolic, at: Expr) {
        if let Some(clear) = self.clear {
            d.emit(Stmt::Store(self.values, at, Expr::Const(clear)));
        }
    }
}

/// The value of a fold after its first value: `value` folded into `first`, or `value` itself if `first` is neutral bit for bit.
pub(super) fn begun(cx: &Context, d: &mut Symbolic, (fun, first): (Fun, Value), value: Expr) -> Expr {
    match cx.simplify.leads(fun, first) {
        true => value,
        false => fiber::applied(cx, d, fun, vec![Expr::Const(first), value]),
    }
}
