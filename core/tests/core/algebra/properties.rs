//! Every claim is tried; on 8-bit types, what is not claimed is false.

use fiberloom_core::algebra::{Mode, Op, Type, Value, evaluate, identity, neutral, properties};

/// All values of `bool` and the 8-bit types; of the others, those at which something happens.
fn values(ty: Type) -> Vec<Value> {
    match ty.range() {
        Some((least, greatest)) if ty.bits() <= 8 => (least..=greatest).map(|x| Value::from_i128(ty, x)).collect(),
        Some((least, greatest)) => [0, 1, 2, 3, 7, 8, 63, 64, greatest / 2, greatest - 1, greatest]
            .into_iter()
            .chain((ty.is_signed()).then_some([-1, -2, -3, -8, least / 2, least + 1, least]).into_iter().flatten())
            .map(|x| Value::from_i128(ty, x))
            .collect(),
        None => [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 1e30, f64::INFINITY, f64::NAN]
            .into_iter()
            .flat_map(|x: f64| [x, -x])
            .map(|x| Value::from_f64(ty, x))
            .chain([Value::from_bits(ty, 1)])
            .collect(),
    }
}

/// The values on which a fold of floats is exact.
fn exact(ty: Type) -> Vec<Value> {
    values(ty).into_iter().filter(|v| !ty.is_float() || v.as_f64().abs() < 8.0 && v.bits() != 1).collect()
}

/// A NaN of other bits is the same to programs.
fn one_nan(v: Value) -> Value {
    if v.is_nan() { Value::from_f64(v.ty(), f64::NAN) } else { v }
}

fn same(mode: Mode, a: Value, b: Value) -> bool {
    one_nan(a) == one_nan(b) || mode == Mode::Algebraic && a.ty().is_float() && a.as_f64() == 0.0 && b.as_f64() == 0.0
}

/// Whether a claim about arguments that give `result` is made at all: not about NaN in algebraic mode.
fn promised(mode: Mode, result: Value) -> bool {
    mode == Mode::Strict || !result.is_nan()
}

/// The types of the two arguments of `op` on `ty`.
fn sides(op: Op, ty: Type) -> [Type; 2] {
    match op {
        Op::Mask => [Type::Bool, ty],
        Op::Ldexp => [ty, Type::I64],
        _ => [ty, ty],
    }
}

fn binary() -> impl Iterator<Item = (Op, Type)> {
    Op::all()
        .filter(|op| op.arity() == Some(2))
        .flat_map(|op| Type::ALL.into_iter().filter(move |ty| op.takes(*ty)).map(move |ty| (op, ty)))
}

fn call(op: Op, a: Value, b: Value, mode: Mode) -> Value {
    evaluate(op, &[a, b], mode).unwrap_or_else(|| panic!("{op:?} of {a:?} and {b:?}"))
}

/// `f` with `value` at `position` and `other` at the other one.
fn at(op: Op, position: usize, value: Value, other: Value, mode: Mode) -> Value {
    if position == 0 { call(op, value, other, mode) } else { call(op, other, value, mode) }
}

#[test]
fn claims_hold() {
    for (op, ty) in binary() {
        for mode in [Mode::Algebraic, Mode::Strict] {
            let known = properties(op, ty, mode);
            let sides = sides(op, ty);
            for (position, value) in &known.identities {
                for other in values(sides[1 - position]) {
                    let result = at(op, *position, *value, other, mode);
                    let holds = !promised(mode, result) || same(mode, result, other);
                    assert!(holds, "{op:?} {ty} {mode:?}: identity {value:?} at {position}, {other:?}");
                }
            }
            for (position, value, fixed) in &known.annihilators {
                for other in values(sides[1 - position]) {
                    let result = at(op, *position, *value, other, mode);
                    let holds = !promised(mode, result) || same(mode, result, *fixed);
                    assert!(holds, "{op:?} {ty} {mode:?}: annihilator {value:?} at {position}, {other:?}");
                }
            }
            for a in values(ty) {
                let result = known.idempotent.then(|| call(op, a, a, mode));
                assert!(result.is_none_or(|r| same(mode, r, a)), "{op:?} {ty} {mode:?}: idempotent, {a:?}");
                for b in values(ty).into_iter().filter(|_| known.commutative) {
                    assert!(
                        same(mode, call(op, a, b, mode), call(op, b, a, mode)),
                        "{op:?} {ty} {mode:?}: commutative, {a:?}, {b:?}"
                    );
                }
            }
        }
    }
}

/// `f` on all pairs of values, by their places.
fn table(op: Op, values: &[Value]) -> Vec<Vec<Value>> {
    values.iter().map(|a| values.iter().map(|b| call(op, *a, *b, Mode::Strict)).collect()).collect()
}

#[test]
fn associative_where_claimed() {
    for (op, ty) in binary() {
        for mode in [Mode::Algebraic, Mode::Strict] {
            if !properties(op, ty, mode).associative {
                continue;
            }
            let values = if mode == Mode::Algebraic { exact(ty) } else { values(ty) };
            if ty.bits() <= 8 {
                assert!(mode == Mode::Strict || associative(op, &values), "{op:?} {ty}");
                continue;
            }
            for (a, b, c) in triples(&values) {
                let f = |a, b| call(op, a, b, mode);
                let (left, right) = (f(f(a, b), c), f(a, f(b, c)));
                assert!(same(mode, left, right), "{op:?} {ty} {mode:?}: {a:?}, {b:?}, {c:?}");
            }
        }
    }
}

fn triples(values: &[Value]) -> impl Iterator<Item = (Value, Value, Value)> + '_ {
    values.iter().flat_map(move |a| values.iter().flat_map(move |b| values.iter().map(move |c| (*a, *b, *c))))
}

/// Whether `op` is associative on all of an 8-bit type.
fn associative(op: Op, values: &[Value]) -> bool {
    let table = table(op, values);
    let place = |v: Value| values.binary_search_by_key(&v.as_i128(), |w| w.as_i128()).expect("a value of the type");
    let table: Vec<Vec<usize>> = table.into_iter().map(|row| row.into_iter().map(place).collect()).collect();
    let n = values.len();
    (0..n).all(|a| (0..n).all(|b| (0..n).all(|c| table[table[a][b]][c] == table[a][table[b][c]])))
}

/// On `bool` and the 8-bit types the claims are all there is to claim, but for shifts by multiples of the width.
#[test]
fn claims_are_complete_on_8_bits() {
    for (op, ty) in binary().filter(|(op, ty)| ty.bits() <= 8 && sides(*op, *ty)[0] == *ty) {
        let known = properties(op, ty, Mode::Strict);
        let values = values(ty);
        let table = table(op, &values);
        let n = values.len();
        let closed = table[0][0].ty() == ty;
        let commutative = (0..n).all(|a| (0..a).all(|b| table[a][b] == table[b][a]));
        assert_eq!(known.commutative, commutative, "{op:?} {ty}");
        assert_eq!(known.idempotent, closed && (0..n).all(|a| table[a][a] == values[a]), "{op:?} {ty}");
        if closed {
            // `bool` comparisons: claimed only where somebody folds with them.
            let claimed = known.associative || op.is_comparison();
            assert!(claimed || !associative(op, &values), "{op:?} {ty} is associative");
        }
        let multiple = |v: Value| matches!(op, Op::Shl | Op::Shr) && v.bits() != 0 && v.bits().is_multiple_of(8);
        for (place, value) in values.iter().enumerate() {
            for position in (0..2).filter(|p| *p == 0 || !multiple(*value)) {
                let results: Vec<Value> =
                    (0..n).map(|o| if position == 0 { table[place][o] } else { table[o][place] }).collect();
                let identity = results == values;
                assert_eq!(
                    known.identities.contains(&(position, *value)),
                    identity,
                    "{op:?} {ty} {value:?} at {position}"
                );
                let constant = results.iter().all(|r| *r == results[0]);
                let claimed = known.annihilators.contains(&(position, *value, results[0]));
                assert_eq!(claimed, constant, "{op:?} {ty} {value:?} at {position}");
            }
        }
    }
}

#[test]
fn floats_lose_properties_in_strict_mode() {
    let zero = Value::zero(Type::F64);
    let add = properties(Op::Add, Type::F64, Mode::Strict);
    assert!(!add.associative && add.commutative && !add.identities.contains(&(0, zero)));
    assert!(add.identities.contains(&(1, Value::from_f64(Type::F64, -0.0))));
    let mul = properties(Op::Mul, Type::F64, Mode::Strict);
    assert!(!mul.annihilators.iter().any(|(_, v, _)| *v == zero));
    let loose = properties(Op::Mul, Type::F64, Mode::Algebraic);
    assert!(loose.associative && loose.annihilators.contains(&(0, zero, zero)));
}

#[test]
fn identities_are_claimed_or_the_sum_of_nothing() {
    for (op, ty) in binary() {
        let Some(value) = identity(op, ty) else { continue };
        let known = properties(op, ty, Mode::Algebraic);
        let signed_gcd = op == Op::Gcd && ty.is_signed();
        assert!(signed_gcd || known.identities.contains(&(0, value)), "{op:?} {ty}");
        assert!(known.associative, "{op:?} {ty}");
    }
}

#[test]
fn parts_of_folds_begin_with_what_changes_nothing() {
    for (op, ty) in binary().filter(|(op, ty)| *op != Op::Gcd || !ty.is_signed()) {
        let Some(nothing) = neutral(op, ty) else { continue };
        for value in values(ty) {
            for mode in [Mode::Strict, Mode::Algebraic] {
                let both = [call(op, value, nothing, mode), call(op, nothing, value, mode)];
                assert!(both.iter().all(|made| one_nan(*made) == one_nan(value)), "{op:?} {ty} {value:?}: {both:?}");
            }
        }
    }
}
