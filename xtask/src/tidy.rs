//! Holds the code to the documents.
//!
//! * the nine nouns: `core/src/N/` exists for each, and no crate has a module of another crate's making in its place;
//! * the arrows: each crate depends on those alone that `docs/architecture.md` allows;
//! * paths: every path that a document names in backquotes exists;
//! * heads: every module begins with what it is (`//!`);
//! * files stay readable: none of more than [`LONGEST_FILE`] lines.

use std::fs;
use std::path::{Path, PathBuf};

/// The nouns, in the order in which data flows.
const NOUNS: [&str; 9] =
    ["algebra", "shape", "format", "notation", "schedule", "iteration", "stream", "looplet", "loops"];

/// Each crate's folder, and the crates of this workspace that it may depend on.
const ARROWS: [(&str, &[&str]); 9] = [
    ("core", &[]),
    ("semantics", &["core"]),
    ("codegen", &["core"]),
    ("front", &["core"]),
    ("fiberloom", &["core", "semantics", "codegen", "front"]),
    ("fuzz/check", &["core", "semantics", "codegen", "front", "fiberloom"]),
    ("proofs", &["core"]),
    ("tests", &["core", "semantics", "codegen", "front", "fiberloom", "check"]),
    ("bench", &["core", "fiberloom"]),
];

/// Lines of the longest source file that is allowed.
const LONGEST_FILE: usize = 700;

/// Every violation, at once.
pub fn tidy(root: &Path) -> Result<(), String> {
    let mut wrong = Vec::new();
    nouns(root, &mut wrong);
    arrows(root, &mut wrong);
    paths(root, &mut wrong);
    sources(root, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(format!("{} things are untidy:\n  {}", wrong.len(), wrong.join("\n  "))) }
}

fn nouns(root: &Path, wrong: &mut Vec<String>) {
    for noun in NOUNS {
        if !root.join("core/src").join(noun).is_dir() {
            wrong.push(format!("core/src/{noun} is missing: every noun has its folder"));
        }
    }
    let lib = fs::read_to_string(root.join("core/src/lib.rs")).unwrap_or_default();
    for module in lib.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';')) {
        if !NOUNS.contains(&module) {
            wrong.push(format!("core/src/lib.rs: `{module}` is none of the nine nouns"));
        }
    }
}

fn arrows(root: &Path, wrong: &mut Vec<String>) {
    for (folder, allowed) in ARROWS {
        let manifest = root.join(folder).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            wrong.push(format!("{folder}/Cargo.toml is missing"));
            continue;
        };
        for line in text.lines().filter(|l| !l.starts_with("name")) {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let other = name.strip_prefix("fiberloom-").or((name == "fiberloom").then_some("fiberloom"));
            if let Some(other) = other.filter(|o| !allowed.contains(o)) {
                wrong.push(format!("{folder}/Cargo.toml: {folder} may not depend on {other}"));
            }
        }
    }
}

/// Backquoted words of documents that look like paths of this repository exist.
fn paths(root: &Path, wrong: &mut Vec<String>) {
    let mut documents = vec![root.join("README.md"), root.join("proofs/README.md")];
    documents.extend(files(&root.join("docs"), "md"));
    for document in documents {
        let Ok(text) = fs::read_to_string(&document) else {
            wrong.push(format!("{} is missing", document.display()));
            continue;
        };
        for (n, line) in text.lines().enumerate() {
            for word in line.split('`').skip(1).step_by(2) {
                let is_path = word.contains('/')
                    && !word.contains([' ', '*', '<', '(', '=', '|', '…', '{', '~', '%'])
                    && root.join(word.split('/').next().unwrap_or_default()).is_dir();
                if is_path && !root.join(word).exists() {
                    wrong.push(format!("{}:{}: there is no `{word}`", document.display(), n + 1));
                }
            }
        }
    }
}

fn sources(root: &Path, wrong: &mut Vec<String>) {
    for folder in ["core", "semantics", "codegen", "front", "fiberloom", "fuzz", "proofs", "tests", "bench", "xtask"] {
        for file in files(&root.join(folder), "rs") {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let shown = file.strip_prefix(root).unwrap_or(&file).display();
            if !text.starts_with("//!") && !text.starts_with("#!") {
                wrong.push(format!("{shown}: begins without saying what it is (`//!`)"));
            }
            if text.lines().count() > LONGEST_FILE {
                wrong.push(format!("{shown}: more than {LONGEST_FILE} lines"));
            }
        }
    }
}

/// Files with an extension below a folder, build outputs left out.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_workspace_is_tidy() {
        super::tidy(&crate::root()).unwrap_or_else(|e| panic!("{e}"));
    }
}
