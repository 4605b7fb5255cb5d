//! Short walks of every kind: no program answers otherwise than its meaning, and what is to be reached is.

use fiberloom_check::Effort;
use fiberloom_check::notation::campaign::{Campaign, Report, Walk, campaign};
use fiberloom_check::notation::case::{KINDS, STRUCTURED, Shape, chains};
use fiberloom_check::notation::engines::{BOTH, Engine};
use fiberloom_check::notation::legal::{LEGAL, named};
use fiberloom_check::notation::long::data::LENGTHS;
use fiberloom_check::notation::long::program::{self, EXTENTS};
use fiberloom_check::notation::product::{self, Meeting, Target, Wanted};
use fiberloom_codegen::OptLevel;
use fiberloom_core::algebra::Type;
use std::fmt::Display;
use std::time::Duration;

fn run(programs: u64, engine: Engine, walk: Walk) -> Report {
    let each_tenth = if engine == Engine::Loops { Engine::Rewrites } else { engine };
    let time = Duration::MAX;
    let wanted = Campaign { programs, engine, each_tenth, walk, seed: 0, data: 2, threads: 2, time, first: false };
    let report = campaign(&wanted);
    assert!(report.findings.is_empty(), "{report}");
    report
}

/// Asserts that each of these stood in some program. A walk that takes `least` is long enough to come to all.
fn reached(report: &Report, least: Effort, constructs: impl IntoIterator<Item = impl Display>) {
    if Effort::said() < least {
        return;
    }
    for construct in constructs {
        let count = report.exercised.get(&construct.to_string()).copied().unwrap_or(0);
        assert!(count > 0, "`{construct}` was never generated\n{report}");
    }
}

/// How many programs are tried, of so many where nothing is spared and so many usually.
fn of(long: u64, usual: u64) -> u64 {
    Effort::said().of(long, usual)
}

/// Whatever the subset that is lowered has can be generated: each of these stands in some program of a short run.
#[test]
fn loops_answer_as_the_meaning_and_everything_is_reached() {
    let report = run(of(5000, 600), Engine::Loops, Walk::Random);
    let types = Type::ALL.iter().map(|t| format!("type {t}"));
    let pairs = KINDS.iter().flat_map(|outer| KINDS.iter().map(move |inner| [outer.name(), inner.name()]));
    let pairs = pairs.chain([["nonunique", "singleton"]]);
    let formats = pairs.flat_map(|[a, b]| ["operand", "result"].map(|of| format!("{of} {{{a}, {b}}}")));
    let operators = LEGAL.calls.iter().map(|c| format!("operator {}", named(c.op)));
    let reductions = LEGAL.folds.iter().map(|(f, _)| format!("reduction {f}"));
    let others = [
        "+=",
        "min=",
        "gcd=",
        "scatter +=",
        "scatter gcd=",
        "where",
        "literal",
        "index value",
        "repeated index",
        "index compared <",
        "index compared >=",
        "index compared ==",
        "few 128",
        "few 3",
        "few 0",
        "sought 8",
        "sought 1",
        "thin results",
        "no thin results",
        "scatter",
        "given result",
        "operand fill",
        "operand level function",
        "operand computed rank 1",
        "operand computed rank 3",
        "result fill",
        "operand order",
        "result order",
        "result undeclared",
        "undeclared thin",
        "undeclared {compressed}",
        "undeclared {dense, dense}",
        "undeclared {dense, compressed}",
        "undeclared {compressed, dense}",
        "undeclared {compressed, compressed}",
        "undeclared {dense, compressed} order(1, 0)",
        "64-bit positions",
        "64-bit coordinates",
        "earlier result rank 0",
        "earlier result rank 2",
    ];
    let shapes = Shape::NAMES.iter().map(|name| format!("shape {name}"));
    let strict = [
        "+=",
        "scatter +=",
        "scatter prod=",
        "operator +",
        "operator *",
        "operator min",
        "reduction sum",
        "reduction max",
        "type f32",
    ];
    let shapes = shapes.chain(strict.map(|what| format!("strict {what}")));
    let others = others.iter().map(|s| s.to_string()).chain(shapes);
    reached(&report, Effort::Long, types.chain(formats).chain(operators).chain(reductions).chain(others));
}

/// A short part of the walk is spread over the product: each of these stood in a program that answered as its
/// meaning. All of the product is `campaign --programs all`.
#[test]
fn a_directed_walk_reaches_every_pair_of_columns() {
    let report = run(of(38_000, 500), Engine::Loops, Walk::Directed);
    if Effort::said() < Effort::Long {
        return;
    }
    let met: Vec<&Meeting> = report.statistics.meetings.keys().collect();
    let columns = |m: &Meeting| {
        [
            format!("{} on {}", named(m.operator), m.ty),
            format!("{} into {}", named(m.operator), m.into),
            format!("{:?} into {}", m.levels, m.into),
        ]
    };
    let reached: std::collections::BTreeSet<String> = met.into_iter().flat_map(columns).collect();
    let mut triples = std::collections::BTreeSet::new();
    for wanted in product::all() {
        match wanted {
            Wanted::Meeting(m) => {
                let [on, into, levels] = columns(&m);
                for column in [on, into] {
                    assert!(reached.contains(&column), "{column} was not reached\n{report}");
                }
                triples.insert(levels);
            }
            Wanted::Fold(fold) => {
                let same = |seen: &product::Fold| seen.function == fold.function && seen.level == fold.level;
                assert!(report.statistics.folds.keys().any(same), "{wanted} was not reached\n{report}");
            }
        }
    }
    // Two levels and a result: so many that a short walk misses a few.
    let missed = triples.difference(&reached).count();
    assert!(missed * 50 <= triples.len(), "{missed} of {} were not reached\n{report}", triples.len());
}

/// Chains of shape operators: each operator around everything, in everything, in each other, at each depth, and into every
/// kind of level; indices that are sums and windows too.
#[test]
fn shape_operators_answer_as_the_meaning_in_every_place() {
    let report = run(of(6 * chains(), chains() / 4), Engine::Loops, Walk::Shapes);
    let names = ["slice", "stride", "split", "collapse", "concat"];
    let around = ["element", "*", "+", "function", "reduction"];
    let of = names.iter().flat_map(|a| around.iter().chain(&names).map(move |b| format!("{a} of {b}")));
    let inside = names.iter().flat_map(|a| around[1..].iter().chain(&["alone"]).map(move |b| format!("{a} in {b}")));
    // Structured levels are rare in results beside shapes: the directed walk takes them in turn.
    let drawn = |t: &Target| !matches!(t, Target::Level(k) if STRUCTURED.contains(k)) && *t != Target::Folded;
    let into = names.iter().flat_map(|a| Target::all().filter(drawn).map(move |t| format!("{a} into {t}")));
    let depths = (1..=4).map(|depth| format!("{depth} deep"));
    let indices = ["constant", "affine", "sum", "window", "window with step"].map(|kind| format!("index {kind}"));
    reached(&report, Effort::Long, of.chain(inside).chain(into).chain(depths).chain(indices));
    let deep = report.exercised["4 deep"];
    let is_most = deep * 2 > report.programs || Effort::said() == Effort::Quick;
    assert!(is_most, "most are four deep: {deep} of {}", report.programs);
}

/// What the protocol has, and what it cannot have.
#[test]
fn products_answer_as_the_meaning_and_are_nothing_else() {
    let report = run(of(1500, 150), Engine::Loops, Walk::Products);
    let all = &report.exercised;
    for wanted in ["operand level dense", "operand level compressed", "result level compressed", "operand order"] {
        assert!(all.contains_key(wanted), "`{wanted}` was never generated\n{report}");
    }
    let operators: Vec<&String> = all.keys().filter(|k| k.starts_with("operator") || k.starts_with("type")).collect();
    assert_eq!(operators, ["operator *", "type f64"]);
    assert!(report.left.is_empty(), "every program says its extents");
}

/// Loops that a GPU's units run, on the machine for PTX; some of its warps have several rows.
#[test]
fn units_of_a_gpu_answer_as_the_meaning() {
    let report = run(of(1000, 100), Engine::Ptx, Walk::Units);
    assert!(report.work.parts > 0, "no warp has several rows\n{report}");
}

/// Loops that append, and others, as code for a GPU.
#[test]
fn loops_of_a_gpu_answer_as_the_meaning() {
    let report = run(of(600, 60), Engine::Ptx, Walk::Loops);
    assert!(report.work.counting > 0, "no loop counts before it appends\n{report}");
}

#[test]
fn contractions_answer_as_the_meaning() {
    let report = run(of(1500, 150), Engine::Loops, Walk::Contractions);
    reached(
        &report,
        Effort::Usual,
        ["reduction sum", "reduction min", "reduction max", "operator *", "operator +", "operator -"],
    );
}

/// Folds before the loops that read them, and row by row inside of these; what the planner says of them reads back.
#[test]
fn functions_around_folds_answer_as_the_meaning() {
    let report = run(of(1500, 150), Engine::Rewrites, Walk::Pointwise);
    let wanted = "reduction sum,reduction min,reduction max,operator max,operator mask,operator -,operator abs";
    for wanted in wanted.split(',') {
        assert!(report.exercised.contains_key(wanted), "`{wanted}` was never generated\n{report}");
    }
}

#[test]
fn joins_and_prefixes_answer_as_the_meaning() {
    let report = run(of(800, 100), Engine::Rewrites, Walk::Compared);
    reached(
        &report,
        Effort::Usual,
        ["values compared ==", "values compared <", "index compared <=", "reduction sum", "operator &&"],
    );
}

/// Temporaries and copies that schedules ask for, and what the planner says that it decided, read back.
#[test]
fn schedules_change_no_answer() {
    let report = run(of(1500, 125), Engine::Rewrites, Walk::Schedules);
    reached(
        &report,
        Effort::Usual,
        ["command stage", "command precompute", "command store", "command copy", "command protocol"],
    );
}

/// Commands about loops, each legal where it stands.
#[test]
fn loops_under_commands_answer_as_the_meaning() {
    let report = run(of(1500, 125), Engine::Rewrites, Walk::Loops);
    let words = "split split_up reorder collapse pos coord weigh unroll parallelize";
    reached(&report, Effort::Usual, words.split(' ').map(|word| format!("command {word}")));
}

/// What cases do not have: functions with each property that can be declared, indices that are read or leave their arrays.
#[test]
fn the_whole_language_answers_as_the_meaning() {
    let report = run(of(600, 40), Engine::Loops, Walk::Language);
    assert!(report.left.values().sum::<u64>() < report.programs, "most run\n{report}");
    let at = ["", " at an argument"];
    let properties = ["identity", "annihilator"].iter().flat_map(|p| at.map(|at| format!("property {p}{at}")));
    let others = "commutative|associative|idempotent|iterate|case".split('|').map(|p| format!("property {p}"));
    let words = "call f0|reduction f0|reduction with start|pattern literal|pattern name|set parameter|set all|set &|set !|\
        index gather|left gather|index ~|index slice in place|affine /|affine %|call coalesce|statement while|\
        statement if with else|protocol Gallop|tensor that a function gives|where|shifted copies|strict|algebraic";
    let words = words.split('|').map(str::to_string).chain(["set |".to_string()]);
    reached(&report, Effort::Long, properties.chain(others).chain(words));
}

/// Gradients and tangents against dual numbers, and against their own meaning.
#[test]
fn gradients_are_the_transposed_of_dual_numbers() {
    let report = run(of(2000, 60), Engine::Loops, Walk::Gradients);
    let words = "reduction sum,reduction min,reduction max,operator *,operator +,operator -";
    reached(&report, Effort::Long, words.split(','));
    assert!(report.work.executions() > report.programs, "most are derived\n{report}");
}

/// Rows of the lengths of lanes, words, networks and rooms, extents up to 2⁶³ − 1.
#[test]
fn long_data_answer_as_the_meaning() {
    let report = run(of(2500, 30), Engine::Loops, Walk::Long);
    let rows = LENGTHS.iter().filter(|n| **n > 0).map(|n| format!("row of {n}"));
    let extents = EXTENTS.iter().map(|n| format!("extent {n}"));
    let kinds = program::KINDS.iter().map(|(kind, _)| format!("kind {kind}"));
    let levels = ["compressed", "dense", "hashed", "nonunique", "singleton", "bytemap", "bitmap", "band", "vbl"];
    let levels = levels.iter().chain(&["blocked", "runs", "packbits"]);
    let levels = levels.flat_map(|level| ["operand", "result"].map(|of| format!("{of} level {level}")));
    let others = ["gapless over 4096", "protocol gallop", "protocol locate", "few 0", "few 64"].map(String::from);
    reached(&report, Effort::Long, rows.chain(extents).chain(kinds).chain(levels).chain(others));
    // What is left out grows with an extent: few programs do.
    assert!(report.left.values().sum::<u64>() * 10 < report.programs, "{report}");
    run(of(150, 6), Engine::Llvm(BOTH), Walk::Long);
}

/// Two evaluations of the meaning, one of every coordinate and one of what is stored.
#[test]
fn the_meaning_over_what_is_stored_is_the_pointwise_one() {
    run(of(3000, 250), Engine::Meaning, Walk::Random);
    run(of(1000, 100), Engine::Meaning, Walk::Directed);
}

#[test]
fn machine_code_answers_as_the_meaning_at_every_level() {
    run(of(150, 20), Engine::Llvm(&[OptLevel::None]), Walk::Random);
    run(20, Engine::Llvm(BOTH), Walk::Directed);
}
