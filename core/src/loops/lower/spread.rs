//! Lists that stay while others move: each is laid on a table (`stream::Spread`), and asked there.
//!
//! ```text
//!  forall i: forall j: forall k: t[] += A[i,j] * A[j,k] * A[i,k spread]
//!    ─▶  for i {
//!          for p in row i { at[crd[p]] = p + 1 }               once for each i, with every j in it
//!          for j in row i { for k in row j { if at[k] != 0 { … vals[at[k] - 1] } } }
//!          for p in row i { at[crd[p]] = 0 }
//!        }
//! ```
//!
//! Invariant: a list is taken up in the scope in which it was laid, so that one table serves a level. What it saves is to step through
//! the list beside each of the others: beside lists of m entries together it costs m, and its own entries twice.
//!
//! Where the other list is much longer, it is leaped through instead, from entry to entry of the one that stays: by how long both are
//! is decided when they are known. So it is of two lists whose loop is the outermost one, such as those of a dot product.

use super::fiber::Scope;
use super::nest::{Sink, cheap, yes};
use super::output::alloc;
use super::{BufferId, Context, Expr, binary, int, times};
use crate::algebra::{Op, Type, Value};
use crate::iteration::background;
use crate::loops::{LevelBuffers, Role, Stmt};
use crate::notation::concrete::{self, AccessId, Index, Iterated, Nest};
use crate::stream::{Spread, Symbolic, Term};
use std::collections::BTreeMap;

/// How much longer a list is that is leaped through: a leap costs about as much as so many entries.
const LONGER: i64 = 32;

/// Where a list is laid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid {
    buffer: BufferId,
    /// What is laid: values, and the fill value elsewhere; or positions, and 0.
    by_value: bool,
    /// Whether an entry is laid, where all that is asked of most is that: eight times as much of it stays in a cache.
    flags: Option<BufferId>,
}

impl Context<'_> {
    /// Tables for the lists that a nest spreads, with nothing on them.
    pub(super) fn tables(&self, d: &mut Symbolic, nest: &Nest) -> BTreeMap<(AccessId, usize), Laid> {
        let mut tables = BTreeMap::new();
        for a in nest.rhs.accesses() {
            let tensor = self.program.tensor(a);
            let spread = |l: &usize| self.program.protocol(a, *l) == Some(Iterated::Spread);
            for l in (0..tensor.format.rank()).filter(spread) {
                let LevelBuffers::Compressed { pos, .. } = self.levels(a)[l] else { continue };
                let last = l + 1 == tensor.format.rank();
                let by_value = last && !tensor.fill.is_nan() && only_in_sums(&nest.rhs, a);
                let (ty, none) = match by_value {
                    true => (tensor.ty, tensor.fill),
                    false => (d.element(pos), Value::zero(d.element(pos))),
                };
                let buffer = d.buffer(&format!("{}{l}_at", tensor.name), ty, Role::Workspace);
                alloc(d, buffer, self.extent(tensor.extents[tensor.format.order[l]]), Some(none));
                let flags = (last && !by_value && is_condition(&nest.rhs, a)).then(|| {
                    let flags = d.buffer(&format!("{}{l}_is", tensor.name), Type::Bool, Role::Workspace);
                    alloc(d, flags, self.extent(tensor.extents[tensor.format.order[l]]), Some(Value::bool(false)));
                    flags
                });
                tables.insert((a, l), Laid { buffer, by_value, flags });
            }
        }
        tables
    }

    /// Lays the lists of a body that a loop over `v` is the first not to move.
    pub(super) fn lay(
        &self,
        d: &mut Symbolic,
        scope: &mut Scope,
        v: Index,
        body: &concrete::Expr,
        sink: &Sink,
    ) -> Vec<(AccessId, Laid, Spread<Term>)> {
        let mut all = Vec::new();
        // Bounds are no loops over what is intersected.
        if let Sink::Bound { .. } = sink {
            return all;
        }
        for a in body.accesses() {
            let Some((level, _)) = self.next_var(scope, a).filter(|(_, w)| *w != v) else { continue };
            let Some(&table) = self.tables.get(&(a, level)).filter(|_| scope.laid(a).is_none()) else { continue };
            let fiber = self.unopened(d, scope, a);
            let list = Spread::open(d, fiber, table.buffer);
            if table.by_value {
                let values = self.values(a);
                self.write(d, &list, &|position| Expr::Load(values, Box::new(position)));
            } else {
                list.lay(d);
            }
            if let Some(flags) = table.flags {
                let conditions = self.needed_of(scope, a, body, sink);
                self.flag(d, scope, (a, &list, flags), &conditions);
                scope.lay_holding(a, conditions);
            }
            scope.lay(a, table);
            all.push((a, table, list));
        }
        all
    }

    /// What must hold of an access's entry that opens its last level for a body to have an effect there, as far as the loops so far
    /// decide it, if without the entry it has none: one for which it does not hold may as well be absent.
    fn needed_of(&self, scope: &Scope, a: AccessId, body: &concrete::Expr, sink: &Sink) -> Vec<concrete::Expr> {
        let without = self.simplify.replace(body, &|x| (x == a).then(|| self.fill(x)));
        let last = scope.fiber(a).depth + 1 == self.program.tensor(a).format.rank();
        if !last || !self.nothing(sink, &without) {
            return vec![];
        }
        let mut open = scope.clone();
        open.descend(a, (int(0), None), None);
        let (conditions, _) = self.all_needed(&open, body, &|e| self.nothing(sink, e));
        conditions.into_iter().filter(|c| c.accesses().contains(&a)).collect()
    }

    /// Flags the entries of a laid list for which conditions hold.
    fn flag(
        &self,
        d: &mut Symbolic,
        scope: &Scope,
        (a, list, flags): (AccessId, &Spread<Term>, BufferId),
        conditions: &[concrete::Expr],
    ) {
        list.each(d, &mut |d, at, position| {
            let mut open = scope.clone();
            open.descend(a, (d.place(position), None), None);
            let all = conditions.iter().map(|c| self.value(d, &open, c));
            let all = all.reduce(|a, b| binary(Op::AndAlso, a, b)).unwrap_or_else(yes);
            let at = d.place(at);
            d.emit(Stmt::Store(flags, at, all));
        });
    }

    /// Takes a list up again.
    pub(super) fn take_up(&self, d: &mut Symbolic, (a, table, list): (AccessId, Laid, Spread<Term>)) {
        if let Some(flags) = table.flags {
            list.each(d, &mut |d, at, _| {
                let at = d.place(at);
                d.emit(Stmt::Store(flags, at, Expr::Const(Value::bool(false))));
            });
        }
        if table.by_value {
            return self.write(d, &list, &|_| Expr::Const(self.fill(a)));
        }
        list.take_up(d);
    }

    /// Writes a value where each entry's coordinate says.
    fn write(&self, d: &mut Symbolic, list: &Spread<Term>, value: &dyn Fn(Expr) -> Expr) {
        list.each(d, &mut |d, at, position| {
            let (at, position) = (d.place(at), d.place(position));
            d.emit(Stmt::Store(list.table(), at, value(position)));
        });
    }

    /// Opens a list that is laid at a coordinate.
    pub(super) fn ask(&self, d: &mut Symbolic, scope: &mut Scope, (a, table): (AccessId, Laid), at: Expr) {
        if let Some(flags) = table.flags {
            let found = d.define("asked", Type::Bool, Expr::Load(flags, Box::new(at.clone())));
            let position = Spread::ask(d, table.buffer, &Term::fixed(at)).1;
            return scope.descend(a, (d.place(&position), None), Some(found));
        }
        if !table.by_value {
            let (found, position) = Spread::ask(d, table.buffer, &Term::fixed(at));
            let (found, position) = (d.place(&found), d.place(&position));
            return scope.descend(a, (position, None), Some(found));
        }
        let tensor = self.program.tensor(a);
        let value = Expr::Load(table.buffer, Box::new(at));
        let value = d.define(&tensor.name.to_lowercase(), tensor.ty, value);
        let some = match tensor.fill == Value::bool(false) {
            true => value.clone(),
            false => binary(Op::Ne, value.clone(), Expr::Const(tensor.fill)),
        };
        // Nobody asks where a value stands that is known.
        scope.descend(a, (int(0), None), Some(some));
        scope.keep(a, value);
    }

    /// What is folded in, whether or not that which was searched for is there, if all of it is known by value: where it is absent the table
    /// has its fill, and the body is what it means there. To ask first would be a branch that nobody could predict.
    pub(super) fn folded_anyway(
        &self,
        d: &mut Symbolic,
        (scope, searched): (&Scope, &[AccessId]),
        body: &concrete::Expr,
    ) -> Option<Expr> {
        let known = |a: &AccessId| scope.fiber(*a).value.is_some();
        let anyway = !body.has_loops() && cheap(body) && searched.iter().all(known);
        anyway.then(|| self.value(d, scope, body))
    }

    /// Of two lists that an innermost loop intersects, when the one is so much longer that it is better leaped through, and the
    /// scope in which it is: which of them, where both are walked and no loop is around them to decide it anew each time; where
    /// one is laid, the other.
    pub(super) fn leaped(
        &self,
        d: &mut Symbolic,
        scope: &Scope,
        (v, rest): (Index, &[Index]),
        body: &concrete::Expr,
        sink: &Sink,
    ) -> Vec<(Expr, Scope)> {
        if !rest.is_empty() || body.has_loops() || !matches!(sink, Sink::Scalar { .. }) {
            return vec![];
        }
        let along = self.lists(scope, body, v);
        let alike = |a: &AccessId| matches!(self.levels(*a)[scope.fiber(*a).depth], LevelBuffers::Compressed { .. });
        let free = |a: &AccessId| self.program.protocol(*a, scope.fiber(*a).depth).is_none() && alike(a);
        let (laid, walked): (Vec<_>, Vec<_>) = along.into_iter().partition(|a| scope.laid(*a).is_some());
        let pairs = match (&laid[..], &walked[..]) {
            ([stays], [moves]) => vec![(*moves, *stays)],
            ([], [a, b]) if scope.order.is_empty() && self.meet(body, &walked, sink) => vec![(*a, *b), (*b, *a)],
            _ => vec![],
        };
        if !walked.iter().all(free) || !self.opened_by(scope, body, v, |kind| kind.is_stepped()).is_empty() {
            return vec![];
        }
        let mut length = |a: AccessId| {
            let fiber = self.unopened(d, scope, a);
            let (begin, end) = (d.place(&fiber.begin), d.place(&fiber.end));
            binary(Op::Sub, end, begin)
        };
        let far = |(moves, stays): (AccessId, AccessId)| {
            (binary(Op::Gt, length(moves), times(length(stays), int(LONGER))), scope.leaping(moves, stays))
        };
        pairs.into_iter().map(far).collect()
    }

    /// Loops in the first of these scopes whose condition holds, or else in this.
    pub(super) fn leap_or_loop(
        &self,
        d: &mut Symbolic,
        mut leaped: std::vec::IntoIter<(Expr, Scope)>,
        (vars, body): (&[Index], &concrete::Expr),
        scope: Scope,
        sink: &Sink,
    ) {
        let Some((far, leaping)) = leaped.next() else { return self.loops(d, vars, body, scope, sink) };
        // A person sees the loop once: the one that does not leap.
        let leap = |d: &mut Symbolic| {
            let seen = self.foralls.borrow().len();
            self.loops(d, vars, body, leaping, sink);
            self.foralls.borrow_mut().truncate(seen);
        };
        d.when(far, leap, |d| self.leap_or_loop(d, leaped, (vars, body), scope, sink));
    }

    /// Whether something comes of a body only where each of these lists has an entry.
    fn meet(&self, body: &concrete::Expr, lists: &[AccessId], sink: &Sink) -> bool {
        let (set, rest) = background(body, lists, &|a| self.fill(a), self.simplify);
        let needed = set.needed().map_or(vec![], |(needed, _)| needed);
        lists.iter().all(|a| needed.contains(a)) && self.nothing(sink, &rest)
    }
}

/// Whether nothing is asked of an access but whether it has an entry, and one such as conditions say.
fn is_condition(e: &concrete::Expr, a: AccessId) -> bool {
    let of_it = |e: &concrete::Expr| e.ty() == Type::Bool && e.accesses() == [a];
    e.accesses().contains(&a) && !e.clone().settled(&|e| of_it(e).then(|| Value::bool(true))).accesses().contains(&a)
}

/// Whether an access is read inside of sums only: whether it has an entry is asked for its value's sake.
fn only_in_sums(e: &concrete::Expr, a: AccessId) -> bool {
    match e {
        concrete::Expr::Access(b, _) => *b != a,
        concrete::Expr::Call(_, args, _) => args.iter().all(|e| only_in_sums(e, a)),
        concrete::Expr::Reduce(..) => true,
        other => !other.accesses().contains(&a),
    }
}
