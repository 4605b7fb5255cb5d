//! Where sums stand, worked out by hand from the rule of `docs/language.md`.

use fiberloom_core::notation::syntax::{Item, Program};
use fiberloom_semantics::notation::einsum;

fn read(text: &str) -> Program {
    let (program, wrong) = fiberloom_front::parse(text);
    assert_eq!(wrong, [], "{text}");
    program.expect("nothing is wrong")
}

/// Each text, and the same with its sums written out.
const WRITTEN: [(&str, &str); 27] = [
    ("y[i] = A[i,j] * x[j] + b[i]", "y[i] = sum(j: A[i,j] * x[j]) + b[i]"),
    ("y[i] += A[i,j] - x[j]", "y[i] += sum(j: A[i,j]) - sum(j: x[j])"),
    ("y[i] = A[i,j] - (B[i,k] + c[i])", "y[i] = sum(j: A[i,j]) - (sum(k: B[i,k]) + c[i])"),
    // Anything but `+` and `-` is a term, whatever stands in it.
    ("y[i] = -(A[i,j] + b[i])", "y[i] = sum(j: -(A[i,j] + b[i]))"),
    ("y[i] = 2 * (A[i,j] + B[i,k])", "y[i] = sum(j, k: 2 * (A[i,j] + B[i,k]))"),
    ("y[i] = max(A[i,j] + b[i], 1)", "y[i] = sum(j: max(A[i,j] + b[i], 1))"),
    ("y[i] = if A[i,j] < 0 then b[i] else c[k]", "y[i] = sum(j, k: if A[i,j] < 0 then b[i] else c[k])"),
    // Variables are in the order of the right side, not of the term.
    ("s[] = A[i,j] + B[j,i]", "s[] = sum(i, j: A[i,j]) + sum(i, j: B[j,i])"),
    ("s[] = x[k] * A[i,j] - B[j,i]", "s[] = sum(k, i, j: x[k] * A[i,j]) - sum(i, j: B[j,i])"),
    // A name by itself is a variable if it is one elsewhere, else a size.
    ("y[i] = A[i,j] * j + j + n", "y[i] = sum(j: A[i,j] * j) + sum(j: j) + n"),
    ("y[i] = j * n", "y[i] = j * n"),
    ("s[] = j * i + A[i,j]", "s[] = sum(j, i: j * i) + sum(j, i: A[i,j])"),
    ("y[i] = A[i,j] / convert(J, f64)", "y[i] = sum(j: A[i,j] / convert(J, f64))"),
    ("y[i] = A[i,J] + J", "y[i] = sum(J: A[i,J]) + sum(J: J)"),
    ("y[i] = sum(J: A[i,J]) + J", "y[i] = sum(J: A[i,J]) + J"),
    // Reductions bind within their bodies, and not in what they start from.
    ("y[i] = x[k] * sum(j: A[i,j])", "y[i] = sum(k: x[k] * sum(j: A[i,j]))"),
    ("y[i] = prod(j: A[i,j] * x[k] start z[l])", "y[i] = sum(l, k: prod(j: A[i,j] * x[k] start z[l]))"),
    ("y[i] = count(j: A[i,j] > x[k])", "y[i] = sum(k: count(j: A[i,j] > x[k]))"),
    ("y[] = max(j: sum(i: A[i,j]))", "y[] = max(j: sum(i: A[i,j]))"),
    // Shape operators leave variables and bind others.
    ("y[i] = slice(A[i,j], j -> k, 1:N)", "y[i] = sum(k: slice(A[i,j], j -> k, 1:N))"),
    ("s[] = slice(A[i,j], j -> k, 0:3)", "s[] = sum(k, i: slice(A[i,j], j -> k, 0:3))"),
    ("y[k] = collapse(A[i,j] * x[l], (i,j) -> k)", "y[k] = sum(l: collapse(A[i,j] * x[l], (i,j) -> k))"),
    ("y[l] = split(a[i], i -> (k, l)) + b[l]", "y[l] = sum(k: split(a[i], i -> (k, l))) + b[l]"),
    (
        "y[i] = concat((A[i,j], B[i,k]), (j,k) -> l) * x[l]",
        "y[i] = sum(l: concat((A[i,j], B[i,k]), (j,k) -> l) * x[l])",
    ),
    // Every index counts: what is read in one, under `~`, of slices in place; bounds of slices are sizes.
    ("y[i] = A[P[e], i] + B[i(0:N), j(H:)]", "y[i] = sum(e: A[P[e], i]) + sum(j: B[i(0:N), j(H:)])"),
    ("h[P[e], 2*k + 1] += w[e] * x[k] * y[m]", "h[P[e], 2*k + 1] += sum(m: w[e] * x[k] * y[m])"),
    ("y[i(1:4)] = coalesce(a[~(i + 2*(j - k))], 0)", "y[i(1:4)] = sum(j, k: coalesce(a[~(i + 2*(j - k))], 0))"),
];

#[test]
fn sums_stand_where_the_rule_says() {
    for (short, written) in WRITTEN {
        assert_eq!(einsum::explicit(&read(short)), read(written), "{short}");
        assert_eq!(einsum::explicit(&read(written)), read(written), "{written}: every sum is written already");
    }
}

#[test]
fn sizes_in_indices_are_sizes() {
    let declared = "tensor x: f64[N]\ntensor A: f64[I, N]\ndim K = 3\n";
    for (short, written) in [
        ("y[] = x[N-1] + x[i]", "y[] = x[N-1] + sum(i: x[i])"),
        ("y[] = A[I-1-i, j] * A[i,j]", "y[] = sum(i, j: A[I-1-i, j] * A[i,j])"),
        ("y[] = A[i, K+1] + A[i, N/2]", "y[] = sum(i: A[i, K+1]) + sum(i: A[i, N/2])"),
        // Where the name stands alone, in whatever index, it is an index variable.
        ("y[] = x[N-1] * x[N]", "y[] = sum(N: x[N-1] * x[N])"),
        ("y[N] = A[i, N+1]", "y[N] = sum(i: A[i, N+1])"),
        ("y[] = x[N(0:2)] * x[N+1]", "y[] = sum(N: x[N(0:2)] * x[N+1])"),
        ("y[] = x[M-1]", "y[] = sum(M: x[M-1])"),
    ] {
        let (short, written) = [short, written].map(|text| read(&format!("{declared}{text}"))).into();
        assert_eq!(einsum::explicit(&short), written, "{short}");
    }
}

#[test]
fn statements_of_blocks_are_statements() {
    let short = "repeat 3 { while e[] > A[] { t[i] = A[i,j] } x[i] = y[j] }\ny[i] = b[i] where { b[i] = c[i,j] where { c[i,j] = d[i,j,k] } }";
    let written = "repeat 3 { while e[] > A[] { t[i] = sum(j: A[i,j]) } x[i] = sum(j: y[j]) }
        y[i] = b[i] where { b[i] = sum(j: c[i,j]) where { c[i,j] = sum(k: d[i,j,k]) } }";
    assert_eq!(einsum::explicit(&read(short)), read(written));
}

#[test]
fn other_folds_are_over_all_that_is_absent() {
    let folds = [
        ("m[i] max= A[i,j] + B[k,i] * j", "i | j k"),
        ("m[] prod= slice(A[i,j], j -> k, 0:3)", " | k i"),
        ("m[P[e], l] f= w[e] + sum(j: A[j,l])", "e l | "),
        ("m[i] min= a[i] + n", "i | "),
    ];
    for (text, names) in folds {
        let program = read(text);
        assert_eq!(einsum::explicit(&program), program, "{text}");
        let [Item::Statement(s)] = &program.items[..] else { panic!("{text}: one statement") };
        let words = |all: Vec<_>| all.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(
            format!(
                "{} | {}",
                words(einsum::left(s, &einsum::sizes(&program))),
                words(einsum::absent(s, &einsum::sizes(&program)))
            ),
            names,
            "{text}"
        );
    }
}
