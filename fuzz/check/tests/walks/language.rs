//! The whole language is generated, and every stage takes what is generated or says why not.

use arbitrary::Unstructured;
use fiberloom_check::notation::engines::Outcome;
use fiberloom_check::notation::language::{constructs, program};
use fiberloom_check::notation::{reads_back, withstand};
use fiberloom_check::{Effort, bytes};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::format::{self, LevelKind};
use std::collections::BTreeMap;

/// Programs a test makes of each kind.
const PROGRAMS: u64 = 500;

#[test]
fn trees_of_any_kind_print_and_read_back() {
    for wild in [0, 20, 3, 1] {
        for seed in 0..Effort::said().of(PROGRAMS, 50) {
            let made = program(&mut Unstructured::new(&bytes(seed, 1200)), wild);
            let printed = made.program.to_string();
            let (read, wrong) = fiberloom_front::parse(&printed);
            let shown = || fiberloom_front::render("generated", &printed, &wrong, false);
            assert!(wrong.is_empty(), "{}\n{printed}", shown());
            let read = read.expect("no diagnostics");
            assert_eq!(read.items.len(), made.program.items.len(), "{printed}");
            for (read, made) in read.items.iter().zip(&made.program.items) {
                assert_eq!(read, made, "of seed {seed}, wild {wild}");
            }
            reads_back(&printed);
        }
    }
}

#[test]
fn no_stage_panics_and_most_programs_are_well_typed() {
    let mut fates: BTreeMap<&str, u64> = BTreeMap::new();
    let programs = Effort::said().of(PROGRAMS, 75);
    for seed in 0..programs {
        let fate = match withstand(&bytes(seed, 1500)) {
            Outcome::Ran(_) => "ran",
            Outcome::Left(why) => why,
        };
        *fates.entry(fate).or_default() += 1;
    }
    println!("{fates:?}");
    let met = |fate: &str, least: u64| assert!(fates.get(fate).copied().unwrap_or(0) >= least, "{fate}: {fates:?}");
    met("ran", programs / 4);
    met("rejected", 1);
    assert!(fates["rejected"] * 2 < programs, "{fates:?}");
}

/// What `docs/language.md` has, in the words of [`constructs`].
fn documented() -> Vec<String> {
    let types = ["tensor of", "parameter of", "function to", "type argument"];
    let types = types.iter().flat_map(|w| Type::ALL.iter().map(move |t| format!("{w} {t}")));
    let formats = format::NAMES.iter().map(|n| format!("format {n}"));
    let levels = LevelKind::ALL.iter().map(|l| format!("level {}", l.name()));
    let calls = Op::callable().map(|(f, _)| f).chain(["convert", "f0"]).map(|f| format!("call {f}"));
    let folds = Op::reductions().map(|(f, _)| f).chain(["count", "gcd", "xor", "pow", "f0"]);
    let folds = folds.flat_map(|f| [format!("reduction {f}")]);
    let words = "item dim|item dim that calls say|item fn|item schedule|block|block in a block|turns by number|turns by name|turns while|size by name|size by number|size as a value|slice to a size|no format|order|order of a name|where|where again|if|name|access|\
        fill true|fill integer|fill negative integer|fill float|fill inf|fill -inf|fill nan|\
        literal true|literal false|literal integer|literal negative integer|literal float|literal inf|literal nan|\
        tensor that a function gives|tensor of rank 0|tensor of rank 1|tensor of rank 2|tensor of rank 3|\
        assign =|assign +=|assign min=|assign max=|assign prod=|assign f0=|\
        left bare|left affine|left gather|left slice in place|part|part of what is defined before|index bare|index affine|index gather|index slice in place|index ~|\
        slice in place with start|slice in place with end|slice in place with step|slice in place without start|\
        slice in place without end|slice in place without step|affine +|affine -|affine *|affine /|affine %|\
        affine variable|affine integer|affine group|unary Neg|unary Not|binary Mul|binary Div|binary Rem|binary Add|\
        binary Sub|binary Shl|binary Shr|binary And|binary Xor|binary Or|binary Lt|binary Le|binary Gt|binary Ge|\
        binary Eq|binary Ne|binary AndAlso|binary OrElse|reduction over 1|reduction over 2|reduction with start|\
        collapse of 2|collapse of 3|split|concat of 2|concat of 3|slice|slice with step|function of 1|function of 2|\
        function of 3|statement let|statement set|statement while|statement if with else|statement if without else|\
        property commutative|property associative|property idempotent|property identity|property annihilator|\
        property identity at an argument|property annihilator at an argument|property iterate|property case|\
        pattern literal|pattern name|set parameter|set all|set !|set &|set ||schedule behind a statement|command none|\
        command pos|command collapse|command split|command split_up|command reorder|\
        command bound|command unroll|command parallelize|command protocol|unit CpuThread|unit CpuVector|unit GpuBlock|\
        unit GpuWarp|unit GpuThread|race NoRaces|race Atomics|race Temporary|race ParallelReduction|protocol Walk|\
        protocol Gallop|protocol Locate";
    // `set |` ends in the separator itself.
    let words = words.split('|').filter(|w| !w.is_empty()).map(|w| if w == "set " { "set |" } else { w }.to_string());
    types.chain(formats).chain(levels).chain(calls).chain(folds).chain(words).collect()
}

/// Only well-typed generation counts: what stands in programs that the checker takes.
#[test]
fn everything_documented_is_generated() {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let programs = Effort::said().of(6 * PROGRAMS, PROGRAMS);
    for seed in 0..programs {
        let made = program(&mut Unstructured::new(&bytes(seed, 1500)), 0);
        if fiberloom_passes::check::check(&made.program).is_ok() {
            for word in constructs(&made.program) {
                *counts.entry(word).or_default() += 1;
            }
        }
    }
    let documented = documented();
    for word in &documented {
        println!("{:6} {word}", counts.get(word).copied().unwrap_or(0));
    }
    let missed: Vec<&String> = documented.iter().filter(|w| !counts.contains_key(*w)).collect();
    // The rarest stand in one program of thousands.
    let rare = match Effort::said() {
        Effort::Quick => documented.len() / 3,
        Effort::Usual => documented.len() / 10,
        Effort::Long => 0,
    };
    assert!(missed.len() <= rare, "never generated in a program that checks: {missed:?}");
}
