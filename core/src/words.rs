//! Words that every module's messages have in common.

use std::fmt;

/// A number of things as a sentence says it: `1 mode`, `2 modes`.
///
/// ```
/// assert_eq!(fiberloom_core::counted(1, "mode", "modes"), "1 mode");
/// assert_eq!(fiberloom_core::counted(0, "entry", "entries"), "0 entries");
/// ```
pub fn counted(n: impl fmt::Display, one: &str, many: &str) -> String {
    let n = n.to_string();
    let things = if n == "1" { one } else { many };
    format!("{n} {things}")
}

/// The known name that is most likely meant by another: one that it begins with, or one that differs in few characters.
///
/// ```
/// assert_eq!(fiberloom_core::nearest("crs", ["dense", "csr", "csc"].into_iter()), Some("csr"));
/// assert_eq!(fiberloom_core::nearest("a", ["A", "x"].into_iter()), Some("A"));
/// ```
pub fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = |k: &'n str| {
        let far = match k {
            k if k.eq_ignore_ascii_case(name) => 0,
            k if k.len() > 2 && (name.starts_with(k) || k.starts_with(name) && name.len() > 2) => 1,
            k => distance(k, name),
        };
        (far <= k.len().div_ceil(3) && far < k.len().max(name.len())).then_some((far, k))
    };
    known.filter_map(near).min().map(|(_, k)| k)
}

/// Single-character changes, and exchanges of neighbours, between two names.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = rows[i][j] + (x != y) as usize;
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
