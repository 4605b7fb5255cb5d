//! Many cases from a seed, what they exercised, and the findings, one of each kind.

use super::case::{case, chain, compared, contraction, directed, nested, pointwise, products, scheduled};
use super::engines::{Engine, Finding, Outcome, on_other_data};
use super::gradients::Moved;
use super::growth::Grown;
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
    /// Sums of products of which blocks of a GPU run loops, with workspaces (`looped.rs`).
    Blocks,
    /// Cases of which a GPU's units run loops: warps, their lanes, parts of warps, blocks (`looped.rs`).
    Units,
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
    /// Programs whose operations are counted at several extents, and are to grow as their entries do (`growth.rs`).
    Growth,
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
                2 | 3 => self.run(wanted, seed, Looped::blocks(u)),
                _ => self.run(wanted, seed, Looped::any(u)),
            },
            Walk::Blocks => self.run(wanted, seed, Looped::blocks(u)),
            Walk::Units => self.run(wanted, seed, Looped::units(u)),
            Walk::Tables => self.run(wanted, seed, Labelled::any(u)),
            Walk::Growth => self.run(wanted, seed, Grown::any(u)),
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
