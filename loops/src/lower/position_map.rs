//! Lists that are fixed while others move: each is scattered into a position map (`stream::PositionMap`), and looked up there.
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
//! Invariant: a list is removed from its map in the scope in which it was scattered, so that one map serves a level. The list is not
//! merged with each of the others: beside lists with a total of m entries it costs m steps, and twice its own number of entries.
//!
//! If the other list is much longer, the loop searches exponentially in that one instead, for each entry of the fixed list. The kernel
//! compares the lengths. Two lists of an outermost loop, such as those of a dot product, are treated likewise.

use super::room::alloc;
use super::{BufferId, Context, Expr, binary};
use crate::choose::symbol::{Name, Sym};
use crate::lower::fiber;
use crate::plan::{self, Flags};
use crate::stream::PositionMap;
use crate::{Holds, Stmt, Symbolic, Term};
use fiberloom_core::algebra::{Op, Value};
use fiberloom_core::notation::concrete::AccessId;
use std::collections::BTreeMap;

/// The position map into which a list is scattered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laid {
    pub buffer: BufferId,
    /// Whether the map holds values, and the fill value elsewhere; otherwise it holds positions plus 1, and 0 elsewhere.
    pub by_value: bool,
    /// Flags of the coordinates that have an entry, if most lookups need only these: eight times as many of them stay in a cache.
    pub flags: Option<BufferId>,
}

/// A list in its position map.
pub(super) struct Scattered {
    of: AccessId,
    table: Laid,
    list: PositionMap<Term>,
}

/// Allocates empty position maps for the lists that a nest scatters.
pub(super) fn tables(cx: &Context, d: &mut Symbolic, tables: &[plan::Table]) -> BTreeMap<(AccessId, usize), Laid> {
    let allocate = |plan::Table { list: (a, l), by_value, flagged }: &plan::Table| {
        let tensor = cx.program.tensor(*a);
        let (ty, none) = match by_value {
            true => (tensor.ty, tensor.fill),
            false => {
                let ty = d.element(cx.level_array((*a, *l), Holds::Positions));
                (ty, Value::zero(ty))
            }
        };
        let extent = cx.extent(tensor.extents[tensor.format.order[*l]]);
        let buffer = d.private(&format!("{}{l}_at", tensor.name), ty);
        alloc(d, buffer, extent.clone(), Some(none));
        let flags = flagged.then(|| {
            let flags = d.private(&format!("{}{l}_is", tensor.name), fiberloom_core::algebra::Type::Bool);
            alloc(d, flags, extent, Some(Value::bool(false)));
            flags
        });
        ((*a, *l), Laid { buffer, by_value: *by_value, flags })
    };
    tables.iter().map(allocate).collect()
}

/// Scatters a list, and sets the flags of its entries for which conditions hold.
pub(super) fn lay(cx: &Context, d: &mut Symbolic, it: Name, list: &plan::List, flags: Option<&Flags>) {
    let (of, table) = (list.of.0, cx.prepared.tables[&list.of]);
    let fiber = fiber::unopened(cx, d, list);
    let list = PositionMap::open(d, fiber, table.buffer);
    if table.by_value {
        let values = super::arrays_of(cx, cx.program.accesses[of.0].tensor).values;
        write(d, &list, &|position| Expr::Load(values, Box::new(position)));
    } else {
        list.lay(d);
    }
    if let (Some(buffer), Some(Flags { position, body, cond })) = (table.flags, flags) {
        list.each(d, &mut |d, at, here| {
            cx.say_term(d, *position, here);
            cx.block(d, body);
            let (at, cond) = (d.place(at), cx.expr(d, *cond));
            d.emit(Stmt::Store(buffer, at, cond));
        });
    }
    cx.names.borrow_mut().scattered.insert(it, Scattered { of, table, list }.into());
}

/// Removes a list from its position map.
pub(super) fn clear_map(cx: &Context, d: &mut Symbolic, it: Name) {
    let scattered = cx.names.borrow().scattered[&it].clone();
    let Scattered { of, table, list } = &*scattered;
    if let Some(flags) = table.flags {
        list.each(d, &mut |d, at, _| {
            let at = d.place(at);
            d.emit(Stmt::Store(flags, at, Expr::Const(Value::bool(false))));
        });
    }
    if table.by_value {
        return write(d, list, &|_| Expr::Const(cx.fill(*of)));
    }
    list.clear_map(d);
}

/// Stores a value for each entry at its coordinate.
fn write(d: &mut Symbolic, list: &PositionMap<Term>, value: &dyn Fn(Expr) -> Expr) {
    list.each(d, &mut |d, at, position| {
        let (at, position) = (d.place(at), d.place(position));
        d.emit(Stmt::Store(list.table(), at, value(position)));
    });
}

/// Looks a list up in its position map, at a coordinate that may be outside of it where `inside` does not hold. A map of values gives the
/// value.
pub(super) fn ask(
    cx: &Context,
    d: &mut Symbolic,
    of: (AccessId, usize),
    (at, inside): (Sym, Option<Sym>),
    (found, position): (Sym, Sym),
) {
    let (table, at, inside) = (cx.prepared.tables[&of], cx.expr(d, at), inside.map(|inside| cx.expr(d, inside)));
    if table.by_value {
        let tensor = cx.program.tensor(of.0);
        let value = Expr::Load(table.buffer, Box::new(at));
        let value = match inside {
            Some(inside) => Expr::Op(Op::Select, vec![inside, value, Expr::Const(tensor.fill)]),
            None => value,
        };
        return cx.say(found, d.define(&tensor.name.to_lowercase(), tensor.ty, value));
    }
    let flag = table.flags.map(|flags| {
        let flag = Expr::Load(flags, Box::new(at.clone()));
        let flag = inside.iter().fold(flag, |flag, inside| binary(Op::AndAlso, inside.clone(), flag));
        Term::fixed(d.define("asked", fiberloom_core::algebra::Type::Bool, flag))
    });
    let (at, inside) = (Term::fixed(at), inside.map(Term::fixed));
    let (there, place) = match inside {
        Some(inside) => PositionMap::ask_within(d, table.buffer, &at, &inside),
        None => PositionMap::ask(d, table.buffer, &at),
    };
    cx.say_term(d, found, &flag.unwrap_or(there));
    cx.say_term(d, position, &place);
}
