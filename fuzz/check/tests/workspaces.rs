//! Every kind of workspace is among what generated programs are lowered to, as are joins.

use arbitrary::Unstructured;
use fiberloom_check::notation::case::{case, compared};
use fiberloom_core::notation::concrete::WorkspaceKind;
use fiberloom_loops::Options;
use fiberloom_passes::check::check;

#[test]
fn every_kind_of_workspace_is_generated() {
    let mut seen: Vec<WorkspaceKind> = vec![];
    for seed in 0..1500 {
        let case = case(&mut Unstructured::new(&fiberloom_check::bytes(seed, 600)));
        let syntax = fiberloom_front::parse(&case.to_string()).0.expect("generated programs can be read");
        // Some programs say too little of an extent.
        let Ok(typed) = check(&syntax) else { continue };
        let options = Options { sizes: case.magnitudes(&typed), ..Options::default() };
        let lowered = fiberloom_lower::lower(&typed, &options).expect("generated programs are lowered");
        seen.extend(lowered.concrete.nests().filter_map(|nest| Some(nest.workspace()?.kind)));
    }
    let missing: Vec<WorkspaceKind> = WorkspaceKind::ALL.into_iter().filter(|k| !seen.contains(k)).collect();
    assert!(missing.is_empty(), "never made: {missing:?}");
}

#[test]
fn joins_are_generated() {
    let mut joins = 0;
    for seed in 0..500 {
        let case = compared(&mut Unstructured::new(&fiberloom_check::bytes(seed, 1000)));
        let syntax = fiberloom_front::parse(&case.to_string()).0.expect("generated programs can be read");
        let Ok(typed) = check(&syntax) else { continue };
        let options = Options { mode: case.mode, sizes: case.magnitudes(&typed), ..Options::default() };
        let lowered = fiberloom_lower::lower(&typed, &options).expect("generated programs are lowered");
        let concrete = lowered.concrete.to_string();
        joins += (concrete.contains("inverse[at") && concrete.contains("floormod")) as usize;
    }
    assert!(joins >= 50, "{joins} joins");
}
