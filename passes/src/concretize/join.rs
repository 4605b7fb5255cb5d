//! Joins by value: instead of comparing every pair of values that must be equal, a table says where one side has each value.
//!
//! ```text
//!  s[] = sum(i, j: mask(p[i] == q[j], x[i] * z[j]))            each i compares each j
//!    ─▶  inverse[slot of q[j], j] any= true                    J slots: q floormod J, where values are below J
//!        s[] = sum(i, j: select(inverse[slot of p[i], j], mask(p[i] == q[j], x[i] * z[j]), 0))
//! ```
//!
//! Equal values have the same slot. Other values may share it; the comparison stays and rejects them. So slots change the cost of a
//! program and never its meaning.
//!
//! Applies where loops visit a whole extent only because no list says where the values are, and where differing values add nothing.

use super::Concretize;
use super::draft::Draft;
use super::free::free_in;
use super::out::Out;
use super::turn::{View, inverse};
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::iteration::Simplify;
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::{AccessId, Computed, Expr, Index, Origin};
use fiberloom_core::notation::typed::Fun;

/// Multiplies the part of a value that exceeds the slots, so that values with a common stride spread over the slots.
const SPREAD: i64 = 0x9E37_79B9_7F4A_7C15_u64 as i64;

/// The surroundings of a body: a fold, or a result with a fill value.
#[derive(Clone, Copy)]
pub(super) enum Around {
    /// The body is folded with this function.
    Fold(Fun),
    /// The body is stored in a tensor with this fill value.
    Fill(Value),
}

/// The equalities of values of one loop with values of other loops.
struct Join {
    /// The loop whose iterations are looked up.
    of: Index,
    /// The other loops' sides of the equalities: the values that are looked up.
    by: Vec<Expr>,
    /// This loop's sides of the equalities, in the same order.
    values: Vec<Expr>,
    /// The body's value where an equality does not hold.
    nothing: Value,
}

/// The statement with joins by value where they pay.
pub(super) fn looked_up(s: Draft, c: &mut Concretize) -> Draft {
    let around = s.assign.fold().map_or(Around::Fill(c.out.tensors[s.place.0].fill), Around::Fold);
    let loops = s.loops(&c.out);
    Draft { rhs: look_up(s.rhs, &loops, around, c), ..s }
}

/// The body with joins by value where they pay. Any of `loops`, outermost first, may be looked up.
pub(super) fn look_up(body: Expr, loops: &[Index], around: Around, c: &mut Concretize) -> Expr {
    let plain = c.scheduled.is_bare() && c.columns.is_empty() && !body.has_loops();
    if !plain || View::of(c).may_end_somewhere(&body) {
        return body;
    }
    // Each loop is looked up at most once.
    loops.iter().rev().fold(body, |body, of| match View::of(c).join(&body, *of, around) {
        Some(join) => by_slots(body, join, c),
        None => body,
    })
}

impl View<'_> {
    /// Whether a read coordinate ends the program where it leaves its tensor: every iteration has to read it.
    fn may_end_somewhere(self, body: &Expr) -> bool {
        let accesses = body.accesses();
        let mut vars = accesses.iter().flat_map(|a| self.program.accesses[a.0].vars.iter());
        vars.any(|w| self.program.computed(*w).is_some_and(|c| c.is_read() && !c.permit))
    }

    /// The equalities by which a loop's iterations can be looked up, if that pays.
    fn join(self, body: &Expr, of: Index, around: Around) -> Option<Join> {
        if self.program.vars[of.0].origin != Origin::Loop || self.are_few(&[of]) || !self.visits_all(body, of) {
            return None;
        }
        let mut found: Option<(Vec<Index>, Join)> = None;
        body.each(&mut |e| {
            let Some((other, value, loops)) = self.equal(e, of) else { return };
            if self.are_led(body, &loops, of) || self.are_listed(body, &loops, of, around) {
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

    /// The sides of an integer equality that reads tensors: one of other loops alone, one of loop `of` alone; with those other loops.
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

    /// Whether the body reads one of these loops under a coordinate that is computed from `of`.
    fn are_led(self, body: &Expr, loops: &[Index], of: Index) -> bool {
        body.accesses().iter().any(|a| {
            let vars = &self.program.accesses[a.0].vars;
            let by = |w: &Index| self.program.computed(*w).is_some() && self.program.made_of(*w).contains(&of);
            vars.iter().any(by) && vars.iter().any(|v| loops.contains(v))
        })
    }

    /// Whether lists say for which pairs of iterations of `of` and of these loops the body's value is more than the surrounding fold
    /// ignores: loops compare those alone.
    fn are_listed(self, body: &Expr, loops: &[Index], of: Index, around: Around) -> bool {
        let lists = |a: &AccessId| {
            let (access, format) = (&self.program.accesses[a.0], &self.program.tensor(*a).format);
            let over = |v: &Index| access.vars.iter().any(|w| self.program.follows(*w, *v));
            format.levels.iter().any(|kind| kind.is_short()) && loops.iter().chain([&of]).all(over)
        };
        let lists: Vec<AccessId> = body.accesses().into_iter().filter(lists).collect();
        let fill = |a: AccessId| lists.contains(&a).then(|| self.program.tensor(a).fill);
        let nothing = self.given.simplify.replace(body, &fill);
        !lists.is_empty() && matches!(nothing, Expr::Literal(x) if self.is_ignored(x, around))
    }

    /// The body's value where the keys differ, if the surrounding fold ignores it.
    fn where_unequal(self, body: &Expr, equality: &Expr, around: Around) -> Option<Value> {
        let unequal = body.clone().settled(&|e| (e == equality).then_some(Value::bool(false)));
        let Expr::Literal(nothing) = self.given.simplify.simplify(&unequal) else { return None };
        self.is_ignored(nothing, around).then_some(nothing)
    }

    /// Whether the surrounding fold, or the result, ignores a value.
    fn is_ignored(self, value: Value, around: Around) -> bool {
        match around {
            Around::Fold(fun) => self.given.begins_with(fun, value),
            Around::Fill(fill) => self.given.simplify.same(value, fill),
        }
    }
}

/// The body, evaluated only where the slots of the two sides are equal.
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

/// The slot of some values: a coordinate below an extent. A single value below the extent is its own slot.
fn slot(values: Vec<Expr>, extent: ClassId, out: &mut Out, simplify: Simplify) -> Index {
    let call = |op, a, b| Expr::Call(Fun::Op(op), vec![a, b], Type::I64);
    let times = |e| call(Op::Mul, e, Expr::Literal(Value::i64(SPREAD)));
    let values = values.into_iter().map(super::bare::integer);
    let value = values.reduce(|a, b| call(Op::Add, times(a), b)).expect("one value or more");
    // An extent of 0 has no slots and no lookups; 1 avoids a division by 0.
    let slots = call(Op::Max, out.extent(extent), Expr::Literal(Value::i64(1)));
    let beyond = call(Op::FloorDiv, value.clone(), slots.clone());
    let of = call(Op::FloorRem, call(Op::Add, value, times(beyond)), slots);
    let of = simplify.simplify(&of);
    out.at(extent, Origin::Computed(Box::new(Computed { of, permit: true, caught: false })))
}

/// Whether an expression consists of built-in functions, literals, variables and accesses alone.
fn is_called(e: &Expr) -> bool {
    match e {
        Expr::Literal(_) | Expr::Index(_) | Expr::Access(..) => true,
        Expr::Call(Fun::Op(_), args, _) => args.iter().all(is_called),
        _ => false,
    }
}
