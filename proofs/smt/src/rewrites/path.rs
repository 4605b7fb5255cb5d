//! Paths: which way each open condition is decided, and what the solver says of it.
//!
//! ```text
//!  explore ──▶ run ──decide(c)──▶ decided before? ──▶ as then
//!                                 else both ways possible? ──▶ the first way now, the other in a later run
//!                                 else ──▶ the only way
//! ```
//!
//! A run is repeated from its beginning for each path. Every question is asked of a fresh solver: one that is reused gave
//! models that break what it was told.

use super::scalar::Scalar;
use super::truth::Truth;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use z3::ast::{Ast, Bool};
use z3::{Model, Params, SatResult, Solver};

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

/// No data are on a path.
#[derive(Clone, Copy, Debug)]
pub struct Impossible;

/// What a model says of a condition.
fn says(model: &Model, condition: &Bool) -> Option<bool> {
    model.eval(condition, true)?.as_bool()
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

struct Choice {
    taken: bool,
    /// Whether the other way is possible too, and not explored.
    other: bool,
}

/// Models that are kept: each answers questions that need not be asked.
const KEPT: usize = 24;

/// The path of a run, and those to come.
pub struct Path {
    budget: Budget,
    begun: Instant,
    invariants: Vec<Bool>,
    plan: Vec<Choice>,
    /// Models of the invariants, and which of them are on this path.
    models: Vec<Rc<Model>>,
    here: Vec<usize>,
    at: usize,
    decided: HashMap<Bool, bool>,
    conditions: Vec<Bool>,
    /// Questions that were asked.
    pub questions: usize,
}

impl Path {
    /// Before the first run. The invariants hold on every path.
    ///
    /// # Errors
    /// Nothing is known of whether the invariants can hold.
    ///
    /// # Panics
    /// The invariants contradict each other: everything would be true of nothing.
    pub fn new(invariants: Vec<Bool>, budget: Budget) -> Result<Path, Gave> {
        let mut path = Path {
            budget,
            begun: Instant::now(),
            invariants,
            plan: vec![],
            models: vec![],
            here: vec![],
            at: 0,
            decided: HashMap::new(),
            conditions: vec![],
            questions: 0,
        };
        assert!(path.model(&Truth::YES)?.is_some(), "no data satisfy the invariants");
        Ok(path)
    }

    /// Runs along each path, until one ends with something.
    ///
    /// # Errors
    /// As the runs, or the limit on paths.
    pub fn explore<T>(&mut self, mut run: impl FnMut(&mut Path) -> Result<Option<T>, Gave>) -> Result<Option<T>, Gave> {
        for _ in 0..self.budget.paths {
            (self.at, self.decided, self.conditions) = (0, HashMap::new(), vec![]);
            self.models.drain(..self.models.len().saturating_sub(KEPT));
            self.here = (0..self.models.len()).collect();
            if let Some(found) = run(self)? {
                return Ok(Some(found));
            }
            while self.plan.last().is_some_and(|choice| !choice.other) {
                self.plan.pop();
            }
            let Some(last) = self.plan.last_mut() else { return Ok(None) };
            *last = Choice { taken: !last.taken, other: false };
        }
        Err(Gave::Paths)
    }

    /// Which way a condition goes on this path.
    ///
    /// # Errors
    /// The solver does not say whether a way is possible.
    pub fn decide(&mut self, condition: &Truth) -> Result<bool, Gave> {
        let condition = match condition {
            Truth::Known(b) => return Ok(*b),
            Truth::Open(term) => term.simplify(),
        };
        if let Some(known) = condition.as_bool().or_else(|| self.decided.get(&condition).copied()) {
            return Ok(known);
        }
        if self.at == self.plan.len() {
            let choice = self.choose(&condition)?;
            self.plan.push(choice);
        }
        let taken = self.plan[self.at].taken;
        self.at += 1;
        self.hold(&condition, taken);
        Ok(taken)
    }

    /// This path is of data alone for which a condition holds.
    ///
    /// # Errors
    /// There are none.
    pub fn assume(&mut self, condition: &Truth) -> Result<(), Impossible> {
        let condition = match condition {
            Truth::Known(true) => return Ok(()),
            Truth::Known(false) => return Err(Impossible),
            Truth::Open(term) => term.simplify(),
        };
        match condition.as_bool().or_else(|| self.decided.get(&condition).copied()) {
            Some(true) => Ok(()),
            Some(false) => Err(Impossible),
            None => {
                self.hold(&condition, true);
                Ok(())
            }
        }
    }

    /// Notes how a condition goes.
    fn hold(&mut self, condition: &Bool, taken: bool) {
        let (holds, fails) = (condition.clone(), condition.not().simplify());
        let held = if taken { holds.clone() } else { fails.clone() };
        let models = &self.models;
        self.here.retain(|m| says(&models[*m], &held) == Some(true));
        self.conditions.push(held);
        self.decided.insert(holds, taken);
        self.decided.insert(fails, !taken);
    }

    fn choose(&mut self, condition: &Bool) -> Result<Choice, Gave> {
        let holds = Truth::Open(condition.clone());
        if self.model(&holds)?.is_none() {
            return Ok(Choice { taken: false, other: false });
        }
        let other = self.model(&!&holds)?.is_some();
        Ok(Choice { taken: true, other })
    }

    /// Which number an integer is on this path.
    ///
    /// # Errors
    /// It may be one of too many.
    pub fn pick(&mut self, x: &Scalar) -> Result<i64, Gave> {
        if let Some(known) = x.known() {
            return Ok(known.as_i64().unwrap_or(0));
        }
        let (least, most) = x.within();
        if most - least > 64 {
            return Err(Gave::Unasked("a length that is any number"));
        }
        for k in least..most {
            if self.decide(&x.is(k as i64))? {
                return Ok(k as i64);
            }
        }
        Ok(most as i64)
    }

    /// Data on this path for which a condition holds, if there are any.
    ///
    /// # Errors
    /// The solver does not say.
    pub fn model(&mut self, condition: &Truth) -> Result<Option<Rc<Model>>, Gave> {
        if condition.known() == Some(false) {
            return Ok(None);
        }
        let condition = condition.term();
        if let Some(m) = self.here.iter().find(|m| says(&self.models[**m], &condition) == Some(true)) {
            return Ok(Some(self.models[*m].clone()));
        }
        let left = self.left()?;
        self.questions += 1;
        let solver = Solver::new();
        let mut params = Params::new();
        params.set_u32("timeout", (left.as_millis() as u32).max(1));
        solver.set_params(&params);
        self.invariants.iter().chain(&self.conditions).for_each(|held| solver.assert(held));
        solver.assert(condition);
        match solver.check() {
            SatResult::Unsat => Ok(None),
            SatResult::Unknown => Err(Gave::Time),
            SatResult::Sat => {
                let model = Rc::new(solver.get_model().ok_or(Gave::Time)?);
                self.here.push(self.models.len());
                self.models.push(model.clone());
                Ok(Some(model))
            }
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
