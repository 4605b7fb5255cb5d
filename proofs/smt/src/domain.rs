//! What both readings share: questions to the solver, and what comes of them.

use fiberloom_proofs::claims::{Data, Law};
use std::fmt;
use z3::ast::Bool;
use z3::{Model, Params, SatResult, Solver};

/// Steps that a solver for a logic may take, then a general one, then the first again. A few questions of thousands
/// take one of them a minute, and the other no time.
const PATIENCE: [(bool, u32); 3] = [(true, 2 * STEPS), (false, 60 * STEPS), (true, 60 * STEPS)];

/// Steps of the solver (its resource limit), about a second's. Its clock is not used: the threads that watch it for two solvers
/// at once can wait for one another forever (4.8.12), and an answer would depend on what else a machine does.
pub(crate) const STEPS: u32 = 400_000;

/// What the solver says of facts.
pub enum Reply {
    /// They cannot all hold.
    Never,
    /// They hold of this.
    Example(Model),
    /// Neither is found.
    Unknown(String),
}

/// Asks whether facts can all hold, of a fresh solver: one that is asked several things (`push`, `pop`) gives models in
/// 4.8.12 that break what was asserted.
pub fn ask<'f>(logic: &str, facts: impl IntoIterator<Item = &'f Bool>) -> Reply {
    let facts: Vec<&Bool> = facts.into_iter().collect();
    let mut reply = Reply::Unknown(String::new());
    for (own, steps) in PATIENCE {
        let solver = Some(logic).filter(|_| own).and_then(Solver::new_for_logic).unwrap_or_default();
        reply = asked(solver, steps, facts.iter().copied());
        if !matches!(reply, Reply::Unknown(_)) {
            break;
        }
    }
    reply
}

/// Asks a fresh solver whether facts can all hold, for so many steps.
pub(crate) fn asked<'f>(solver: Solver, steps: u32, facts: impl IntoIterator<Item = &'f Bool>) -> Reply {
    let mut params = Params::new();
    params.set_u32("rlimit", steps);
    solver.set_params(&params);
    facts.into_iter().for_each(|fact| solver.assert(fact));
    match solver.check() {
        SatResult::Unsat => Reply::Never,
        SatResult::Sat => solver.get_model().map_or(Reply::Unknown("no model".to_string()), Reply::Example),
        SatResult::Unknown => Reply::Unknown(solver.get_reason_unknown().unwrap_or_default()),
    }
}

/// What comes of a law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Every claim holds.
    Proved {
        /// Ways through the text, of which each was asked; or turns of the search for invariants.
        paths: usize,
        /// Questions to the solver.
        questions: usize,
    },
    /// A claim does not hold.
    Refuted {
        /// The claim, as the solver sees it.
        said: &'static str,
        /// Of what; none where no data are known.
        of: Option<Data>,
    },
    /// No data do what the law assumes: a claim over nothing.
    Void,
    /// The solver does not know.
    Unknown(String),
}

impl Answer {
    /// Whether every claim holds.
    pub fn is_proved(&self) -> bool {
        matches!(self, Answer::Proved { .. })
    }

    /// Whether a claim does not hold, of data on which `Concrete` says so too.
    ///
    /// # Panics
    /// If `Concrete` says otherwise: one of the readings is wrong.
    pub fn is_refuted<L: Law>(&self, fuel: u32) -> bool {
        let Answer::Refuted { said, of: Some(data) } = self else { return false };
        let replayed = data.run::<L>(fuel).and(data.run_to_the_end::<L>(fuel));
        assert!(replayed.is_err(), "{}: the solver says `{said}` of {data:?}, but it runs: {replayed:?}", L::NAME);
        println!("{}: {said} ({})\n{}", L::NAME, replayed.expect_err("just seen"), Shown(data));
        true
    }
}

/// Data, readably.
struct Shown<'d>(&'d Data);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (n, array) in self.0.arrays.iter().enumerate() {
            writeln!(f, "  array {n}    {:?}", &array[1..array.len() - 1])?;
        }
        write!(f, "  numbers    {:?}", self.0.numbers)
    }
}
