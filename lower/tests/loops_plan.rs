//! Plans of loops: what they print, and that an operation uses nothing that is not defined.

use crate::common::typed;
use fiberloom_loops::Options;
use fiberloom_lower::{Lowered, Unplanned, lower, lower_planned};
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

/// The line of a result that says how its arrays are made, with more claimed than its operations show: that all values are stored, that no
/// parent is passed over, that other lists bound its entries, that its levels are an operand's.
fn claiming_more(line: &str, access: Option<&str>) -> Vec<String> {
    let without = |word: &str| line.contains(word).then(|| line.replacen(word, "", 1));
    let carried = line.split(" carry ").nth(1).and_then(|rest| rest.split(' ').next());
    let leader = line.split(" room ").nth(1).and_then(|rest| rest.split(' ').next()).filter(|word| word.contains('@'));
    let words = [Some(" filled".to_string()), Some(" spare".to_string()), carried.map(|l| format!(" carry {l}"))];
    let fewer = words.into_iter().chain([leader.map(|list| format!(" {list}"))]).flatten();
    let shared = access.filter(|_| line.contains(": own")).map(|a| line.replacen(": own", &format!(": levels {a}"), 1));
    fewer.filter_map(|word| without(&word)).chain(shared).collect()
}

/// A plan whose assemblies claim more than its operations show is refused.
#[test]
fn assemblies_claim_no_more_than_is_shown() {
    let (mut claims, mut taken) = (0, vec![]);
    for Program { path, text, plan, .. } in &*ALL {
        let access = plan.split([' ', '(']).find(|word| word.contains('@')).and_then(|word| word.split('.').next());
        for line in plan.lines().filter(|line| line.starts_with("result ") && line.contains(": ")) {
            for claimed in claiming_more(line, access) {
                let other = plan.replacen(line, &claimed, 1);
                let read = lower_planned(&typed(text).expect("it lowers"), &Options::default(), &other);
                claims += 1;
                if !matches!(read, Err(Unplanned::Plan(_))) {
                    taken.push(format!("{}: {claimed}", path.display()));
                }
            }
        }
    }
    assert!(taken.is_empty(), "{} of {claims}\n{}", taken.len(), taken.join("\n"));
    assert!(claims > 500, "only {claims}");
}
