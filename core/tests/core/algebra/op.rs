//! Names and types of the built-in functions.

use fiberloom_core::algebra::{Op, Type, result_type};

#[test]
fn names_are_distinct_and_read_back() {
    let mut names: Vec<_> = Op::all().filter(|op| !matches!(op, Op::Convert(_))).map(Op::name).collect();
    let ops = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), ops);
    for (name, op) in Op::callable() {
        assert_eq!(Op::from_name(name), Some(op));
    }
}

#[test]
fn words_of_the_language() {
    let mut words: Vec<_> = Op::callable().map(|(name, _)| name).collect();
    words.sort();
    let mut said: Vec<_> =
        "min max abs pow sqrt exp log floor ceil round sin cos tanh ldexp gcd xor select mask coalesce tan asin acos \
         atan atan2 sinh cosh asinh acosh atanh expm1 log1p log2 log10 hypot copysign nextafter signbit trunc sign \
         isnan isinf isfinite floordiv floormod"
            .split(' ')
            .collect();
    said.sort();
    assert_eq!(words, said);
    assert_eq!(Op::from_reduction("any"), Some(Op::OrElse));
    assert_eq!(Op::from_reduction("gcd"), Some(Op::Gcd));
    assert_eq!(Op::from_reduction("sqrt"), None);
}

#[test]
fn typing() {
    use Type::*;
    let cases: [(Op, &[Type], Option<Type>); 20] = [
        (Op::Add, &[Bool, Bool], Some(Bool)),
        (Op::Add, &[I8, I16], None),
        (Op::Sub, &[Bool, Bool], None),
        (Op::Lt, &[F32, F32], Some(Bool)),
        (Op::Shl, &[F64, F64], None),
        (Op::Neg, &[U8], Some(U8)),
        (Op::Not, &[Bool], Some(Bool)),
        (Op::Sqrt, &[I64], None),
        (Op::Ldexp, &[F32, I8], Some(F32)),
        (Op::Ldexp, &[F32, F32], None),
        (Op::Hypot, &[F32, F32], Some(F32)),
        (Op::IsNan, &[F32], Some(Bool)),
        (Op::Sign, &[U8], Some(U8)),
        (Op::FloorDiv, &[Bool, Bool], None),
        (Op::Select, &[Bool, U8, U8], Some(U8)),
        (Op::Select, &[U8, U8, U8], None),
        (Op::Mask, &[Bool, F64], Some(F64)),
        (Op::Coalesce, &[F64, F64, F64], Some(F64)),
        (Op::Coalesce, &[], None),
        (Op::Convert(U8), &[F64], Some(U8)),
    ];
    for (op, args, ty) in cases {
        assert_eq!(result_type(op, args), ty, "{op:?} {args:?}");
    }
}
