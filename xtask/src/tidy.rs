//! `cargo xtask tidy`, also a test: the code held to what `docs/architecture.md` says about it.
//!
//! ```text
//!  mirror      each noun has its room; tests hold nouns, and little else; which rooms are empty, a table says
//!  arrows      each crate depends on those below it only
//!  circles     each module of `core` and of `passes` imports those before it only
//!  ignorance   what decides takes nothing of what is emitted
//!  values      what is planned is a value: the planner has no state beside it
//!  paths       a path that a document names exists
//!  headers     each module begins with `//!`
//!  words       no `Manager`, `Helper`, `Impl`, `util`; nothing unfinished
//!  lengths     reported; past the ceiling they fail
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The nine nouns, in the order in which data flows.
const NOUNS: [&str; 9] =
    ["algebra", "shape", "format", "notation", "schedule", "iteration", "stream", "looplet", "loops"];

/// Each noun's room.
const ROOMS: [&str; 9] = [
    "core/src/algebra/mod.rs",
    "core/src/shape/mod.rs",
    "core/src/format/mod.rs",
    "core/src/notation/mod.rs",
    "passes/src/schedule/mod.rs",
    "core/src/iteration/mod.rs",
    "loops/src/stream/mod.rs",
    "core/src/looplet/mod.rs",
    "loops/src/lib.rs",
];

/// The modules of a crate, by its sources: each imports those before it only, but in tests. `lib` has them all.
const MODULES: [(&str, &[&str]); 2] = [
    (
        "core/src/",
        &[
            "words",
            "stack",
            "parallel",
            "algebra",
            "map",
            "looplet",
            "format",
            "text",
            "notation",
            "shape",
            "iteration",
        ],
    ),
    ("passes/src/", &["schedule", "check", "gradient", "concretize"]),
];

/// Each crate's folder, its name, and the workspace's crates that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("passes", &["fiberloom-core"]),
    ("loops", &["fiberloom-core"]),
    ("lower", &["fiberloom-core", "fiberloom-passes", "fiberloom-loops"]),
    ("front", &["fiberloom-core"]),
    ("semantics", &["fiberloom-core", "fiberloom-loops"]),
    ("codegen", &["fiberloom-core", "fiberloom-loops"]),
    ("data", &["fiberloom-core", "fiberloom-front"]),
    ("relation", &["fiberloom-core", "fiberloom-passes", "fiberloom-data"]),
    (
        "fiberloom",
        &[
            "fiberloom-core",
            "fiberloom-passes",
            "fiberloom-loops",
            "fiberloom-lower",
            "fiberloom-front",
            "fiberloom-data",
            "fiberloom-relation",
            "fiberloom-semantics",
            "fiberloom-codegen",
        ],
    ),
    (
        "fuzz/check",
        &[
            "fiberloom-core",
            "fiberloom-passes",
            "fiberloom-loops",
            "fiberloom-lower",
            "fiberloom-front",
            "fiberloom-semantics",
            "fiberloom-codegen",
            "fiberloom",
        ],
    ),
    ("proofs", &["fiberloom-core", "fiberloom-passes", "fiberloom-loops", "fiberloom-lower", "fiberloom-semantics"]),
    (
        "proofs/smt",
        &[
            "fiberloom-core",
            "fiberloom-loops",
            "fiberloom-lower",
            "fiberloom-semantics",
            "fiberloom",
            "fiberloom-check",
            "fiberloom-proofs",
            "fiberloom-tests",
        ],
    ),
    ("proofs/threads", &["fiberloom-core", "fiberloom-loops"]),
    ("tests", &["fiberloom-core", "fiberloom-front", "fiberloom-semantics", "fiberloom", "fiberloom-check"]),
    ("bench", &["fiberloom-core", "fiberloom"]),
    ("python", &["fiberloom", "fiberloom-core", "fiberloom-passes", "fiberloom-front"]),
    ("play", &["fiberloom", "fiberloom-core", "fiberloom-front"]),
    ("xtask", &[]),
];

/// Folders whose files take nothing of these names, by import or by path.
const IGNORANT: &[(&str, &[&str])] =
    &[("loops/src/choose/", &EMISSION), ("loops/src/planner/", &EMISSION), ("loops/src/lower/", &["planner"])];

/// Folders in which files take of files beside them in one direction.
const LAYERED: [&str; 4] = ["passes/src/concretize", "loops/src/choose", "loops/src/lower", "loops/src/planner"];

/// The names that code which emits loops uses.
const EMISSION: [&str; 12] = [
    "lower",
    "arith",
    "Expr",
    "Term",
    "Symbolic",
    "Stmt",
    "Var",
    "Buffer",
    "BufferId",
    "LevelBuffers",
    "Entry",
    "Kernel",
];

/// The page that the code is held to.
const ARCHITECTURE: &str = "docs/architecture.md";

/// Folders with a room for each noun.
const MIRRORED: [&str; 4] = ["semantics/src", "fuzz/check/src", "proofs/src", "tests"];

/// Folders of `tests/` that are no noun.
const OTHER_TESTS: [&str; 7] = ["src", "errors", "issues", "gradients", "plans", "conformance", "data"];

/// Lines of a file, and of a function, beyond which nobody reads them; far above what is usual here.
const LONGEST_FILE: usize = 1000;
const LONGEST_FUNCTION: usize = 150;

/// What the checks found.
#[derive(Default)]
pub struct Tidied {
    /// Number of facts that were checked.
    pub checked: u64,
    /// What is wrong: a place and what to change.
    pub wrong: Vec<String>,
    /// Worth knowing, and not wrong.
    notes: Vec<String>,
}

impl Tidied {
    /// Prints all of it.
    pub fn print(&self) {
        self.notes.iter().for_each(|n| println!("{n}"));
        self.wrong.iter().for_each(|w| println!("untidy: {w}"));
        println!("{} looked at, {} untidy", self.checked, self.wrong.len());
    }

    fn expect(&mut self, fine: bool, otherwise: impl FnOnce() -> String) {
        self.checked += 1;
        if !fine {
            self.wrong.push(otherwise());
        }
    }
}

/// The command.
///
/// # Errors
/// If anything is untidy.
pub fn command() -> Result<(), String> {
    let tidied = check();
    tidied.print();
    if tidied.wrong.is_empty() { Ok(()) } else { Err("untidy".to_string()) }
}

/// Looks at everything. The current directory is the repository's root.
pub fn check() -> Tidied {
    let mut tidied = Tidied::default();
    mirror(&mut tidied);
    ARROWS.iter().for_each(|(folder, below)| arrows(folder, below, &mut tidied));
    documents().iter().for_each(|d| paths(d, &mut tidied));
    let mut lengths = Vec::new();
    for file in rust_files() {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let name = file.display().to_string();
        tidied.expect(text.starts_with("//!"), || format!("{name}:1: a module begins with `//!`: what it is"));
        words(&name, &text, &mut tidied);
        circles(&name, &text, &mut tidied);
        ignorance(&name, &text, &mut tidied);
        values(&name, &text, &mut tidied);
        lengths.push((text.lines().count(), longest_function(&text), name));
    }
    report_lengths(lengths, &mut tidied);
    LAYERED.iter().for_each(|folder| {
        let files = rust_files().into_iter().filter(|file| file.parent() == Some(Path::new(folder)));
        let texts = files.map(|file| {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&file).unwrap_or_default())
        });
        let circle = in_a_circle(texts.collect());
        tidied.expect(circle.is_empty(), || format!("{folder}: of {} some take of one another", circle.join(", ")));
    });
    tidied
}

/// The files, by name, that take of themselves by way of others beside them, and those above these.
fn in_a_circle(texts: BTreeMap<String, String>) -> Vec<String> {
    let taken = |(name, text): (&String, &String)| {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let names = code.split("super::").skip(1).flat_map(first_names);
        let beside = names.filter(|n| *n != name && *n != "mod" && texts.contains_key(*n));
        (name.clone(), beside.map(str::to_string).collect::<BTreeSet<_>>())
    };
    let mut left: BTreeMap<String, BTreeSet<String>> =
        texts.iter().filter(|(name, _)| *name != "mod").map(taken).collect();
    while let Some(lowest) = left.iter().find(|(_, below)| below.is_empty()).map(|(name, _)| name.clone()) {
        left.remove(&lowest);
        for below in left.values_mut() {
            below.remove(&lowest);
        }
    }
    left.into_keys().collect()
}

fn mirror(tidied: &mut Tidied) {
    for (noun, room) in NOUNS.iter().zip(ROOMS) {
        tidied.expect(Path::new(room).exists(), || format!("{room}: missing; it says what {noun} is"));
    }
    for folder in folders("tests") {
        let known = NOUNS.contains(&&*folder) || OTHER_TESTS.contains(&&*folder);
        tidied.expect(known, || format!("tests/{folder}: is none of the nine nouns, nor of {OTHER_TESTS:?}"));
    }
    let page = std::fs::read_to_string(ARCHITECTURE).unwrap_or_default();
    for folder in MIRRORED {
        let row = rooms(folder);
        tidied.expect(page.contains(&row), || format!("{ARCHITECTURE}: the nine nouns: a line should be `{row}`"));
        tidied.notes.push(row);
    }
}

/// A folder's row in the table of the mirror: the nouns that it has a module or a folder for, and those that it has not.
fn rooms(folder: &str) -> String {
    let there = |n: &&str| {
        let path = Path::new(folder).join(n);
        path.with_extension("rs").exists() || path.is_dir()
    };
    let (has, empty): (Vec<&str>, Vec<&str>) = NOUNS.iter().partition(|n| there(n));
    let cell = |nouns: Vec<&str>| nouns.into_iter().map(|n| format!(" {n}")).collect::<String>();
    format!("| `{folder}/` |{} |{} |", cell(has), cell(empty))
}

/// Names of the folders in a folder.
fn folders(path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n != "target")
        .collect();
    names.sort();
    names
}

/// Reads a file of a crate with ordered modules: what it imports of the crate stands in a module before its own. What is behind `#[cfg(test)]` may import
/// everything.
fn circles(name: &str, text: &str, tidied: &mut Tidied) {
    let found = MODULES.iter().find_map(|(folder, modules)| Some((folder, modules, name.strip_prefix(folder)?)));
    let Some((folder, modules, path)) = found.filter(|(_, _, path)| *path != "lib.rs" && !path.contains("tests"))
    else {
        return;
    };
    let own = path.split(['/', '.']).next().unwrap_or_default();
    let place = modules.iter().position(|module| *module == own);
    tidied.expect(place.is_some(), || {
        format!("{name}: `{own}` is not among the modules of {folder} (xtask/src/tidy.rs)")
    });
    let compiled = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    for (number, line) in compiled.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for imported in line.split("crate::").skip(1).map(|rest| rest.split(|c: char| !is_word(c)).next().unwrap_or(""))
        {
            let before = modules.iter().position(|module| *module == imported).is_some_and(|at| Some(at) <= place);
            tidied.expect(before, || {
                format!("{name}:{}: `{own}` imports `{imported}`, which is no module before it", number + 1)
            });
        }
    }
}

/// What a file takes from `loops`: none of the names that its folder is not to know.
fn ignorance(name: &str, text: &str, tidied: &mut Tidied) {
    let Some((_, unknown)) = IGNORANT.iter().find(|(folder, _)| name.starts_with(folder)) else { return };
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let above = if name.ends_with("/mod.rs") { "super::" } else { "super::super::" };
    let taken = ["crate::", above].into_iter().flat_map(|path| code.split(path).skip(1)).flat_map(first_names);
    for taken in taken {
        let message = || format!("{name}: takes `{taken}` of `loops`, which this folder is not to know");
        tidied.expect(!unknown.contains(&taken), message);
    }
}

/// State that planning changes beside what it makes: none.
fn values(name: &str, text: &str, tidied: &mut Tidied) {
    if name.starts_with("loops/src/plan") {
        let state = ["Cell<", "Cell::", "Mutex<"].iter().any(|cell| text.contains(cell));
        tidied.expect(!state, || format!("{name}: what is planned is a value, and nothing beside it changes"));
    }
}

/// The first names of the paths in what follows `::`: one, or those of a list in braces.
fn first_names(after: &str) -> Vec<&str> {
    let first = |path: &'_ str| path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    let Some(list) = after.strip_prefix('{') else { return vec![&after[..first(after)]] };
    let deeper = |c: char| i32::from(c == '{') - i32::from(c == '}');
    let mut depth = 0;
    let end = list.find(|c| {
        depth += deeper(c);
        depth < 0
    });
    let mut depth = 0;
    let paths = list[..end.unwrap_or(list.len())].split(|c| {
        depth += deeper(c);
        c == ',' && depth == 0
    });
    paths.map(str::trim).map(|path| &path[..first(path)]).collect()
}

/// Whether a letter may stand in the name of a module.
fn is_word(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_'
}

/// Reads a crate's manifest: each dependency on a crate of this workspace is an allowed one.
fn arrows(folder: &str, below: &[&str], tidied: &mut Tidied) {
    let manifest = Path::new(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap_or_default();
    tidied.expect(!text.is_empty(), || format!("{}: missing", manifest.display()));
    let mut section = "";
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
            continue;
        }
        // What a crate's tests depend on is no arrow: `fiberloom` may test with whatever tests `fiberloom`.
        let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
        if section.ends_with("dependencies") && !section.contains("dev-") && name.starts_with("fiberloom") {
            let place = format!("{}:{}", manifest.display(), number + 1);
            tidied.expect(below.contains(&name), || {
                format!("{place}: depends on {name}; allowed are {below:?} ({ARCHITECTURE}, the arrows)")
            });
        }
    }
}

fn documents() -> Vec<PathBuf> {
    let mut documents = ["README.md", "proofs/README.md", "bench/README.md"].map(PathBuf::from).to_vec();
    documents.extend(files_under(Path::new("docs"), "md"));
    documents
}

/// Every word in backticks that is a path into the repository names something that exists.
fn paths(document: &Path, tidied: &mut Tidied) {
    let text = std::fs::read_to_string(document).unwrap_or_default();
    tidied.expect(!text.is_empty(), || format!("{}: missing", document.display()));
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for word in line.split('`').skip(1).step_by(2).filter(|w| is_path(w)) {
            tidied.expect(Path::new(word).exists(), || {
                format!("{}:{}: `{word}` does not exist", document.display(), number + 1)
            });
        }
    }
}

/// Whether a word in backticks is a path from the repository's root: its first part is there, and no part of it stands
/// for something else.
fn is_path(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    let first = word.split('/').next().unwrap_or_default();
    let part = word.split('/').any(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_uppercase()));
    plain && word.contains('/') && !part && !first.is_empty() && first != "target" && Path::new(first).exists()
}

/// All Rust files of the workspace.
fn rust_files() -> Vec<PathBuf> {
    let mut files = files_under(Path::new("fuzz/fuzz_targets"), "rs");
    for (folder, _) in ARROWS {
        files.extend(files_under(Path::new(folder), "rs"));
    }
    files.sort();
    files.dedup();
    files
}

fn files_under(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|n| n != "target") {
            files.extend(files_under(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn words(name: &str, text: &str, tidied: &mut Tidied) {
    if name == "xtask/src/tidy.rs" {
        return; // It names them.
    }
    let unwelcome = |word: &str| {
        ["Manager", "Helper", "Impl"].iter().any(|end| word.ends_with(end))
            || ["util", "utils", "helpers"].contains(&word)
            || ["todo", "unimplemented"].iter().any(|m| word == *m && text.contains(&format!("{m}!(")))
    };
    for (number, line) in text.lines().enumerate() {
        for word in line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| unwelcome(w)) {
            tidied.expect(false, || format!("{name}:{}: `{word}`; say what it is or does instead", number + 1));
        }
    }
    tidied.checked += 1;
}

/// Name and number of lines of a file's longest function. The text is formatted: a function ends at the next line with
/// a brace in its own column.
fn longest_function(text: &str) -> (usize, String) {
    let lines: Vec<&str> = text.lines().collect();
    let mut longest = (0, String::new());
    for (i, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let Some(at) = trimmed.find("fn ") else { continue };
        let before = &trimmed[..at];
        let qualifiers = ["pub", "const", "unsafe", "extern", "\"C\"", "async"];
        let declares = before.split_whitespace().all(|w| qualifiers.contains(&w) || w.starts_with("pub("));
        if !declares || trimmed.ends_with([';', '}']) {
            continue;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        let length = lines[i..].iter().position(|l| *l == closing).map_or(1, |n| n + 1);
        if length > longest.0 {
            let name = trimmed[at + 3..].split(['(', '<']).next().unwrap_or_default();
            longest = (length, name.to_string());
        }
    }
    longest
}

fn report_lengths(mut files: Vec<(usize, (usize, String), String)>, tidied: &mut Tidied) {
    for (lines, (function_lines, function), name) in &files {
        tidied.expect(*lines <= LONGEST_FILE, || format!("{name}: {lines} lines; at most {LONGEST_FILE}: split it"));
        tidied.expect(*function_lines <= LONGEST_FUNCTION, || {
            format!("{name}: `{function}` has {function_lines} lines; at most {LONGEST_FUNCTION}: split it")
        });
    }
    files.sort();
    let (Some(median), Some(largest)) = (files.get(files.len() / 2), files.last()) else { return };
    let longest = files.iter().map(|(_, f, name)| (f, name)).max().expect("there is a file");
    tidied.notes.push(format!(
        "{} files, {} lines; median {}, largest {} ({}); longest function {} lines (`{}` in {})",
        files.len(),
        files.iter().map(|f| f.0).sum::<usize>(),
        median.0,
        largest.0,
        largest.2,
        longest.0.0,
        longest.0.1,
        longest.1
    ));
}

#[cfg(test)]
mod tests {
    use super::{Tidied, check, circles, first_names, ignorance, in_a_circle, is_path, longest_function};

    /// Tests run in the package's folder.
    fn from_root() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the repository");
    }

    #[test]
    fn an_import_of_a_module_behind_is_untidy() {
        let wrong = |path: &str, text: &str| {
            let mut tidied = Tidied::default();
            circles(path, text, &mut tidied);
            tidied.wrong.len()
        };
        assert_eq!(wrong("core/src/format/mod.rs", "use crate::shape::Classes;\n"), 1);
        assert_eq!(wrong("core/src/shape/solve.rs", "use crate::format::Format;\nuse crate::shape::Classes;\n"), 0);
        assert_eq!(
            wrong("core/src/format/mod.rs", "#[cfg(test)]\nmod tests {\n    use crate::shape::Classes;\n}\n"),
            0
        );
        assert_eq!(wrong("passes/src/schedule/order.rs", "use crate::check::check;\n"), 1);
        assert_eq!(wrong("core/src/new.rs", ""), 1);
        assert_eq!(wrong("codegen/src/lib.rs", "use crate::jit::Kernel;\n"), 0);
    }

    #[test]
    fn what_decides_knows_nothing_of_what_is_emitted() {
        let wrong = |path: &str, text: &str| {
            let mut tidied = Tidied::default();
            ignorance(path, text, &mut tidied);
            tidied.wrong.len()
        };
        let imports = "use crate::{choose::{Facts, scope::Scope}, Expr};\n";
        assert_eq!(first_names("{choose::{Facts, scope::Scope}, Expr};"), ["choose", "Expr"]);
        assert_eq!(wrong("loops/src/choose/along.rs", imports), 1);
        assert_eq!(wrong("loops/src/choose/mod.rs", "use super::lower::Widths;\n"), 1);
        assert_eq!(wrong("loops/src/choose/along.rs", "use fiberloom_core::notation::concrete::Expr;\n"), 0);
        assert_eq!(wrong("loops/src/lower/cut.rs", imports), 0);
    }

    #[test]
    fn files_that_take_of_one_another_are_a_circle() {
        let of = |texts: &[(&str, &str)]| {
            in_a_circle(texts.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect())
        };
        let (nest, value) = (("nest", "use super::{Context, value};\n"), ("value", "use super::{Context, levels};\n"));
        let levels = ("levels", "use super::Context;\n");
        assert!(of(&[("mod", "mod nest;\n"), nest, value, levels]).is_empty());
        assert_eq!(of(&[nest, ("value", "use super::nest::plan;\n"), levels]), ["nest", "value"]);
    }

    #[test]
    fn everything_is_tidy() {
        from_root();
        let tidied = check();
        assert!(tidied.wrong.is_empty(), "\n{}", tidied.wrong.join("\n"));
    }

    #[test]
    fn paths_are_told_from_other_words() {
        from_root();
        assert!(is_path("core/src/lib.rs") && is_path("docs/nowhere.md"));
        assert!(!is_path("a/b") && !is_path("tests/NOUN/spmv.loom") && !is_path("core") && !is_path("x / y"));
    }

    #[test]
    fn functions_are_measured() {
        let text = "fn short() {}\n\npub(super) fn long(\n    x: u8,\n) {\n    call();\n}\n";
        assert_eq!(longest_function(text), (5, "long".to_string()));
    }
}
