//! The reference semantics on programs small enough to be worked out by hand.

use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Array, Tensor};
use fiberloom_passes::check::check;
use fiberloom_semantics::algebra::{Number, same};
use fiberloom_semantics::meaning::{Function, Limits, Refusal, evaluate, evaluate_stored};
use fiberloom_semantics::{Difference, agree};
use std::collections::BTreeMap;

/// A dense operand of type `f64` or, if the program says so, of another: name, extents, values.
type Operand<'a> = (&'a str, &'a [u64], &'a [f64]);

/// By the pointwise evaluation, with which the one over what is stored has to agree.
fn meaning(program: &str, operands: &[Operand], mode: Mode) -> Result<BTreeMap<String, Function>, Refusal> {
    let (syntax, errors) = fiberloom_front::parse(program);
    assert_eq!(errors, [], "{program}");
    let typed = check(&syntax.unwrap()).unwrap_or_else(|e| panic!("{program}: {e:?}"));
    let tensor = |(name, extents, values): &Operand| {
        let declared = typed.tensors.iter().find(|t| t.name == *name).unwrap();
        let value = |x: &f64| match declared.ty {
            ty if ty.is_float() => Value::from_f64(ty, *x),
            ty => Value::from_i128(ty, *x as i128),
        };
        let values = Array::from_values(declared.ty, values.iter().map(value));
        (name.to_string(), Tensor::dense(extents.to_vec(), declared.fill.unwrap(), values).unwrap())
    };
    let operands = operands.iter().map(tensor).collect();
    let pointwise = evaluate(&typed, &operands, mode, &Limits { steps: 1 << 20 });
    let stored = evaluate_stored(&typed, &operands, mode, &Limits { steps: 1 << 20 });
    match (&pointwise, &stored) {
        (Ok(a), Ok(b)) => {
            for (name, f) in a {
                same(f, &b[name], mode).unwrap_or_else(|e| panic!("{program}: `{name}` {e}"));
            }
        }
        (Err(Refusal::Steps), _) => {}
        (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err(), "{program}"),
    }
    pointwise
}

/// All values of a function, the last mode's coordinate running fastest.
fn dense(f: &Function) -> Vec<f64> {
    let all: u64 = f.extents.iter().product();
    let at = |mut n: u64| {
        let mut at: Vec<i64> = Vec::new();
        for e in f.extents.iter().rev() {
            at.insert(0, (n % e) as i64);
            n /= e;
        }
        at
    };
    (0..all).map(|n| f.at(&at(n)).value.as_f64()).collect()
}

/// Result `r` of the program.
#[track_caller]
fn means(program: &str, operands: &[Operand], expected: &[f64]) {
    let results = meaning(program, operands, Mode::Algebraic).unwrap_or_else(|e| panic!("{program}: {e:?}"));
    assert_eq!(dense(&results["r"]), expected, "{program}");
}

const A: Operand = ("a", &[4], &[1.0, 2.0, 3.0, 4.0]);
const M: Operand = ("m", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
const DECLARED: &str = "tensor a: f64[N] dense tensor m: f64[I, J] dense\n";

#[track_caller]
fn of_both(statement: &str, expected: &[f64]) {
    means(&format!("{DECLARED}{statement}"), &[A, M], expected);
}

#[test]
fn sums_products_and_broadcasts() {
    of_both("s[] = a[i] * a[i] * m[p,q]*0.0  r[] = a[i] * a[i]", &[30.0]);
    of_both("r[j] = m[i,j]  s[] = a[i]", &[5.0, 7.0, 9.0]);
    of_both("r[j,i] = m[i,j] + a[0]", &[2.0, 5.0, 3.0, 6.0, 4.0, 7.0]);
    // A variable that is absent on the left is summed over the largest term in which it is free.
    of_both("r[i] = m[i,j] * 2.0 + a[k]", &[22.0, 40.0]);
    of_both("r[i] = max(j: m[i,j]) - min(k: a[k])", &[2.0, 5.0]);
    of_both("r[] = prod(i: a[i]) + sum(p, q: m[p,q])", &[45.0]);
}

#[test]
fn folds_with_a_start_and_folds_of_nothing() {
    of_both("r[] = sum(i: a[i] start 100.0) + m[0,0]", &[111.0]);
    let empty: Operand = ("a", &[0], &[]);
    means("tensor a: f64[N] dense\nr[] = sum(i: a[i])", &[empty], &[0.0]);
    means("tensor a: i8[N] dense\nr[] = min(i: a[i])", &[empty], &[127.0]);
    means("tensor a: i8[N] dense\nr[] = max(i: a[i])", &[empty], &[-128.0]);
    let subtract = "fn f(x: f64, y: f64) -> f64 { x + y - x * 0.0 } where associative\n";
    let program = format!("{subtract}tensor a: f64[N] dense\nr[] = f(i: a[i])");
    assert!(matches!(meaning(&program, &[empty], Mode::Algebraic), Err(Refusal::Empty(..))));
}

#[test]
fn fills_are_read_where_nothing_is_stored() {
    let program = "tensor a: i64[N] fill 2 sparse\ntensor r: i64[] \nr[] = sum(i: a[i])";
    means(program, &[("a", &[4], &[2.0, 2.0, 7.0, 2.0])], &[13.0]);
    let results =
        meaning("tensor a: i64[N] fill 2 sparse\nr[i] = a[i] + 1", &[("a", &[3], &[2.0, 9.0, 2.0])], Mode::Strict);
    let r = &results.unwrap()["r"];
    assert_eq!((r.fill.value, r.entries.len()), (Value::i64(3), 1), "an undeclared result's fill is its background");
}

#[test]
fn shape_operators_are_maps_of_coordinates() {
    of_both("r[k] = collapse(m[i,j], (j,i) -> k)  s[] = a[i]", &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    means(
        "tensor a: f64[4] dense\ntensor r: f64[2, 2] dense\nr[i,j] = split(a[k], k -> (j,i))",
        &[A],
        &[1.0, 3.0, 2.0, 4.0],
    );
    of_both("r[l] = concat((a[i], m[1,j]), (i,j) -> l)", &[1.0, 2.0, 3.0, 4.0, 4.0, 5.0, 6.0]);
    of_both("r[k] = slice(a[i], i -> k, 1:4:2)  s[] = m[i,j]", &[2.0, 4.0]);
    of_both("r[k] = a[k(1:3)]  s[] = m[i,j]", &[2.0, 3.0]);
    of_both(
        "r[] = sum(k: collapse(m[i,j], (i,j) -> k) * concat((a[p], m[q,0]), (p,q) -> k))",
        &[66.0 - 36.0 + 5.0 + 24.0],
    );
}

#[test]
fn what_leaves_the_array_is_missing() {
    let program = "tensor a: f64[N] dense\ntensor r: f64[N] dense\nr[i] = coalesce(a[~(i-1)], -1.0) + coalesce(a[~(i+2)] * 10.0, 0.5)";
    means(program, &[A], &[29.0, 41.0, 2.5, 3.5]);
}

#[test]
fn gathers_scatters_and_accumulation() {
    let data: [Operand; 2] = [A, ("p", &[3], &[3.0, 0.0, 3.0])];
    let declared = "tensor a: f64[N] dense\ntensor p: i64[K] dense\n";
    means(&format!("{declared}r[k] = a[p[k]]"), &data, &[4.0, 1.0, 4.0]);
    means(&format!("{declared}tensor r: f64[N] dense\nr[p[k]] += 1.0 + 0.0 * a[0]"), &data, &[1.0, 0.0, 0.0, 2.0]);
    means(
        "tensor a: f64[N] dense\ntensor r: f64[N, N] dense\nr[i,i] += a[i]",
        &[("a", &[2], &[5.0, 6.0])],
        &[5.0, 0.0, 0.0, 6.0],
    );
    means("tensor a: f64[N] dense\ntensor r: f64[] fill -inf\nr[] max= a[i]", &[A], &[4.0]);
    let out_of_bounds: [Operand; 2] = [A, ("p", &[1], &[4.0])];
    let refused = meaning(&format!("{declared}r[k] = a[p[k]]"), &out_of_bounds, Mode::Algebraic);
    assert!(matches!(refused, Err(Refusal::Outside(..))), "{refused:?}");
}

#[test]
fn the_right_side_reads_what_was_before() {
    let program = "tensor a: f64[N] dense\ntensor r: f64[N] dense\nr[i] = a[i]\nr[i] = r[i] * 10.0";
    means(program, &[A], &[10.0, 20.0, 30.0, 40.0]);
    means("tensor a: f64[N] dense\nr[] = t[i] * a[i] where { t[i] = a[i] + 1.0 }", &[A], &[2.0 + 6.0 + 12.0 + 20.0]);
}

#[test]
fn declared_functions_run_their_bodies() {
    let gcd = "fn g(x: i64, y: i64) -> i64 { let a = abs(x); let b = abs(y); while a != 0 { let t = a; a = b % a; b = t; } b } where commutative\n";
    let program = format!("{gcd}tensor a: i64[N] dense\nr[i] = g(a[i], 12)");
    means(&program, &[("a", &[3], &[8.0, 0.0, -9.0])], &[4.0, 12.0, 3.0]);
    let endless = "fn f(x: i64) -> i64 { while true { x = x; } x }\ntensor a: i64[N] dense\nr[i] = f(a[i])";
    let (syntax, _) = fiberloom_front::parse(endless);
    // The checker may refuse it first; if not, the limit on steps does.
    if syntax.is_some_and(|s| check(&s).is_ok()) {
        let stopped = meaning(endless, &[("a", &[1], &[1.0])], Mode::Algebraic);
        assert!(matches!(stopped, Err(Refusal::Steps)));
    }
}

#[test]
fn extents_that_contradict_or_are_too_long_are_refused() {
    let wrong = meaning(
        "tensor a: f64[N] dense\ntensor b: f64[N] dense\nr[i] = a[i] + b[i]",
        &[A, ("b", &[3], &[0.0; 3])],
        Mode::Algebraic,
    );
    assert!(matches!(wrong, Err(Refusal::Shape(..))), "{wrong:?}");
    let long = meaning("tensor r: f64[1000000000, 1000000000] dense\nr[i,j] = 1.0", &[], Mode::Algebraic);
    assert!(matches!(long, Err(Refusal::Steps)), "{long:?}");
}

/// Whether an answer agrees with result `r` of a program, and how many of its values nothing is promised about.
fn answered(program: &str, operands: &[Operand], mode: Mode, answer: &[f64]) -> Option<u64> {
    let r = &meaning(program, operands, mode).unwrap_or_else(|e| panic!("{program}: {e:?}"))["r"];
    let value = |x: &f64| if r.ty.is_float() { Value::from_f64(r.ty, *x) } else { Value::from_i128(r.ty, *x as i128) };
    let values = Array::from_values(r.ty, answer.iter().map(value));
    let answer = Tensor::dense(r.extents.clone(), Value::zero(r.ty), values).unwrap();
    agree(r, &answer, mode).ok().map(|compared| compared.unpromised.total())
}

#[test]
fn a_sum_in_another_order_agrees_in_algebraic_mode_only() {
    let values: Vec<f64> = (0..1000).map(|n| ((n * n) as f64).sin() * 1e3).collect();
    let data: [Operand; 1] = [("a", &[1000], &values)];
    let program = "tensor a: f64[N] dense\nr[] = a[i]";
    let (up, down): (f64, f64) = (values.iter().sum(), values.iter().rev().sum());
    assert_ne!(up, down);
    assert_eq!(answered(program, &data, Mode::Algebraic, &[up]), Some(0));
    assert_eq!(answered(program, &data, Mode::Algebraic, &[down]), Some(0));
    assert_eq!(answered(program, &data, Mode::Strict, &[up]), Some(0));
    assert_eq!(answered(program, &data, Mode::Strict, &[down]), None);
    // One term lost, or one added twice.
    assert_eq!(answered(program, &data, Mode::Algebraic, &[up - values[1]]), None);
    assert_eq!(answered(program, &data, Mode::Algebraic, &[up + 1e-6]), None);
}

#[test]
fn parentheses_do_not_matter_and_cancellation_is_accounted_for() {
    let data: [Operand; 1] = [("a", &[3], &[1e16, 1.0, -1e16])];
    let program = "tensor a: f64[N] dense\nr[] = (a[0] + a[1]) + a[2]";
    // (a + b) + c is 0, a + (b + c) is 0 too, (a + c) + b is 1.
    assert_eq!(answered(program, &data, Mode::Algebraic, &[1.0]), Some(0));
    assert_eq!(answered(program, &data, Mode::Algebraic, &[100.0]), None);
    assert_eq!(answered("tensor a: f64[N] dense\nr[] = a[0] * a[1]", &data, Mode::Algebraic, &[1e16]), Some(0));
    let product: [Operand; 1] = [("a", &[3], &[0.1, 0.7, 3.0])];
    let program = "tensor a: f64[N] dense\nr[] = a[0] * a[1] * a[2]";
    assert_eq!(answered(program, &product, Mode::Algebraic, &[0.1 * (0.7 * 3.0)]), Some(0));
    assert_eq!(answered(program, &product, Mode::Algebraic, &[0.21 + 1e-14]), None);
}

/// Sums of small whole numbers are exact in any order: nothing else is permitted, and comparisons of them are sure.
#[test]
fn what_is_exact_in_every_order_is_compared_exactly() {
    let next = |x: f64| f64::from_bits(x.to_bits() + 1);
    of_both("r[] = a[i] * a[i]  s[] = m[i,j]", &[30.0]);
    let program = format!("{DECLARED}r[] = a[i] * a[i] + 0.0 * m[p,q]");
    assert_eq!(answered(&program, &[A, M], Mode::Algebraic, &[30.0]), Some(0));
    assert_eq!(answered(&program, &[A, M], Mode::Algebraic, &[next(30.0)]), None);
    let sure = "tensor a: f64[N] dense\nr[i] = sum(k: a[k]) == 10.0 && a[i] > 1.5";
    assert_eq!(answered(sure, &[A], Mode::Algebraic, &[0.0, 1.0, 1.0, 1.0]), Some(0));
    assert_eq!(answered(sure, &[A], Mode::Algebraic, &[1.0, 1.0, 1.0, 1.0]), None);
}

/// A bound is of one value: a large neighbour excuses nothing.
#[test]
fn a_wrong_value_beside_a_large_one_is_caught() {
    let data: [Operand; 1] = [("a", &[2, 3], &[3e9, 3e9, 4e9, 0.1, 0.2, 0.4])];
    let program = "tensor a: f64[I, J] dense\nr[i] = a[i,j]";
    assert_eq!(answered(program, &data, Mode::Algebraic, &[1e10, 0.7]), Some(0));
    assert_eq!(answered(program, &data, Mode::Algebraic, &[1e10, 0.73]), None);
    assert_eq!(answered(program, &data, Mode::Algebraic, &[1e10, 0.7 + 1e-14]), None);
    let narrow = "tensor a: f32[I, J] dense\nr[i] = a[i,j]";
    assert_eq!(answered(narrow, &data, Mode::Algebraic, &[1e10, 0.7]), Some(0));
    assert_eq!(answered(narrow, &data, Mode::Algebraic, &[1e10, 0.7 + 1e-5]), None);
}

type Function1 = fn(f64) -> f64;

/// Functions of what is inexact: a bound from their slope; where they jump, nothing is promised, and it is counted.
#[test]
fn functions_of_sums() {
    let data: [Operand; 1] = [("a", &[3], &[0.1, 0.2, 0.3])];
    let (up, down): (f64, f64) = ((0.1 + 0.2) + 0.3, 0.1 + (0.2 + 0.3));
    let r = |e: &str| format!("tensor a: f64[N] dense\nr[] = {e}");
    let functions: [(&str, Function1); 8] = [
        ("exp(X)", libm::exp),
        ("sqrt(X) / (X + 1.0)", |x| x.sqrt() / (x + 1.0)),
        ("log(X) * sin(X)", |x| libm::log(x) * libm::sin(x)),
        ("pow(X, 2.5)", |x| libm::pow(x, 2.5)),
        ("pow(-X, 3.0)", |x| libm::pow(-x, 3.0)),
        ("tanh(X) % 0.25", |x| libm::tanh(x) % 0.25),
        ("max(abs(-X), 0.5) - cos(X)", |x| x - libm::cos(x)),
        ("if X < 0.6 then 0.6 - X else X - 0.6", |x| (x - 0.6).abs()),
    ];
    for (e, f) in functions {
        let program = r(&e.replace('X', "sum(i: a[i])"));
        for x in [up, down] {
            assert_eq!(answered(&program, &data, Mode::Algebraic, &[f(x)]), Some(0), "{e} of {x}");
        }
        assert_eq!(answered(&program, &data, Mode::Algebraic, &[f(up) + 1e-12]), None, "{e}");
    }
    for (e, n) in [("X < 0.6", 1), ("X < 0.7", 0), ("floor(X * 10.0)", 0), ("1.0 / (X - 0.6)", 1), ("round(X)", 0)] {
        let program = r(&e.replace('X', "sum(i: a[i])"));
        let value = dense(&meaning(&program, &data, Mode::Algebraic).unwrap()["r"])[0];
        assert_eq!(answered(&program, &data, Mode::Algebraic, &[value]), Some(n), "{e}");
        let other = if e.contains('<') { 1.0 - value } else { value + 5.0 };
        assert_eq!(answered(&program, &data, Mode::Algebraic, &[other]), (n == 1).then_some(1), "{e}");
    }
    // Of exact arguments every function is exact.
    let exact = r("exp(a[1]) + 0.0 * a[i]").replace(" + 0.0 * a[i]", "");
    assert_eq!(answered(&exact, &data, Mode::Algebraic, &[libm::exp(0.2)]), Some(0));
    assert_eq!(answered(&exact, &data, Mode::Algebraic, &[libm::exp(0.2) * (1.0 + 4e-16)]), None);
}

/// Nothing is promised where an operation yields NaN or a partial result overflows, and of no other value.
#[test]
fn nan_and_overflow() {
    let nan: [Operand; 1] = [("a", &[3], &[f64::NAN, f64::INFINITY, 1e308])];
    let program = "tensor a: f64[N] dense\nr[i] = a[i]";
    assert_eq!(answered(program, &nan, Mode::Algebraic, &[f64::NAN, f64::INFINITY, 1e308]), Some(0));
    assert_eq!(answered(program, &nan, Mode::Algebraic, &[1.0, f64::INFINITY, 1e308]), None, "NaN that is only read");
    assert_eq!(answered(program, &nan, Mode::Algebraic, &[f64::NAN, 1.0, 1e308]), None);
    let program = "tensor a: f64[N] dense\nr[i] = a[i] * 10.0 + 1.0";
    assert_eq!(answered(program, &nan, Mode::Algebraic, &[7.0, f64::INFINITY, 7.0]), Some(2));
    assert_eq!(answered(program, &nan, Mode::Algebraic, &[7.0, -f64::INFINITY, 7.0]), None);
    let minplus = "tensor a: f64[N] fill inf dense\nr[] = min(i: a[i] + 1.0)";
    let data: [Operand; 1] = [("a", &[2], &[f64::INFINITY, 2.5])];
    assert_eq!(answered(minplus, &data, Mode::Algebraic, &[3.5]), Some(0));
    assert_eq!(answered(minplus, &data, Mode::Algebraic, &[3.6]), None);
    let zero: [Operand; 1] = [("a", &[2], &[0.0, 2.0])];
    let divided = "tensor a: f64[N] dense\nr[i] = 1.0 / a[i]";
    assert_eq!(answered(divided, &zero, Mode::Algebraic, &[0.0, 0.5]), None);
    assert_eq!(answered(divided, &zero, Mode::Strict, &[f64::NEG_INFINITY, 0.5]), None);
}

#[test]
fn answers_are_compared_everywhere() {
    let f = |x: f64| Value::from_f64(Type::F64, x);
    let tensor = |x: [f64; 2]| Tensor::dense(vec![2], f(0.0), x.to_vec().into()).unwrap();
    let meaning = Function::of(&tensor([1e10, 1.0]));
    assert!(agree(&meaning, &tensor([1e10, 1.0]), Mode::Strict).is_ok());
    let strict = agree(&meaning, &tensor([1e10 + 1e-5, 1.0]), Mode::Strict);
    assert!(matches!(strict, Err(Difference::Value { at, .. }) if at == [0]));
    let missing = agree(&meaning, &tensor([1e10, 0.0]), Mode::Algebraic).unwrap_err();
    assert_eq!(missing, Difference::Value { at: vec![1], expected: f(1.0), found: f(0.0) });
    let nan = Function::of(&tensor([f64::NAN, 1.0]));
    assert!(agree(&nan, &tensor([-f64::NAN, 1.0]), Mode::Strict).is_ok());
    assert!(agree(&meaning, &tensor([f64::NAN, 1.0]), Mode::Algebraic).is_err());
    let wide = Tensor::dense(vec![3], f(0.0), vec![1e10, 1.0, 0.0].into()).unwrap();
    assert!(matches!(agree(&meaning, &wide, Mode::Algebraic), Err(Difference::Shape(_))));
}

#[test]
fn an_answer_with_another_fill_differs_where_neither_has_an_entry() {
    let f = |x: f64| Value::from_f64(Type::F64, x);
    let fill = Number::given(f(0.0));
    let meaning = Function { extents: vec![3], ty: Type::F64, fill, entries: Default::default() };
    let sparse = fiberloom_core::format::Format::csf(1);
    let of = |fill, n: i64| {
        let entries = (0..n).map(|c| (vec![c], f(0.0)));
        Tensor::from_entries(vec![3], sparse.clone(), fill, Type::I32, Type::I32, entries).unwrap()
    };
    assert!(agree(&meaning, &of(f(1.0), 2), Mode::Algebraic).is_err());
    assert!(agree(&meaning, &of(f(1.0), 3), Mode::Algebraic).is_ok());
}

#[test]
fn operands_that_are_missing_or_wrong_are_named() {
    let program = "tensor a: f64[N] dense\ntensor b: f64[N] sparse\nr[i] = a[i] + b[i]";
    let (syntax, _) = fiberloom_front::parse(program);
    let typed = check(&syntax.unwrap()).unwrap();
    let f = |x: f64| Value::from_f64(Type::F64, x);
    let good = Tensor::dense(vec![2], f(0.0), vec![1.0, 2.0].into()).unwrap();
    let malformed = Tensor { extents: vec![9], ..good.clone() };
    let rank = Tensor::dense(vec![1, 2], f(0.0), vec![1.0, 2.0].into()).unwrap();
    let ty = Tensor::dense(vec![2], Value::i64(0), vec![1i64, 2].into()).unwrap();
    for b in [None, Some(malformed), Some(rank), Some(ty)] {
        let operands = [("a", Some(good.clone())), ("b", b)];
        let operands = operands.into_iter().filter_map(|(n, t)| Some((n.to_string(), t?))).collect();
        for evaluate in [evaluate, evaluate_stored] {
            let refused = evaluate(&typed, &operands, Mode::Algebraic, &Limits::default());
            assert!(matches!(&refused, Err(Refusal::Operand(name, _)) if name == "b"), "{refused:?}");
        }
    }
}

/// An accumulating statement begins with the identity of its function, or with the fill that is declared.
#[test]
fn undeclared_results_begin_with_the_identity() {
    of_both("r[i] min= m[i,j] + 0.0 * a[0]", &[1.0, 4.0]);
    of_both("r[] max= -a[i] - m[p,q] * 0.0", &[-1.0]);
    of_both("r[i] max= -m[i,j] - a[0] * 0.0", &[-1.0, -4.0]);
    means("tensor a: i64[N] dense\nr[i,i] min= a[i]", &[("a", &[2], &[5.0, 6.0])], &{
        let most = i64::MAX as f64;
        [5.0, most, most, 6.0]
    });
    means("tensor a: f64[N] dense\ntensor r: f64[] dense\nr[] min= a[i]", &[A], &[0.0]);
    // Without one nothing says what it begins with: the checker's to refuse.
    let none =
        "fn f(x: f64, y: f64) -> f64 { x + y - x * 0.0 } where associative\ntensor a: f64[N] dense\nr[i] f= a[i]";
    let (syntax, _) = fiberloom_front::parse(none);
    assert!(check(&syntax.unwrap()).unwrap_err()[0].message.contains("nothing says what `r` begins with"));
}

/// The fill of an undeclared result is what its expression is where nothing is stored, not what it is at some place.
#[test]
fn the_fill_of_an_undeclared_result() {
    let data: Operand = ("a", &[4], &[7.0, 2.0, 7.0, 2.0]);
    for (e, fill) in [
        ("a[i] + 1", 3),
        ("a[i] + i", 0),
        ("(a[i] - 2) * i", 0),
        ("sum(j: a[j]) + 0 * a[i]", 8),
        ("coalesce(a[~(i-1)], 9) + 0 * a[i]", 2),
        ("max(j: a[j] * a[i])", 4),
        ("if a[i] > 5 then a[i] else -a[i]", -2),
        ("prod(j: a[j] start a[i])", 32),
    ] {
        let program = format!("tensor a: i64[N] fill 2 sparse\nr[i] = {e}");
        let results = meaning(&program, &[data], Mode::Strict).unwrap_or_else(|e| panic!("{program}: {e:?}"));
        assert_eq!(results["r"].fill.value, Value::i64(fill), "{e}");
    }
    // Finding it takes no second budget.
    let program = "tensor a: f64[N] fill 0.1 sparse\nr[] = sum(j: a[j])";
    let wide = vec![0.1; 600_000];
    assert!(matches!(meaning(program, &[("a", &[600_000], &wide)], Mode::Algebraic), Err(Refusal::Steps)));
}

/// Blocks count where functions call each other: otherwise twenty of them could nest ten thousand deep.
#[test]
fn blocks_of_functions_that_call_each_other_count() {
    let blocks: String = (0..20)
        .map(|k| {
            format!(
                "fn g{}(x: i64) -> i64 {{ {}x = g{k}(x);{} x }}\n",
                k + 1,
                "if true { ".repeat(400),
                " }".repeat(400)
            )
        })
        .collect();
    let program = format!("fn g0(x: i64) -> i64 {{ x }}\n{blocks}r[] = g20(1)");
    let (syntax, _) = fiberloom_front::parse(&program);
    let wrong = check(&syntax.unwrap()).unwrap_err();
    assert!(wrong[0].message.contains("nests deeper"), "{wrong:?}");
}

/// Programs that nest as deep as the parser and the checker permit, on the stack that a thread has.
#[test]
fn the_deepest_programs_are_evaluated() {
    let chain = |n: usize, body: &dyn Fn(usize) -> String| -> String {
        (0..n).map(|k| format!("fn g{}(x: i64) -> i64 {{ {} }}\n", k + 1, body(k))).collect()
    };
    let calls = chain(290, &|k| format!("g{k}(x) + 0"));
    let blocks = chain(20, &|k| format!("{}x = g{k}(x);{} x", "if true { ".repeat(25), " }".repeat(25)));
    let many: Vec<String> = (0..240).map(|k| format!("v{k}")).collect();
    let terms: Vec<String> = many.iter().map(|v| format!("a[{v}]")).collect();
    let sums = |n: usize| (0..n).map(|k| format!("sum(v{k}: a[v{k}] + ")).collect::<String>();
    for text in [
        format!("r[] = {}a[0]{}", "(".repeat(240), " + 0)".repeat(240)),
        format!("r[] = {}a[0]", "-".repeat(498)),
        format!("r[] = {}0{}", "a[".repeat(498), "]".repeat(498)),
        format!("r[] = {}a[0]{}", sums(240), ")".repeat(240)),
        format!("r[] = {}a[0]{}", "coalesce(".repeat(490), ")".repeat(490)),
        format!("fn g0(x: i64) -> i64 {{ x }}\n{calls}r[] = g290(a[0])"),
        format!("fn g0(x: i64) -> i64 {{ x }}\n{blocks}r[] = g20(a[0])"),
        format!("r[] = sum({}: {})", many.join(", "), terms.join(" + ")),
    ] {
        let program = format!("dim N = 1\ntensor a: i64[N] dense\n{text}");
        let evaluated = move || means(&program, &[("a", &[1], &[0.0])], &[0.0]);
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(evaluated);
        thread.expect("a thread").join().expect("no overflow");
    }
}

/// A fold of one term is that term, −0.0 too.
#[test]
fn the_sign_of_zero_in_strict_mode() {
    let data: [Operand; 1] = [("a", &[1], &[-0.0])];
    let program = "tensor a: f64[N] fill 2.0 dense\ntensor r: f64[] fill 3.0 dense\nr[] = sum(i: a[i])";
    assert_eq!(answered(program, &data, Mode::Strict, &[-0.0]), Some(0));
    assert_eq!(answered(program, &data, Mode::Strict, &[0.0]), None);
}
