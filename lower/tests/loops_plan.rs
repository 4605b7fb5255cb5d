//! Plans of loops: what they print, and that an operation uses nothing that is not defined.

mod common;

use common::typed;
use fiberloom_loops::Options;
use fiberloom_lower::{Lowered, lower, lower_planned};

/// The program's loops, unless the program is refused: a defect is no refusal.
fn lowered(text: &str) -> Option<Lowered> {
    let lowered = lower(&typed(text)?, &Options::default());
    if let Err(wrong) = &lowered {
        assert!(!wrong[0].message.contains("a defect of the compiler"), "{}\n{text}", wrong[0].message);
    }
    lowered.ok()
}

/// Every program's plan names all that it uses: the checker, which lowering calls, and the print agree.
#[test]
fn plans_of_programs_print_all_that_they_use() {
    let mut plans = 0;
    for (path, text) in common::texts() {
        let Some(free) = lowered(&text) else { continue };
        plans += 1;
        let plan = free.show_plan();
        assert!(!plan.contains("undefined") && !plan.contains("_?"), "{}\n{plan}", path.display());
        assert_eq!(plan.matches('{').count(), plan.matches('}').count(), "{}\n{plan}", path.display());
    }
    assert!(plans > 700, "only {plans} programs lower");
}

/// The same program has the same plan.
#[test]
fn planning_is_a_function() {
    for (path, text) in common::texts() {
        let Some(free) = lowered(&text) else { continue };
        let again = lowered(&text).expect("it lowers");
        assert_eq!(free.show_plan(), again.show_plan(), "{}", path.display());
    }
}

/// A plan that is printed and read makes the loops of the plan, and prints as it did.
#[test]
fn plans_are_read_as_they_are_printed() {
    let mut plans = 0;
    for (path, text) in common::texts() {
        let Some(program) = typed(&text) else { continue };
        let Some(free) = lowered(&text) else { continue };
        let plan = free.show_plan();
        let read = lower_planned(&program, &Options::default(), &plan);
        let read = read.unwrap_or_else(|e| panic!("{}\n{e:?}\n{plan}", path.display()));
        assert_eq!(free.kernel.to_string(), read.kernel.to_string(), "{}\n{plan}", path.display());
        assert_eq!(plan, read.show_plan(), "{}", path.display());
        plans += 1;
    }
    assert!(plans > 700, "only {plans} programs lower");
}
