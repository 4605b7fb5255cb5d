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
