//! The reference semantics on programs small enough to be worked out by hand.

use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Array, Tensor};
use fiberloom_core::notation::check;
use fiberloom_semantics::meaning::{Function, Limits, Refusal, evaluate};
use fiberloom_semantics::{Difference, agree};
use std::collections::BTreeMap;

/// A dense operand of type `f64` or, if the program says so, of another: name, extents, values.
type Operand<'a> = (&'a str, &'a [u64], &'a [f64]);

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
    evaluate(&typed, &operands, mode, &Limits { steps: 1 << 20 })
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
    (0..all).map(|n| f.at(&at(n)).as_f64()).collect()
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
    assert_eq!((r.fill, r.entries.len()), (Value::i64(3), 1), "an undeclared result's fill is its background");
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

#[test]
fn answers_agree_up_to_rounding_in_algebraic_mode_only() {
    let f = |x: f64| Value::from_f64(Type::F64, x);
    let tensor = |x: [f64; 2]| Tensor::dense(vec![2], f(0.0), x.to_vec().into()).unwrap();
    let meaning = Function::of(&tensor([1e10, 1.0]));
    assert_eq!(agree(&meaning, &tensor([1e10, 1.0]), Mode::Strict), Ok(()));
    assert_eq!(agree(&meaning, &tensor([1e10 + 1e-5, 1.0]), Mode::Algebraic), Ok(()));
    let strict = agree(&meaning, &tensor([1e10 + 1e-5, 1.0]), Mode::Strict);
    assert!(matches!(strict, Err(Difference::Value { at, .. }) if at == [0]));
    let missing = agree(&meaning, &tensor([1e10, 0.0]), Mode::Algebraic).unwrap_err();
    assert_eq!(missing, Difference::Value { at: vec![1], expected: f(1.0), found: f(0.0) });
    let nan = Function::of(&tensor([f64::NAN, 1.0]));
    assert_eq!(agree(&nan, &tensor([-f64::NAN, 1.0]), Mode::Strict), Ok(()));
    assert!(agree(&meaning, &tensor([f64::NAN, 1.0]), Mode::Algebraic).is_err());
    let wide = Tensor::dense(vec![3], f(0.0), vec![1e10, 1.0, 0.0].into()).unwrap();
    assert!(matches!(agree(&meaning, &wide, Mode::Algebraic), Err(Difference::Shape(_))));
}

#[test]
fn an_answer_with_another_fill_differs_where_neither_has_an_entry() {
    let f = |x: f64| Value::from_f64(Type::F64, x);
    let meaning = Function { extents: vec![3], ty: Type::F64, fill: f(0.0), entries: Default::default() };
    let answer = Function { fill: f(1.0), ..meaning.clone() };
    let sparse = fiberloom_core::format::Format::csf(1);
    let of = |fill, n: i64| {
        let entries = (0..n).map(|c| (vec![c], f(0.0)));
        Tensor::from_entries(vec![3], sparse.clone(), fill, Type::I32, Type::I32, entries).unwrap()
    };
    assert!(agree(&meaning, &of(answer.fill, 2), Mode::Algebraic).is_err());
    assert_eq!(agree(&meaning, &of(answer.fill, 3), Mode::Algebraic), Ok(()));
}
