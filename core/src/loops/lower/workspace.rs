//! Workspaces: where values wait whose coordinates arrive out of order.
//!
//! ```text
//!   Dense, one variable     w[j]  values           List, several    keys   linearized coordinates, as they come
//!                           set   the j's                           vals   values, as they come
//!                                                                   order  places of the sorted keys
//!
//!   Row, one short variable row[j]  values, all of them drained
//! ```
//!
//! Filled by `put`, drained in ascending order into the result's next levels; Gustavson's algorithm is the dense one
//! inside the loop over rows.
//!
//! Invariant of a dense one whose fold has an identity that is 0: between its rows every value is 0, so that a value is
//! folded in with no question.

use super::nest::Driven;
use super::output::{Output, Slot, alloc, reserve};
use super::set::Set;
use super::{Context, Expr, binary, checked_product, int, plus, times};
use crate::algebra::{Mode, Op, Type, Value, identity, properties};
use crate::loops::{BufferId, Entry, Role, Stmt, Var};
use crate::notation::concrete::{Index, Nest, Workspace, WorkspaceKind};
use crate::stream::Symbolic;

/// A workspace of one nest.
pub(super) enum Scratch {
    /// All of it is drained.
    Row(Row),
    /// What was put is drained.
    Touched(Touched),
}

impl Scratch {
    /// Makes the nest's workspace.
    pub fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, w: Workspace) -> Scratch {
        match w.kind {
            WorkspaceKind::Row => Scratch::Row(Row::begin(cx, d, nest)),
            _ => Scratch::Touched(Touched::begin(cx, d, nest, w)),
        }
    }

    /// What is not put is this.
    pub fn initial(&self) -> Value {
        match self {
            Scratch::Row(row) => row.initial,
            Scratch::Touched(touched) => touched.initial,
        }
    }

    /// Forgets everything.
    pub fn clear(&self, cx: &Context, d: &mut Symbolic) {
        match self {
            Scratch::Row(row) => row.clear(cx, d),
            Scratch::Touched(touched) => touched.clear(d),
        }
    }

    /// Puts a value at the bound coordinates.
    pub fn put(&self, d: &mut Symbolic, coordinate: &dyn Fn(Index) -> Option<Expr>, value: Expr) {
        match self {
            Scratch::Row(row) => row.put(d, coordinate, value),
            Scratch::Touched(touched) => touched.put(d, coordinate, value),
        }
    }

    /// Moves everything into the result's next levels, in ascending order.
    pub fn drain(&self, cx: &Context, d: &mut Symbolic, output: &Output, slot: &Slot) {
        match self {
            Scratch::Row(row) => row.drain(cx, d, output, slot),
            Scratch::Touched(touched) => touched.drain(cx, d, output, slot),
        }
    }
}

/// A workspace of as many values as one variable has, each put any number of times.
pub(super) struct Row {
    var: Index,
    extent: Expr,
    values: BufferId,
    fold: Op,
    initial: Value,
}

impl Row {
    fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest) -> Row {
        let tensor = &cx.program.tensors[nest.target.tensor.0];
        let var = cx.program.level_var(&nest.target, tensor.format.rank() - 1);
        let extent = cx.extent(cx.program.vars[var.0].extent);
        let values = d.buffer(&format!("{}_row", tensor.name), tensor.ty, Role::Workspace);
        alloc(d, values, extent.clone(), None);
        let fold = nest.fold.expect("rows are folded");
        let initial = identity(fold, tensor.ty).expect("folds in place have an identity");
        Row { var, extent, values, fold, initial }
    }

    fn each(&self, cx: &Context, d: &mut Symbolic, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        d.each(&cx.program.vars[self.var.0].name, int(0), self.extent.clone(), inner);
    }

    fn clear(&self, cx: &Context, d: &mut Symbolic) {
        self.each(cx, d, &mut |d, at| d.emit(Stmt::Store(self.values, at, Expr::Const(self.initial))));
    }

    fn put(&self, d: &mut Symbolic, coordinate: &dyn Fn(Index) -> Option<Expr>, value: Expr) {
        let at = coordinate(self.var).expect("all loops are bound");
        let before = Expr::Load(self.values, Box::new(at.clone()));
        d.emit(Stmt::Store(self.values, at, binary(self.fold, before, value)));
    }

    fn drain(&self, cx: &Context, d: &mut Symbolic, output: &Output, slot: &Slot) {
        self.each(cx, d, &mut |d, at| {
            let value = Expr::Load(self.values, Box::new(at.clone()));
            output.visit(d, slot, at, Driven::Counted, &mut |d, slot| output.store(d, &slot, None, value.clone()));
        });
    }
}

/// A workspace that knows what was put.
pub(super) struct Touched {
    vars: Vec<Index>,
    extents: Vec<Expr>,
    values: BufferId,
    count: Var,
    places: Places,
    fold: Option<Op>,
    /// What is not put is this.
    initial: Value,
}

/// Where the values of a workspace belong.
enum Places {
    Dense {
        set: Set,
        /// What values are between rows, if they are anything: the fold's identity.
        clear: Option<Value>,
    },
    List(Keys),
}

/// Keys in order of arrival.
struct Keys {
    keys: BufferId,
    /// The sorted keys' places.
    order: BufferId,
    /// Elements of key per step of each variable; the last is 1.
    strides: Vec<Expr>,
}

impl Touched {
    fn begin(cx: &Context, d: &mut Symbolic, nest: &Nest, w: Workspace) -> Touched {
        let tensor = &cx.program.tensors[nest.target.tensor.0];
        let outer = &nest.order[..w.prefix];
        let levels: Vec<Index> = (0..tensor.format.rank()).map(|l| cx.program.level_var(&nest.target, l)).collect();
        let vars: Vec<Index> = levels.into_iter().filter(|v| !outer.contains(v)).collect();
        let extents: Vec<Expr> = vars.iter().map(|v| cx.extent(cx.program.vars[v.0].extent)).collect();
        let name = |what: &str| format!("{}_w{what}", tensor.name);
        let values = d.buffer(&name(""), tensor.ty, Role::Workspace);
        let count = d.fresh(&name("count"), Type::I64);
        let places = if w.kind == WorkspaceKind::Dense {
            let clear = nest.fold.and_then(|op| zero_identity(op, tensor.ty, cx.simplify.mode));
            alloc(d, values, extents[0].clone(), clear);
            Places::Dense { set: Set::begin(d, &name(""), &extents[0], (count, cx.made.crd)), clear }
        } else {
            alloc(d, values, int(16), None);
            Places::List(Keys::begin(d, name, &extents))
        };
        Touched { vars, extents, values, count, places, fold: nest.fold, initial: tensor.fill }
    }

    fn clear(&self, d: &mut Symbolic) {
        d.assign(self.count, int(0));
    }

    fn put(&self, d: &mut Symbolic, coordinate: &dyn Fn(Index) -> Option<Expr>, value: Expr) {
        let at = |v: &Index| coordinate(*v).expect("all loops are bound");
        let value = self.fold.map_or(value.clone(), |op| begun(op, self.initial.ty(), value));
        let keys = match &self.places {
            Places::Dense { set, clear } => return self.put_dense(d, (set, *clear), at(&self.vars[0]), value),
            Places::List(keys) => keys,
        };
        let terms = self.vars.iter().zip(&keys.strides).map(|(v, s)| times(at(v), s.clone()));
        let key = terms.reduce(plus).expect("a variable or more");
        let n = Expr::Var(self.count);
        let next = plus(n.clone(), int(1));
        reserve(d, keys.keys, next.clone());
        reserve(d, self.values, next.clone());
        d.emit(Stmt::Store(keys.keys, n.clone(), key));
        d.emit(Stmt::Store(self.values, n, value));
        d.assign(self.count, next);
    }

    fn put_dense(&self, d: &mut Symbolic, (set, clear): (&Set, Option<Value>), at: Expr, value: Expr) {
        let before = Expr::Load(self.values, Box::new(at.clone()));
        let store = |value: Expr| Stmt::Store(self.values, at.clone(), value);
        match self.fold {
            Some(op) if clear.is_none() => {
                let value = d.define("value", self.initial.ty(), value);
                let joined = store(binary(op, before, value.clone()));
                set.insert(d, &at, |d| d.emit(store(value)), |d| d.emit(joined));
            }
            _ => {
                d.emit(store(self.fold.map_or(value.clone(), |op| binary(op, before, value))));
                set.insert(d, &at, |_| {}, |_| {});
            }
        }
    }

    /// Leaves the workspace clean.
    fn drain(&self, cx: &Context, d: &mut Symbolic, output: &Output, slot: &Slot) {
        let n = Expr::Var(self.count);
        match &self.places {
            Places::Dense { set, clear } => self.drain_dense(cx, d, (set, *clear), (output, slot)),
            Places::List(keys) => {
                // The order is as long as the keys: `reserve` leaves room, sorting sets it.
                reserve(d, keys.order, n.clone());
                d.call(Entry::SortOrder { keys: keys.keys, order: keys.order, len: n.clone() });
                self.drain_list(cx, d, (keys, output), slot, (0, int(0), n));
            }
        }
    }

    fn drain_dense(
        &self,
        cx: &Context,
        d: &mut Symbolic,
        (set, clear): (&Set, Option<Value>),
        (output, slot): (&Output, &Slot),
    ) {
        output.open(d, slot, &|_| Expr::Var(self.count));
        set.drain(d, &cx.program.vars[self.vars[0].0].name, &mut |d, at| {
            let value = Expr::Load(self.values, Box::new(at.clone()));
            output.visit(d, slot, at.clone(), Driven::Stored, &mut |d, slot| {
                output.store(d, &slot, None, value.clone());
            });
            if let Some(clear) = clear {
                d.emit(Stmt::Store(self.values, at, Expr::Const(clear)));
            }
        });
        output.close(d, slot);
    }

    /// Sorted keys `begin..end` agree in the variables before `t`; those that agree in `t` too are one coordinate.
    fn drain_list(
        &self,
        cx: &Context,
        d: &mut Symbolic,
        (keys, output): (&Keys, &Output),
        slot: &Slot,
        (t, begin, end): (usize, Expr, Expr),
    ) {
        let list = output.is_list(slot.level);
        if list {
            let length = binary(Op::Sub, end.clone(), begin.clone());
            output.open(d, slot, &|_| length.clone());
        }
        let last = t + 1 == self.vars.len();
        let group = |at: Expr| {
            let key = Expr::Load(keys.keys, Box::new(at));
            if last { key } else { binary(Op::FloorDiv, key, keys.strides[t].clone()) }
        };
        let s = d.fresh("s", Type::I64);
        d.assign(s, begin);
        let here = Expr::Var(s);
        d.during(binary(Op::Lt, here.clone(), end.clone()), |d| {
            let first = d.define("first", Type::I64, here.clone());
            let g = d.define("group", Type::I64, group(first.clone()));
            let value = last.then(|| self.sorted(keys, first.clone()));
            let folded = value.map(|v| {
                let t = d.fresh("t", self.initial.ty());
                d.assign(t, v);
                t
            });
            d.assign(s, plus(here.clone(), int(1)));
            let same = binary(Op::Eq, group(here.clone()), g.clone());
            if !last || self.fold.is_some() {
                d.during(binary(Op::AndAlso, binary(Op::Lt, here.clone(), end.clone()), same), |d| {
                    if let (Some(t), Some(op)) = (folded, self.fold) {
                        let joined = binary(op, Expr::Var(t), self.sorted(keys, here.clone()));
                        d.assign(t, joined);
                    }
                    d.assign(s, plus(here.clone(), int(1)));
                });
            }
            let at = if t == 0 { g } else { binary(Op::FloorRem, g, self.extents[t].clone()) };
            let at = d.define(&cx.program.vars[self.vars[t].0].name, Type::I64, at);
            output.visit(d, slot, at, Driven::Stored, &mut |d, slot| match folded {
                Some(t) => output.store(d, &slot, None, Expr::Var(t)),
                None => self.drain_list(cx, d, (keys, output), &slot, (t + 1, first.clone(), here.clone())),
            });
        });
        if list {
            output.close(d, slot);
        }
    }

    /// The value whose key is at a place of the sorted keys.
    fn sorted(&self, keys: &Keys, at: Expr) -> Expr {
        Expr::Load(self.values, Box::new(Expr::Load(keys.order, Box::new(at))))
    }
}

impl Keys {
    fn begin(d: &mut Symbolic, name: impl Fn(&str) -> String, extents: &[Expr]) -> Keys {
        let [keys, order] = ["list", "order"].map(|what| d.buffer(&name(what), Type::I64, Role::Workspace));
        checked_product(d, extents);
        let mut strides = vec![int(1); extents.len()];
        for t in (0..extents.len() - 1).rev() {
            strides[t] = d.define("stride", Type::I64, times(strides[t + 1].clone(), extents[t + 1].clone()));
        }
        for buffer in [keys, order] {
            alloc(d, buffer, int(16), None);
        }
        Keys { keys, order, strides }
    }
}

/// The identity of a fold if all of its bits are 0: memory holds it when it is fresh, and is not touched where nothing is
/// put.
fn zero_identity(op: Op, ty: Type, mode: Mode) -> Option<Value> {
    let zero = Value::zero(ty);
    properties(op, ty, mode).identities.contains(&(0, zero)).then_some(zero)
}

/// A value of which a fold may consist alone. What a fold begins with is neutral but for one function: a `gcd` begins
/// with 0, which changes the sign of a negative number.
fn begun(op: Op, ty: Type, value: Expr) -> Expr {
    let known = properties(op, ty, Mode::Algebraic).identities;
    match identity(op, ty) {
        Some(begin) if known.iter().all(|(_, neutral)| *neutral != begin) => binary(op, Expr::Const(begin), value),
        _ => value,
    }
}
