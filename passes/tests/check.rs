//! Programs and what the checker says of them: a fragment of each message that has to come, in the order of the text.

use fiberloom_core::algebra::Mode;
use fiberloom_core::notation::{Diagnostic, typed};
use fiberloom_passes::check::check;
use fiberloom_passes::schedule::loops::Loops;

fn checked(text: &str) -> Result<typed::Program, Vec<Diagnostic>> {
    let (program, errors) = fiberloom_front::parse(text);
    assert!(errors.is_empty(), "{text}\ndoes not parse: {errors:?}");
    check(&program.expect("parsed"))
}

/// Everything a message says, labels and advice too.
fn whole(error: &Diagnostic) -> String {
    let labels: String = error.labels.iter().map(|(_, label)| format!("; {label}")).collect();
    format!("{}{labels}; {}", error.message, error.help.as_deref().unwrap_or(""))
}

#[track_caller]
fn accepts(text: &str) -> typed::Program {
    match checked(text) {
        Ok(program) => program,
        Err(errors) => panic!("{text}\nis rejected: {:#?}", errors.iter().map(whole).collect::<Vec<_>>()),
    }
}

/// The messages are as many as `expected`, each holding its fragment.
#[track_caller]
fn rejects(text: &str, expected: &[&str]) {
    let Err(errors) = checked(text) else { panic!("{text}\nis accepted") };
    let said: Vec<String> = errors.iter().map(whole).collect();
    let fits = said.len() == expected.len() && said.iter().zip(expected).all(|(said, part)| said.contains(part));
    assert!(fits, "{text}\nexpected: {expected:#?}\nsaid: {said:#?}");
}

const A: &str = "tensor A: f64[I, J] csr\ntensor x: f64[J]\ntensor y: f64[I]\ntensor v: f64[I]\ntensor b: i64[I]\ntensor c: i64[I]\ntensor s: f64[]\n";

/// [`rejects`] a statement over the tensors `A`, `x`, `y`, `b`, `s`.
#[track_caller]
fn refuses(statement: &str, expected: &[&str]) {
    rejects(&format!("{A}{statement}"), expected);
}

#[track_caller]
fn takes(statement: &str) -> typed::Program {
    accepts(&format!("{A}{statement}"))
}

/// Nothing that only programs over labels declare is passed over.
#[test]
fn labels_are_refused() {
    let of = |name: &str| format!("`{name}` is of a program over labels");
    let all = "dim CITY: string  table sales[row: N] { amount: i64 }  tensor due: date[N] dense  tensor paid: dec(2)[N] dense";
    rejects(&format!("{all}  s[] = 1"), &[&of("CITY"), &of("sales"), &of("due"), &of("paid")]);
}

#[test]
fn sums_are_spelled_out() {
    let p = takes("y[i] = A[i,j] * x[j]");
    let typed::Kind::Reduce { vars, .. } = &p.statements[0].rhs.kind else { panic!("no sum") };
    assert_eq!(p.vars[vars[0].index()].name, "j");
    takes("y[i] = A[i,j] * x[j] + (v[i] - A[i,j])");
    takes("y[i] += A[i,j] + sum(k: A[i,k])");
    takes("s[] max= A[i,j]");
}

#[test]
fn names() {
    refuses("y[i] = B[i]", &["B"]);
    refuses("y[i] = sqr(v[i])", &["sqr"]);
    refuses("y[i] = sum(i: v[i])", &["i"]);
    refuses("y[i] = v[i] * s", &["s"]);
    refuses("y[i] = maxx(j: A[i,j])", &["maxx"]);
    refuses("y[i] = A[i,j] * sum(j: x[j])", &["j"]);
    rejects("tensor A: f64[I]\ntensor A: f64[I]", &["A"]);
    refuses("y[i] = t[i]\nt[i] = v[i]", &["t"]);
    takes("y[i] = t[i] where { t[i] = 2 * x2[i] where { x2[i] = v[i] } }");
    refuses("y[i] = t[i] where { t[i] = v[i] }\ny[i] = t[i]", &["t"]);
}

#[test]
fn types() {
    refuses("y[i] = b[i]", &["convert"]);
    refuses("y[i] = v[i] * b[i]", &["convert"]);
    refuses("y[i] = v[i] * i", &["convert"]);
    takes("y[i] = v[i] * convert(i, f64) + 2");
    takes("b[i] = 3 + 2 * c[i] - 4");
    refuses("b[i] = 2.5", &["2.5"]);
    refuses("b[i] = 2.5 * c[i]", &["2.5"]);
    rejects("tensor w: u8[I]\nu[i] = w[i] + 256", &["256"]);
    rejects("tensor u: i8[I] fill 128", &["128"]);
    accepts("tensor w: i8[I] fill -128\nu[i] = min(w[i], -128)");
    refuses("y[i] = if v[i] then 1 else 2", &["bool"]);
    takes("y[i] = if v[i] > 1 then 1 else 2.5");
    refuses("y[i] = v[i] << 1", &["<<"]);
    takes("y[i] = sqrt(2) * ldexp(v[i], 3) * pow(v[i], 2)");
    refuses("y[i] = min(v[i])", &["min"]);
    refuses("y[i] = any(j: A[i,j])", &["any"]);
    takes("y[i] = mask(any(j: A[i,j] != 0), 1.5)");
}

#[test]
fn left_sides() {
    takes("y[0] = 1");
    accepts("tensor w: f64[K, L]\ntensor T: f64[I, J]\nT[i+2, 2*j+1] = w[i,j]");
    takes("y[i(1:I-1)] = 0");
    takes("z[i] = v[i]\nz[1] = 0");
    refuses("z[1] = 0", &["a part of `z`"]);
    refuses("y[i/2] = v[i]", &["+="]);
    refuses("y[b[i]] = v[i]", &["+="]);
    refuses("A[i,i] = 1", &["+="]);
    takes("y[0] += 1");
    takes("A[i,i] += v[i]");
    takes("y[b[i]] += v[i]");
    refuses("y[i,j] = 1", &["y"]);
    refuses("y[i] = A[i]", &["A"]);
    refuses("y[~(i-1)] += v[i]", &["~"]);
}

#[test]
fn missing_stays_inside_coalesce() {
    refuses("y[i] = v[~(i-1)]", &["coalesce"]);
    takes("y[i] = coalesce(v[~(i-1)], 0)");
    takes("y[i] = coalesce(2 * v[~(i-1)], v[~(i+1)], 0)");
    refuses("y[i] = coalesce(v[~(i-1)], v[~(i+1)])", &["coalesce"]);
}

#[test]
fn indices_that_can_leave() {
    refuses("y[i] = v[i-1]", &["~"]);
    refuses("y[i] = v[i+1]", &["~"]);
    rejects("tensor a: f64[10]\ntensor y: f64[10]\ny[i] = a[i+1]", &["~"]);
    accepts("tensor a: f64[11]\ntensor y: f64[10]\ny[i] = a[i+1]");
    accepts("tensor a: f64[5]\ntensor y: f64[10]\ny[i] = a[i/2] + a[i%5]");
    rejects("tensor a: f64[5]\ntensor y: f64[11]\ny[i] = a[i/2]", &["~"]);
    refuses("y[i] = x[v[i]]", &["integers"]);
}

#[test]
fn extents() {
    let two = "tensor A: f64[4, 5] csr\ntensor B: f64[5, 4] csr\ntensor C: f64[4, 5] csr\n";
    let Err(errors) = checked(&format!("{two}C[i,j] = A[i,j] + B[i,j]")) else { panic!("accepted") };
    assert!(errors.iter().all(|e| whole(e).contains("extent")), "{errors:?}");
    refuses("y[i] = v[i] * sum(k: 1.0)", &["`k` is unknown"]);
    refuses("S[k,l] = split(x[j], j -> (k, l))", &["`k`", "`l`"]);
    rejects("tensor a: f64[10]\ntensor S: f64[3, 4]\nS[i,j] = split(a[k], k -> (i, j))", &["extent"]);
    rejects("tensor a: f64[10]\nt[i] = slice(a[j], j -> i, 2:11)", &["extent"]);
    rejects("tensor a: f64[10]\nt[i] = slice(a[j], j -> i, 5:2)", &["start"]);
    rejects("tensor a: f64[10]\nt[i] = a[i(0:4:0)]", &["step"]);
    rejects("dim N = 9223372036854775807\ntensor a: f64[N, 2] csf\nt[k] = collapse(a[i,j], (i,j) -> k)", &["2⁶³"]);
    accepts("tensor a: f64[10]\ntensor b: f64[3]\nt[l] = concat((a[i], b[j]), (i, j) -> l)");
}

#[test]
fn formats() {
    rejects("tensor A: f64[I, J] cssr", &["csr"]);
    rejects("tensor A: f64[I] csr", &["csr"]);
    rejects("tensor A: f64[I, J] {dense}", &["level"]);
    rejects("tensor A: f64[I, J] {dense, compressd}", &["compressed"]);
    rejects("tensor A: f64[I, J] {dense, compressed} order(0, 0)", &["order"]);
    rejects("tensor A: f64[N, N] {compressed, lower}", &["dense"]);
    accepts("tensor A: f64[N, N] {dense, symmetric}");
    rejects("tensor A: f64[4, 5] {dense, lower}\ns[] = A[i,j]", &["extent"]);
}

#[test]
fn functions() {
    let f = |body: &str, rest: &str| {
        format!("tensor a: i64[I]\ntensor r: i64[I]\nfn f(x: i64, y: i64) -> i64 {{ {body} }} {rest}\n")
    };
    let fails = |body: &str, rest: &str, expected: &[&str]| rejects(&f(body, rest), expected);
    fails("x + z", "", &["z"]);
    fails("x + 2.5", "", &["2.5"]);
    fails("x < y", "", &["bool"]);
    fails("f(x, y)", "", &["f"]);
    fails("let x = 2; x", "", &["x"]);
    fails("while x { x = x - 1; } x", "", &["bool"]);
    fails("a[0]", "", &["a"]);
    fails("x - y", "where commutative", &["counterexample"]);
    fails("x - y", "where associative", &["counterexample"]);
    fails("x + y", "where idempotent", &["counterexample"]);
    fails("x + y", "where identity(1)", &["counterexample"]);
    fails("x - y", "where identity(0)", &["counterexample"]);
    fails("x + y", "where annihilator(0)", &["counterexample"]);
    fails("x + y", "where case(0, v) = v + 1", &["counterexample"]);
    fails("x + y", "where iterate(x & y)\nr[i] = f(a[i], a[i])", &["counterexample"]);
    fails("x", "where identity(0, 2)", &["f"]);
    fails("x + y", "where iterate(x | w)", &["w"]);
    fails("x - y", "\nr[i] = f(k: a[k])", &["associative"]);
    accepts(&f("x - y", "\nr[i] = f(k: a[k] start 3)"));
    accepts(&f(
        "x + y",
        "where commutative, associative, identity(0), iterate(x | y), case(0, v) = v\nr[i] = f(k: a[k])",
    ));
    fails("while true { } x", "where commutative", &["could not be checked"]);
    rejects("fn g(x: f64, y: f64) -> f64 { x - y } where associative", &["counterexample"]);
    accepts("fn g(x: f64, y: f64) -> f64 { x + y } where associative, commutative, identity(0)");
    accepts("fn h(x: u8, y: u8) -> u8 { x + y } where associative, commutative, identity(0)");
    rejects(
        "fn h(x: u8, y: u8) -> u8 { if x == 200 && y == 100 then 7 else max(x, y) } where commutative",
        &["counterexample"],
    );
    rejects(
        "fn h(x: u8, y: u8) -> u8 { if x == 200 && y == 100 then 7 else max(x, y) } where associative",
        &["counterexample"],
    );
}

#[test]
fn schedules() {
    refuses("y[i] = A[i,j] * x[j] schedule { split(k -> k0, k1, 4); }", &["k"]);
    takes("y[i] = A[i,j] * x[j] schedule { split(i -> i0, i1, 4); reorder(i0, j, i1); }");
    rejects("schedule { none; }", &["statement"]);
}

/// A sum of floats has an order in strict mode, which no parallel loop and no other order of loops keeps.
#[test]
fn schedules_of_ordered_folds() {
    let sum = |command: &str| format!("{A}s[] = A[i,j] schedule {{ split(i -> i0, i1, 8); {command}; }}");
    for command in ["parallelize(i0, cpu_thread, temporary)", "reorder(i1, i0, j)", "reorder(i0, j, i1)"] {
        let program = checked(&sum(command)).expect("legal in algebraic mode");
        let loops = |mode| Loops::of(&program, &program.statements[0], mode);
        loops(Mode::Algebraic).expect("a sum in any order");
        let message = loops(Mode::Strict).expect_err("a sum in its order").message;
        assert!(message.contains("in its order"), "{message}");
    }
    let whole = checked(&sum("reorder(i0, i1, j)")).expect("the order of the meaning");
    Loops::of(&whole, &whole.statements[0], Mode::Strict).expect("nothing moves");
}

#[test]
fn many_errors_in_one_run() {
    refuses("y[i] = B[i]\ny[i] = b[i]\ny[i/2] = v[i]", &["B", "convert", "+="]);
}

/// A program whose right side nests `depth` negations.
fn nested(depth: usize) -> Result<typed::Program, Vec<Diagnostic>> {
    use fiberloom_core::notation::syntax;
    let (program, _) = fiberloom_front::parse(&format!("{A}y[i] = v[i]"));
    let mut program = program.expect("parsed");
    let Some(syntax::Item::Statement(s)) = program.items.last_mut() else { panic!("no statement") };
    for _ in 0..depth {
        let inner = std::mem::replace(
            &mut s.rhs,
            syntax::Expr { kind: syntax::ExprKind::Literal(syntax::Literal::Int(0)), span: s.span },
        );
        s.rhs = syntax::Expr { kind: syntax::ExprKind::Unary(syntax::UnaryOp::Neg, Box::new(inner)), span: s.span };
    }
    check(&program)
}

#[test]
fn deep_trees_are_refused() {
    let errors = nested(5000).expect_err("too deep");
    assert!(errors[0].message.contains("deep"), "{errors:?}");
    nested(590).expect("deep enough to be refused by nobody");
}

/// A tensor may have 128 modes, declared or not, and no more.
#[test]
fn modes_are_limited() {
    let modes = |n: usize| (0..n).map(|k| format!("v{k}")).collect::<Vec<_>>().join(",");
    let ones = |n: usize| vec!["1"; n].join(", ");
    accepts(&format!("tensor A: f64[{}]\ns[] = A[{}]", ones(128), modes(128)));
    rejects(&format!("tensor A: f64[{}]\ns[] = A[{}]", ones(129), modes(129)), &["`A` has 129 modes"]);
    let halves = |n: usize| {
        format!("tensor A: f64[{0}]\ntensor B: f64[{0}]\nR[{1}] = A[{2}]", ones(n / 2), modes(n), modes(n / 2))
    };
    let rest = |n: usize| (n / 2..n).map(|k| format!("v{k}")).collect::<Vec<_>>().join(",");
    accepts(&format!("{} * B[{}]", halves(128), rest(128)));
    rejects(&format!("{} * B[{}]", halves(130), rest(130)), &["`R` has 130 modes"]);
}

/// Who reads what could not be defined is not complained of.
#[test]
fn a_refused_definition_is_refused_once() {
    rejects("tensor y: i64[I]\nt[i] = r + 1\ny[i] = t[i]", &["unknown name `r`"]);
    rejects("tensor y: i64[I]\ny[i] = t[i] where { t[i] = r + 1 }", &["unknown name `r`"]);
}
