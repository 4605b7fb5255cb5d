//! What errors permit, and what is another zero.

use fiberloom_core::algebra::{Mode, Op, Type, Value};
use fiberloom_semantics::algebra::{Number, apply};

fn number(x: f64) -> Number {
    Number::given(Value::from_f64(Type::F32, x))
}

/// The factors multiplied from the left, as the meaning does.
fn product_of(factors: &[f64]) -> Number {
    let times = |a, b: &f64| apply(Op::Mul, &[a, number(*b)], Mode::Algebraic).expect("floats are multiplied");
    factors.iter().fold(number(1.0), times)
}

#[test]
fn a_product_permits_what_its_factors_come_to_in_any_order() {
    let orders = |f: [f64; 3]| {
        let [a, b, c] = f.map(|x| x as f32);
        [a * b * c, a * (b * c), a * c * b]
    };
    for factors in [[0.0, 1e30, 1e30], [1e-30, 1e30, 1e30], [1e-30, 1e-30, 1e30], [1e30, 1e-30, 1e-30]] {
        let meant = product_of(&factors);
        for other in orders(factors) {
            assert!(meant.permits(Value::from_f64(Type::F32, other.into()), Mode::Algebraic), "{factors:?} {other}");
        }
    }
    for factors in [[0.0, 3.0, 7.0], [0.5, 1e30, 2.0], [2.0, 3.0, 4.0]] {
        let meant = product_of(&factors);
        assert_eq!(meant.error(), 0.0, "{factors:?}");
    }
}

#[test]
fn what_may_overflow_beside_further_factors_is_another_zero() {
    let (zero, far) = (number(0.0), product_of(&[0.0, 1e30]));
    assert!(zero.is_exactly(&far) && !zero.multiplies_as(&far));
    assert!(zero.multiplies_as(&product_of(&[0.0, 1.0])));
}

/// A sum may be divided in the place of its terms, and by a reciprocal.
#[test]
fn a_sum_of_quotients_permits_the_quotient_of_the_sum() {
    let f64 = |x: f64| Value::from_f64(Type::F64, x);
    let apply = |op, a, b| apply(op, &[a, b], Mode::Algebraic).expect("floats are joined");
    let mut others = 0;
    for y in [std::f64::consts::LN_2, -3.0, 10.0, 1e-3] {
        for xs in (0..9 * 9 * 9).map(|n| [n % 9 - 4, n / 9 % 9 - 4, n / 81 - 4].map(f64::from)) {
            let quotients = xs.map(|x| apply(Op::Div, Number::given(f64(x)), Number::given(f64(y))));
            let meant = quotients.into_iter().reduce(|a, b| apply(Op::Add, a, b)).expect("three terms");
            let sum: f64 = xs.iter().sum();
            for other in [sum / y, sum * (1.0 / y), xs.iter().map(|x| x * (1.0 / y)).sum()] {
                assert!(meant.permits(f64(other), Mode::Algebraic), "{xs:?} / {y}: {other}, not {meant:?}");
                others += u64::from(f64(other) != meant.value);
            }
        }
    }
    assert!(others > 1000, "only {others} differ");
    for (x, y) in [(6.0, 3.0), (1.0, 4.0), (0.0, 3.0), (-7.5, 2.5), (1.0, f64::INFINITY)] {
        assert_eq!(apply(Op::Div, Number::given(f64(x)), Number::given(f64(y))).error(), 0.0, "{x} / {y}");
    }
}
