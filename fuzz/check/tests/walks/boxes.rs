//! Programs in boxes answer as the whole means.

use fiberloom_check::Effort;
use fiberloom_check::notation::campaign::{Campaign, Walk, campaign};
use fiberloom_check::notation::engines::Engine;
use fiberloom_check::notation::shards::RULES;
use fiberloom_codegen::OptLevel;
use std::time::Duration;

fn run(programs: u64, engine: Engine, seed: u64) -> fiberloom_check::notation::campaign::Report {
    let (time, each_tenth) = (Duration::MAX, engine);
    let walk = Walk::Shards;
    let wanted = Campaign { programs, engine, each_tenth, walk, seed, data: 2, threads: 2, time, first: false };
    let report = campaign(&wanted);
    assert!(report.findings.is_empty(), "{report}");
    report
}

/// Programs in boxes answer as the whole means, and whatever a split can be is reached, as is what refuses it often.
#[test]
fn boxes_answer_as_the_whole_means() {
    let report = run(Effort::said().of(300, 75), Engine::Loops, 1);
    let ran = report.work.kernels;
    assert!(ran * 10 > report.programs * 8, "{ran} of {} ran\n{report}", report.programs);
    if Effort::said().is_sample() {
        return;
    }
    let reached = [
        "a split that is free",
        "a split that is folded",
        "a box that is empty",
        "a box of one",
        "an extent beyond 32 bits",
        "boxes along a split 1",
        "boxes along a split 4",
        "splits 3",
        "Strict",
        "Algebraic",
        "given result",
        "scatter",
        "64-bit positions",
        "result fill",
    ];
    for construct in reached {
        assert!(report.exercised.contains_key(construct), "`{construct}` was never generated\n{report}");
    }
    let refused = RULES.iter().filter(|(_, name)| report.left.contains_key(name)).count();
    assert!(refused >= 12, "{refused} rules refused something\n{report}");
}

/// The same of machine code.
#[test]
fn boxes_of_machine_code_answer_as_the_whole_means() {
    run(20, Engine::Llvm(&[OptLevel::None]), 5_000);
}
