//! What came of many pairs of kernels.

use super::operands::Coordinates;
use super::path::{Budget, Gave};
use super::programs::{Pair, Program};
use super::replay::Counterexample;
use super::{Verdict, validate};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Counts, and what was found.
#[derive(Default)]
pub struct Tally {
    /// Programs.
    pub programs: usize,
    /// Pairs that are one and the same kernel: nothing is asked.
    pub unchanged: usize,
    /// Pairs by rewrite: those proved, and all that were asked.
    pub rewrites: BTreeMap<&'static str, [usize; 2]>,
    /// Pairs proved.
    pub proved: usize,
    /// Those of them for any coordinates.
    pub any_coordinates: usize,
    /// Their paths.
    pub paths: usize,
    /// Those on which the kernel before the rewrite has no meaning.
    pub without_meaning: usize,
    /// Pairs of which nothing is known, and why.
    pub gave: BTreeMap<Gave, usize>,
    /// Their programs and rewrites.
    pub unknown: Vec<(String, &'static str, Gave)>,
    /// Programs without kernels or data, and why.
    pub left: BTreeMap<&'static str, usize>,
    /// Pairs that the solver says differ and the machine does not: their programs and rewrites.
    pub unconfirmed: Vec<(String, &'static str)>,
    /// Pairs that differ.
    pub refuted: Vec<(String, &'static str, Counterexample)>,
    /// How long each proof took.
    pub times: Vec<Duration>,
}

impl Tally {
    /// Validates each rewrite of a program whose name begins so.
    pub fn program(&mut self, program: &Program, only: &str, budget: Budget) {
        self.programs += 1;
        let wanted = |pair: &&Pair| pair.rewrite.starts_with(only);
        match program.pairs() {
            Ok(pairs) => pairs.iter().filter(wanted).for_each(|pair| self.pair(program, pair, budget)),
            Err(why) => self.left(why),
        }
    }

    /// A program that has no kernel or no data.
    pub fn left(&mut self, why: &'static str) {
        *self.left.entry(why).or_default() += 1;
    }

    /// Validates one.
    pub fn pair(&mut self, program: &Program, pair: &Pair, budget: Budget) {
        if pair.before == pair.after {
            self.unchanged += 1;
            return;
        }
        let bound = match program.bound(&pair.before) {
            Ok(bound) => bound,
            Err(why) => return self.left(why),
        };
        let begun = Instant::now();
        let of_rewrite = self.rewrites.entry(pair.rewrite).or_default();
        of_rewrite[1] += 1;
        match validate(&pair.before, &pair.after, &bound, budget) {
            Verdict::Proved { coordinates, paths, without_meaning } => {
                self.any_coordinates += (coordinates == Coordinates::Any) as usize;
                of_rewrite[0] += 1;
                self.proved += 1;
                self.paths += paths;
                self.without_meaning += without_meaning;
                self.times.push(begun.elapsed());
            }
            Verdict::Refuted(found) => self.refuted.push((program.name.clone(), pair.rewrite, *found)),
            Verdict::Unconfirmed => self.unconfirmed.push((program.name.clone(), pair.rewrite)),
            Verdict::Gave(gave) => {
                *self.gave.entry(gave).or_default() += 1;
                self.unknown.push((program.name.clone(), pair.rewrite, gave));
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut times = self.times.clone();
        times.sort();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        writeln!(f, "{} programs, {} pairs unchanged", self.programs, self.unchanged)?;
        let (paths, without) = (self.paths, self.without_meaning);
        writeln!(
            f,
            "{} proved, {} for any coordinates, {paths} paths, {without} without meaning, median {median:.2?}",
            self.proved, self.any_coordinates
        )?;
        self.rewrites.iter().try_for_each(|(name, [proved, all])| writeln!(f, "{proved:8} of {all} {name}"))?;
        for (gave, n) in &self.gave {
            match gave {
                Gave::Time => writeln!(f, "{n:8} out of time")?,
                Gave::Paths => writeln!(f, "{n:8} of too many paths")?,
                Gave::Steps => writeln!(f, "{n:8} of too many steps")?,
                Gave::Unasked(why) => writeln!(f, "{n:8} not asked: {why}")?,
            }
        }
        self.left.iter().try_for_each(|(why, n)| writeln!(f, "{n:8} programs left: {why}"))?;
        writeln!(f, "{:8} unconfirmed", self.unconfirmed.len())?;
        self.unconfirmed.iter().try_for_each(|(name, rewrite)| writeln!(f, "         {rewrite}: {name}"))?;
        writeln!(f, "{:8} refuted", self.refuted.len())?;
        self.refuted.iter().try_for_each(|(name, rewrite, found)| writeln!(f, "=== {rewrite}: {name}\n{found}"))
    }
}
