//! Programs that tests read.

use fiberloom_core::notation::typed;
use fiberloom_passes::check::check;
use std::path::{Path, PathBuf};

/// The checked program of a text, if it is one.
pub fn typed(text: &str) -> Option<typed::Program> {
    let (program, errors) = fiberloom_front::parse(text);
    check(&program.filter(|_| errors.is_empty())?).ok()
}

/// The texts of all programs of the repository's tests and examples, each with its path.
pub fn texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    ["tests", "examples"].iter().for_each(|folder| programs(&root.join(folder), &mut found));
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("a text"))).collect()
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("readable").path();
        match path.is_dir() {
            true => programs(&path, found),
            false if path.extension().is_some_and(|e| e == "loom") => found.push(path),
            false => {}
        }
    }
}
