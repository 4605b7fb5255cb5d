//! Damaged plans of all programs in `tests/`: each is refused, or makes loops that are well-formed.

use arbitrary::Unstructured;
use fiberloom_check::bytes;
use fiberloom_check::notation::planned::{damaged, takes_damaged};
use fiberloom_check::notation::programs_under;
use fiberloom_loops::Options;
use fiberloom_lower::lower;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Damages of a plan.
const DAMAGES: u64 = 8;

/// Bytes that one is drawn from.
const DRAWN: usize = 64;

#[test]
fn damaged_plans_are_refused_or_well_formed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let (mut taken, mut refused, mut wrong) = (0, 0, vec![]);
    for path in programs_under(&folder) {
        let text = std::fs::read_to_string(&path).expect("it is there");
        let (Some(syntax), errors) = fiberloom_front::parse(&text) else { continue };
        if !errors.is_empty() {
            continue;
        }
        let Ok(program) = fiberloom::relation::check(&syntax) else { continue };
        let lowered = match lower(&program, &Options::default()) {
            Ok(lowered) => lowered,
            Err(why) => {
                assert!(!why[0].message.contains("a defect of the compiler"), "{}\n{text}", why[0].message);
                continue;
            }
        };
        let plan = lowered.show_plan();
        for seed in 0..DAMAGES {
            let plan = damaged(&mut Unstructured::new(&bytes(seed, DRAWN)), &plan);
            let takes = catch_unwind(AssertUnwindSafe(|| takes_damaged(&program, &plan)));
            match takes.unwrap_or_else(|_| Err("a panic".to_string())) {
                Ok(takes) => *if takes { &mut taken } else { &mut refused } += 1,
                Err(what) => wrong.push(format!("{what}\n{}, {seed}\n{plan}", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), taken + refused, wrong.join("\n\n"));
    assert!(taken > 200 && refused > 3000, "{taken} are taken, {refused} refused");
}
