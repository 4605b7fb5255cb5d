//! Rewrites of loops, validated: a kernel before and after one computes the same.
//!
//! ```text
//!  kernel before ─┐                       ┌─ proved       for these lengths of rows, any coordinates and values
//!                 ├─ run on each path ──▶ ├─ refuted      by data on which the machine sees the two differ
//!  kernel after ──┘  as terms             ├─ unconfirmed  the solver says that they differ, the machine sees no difference
//!                                         └─ gave up      over the budget, or not asked, and why
//! ```
//!
//! Both kernels run along one path: what the first decided holds for the second. On each path the solver is asked whether an element
//! of a result can differ. A kernel that breaks a rule of the machine has no meaning that a rewrite could keep: what breaks one before
//! the rewrite is no claim, and counted.
//!
//! *What a proof is of.* Extents, lengths of rows and what else [`operands`] keeps are those of the data at hand. Floats are a ring of
//! 2⁴ numbers, so that what is proved of sums and products holds modulo 2⁴; rounding, NaN and the sign of zero are not looked at. It
//! says nothing of how lowering made the first kernel.
pub mod functions;
pub mod memory;
pub mod operands;
pub mod path;
pub mod programs;
pub mod replay;
pub mod run;
pub mod scalar;
pub mod tally;
pub mod truth;
pub mod turns;

use fiberloom_loops::{Bound, Kernel, Role};
use memory::Buffer;
use operands::{Coordinates, Operands};
use path::{Budget, Gave, Path};
use replay::Counterexample;
use run::{End, Halt, Rules, run};
use truth::Truth;
use z3::Model;

/// What came of a pair of kernels.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// They compute the same on so many paths; on so many more the first breaks a rule.
    Proved {
        /// On data of which coordinates.
        coordinates: Coordinates,
        /// Paths.
        paths: usize,
        /// Those on which the kernel before the rewrite has no meaning.
        without_meaning: usize,
    },
    /// They differ.
    Refuted(Box<Counterexample>),
    /// The solver's data show the machine no difference: floats are no ring of 2⁴ numbers, functions are not any functions.
    Unconfirmed,
    /// Nothing is known.
    Gave(Gave),
}

/// Compares a kernel with what a rewrite made of it, on data like those that are bound to them: with any coordinates or, where that takes
/// more than half of the budget, with the data's.
pub fn validate(before: &Kernel, after: &Kernel, bound: &Bound, budget: Budget) -> Verdict {
    let half = Budget { time: budget.time / 2, ..budget };
    match validate_with(before, after, (bound, Coordinates::Any), half) {
        Verdict::Gave(Gave::Unasked(why)) => Verdict::Gave(Gave::Unasked(why)),
        Verdict::Gave(_) => validate_with(before, after, (bound, Coordinates::Given), half),
        verdict => verdict,
    }
}

fn validate_with(
    before: &Kernel,
    after: &Kernel,
    (bound, coordinates): (&Bound, Coordinates),
    budget: Budget,
) -> Verdict {
    let Some(operands) = Operands::like(before, bound, coordinates) else {
        return Verdict::Gave(Gave::Unasked("data of many elements"));
    };
    match compare(before, after, &operands, budget) {
        Ok(Verdict::Proved { paths, without_meaning, .. }) => Verdict::Proved { coordinates, paths, without_meaning },
        Ok(verdict) => verdict,
        Err(gave) => Verdict::Gave(gave),
    }
}

fn compare(before: &Kernel, after: &Kernel, operands: &Operands, budget: Budget) -> Result<Verdict, Gave> {
    let mut without_meaning = 0;
    let mut path = Path::new(operands.invariants.clone(), budget);
    let (paths, found) = path.explore(|path| {
        let first = run(before, &operands.given, Rules::Watched, path).buffers;
        match first {
            Err(Halt::Gave(gave)) => Err(gave),
            Err(Halt::Broken(_)) => {
                without_meaning += 1;
                Ok(None)
            }
            first => difference(&first, &run(after, &operands.given, Rules::Claimed, path), path),
        }
    })?;
    Ok(match found {
        None if without_meaning == paths => {
            Verdict::Gave(Gave::Unasked("a kernel that has no meaning before the rewrite"))
        }
        None => Verdict::Proved { coordinates: Coordinates::Any, paths, without_meaning },
        Some(model) => match replay::replay(before, after, operands, &model) {
            Some(counterexample) => Verdict::Refuted(Box::new(counterexample)),
            None => Verdict::Unconfirmed,
        },
    })
}

/// Data on this path for which the second run breaks a rule, or ends otherwise than the first.
fn difference(first: &Result<Vec<Buffer>, Halt>, second: &End, path: &Path) -> Result<Option<Model>, Gave> {
    let same = match (first, &second.buffers) {
        (_, Err(Halt::Gave(gave))) => return Err(*gave),
        (Ok(a), Ok(b)) => {
            let results = a.iter().zip(b).filter(|(a, _)| a.role == Role::Result);
            results.fold(Truth::YES, |all, (a, b)| all.and(&a.same(b)))
        }
        (Err(a), Err(b)) => Truth::Known(a == b),
        _ => Truth::NO,
    };
    path.model(&!&same.and(&second.claims))
}
