//! A campaign with a fixed seed: so many generated programs on an engine against their meaning.
//!
//! ```text
//! cargo run --profile dist -p fiberloom-check --bin campaign -- --programs 100000 --engine loops --seed 1 --threads 2
//! ```
//!
//! `--programs all` takes each combination of operator, levels, result and type once, and wants all of them reached;
//! `--walk random` draws programs instead, `--walk products` products of 2 to 5 operands alone, `--walk
//! contractions` sums of them that several nests may compute, `--walk pointwise` functions around folds, `--walk compared` joins and
//! prefixes, `--walk schedules` and `--walk loops` programs with commands, `--walk blocks` those whose loops blocks of a GPU run, with workspaces, `--walk units` those
//! whose loops warps, their lanes and parts of warps run,
//! `--walk shapes` takes each
//! chain of one to four shape operators in turn, `--walk language` draws programs of the whole language, each with a
//! function that it declares, `--walk long` programs of few kinds on long rows and large extents, `--walk shards` programs of these kinds in boxes,
//! merged, `--walk gradients` derivatives of programs of these kinds, `--walk growth` counts operations at an extent and at twice it, whatever
//! the engine. Machine code is made without optimization, for each tenth program with it too; `--opt none`,
//! `full` or `both` says otherwise. Of loops, each tenth program's run before and after each rewrite, and its prints are
//! read back; `--rewrites none` or `all` says otherwise. Under `--engine ptx` parallel loops run as code for a GPU on the machine for it,
//! launched in several shapes; programs without one are left out. `--data N` runs each kernel on so many data of the same extents.
//! `--seconds N` begins no program after so long. Each kind of finding is printed once, shrunk; with `--until finding` a
//! thread ends with its first one, which is left as it is. Exit status 1 if there was one, or something was to be reached
//! and was not.

use fiberloom_check::OptLevel;
use fiberloom_check::notation::campaign::{Campaign, Walk, campaign};
use fiberloom_check::notation::engines::{BOTH, Engine, note_panics};
use fiberloom_check::notation::product;
use std::process::ExitCode;
use std::time::Duration;

/// A quarter of a campaign's time went into small allocations by several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "there are --programs N|all, --seed N, --threads N, --engine meaning|loops|llvm|ptx, \
    --opt none|full|both|tenth, --rewrites none|tenth|all, --walk directed|random|products|contractions|pointwise|compared|schedules|loops|blocks|units|shapes|language|long|shards|tables|gradients|growth, --data N, --seconds N, --until done|finding";

fn main() -> ExitCode {
    let engine = Engine::Loops;
    let mut wanted = Campaign {
        programs: 10_000,
        engine,
        each_tenth: engine,
        walk: Walk::Directed,
        seed: 0,
        data: 1,
        threads: 1,
        time: Duration::MAX,
        first: false,
    };
    let (mut levels, mut tenth): (&[OptLevel], _) = (&[OptLevel::None], BOTH);
    let (mut loops, mut tenth_loops) = (Engine::Loops, Engine::Rewrites);
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().unwrap_or_default();
        let number = value.parse::<u64>();
        match (name.as_str(), value.as_str(), number) {
            ("--programs", "all", _) => wanted.programs = product::count() as u64,
            ("--programs", _, Ok(n)) => wanted.programs = n,
            ("--seed", _, Ok(n)) => wanted.seed = n,
            ("--data", _, Ok(n @ 1..=10_000)) => wanted.data = n,
            ("--threads", _, Ok(n @ 1..=256)) => wanted.threads = n,
            ("--engine", "meaning", _) => wanted.engine = Engine::Meaning,
            ("--engine", "loops", _) => wanted.engine = Engine::Loops,
            ("--engine", "llvm", _) => wanted.engine = Engine::Llvm(levels),
            ("--engine", "ptx", _) => wanted.engine = Engine::Ptx,
            ("--opt", "none", _) => (levels, tenth) = (&[OptLevel::None], &[OptLevel::None]),
            ("--opt", "full", _) => (levels, tenth) = (&[OptLevel::Full], &[OptLevel::Full]),
            ("--opt", "both", _) => (levels, tenth) = (BOTH, BOTH),
            ("--opt", "tenth", _) => (levels, tenth) = (&[OptLevel::None], BOTH),
            ("--rewrites", "none", _) => (loops, tenth_loops) = (Engine::Loops, Engine::Loops),
            ("--rewrites", "tenth", _) => (loops, tenth_loops) = (Engine::Loops, Engine::Rewrites),
            ("--rewrites", "all", _) => (loops, tenth_loops) = (Engine::Rewrites, Engine::Rewrites),
            ("--walk", "directed", _) => wanted.walk = Walk::Directed,
            ("--walk", "random", _) => wanted.walk = Walk::Random,
            ("--walk", "products", _) => wanted.walk = Walk::Products,
            ("--walk", "contractions", _) => wanted.walk = Walk::Contractions,
            ("--walk", "pointwise", _) => wanted.walk = Walk::Pointwise,
            ("--walk", "compared", _) => wanted.walk = Walk::Compared,
            ("--walk", "schedules", _) => wanted.walk = Walk::Schedules,
            ("--walk", "loops", _) => wanted.walk = Walk::Loops,
            ("--walk", "blocks", _) => wanted.walk = Walk::Blocks,
            ("--walk", "units", _) => wanted.walk = Walk::Units,
            ("--walk", "shapes", _) => wanted.walk = Walk::Shapes,
            ("--walk", "language", _) => wanted.walk = Walk::Language,
            ("--walk", "long", _) => wanted.walk = Walk::Long,
            ("--walk", "shards", _) => wanted.walk = Walk::Shards,
            ("--walk", "tables", _) => wanted.walk = Walk::Tables,
            ("--walk", "gradients", _) => wanted.walk = Walk::Gradients,
            ("--walk", "growth", _) => wanted.walk = Walk::Growth,
            ("--seconds", _, Ok(n)) => wanted.time = Duration::from_secs(n),
            ("--until", "done", _) => wanted.first = false,
            ("--until", "finding", _) => wanted.first = true,
            _ => {
                eprintln!("`{name} {value}`: {USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    (wanted.engine, wanted.each_tenth) = match wanted.engine {
        Engine::Llvm(_) => (Engine::Llvm(levels), Engine::Llvm(tenth)),
        Engine::Loops => (loops, tenth_loops),
        other => (other, other),
    };
    note_panics();
    let report = campaign(&wanted);
    println!("{report}");
    let all = wanted.walk == Walk::Directed && report.programs >= product::count() as u64;
    let reached = !all || report.statistics.missed().next().is_none();
    if report.findings.is_empty() && reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
