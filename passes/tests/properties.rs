//! Properties that do not hold, of every kind, at every position, on several types: each is refused with a counterexample; and
//! nearly the same ones that hold are not. How near is pinned from both sides: one pair of bytes, a millionth and less, and the
//! steps that may be taken.

use fiberloom_passes::check::check;

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
    ("x: f32, y: f32) -> f32", "x + y + x * y", "commutative, associative, identity(0.0)"),
    ("x: f64, y: f64) -> f64", "min(x, y)", "commutative, associative, idempotent, identity(inf), annihilator(-inf)"),
];

fn refused(signature: &str, body: &str, property: &str) -> Vec<String> {
    said(&format!("fn f({signature} {{ {body} }} where {property}"))
}

/// What is said of a program.
fn said(text: &str) -> Vec<String> {
    let (program, errors) = fiberloom_front::parse(text);
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

/// What is known of a function is known of no other that is called as it is, of no other property, and of none that calls another one.
#[test]
fn what_holds_is_not_taken_for_another() {
    let (signature, sum) = ("x: i64, y: i64) -> i64", "x + y");
    for _ in 0..2 {
        assert!(refused(signature, sum, "commutative").is_empty());
        assert_eq!(refused(signature, "x - y", "commutative").len(), 1);
        assert_eq!(refused(signature, sum, "idempotent").len(), 1);
    }
    let called =
        |of: &str| said(&format!("fn g({signature} {{ {of} }}\nfn f({signature} {{ g(x, y) }} where commutative"));
    assert!(called("x * y").is_empty());
    assert_eq!(called("x - 3 * y").len(), 1);
}

/// Pairs of bytes: at the ends, beside them, and anywhere.
const PAIRS: [(i64, i64); 9] =
    [(0, 1), (254, 255), (255, 0), (127, 128), (128, 1), (77, 200), (13, 14), (251, 64), (100, 99)];

/// `x` and `y` are these bytes, in words that hold neither: numbers of a function are tried apart.
fn are(ty: &str, (x, y): (i64, i64)) -> String {
    let byte = |n: i64| if ty == "i8" { (n ^ 0x55) as i8 as i64 } else { n ^ 0x55 };
    format!("xor(x, 85) == {} && xor(y, 85) == {}", byte(x), byte(y))
}

/// Each property of bytes is false at one pair alone, wherever that is.
#[test]
fn one_pair_of_bytes_is_found() {
    for ty in ["u8", "i8"] {
        for pair in PAIRS {
            let (signature, here) = (format!("x: {ty}, y: {ty}) -> {ty}"), are(ty, pair));
            let otherwise = |e: &str| format!("if {here} then xor({e}, 1) else {e}");
            let all = [
                (otherwise("x + y"), "commutative"),
                (otherwise("x & y"), "associative"),
                (otherwise("xor(x, y)"), "case(a, b) = xor(a, b)"),
                (otherwise("0 * x"), "iterate(!x & !y)"),
            ];
            for (body, property) in all {
                let said = refused(&signature, &body, property);
                let shown = matches!(&said[..], [one] if one.contains("counterexample"));
                assert!(shown, "{signature} {{ {body} }} {property}: {said:?}");
            }
            let (x, _) = pair;
            let alone = |e: &str| format!("if {} then xor({e}, 1) else {e}", are(ty, (x, x)));
            assert_eq!(refused(&signature, &alone("x | y"), "idempotent").len(), 1, "{ty} {x}");
            let beside = |e: &str| format!("if {} then xor({e}, 1) else {e}", are(ty, (x, 0)));
            assert_eq!(refused(&signature, &beside("x + y"), "identity(0, 1)").len(), 1, "{ty} {x}");
            assert_eq!(refused(&signature, &beside("x * y"), "annihilator(0, 1)").len(), 1, "{ty} {x}");
        }
    }
    // Beside another type of eight bits or fewer, too.
    for (y, there) in [("bool", "y"), ("u8", "xor(y, 85) == 26")] {
        let body = format!("if xor(x, 85) == 33 && {there} then 1 else 0");
        let said = refused(&format!("x: u8, y: {y}) -> u8"), &body, "case(a, b) = 0");
        assert!(matches!(&said[..], [one] if one.contains("counterexample f(116, ")), "{said:?}");
    }
}

/// What rounding may take is far from a millionth: `x + y + e·x` is off by e, relative to what it is.
#[test]
fn what_is_off_by_a_millionth_is_not_rounding() {
    let off =
        |ty: &str, e: &str| refused(&format!("x: {ty}, y: {ty}) -> {ty}"), &format!("x + y + {e} * x"), "associative");
    for ty in ["f32", "f64"] {
        for e in ["0.001", "0.000001", "1e-8", "1e-10"] {
            let said = off(ty, e);
            assert!(matches!(&said[..], [one] if one.contains("counterexample")), "{ty} {e}: {said:?}");
        }
        assert_eq!(off(ty, "1e-13"), [""; 0], "{ty}");
        assert_eq!(off(ty, "0.0"), [""; 0], "{ty}");
    }
    // Rounding is no excuse for the others: each of their sides is one call.
    let others = [
        ("x + y + 0.000001 * x", "commutative"),
        ("x + y + 0.000001", "identity(0.0)"),
        ("max(x, y) * 1.000001", "idempotent"),
        ("x * y + 0.000001 * y", "annihilator(0.0, 0)"),
        ("x * y", "case(a, 2.0) = a * 2.000001"),
        ("x * y + 0.000001 * y", "iterate(x)"),
    ];
    for (body, property) in others {
        for ty in ["f32", "f64"] {
            let said = refused(&format!("x: {ty}, y: {ty}) -> {ty}"), body, property);
            assert!(matches!(&said[..], [one] if one.contains("counterexample")), "{ty} {body} {property}: {said:?}");
        }
    }
}

/// A body that goes round so often, at eight steps a turn, before it gives its value.
fn turning(ty: &str, turns: &str, value: &str, property: &str) -> Vec<String> {
    let body = format!("let n = convert({turns}, i64); while n != 0 {{ n = n - 1; }} {value}");
    refused(&format!("x: {ty}, y: {ty}) -> {ty}"), &body, property)
}

/// Where steps suffice for a part of all trials, that part has every argument in it: a function that is associative in one of its
/// arguments alone is found out.
#[test]
fn a_long_loop_hides_nothing() {
    for (body, property) in [
        ("(x + y) / 2", "associative"),
        ("if y == 3 && x == 2 then 6 else x + y", "associative"),
        ("x - y", "associative"),
        ("x + y * (y - 1) * (y - 2)", "commutative"),
        ("if y == 7 then 8 else max(x, y)", "idempotent"),
        ("if x == 0 && y == 7 then 1 else 0", "iterate(x & y)"),
    ] {
        for turns in ["1", "100", "1000"] {
            let said = turning("i64", turns, body, property);
            assert!(matches!(&said[..], [one] if one.contains("counterexample")), "{body}, {turns} turns: {said:?}");
        }
    }
}

/// What takes too many steps is refused, and what takes a little fewer is tried.
#[test]
fn the_budget_of_steps_is_where_it_is() {
    let untried = |said: &[String]| matches!(said, [one] if one.contains("could not be checked"));
    let found = |said: &[String]| matches!(said, [one] if one.contains("counterexample"));
    // 512 trials in twenty-four million steps: two evaluations each, of 23,000 steps and more.
    assert_eq!(turning("i64", "2000", "x + y", "commutative"), [""; 0]);
    assert!(untried(&turning("i64", "7000", "x + y", "commutative")));
    assert!(found(&turning("i64", "2000", "x + y + x", "commutative")));
    // A million in one evaluation.
    assert_eq!(turning("bool", "120000", "x || y", "idempotent"), [""; 0]);
    assert!(untried(&turning("bool", "130000", "x || y", "idempotent")));
    // One evaluation that takes them all is enough, however many others were finished before.
    let last = "x + 2 == -9223372036854775808 && y + 2 == -9223372036854775808";
    let turns = format!("if {last} then 200000 else 0");
    assert!(untried(&turning("i64", &turns, "max(x, y)", "associative")));
    // Of bytes every pair is tried, and twenty million steps and more are there for that.
    assert_eq!(turning("u8", "20", "x + y", "commutative"), [""; 0]);
    let late = format!("if {} then 1 else x + y", are("u8", (254, 255)));
    assert!(found(&turning("u8", "20", &late, "commutative")));
}
