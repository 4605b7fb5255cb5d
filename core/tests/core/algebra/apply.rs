//! The built-ins against arithmetic written here a second time: all pairs of 8-bit values, and known float values.

use fiberloom_core::algebra::Type::{self, *};
use fiberloom_core::algebra::{Op, Value, apply, result_type};

/// All values of a type of at most 8 bits.
fn all(ty: Type) -> Vec<Value> {
    let (least, greatest) = ty.range().unwrap();
    (least..=greatest).map(|x| Value::from_i128(ty, x)).collect()
}

/// The one number of the type that is congruent to `x` modulo 256.
fn wrap(ty: Type, x: i128) -> i128 {
    let x = x.rem_euclid(256);
    if ty == I8 && x > 127 { x - 256 } else { x }
}

/// Counts how often `y` fits into `x`, signs aside.
fn quotient(x: i128, y: i128) -> i128 {
    let (mut rest, mut count) = (x.abs(), 0);
    while y != 0 && rest >= y.abs() {
        rest -= y.abs();
        count += 1;
    }
    if (x < 0) == (y < 0) { count } else { -count }
}

/// What the language page says of integers, digit by digit.
fn expected(op: Op, ty: Type, x: i128, y: i128) -> i128 {
    let turns = y.rem_euclid(8) as u32;
    match op {
        Op::Add => wrap(ty, x + y),
        Op::Sub => wrap(ty, x - y),
        Op::Mul => wrap(ty, x * y),
        Op::Div => wrap(ty, quotient(x, y)),
        Op::Rem => {
            if y == 0 {
                0
            } else {
                x - quotient(x, y) * y
            }
        }
        Op::FloorDiv if y == 0 => 0,
        Op::FloorDiv => wrap(ty, (-256..=256).rev().find(|q| if y > 0 { q * y <= x } else { q * y >= x }).unwrap()),
        Op::FloorRem if y == 0 => 0,
        Op::FloorRem => wrap(ty, x - expected(Op::FloorDiv, I16, x, y) * y),
        Op::Pow if y < 0 => {
            if x == 1 || x == -1 && y % 2 == 0 {
                1
            } else if x == -1 {
                -1
            } else {
                0
            }
        }
        Op::Pow => (0..y).fold(1, |p, _| wrap(ty, p * x)),
        Op::Min => {
            if x < y {
                x
            } else {
                y
            }
        }
        Op::Max => {
            if x < y {
                y
            } else {
                x
            }
        }
        Op::Shl => wrap(ty, x * 2i128.pow(turns)),
        Op::Shr => (x as f64 / 2f64.powi(turns as i32)).floor() as i128,
        Op::Gcd => {
            wrap(ty, (1..=128.max(x).max(y)).rev().find(|d| x % d == 0 && y % d == 0 && (x, y) != (0, 0)).unwrap_or(0))
        }
        Op::And | Op::Or | Op::Xor => (0..8)
            .map(|bit| {
                let (a, b) = (x >> bit & 1 == 1, y >> bit & 1 == 1);
                let set = match op {
                    Op::And => a && b,
                    Op::Or => a || b,
                    _ => a != b,
                };
                if set { 1 << bit } else { 0 }
            })
            .sum::<i128>()
            .pipe(|x| wrap(ty, x)),
        Op::Lt => (x < y) as i128,
        Op::Le => (x <= y) as i128,
        Op::Gt => (x > y) as i128,
        Op::Ge => (x >= y) as i128,
        Op::Eq => (x == y) as i128,
        Op::Ne => (x != y) as i128,
        _ => panic!("no function of two integers: {op:?}"),
    }
}

trait Pipe: Sized {
    fn pipe<T>(self, f: impl FnOnce(Self) -> T) -> T {
        f(self)
    }
}
impl Pipe for i128 {}

#[test]
fn integers_of_8_bits() {
    use Op::*;
    let ops = [
        Add, Sub, Mul, Div, Rem, FloorDiv, FloorRem, Pow, Min, Max, Shl, Shr, Gcd, And, Or, Xor, Lt, Le, Gt, Ge, Eq, Ne,
    ];
    for ty in [I8, U8] {
        for (a, b) in all(ty).iter().flat_map(|a| all(ty).into_iter().map(move |b| (*a, b))) {
            let (x, y) = (a.as_i128().unwrap(), b.as_i128().unwrap());
            for op in ops {
                let got = apply(op, &[a, b]).unwrap();
                assert_eq!(got.as_i128().unwrap(), expected(op, ty, x, y), "{op:?} of {a:?} and {b:?}");
                assert_eq!(got.ty(), if op.is_comparison() { Bool } else { ty });
            }
        }
        for a in all(ty) {
            let x = a.as_i128().unwrap();
            for (op, expected) in
                [(Neg, -x), (Not, -x - 1), (Abs, if x < 0 { -x } else { x }), (Sign, (x > 0) as i128 - (x < 0) as i128)]
            {
                assert_eq!(apply(op, &[a]).unwrap().as_i128(), Some(wrap(ty, expected)), "{op:?} of {a:?}");
            }
        }
    }
}

#[test]
fn truth_tables() {
    use Op::*;
    // Results for (false, false), (false, true), (true, false), (true, true).
    let tables = [
        (Add, "0111"),
        (Mul, "0001"),
        (And, "0001"),
        (Or, "0111"),
        (Xor, "0110"),
        (AndAlso, "0001"),
        (OrElse, "0111"),
        (Min, "0001"),
        (Max, "0111"),
        (Lt, "0100"),
        (Le, "1101"),
        (Gt, "0010"),
        (Ge, "1011"),
        (Eq, "1001"),
        (Ne, "0110"),
        (Mask, "0001"),
    ];
    for (op, table) in tables {
        let row: String = [(false, false), (false, true), (true, false), (true, true)]
            .map(|(a, b)| apply(op, &[Value::bool(a), Value::bool(b)]).unwrap().bits().to_string())
            .concat();
        assert_eq!(row, table, "{op:?}");
    }
    assert_eq!(apply(Not, &[Value::bool(true)]), Some(Value::bool(false)));
    assert_eq!(apply(Sub, &[Value::bool(true), Value::bool(true)]), None);
}

#[test]
fn edges_of_64_bits() {
    let int = |op, a: i64, b: i64| apply(op, &[Value::i64(a), Value::i64(b)]).unwrap().as_i64().unwrap();
    assert_eq!(int(Op::Div, i64::MIN, -1), i64::MIN);
    assert_eq!(int(Op::Rem, i64::MIN, -1), 0);
    assert_eq!(int(Op::Mul, i64::MAX, i64::MAX), 1);
    assert_eq!(int(Op::Pow, 3, 40), 3i64.pow(39).wrapping_mul(3));
    assert_eq!(int(Op::Pow, 3, 41), 3i64.wrapping_pow(41));
    assert_eq!(int(Op::Pow, -1, i64::MIN), 1);
    assert_eq!(int(Op::Gcd, i64::MIN, 0), i64::MIN);
    assert_eq!(int(Op::Gcd, i64::MIN, 6), 2);
    assert_eq!(int(Op::Shl, 1, 64), 1);
    assert_eq!(int(Op::Shl, 1, -1), i64::MIN);
    assert_eq!(int(Op::Shr, -8, 1), -4);
    let divisions =
        [(-7, 2, -4, 1), (7, -2, -4, -1), (-8, 4, -2, 0), (5, 0, 0, 0), (i64::MIN, 3, -3074457345618258603, 1)];
    let divisions = divisions.into_iter().chain([(i64::MIN, -1, i64::MIN, 0)]);
    for (x, d, quotient, rest) in divisions {
        assert_eq!((int(Op::FloorDiv, x, d), int(Op::FloorRem, x, d)), (quotient, rest), "{x} by {d}");
    }
    for (x, zeros) in [(0, 64), (1, 0), (-1, 0), (i64::MIN, 63), (0b1011_0000, 4)] {
        assert_eq!(apply(Op::TrailingZeros, &[Value::i64(x)]), Some(Value::i64(zeros)), "{x}");
    }
    let max = Value::from_i128(U64, u64::MAX as i128);
    assert_eq!(apply(Op::Mul, &[max, max]), Some(Value::one(U64)));
    assert_eq!(apply(Op::Add, &[max, Value::one(U64)]), Some(Value::zero(U64)));
}

#[test]
fn conversions() {
    let f = |x| Value::from_f64(F64, x);
    let i = |ty, x| {
        let value = Value::from_i128(ty, x);
        assert_eq!(value.ty(), ty);
        value
    };
    let cases = [
        (f(1e300), i(I64, i64::MAX as i128)),
        (f(-1e300), i(I64, i64::MIN as i128)),
        (f(f64::NAN), i(I64, 0)),
        (f(-1.9), i(I32, -1)),
        (f(-1.9), i(U32, 0)),
        (f(255.9), i(U8, 255)),
        (f(256.0), i(U8, 255)),
        (f(f64::INFINITY), i(U64, u64::MAX as i128)),
        (f(-0.0), Value::bool(false)),
        (f(f64::NAN), Value::bool(true)),
        (i(I64, -5), i(U8, 0)),
        (i(I64, 300), i(I8, 127)),
        (i(U64, u64::MAX as i128), i(I64, i64::MAX as i128)),
        (i(I8, -128), i(I16, -128)),
        (i(I64, 256), Value::bool(true)),
        (Value::bool(true), i(F32, 1)),
        (i(I64, (1 << 53) + 1), f(9007199254740992.0)),
        (i(I32, 16777217), Value::from_f64(F32, 16777216.0)),
        (f(1e300), Value::from_f64(F32, f64::INFINITY)),
        (f(0.1), Value::from_bits(F32, 0x3dcccccd)),
    ];
    for (from, to) in cases {
        assert_eq!(apply(Op::Convert(to.ty()), &[from]), Some(to), "{from:?}");
    }
}

#[test]
fn floats() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let two = [
        (Op::Min, 1.0, nan, nan),
        (Op::Max, nan, 1.0, nan),
        (Op::Min, -0.0, 0.0, -0.0),
        (Op::Min, 0.0, -0.0, -0.0),
        (Op::Max, -0.0, 0.0, 0.0),
        (Op::Min, inf, 3.0, 3.0),
        (Op::Rem, -7.5, 2.0, -1.5),
        (Op::Rem, 7.5, inf, 7.5),
        (Op::Rem, 1.0, 0.0, nan),
        (Op::Div, 1.0, 0.0, inf),
        (Op::Div, -1.0, 0.0, -inf),
        (Op::Mul, 0.0, inf, nan),
        (Op::Pow, 2.0, 10.0, 1024.0),
        (Op::Pow, nan, 0.0, 1.0),
        (Op::Pow, 1.0, nan, 1.0),
        (Op::Pow, -2.0, 0.5, nan),
        (Op::Sub, inf, inf, nan),
        (Op::Add, -0.0, -0.0, -0.0),
        (Op::Add, -0.0, 0.0, 0.0),
    ];
    let one = [
        (Op::Round, 0.5, 0.0),
        (Op::Round, 1.5, 2.0),
        (Op::Round, 2.5, 2.0),
        (Op::Round, -0.5, -0.0),
        (Op::Round, -2.5, -2.0),
        (Op::Floor, -1.5, -2.0),
        (Op::Ceil, -1.5, -1.0),
        (Op::Ceil, -0.5, -0.0),
        (Op::Sqrt, 2.25, 1.5),
        (Op::Sqrt, -1.0, nan),
        (Op::Exp, 0.0, 1.0),
        (Op::Log, 1.0, 0.0),
        (Op::Log, 0.0, -inf),
        (Op::Sin, 0.0, 0.0),
        (Op::Cos, 0.0, 1.0),
        (Op::Tanh, inf, 1.0),
        (Op::Neg, 0.0, -0.0),
        (Op::Abs, -0.0, 0.0),
        (Op::Abs, -3.5, 3.5),
    ];
    for ty in [F32, F64] {
        let value = |x| Value::from_f64(ty, x);
        for (op, x, y, result) in two {
            assert_eq!(apply(op, &[value(x), value(y)]), Some(value(result)), "{op:?}({x}, {y}) in {ty}");
        }
        for (op, x, result) in one {
            assert_eq!(apply(op, &[value(x)]), Some(value(result)), "{op:?}({x}) in {ty}");
        }
        assert_eq!(apply(Op::Ldexp, &[value(1.5), Value::i64(4)]), Some(value(24.0)));
        assert_eq!(apply(Op::Ldexp, &[value(1.0), Value::i64(i64::MIN)]), Some(value(0.0)));
        assert_eq!(apply(Op::Ldexp, &[value(-1.0), Value::i64(i64::MAX)]), Some(value(-inf)));
        assert_eq!(apply(Op::Mask, &[Value::bool(false), value(nan)]), Some(value(0.0)));
        assert_eq!(apply(Op::Ne, &[value(nan), value(nan)]), Some(Value::bool(true)));
        assert_eq!(apply(Op::Ge, &[value(nan), value(nan)]), Some(Value::bool(false)));
        assert_eq!(apply(Op::Eq, &[value(0.0), value(-0.0)]), Some(Value::bool(true)));
        // A NaN of any bits becomes the one NaN.
        let odd = Value::from_bits(ty, u64::MAX);
        assert_eq!(apply(Op::Neg, &[odd]), Some(value(nan)));
    }
    // f32 is rounded in f32: 2²⁴ + 1 has no place there.
    let sum = apply(Op::Add, &[Value::from_f64(F32, 16777216.0), Value::one(F32)]);
    assert_eq!(sum, Some(Value::from_f64(F32, 16777216.0)));
}

/// Every admitted combination of types has a value, and every other has none.
#[test]
fn defined_where_typed() {
    let args = |types: &[Type]| types.iter().map(|t| Value::one(*t)).collect::<Vec<_>>();
    for op in Op::all() {
        for a in Type::ALL {
            for b in Type::ALL {
                for types in [vec![], vec![a], vec![a, b], vec![a, b, b], vec![a, b, b, b]] {
                    let ty = result_type(op, &types);
                    assert_eq!(apply(op, &args(&types)).map(|v| v.ty()), ty, "{op:?} {types:?}");
                }
            }
        }
    }
}
