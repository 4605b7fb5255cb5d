//! Plans of loops: what they print, and that an operation uses nothing that is not defined.

mod common;

use common::typed;
use fiberloom_core::{Lowered, Options, lower};

fn lowered(text: &str) -> Option<Lowered> {
    lower(&typed(text)?, &Options::default()).ok()
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
    assert!(plans > 50, "only {plans} programs lower");
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
