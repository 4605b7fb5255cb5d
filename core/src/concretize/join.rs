//! Equal values looked up: of two tensors whose values have to be equal, one says by value where it has it.
//!
//! ```text
//!  s[] = sum(i, j: mask(p[i] == q[j], x[i] * z[j]))            each i compares each j
//!    ─▶  inverse[slot of q[j], j] any= true                    J slots: q floormod J, where values are below J
//!        s[] = sum(i, j: select(inverse[slot of p[i], j], mask(p[i] == q[j], x[i] * z[j]), 0))
//! ```
//!
//! Equal values have one slot; what else is in a slot fails the comparison, which stays. So a program means the same whatever slots are:
//! they decide what it costs.
//!
//! Where loops visit a whole extent only because nothing says where the values are, and where they differ nothing is added.

use super::Concretize;
use super::draft::Draft;
use super::hoist::free_in;
use super::out::Out;
use super::turn::{View, inverse};
use crate::algebra::{Op, Type, Value};
use crate::iteration::Simplify;
use crate::map::ClassId;
use crate::notation::concrete::{Computed, Expr, Index, Origin};
use crate::notation::typed::Fun;

/// What is multiplied with the part of a value that is beyond the slots: no stride of values that occurs by itself meets it.
const SPREAD: i64 = 0x9E37_79B9_7F4A_7C15_u64 as i64;

/// What values stand in: a fold, or a result with a fill value.
#[derive(Clone, Copy)]
pub(super) enum Around {
    /// Folded with this function.
    Fold(Fun),
    /// Stored, in a tensor with this fill value.
    Fill(Value),
}

/// Equalities of what one loop moves with what others move.
struct Join {
    /// The loop whose values are looked up.
    of: Index,
    /// The values by which they are, in the order of the other sides.
    by: Vec<Expr>,
    /// The values that it moves.
    values: Vec<Expr>,
    /// What the body is where one of them differs.
    nothing: Value,
}

/// A statement in which equal values are looked up, where that pays.
pub(super) fn looked_up(s: Draft, c: &mut Concretize) -> Draft {
    let around = s.fold.map_or(Around::Fill(c.out.tensors[s.place.0].fill), Around::Fold);
    let loops = s.loops(&c.out);
    Draft { rhs: look_up(s.rhs, &loops, around, c), ..s }
}

/// A body in which equal values are looked up, where that pays; `loops` are those that may be led by it, outermost first.
pub(super) fn look_up(body: Expr, loops: &[Index], around: Around, c: &mut Concretize) -> Expr {
    let plain = c.scheduled.is_bare() && c.columns.is_empty() && !body.has_loops();
    if !plain || View::of(c).may_end_somewhere(&body) {
        return body;
    }
    // Each loop is led once.
    loops.iter().rev().fold(body, |body, of| match View::of(c).join(&body, *of, around) {
        Some(join) => by_slots(body, join, c),
        None => body,
    })
}

impl View<'_> {
    /// Whether a coordinate that is read ends the program where it leaves its tensor: it has to be read at each turn.
    fn may_end_somewhere(self, body: &Expr) -> bool {
        let accesses = body.accesses();
        let mut vars = accesses.iter().flat_map(|a| self.program.accesses[a.0].vars.iter());
        vars.any(|w| self.program.computed(*w).is_some_and(|c| c.is_read() && !c.permit))
    }

    /// The equalities by which a loop's turns are looked up, if that pays.
    fn join(self, body: &Expr, of: Index, around: Around) -> Option<Join> {
        if self.program.vars[of.0].origin != Origin::Loop || self.are_few(&[of]) || !self.visits_all(body, of) {
            return None;
        }
        let mut found: Option<(Vec<Index>, Join)> = None;
        body.each(&mut |e| {
            let Some((other, value, loops)) = self.equal(e, of) else { return };
            if self.are_led(body, &loops, of) {
                return;
            }
            let Some(nothing) = self.where_unequal(body, e, around) else { return };
            let (with, join) = found.get_or_insert_with(|| {
                let join = Join { of, by: vec![], values: vec![], nothing };
                (loops.clone(), join)
            });
            let known = join.by.iter().zip(&join.values).any(|(a, b)| (a, b) == (&other, &value));
            if *with == loops && !known && self.given.simplify.same(join.nothing, nothing) {
                join.by.push(other);
                join.values.push(value);
            }
        });
        found.map(|(_, join)| join)
    }

    /// An equality of whole numbers in tensors, of what other loops move and of what this one does alone; with those loops.
    fn equal(self, e: &Expr, of: Index) -> Option<(Expr, Expr, Vec<Index>)> {
        let Expr::Call(Fun::Op(Op::Eq), args, _) = e else { return None };
        let [a, b] = &args[..] else { return None };
        let ty = a.ty();
        let moved = |e: &Expr| {
            let mut loops: Vec<Index> =
                free_in(self.program, e, &[]).iter().flat_map(|v| self.program.roots(*v)).collect();
            loops.sort();
            loops.dedup();
            loops
        };
        let read = |e: &Expr| !e.accesses().is_empty() && is_called(e);
        if ty.is_float() || ty == Type::Bool || !read(a) || !read(b) {
            return None;
        }
        let sides = [(a, moved(a), b, moved(b)), (b, moved(b), a, moved(a))];
        let found = sides
            .into_iter()
            .find(|(_, others, _, own)| own[..] == [of] && !others.is_empty() && !others.contains(&of));
        found.map(|(other, others, own, _)| (other.clone(), own.clone(), others))
    }

    /// Whether one of some loops is led by values of this one.
    fn are_led(self, body: &Expr, loops: &[Index], of: Index) -> bool {
        body.accesses().iter().any(|a| {
            let vars = &self.program.accesses[a.0].vars;
            let by = |w: &Index| self.program.computed(*w).is_some() && self.program.made_of(*w).contains(&of);
            vars.iter().any(by) && vars.iter().any(|v| loops.contains(v))
        })
    }

    /// The body's value where the keys differ, if the surrounding fold ignores it.
    fn where_unequal(self, body: &Expr, equality: &Expr, around: Around) -> Option<Value> {
        let unequal = body.clone().settled(&|e| (e == equality).then_some(Value::bool(false)));
        let Expr::Literal(nothing) = self.given.simplify.simplify(&unequal) else { return None };
        let passes = match around {
            Around::Fold(fun) => self.given.begins_with(fun, nothing),
            Around::Fill(fill) => self.given.simplify.same(nothing, fill),
        };
        passes.then_some(nothing)
    }
}

/// The body under the slots of the values by which a loop's turns are looked up.
fn by_slots(body: Expr, join: Join, c: &mut Concretize) -> Expr {
    let Join { of, by, values, nothing } = join;
    let extent = c.out.vars[of.0].extent;
    let own = slot(values, extent, &mut c.out, c.given.simplify);
    let inverse = inverse(own, &[of], &[], c);
    let at = slot(by, extent, &mut c.out, c.given.simplify);
    let there = c.out.read(inverse, vec![at, of]);
    let ty = body.ty();
    Expr::Call(Fun::Op(Op::Select), vec![there, body, Expr::Literal(nothing)], ty)
}

/// The slot of some values, as a coordinate below an extent. Values below it are their own slots.
fn slot(values: Vec<Expr>, extent: ClassId, out: &mut Out, simplify: Simplify) -> Index {
    let call = |op, a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::I64);
    let times = |e| call(Op::Mul, e, Expr::Literal(Value::i64(SPREAD)));
    let values = values.into_iter().map(super::bare::integer);
    let value = values.reduce(|a, b| call(Op::Add, times(a), b)).expect("one value or more");
    // Where there are no slots there is nothing to look up, whatever the slot is.
    let slots = call(Op::Max, out.extent(extent), Expr::Literal(Value::i64(1)));
    let beyond = call(Op::FloorDiv, value.clone(), slots.clone());
    let of = call(Op::FloorRem, call(Op::Add, value, times(beyond)), slots);
    let of = simplify.simplify(&of);
    out.at(extent, Origin::Computed(Box::new(Computed { of, permit: true, caught: false })))
}

/// Whether it is made of built-in functions alone.
fn is_called(e: &Expr) -> bool {
    match e {
        Expr::Literal(_) | Expr::Index(_) | Expr::Access(..) => true,
        Expr::Call(Fun::Op(_), args, _) => args.iter().all(is_called),
        _ => false,
    }
}
