//! Damaged plans of all programs in `tests/`: each is refused, or makes loops that are well-formed.

use arbitrary::Unstructured;
use fiberloom_check::bytes;
use fiberloom_check::notation::planned::{damaged, takes_damaged};
use fiberloom_check::notation::programs_under;
use fiberloom_core::{Options, lower};
use std::path::Path;

/// Damages of a plan.
const DAMAGES: u64 = 12;

/// Bytes that one is drawn from.
const DRAWN: usize = 64;

#[test]
fn damaged_plans_are_refused_or_well_formed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let (mut taken, mut refused) = (0, 0);
    for path in programs_under(&folder) {
        let text = std::fs::read_to_string(&path).expect("it is there");
        let (syntax, wrong) = fiberloom_front::parse(&text);
        let Some(syntax) = syntax.filter(|_| wrong.is_empty()) else { continue };
        let Ok(program) = fiberloom_core::check::check(&syntax) else { continue };
        let Ok(lowered) = lower(&program, &Options::default()) else { continue };
        let plan = lowered.show_plan();
        for seed in 0..DAMAGES {
            let plan = damaged(&mut Unstructured::new(&bytes(seed, DRAWN)), &plan);
            let takes = takes_damaged(&program, &plan);
            let takes = takes.unwrap_or_else(|what| panic!("{what}\n{}, {seed}\n{plan}", path.display()));
            *if takes { &mut taken } else { &mut refused } += 1;
        }
    }
    assert!(taken > 500 && refused > 5000, "{taken} are taken, {refused} refused");
}
