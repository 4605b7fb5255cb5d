//! What is refused today: each line of the list in `docs/cli.md`, and that no page says more.

use std::path::{Path, PathBuf};
use std::process::Command;

const LIST: &str = "docs/cli.md";

const SPMV: &str = "tensor A: f64[I, J] csr\ntensor x: f64[J] dense\ntensor y: f64[I] dense\ny[i] = A[i,j] * x[j]\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// A line of the list: the words of the command line, its exit status, and what it says.
struct Refused {
    asked: Vec<String>,
    exit: i32,
    says: String,
}

fn list() -> Vec<Refused> {
    let text = page(LIST);
    let rows = text.split_once("| asked for | exit | says |\n|---|---|---|\n").expect("the list").1;
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [asked, exit, says] = cells[..] else { panic!("{line}") };
        let asked = asked.trim_matches('`').split(' ').map(str::to_string).collect();
        Refused { asked, exit: exit.parse().unwrap(), says: says.to_string() }
    };
    rows.lines().take_while(|line| line.starts_with('|')).map(row).collect()
}

/// A folder with the files that the list names.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fiberloom-refused-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let called = |body: &str| format!("fn f(x: f64) -> f64 {{ {body} }}\n{}", SPMV.replace("x[j]", "f(x[j])"));
    let long = format!("let a = x; {} a", "a = a + 0.0; ".repeat(2001));
    let deep =
        format!("let a = x; {}{} a", "if a > 0.0 { ".repeat(101), "a = a - 1.0; }".to_string() + &" }".repeat(100));
    let sliced = "tensor A: f64[2, 3]\ntensor y: f64[3]\ny[k] = slice(collapse(A[i,j], (i, j) -> l), l -> k, 1:6:2)\n";
    let files = [
        ("p.loom", SPMV.to_string()),
        ("long.loom", called(&long)),
        ("deep.loom", called(&deep)),
        ("sliced.loom", sliced.to_string()),
        ("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n".to_string()),
    ];
    for (file, text) in files {
        std::fs::write(folder.join(file), text).unwrap();
    }
    folder
}

/// The words of the list, with data for what they leave out.
fn with_data(asked: &[String]) -> Vec<String> {
    let mut words = asked.to_vec();
    if words[0] == "run" {
        let given = |name: &str| asked.iter().any(|word| word.starts_with(&format!("{name}=")));
        for (name, data) in [("A", "random:3x3:0.5"), ("x", "random:3")] {
            if !given(name) {
                words.extend(["--in".to_string(), format!("{name}={data}")]);
            }
        }
    }
    words
}

fn run(folder: &Path, words: &[String]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fiberloom")).args(words).current_dir(folder).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn each_line_of_the_list_is_refused_with_its_words() {
    let folder = folder("each");
    let list = list();
    assert!(list.len() >= 4);
    for Refused { asked, exit, says } in list {
        let (code, said) = run(&folder, &with_data(&asked));
        assert_eq!(code, Some(exit), "{asked:?}: {said}");
        assert!(said.contains(&says), "{asked:?} does not say {says:?}: {said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_not_lowered_the_meaning_evaluates() {
    let folder = folder("meaning");
    for Refused { asked, .. } in list().iter().filter(|refused| refused.says.contains("not lowered")) {
        let mut words = with_data(asked);
        words.extend(["--engine".to_string(), "meaning".to_string()]);
        assert_eq!(run(&folder, &words).0, Some(0), "{words:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Pages say of what is refused where the list is, and of nothing that it is not there: that would be true for a while only.
#[test]
fn no_page_says_not_yet() {
    let mut pages: Vec<String> = vec!["README.md".to_string()];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // Findings say what was so when they were found.
        if name.ends_with(".md") && name != "findings.md" {
            pages.push(format!("docs/{name}"));
        }
    }
    let said: Vec<String> = list().into_iter().map(|refused| refused.says).collect();
    for name in pages {
        for (number, line) in page(&name).lines().enumerate() {
            let listed = name == LIST && said.iter().any(|says| line.contains(says));
            let claims =
                ["not yet", "not there yet", "not lowered", "not written yet", "not implemented", "unimplemented"];
            let claim = claims.iter().find(|claim| line.contains(**claim));
            let fine = listed || claim.is_none() || line.starts_with("`--engine meaning` evaluates");
            assert!(fine, "{name}:{}: {line}\nwhat is refused stands in the list of {LIST}", number + 1);
        }
    }
    assert!(page("README.md").contains("docs/cli.md"));
}

/// The messages that say so are all in the list: a new one needs a line there, and one that is gone takes its line away.
#[test]
fn messages_of_help_say_no_more() {
    for command in ["run", "show", "check", "build", "grad"] {
        let help = Command::new(env!("CARGO_BIN_EXE_fiberloom")).args([command, "--help"]).output().unwrap();
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(!help.contains(" yet"), "{command} --help: {help}");
    }
}
