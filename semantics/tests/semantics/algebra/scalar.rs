//! The meaning's scalar functions against those of `core`, which compilers use.

use fiberloom_core::algebra::{self, Mode, Op, Type, Value};
use fiberloom_semantics::algebra::{Number, identity};

/// The value that the meaning gives, as it is: bounds on errors aside.
fn apply(op: Op, args: &[Value]) -> Option<Value> {
    let args: Vec<Number> = args.iter().map(|x| Number::given(*x)).collect();
    fiberloom_semantics::algebra::apply(op, &args, Mode::Strict).map(|made| made.value)
}

/// Every value of small types; of others those at which something happens.
fn values(ty: Type) -> Vec<Value> {
    if ty.bits() <= 8 {
        return (0..1u64 << ty.bits()).map(|bits| Value::from_bits(ty, bits)).collect();
    }
    if ty.is_float() {
        let all = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -3.25, 1e-40, 1e30, -1e300, 0.1, 7.0, f64::INFINITY];
        let all = all.into_iter().chain([f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 16777217.0]);
        return all.map(|x| Value::from_f64(ty, x)).collect();
    }
    let (least, most) = ty.range().expect("no float");
    let all = [0, 1, -1, 2, 3, 5, -7, 63, 64, 100, least, least + 1, most, most - 1, most / 3];
    all.into_iter().map(|x| Value::from_i128(ty, x)).collect()
}

/// Powers with whole exponents: numbers of all magnitudes and digits.
#[test]
fn the_compilers_powers_agree() {
    let mut digits = 1u64;
    for _ in 0..200_000 {
        digits = digits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let near_one = digits >> 12 | (1000 + digits % 47) << 52;
        for bits in [digits, near_one, near_one & !0 << 40] {
            let (x, n) = (f64::from_bits(bits), (digits >> 20 & 15) as f64 - 4.0);
            let ours = [x, n].map(|x| Value::from_f64(Type::F64, x));
            assert_eq!(apply(Op::Pow, &ours), Some(algebra::apply(Op::Pow, &ours).unwrap()), "{x} {n}");
        }
    }
}

/// The two definitions agree bit for bit, on all operations and types, exhaustively on those of 8 bits or fewer.
#[test]
fn the_compilers_definition_agrees() {
    for ty in Type::ALL {
        for a in values(ty) {
            for op in Op::all().filter(|op| *op != Op::Coalesce) {
                if let Some(x) = algebra::apply(op, &[a]) {
                    assert_eq!(apply(op, &[a]), Some(x), "{op:?} {a:?}");
                }
            }
            for b in values(ty) {
                for op in Op::all().filter(|op| *op != Op::Coalesce) {
                    if let Some(x) = algebra::apply(op, &[a, b]) {
                        assert_eq!(apply(op, &[a, b]), Some(x), "{op:?} {a:?} {b:?}");
                    }
                }
            }
        }
        for op in Op::all() {
            assert_eq!(identity(op, ty), algebra::identity(op, ty), "{op:?} {ty}");
        }
    }
}
