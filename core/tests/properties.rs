//! Properties that do not hold, of every kind, at every position, on several types: each is refused with a counterexample; and
//! nearly the same ones that hold are not.

use fiberloom_core::notation::check;

/// A function's signature and body, and a property that it does not have.
const FALSE: &[(&str, &str, &str)] = &[
    // commutative: f(a, b) = f(b, a)
    ("x: bool, y: bool) -> bool", "x && !y", "commutative"),
    ("x: i8, y: i8) -> i8", "x - y", "commutative"),
    ("x: u8, y: u8) -> u8", "x / y", "commutative"),
    ("x: i32, y: i32) -> i32", "x % y", "commutative"),
    ("x: i64, y: i64) -> i64", "x * y + x", "commutative"),
    ("x: u64, y: u64) -> u64", "x >> y", "commutative"),
    ("x: f32, y: f32) -> f32", "x - y", "commutative"),
    ("x: f64, y: f64) -> f64", "pow(x, y)", "commutative"),
    ("x: i64, y: i64) -> i64", "if x == 1000 then y else x + y", "commutative"),
    // associative: f(f(a, b), c) = f(a, f(b, c))
    ("x: bool, y: bool) -> bool", "!(x && y)", "associative"),
    ("x: i8, y: i8) -> i8", "x - y", "associative"),
    ("x: u8, y: u8) -> u8", "x * y + 1", "associative"),
    ("x: i16, y: i16) -> i16", "x + y + x * x", "associative"),
    ("x: i32, y: i32) -> i32", "x - y", "associative"),
    ("x: i64, y: i64) -> i64", "(x + y) / 2", "associative"),
    ("x: u64, y: u64) -> u64", "x << y", "associative"),
    ("x: f32, y: f32) -> f32", "x / y", "associative"),
    ("x: f64, y: f64) -> f64", "(x + y) / 2.0", "associative"),
    ("x: i64, y: i64) -> i64", "if x == 123456 && y == 0 then 0 else max(x, y)", "associative"),
    // idempotent: f(a, a) = a
    ("x: bool, y: bool) -> bool", "xor(x, y)", "idempotent"),
    ("x: i8, y: i8) -> i8", "x + y", "idempotent"),
    ("x: u8, y: u8) -> u8", "if x == 255 then 0 else max(x, y)", "idempotent"),
    ("x: i32, y: i32) -> i32", "x * y", "idempotent"),
    ("x: i64, y: i64) -> i64", "gcd(x, y)", "idempotent"),
    ("x: u64, y: u64) -> u64", "if x > 18446744073709551614 then 1 else x & y", "idempotent"),
    ("x: f64, y: f64) -> f64", "sqrt(x * y)", "idempotent"),
    // identity: f(v, a) = a and f(a, v) = a
    ("x: bool, y: bool) -> bool", "x || y", "identity(true)"),
    ("x: i8, y: i8) -> i8", "x + y", "identity(1)"),
    ("x: u8, y: u8) -> u8", "min(x, y)", "identity(254)"),
    ("x: i32, y: i32) -> i32", "x - y", "identity(0)"),
    ("x: i32, y: i32) -> i32", "x - y", "identity(0, 0)"),
    ("x: i64, y: i64) -> i64", "min(x, y)", "identity(9223372036854775806)"),
    ("x: i64, y: i64) -> i64", "if y == 77 then 78 else x + y", "identity(0, 0)"),
    ("x: f32, y: f32) -> f32", "x / y", "identity(1, 0)"),
    ("x: f64, y: f64) -> f64", "max(x, y)", "identity(-1000000.0)"),
    // annihilator: f(v, …) is one value, and so is f(…, v)
    ("x: bool, y: bool) -> bool", "x || y", "annihilator(false)"),
    ("x: i8, y: i8) -> i8", "x * y", "annihilator(1)"),
    ("x: u8, y: u8) -> u8", "x - x / 2 * y", "annihilator(0, 1)"),
    ("x: i32, y: i32) -> i32", "x << y", "annihilator(0)"),
    ("x: i32, y: i32) -> i32", "x << y", "annihilator(0, 1)"),
    ("x: i64, y: i64) -> i64", "if y == -500 then 1 else x * y", "annihilator(0, 0)"),
    ("x: u64, y: u64) -> u64", "x | y", "annihilator(1)"),
    ("x: f64, y: f64) -> f64", "x + y", "annihilator(0.0)"),
    ("x: i64, y: i64, z: i64) -> i64", "x * y + z", "annihilator(0, 0)"),
    ("x: i64, y: i64, z: i64) -> i64", "x * y + z", "annihilator(0, 2)"),
    ("c: bool, y: f64) -> f64", "if c then y else -y", "annihilator(false, 0)"),
    // iterate: outside of the set f is what it is where nothing is
    ("x: bool, y: bool) -> bool", "x || y", "iterate(x & y)"),
    ("x: i8, y: i8) -> i8", "x + y", "iterate(x)"),
    ("x: u8, y: u8) -> u8", "x * y", "iterate(x & !y)"),
    ("x: i32, y: i32) -> i32", "x - y", "iterate(!y)"),
    ("x: i64, y: i64) -> i64", "if x == 31 then 1 else x * y", "iterate(x & y)"),
    ("x: f64, y: f64) -> f64", "max(x, y)", "iterate(y)"),
    ("x: i64, y: i64, z: i64) -> i64", "x * y + z", "iterate(x & y)"),
    ("x: f32, y: f32) -> f32", "x * x", "iterate(y)"),
    // case: where arguments are these, f is that
    ("x: bool, y: bool) -> bool", "x && y", "case(true, v) = true"),
    ("x: i8, y: i8) -> i8", "x + y", "case(0, v) = v + 1"),
    ("x: u8, y: u8) -> u8", "max(x, y)", "case(v, 255) = v"),
    ("x: i32, y: i32) -> i32", "x * y", "case(v, 1) = 1"),
    ("x: i64, y: i64) -> i64", "x % y", "case(v, 0) = v"),
    ("x: i64, y: i64) -> i64", "if y == 4096 then 0 else x + y", "case(1, v) = v + 1"),
    ("x: f64, y: f64) -> f64", "x / y", "case(v, 2.0) = v * 2.0"),
    ("x: f64, y: f64) -> f64", "x * y", "case(v, w) = w + v"),
];

/// The same kinds, of functions that have them.
const TRUE: &[(&str, &str, &str)] = &[
    ("x: i64, y: i64) -> i64", "if x == 1000 && y == 1000 then 7 else x + y", "commutative"),
    (
        "x: u64, y: u64) -> u64",
        "x & y",
        "commutative, associative, idempotent, identity(18446744073709551615), annihilator(0)",
    ),
    ("x: f64, y: f64) -> f64", "x * y", "commutative, associative, identity(1.0), annihilator(0.0), iterate(x & y)"),
    ("x: i32, y: i32) -> i32", "x - y", "identity(0, 1), iterate(x | y), case(v, 0) = v"),
    ("x: i64, y: i64) -> i64", "if x == 31 then 1 else x * y", "annihilator(31, 0), iterate(x), iterate(x | y)"),
    ("x: f64, y: f64) -> f64", "min(x, y)", "commutative, associative, idempotent, identity(inf), annihilator(-inf)"),
];

fn refused(signature: &str, body: &str, property: &str) -> Vec<String> {
    let text = format!("fn f({signature} {{ {body} }} where {property}");
    let (program, errors) = fiberloom_front::parse(&text);
    assert!(errors.is_empty(), "{text}\ndoes not parse: {errors:?}");
    let checked = check(&program.expect("parsed"));
    checked.err().unwrap_or_default().into_iter().map(|d| d.message).collect()
}

#[test]
fn false_properties_are_refused_with_a_counterexample() {
    assert!(FALSE.len() >= 50);
    for (signature, body, property) in FALSE {
        let said = refused(signature, body, property);
        let shown = matches!(&said[..], [one] if one.starts_with("`f` is not ") && one.contains(": counterexample f("));
        assert!(shown, "fn f({signature} {{ {body} }} where {property}: {said:?}");
    }
}

#[test]
fn true_ones_are_not() {
    for (signature, body, property) in TRUE {
        let said = refused(signature, body, property);
        assert!(said.is_empty(), "fn f({signature} {{ {body} }} where {property}: {said:?}");
    }
}
