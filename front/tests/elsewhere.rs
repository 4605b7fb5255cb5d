//! Lines as people bring them from NumPy, Python, MATLAB and C: each is refused, and its help shows the line of this language. What help
//! shows is right: it is parsed and checked in the place of the line.

use fiberloom_core::notation::Diagnostic;
use fiberloom_front::parse;
use fiberloom_passes::check::check;

/// What is said of a program: what the parser refuses, else what the checker does.
fn said(text: &str) -> Vec<Diagnostic> {
    let (program, diagnostics) = parse(text);
    if !diagnostics.is_empty() {
        return diagnostics;
    }
    check(&program.expect("no diagnostics")).err().unwrap_or_default()
}

/// The declarations that the lines below stand behind.
const TENSORS: &str = "tensor A: f64[I, J] csr\ntensor B: f64[J, K] csr\ntensor C: f64[I, J] dense\ntensor x: f64[J] dense\n\
    tensor z: f64[I] dense\ntensor n: i64[J] dense\ntensor a: f64[] dense\n";

/// A line, and the same in this language.
const LINES: &[(&str, &str)] = &[
    // Whole arrays.
    ("y = A @ x", "y[i] = A[i,j] * x[j]"),
    ("D = A @ B", "D[i,j] = A[i,k] * B[k,j]"),
    ("s = x @ x", "s[] = x[i] * x[i]"),
    ("y = x @ B", "y[i] = x[j] * B[j,i]"),
    ("y = A @ x + z", "y[i] = A[i,j] * x[j] + z[i]"),
    ("y = 2 * A @ x - z", "y[i] = 2 * A[i,j] * x[j] - z[i]"),
    ("y = np.maximum(A @ x, 0)", "y[i] = max(sum(j: A[i,j] * x[j]), 0)"),
    ("y = A.T @ z", "y[i] = A[j,i] * z[j]"),
    ("y = np.dot(A, x)", "y[i] = A[i,j] * x[j]"),
    ("y = A.dot(x)", "y[i] = A[i,j] * x[j]"),
    ("y = np.exp(x)", "y[i] = exp(x[i])"),
    ("y = x + 1", "y[i] = x[i] + 1"),
    ("y = a * x", "y[i] = a[] * x[i]"),
    ("alpha = 0.85", "alpha[] = 0.85"),
    ("let alpha = 0.85;", "alpha[] = 0.85"),
    ("y = np.einsum('ij,j->i', A, x)", "y[i] = A[i,j] * x[j]"),
    ("y = np.einsum(\"ij,j->i\", A, x)", "y[i] = A[i,j] * x[j]"),
    ("D = np.outer(z, x)", "D[i,j] = z[i] * x[j]"),
    ("y = np.linalg.norm(x)", "y[] = sqrt(sum(i: x[i] * x[i]))"),
    ("t = np.trace(C)", "t[] = sum(i: C[i,i])"),
    // Folds.
    ("s = sum(A)", "s[] = sum(i, j: A[i,j])"),
    ("s = A.sum()", "s[] = sum(i, j: A[i,j])"),
    ("s = np.sum(A, axis=1)", "s[i] = sum(j: A[i,j])"),
    ("s = A.sum(axis=0)", "s[i] = sum(j: A[j,i])"),
    ("m = x.mean()", "m[] = sum(i: x[i]) / convert(J, f64)"),
    ("m = np.max(x)", "m[] = max(i: x[i])"),
    ("m = x.max() - x.min()", "m[] = max(i: x[i]) - min(j: x[j])"),
    ("c = np.count_nonzero(A)", "c[] = count(i, j: A[i,j] != 0)"),
    // Pieces.
    ("y = A[:,0]", "y[i] = A[i,0]"),
    ("y[i] = A[:,0]", "y[i] = A[i,0]"),
    ("y = A[1]", "y[i] = A[1,i]"),
    ("y = x[1:4]", "y[i] = x[i(1:4)]"),
    ("y = x[::2]", "y[i] = x[i(::2)]"),
    ("y[] = C[i][j]", "y[] = C[i,j]"),
    ("C[i][j] = A[i,j]", "C[i,j] = A[i,j]"),
    ("D[j,i] = A.T[j,i]", "D[j,i] = A[i,j]"),
    // Operators.
    ("y[i] = x[i] ** 2", "y[i] = pow(x[i], 2)"),
    ("y[i] = n[i] // 2", "y[i] = floordiv(n[i], 2)"),
    ("y[i] = x[i];", "y[i] = x[i]"),
    ("let y[i] = x[i]", "y[i] = x[i]"),
    ("y[i] = 2 x[i]", "y[i] = 2 * x[i]"),
    ("y[i] = 2. * x[i]", "y[i] = 2.0 * x[i]"),
    ("y[i] = .5 * x[i]", "y[i] = 0.5 * x[i]"),
    ("y[i] = x[i] x[i]", "y[i] = x[i] * x[i]"),
    ("y[i] = x[i] > 0 and x[i] < 1", "y[i] = x[i] > 0 && x[i] < 1"),
    ("y[i] = not x[i] > 0 or x[i] < 1", "y[i] = !(x[i] > 0) || x[i] < 1"),
    ("y[i] = x[i] if x[i] > 0 else 0", "y[i] = if x[i] > 0 then x[i] else 0"),
    ("y[i] = x[i] > 0 ? x[i] : 0", "y[i] = if x[i] > 0 then x[i] else 0"),
    ("y[i] = where(x[i] > 0, x[i], 0)", "y[i] = if x[i] > 0 then x[i] else 0"),
    ("y = np.where(x > 0, x, 0)", "y[i] = if x[i] > 0 then x[i] else 0"),
    ("y[i] = np.exp(x[i])", "y[i] = exp(x[i])"),
    ("y[i] = math.pi * x[i]", "y[i] = 3.141592653589793 * x[i]"),
    ("y[i] = np.clip(x[i], 0, 1)", "y[i] = min(max(x[i], 0), 1)"),
    ("z[i] -= A[i,j] * x[j]", "z[i] = z[i] - A[i,j] * x[j]"),
    ("z[i] *= 2.0", "z[i] = z[i] * 2.0"),
    ("y[i] = np.arctan2(x[i], 1.0)", "y[i] = atan2(x[i], 1.0)"),
];

#[test]
fn lines_are_shown_in_this_language() {
    let mut wrong = vec![];
    for (line, here) in LINES {
        let said = said(&format!("{TENSORS}{line}"));
        let helped: Vec<&str> = said.iter().filter_map(|d| d.help.as_deref()).collect();
        if said.len() != 1 || helped != [format!("here this line is `{here}`")] {
            wrong.push(format!("{line}\n  should be {here}\n  {said:?}"));
        }
        let (program, diagnostics) = parse(&format!("{TENSORS}{here}"));
        if !diagnostics.is_empty() {
            wrong.push(format!("{here}: {diagnostics:?}"));
        } else if let Err(said) = check(&program.expect("it parses"))
            && !matches!(&*said, [one] if one.message.contains("extent"))
        {
            wrong.push(format!("{here}: {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the checker says of names, and a part of its help.
const NAMES: &[(&str, &str)] = &[
    ("y[i] = clip(x[i], 0.0, 1.0)", "write min(max(x[i], 0.0), 1.0)"),
    ("y[i] = float(n[i])", "write convert(n[i], f64)"),
    ("y[i] = pi * x[i]", "write 3.141592653589793"),
    ("y[i] = alpha * x[i]", "write alpha[], and declare `tensor alpha: f64[]`"),
    ("y[i] = a * x[i]", "write a[]"),
    ("y[i] = x * x[i]", "write x[i]"),
    ("y[i] = x[i] ^ 2.0", "a power is pow(x[i], 2.0)"),
    ("s[] = sum(A)", "write sum(i, j: A[i,j])"),
    ("y[i] = sum(A[i,j] * x[j])", "write sum(i, j: A[i,j] * x[j])"),
    ("s[] = mean(x)", "write sum(i: x[i]) / convert(J, f64)"),
    ("s[] = mean(i: x[i])", "write sum(i: x[i]) / convert(J, f64)"),
    ("s[] = argmax(i: x[i])", "then min(i: if x[i] == m[] then i else J)"),
    ("y[i] = argmax(j: A[i,j])", "define `m[i] = max(j: A[i,j])` before, then min(j: if A[i,j] == m[i] then j else J)"),
    ("y[i] = count_nonzero(j: A[i,j])", "write count(j: A[i,j] != 0)"),
    ("s[] = ptp(i: x[i])", "write max(i: x[i]) - min(i: x[i])"),
    ("R[i,j] = tril(A[i,j])", "write mask(j <= i, A[i,j])"),
    ("s[] = trace(A)", "write sum(i: A[i,i])"),
    ("s[] = len(x)", "write J"),
    ("y[i] = any(j: A[i,j])", "a comparison, as `x[i] != 0`, says which are true"),
    ("y[i] = (x[i] > 1.0) * x[i]", "write convert(x[i] > 1.0, f64)"),
    ("tensor q: f64[I, J] lil", "there is `csr`"),
    ("tensor q: f64[I, J] dia", "there is `{dense, band}`"),
    ("s[] = norm(x)", "write sqrt(sum(i: x[i] * x[i]))"),
    ("y[i] = sigmoid(x[i])", "write 1.0 / (1.0 + exp(-(x[i])))"),
    ("y[i] = maximum(x[i], 0.0)", "there is `max`"),
    ("y[i/2] = x[i]", "`y[i/2] += x[i]`"),
    ("tensor q: f64[I, J] compressed", "a format has one a mode, {dense, compressed}"),
    ("y[] = x[-1]", "here this line is `y[] = x[J-1]`"),
    ("y[i] = x[i(0:2) + 1]", "`x[i(1:3)]` for `x[i(0:2) + 1]`"),
    ("for i in range(3):", "write the statement alone"),
    ("import numpy as np", "nothing is imported"),
    ("y[i] = x[i] between 2 and 3", "a[i] >= 2 && a[i] <= 7"),
];

#[test]
fn names_are_shown_in_this_language() {
    let mut wrong = vec![];
    for (line, help) in NAMES {
        let said = said(&format!("{TENSORS}tensor y: f64[I] dense\n{line}"));
        if !said.iter().any(|d| d.help.as_deref().is_some_and(|h| h.contains(help))) {
            wrong.push(format!("{line}\n  should be {help}\n  {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What can be meant in one way is taken.
#[test]
fn one_meaning_is_taken() {
    for line in [
        "s[] = x[J-1]",
        "y[i] = A[I-1-i, j] * x[j]",
        "w[j] = x[(j+1) % J]",
        "w[j] = x[J/2 - 1] + x[j]",
        "w[j] = x[n[j] - 1]",
        "w[j] = x[k[]]",
        "w[k[]] = 1.0",
        "w[k[] + 1] = 1.0",
        "w[J-1] = 1.0",
        "Q[i,i] = z[i]",
        "w[j] += x[n[j]*2 + 1]",
        "o[i,b] = p[i*4 + b] + q[i,b]",
        "tensor t: f64[J] compressed\ntensor u: f64[J] hashed",
    ] {
        let more = "tensor y: f64[I] dense\ntensor w: f64[J] dense\ntensor k: i32[] dense\ntensor Q: f64[I, I] dense\n\
            tensor p: f64[P] dense\ntensor q: f64[M, 4] dense\n";
        let said = said(&format!("{TENSORS}{more}{line}"));
        assert!(said.is_empty(), "{line}: {said:?}");
    }
}

/// Help is for lines that are not of this language: it says nothing of others that are wrong, and never panics.
#[test]
fn other_lines_have_other_help() {
    for line in
        ["y[i] = A[i,j] * * x[j]", "y[i] = (x[i]", "y[i] = x[i] +", "y[i = x[i]", "y[i] == x[i]", "tensor q f64[I]"]
    {
        let said = said(&format!("{TENSORS}{line}"));
        assert!(!said.is_empty(), "{line}");
        for d in &said {
            assert!(!d.help.as_deref().unwrap_or_default().contains("here this line is"), "{line}: {d:?}");
        }
    }
    for junk in [
        "@",
        "y = @",
        "= @ [",
        "y = A[[[[@",
        "y = ((((((@",
        "' ' '",
        "y = x.T.T.T[",
        "y = f(a=b=c)@",
        "x = 'a",
        "[:::]@",
    ] {
        drop(said(junk));
    }
    let deep = format!("y = {}x{} @ x", "(".repeat(300), ")".repeat(300));
    drop(said(&deep));
    drop(said(&format!("y = {}@", "x[".repeat(400))));
}
