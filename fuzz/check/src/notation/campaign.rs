//! Many cases from a seed, what they exercised, and the findings, one of each kind.

use super::case::{case, chain, compared, contraction, directed, nested, pointwise, products, scheduled};
use super::engines::{Engine, Finding, Outcome, on_other_data};
use super::gradients::Moved;
use super::language::Written;
use super::long::Long;
use super::looped::Looped;
use super::product;
use super::shards::Sharded;
use super::shrink::shrink;
use super::statistics::Statistics;
use super::subject::Subject;
use super::tables::Labelled;
use super::turned::Turned;
use super::work::Work;
use arbitrary::Unstructured;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};

/// Bytes that a case is made of: the largest operands take some hundred each.
pub(super) const BYTES: usize = 3000;

/// Cases that are tried until the program of a seed is one that can run.
const TRIES: u64 = 20;

/// Which programs are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The first statement of each takes the next combination of all there are (`product.rs`).
    Directed,
    /// Anything.
    Random,
    /// Products of 2 to 5 operands alone, the protocol of a published fuzzer (`case/products.rs`).
    Products,
    /// Sums of products that several loop nests may compute (`case/contractions.rs`).
    Contractions,
    /// Functions around folds (`case/pointwise.rs`).
    Pointwise,
    /// Joins by equal values, and prefixes (`case/compared.rs`).
    Compared,
    /// Any of these and products, with commands in their schedules (`case/commands.rs`).
    Schedules,
    /// Programs of all these, of the whole language and on long rows, with commands about loops (`looped.rs`).
    Loops,
    /// Shape operators in one another: each program takes the next chain of one to four of them (`case/nested.rs`).
    Shapes,
    /// Programs of the whole language, each with a function that it declares (`language.rs`).
    Language,
    /// Programs of few kinds on long rows and large extents (`long.rs`).
    Long,
    /// Programs of all these in boxes, merged (`shards.rs`).
    Shards,
    /// Programs over labels (`tables.rs`).
    Tables,
    /// Gradients and tangents of programs of these kinds (`gradients.rs`).
    Gradients,
}

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// How many cases.
    pub programs: u64,
    /// On which engine.
    pub engine: Engine,
    /// On which engine those whose seed is a multiple of ten run instead.
    pub each_tenth: Engine,
    /// Of which programs.
    pub walk: Walk,
    /// The first case's; each next one's is one more.
    pub seed: u64,
    /// On how many data each kernel runs; on the first, at shorter extents too.
    pub data: u64,
    /// How many run at once.
    pub threads: u64,
    /// No program begins after so long.
    pub time: Duration,
    /// Whether a thread ends with its first finding, which is then left as large as it is.
    pub first: bool,
}

/// What came of a campaign.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases run.
    pub programs: u64,
    /// Programs that need not run, and why: of most walks another is tried.
    pub left: BTreeMap<&'static str, u64>,
    /// What was done with them.
    pub work: Work,
    /// What operators met, in the programs that answered as their meaning.
    pub statistics: Statistics,
    /// In how many cases each construct stood.
    pub exercised: BTreeMap<String, u64>,
    /// A shrunk program of each kind, as it is shown, how many there were, and the seed of the first.
    pub findings: BTreeMap<&'static str, (u64, u64, String, Finding)>,
    /// How long it took.
    pub took: Duration,
}

/// Runs it.
pub fn campaign(wanted: &Campaign) -> Report {
    let begun = Instant::now();
    let mut report = Report::default();
    std::thread::scope(|scope| {
        let part = |n| move || part(wanted, begun, n);
        let parts: Vec<_> = (0..wanted.threads).map(|n| scope.spawn(part(n))).collect();
        for p in parts {
            report.join(p.join().expect("panics of cases are caught"));
        }
    });
    report.took = begun.elapsed();
    report
}

fn part(wanted: &Campaign, begun: Instant, n: u64) -> Report {
    let mut report = Report::default();
    for seed in (wanted.seed..wanted.seed + wanted.programs).skip(n as usize).step_by(wanted.threads as usize) {
        if begun.elapsed() >= wanted.time || wanted.first && !report.findings.is_empty() {
            break;
        }
        let tries = if matches!(wanted.walk, Walk::Random | Walk::Products) { 1 } else { TRIES };
        // Seeds of other programs are near: tries are far from them.
        let _ran = (0..tries).map(|t| seed ^ t << 48).any(|bytes| report.made(wanted, seed, bytes));
        report.programs += 1;
    }
    report
}

impl Report {
    /// Runs the program of a seed, made of the bytes of another; whether it is one that can run.
    fn made(&mut self, wanted: &Campaign, seed: u64, bytes: u64) -> bool {
        let bytes = crate::bytes(bytes, BYTES);
        let u = &mut Unstructured::new(&bytes);
        match wanted.walk {
            Walk::Directed => self.run(wanted, seed, directed(u, &product::nth(seed))),
            Walk::Random => self.run(wanted, seed, case(u)),
            Walk::Products => self.run(wanted, seed, products(u)),
            Walk::Contractions => self.run(wanted, seed, contraction(u)),
            Walk::Pointwise => self.run(wanted, seed, pointwise(u)),
            Walk::Compared => self.run(wanted, seed, compared(u)),
            Walk::Schedules => self.run(wanted, seed, scheduled(u)),
            Walk::Shapes => self.run(wanted, seed, nested(u, &chain(seed))),
            Walk::Language => self.run(wanted, seed, Written::lowered(u)),
            Walk::Long => self.run(wanted, seed, Long::any(u)),
            Walk::Loops => match seed % 32 {
                0 => self.run(wanted, seed, Looped::long(u)),
                // Functions that are declared take most of the time: their properties are tried anew for each command.
                1 => self.run(wanted, seed, Looped::written(u)),
                _ => self.run(wanted, seed, Looped::any(u)),
            },
            Walk::Tables => self.run(wanted, seed, Labelled::any(u)),
            Walk::Gradients => match seed % 8 {
                0 | 1 => self.run(wanted, seed, Moved::any(u, Written::lowered)),
                2 => self.run(wanted, seed, Moved::any(u, contraction)),
                3 => self.run(wanted, seed, Moved::any(u, pointwise)),
                4 => self.run(wanted, seed, Moved::any(u, |u| nested(u, &chain(seed / 8)))),
                5 => self.run(wanted, seed, Moved::any(u, products)),
                6 => self.run(wanted, seed, Moved::any(u, Turned::any)),
                _ => self.run(wanted, seed, Moved::any(u, case)),
            },
            Walk::Shards => match seed % 128 {
                // Functions that are declared take most of the time: their properties are tried anew for each kernel.
                0 => self.run(wanted, seed, Sharded::any(u, Written::lowered)),
                1..=4 => self.run(wanted, seed, Sharded::any(u, Long::any)),
                _ => self.run(wanted, seed, Sharded::any(u, case)),
            },
        }
    }

    /// Runs a program on its data; whether it is one that can run.
    fn run(&mut self, wanted: &Campaign, seed: u64, program: impl Subject) -> bool {
        let engine = if seed.is_multiple_of(10) { wanted.each_tenth } else { wanted.engine };
        // Seeds of data are far from those of programs, and from one another.
        let others: Vec<u64> = (1..wanted.data).map(|draw| !seed ^ draw << 32).collect();
        match program.run_on(engine, &others) {
            Ok(Outcome::Left(why)) => {
                *self.left.entry(why).or_default() += 1;
                return false;
            }
            Ok(Outcome::Ran(work)) => {
                self.work.join(&work);
                program.count(&mut self.statistics);
                for construct in program.constructs() {
                    *self.exercised.entry(construct).or_default() += 1;
                }
            }
            Err(found) => {
                let data = found.draw.checked_sub(1).map(|n| on_other_data(&program, others[n as usize]));
                self.found(seed, data.unwrap_or(program), found, engine, !wanted.first);
            }
        }
        true
    }

    fn found(&mut self, seed: u64, program: impl Subject, found: Finding, engine: Engine, smaller: bool) {
        if let Some((count, ..)) = self.findings.get_mut(found.kind) {
            *count += 1;
            return;
        }
        let kind = found.kind;
        let (program, found) = if smaller { shrink(program, found, engine) } else { (program, found) };
        let shown = format!("{program}\n{}", program.data());
        self.findings.insert(kind, (1, seed, shown, found));
    }

    fn join(&mut self, other: Report) {
        self.programs += other.programs;
        other.left.into_iter().for_each(|(why, n)| *self.left.entry(why).or_default() += n);
        self.work.join(&other.work);
        self.statistics.join(other.statistics);
        for (construct, n) in other.exercised {
            *self.exercised.entry(construct).or_default() += n;
        }
        for (kind, found) in other.findings {
            let count = found.0;
            self.findings.entry(kind).and_modify(|f| f.0 += count).or_insert(found);
        }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let per_second = self.programs as f64 / self.took.as_secs_f64().max(1e-9);
        writeln!(f, "{} programs, {per_second:.0} a second, {} findings", self.programs, self.findings.len())?;
        writeln!(f, "{}", self.work)?;
        self.left.iter().try_for_each(|(why, n)| writeln!(f, "{n} left out: {why}"))?;
        if !self.statistics.meetings.is_empty() {
            writeln!(f, "\n{}", self.statistics)?;
        }
        writeln!(f, "\nprograms with")?;
        self.exercised.iter().try_for_each(|(what, n)| writeln!(f, "{n:10} {what}"))?;
        for (kind, (count, seed, program, found)) in &self.findings {
            writeln!(f, "\n=== {kind}: {count} found, the first of seed {seed}\n{}\n\n{program}", found.what)?;
            if let Some(kernel) = &found.kernel {
                writeln!(f, "\n{kernel}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;
    use crate::notation::case::{KINDS, STRUCTURED, Shape, chains};
    use crate::notation::engines::BOTH;
    use crate::notation::legal::{LEGAL, named};
    use crate::notation::long::data::LENGTHS;
    use crate::notation::long::program::{self, EXTENTS};
    use crate::notation::product::{Meeting, Target, Wanted};
    use fiberloom_codegen::OptLevel;
    use fiberloom_core::algebra::Type;

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
        let inside =
            names.iter().flat_map(|a| around[1..].iter().chain(&["alone"]).map(move |b| format!("{a} in {b}")));
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
        let operators: Vec<&String> =
            all.keys().filter(|k| k.starts_with("operator") || k.starts_with("type")).collect();
        assert_eq!(operators, ["operator *", "type f64"]);
        assert!(report.left.is_empty(), "every program says its extents");
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
}
