//! Workspaces: where values wait whose coordinates arrive out of order.
//!
//! ```text
//!   Row, one short variable   row[j]  values, all of them drained
//!   Dense, one variable       w[j]    values, and which j's were put: a set (set.rs), beside it for short rows a flag for
//!                                     each j and a list (few.rs); or, if values are put only at the entries of a list that
//!                                     stays meanwhile, a flag for each j and that list
//!   Keyed, any variables      values under their coordinates: a list, or hashed (keyed.rs)
//! ```
//!
//! Filled by `put`, drained in ascending order into the result's next levels; Gustavson's algorithm is the dense one
//! inside the loop over rows.
//!
//! Invariant of a dense workspace whose fold has the identity 0: between rows every value is 0, so that values are
//! folded in without a test.

use super::few::Few;
use super::insertion::Insertion;
use super::keyed::Keyed;
use super::output::Output;
use super::room::alloc;
use super::scratch::{Front, Into, Scratch, begun};
use super::set::Set;
use super::{Context, Expr, binary, call, int, plus};
use crate::arith::yes;
use crate::choose::result;
use crate::plan::{Driver, Work};
use crate::stream::{Domain, ListFiber};
use crate::{BufferId, Stmt, Symbolic, Term, Var};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::notation::concrete::{Nest, WorkspaceKind};
use fiberloom_core::notation::typed::Fun;
use std::rc::Rc;

/// Makes a nest's workspace.
pub(super) fn begin(cx: &Context, d: &mut Symbolic, work: &Work) {
    let nest = &work.nest;
    let kind = nest.workspace().expect("a nest with a workspace").kind;
    let made: Rc<dyn Scratch> = match kind {
        WorkspaceKind::Row => Rc::new(Row::begin(cx, d, nest)),
        WorkspaceKind::Dense => Rc::new(Dense::begin(cx, d, work)),
        WorkspaceKind::List(_) | WorkspaceKind::Hashed(_) => Rc::new(Keyed::begin(cx, d, nest, kind)),
        WorkspaceKind::Counts => unreachable!("counted copies have a nest of their own"),
    };
    cx.names.borrow_mut().works.insert(work.it, made);
}

/// A workspace of one value for each coordinate of one variable, with no record of which were put.
struct Row {
    name: String,
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
        let values = d.private(&format!("{}_row", tensor.name), tensor.ty);
        alloc(d, values, extent.clone(), None);
        let (fold, initial) = (nest.assign().fold().expect("rows are folded: checked"), result::initial(cx, nest));
        Row { name: cx.program.vars[var.0].name.clone(), extent, values, fold, initial }
    }

    fn each(&self, d: &mut Symbolic, inner: &mut dyn FnMut(&mut Symbolic, Expr)) {
        d.each(&self.name, int(0), self.extent.clone(), inner);
    }
}

impl Scratch for Row {
    fn clear(&self, d: &mut Symbolic) {
        self.each(d, &mut |d, at| d.emit(Stmt::Store(self.values, at, Expr::Const(self.initial))));
    }

    fn put(&self, cx: &Context, d: &mut Symbolic, _: Option<Fun>, at: &[Expr], value: Expr) {
        let before = Expr::Load(self.values, Box::new(at[0].clone()));
        let folded = call::applied(cx, d, self.fold, vec![before, value]);
        d.emit(Stmt::Store(self.values, at[0].clone(), folded));
    }

    fn drain(&self, _: &Context, d: &mut Symbolic, _: Option<&ListFiber<Term>>, (output, insertion): Into) {
        self.each(d, &mut |d, at| {
            let value = Expr::Load(self.values, Box::new(at.clone()));
            output.visit(d, insertion, at, Driver::Counted, &mut |d, insertion| {
                output.store(d, &insertion, false, value.clone())
            });
        });
    }
}

/// A workspace of one variable, with a place for each coordinate, and a record of which were put.
struct Dense {
    front: Front,
    values: BufferId,
    reached: Reached,
    /// The value that all places hold between rows; `None` if they hold anything.
    clear: Option<Value>,
}

/// The record of the coordinates at which values were put.
enum Reached {
    /// Any coordinates. `most` bounds the number of values that are put.
    Anywhere { set: Set, most: Var },
    /// Any coordinates, in a short row.
    Few(Few),
    /// Coordinates were inserted beforehand; `put` tests nothing.
    Said,
    /// Entries of a list, which stays meanwhile; `there` has a flag for each coordinate.
    Within { there: BufferId },
}

impl Reached {
    /// Emits the record of a value put at a coordinate, and `first` where it is the first there, `again` where it is
    /// not.
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
            // Each place holds a value or the clear one.
            Reached::Said => {}
            Reached::Within { there, .. } => d.emit(Stmt::Store(*there, at.clone(), yes())),
        }
    }
}

impl Dense {
    /// Makes the workspace of a nest, and the form of it for short rows.
    fn begin(cx: &Context, d: &mut Symbolic, work: &Work) -> Dense {
        let front = Front::of(cx, &work.nest);
        let ty = front.initial.ty();
        let name = format!("{}_w", front.name);
        let values = d.private(&name, ty);
        // Fresh memory is all zero bits: if that is the initial value, allocation touches no page that is not used.
        let free = front.initial == Value::zero(ty) || work.within.is_some();
        let clear = (work.nest.assign().fold().is_some() && free).then_some(front.initial);
        alloc(d, values, front.extents[0].clone(), clear);
        let Some(bound) = work.most else {
            let there = d.private(&format!("{name}there"), Type::Bool);
            alloc(d, there, front.extents[0].clone(), Some(Value::bool(false)));
            return Dense { front, values, reached: Reached::Within { there }, clear };
        };
        let most = d.fresh(&format!("{name}most"), Type::I64);
        cx.say(bound, Expr::Var(most));
        let few = work.few.map(|few| {
            let output = cx.names.borrow().outputs[&work.output].clone();
            let ty = d.element(output.list().last);
            (few, Few::begin(d, &name, &front.extents[0], ty, cx.few))
        });
        let set = Set::begin(d, &name, &front.extents[0]);
        let dense = Dense { front, values, reached: Reached::Anywhere { set, most }, clear };
        if let Some((name, few)) = few {
            cx.names.borrow_mut().works.insert(name, dense.with(Reached::Few(few)));
        }
        dense
    }

    /// The same workspace with another record of the coordinates.
    fn with(&self, reached: Reached) -> Rc<dyn Scratch> {
        Rc::new(Dense { front: self.front.clone(), values: self.values, reached, clear: self.clear })
    }
}

impl Scratch for Dense {
    fn clear(&self, d: &mut Symbolic) {
        if let Reached::Few(few) = &self.reached {
            few.clear(d);
        }
    }

    fn put(&self, cx: &Context, d: &mut Symbolic, fold: Option<Fun>, at: &[Expr], value: Expr) {
        let at = &at[0];
        let before = self.value(at);
        let store = |value: Expr| Stmt::Store(self.values, at.clone(), value);
        match fold {
            Some(fun) if self.clear.is_none() => {
                let value = d.define("value", self.front.initial.ty(), value);
                let alone = |d: &mut Symbolic| {
                    let first = begun(cx, d, (fun, self.front.initial), value.clone());
                    d.emit(store(first));
                };
                let join = |d: &mut Symbolic| {
                    let joined = call::applied(cx, d, fun, vec![before, value.clone()]);
                    d.emit(store(joined));
                };
                self.reached.insert(d, at, alone, join);
            }
            fold => {
                let value = match fold {
                    Some(fun) => call::applied(cx, d, fun, vec![before, value]),
                    None => value,
                };
                d.emit(store(value));
                self.reached.insert(d, at, |_| {}, |_| {});
            }
        }
    }

    fn has_set(&self) -> bool {
        matches!(self.reached, Reached::Anywhere { .. })
    }

    fn said(&self, d: &mut Symbolic, first: &Expr, distance: Expr) -> Option<Rc<dyn Scratch>> {
        let Reached::Anywhere { set, .. } = &self.reached else { return None };
        set.insert_all(d, first, distance);
        Some(self.with(Reached::Said))
    }

    /// Moves all values into the result's next levels, and leaves the workspace empty.
    fn drain(&self, _: &Context, d: &mut Symbolic, along: Option<&ListFiber<Term>>, (output, insertion): Into) {
        match (&self.reached, along) {
            (Reached::Anywhere { set, most, .. }, _) => self.drain_set(d, (set, *most), output, insertion),
            (Reached::Few(few), _) => self.drain_few(d, *few, output, insertion),
            (Reached::Within { there }, Some(list)) => self.drain_along(d, (list, *there), output, insertion),
            (Reached::Said | Reached::Within { .. }, _) => unreachable!("who has the set, or the list, drains"),
        }
        output.close(d, insertion);
    }
}

impl Dense {
    /// Appends the coordinates of a short row, sorted, then their values. Places are cleared along the unsorted list,
    /// so that the next row does not wait for the sort.
    fn drain_few(&self, d: &mut Symbolic, few: Few, output: &Output, insertion: &Insertion) {
        let name = &self.front.vars[0];
        let begin = few.note(d, output, insertion);
        output
            .list()
            .fill_in(d, (name, begin), &mut |d, at| d.define("value", self.front.initial.ty(), self.value(&at)));
        few.drain(d, name, &mut |d, at| self.wipe(d, at));
    }

    /// Moves out the coordinates of a set. To the last list, coordinates are appended first and values filled in
    /// behind: the number of coordinates in a word of the set is unpredictable, and so no value waits for that branch.
    fn drain_set(&self, d: &mut Symbolic, (set, most): (&Set, Var), output: &Output, insertion: &Insertion) {
        let name = &self.front.vars[0];
        let most = binary(Op::Min, Expr::Var(most), self.front.extents[0].clone());
        if output.appends_last(insertion) {
            // One coordinate more is written and not kept: the second of a pair.
            output.open(d, insertion, &|_| plus(most.clone(), int(1)));
            let begin = output.list().noted(d);
            set.drain_pairs(d, &mut |d, at, kept| output.list().note(d, insertion, at, kept));
            return output.list().fill_in(d, (name, begin), &mut |d, at| {
                let value = d.define("value", self.front.initial.ty(), self.value(&at));
                self.wipe(d, at);
                value
            });
        }
        output.open(d, insertion, &|_| most.clone());
        set.drain(d, name, &mut |d, at| {
            output.visit(d, insertion, at.clone(), Driver::Stored, &mut |d, insertion| {
                output.store(d, &insertion, false, self.value(&at));
            });
            self.wipe(d, at);
        });
    }

    /// Moves out the values that were put at entries of a list. Which entries have one is unpredictable: to the last
    /// list, an entry is written at each, without a branch, and kept if a value was put there.
    fn drain_along(
        &self,
        d: &mut Symbolic,
        (fiber, there): (&ListFiber<Term>, BufferId),
        output: &Output,
        insertion: &Insertion,
    ) {
        let (begin, end) = (d.place(&fiber.begin), d.place(&fiber.end));
        output.open(d, insertion, &|_| binary(Op::Sub, end.clone(), begin.clone()));
        d.count("q", fiber.begin.clone(), fiber.end.clone(), &mut |d, q| {
            let at = d.load(fiber.crd, &q);
            let at = d.snapshot(&self.front.vars[0], at);
            let at = d.place(&at);
            let put = Expr::Load(there, Box::new(at.clone()));
            let gone = Stmt::Store(there, at.clone(), Expr::Const(Value::bool(false)));
            if output.appends_last(insertion) {
                output.visit(d, insertion, at.clone(), Driver::Stored, &mut |d, insertion| {
                    output.store_if(d, &insertion, self.value(&at), put.clone());
                });
                d.emit(gone);
                return self.wipe(d, at);
            }
            let append = |d: &mut Symbolic| {
                d.emit(gone);
                output.visit(d, insertion, at.clone(), Driver::Stored, &mut |d, insertion| {
                    output.store(d, &insertion, false, self.value(&at));
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
