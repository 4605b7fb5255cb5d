//! Plans of loops: what they print, and that an operation uses nothing that is not defined.

use crate::common::typed;
use fiberloom_loops::Options;
use fiberloom_lower::{Lowered, lower, lower_planned};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The program's loops, unless the program is refused: a defect is no refusal.
fn lowered(text: &str) -> Option<Lowered> {
    let lowered = lower(&typed(text)?, &Options::default());
    if let Err(wrong) = &lowered {
        assert!(!wrong[0].message.contains("a defect of the compiler"), "{}\n{text}", wrong[0].message);
    }
    lowered.ok()
}

/// A program that lowers.
struct Program {
    path: PathBuf,
    text: String,
    plan: String,
    loops: String,
}

/// All programs of the repository that lower.
static ALL: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let of = |(path, text): (PathBuf, String)| {
        let free = lowered(&text)?;
        Some(Program { path, text, plan: free.show_plan(), loops: free.kernel.to_string() })
    };
    let all: Vec<Program> = crate::common::texts().into_iter().filter_map(of).collect();
    assert!(all.len() > 700, "only {} programs lower", all.len());
    all
});

/// Every program's plan names all that it uses: the checker, which lowering calls, and the print agree.
#[test]
fn plans_of_programs_print_all_that_they_use() {
    for Program { path, plan, .. } in &*ALL {
        assert!(!plan.contains("undefined") && !plan.contains("_?"), "{}\n{plan}", path.display());
        assert_eq!(plan.matches('{').count(), plan.matches('}').count(), "{}\n{plan}", path.display());
    }
}

/// The same program has the same plan.
#[test]
fn planning_is_a_function() {
    for Program { path, text, plan, .. } in &*ALL {
        assert_eq!(*plan, lowered(text).expect("it lowers").show_plan(), "{}", path.display());
    }
}

/// A plan that is printed and read makes the loops of the plan, and prints as it did.
#[test]
fn plans_are_read_as_they_are_printed() {
    for Program { path, text, plan, loops } in &*ALL {
        let read = lower_planned(&typed(text).expect("it lowers"), &Options::default(), plan);
        let read = read.unwrap_or_else(|e| panic!("{}\n{e:?}\n{plan}", path.display()));
        assert_eq!(*loops, read.kernel.to_string(), "{}\n{plan}", path.display());
        assert_eq!(*plan, read.show_plan(), "{}", path.display());
    }
}
