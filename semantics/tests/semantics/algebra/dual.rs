//! Tangents against differences of values.

use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_semantics::algebra::{Dual, Number, Numeric};

fn dual(x: f64, t: f64) -> Dual {
    let number = |x| Number::given(Value::from_f64(Type::F64, x));
    Dual::moving(number(x), number(t))
}

/// Built-ins of floats, at points where they are smooth, against differences of their own values.
#[test]
fn tangents_are_what_values_move_by() {
    let points = [0.3, 0.71, -0.45, 1.7, -2.3, 3.25];
    let tried = |op: Op, args: &[f64], k: usize| {
        let at = |h: f64| {
            let moved = |(n, x): (usize, &f64)| dual(if n == k { x + h } else { *x }, (n == k) as u8 as f64);
            let args: Vec<Dual> = args.iter().enumerate().map(moved).collect();
            Dual::apply(op, &args, Mode::Algebraic).expect("floats are taken")
        };
        let (low, high) = (at(-1e-6).value.value.as_f64(), at(1e-6).value.value.as_f64());
        let (slope, tangent) = ((high - low) / 2e-6, at(0.0).tangent.value.as_f64());
        let near = (slope - tangent).abs() <= 1e-6 * (1.0 + slope.abs());
        assert!(near || !slope.is_finite(), "{op:?} of {args:?} by {k}: {slope} {tangent}");
    };
    let floats = |op: &Op| op.takes(Type::F64) && !op.is_predicate();
    let mut seen = 0;
    for op in Op::all().filter(floats).filter(|op| !matches!(op, Op::NextAfter | Op::Ldexp | Op::Convert(_))) {
        for (x, y) in points.iter().flat_map(|x| points.iter().map(move |y| (*x, *y))).filter(|(x, y)| x != y) {
            match op.arity() {
                Some(1) => tried(op, &[x], 0),
                Some(2) if !matches!(op, Op::Mask) => (0..2).for_each(|k| tried(op, &[x, y], k)),
                _ => continue,
            }
            seen += 1;
        }
    }
    assert!(seen > 1000, "{seen}");
}

/// NaN attains no extreme: neither argument is the first that does.
#[test]
fn nothing_is_promised_of_how_nan_moves() {
    for (op, mode, promised) in
        [(Op::Max, Mode::Algebraic, false), (Op::Max, Mode::Strict, true), (Op::Mask, Mode::Algebraic, true)]
    {
        let first = if op == Op::Mask { Dual::given(Value::bool(false)) } else { dual(1.0, 0.0) };
        let made = Dual::apply(op, &[first, dual(f64::NAN, 3.0)], mode).expect("floats are taken");
        assert_eq!(made.tangent.error() == 0.0, promised, "{op:?} {mode:?}");
    }
}

/// A quotient by a computed 0 has no certain sign; where another evaluation has the other one, a difference of such values is NaN.
#[test]
fn nothing_is_promised_of_how_an_unpromised_value_moves() {
    let apply = |op, args: &[Dual]| Dual::apply(op, args, Mode::Algebraic).expect("floats are taken");
    for op in [Op::Div, Op::FloorDiv] {
        let nothing = apply(Op::Mul, &[dual(0.0, 0.0), dual(-2.0, 0.0)]);
        let infinite = apply(op, &[dual(2.0, 3.0), nothing]);
        assert!(infinite.value.is_unpromised() && infinite.tangent.is_unpromised(), "{op:?}: {infinite:?}");
        let certain = apply(op, &[dual(2.0, 3.0), dual(4.0, 0.0)]);
        assert!(!certain.tangent.is_unpromised(), "{op:?}: {certain:?}");
    }
}

#[test]
fn the_first_that_attains_an_extreme_moves_it() {
    for op in [Op::Min, Op::Max] {
        let both = Dual::apply(op, &[dual(2.0, 3.0), dual(2.0, 5.0)], Mode::Algebraic).expect("floats are taken");
        assert_eq!(both.tangent.value.as_f64(), 3.0);
    }
    let abs = Dual::apply(Op::Abs, &[dual(0.0, 3.0)], Mode::Algebraic).expect("floats are taken");
    assert_eq!(abs.tangent.value.as_f64(), 0.0);
}
