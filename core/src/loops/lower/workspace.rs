//! Workspaces: where values wait whose coordinates arrive out of order.
//!
//! ```text
//!   Row, one short variable   row[j]  values, all of them drained
//!   Dense, one variable       w[j]    values; a set of the j's that were come to (set.rs), or, where nothing is put but at the
//!                                     entries of a list that stays, a flag for each j, and that list; and beside the set
//!                                     a flag for each j and a list, for rows to which few j's come (few.rs)
//!   Keyed, any variables      what was put, under its coordinates: a list, or hashed (keyed.rs)
//! ```
//!
//! Filled by `put`, drained in ascending order into the result's next levels; Gustavson's algorithm is the dense one
//! inside the loop over rows.
//!
//! Invariant of a dense one into whose 0s is folded: between its rows every value is 0, so that a value is folded in with no question.

use super::few::Few;
use super::fiber::Scope;
use super::keyed::Keyed;
use super::nest::{Driven, yes};
use super::output::{Output, Slot, alloc};
use super::set::Set;
use super::{Context, Expr, binary, int, plus};
use crate::algebra::{Op, Type, Value};
use crate::loops::{BufferId, Role, Stmt, Var};
use crate::notation::concrete::{self, AccessId, Index, Nest, Origin, Workspace, WorkspaceKind};
use crate::notation::typed::Fun;
use crate::stream::{Domain, Symbolic};

/// Where index variables stand, if they are bound.
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

    /// What is not put is this.
    pub fn initial(&self) -> Value {
        match self {
            Scratch::Row(row) => row.initial,
            Scratch::Dense(dense) => dense.front.initial,
            Scratch::Keyed(keyed) => keyed.initial(),
        }
    }

    /// Where a bound on what is put until it is drained has to be, before anything is, if it has to be known.
    pub fn most(&self) -> Option<Var> {
        match self {
            Scratch::Dense(Dense { reached: Reached::Anywhere { most, .. }, .. }) => Some(*most),
            _ => None,
        }
    }

    /// The same workspace for a row to which few coordinates come, if that makes a difference.
    pub fn of_few(&self) -> Option<Scratch> {
        match self {
            Scratch::Dense(Dense { reached: Reached::Anywhere { few: Some(few), .. }, front, values, clear }) => {
                let reached = Reached::Few(*few);
                Some(Scratch::Dense(Dense { front: front.clone(), values: *values, reached, clear: *clear }))
            }
            _ => None,
        }
    }

    /// Forgets everything.
    pub fn clear(&self, cx: &Context, d: &mut Symbolic) {
        match self {
            Scratch::Row(row) => row.clear(cx, d),
            Scratch::Dense(Dense { reached: Reached::Few(few), .. }) => few.clear(d),
            Scratch::Dense(_) => {}
            Scratch::Keyed(keyed) => keyed.clear(d),
        }
    }

    /// Puts a value at the bound coordinates, folded into what is there with the nest's function, if it has one.
    pub fn put(&self, cx: &Context, d: &mut Symbolic, nest: &Nest, coordinate: Coordinate, value: Expr) {
        match self {
            Scratch::Row(row) => row.put(cx, d, coordinate, value),
            Scratch::Dense(dense) => dense.put(cx, d, nest.fold, coordinate, value),
            Scratch::Keyed(keyed) => keyed.put(cx, d, nest.fold, coordinate, value),
        }
    }

    /// Whether it has a set, which puts in values over `v` without being asked whether they are there.
    pub fn has_set(&self, v: Index, fold: bool) -> bool {
        match self {
            Scratch::Dense(Dense { reached: Reached::Anywhere { .. }, front, clear, .. }) => {
                front.vars[0] == v && (clear.is_some() || !fold)
            }
            _ => false,
        }
    }

    /// Says that something is put at a coordinate and at all behind it up to a distance, which is below 63: the workspace in which it
    /// is put then, with no question.
    ///
    /// # Panics
    /// If it has no set.
    pub fn said(&self, d: &mut Symbolic, first: &Expr, distance: Expr) -> Scratch {
        match self {
            Scratch::Dense(dense) => Scratch::Dense(dense.said(d, first, distance)),
            _ => unreachable!("it was asked whether there is a set"),
        }
    }

    /// What was put so far was there before anything is folded in.
    pub fn lay(&self, d: &mut Symbolic) {
        if let Scratch::Keyed(keyed) = self {
            keyed.lay(d);
        }
    }

    /// Moves everything into the result's next levels, in ascending order.
    pub fn drain(&self, cx: &Context, d: &mut Symbolic, scope: &Scope, output: &Output, slot: &Slot) {
        match self {
            Scratch::Row(row) => row.drain(cx, d, output, slot),
            Scratch::Dense(dense) => dense.drain(cx, d, scope, output, slot),
            Scratch::Keyed(keyed) => keyed.drain(cx, d, output, slot),
        }
    }
}

/// A workspace of as many values as one variable has, each put any number of times.
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
        let folded = cx.applied(d, self.fold, vec![before, value]);
        d.emit(Stmt::Store(self.values, at, folded));
    }

    fn drain(&self, cx: &Context, d: &mut Symbolic, output: &Output, slot: &Slot) {
        self.each(cx, d, &mut |d, at| {
            let value = Expr::Load(self.values, Box::new(at.clone()));
            output.visit(d, slot, at, Driven::Counted, &mut |d, slot| output.store(d, &slot, false, value.clone()));
        });
    }
}

impl Context<'_> {
    /// The list at whose entries alone a nest puts something in its workspace over `v`: one that is spread while the workspace is filled,
    /// and without which nothing changes what is folded.
    fn puts_within(&self, nest: &Nest, w: Workspace, v: Index) -> Option<AccessId> {
        let fun = nest.fold.filter(|_| nest.places.is_none() && self.program.vars[v.0].origin == Origin::Loop)?;
        let around = &nest.order[..w.prefix];
        let stays = |a: &AccessId| {
            let access = &self.program.accesses[a.0];
            let level = |l: usize| self.program.level_var(access, l);
            let along = (0..access.vars.len()).find(|l| level(*l) == v);
            along.is_some_and(|l| {
                let above = (0..l).flat_map(|k| self.program.roots(level(k)));
                self.tables.contains_key(&(*a, l)) && above.into_iter().all(|u| around.contains(&u))
            })
        };
        let needed = |a: &AccessId| {
            let without = self.simplify.replace(&nest.rhs, &|x| (x == *a).then(|| self.fill(x)));
            matches!(without, concrete::Expr::Literal(v) if self.simplify.neutral(fun, v))
        };
        nest.rhs.accesses().into_iter().find(|a| stays(a) && needed(a))
    }
}

/// What a workspace ranges over.
#[derive(Clone)]
pub(super) struct Front {
    /// Of its tensor.
    pub name: String,
    /// Its variables, in the order of the tensor's levels.
    pub vars: Vec<Index>,
    pub extents: Vec<Expr>,
    /// What is not put is this.
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

/// A workspace of one variable that has a place for each of its coordinates, and knows what was put.
pub(super) struct Dense {
    front: Front,
    values: BufferId,
    reached: Reached,
    /// What values are between rows, if they are anything.
    clear: Option<Value>,
}

/// Where something was put.
enum Reached {
    /// Wherever it is: `most` is at least as many as are put. Where that is little, what knows few may serve instead of the set.
    Anywhere { set: Set, most: Var, few: Option<Few> },
    /// Wherever it is, in a row to which few come.
    Few(Few),
    /// Wherever it is, and who puts it has said so.
    Said,
    /// At entries of this list, which stays meanwhile; each says whether it is one of those.
    Within { list: AccessId, there: BufferId },
}

impl Reached {
    /// Notes that something is put at a coordinate; `again` is what else happens if something was put there already, `first` if not.
    fn insert(
        &self,
        d: &mut Symbolic,
        at: &Expr,
        first: impl FnOnce(&mut Symbolic),
        again: impl FnOnce(&mut Symbolic),
    ) {
        let enter = |absent: Expr, insert: &dyn Fn(&mut Symbolic)| {
            let put = |d: &mut Symbolic| {
                insert(d);
                first(d);
            };
            d.when(absent, put, again);
        };
        match self {
            Reached::Anywhere { set, .. } => enter(set.absent(at), &|d| set.insert(d, at)),
            Reached::Few(few) => enter(few.absent(at), &|d| few.insert(d, at)),
            // Values that stand there or are clear.
            Reached::Said => {}
            Reached::Within { there, .. } => d.emit(Stmt::Store(*there, at.clone(), yes())),
        }
    }
}

impl Dense {
    /// `appended` is what coordinates of a list are to whose end all goes.
    fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, w: Workspace, appended: Option<Type>) -> Dense {
        let front = Front::of(cx, nest);
        let ty = front.initial.ty();
        let name = format!("{}_w", front.name);
        let values = d.buffer(&name, ty, Role::Workspace);
        let within = cx.puts_within(nest, w, front.vars[0]);
        // Where all its bits are 0, memory holds it when it is fresh, and is not touched where nothing is put.
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
                    let joined = cx.applied(d, fun, vec![before, value.clone()]);
                    d.emit(store(joined));
                };
                self.reached.insert(d, &at, alone, join);
            }
            fold => {
                let value = match fold {
                    Some(fun) => cx.applied(d, fun, vec![before, value]),
                    None => value,
                };
                d.emit(store(value));
                self.reached.insert(d, &at, |_| {}, |_| {});
            }
        }
    }

    /// Says that something is put at a coordinate and at all behind it up to a distance, which is below 63: the workspace in which it
    /// is put then, with no question.
    fn said(&self, d: &mut Symbolic, first: &Expr, distance: Expr) -> Dense {
        let Reached::Anywhere { set, .. } = &self.reached else { unreachable!("it was asked whether there is a set") };
        set.insert_all(d, first, distance);
        let Dense { front, values, clear, .. } = self;
        Dense { front: front.clone(), values: *values, reached: Reached::Said, clear: *clear }
    }

    /// Leaves the workspace clean.
    fn drain(&self, cx: &Context, d: &mut Symbolic, scope: &Scope, output: &Output, slot: &Slot) {
        match &self.reached {
            Reached::Anywhere { set, most, .. } => self.drain_set(cx, d, (set, *most), output, slot),
            Reached::Few(few) => self.drain_few(cx, d, *few, output, slot),
            Reached::Said => unreachable!("who has the set drains"),
            Reached::Within { list, there } => self.drain_along(cx, d, (scope, *list, *there), output, slot),
        }
        output.close(d, slot);
    }

    /// All coordinates of few, then their values; where a value was is clear before its coordinate is sorted, since the next row may
    /// begin there.
    fn drain_few(&self, cx: &Context, d: &mut Symbolic, few: Few, output: &Output, slot: &Slot) {
        let name = &cx.program.vars[self.front.vars[0].0].name;
        let begin = few.note(d, output, slot);
        output.fill_in(d, (name, begin), &mut |d, at| d.define("value", self.front.initial.ty(), self.value(&at)));
        few.drain(d, name, &mut |d, at| self.wipe(d, at));
    }

    /// All coordinates of a set; into the end of a list coordinates first, and then their values: what nobody can predict is how many
    /// coordinates a word of the set has, and no value waits for that.
    fn drain_set(&self, cx: &Context, d: &mut Symbolic, (set, most): (&Set, Var), output: &Output, slot: &Slot) {
        let name = &cx.program.vars[self.front.vars[0].0].name;
        let most = binary(Op::Min, Expr::Var(most), self.front.extents[0].clone());
        if output.appends_last(slot) {
            // One more is written, and not kept.
            output.open(d, slot, &|_| plus(most.clone(), int(1)));
            let begin = output.noted(d);
            set.drain_pairs(d, &mut |d, at, kept| output.note(d, slot, at, kept));
            return output.fill_in(d, (name, begin), &mut |d, at| {
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

    /// Along the list at whose entries something may have been put: nobody can predict at which, so that a value that goes right to
    /// the end of a list is written at each, and stays if it was put.
    fn drain_along(
        &self,
        cx: &Context,
        d: &mut Symbolic,
        (scope, list, there): (&Scope, AccessId, BufferId),
        output: &Output,
        slot: &Slot,
    ) {
        let v = self.front.vars[0];
        let fiber = cx.unopened(d, scope, list);
        let (begin, end) = (d.place(&fiber.begin), d.place(&fiber.end));
        output.led_by(slot, cx.comes_along(scope, list, v).map(|led| vec![led]));
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

/// What a fold is once a value was folded into what was there first.
pub(super) fn begun(cx: &Context, d: &mut Symbolic, (fun, first): (Fun, Value), value: Expr) -> Expr {
    match cx.simplify.leads(fun, first) {
        true => value,
        false => cx.applied(d, fun, vec![Expr::Const(first), value]),
    }
}
