//! Functions of scalars of a symbolic run.
//!
//! Known arguments are applied as the interpreter of loops does. Of others, functions of integers and truth values are the language's, but for
//! products of two terms and for what is no function of few values: those, and functions of floats that are no ring's,
//! are functions of which nothing is known but their arguments.

use super::scalar::{Bits, RING, Scalar, all, bits, width};
use super::truth::Truth;
use fiberloom_core::algebra::{self, Op, Type, Value, result_type};
use z3::ast::{Ast, BV, Bool};
use z3::{FuncDecl, Sort};

/// Arguments of so many values are looked up in a table.
const TABLE: i128 = 128;

/// Bits of two terms of which the product is asked: longer ones take the solver too long.
const FACTOR: u32 = 5;

/// A function's value. `ring`: whether floats are a ring, or `+`, `−` and `*` of them anything.
pub fn apply(op: Op, args: &[Scalar], ring: bool) -> Scalar {
    let known: Vec<Value> = args.iter().filter_map(Scalar::known).collect();
    if known.len() == args.len() {
        let types: Vec<Type> = known.iter().map(|x| x.ty()).collect();
        let ty = result_type(op, &types).unwrap_or(Type::Bool);
        // As the machine does: a type was found when the kernel was checked.
        return Scalar::Known(algebra::apply(op, &known).unwrap_or(Value::zero(ty)));
    }
    let found = match (op, args) {
        (Op::Select, [c, a, b]) => Some(Scalar::choose(&c.is_true(), a, b)),
        (Op::Mask, [c, a]) => Some(Scalar::choose(&c.is_true(), a, &Scalar::Known(Value::zero(a.ty())))),
        (Op::Convert(to), [a]) => convert(a, to),
        (_, [a]) if a.ty() == Type::Bool => (op == Op::Not).then(|| Scalar::truth(!&a.is_true())),
        (_, [a, b]) if a.ty() == Type::Bool => truth(op, &a.is_true(), &b.is_true()),
        (_, [a, b]) if op.is_comparison() => Some(Scalar::truth(compared(op, a, b))),
        (_, [a]) if a.ty().is_float() => float_of_one(op, a, ring),
        (_, [a, b]) if a.ty().is_float() => float(op, a, b, ring),
        (_, [a]) => whole_of_one(op, a),
        (_, [a, b]) => whole(op, a, b),
        _ => None,
    };
    found.or_else(|| table(op, args, ring)).unwrap_or_else(|| some_function(op, args))
}

fn truth(op: Op, a: &Truth, b: &Truth) -> Option<Scalar> {
    Some(Scalar::truth(match op {
        Op::Add | Op::Max | Op::Or | Op::OrElse => a.or(b),
        Op::Mul | Op::Min | Op::And | Op::AndAlso => a.and(b),
        Op::Xor | Op::Ne => !&a.same(b),
        Op::Eq => a.same(b),
        Op::Lt => (!a).and(b),
        Op::Le => (!a).or(b),
        Op::Gt => a.and(&!b),
        Op::Ge => a.or(&!b),
        _ => return None,
    }))
}

/// Whether an integer is at most another.
pub fn at_most(a: &Scalar, b: &Scalar) -> Truth {
    compared(Op::Le, a, b)
}

/// Whether a number stands so to another; floats are a total order.
fn compared(op: Op, a: &Scalar, b: &Scalar) -> Truth {
    match op {
        Op::Lt => less(a, b),
        Op::Ge => !&less(a, b),
        Op::Gt => less(b, a),
        Op::Le => !&less(b, a),
        Op::Ne => !&a.same(b),
        _ => a.same(b),
    }
}

fn less(a: &Scalar, b: &Scalar) -> Truth {
    if let (Some(a), Some(b)) = (a.known(), b.known()) {
        return Truth::Known(algebra::apply(Op::Lt, &[a, b]).is_some_and(Value::is_true));
    }
    let (ty, (least, most), (first, last)) = (a.ty(), a.within(), b.within());
    if !ty.is_float() && most < first {
        return Truth::YES;
    }
    if !ty.is_float() && least >= last {
        return Truth::NO;
    }
    let (x, y) = a.both(b);
    if x == y {
        return Truth::NO;
    }
    Truth::Open(if ty.is_float() || least < 0 || first < 0 { x.bvslt(y) } else { x.bvult(y) })
}

fn float_of_one(op: Op, a: &Scalar, ring: bool) -> Option<Scalar> {
    (op == Op::Neg && ring).then(|| Bits::of(a.ty(), a.term().bvneg()))
}

fn float(op: Op, a: &Scalar, b: &Scalar, ring: bool) -> Option<Scalar> {
    let (x, y) = (a.term(), b.term());
    let is = |x: &Scalar, c: f64| x.known().is_some_and(|x| x.as_f64() == c);
    let absorbs = is(a, 0.0) || is(b, 0.0);
    Some(match op {
        Op::Add | Op::Sub if ring && is(b, 0.0) => a.clone(),
        Op::Add if ring && is(a, 0.0) => b.clone(),
        Op::Mul if ring && absorbs => Scalar::Known(Value::zero(a.ty())),
        Op::Mul if ring && is(a, 1.0) => b.clone(),
        Op::Mul if ring && is(b, 1.0) => a.clone(),
        Op::Add if ring => Bits::of(a.ty(), x.bvadd(y)),
        Op::Sub if ring => Bits::of(a.ty(), x.bvsub(y)),
        Op::Mul if ring => Bits::of(a.ty(), x.bvmul(y)),
        Op::Min => Scalar::choose(&less(b, a), b, a),
        Op::Max => Scalar::choose(&less(a, b), b, a),
        _ => return None,
    })
}

/// An integer that a function of two gives in a width, if its interval is of its type; else all of the type.
fn fitting(ty: Type, within: (i128, i128), of: impl Fn(u32) -> BV) -> Scalar {
    let (least, most) = all(ty);
    let within = if least <= within.0 && within.1 <= most { within } else { (least, most) };
    Bits::within(ty, of(bits(within)), within)
}

fn whole_of_one(op: Op, a: &Scalar) -> Option<Scalar> {
    let (ty, (least, most)) = (a.ty(), a.within());
    let zero = Scalar::Known(Value::zero(ty));
    let negative = || fitting(ty, (-most, -least), |to| a.low(to).bvneg());
    Some(match op {
        Op::Neg => negative(),
        Op::Not => Bits::of(ty, a.term().bvnot()),
        Op::Abs => Scalar::choose(&less(a, &zero), &negative(), a),
        Op::Sign => {
            let one = |x: i128| Scalar::Known(Value::from_i128(ty, x));
            let at_most_zero = Scalar::choose(&less(a, &zero), &one(-1), &zero);
            Scalar::choose(&less(&zero, a), &one(1), &at_most_zero)
        }
        Op::TrailingZeros => {
            let x = a.term();
            let bit = |i: u32| Truth::of(&x.extract(i, i).eq(BV::from_u64(1, 1)));
            let none = Scalar::int(64);
            (0..64).rev().fold(none, |rest, i| Scalar::choose(&bit(i), &Scalar::int(i as i64), &rest))
        }
        _ => return None,
    })
}

fn whole(op: Op, a: &Scalar, b: &Scalar) -> Option<Scalar> {
    let ty = a.ty();
    let ((least, most), (first, last)) = (a.within(), b.within());
    let not_negative = least >= 0 && first >= 0;
    let bitwise = |within, f: fn(&BV, BV) -> BV| {
        fitting(ty, if not_negative { within } else { all(ty) }, |to| f(&a.low(to), b.low(to)))
    };
    let filled = |x: i128| (1i128 << (i128::BITS - x.leading_zeros())) - 1;
    Some(match op {
        Op::Add if b.known().and_then(Value::as_i128) == Some(0) => a.clone(),
        Op::Add => fitting(ty, (least + first, most + last), |to| a.low(to).bvadd(b.low(to))),
        Op::Sub => fitting(ty, (least - last, most - first), |to| a.low(to).bvsub(b.low(to))),
        Op::Mul if a.known().or(b.known()).is_some() || bits(a.within()).max(bits(b.within())) <= FACTOR => {
            let ends = [(least, first), (least, last), (most, first), (most, last)].map(|(p, q)| p.saturating_mul(q));
            let within = (*ends.iter().min()?, *ends.iter().max()?);
            fitting(ty, within, |to| a.low(to).bvmul(b.low(to)))
        }
        Op::Min if most <= first => a.clone(),
        Op::Max if least >= last => a.clone(),
        Op::Min => Scalar::choose(&less(b, a), b, a),
        Op::Max => Scalar::choose(&less(a, b), b, a),
        Op::And if not_negative => bitwise((0, most.min(last)), |x, y| x.bvand(y)),
        Op::And if least >= 0 => fitting(ty, (0, most), |to| a.low(to).bvand(b.low(to))),
        Op::And if first >= 0 => fitting(ty, (0, last), |to| a.low(to).bvand(b.low(to))),
        Op::And => Bits::of(ty, a.term().bvand(b.term())),
        Op::Or => bitwise((0, filled(most.max(last))), |x, y| x.bvor(y)),
        Op::Xor => bitwise((0, filled(most.max(last))), |x, y| x.bvxor(y)),
        Op::Shl | Op::Shr => shifted(op, a, b),
        _ => return by_power_of_two(op, a, b),
    })
}

/// A shift, modulo the width.
fn shifted(op: Op, a: &Scalar, b: &Scalar) -> Scalar {
    let (ty, wide, (least, most)) = (a.ty(), width(a.ty()), a.within());
    let right = |by: BV| if ty.is_signed() { a.term().bvashr(by) } else { a.term().bvlshr(by) };
    let known = b.known().and_then(Value::as_i128).map(|n| n.rem_euclid(wide as i128) as u32);
    match (op, known) {
        (Op::Shl, Some(n)) => fitting(ty, (least << n, most << n), |to| match to.checked_sub(n) {
            Some(kept) if kept > 0 && n > 0 => a.low(kept).concat(BV::from_u64(0, n)),
            Some(kept) if kept > 0 => a.low(to),
            _ => BV::from_u64(0, to),
        }),
        (Op::Shl, None) => Bits::of(ty, a.term().bvshl(b.term().bvand(BV::from_u64(wide as u64 - 1, wide)))),
        (_, Some(n)) => Bits::within(ty, right(BV::from_u64(n as u64, wide)), (least >> n, most >> n)),
        (_, None) => {
            let term = right(b.term().bvand(BV::from_u64(wide as u64 - 1, wide)));
            if least >= 0 { Bits::within(ty, term, (0, most)) } else { Bits::of(ty, term) }
        }
    }
}

/// A quotient or a rest by a known power of two: rounded down, or of what is not negative.
fn by_power_of_two(op: Op, a: &Scalar, b: &Scalar) -> Option<Scalar> {
    let by = b.known()?.as_i128().filter(|by| *by > 0 && by.count_ones() == 1)?;
    let (ty, (least, most)) = (a.ty(), a.within());
    let places = by.trailing_zeros();
    let to = bits((least, most)).max(places + 1);
    match op {
        Op::Div | Op::Rem if least < 0 => None,
        Op::Div | Op::FloorDiv => {
            let (x, places) = (a.low(to), BV::from_u64(places as u64, to));
            let term = if least < 0 { x.bvashr(places) } else { x.bvlshr(places) };
            Some(Bits::within(ty, term, (least.div_euclid(by), most.div_euclid(by))))
        }
        Op::Rem | Op::FloorRem => {
            let most = if least < 0 { by - 1 } else { most.min(by - 1) };
            Some(Bits::within(ty, a.low(to).bvand(BV::from_u64(by as u64 - 1, to)), (0, most)))
        }
        _ => None,
    }
}

/// The nearest value of a type. Of a float a function of which nothing is known, but whether it is 0.
fn convert(a: &Scalar, to: Type) -> Option<Scalar> {
    let (from, (least, most)) = (a.ty(), a.within());
    if from == to {
        return Some(a.clone());
    }
    if to == Type::Bool {
        return Some(Scalar::truth(a.is_true()));
    }
    if from == Type::Bool {
        let (one, zero) = (Scalar::Known(Value::one(to)), Scalar::Known(Value::zero(to)));
        return Some(Scalar::choose(&a.is_true(), &one, &zero));
    }
    if from.is_float() {
        return None;
    }
    if to.is_float() {
        return Some(Bits::of(to, a.low(RING)));
    }
    let (first, last) = all(to);
    if least > last || most < first {
        return Some(Scalar::Known(Value::from_i128(to, if least > last { last } else { first })));
    }
    let within = (least.max(first), most.min(last));
    let same = Bits::within(to, a.low(bits(within)), within);
    let end = |x: i128| (Scalar::Known(Value::from_i128(from, x)), Scalar::Known(Value::from_i128(to, x)));
    let mut nearest = same;
    if least < first {
        let (bound, value) = end(first);
        nearest = Scalar::choose(&less(a, &bound), &value, &nearest);
    }
    if most > last {
        let (bound, value) = end(last);
        nearest = Scalar::choose(&less(&bound, a), &value, &nearest);
    }
    Some(nearest)
}

/// A function of one term of few values, each looked up.
fn table(op: Op, args: &[Scalar], ring: bool) -> Option<Scalar> {
    let mut open = (0..args.len()).filter(|i| args[*i].known().is_none());
    let (at, None) = (open.next()?, open.next()) else { return None };
    let (ty, (least, most)) = (args[at].ty(), args[at].within());
    if !ty.is_integer() || most - least >= TABLE || args.iter().any(|a| a.ty().is_float()) {
        return None;
    }
    let mut args = args.to_vec();
    let open = args[at].clone();
    let mut found: Option<Scalar> = None;
    for x in least..=most {
        let x = Scalar::Known(Value::from_i128(ty, x));
        args[at] = x.clone();
        let value = apply(op, &args, ring);
        found = Some(found.map_or(value.clone(), |rest| Scalar::choose(&open.same(&x), &value, &rest)));
    }
    found
}

/// A function of which nothing is known but its arguments; of two factors, not their order.
fn some_function(op: Op, args: &[Scalar]) -> Scalar {
    let types: Vec<Type> = args.iter().map(Scalar::ty).collect();
    let ty = result_type(op, &types).unwrap_or(Type::Bool);
    let mut terms: Vec<BV> = args.iter().map(Scalar::term).collect();
    if op == Op::Mul && !types[0].is_float() {
        let [a, b] = [&terms[0], &terms[1]];
        let ordered = a.bvule(b);
        terms = vec![ordered.ite(a, b), ordered.ite(b, a)];
    }
    let sorts: Vec<Sort> = terms.iter().map(Ast::get_sort).collect();
    let name = format!("{} {types:?} {ty}", op.name());
    let range = if ty == Type::Bool { Sort::bool() } else { Sort::bitvector(width(ty)) };
    let declared = FuncDecl::new(name, &sorts.iter().collect::<Vec<_>>(), &range);
    let applied = declared.apply(&terms.iter().map(|t| t as &dyn Ast).collect::<Vec<_>>());
    let boolean = |applied: z3::ast::Dynamic| applied.as_bool().unwrap_or_else(|| Bool::from_bool(false));
    match ty {
        Type::Bool => Scalar::truth(Truth::of(&boolean(applied))),
        _ => Bits::of(ty, applied.as_bv().unwrap_or_else(|| BV::from_u64(0, RING))),
    }
}
