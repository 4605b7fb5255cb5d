//! Concrete notation as text: what is read from a print is the program, and no text makes the reader panic.

use fiberloom_core::algebra::Mode;
use fiberloom_core::notation::concrete;
use fiberloom_loops::Options;
use fiberloom_lower::{Lowered, lower};

/// The program at every stage, if it is one and lowers: a defect is no refusal.
fn lowered(text: &str, mode: Mode) -> Option<Lowered> {
    let lowered = lower(&crate::common::typed(text)?, &Options { mode, ..Options::default() });
    if let Err(wrong) = &lowered {
        assert!(!wrong[0].message.contains("a defect of the compiler"), "{}\n{text}", wrong[0].message);
    }
    lowered.ok()
}

#[test]
fn every_program_that_lowers_is_read_from_its_print() {
    let mut lowers = 0;
    for (path, text) in crate::common::texts() {
        for mode in [Mode::Algebraic, Mode::Strict] {
            let Some(Lowered { concrete, .. }) = lowered(&text, mode) else { continue };
            lowers += 1;
            let print = concrete.to_string();
            assert_eq!(concrete::read(&print), Ok(concrete), "{}\n{print}", path.display());
        }
    }
    assert!(lowers > 1400, "only {lowers} programs lower");
}

/// A variable in a computed coordinate of a temporary has another name than one of the nest around.
#[test]
fn variables_in_computed_coordinates_have_names_of_their_own() {
    let text = "\
        dim S4 = 0  tensor A0: u64[S0] coo  tensor A1: i64[S1] {hashed}  tensor A2: u64[S2] coo  tensor A3: i64[S0, 4] {hashed, hashed}
        tensor A4: i64[S2, S0] {hashed, blocked}  tensor A5: i64[S3] dense  tensor A6: i64[S2] fill 9223372036854775807 csf order(0)
        tensor A7: i64[S4] fill 9223372036854775807 dense
        R0[i,j] = min(k: (A1[A0[i] + 2] - A3[A2[j],3*i%4]) % collapse(A4[j,l] * A5[m], (l, m) -> i) * A6[k] start S0) << A7[j]";
    let Lowered { concrete, .. } = lowered(text, Mode::Strict).expect("it lowers");
    let print = concrete.to_string();
    assert!(print.contains("A0[i_2 = |S3|*lw + mw]"), "{print}");
    assert_eq!(concrete::read(&print), Ok(concrete), "{print}");
}

/// Loops with extents of their own, workspaces, scatters, mapped variables, concatenations, literals of every type, nested
/// folds, signs.
const ALL: &str = "\
extents I@0, J@3, 4@7, K@9
fn latest(x: f64, y: f64): f64 { select(y != 0.0, y, x) } where associative, idempotent, identity(0.0), iterate(x | y & !(x & all))
fn f_2(n: i64, b: bool; k: i64, m: i64): i64 { k = n; while k > 1 && b { m = k / 2; if m % 2 == 0 { k = m; } else { k = -(1); } } \
if b { } i64(latest(1.0, f64(k))) } where annihilator(0, 0), case(7, b) = i64(b)
operand A@0: f64[I, J] {dense, compressed}
operand B@2: i8[4, J] fill -1i8 {compressed, hashed} order(1, 0)
operand c@5: bool[] dense
operand S@8: f64[I, I] {dense, symmetric}
temporary w: f64[J] fill -inf {compressed}
temporary n: i64[J] {compressed}
temporary u: f64[J] {dense}
result y@1: f64[I] {dense}
result z@4: i64[4, J] {compressed, compressed} order(1, 0)
result b@6: bool[] fill true dense
result c_2@7: f64[K] {compressed}

(forall j: w[j] = w[j]) where dense (forall i: forall j: w[j] max= select(c[], A[i, j], nan))
(forall j: n[j] = w[j]) where list (forall j: forall k in 4: w[j] += (j - 1) * -(2) - (j - (k - -2)))
forall i in J: y[i] = sum(j: A[i, j] * w[j]) + prod(j in I, k: f64(B[k, j])) / -0.0
forall i: y[i] = min(min(j: A[i, j]), -sum(j: A[i, j]) * (1.5 - inf)) + max(5.0, max(j: f64(i) * w[j]))
(forall m1: forall m0: z[m0, m1] = w[m1, m0]) where hashed apart (forall j: w[m1 = floordiv(j, 2), m0 = (j + 1) % 4] += n[j])
forall j: forall k: n[m0 = j / 2] += i64(B[k, j] & 7i8)
forall i: forall j: c_2[k: |J|*i + j] = A[i, j] * c_2[k = |J|*i + j]
(forall k: c_2[k] = w[k]) where dense (forall j in J: forall i: w[k: j + |J|*i] = y[i])
forall j: w[j] = concat(j; k: c_2[k], i in I: y[i_2 = 2*i + 3]) + f64(index(m in K = j + 1 - 2*|I|*|J|))
forall i: y[i] = latest(j: A[i, j]) - latest(j, k: f64(f_2(j, c[])) * f64(B[k, j]) start y[i])
forall i: y[i] = sum(j: S[i, j] * 2.0) + S[i, i] also y[j] += S[i, j]
forall i: y[i] = 2.0 * sum(j: (u[j] where (forall jw: u[jw] = A[i, jw] * w[jw])))
b[] = all(j: !(c[] || w[j] < 0.0) && &(k: B[k, j]) == 0i8)
";

#[test]
fn every_construct_is_read_from_its_print() {
    let program = concrete::read(ALL).unwrap();
    assert_eq!(program.to_string(), ALL);
    assert_eq!(program.numbered(), program);
    assert_eq!(program.check(), Ok(()));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let header = "extents N@0, M@1\noperand A@0: f64[N, M] {dense, compressed}\nresult y@1: f64[N] {compressed}\n\
                  result d@2: f64[N] {dense}\n";
    let deep = format!("forall i: y[i] = {}1.0{}", "(".repeat(100_000), ")".repeat(100_000));
    let folds = format!("forall i: y[i] = {}", "sum(i: ".repeat(100_000));
    let blocks = format!("fn f(x: i64): i64 {{ {}", "if true { ".repeat(100_000));
    let chain = format!("forall i: y[i] = 1.0{}", " + 1.0".repeat(100_000));
    for (line, message) in [
        ("extents N@2", "is there already"),
        ("extents K@1", "is there already"),
        ("extents K@99999999999", "expected a number"),
        ("temporary A: f64[N] {dense}", "two tensors"),
        ("temporary B: f64[K] {dense}", "no extent `K`"),
        ("temporary B: f64[N, N] {dense}", "level a mode"),
        ("temporary B: f64[N, N] {dense, dense} order(1, 1)", "level a mode"),
        ("temporary B: f64[N, N] {dense, dense} order(0, 7)", "level a mode"),
        ("temporary B: f64[N] fill 1 {dense}", "the fill of B"),
        ("temporary nan: f64[N] {dense}", "no name"),
        ("operand B: f64[N] {dense}", "expected `@`"),
        ("forall i: y[i] = A[i, j]", "j is not bound"),
        ("forall i: y[i] = A[i]", "2 modes, not 1"),
        ("forall i: y[i] = sum(i: A[i, i])", "bound twice"),
        ("forall i: y[i] = sum(j: j)", "what j runs over"),
        ("forall i: y[i] = 1", "another type"),
        ("forall i: y[i] = 1.0 2.0", "the end of the line"),
        ("forall i: y[i] -= 1.0", "another type"),
        ("forall i: y[i] <= 1.0", "expected `=`"),
        ("forall i: y[i] = 1.0 + 1", "does not take (f64, i64)"),
        ("y[i] = 1.0", "i is not bound"),
        ("forall inf: y[inf] = 1.0", "no name of an index variable"),
        ("forall i: forall j: y[m0 = i] = A[i, j]", "nothing to fold"),
        ("forall i: y[m0 = 1.0, m1] += 1.0", "1 mode, not 2"),
        ("forall j: forall i: y[i] = A[i, j]", "cannot be followed"),
        ("(forall i: y[i] = w[i]) where heap (forall i: w[i] = 1.0)", "kind of the workspace"),
        ("(forall i: y[i] = w[i]) where hashed (forall i: w[i] = 1.0)", "does not fit"),
        ("(forall i: y[i] = w[j]) where list (forall i: w[i] = 1.0)", "another order"),
        ("(forall i: y[i] = w[i]) where list (forall i: forall j: w[j] += A[i, j])", "another order"),
        ("(forall i: y[j] = w[i]) where list (forall i: forall j: w[i] += A[i, j])", "another order"),
        ("(y[i] = w[i])", "where"),
        ("forall i: y[i] = A[i, j = k + 1]", "k is not bound"),
        ("forall i: y[i] = A[i, j = i*i]", "no map"),
        ("forall i: y[i] = A[i_2 = i + 1, j = i_2]", "mapped itself"),
        ("forall i: y[i] = A[i, i = i + 1]", "bound twice"),
        ("forall i: forall j: y[i: j] = 1.0", "bound twice"),
        ("forall i: y[i] = concat(i; i: 1.0, j: 2.0)", "bound twice"),
        ("forall i: y[i] = concat(i; j: 1.0, k in N: 2.0)", "what j runs over"),
        ("forall i: y[i] = concat(i; j in N: 1.0, k in N: 2)", "another type"),
        ("forall i: y[i] = A[i, j in M]", "what j is"),
        ("forall i: d[i] = 1.0 also d[j] += 1.0", "j is not bound"),
        ("forall i: d[i] = sum(j in N: d[j]) also d[j] = 1.0", "joined with what is there"),
        ("forall i: d[i] = sum(j in N: d[j]) also d[j] -= 1.0", "of another type"),
        ("forall i: d[i] = sum(j in N: d[j]) also d[i] += 1.0", "has no place"),
        ("forall i: d[i] = sum(j: A[i, j]) also d[j] += 1.0", "has no place"),
        ("forall i: y[i] = sum(j in N: d[j]) also y[j] += 1.0", "has no place"),
        ("forall i: d[i] = sum(j in N: d[j]) also y[j] += 1.0", "another tensor"),
        ("forall i: d[i] = sum(j in N: d[j]) also d[j] += d[i]", "not at hand"),
        ("fn A_2(x: i64): i64 { x = 1.0; x }", "i64 is needed"),
        ("fn f(x: i64): i64 { y = 1; x }", "no local `y`"),
        ("fn f(x: i64): bool { x }", "bool is needed"),
        ("fn f(x: i64): i64 { f(x) }", "no function `f`"),
        ("fn f(x: i64; x: i64): i64 { x }", "no name of another local"),
        ("fn f(x: i64; k: i64): i64 { x } where iterate(k)", "no parameter `k`"),
        ("fn f(x: i64; k: i64): i64 { x } where case(1) = k", "variable `k`"),
        ("fn f(x: i64): i64 { x } where identity(1.0)", "another type"),
        ("fn f(x: i64): i64 { x } where case(x, x) = x", "a pattern too many"),
        ("forall i: y[i] = f(i)", "no function `f`"),
        (&blocks, "nested more than"),
        ("é", "does not belong"),
        (&deep, "nested more than"),
        (&folds, "nested more than"),
        (&chain, "nested more than"),
    ] {
        let error = concrete::read(&format!("{header}{line}\n")).expect_err(line);
        let head: String = line.chars().take(80).collect();
        assert!(error.starts_with("line 5: ") && error.contains(message), "{head}\n{error}");
    }
}

/// Every text that is a good one with a token dropped, doubled or exchanged for a neighbour.
#[test]
fn damaged_text_is_refused_or_read_from_its_print() {
    let words: Vec<&str> = ALL.split_inclusive([' ', '\n', '[', ']', '(', ')', ',', ':', '@']).collect();
    let mut read = 0;
    for at in 0..words.len() - 1 {
        let (before, behind) = (words[..at].concat(), words[at + 2..].concat());
        let (one, two) = (words[at], words[at + 1]);
        for damage in
            [two.to_string(), format!("{one}{one}{two}"), format!("{two}{one}"), format!("{one}{two}{two}{two}")]
        {
            match concrete::read(&format!("{before}{damage}{behind}")) {
                Err(e) => assert!(e.starts_with("line "), "{e}"),
                Ok(program) => {
                    read += 1;
                    assert_eq!(concrete::read(&program.to_string()), Ok(program));
                }
            }
        }
    }
    assert!(read > 0);
}
