//! Many cases from a seed, what they exercised, and the findings, one of each kind.

use super::case::{Case, Expr, case};
use super::engines::{Engine, Finding, run};
use super::shrink::shrink;
use super::statistics::Statistics;
use arbitrary::Unstructured;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};

/// Bytes that a case is made of.
const BYTES: usize = 600;

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// How many cases.
    pub programs: u64,
    /// On which engine.
    pub engine: Engine,
    /// The first case's; each next one's is one more.
    pub seed: u64,
    /// How many run at once.
    pub threads: u64,
}

/// What came of a campaign.
#[derive(Debug, Default)]
pub struct Report {
    /// Cases run.
    pub programs: u64,
    /// Those in which nothing says an extent.
    pub unknown: u64,
    /// Operations of interpreted loops.
    pub ops: u64,
    /// What operators met.
    pub statistics: Statistics,
    /// In how many cases each construct stood.
    pub exercised: BTreeMap<String, u64>,
    /// A shrunk case of each kind, and how many there were.
    pub findings: BTreeMap<&'static str, (u64, u64, Case, Finding)>,
    /// How long it took.
    pub took: Duration,
}

/// Runs it.
pub fn campaign(wanted: &Campaign) -> Report {
    let begun = Instant::now();
    let mut report = Report::default();
    std::thread::scope(|scope| {
        let part = |n| move || part(wanted, n);
        let parts: Vec<_> = (0..wanted.threads).map(|n| scope.spawn(part(n))).collect();
        for p in parts {
            report.join(p.join().expect("panics of cases are caught"));
        }
    });
    report.took = begun.elapsed();
    report
}

fn part(wanted: &Campaign, n: u64) -> Report {
    let mut report = Report::default();
    let mut seed = wanted.seed + n;
    while seed < wanted.seed + wanted.programs {
        let case = case(&mut Unstructured::new(&crate::bytes(seed, BYTES)));
        report.programs += 1;
        report.statistics.count(&case);
        for construct in constructs(&case) {
            *report.exercised.entry(construct).or_default() += 1;
        }
        match run(&case, wanted.engine) {
            Ok(Some(ops)) => report.ops += ops,
            Ok(None) => report.unknown += 1,
            Err(found) => match report.findings.get_mut(found.kind) {
                Some((count, ..)) => *count += 1,
                None => {
                    let kind = found.kind;
                    let (case, found) = shrink(case, found, wanted.engine);
                    report.findings.insert(kind, (1, seed, case, found));
                }
            },
        }
        seed += wanted.threads;
    }
    report
}

impl Report {
    fn join(&mut self, other: Report) {
        self.programs += other.programs;
        self.unknown += other.unknown;
        self.ops += other.ops;
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

/// Words for what stands in a case: what statistics count, and what a test wants reachable.
fn constructs(case: &Case) -> Vec<String> {
    let mut all = std::collections::BTreeSet::new();
    for s in &case.statements {
        let ty = case.tensors[s.tensor].ty;
        all.insert(format!("type {ty}"));
        all.insert(format!("result rank {}", s.vars.len()));
        all.extend((!s.places.is_empty()).then(|| "scatter".to_string()));
        all.extend(s.adds.then(|| "+=".to_string()));
        all.extend(s.local.then(|| "where".to_string()));
        s.rhs.walk(&mut |e| {
            let word = match e {
                Expr::Literal(_) => "literal".into(),
                Expr::Var(..) => "index value".into(),
                Expr::Access(t, to, vars) => {
                    all.extend(to.map(|_| "convert".to_string()));
                    let repeats = (1..vars.len()).any(|m| vars[..m].contains(&vars[m]));
                    all.extend(repeats.then(|| "repeated index".to_string()));
                    let of = if case.tensors[*t].is_operand() { "operand" } else { "earlier result" };
                    format!("{of} rank {}", vars.len())
                }
                Expr::Neg(_) => "neg".into(),
                Expr::Binary(op, ..) => format!("operator {op}"),
                Expr::Reduce(op, ..) => format!("reduction {op}"),
            };
            all.insert(word);
        });
    }
    for a in case.tensors.iter() {
        let of = if a.is_operand() { "operand" } else { "result" };
        all.extend((!a.is_operand() && a.entries.is_some()).then(|| "given result".to_string()));
        all.extend((a.fill != 0).then(|| format!("{of} fill")));
        match &a.format {
            None => all.extend(["result undeclared".to_string()]),
            Some(f) => {
                all.extend(f.levels.iter().map(|l| format!("{of} level {}", l.name())));
                if f.rank() == 2 {
                    all.insert(format!(
                        "{of} {{{}}}",
                        f.levels.iter().map(|l| l.name()).collect::<Vec<_>>().join(", ")
                    ));
                }
                all.extend(f.order.iter().enumerate().any(|(l, m)| l != *m).then(|| format!("{of} order")));
            }
        }
        all.extend(a.wide.0.then(|| "64-bit positions".to_string()));
        all.extend(a.wide.1.then(|| "64-bit coordinates".to_string()));
    }
    all.into_iter().collect()
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let per_second = self.programs as f64 / self.took.as_secs_f64().max(1e-9);
        writeln!(f, "{} programs, {per_second:.0} a second, {} operations", self.programs, self.ops)?;
        writeln!(f, "{} without an extent that anything says", self.unknown)?;
        writeln!(f, "\n{}\nprograms with", self.statistics)?;
        self.exercised.iter().try_for_each(|(what, n)| writeln!(f, "{n:10} {what}"))?;
        for (kind, (count, seed, case, found)) in &self.findings {
            writeln!(f, "\n=== {kind}: {count} found, the first of seed {seed}\n{}\n\n{case}", found.what)?;
            for a in case.tensors.iter().enumerate().filter(|(t, _)| case.mentions(*t)).map(|(_, a)| a) {
                if let Some(entries) = &a.entries {
                    let extents: Vec<u64> = a.sizes.iter().map(|n| case.sizes[*n].0).collect();
                    writeln!(f, "{} {extents:?} wide {:?}: {entries:?}", a.name, a.wide)?;
                }
            }
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
    use crate::notation::case::{KINDS, operators};
    use crate::notation::statistics::{folds, meetings};
    use fiberloom_core::algebra::Type;

    fn run(programs: u64, engine: Engine) -> Report {
        let report = campaign(&Campaign { programs, engine, seed: 42, threads: 2 });
        assert!(report.findings.is_empty(), "{report}");
        report
    }

    /// Whatever the subset that is lowered has can be generated: each of these stands in some program of a short run.
    #[test]
    fn loops_answer_as_the_meaning_and_everything_is_reached() {
        let report = run(4000, Engine::Loops);
        let types = Type::ALL.iter().map(|t| format!("type {t}"));
        let pairs = KINDS.iter().flat_map(|outer| KINDS.iter().map(move |inner| [outer.name(), inner.name()]));
        let pairs = pairs.chain([["nonunique", "singleton"]]);
        let formats = pairs.flat_map(|[a, b]| ["operand", "result"].map(|of| format!("{of} {{{a}, {b}}}")));
        let operators = Type::ALL.iter().flat_map(|t| operators(*t)).map(|o| format!("operator {o}"));
        let reductions = ["sum", "prod", "min", "max", "any", "all"].iter().map(|r| format!("reduction {r}"));
        let others = [
            "+=",
            "where",
            "neg",
            "literal",
            "index value",
            "convert",
            "repeated index",
            "scatter",
            "given result",
            "operand fill",
            "result fill",
            "operand order",
            "result order",
            "result undeclared",
            "64-bit positions",
            "64-bit coordinates",
            "earlier result rank 0",
            "earlier result rank 2",
        ];
        let others = others.iter().map(|s| s.to_string());
        for construct in types.chain(formats).chain(operators).chain(reductions).chain(others) {
            let count = report.exercised.get(&construct).copied().unwrap_or(0);
            assert!(count > 0, "`{construct}` was never generated\n{report}");
        }
        // Their product is for longer runs.
        let (all, met) = (meetings().collect::<Vec<_>>(), report.statistics.meetings.keys().collect::<Vec<_>>());
        for m in all {
            let reached = met.iter().any(|s| s.pair == m.pair)
                && met.iter().any(|s| s.operator == m.operator)
                && met.iter().any(|s| s.into == m.into)
                && met.iter().any(|s| s.ty == m.ty);
            assert!(reached, "{m:?} was never generated\n{report}");
        }
        for fold in folds().map(|f| (f.function, f.level)) {
            assert!(report.statistics.folds.keys().any(|f| (f.function, f.level) == fold), "{fold:?}\n{report}");
        }
    }

    /// Two evaluations of the meaning, one of every coordinate and one of what is stored.
    #[test]
    fn the_meaning_over_what_is_stored_is_the_pointwise_one() {
        run(4000, Engine::Meaning);
    }

    #[test]
    fn machine_code_answers_as_the_meaning() {
        run(150, Engine::Llvm(false));
        run(20, Engine::Llvm(true));
    }
}
