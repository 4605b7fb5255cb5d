//! A copy of the workspace in which every mistake can be switched on.
//!
//! ```text
//!  a + b   ─▶   (if fiberloom_core::mutation::on(17) { a - b } else { a + b })       an expression
//!  s;      ─▶   if fiberloom_core::mutation::on(18) { } else { s; }                  statements
//! ```

use super::attack::{FILES, OWN, PRINTS};
use super::list::Mistake;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the copy stands.
pub const COPY: &str = "target/mutants/copy";

/// The environment variable that says which mistake is made.
pub const SWITCH: &str = "FIBERLOOM_MUTATION";

/// The module that the copy's core has, and no other.
const MODULE: &str = include_str!("switch.rs");

/// Writes the copy; the mistakes with their numbers, from 1.
///
/// # Errors
/// If an original does not stand where it should, or files cannot be read or written.
pub fn copy(all: &[Mistake]) -> Result<Vec<(u32, &Mistake)>, String> {
    let numbered: Vec<(u32, &Mistake)> = (1..).zip(all).collect();
    let mut of: BTreeMap<&Path, Vec<(u32, &Mistake)>> = BTreeMap::new();
    for (n, mistake) in &numbered {
        of.entry(&mistake.file).or_default().push((*n, mistake));
    }
    let mut kept: Vec<PathBuf> = Vec::new();
    for file in tracked()? {
        let Ok(mut bytes) = std::fs::read(&file) else { continue }; // Tracked, and deleted by now.
        if let Some(mistakes) = of.get(file.as_path()) {
            let text = String::from_utf8(bytes).map_err(|_| format!("{}: no text", file.display()))?;
            bytes = weave(&text, mistakes)?.into_bytes();
        }
        if file == Path::new("core/src/lib.rs") {
            // The same path names the switch in every crate.
            bytes.extend(b"\n#[doc(hidden)]\npub mod mutation;\nextern crate self as fiberloom_core;\n");
        }
        write(&file, &bytes)?;
        kept.push(file);
    }
    write(Path::new("core/src/mutation.rs"), MODULE.as_bytes())?;
    match of.keys().find(|file| !kept.iter().any(|k| k == **file)) {
        Some(missing) => Err(format!("{}: is no tracked file", missing.display())),
        None => Ok(numbered),
    }
}

fn tracked() -> Result<Vec<PathBuf>, String> {
    let output = Command::new("git").args(["ls-files", "-z"]).output().map_err(|e| format!("git ls-files: {e}"))?;
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(names.split('\0').filter(|n| !n.is_empty()).map(PathBuf::from).collect())
}

/// Who may notice another thing, or take another time, when a file of the copy changes; `None`: all.
fn concerned(file: &Path) -> Option<Vec<&'static str>> {
    let is = |kind: &str| file.extension().is_some_and(|e| e == kind);
    if is("md") || file.starts_with("xtask") || file == Path::new(super::before::FILE) {
        return Some(vec![]);
    }
    if file.starts_with(super::LISTS) || file.starts_with("tests") && (is("loom") || is("tns")) {
        return Some(vec![OWN, FILES, PRINTS]);
    }
    let asked = super::attack::made_of(file);
    (!asked.is_empty()).then(|| asked.into_iter().chain([OWN]).collect())
}

/// Writes a file of the copy unless it says the same already, so that cargo sees what changed.
fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let to = Path::new(COPY).join(file);
    if std::fs::read(&to).is_ok_and(|before| before == bytes) {
        return Ok(());
    }
    let wrong = |e: std::io::Error| format!("{}: {e}", to.display());
    let concerned = concerned(file);
    super::attack::forget_sound(concerned.as_deref());
    super::known::forget_vain(concerned.as_deref());
    std::fs::create_dir_all(to.parent().expect("it stands in the copy")).map_err(wrong)?;
    std::fs::write(&to, bytes).map_err(wrong)
}

/// A file's text with its mistakes beside their originals.
fn weave(text: &str, mistakes: &[(u32, &Mistake)]) -> Result<String, String> {
    let mut at: BTreeMap<(usize, usize), Vec<(u32, &Mistake)>> = BTreeMap::new();
    for (n, mistake) in mistakes {
        let Range { start, end } = mistake.place(text)?;
        at.entry((start, end)).or_default().push((*n, mistake));
    }
    let (mut woven, mut from) = (String::new(), 0);
    for ((start, end), mistakes) in at {
        if start < from {
            return Err(format!("\"{}\" overlaps the one before it", mistakes[0].1.name));
        }
        if mistakes[0].1.is_statement() && !begins(&text[..start], &text[start..end]) {
            return Err(format!("the original of \"{}\" is the end of a statement", mistakes[0].1.name));
        }
        if text[..start].ends_with('.') && !text[..start].ends_with("..") {
            return Err(format!(
                "the original of \"{}\" is a field or a method of what stands before it",
                mistakes[0].1.name
            ));
        }
        woven += &text[from..start];
        woven += &choice(&text[start..end], &mistakes);
        from = end;
    }
    // What stands beside a mistake may be in vain.
    Ok(format!("#![allow(warnings)] {woven}{}", &text[from..]))
}

/// Whether statements begin where an original does: what ends with `;` is put into braces with it.
fn begins(before: &str, original: &str) -> bool {
    let before = before.trim_end();
    let line = before.rsplit('\n').next().unwrap_or_default();
    !original.ends_with(';') || before.ends_with([';', '{', '}']) || line.trim_start().starts_with("//")
}

/// The original, or one of its mistakes.
fn choice(original: &str, mistakes: &[(u32, &Mistake)]) -> String {
    let begin = |(n, m): &(u32, &Mistake)| format!("if fiberloom_core::mutation::on({n}) {{ {} }} else ", m.mistaken);
    let chosen = mistakes.iter().map(begin).collect::<String>() + "{ " + original + " }";
    if mistakes[0].1.is_statement() { chosen } else { format!("({chosen})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// An expression with the `;` behind it is no statement.
    #[test]
    fn statements_are_whole() {
        let text = "fn f() {\n    let a = g();\n    // Why.\n    h();\n    a.b + 0..a;\n}\n";
        let list =
            |original: &str| super::super::list::read_list("s", &format!("file a\n\nname\n- {original}\n")).unwrap();
        let woven = |original: &str| weave(text, &[(1, &list(original)[0])]);
        assert!(woven("g();").unwrap_err().contains("is the end of a statement"));
        assert!(woven("h();").unwrap().contains("on(1) {  } else { h(); }"));
        assert!(woven("g()").unwrap().contains("let a = (if"));
        assert!(woven("b").unwrap_err().contains("is a field or a method"));
        assert!(woven("a.b").is_ok());
    }

    /// All mistakes stand beside their originals at once: no two originals overlap, unless they are the same.
    #[test]
    fn every_list_is_woven() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the repository");
        let all = super::super::list::read(&root.join(super::super::LISTS)).unwrap();
        let files: BTreeSet<&Path> = all.iter().map(|m| m.file.as_path()).collect();
        for file in files {
            let mistakes: Vec<(u32, &Mistake)> = (1..).zip(&all).filter(|(_, m)| m.file == file).collect();
            let text = std::fs::read_to_string(root.join(file)).unwrap();
            weave(&text, &mistakes).unwrap_or_else(|wrong| panic!("{}: {wrong}", file.display()));
        }
    }
}
