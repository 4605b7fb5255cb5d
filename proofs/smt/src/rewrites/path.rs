//! Paths: data are drawn by the solver, and every open condition of a run goes as it does for them.
//!
//! ```text
//!  explore ─▶ run on data ──decide──▶ each open condition goes as for these data: a path
//!               ▲                        │
//!               ╰── data that leave it? ─╯  none: the next path above it, until all that leave were seen
//! ```
//!
//! Each path has data on it, so that what is proved is proved of something. Every question is asked of a fresh solver: one that is
//! reused gave models that break what it was told.

use super::scalar::{Bits, Scalar};
use super::truth::Truth;
use crate::domain::{Reply, STEPS, asked};
use fiberloom_core::algebra::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use z3::ast::{Ast, Bool};
use z3::{Model, Solver};

/// What a validation may use.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Time for all paths.
    pub time: Duration,
    /// Paths.
    pub paths: usize,
    /// Statements and turns of one path.
    pub steps: u64,
}

/// Five seconds.
impl Default for Budget {
    fn default() -> Budget {
        Budget { time: Duration::from_secs(5), paths: 2_000, steps: 20_000 }
    }
}

/// Why nothing is proved and nothing refuted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gave {
    /// Time is over, or the solver's was.
    Time,
    /// There are more paths than may be.
    Paths,
    /// A path is longer than may be.
    Steps,
    /// What cannot be asked, in words.
    Unasked(&'static str),
}

/// What a model says of a condition.
fn says(data: &Model, condition: &Bool) -> Option<bool> {
    data.eval(condition, true)?.as_bool()
}

/// Data do not decide a condition.
const UNDECIDED: Gave = Gave::Unasked("a condition that data do not decide");

/// A path that was seen.
struct Seen {
    conditions: Vec<Bool>,
    /// Those of them at which nobody has left it.
    untried: Vec<usize>,
}

impl Seen {
    /// What holds of data that leave it at a condition where nobody has: it holds up to there and not there.
    fn left(&self) -> Vec<Bool> {
        let Some(first) = self.untried.first() else { return vec![Bool::from_bool(false)] };
        let leaves = self.untried.iter().rev().fold(Bool::from_bool(false), |later, i| {
            let next = self.untried.iter().find(|j| *j > i).copied().unwrap_or(self.conditions.len());
            let stays: Vec<&Bool> = self.conditions[*i..next].iter().chain([&later]).collect();
            Bool::or(&[self.conditions[*i].not(), Bool::and(&stays)])
        });
        self.conditions[..*first].iter().cloned().chain([leaves]).collect()
    }
}

/// The path of a run, and those before it.
pub struct Path {
    budget: Budget,
    begun: Instant,
    /// What holds on every path.
    invariants: Vec<Bool>,
    /// The data of this run.
    data: Option<Model>,
    /// Conditions that were decided on this path, and how.
    decided: HashMap<Bool, bool>,
    /// They as they hold.
    conditions: Vec<Bool>,
}

impl Path {
    /// Before the first run.
    pub fn new(invariants: Vec<Bool>, budget: Budget) -> Path {
        let begun = Instant::now();
        Path { budget, begun, invariants, data: None, decided: HashMap::new(), conditions: vec![] }
    }

    /// Runs along each path, until one ends with something, and says on how many.
    ///
    /// # Errors
    /// As the runs, or a limit.
    ///
    /// # Panics
    /// The invariants contradict each other: everything would be true of nothing.
    pub fn explore<T>(
        &mut self,
        mut run: impl FnMut(&mut Path) -> Result<Option<T>, Gave>,
    ) -> Result<(usize, Option<T>), Gave> {
        let first = self.ask([])?;
        self.data = Some(first.unwrap_or_else(|| panic!("no data satisfy the invariants")));
        let (mut paths, mut seen, mut fixed) = (0, Vec::<Seen>::new(), 0);
        loop {
            (self.decided, self.conditions) = (HashMap::new(), vec![]);
            paths += 1;
            if let Some(found) = run(self)? {
                return Ok((paths, Some(found)));
            }
            let conditions = std::mem::take(&mut self.conditions);
            seen.push(Seen { untried: (fixed..conditions.len()).collect(), conditions });
            let Some(next) = self.leave(&mut seen)? else { return Ok((paths, None)) };
            fixed = next;
            if paths == self.budget.paths {
                return Err(Gave::Paths);
            }
        }
    }

    /// Draws data that leave the last of the paths which some leave, and says how many conditions are then decided; `None` if all
    /// paths were seen.
    fn leave(&mut self, seen: &mut Vec<Seen>) -> Result<Option<usize>, Gave> {
        while let Some(path) = seen.last_mut() {
            if let Some(data) = self.ask(&path.left())? {
                let fails = |i: &usize| says(&data, &path.conditions[*i]) == Some(false);
                let at = (0..path.conditions.len()).find(fails).ok_or(UNDECIDED)?;
                path.untried.retain(|i| *i != at);
                self.data = Some(data);
                return Ok(Some(at + 1));
            }
            seen.pop();
        }
        Ok(None)
    }

    /// Which way a condition goes on this path.
    ///
    /// # Errors
    /// Nothing says it.
    pub fn decide(&mut self, condition: &Truth) -> Result<bool, Gave> {
        let condition = match condition {
            Truth::Known(b) => return Ok(*b),
            Truth::Open(term) => term.simplify(),
        };
        if let Some(known) = condition.as_bool().or_else(|| self.decided.get(&condition).copied()) {
            return Ok(known);
        }
        let holds = self.data.as_ref().and_then(|data| says(data, &condition)).ok_or(UNDECIDED)?;
        let fails = condition.not().simplify();
        self.conditions.push(if holds { condition.clone() } else { fails.clone() });
        self.decided.insert(condition, holds);
        self.decided.insert(fails, !holds);
        Ok(holds)
    }

    /// Which number an integer is on this path.
    ///
    /// # Errors
    /// Nothing says it.
    pub fn pick(&mut self, x: &Scalar) -> Result<i64, Gave> {
        let said = match x {
            Scalar::Bits(Bits { ty, .. }) => {
                let bits = self.data.as_ref().and_then(|data| data.eval(&x.term(), true)?.simplify().as_u64());
                Value::from_bits(*ty, bits.ok_or(UNDECIDED)?)
            }
            other => other.known().unwrap_or(Value::i64(0)),
        };
        let said = said.as_i64().unwrap_or(i64::MAX);
        self.decide(&x.is(said))?;
        Ok(said)
    }

    /// The data of this run.
    pub fn data(&self) -> Option<&Model> {
        self.data.as_ref()
    }

    /// Data on this path for which a condition holds, if there are any.
    ///
    /// # Errors
    /// The solver does not say.
    pub fn model(&self, condition: &Truth) -> Result<Option<Model>, Gave> {
        if condition.known() == Some(false) {
            return Ok(None);
        }
        self.ask(self.conditions.iter().chain([&condition.term()]))
    }

    /// Data that satisfy the invariants and some conditions: a question of as many steps as the time that is left has, about.
    fn ask<'c>(&'c self, conditions: impl IntoIterator<Item = &'c Bool>) -> Result<Option<Model>, Gave> {
        let steps = (STEPS as f64 * self.left()?.as_secs_f64().clamp(0.01, 1000.0)) as u32;
        match asked(Solver::new(), steps, self.invariants.iter().chain(conditions)) {
            Reply::Never => Ok(None),
            Reply::Unknown(_) => Err(Gave::Time),
            Reply::Example(data) => Ok(Some(data)),
        }
    }

    /// The time that is left.
    ///
    /// # Errors
    /// None is.
    pub fn left(&self) -> Result<Duration, Gave> {
        self.budget.time.checked_sub(self.begun.elapsed()).ok_or(Gave::Time)
    }

    /// Steps that a run along a path may take.
    pub fn steps(&self) -> u64 {
        self.budget.steps
    }
}
