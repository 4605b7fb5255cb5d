//! Plans without needless copies: over all pairs of formats, what is stored in the order of the loops is read where it is.
//!
//! ```text
//!  A, B in any levels, rows before columns ──▶ copies, sums, products: no temporary
//!                                              A·x, A·B              : at most x, or B's rows, laid where they are asked
//!  A in columns before rows                ──▶ a sum with the others : one, for A
//! ```
//!
//! Answers would be right either way, and slow. Temporaries are counted in the concrete notation.

use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::concrete;
use fiberloom_loops::Options;
use fiberloom_lower::lower;
use fiberloom_passes::check::check;

/// The temporaries of a program, by name.
fn temporaries(text: &str) -> Vec<String> {
    let (program, errors) = fiberloom_front::parse(text);
    let typed = check(&program.filter(|_| errors.is_empty()).expect(text)).expect(text);
    let lowered = lower(&typed, &Options::default()).unwrap_or_else(|e| panic!("{}\n{text}", e[0].message));
    let made = lowered.concrete.tensors.into_iter().filter(|t| t.role == concrete::Role::Temporary);
    made.map(|t| t.name).collect()
}

/// All levels of a square matrix, as they stand in a declaration.
fn matrices(result: bool) -> Vec<String> {
    let kinds = LevelKind::ALL.into_iter().filter(|k| !result || *k != LevelKind::Function);
    let below = |outer: &LevelKind, inner: &LevelKind| match inner {
        LevelKind::Singleton => *outer == LevelKind::Nonunique,
        k if k.is_triangle() => *outer == LevelKind::Dense,
        _ => true,
    };
    let first = kinds.clone().filter(|k| *k != LevelKind::Singleton && !k.is_triangle());
    let pairs = first.flat_map(|outer| kinds.clone().map(move |inner| (outer, inner)));
    pairs.filter(|(a, b)| below(a, b)).map(|(a, b)| format!("{{{}, {}}}", a.name(), b.name())).collect()
}

fn vectors() -> Vec<&'static str> {
    let alone = |k: &LevelKind| !k.is_triangle() && *k != LevelKind::Singleton;
    LevelKind::ALL.into_iter().filter(alone).map(LevelKind::name).collect()
}

/// Of the pairs of these, one in so many: each meets every few of the others.
fn pairs<'a>(a: &'a [String], b: &'a [String], one_in: usize) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = a.iter().enumerate().flat_map(move |(n, a)| b.iter().enumerate().map(move |(m, b)| (5 * n + m, a, b)));
    all.filter(move |(n, ..)| n.is_multiple_of(one_in)).map(|(_, a, b)| (a.as_str(), b.as_str()))
}

/// That none of at least so many programs makes a temporary but under one of these names.
fn none_makes_one(least: usize, but: &[&str], texts: impl Iterator<Item = String>) {
    let mut all = 0;
    for text in texts {
        all += 1;
        let made = temporaries(&text);
        assert!(made.iter().all(|name| but.contains(&name.as_str())), "{made:?}: {text}");
    }
    assert!(all >= least, "only {all} programs");
}

#[test]
fn copies_are_made_in_one_walk() {
    let (from, to) = (matrices(false), matrices(true));
    let text = |(a, r)| format!("tensor A: i64[I, I] {a}\ntensor R: i64[I, I] {r}\nR[i,j] = A[i,j]");
    none_makes_one(1000, &[], pairs(&from, &to, 17).map(text));
}

#[test]
fn sums_and_products_of_rows_are_made_in_one_walk() {
    let all = matrices(false);
    let text = |op: &'static str, r: &'static str| {
        move |(a, b)| {
            format!(
                "tensor A: i64[I, I] {a}\ntensor B: i64[I, I] {b}\ntensor R: i64[I, I] {r}\nR[i,j] = A[i,j] {op} B[i,j]"
            )
        }
    };
    none_makes_one(500, &[], pairs(&all, &all, 37).map(text("+", "dense")));
    none_makes_one(500, &[], pairs(&all, &all, 37).map(text("*", "csr")));
}

/// A list that the loop over rows does not move, of B's rows or of a vector's entries, may be laid where its coordinates say, once:
/// then it is asked. It is turned around by nothing.
#[test]
fn matrices_and_vectors_are_read_row_by_row() {
    let all = matrices(false);
    let vectors: Vec<String> = vectors().into_iter().map(|k| format!("{{{k}}}")).collect();
    let matrix = |(a, b)| {
        format!("tensor A: i64[I, I] {a}\ntensor B: i64[I, I] {b}\ntensor R: i64[I, I] dense\nR[i,j] = A[i,k] * B[k,j]")
    };
    let vector =
        |(a, x)| format!("tensor A: i64[I, I] {a}\ntensor x: i64[I] {x}\ntensor y: i64[I] dense\ny[i] = A[i,j] * x[j]");
    none_makes_one(500, &["B_w"], pairs(&all, &all, 37).map(matrix));
    none_makes_one(500, &["x_w"], pairs(&all, &vectors, 3).map(vector));
}

/// Columns before rows are turned around, once, where a list cannot be asked.
#[test]
fn what_stands_in_another_order_is_copied_once() {
    let text = "tensor A: i64[I, J] csc\ntensor B: i64[I, J] csr\ntensor R: i64[I, J] csr\nR[i,j] = A[i,j] + B[i,j]";
    assert_eq!(temporaries(text).len(), 1, "{text}");
    assert!(temporaries(&text.replace("csc", "{dense, dense} order(1, 0)")).is_empty());
}
