//! Workspaces: where values wait whose coordinates arrive out of order.
//!
//! ```text
//!   Row, one short variable   row[j]  values, all of them drained
//!   Dense, one variable       w[j]    values; a set of the j's that were come to
//!   Keyed, any variables      what was put, under its coordinates: a list, or hashed (keyed.rs)
//! ```
//!
//! Filled by `put`, drained in ascending order into the result's next levels; Gustavson's algorithm is the dense one
//! inside the loop over rows.
//!
//! Invariant of a dense one into whose 0s is folded: between its rows every value is 0, so that a value is folded in with no question.

use super::keyed::Keyed;
use super::nest::Driven;
use super::output::{Output, Slot, alloc};
use super::set::Set;
use super::{Context, Expr, binary, int};
use crate::algebra::{Op, Type, Value};
use crate::loops::{BufferId, Role, Stmt, Var};
use crate::notation::concrete::{Index, Nest, Workspace, WorkspaceKind};
use crate::notation::typed::Fun;
use crate::stream::Symbolic;

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
    pub fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, w: Workspace) -> Scratch {
        match w.kind {
            WorkspaceKind::Row => Scratch::Row(Row::begin(cx, d, nest)),
            WorkspaceKind::Dense => Scratch::Dense(Dense::begin(cx, d, nest)),
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
            Scratch::Dense(dense) => Some(dense.most),
            _ => None,
        }
    }

    /// Forgets everything.
    pub fn clear(&self, cx: &Context, d: &mut Symbolic) {
        match self {
            Scratch::Row(row) => row.clear(cx, d),
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

    /// What was put so far was there before anything is folded in.
    pub fn lay(&self, d: &mut Symbolic) {
        if let Scratch::Keyed(keyed) = self {
            keyed.lay(d);
        }
    }

    /// Moves everything into the result's next levels, in ascending order.
    pub fn drain(&self, cx: &Context, d: &mut Symbolic, output: &Output, slot: &Slot) {
        match self {
            Scratch::Row(row) => row.drain(cx, d, output, slot),
            Scratch::Dense(dense) => dense.drain(cx, d, output, slot),
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

/// What a workspace ranges over.
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
    /// At least as many as are put.
    most: Var,
    set: Set,
    /// What values are between rows, if they are anything.
    clear: Option<Value>,
}

impl Dense {
    fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest) -> Dense {
        let front = Front::of(cx, nest);
        let ty = front.initial.ty();
        let name = format!("{}_w", front.name);
        let values = d.buffer(&name, ty, Role::Workspace);
        let most = d.fresh(&format!("{name}most"), Type::I64);
        // Where all its bits are 0, memory holds it when it is fresh, and is not touched where nothing is put.
        let clear = (nest.fold.is_some() && front.initial == Value::zero(ty)).then_some(front.initial);
        alloc(d, values, front.extents[0].clone(), clear);
        let set = Set::begin(d, &name, &front.extents[0]);
        Dense { front, values, most, set, clear }
    }

    fn put(&self, cx: &Context, d: &mut Symbolic, fold: Option<Fun>, coordinate: Coordinate, value: Expr) {
        let at = coordinate(self.front.vars[0]).expect("all loops are bound");
        let before = Expr::Load(self.values, Box::new(at.clone()));
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
                self.set.insert(d, &at, alone, join);
            }
            fold => {
                let value = match fold {
                    Some(fun) => cx.applied(d, fun, vec![before, value]),
                    None => value,
                };
                d.emit(store(value));
                self.set.insert(d, &at, |_| {}, |_| {});
            }
        }
    }

    /// Leaves the workspace clean.
    fn drain(&self, cx: &Context, d: &mut Symbolic, output: &Output, slot: &Slot) {
        output.open(d, slot, &|_| binary(Op::Min, Expr::Var(self.most), self.front.extents[0].clone()));
        self.set.drain(d, &cx.program.vars[self.front.vars[0].0].name, &mut |d, at| {
            let value = Expr::Load(self.values, Box::new(at.clone()));
            output.visit(d, slot, at.clone(), Driven::Stored, &mut |d, slot| {
                output.store(d, &slot, false, value.clone());
            });
            if let Some(clear) = self.clear {
                d.emit(Stmt::Store(self.values, at, Expr::Const(clear)));
            }
        });
        output.close(d, slot);
    }
}

/// What a fold is once a value was folded into what was there first.
pub(super) fn begun(cx: &Context, d: &mut Symbolic, (fun, first): (Fun, Value), value: Expr) -> Expr {
    match cx.simplify.leads(fun, first) {
        true => value,
        false => cx.applied(d, fun, vec![Expr::Const(first), value]),
    }
}
