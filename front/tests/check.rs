//! The checker on text: what it accepts, and what it says of what it refuses, by place and message.

use fiberloom_core::notation::typed;
use fiberloom_front::{parse, render};
use fiberloom_passes::check::check;

fn checked(text: &str) -> Result<typed::Program, Vec<String>> {
    let (program, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{}", render("p.loom", text, &diagnostics, false));
    check(&program.expect("no diagnostics")).map_err(|d| {
        let all = render("p.loom", text, &d, false);
        all.lines().filter(|l| l.starts_with("p.loom:")).map(|l| l["p.loom:".len()..].to_string()).collect()
    })
}

/// Each program is refused with exactly these messages.
#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    assert_eq!(checked(text).expect_err("it is accepted"), expected, "{text}");
}

#[track_caller]
fn accepted(text: &str) -> typed::Program {
    checked(text).unwrap_or_else(|e| panic!("{text}\n{e:#?}"))
}

#[test]
fn names() {
    refused(
        "tensor A: f64[I] sparse\ny[i] = B[i] + min(A[i], abz(A[i]))",
        &["2:8: error: unknown tensor `B`", "2:25: error: unknown function `abz`"],
    );
    refused("tensor A: f64[I] csr", &["1:18: error: format `csr` does not fit `A`, which has 1 mode"]);
    refused("tensor A: f64[I] dens", &["1:18: error: unknown format `dens`"]);
    refused("tensor A: f64[I]\ntensor A: f64[J]\ny[i] = A[i]", &["2:8: error: tensor `A` is declared twice"]);
    refused("tensor A: f64[I,J]\ny[i] = A[i]", &["2:8: error: `A` has 2 modes and is given 1 index"]);
    refused(
        "tensor s: f64[]\ntensor A: f64[I]\ny[i] = A[i] * s",
        &["3:15: error: tensor `s` is read without its indices"],
    );
    refused("y[] = z[]\nz[] = 1", &["1:7: error: unknown tensor `z`"]);
    let p = accepted("tensor z: i64[]\ny[] = z[]\nz[] = 1");
    let read: Vec<&str> = p.inputs().iter().map(|t| p.tensors[t.index()].name.as_str()).collect();
    assert_eq!(read, ["z"], "what is declared and read before its statement, the caller brings");
    refused("tensor A: f64[I,J]\ny[i] = sum(i: A[i,i])", &["2:12: error: index variable `i` is bound already"]);
    refused("tensor A: f64[I,J] {dense, bland}", &["1:28: error: unknown level `bland`"]);
    refused("tensor A: f64[I,J] {dense, dense} order(0, 0)", &["1:20: error: the order is no permutation of 2 modes"]);
    refused("tensor A: f64[3,4] {dense, lower}", &["1:20: error: level `lower` needs two modes of equal extent"]);
}

#[test]
fn types() {
    refused(
        "tensor A: f64[I]\ntensor B: i64[I]\ny[i] = A[i] + B[i]",
        &["3:15: error: this has type i64 where f64 is needed"],
    );
    refused("tensor A: i8[I]\ny[i] = A[i] + 128", &["2:15: error: the literal `128` is no value of type i8"]);
    refused("tensor A: i8[I] fill 2.5", &["1:22: error: the literal `2.5` is no value of type i8"]);
    refused("tensor A: f64[I]\ny[i] = A[i] << 1", &["2:8: error: `<<` does not take (f64, f64)"]);
    refused("tensor A: i64[I]\ny[i] = sqrt(A[i])", &["2:8: error: `sqrt` does not take (i64)"]);
    let p = accepted("tensor A: i8[I]\ny[i] = A[i] * -128 + 1\nz[] = 2.5\nw[] = 3\nb[i] = A[i] < 3");
    let types: Vec<&str> = p.tensors.iter().map(|t| t.ty.name()).collect();
    assert_eq!(types, ["i8", "i8", "f64", "i64", "bool"]);
}

#[test]
fn statements() {
    refused(
        "tensor A: f64[I]\nR[i,i] = A[i]",
        &["2:5: error: `=` defines each element of `R` once, and this names some again"],
    );
    accepted("tensor A: f64[I]\ntensor R: f64[I, I]\nR[i,i] += A[i]");
    let p = accepted("tensor A: f64[I,J] csr\ntensor x: f64[J]\ntensor b: f64[I]\ny[i] = A[i,j] * x[j] + b[i]");
    let typed::Kind::Call(_, args) = &p.statements[0].rhs.kind else { panic!("no sum of two terms") };
    assert!(matches!(&args[0].kind, typed::Kind::Reduce { vars, .. } if vars.len() == 1));
    assert!(matches!(&args[1].kind, typed::Kind::Access(..)));
}

#[test]
fn functions() {
    refused(
        "fn f(x: i64, y: i64) -> i64 { x + 2 * y } where commutative",
        &["1:49: error: `f` is not commutative: counterexample f(1, 2) = 5, but f(2, 1) = 4"],
    );
    refused(
        "fn f(x: u8) -> u8 { let a = x; b = 1; a }\nfn g(x: u8) -> u8 { g(x) }",
        &["1:32: error: unknown local `b`", "2:21: error: unknown function `g`"],
    );
    refused(
        "fn f(x: u8, y: u8) -> u8 { x & y } where identity(0), annihilator(1, 0)",
        &[
            "1:42: error: `f` is not without effect for 0: counterexample f(0, 1) = 0, not 1",
            "1:55: error: `f` is not constant for 1 at argument 0: counterexample f(1, 0) = 0, but f(1, 1) = 1",
        ],
    );
    accepted(
        "fn f(x: u8, y: u8) -> u8 { x & y } where identity(255), annihilator(0), commutative, associative, idempotent",
    );
    refused(
        "fn f(x: i64, y: i64) -> i64 { x + y } where iterate(x & y)",
        &["1:45: error: `f` is not equal to its fill outside of its `iterate` set: counterexample f(1, 0) = 1, not 0"],
    );
    // A loop that does not end is no reason to hang.
    refused(
        "fn f(x: i64, x: i64) -> i64 { 1 } where case(x, y) = 1",
        &["1:14: error: `x` is defined already: give this one another name"],
    );
    refused(
        "fn f(x: i64, y: i64) -> i64 { while true { } x } where commutative",
        &["1:56: error: whether `f` is commutative could not be checked: evaluating f(0, 0) takes too many steps"],
    );
}

/// The conformance programs, and those of the language page, are accepted or refused as they say.
#[test]
fn conformance_programs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance");
    let mut seen = 0;
    for case in std::fs::read_dir(folder).expect("the cases are there").flatten() {
        let Ok(text) = std::fs::read_to_string(case.path().join("program.loom")) else { continue };
        let name = case.file_name().to_string_lossy().into_owned();
        assert_eq!(checked(&text).is_err(), name.starts_with("reject_"), "{name}");
        seen += 1;
    }
    assert!(seen >= 40, "only {seen} cases");
}

/// Help says what was meant: what other systems call it, letters that are exchanged, what widens.
#[test]
fn help_says_what_was_meant() {
    let helps = |text: &str, help: &str| {
        let (program, mut all) = parse(text);
        if let (Some(program), true) = (program, all.is_empty()) {
            all = check(&program).err().unwrap_or_default();
        }
        let found = all.iter().filter_map(|d| d.help.as_deref()).any(|h| h.contains(help));
        assert!(found, "{text}\n{all:#?}");
    };
    helps("tensor A: f64[I, J] crs", "there is `csr`");
    helps("tensor A: f64[I] {compresed}", "there is `compressed`");
    helps("tensor x: f64[I]\ny[i] = maximum(x[i], 0.0)", "there is `max`");
    helps("tensor x: f64[I]\ny[] = product(i: x[i])", "write prod(i: x[i])");
    helps("tensor x: f64[I]\ny[i] = x[i] / convert(i2, f64)\nz[i2] = x[i2]", "there is `i`");
    helps("tensor x: f64[Rows]\ny[i] = x[i] / convert(Row, f64)", "there is `Rows`");
    helps("tensor x: float64[I]", "`float64` is written `f64`");
    helps("tensor x: f64[I]\ny[i8] = x[i8]", "`i8` is a type");
    helps("tensor x: f64[I]\ny(i) = x[i]", "elements stand in brackets");
    helps("tensor x: f64[I]\ny[i] = x(i)", "elements stand in brackets: `x[…]`");
    let both = "tensor a: f32[I]\ntensor b: f64[I]\n";
    helps(&format!("{both}c[i] = a[i] * b[i]"), "write convert(a[i], f64); or convert what it stands beside to f32");
    helps(&format!("{both}c[i] = b[i] * a[i]"), "write convert(a[i], f64)");
}
