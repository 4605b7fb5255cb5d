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

use fiberloom_core::loops::{Bound, Kernel, Role};
use memory::Buffer;
use operands::Operands;
use path::{Budget, Gave, Path};
use replay::Counterexample;
use run::{Halt, run};
use truth::Truth;
use z3::Model;

/// What came of a pair of kernels.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// They compute the same on so many paths; on so many more the first breaks a rule.
    Proved {
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

/// Compares a kernel with what a rewrite made of it, on data like those that are bound to them.
pub fn validate(before: &Kernel, after: &Kernel, bound: &Bound, budget: Budget) -> Verdict {
    let Some(operands) = Operands::like(before, bound) else {
        return Verdict::Gave(Gave::Unasked("data of many elements"));
    };
    compare(before, after, &operands, budget).unwrap_or_else(Verdict::Gave)
}

fn compare(before: &Kernel, after: &Kernel, operands: &Operands, budget: Budget) -> Result<Verdict, Gave> {
    let mut path = Path::new(operands.invariants.clone(), budget)?;
    let (mut paths, mut without_meaning) = (0, 0);
    let found = path.explore(|path| {
        paths += 1;
        let first = match run(before, &operands.given, path) {
            Err(Halt::Gave(gave)) => return Err(gave),
            Err(Halt::Broken(_)) => {
                without_meaning += 1;
                return Ok(None);
            }
            ended => ended,
        };
        let second = match run(after, &operands.given, path) {
            Err(Halt::Gave(gave)) => return Err(gave),
            ended => ended,
        };
        difference(&first, &second, path)
    })?;
    Ok(match found {
        None => Verdict::Proved { paths, without_meaning },
        Some(model) => match replay::replay(before, after, operands, &model) {
            Some(counterexample) => Verdict::Refuted(Box::new(counterexample)),
            None => Verdict::Unconfirmed,
        },
    })
}

type Ended = Result<Vec<Buffer>, Halt>;

/// Data on this path for which the ends of two runs differ.
fn difference(first: &Ended, second: &Ended, path: &mut Path) -> Result<Option<Model>, Gave> {
    let same = match (first, second) {
        (Ok(a), Ok(b)) => {
            let results = a.iter().zip(b).filter(|(a, _)| a.role == Role::Result);
            results.fold(Truth::YES, |all, (a, b)| all.and(&a.same(b)))
        }
        (Err(a), Err(b)) => Truth::Known(a == b),
        _ => Truth::NO,
    };
    path.model(&!&same)
}
