//! Elementary functions against numbers of many digits, at the borders of their domains, and step by step.
//!
//! `exact.txt` has a line for each function and argument: the bits of both arguments, of the nearest number to the exact
//! result, and what the latter has beyond it, in units of its last place. mpmath computed them with 240 bits and more.

use fiberloom_core::algebra::{Op, Place, Step, Steps, Type, Whole, elementary, elementaryf, steps};
use std::f64::consts::PI;

/// Each function, and by how many units in the last place it may be off.
const FUNCTIONS: [(Op, f64); 21] = [
    (Op::Exp, 0.75),
    (Op::Expm1, 1.5),
    (Op::Log, 0.75),
    (Op::Log1p, 0.75),
    (Op::Log2, 0.75),
    (Op::Log10, 0.75),
    (Op::Pow, 0.75),
    (Op::Sin, 0.75),
    (Op::Cos, 0.75),
    (Op::Tan, 2.0),
    (Op::Asin, 0.75),
    (Op::Acos, 0.75),
    (Op::Atan, 1.25),
    (Op::Atan2, 1.5),
    (Op::Sinh, 2.0),
    (Op::Cosh, 1.5),
    (Op::Tanh, 1.25),
    (Op::Asinh, 2.0),
    (Op::Acosh, 2.0),
    (Op::Atanh, 2.0),
    (Op::Hypot, 1.0),
];

fn bound(op: Op) -> f64 {
    FUNCTIONS.into_iter().find(|(other, _)| *other == op).expect("an elementary function").1
}

fn is_binary(op: Op) -> bool {
    matches!(op, Op::Pow | Op::Atan2 | Op::Hypot)
}

/// What a unit in the last place of a number is worth.
fn unit(x: f64) -> f64 {
    let power = f64::from_bits(x.abs().max(f64::MIN_POSITIVE).to_bits() & (0x7ff << 52));
    power * f64::EPSILON
}

#[test]
fn near_exact_results() {
    let mut lines = 0;
    for line in include_str!("exact.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, bits @ .., beyond] = &words[..] else { panic!("{line}") };
        let [x, y, nearest] = [0, 1, 2].map(|k| f64::from_bits(u64::from_str_radix(bits[k], 16).unwrap()));
        let op = Op::from_name(name).unwrap();
        let result = elementary(op, x, if is_binary(op) { y } else { x }).unwrap();
        let beyond: f64 = beyond.parse().unwrap();
        let off = ((result - nearest) / unit(nearest) - beyond).abs();
        assert!(off < bound(op), "{name} {x:?} {y:?}: {result:?} is off by {off} units from {nearest:?}");
        lines += 1;
    }
    assert!(lines > 20 * FUNCTIONS.len());
}

#[test]
#[rustfmt::skip]
fn borders() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    let tiny = f64::from_bits(1);
    for (op, cases) in [
        (Op::Exp, vec![(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (709.782712893384, 1.7976931348622732e308),
            (709.7827128933841, INF), (-745.1332191019411, tiny), (-745.1332191019412, 0.0), (NAN, NAN), (tiny, 1.0)]),
        (Op::Expm1, vec![(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (tiny, tiny), (-tiny, -tiny), (-50.0, -1.0),
            (709.7827128933841, INF), (NAN, NAN)]),
        (Op::Log, vec![(1.0, 0.0), (0.0, -INF), (-0.0, -INF), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN),
            (tiny, -744.4400719213812), (f64::MAX, 709.782712893384)]),
        (Op::Log1p, vec![(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-2.0, NAN), (NAN, NAN), (tiny, tiny),
            (f64::MAX, 709.782712893384), (-INF, NAN)]),
        (Op::Log2, vec![(8.0, 3.0), (0.25, -2.0), (tiny, -1074.0), (0.0, -INF), (INF, INF), (-1.0, NAN), (NAN, NAN)]),
        (Op::Log10, vec![(1000.0, 3.0), (1e15, 15.0), (1e-3, -3.0), (0.0, -INF), (INF, INF), (-1.0, NAN), (NAN, NAN)]),
        (Op::Sin, vec![(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (tiny, tiny),
            (1e22, -0.8522008497671888), (PI, 1.2246467991473532e-16), (f64::MAX, 0.004961954789184062)]),
        (Op::Cos, vec![(0.0, 1.0), (INF, NAN), (NAN, NAN), (1e22, 0.523214785395139), (f64::MAX, -0.9999876894265599),
            (PI / 2.0, 6.123233995736766e-17)]),
        (Op::Tan, vec![(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (NAN, NAN), (-tiny, -tiny)]),
        (Op::Asin, vec![(0.0, 0.0), (-0.0, -0.0), (1.0, PI / 2.0), (-1.0, -PI / 2.0), (1.5, NAN), (-INF, NAN), (NAN, NAN)]),
        (Op::Acos, vec![(1.0, 0.0), (-1.0, PI), (0.0, PI / 2.0), (1.5, NAN), (INF, NAN), (NAN, NAN)]),
        (Op::Atan, vec![(0.0, 0.0), (-0.0, -0.0), (INF, PI / 2.0), (-INF, -PI / 2.0), (1.0, PI / 4.0), (NAN, NAN), (tiny, tiny)]),
        (Op::Sinh, vec![(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (710.4758600739439, 1.7976931348621744e308),
            (710.475860073944, INF), (NAN, NAN), (tiny, tiny)]),
        (Op::Cosh, vec![(0.0, 1.0), (INF, INF), (-INF, INF), (710.475860073944, INF), (NAN, NAN)]),
        (Op::Tanh, vec![(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (30.0, 1.0), (NAN, NAN), (-tiny, -tiny)]),
        (Op::Asinh, vec![(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)]),
        (Op::Acosh, vec![(1.0, 0.0), (0.5, NAN), (-2e9, NAN), (-3.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)]),
        (Op::Atanh, vec![(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN), (NAN, NAN)]),
    ] {
        for (x, expected) in cases {
            same(op, x, x, expected);
        }
    }
    for (op, x, y, expected) in [
        (Op::Pow, 0.0, 0.0, 1.0), (Op::Pow, NAN, 0.0, 1.0), (Op::Pow, 1.0, NAN, 1.0), (Op::Pow, 1.0, INF, 1.0),
        (Op::Pow, -1.0, INF, 1.0), (Op::Pow, -1.0, NAN, NAN), (Op::Pow, 2.0, INF, INF), (Op::Pow, 0.5, INF, 0.0),
        (Op::Pow, 2.0, -INF, 0.0), (Op::Pow, 0.5, -INF, INF), (Op::Pow, -2.0, 0.5, NAN), (Op::Pow, -INF, 0.5, INF),
        (Op::Pow, -INF, -0.5, 0.0), (Op::Pow, -INF, 3.0, -INF), (Op::Pow, -INF, -3.0, -0.0), (Op::Pow, -0.0, -3.0, -INF),
        (Op::Pow, -0.0, -2.0, INF), (Op::Pow, -0.0, -0.5, INF), (Op::Pow, -0.0, 9.0, -0.0), (Op::Pow, -0.0, 8.0, 0.0),
        (Op::Pow, 0.0, INF, 0.0), (Op::Pow, 0.0, -INF, INF), (Op::Pow, INF, -1.0, 0.0), (Op::Pow, NAN, 2.0, NAN),
        (Op::Pow, 2.0, NAN, NAN), (Op::Pow, -8.0, 9.0, -134217728.0), (Op::Pow, 2.0, 1024.0, INF),
        (Op::Pow, 2.0, -1074.0, tiny), (Op::Pow, 2.0, -1075.0, 0.0), (Op::Pow, -2.0, -1074.0, tiny), (Op::Pow, 10.0, 15.0, 1e15),
        (Op::Pow, 3.0, 15.0, 14348907.0), (Op::Pow, 0.1, 3.0, 0.0010000000000000002), (Op::Pow, 1e200, 2.0, INF),
        (Op::Pow, -1e-300, 1.0, -1e-300), (Op::Pow, tiny, 1.0, tiny), (Op::Pow, 1.0 + 2.0 * f64::EPSILON, 1e300, INF),
        (Op::Pow, -1.5, 1e300, INF), (Op::Pow, 4.0, 0.5, 2.0), (Op::Pow, tiny, 0.5, 2.2227587494850775e-162),
        (Op::Atan2, 0.0, 0.0, 0.0), (Op::Atan2, -0.0, 0.0, -0.0), (Op::Atan2, 0.0, -0.0, PI), (Op::Atan2, -0.0, -0.0, -PI),
        (Op::Atan2, 0.0, -1.0, PI), (Op::Atan2, 1.0, 0.0, PI / 2.0), (Op::Atan2, -1.0, -0.0, -PI / 2.0),
        (Op::Atan2, INF, INF, PI / 4.0), (Op::Atan2, INF, -INF, 3.0 * PI / 4.0), (Op::Atan2, -INF, 1.0, -PI / 2.0),
        (Op::Atan2, 1.0, INF, 0.0), (Op::Atan2, -1.0, INF, -0.0), (Op::Atan2, 1.0, -INF, PI), (Op::Atan2, NAN, 0.0, NAN),
        (Op::Atan2, 0.0, NAN, NAN), (Op::Atan2, f64::MAX, f64::MAX, PI / 4.0), (Op::Atan2, tiny, tiny, PI / 4.0),
        (Op::Atan2, 1.0, tiny, PI / 2.0), (Op::Atan2, tiny, 1.0, tiny), (Op::Atan2, 3.0, -3.0, 3.0 * PI / 4.0),
        (Op::Hypot, 3.0, -4.0, 5.0), (Op::Hypot, INF, NAN, INF), (Op::Hypot, NAN, -INF, INF), (Op::Hypot, NAN, 1.0, NAN),
        (Op::Hypot, 0.0, -0.0, 0.0), (Op::Hypot, tiny, 0.0, tiny),
        (Op::Hypot, f64::MAX, f64::MAX, INF), (Op::Hypot, 3e-320, 4e-320, 5e-320),
    ] {
        same(op, x, y, expected);
    }
}

/// Holds a result to the bits that are expected; all NaNs are one.
#[track_caller]
fn same(op: Op, x: f64, y: f64, expected: f64) {
    let result = elementary(op, x, y).unwrap();
    let is_same = result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan();
    assert!(is_same, "{} {x:?} {y:?}: {result:?} instead of {expected:?}", op.name());
}

/// Numbers of all sizes: bits of a generator.
fn numbers(many: u64) -> impl Iterator<Item = u64> {
    (1..=many).scan(1u64, |state, _| {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Some(*state ^ *state >> 29)
    })
}

/// Those of `f32` are rounded once from what those of `f64` nearly are.
#[test]
fn narrow_results_are_near_wide_ones() {
    for (op, _) in FUNCTIONS {
        for bits in numbers(40_000) {
            let (mut x, y) = (f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
            if bits % 3 == 0 {
                x = (bits as i32) as f32 / 2f32.powi(28);
            }
            let y = match op {
                Op::Pow => y.log2() / 8.0,
                _ if is_binary(op) => y,
                _ => x,
            };
            let (exact, result) = (elementary(op, x.into(), y.into()).unwrap(), elementaryf(op, x, y).unwrap());
            if exact.is_nan() || (exact as f32).is_infinite() || result.is_nan() || result.is_infinite() {
                let rounded = exact as f32;
                assert!(
                    rounded == result || rounded.is_nan() && result.is_nan(),
                    "{} {x:?} {y:?}: {result:?}",
                    op.name()
                );
                continue;
            }
            let size = result.abs().max(f32::MIN_POSITIVE);
            let off = (result as f64 - exact).abs() / (f32::from_bits(size.to_bits() + 1) - size) as f64;
            assert!(off < 0.55, "{} {x:?} {y:?}: {result:?} is off by {off} units from {exact:?}", op.name());
        }
    }
}

/// A function of an angle that is far.
fn of_far(x: f64, whole: Whole) -> f64 {
    let op = match whole {
        Whole::Sin => Op::Sin,
        Whole::Cos => Op::Cos,
        Whole::Tan => Op::Tan,
    };
    elementary(op, x, x).unwrap()
}

/// The steps of a function, taken one after the other.
fn taken(steps: &Steps, args: [f64; 2]) -> f64 {
    let mut values: Vec<u64> = Vec::new();
    for step in steps.iter() {
        let bits = |at: Place| values[at];
        let number = |at: Place| f64::from_bits(values[at]);
        let value = match step {
            Step::Argument(k) => args[k as usize].to_bits(),
            Step::Number(x) => x.to_bits(),
            Step::Bits(x) => x,
            Step::Add(a, b) => (number(a) + number(b)).to_bits(),
            Step::Sub(a, b) => (number(a) - number(b)).to_bits(),
            Step::Mul(a, b) => (number(a) * number(b)).to_bits(),
            Step::Div(a, b) => (number(a) / number(b)).to_bits(),
            Step::Fused(a, b, c) => number(a).mul_add(number(b), number(c)).to_bits(),
            Step::Neg(a) => (-number(a)).to_bits(),
            Step::Abs(a) => number(a).abs().to_bits(),
            Step::Sqrt(a) => number(a).sqrt().to_bits(),
            Step::Trunc(a) => number(a).trunc().to_bits(),
            Step::BitsOf(a) | Step::NumberOf(a) => bits(a),
            Step::Below(a, b) => (number(a) < number(b)) as u64,
            Step::Equal(a, b) => (number(a) == number(b)) as u64,
            Step::Choose(which, a, b) => bits(if bits(which) == 1 { a } else { b }),
            Step::UnlessFar(x, near, _) if number(x).abs() < Steps::FAR => bits(near),
            Step::UnlessFar(x, _, whole) => of_far(number(x), whole).to_bits(),
            Step::Plus(a, b) => bits(a).wrapping_add(bits(b)),
            Step::Minus(a, b) => bits(a).wrapping_sub(bits(b)),
            Step::And(a, b) => bits(a) & bits(b),
            Step::Or(a, b) => bits(a) | bits(b),
            Step::Xor(a, b) => bits(a) ^ bits(b),
            Step::Left(a, by) => bits(a) << by,
            Step::Right(a, by) => bits(a) >> by,
            Step::Not(a) => 1 - bits(a),
        };
        values.push(value);
    }
    f64::from_bits(values.pop().unwrap())
}

#[test]
fn steps_are_the_function() {
    for (op, _) in FUNCTIONS {
        let (wide, narrow) = (steps(op, Type::F64).unwrap(), steps(op, Type::F32).unwrap());
        for bits in numbers(500) {
            for x in [f64::from_bits(bits), bits as i64 as f64 / 2f64.powi(60)] {
                let y = if is_binary(op) { (bits >> 20) as i32 as f64 / 2f64.powi(28) } else { x };
                let (a, b) = (taken(&wide, [x, y]), elementary(op, x, y).unwrap());
                assert!(
                    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                    "{} {x:?} {y:?}: {a:?} {b:?}",
                    op.name()
                );
                let (x, y) = (x as f32, y as f32);
                let (a, b) = (taken(&narrow, [x.into(), y.into()]) as f32, elementaryf(op, x, y).unwrap());
                assert!(
                    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                    "{} {x:?} {y:?}: {a:?} {b:?}",
                    op.name()
                );
            }
        }
    }
    assert_eq!(steps(Op::Add, Type::F64), None);
}
