//! The product of all there is to exercise, and an order in which to walk it.
//!
//! ```text
//!  operator, type  ──× levels of arguments × where the variable goes──▶ a part ─┐   round 0   one of each part
//!  reduction, type ──× a level────────────────────────────────────────▶ a part ─┴─▶ round 1   another of each part
//!                                                                                   …         of each that has so many
//! ```
//!
//! An operator *meets* where its arguments have levels along one index variable. The product has what is legal and
//! nothing else: its factors are asked of the compiler (`legal.rs`). A part is walked with a stride near the golden
//! section of its length, each from another place, so that the beginning of the walk is spread over all columns.

use super::legal::{Call, LEGAL, named};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::format::LevelKind;
use std::fmt::{self, Display};
use std::sync::LazyLock;

/// Where the index variable of a meeting goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A level of the result.
    Level(LevelKind),
    /// A result without a declared format.
    Undeclared,
    /// It is folded.
    Folded,
}

impl Target {
    /// Every one that is legal.
    pub fn all() -> impl Iterator<Item = Target> {
        LEGAL.results.iter().copied().map(Target::Level).chain([Target::Undeclared, Target::Folded])
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Target::Level(k) => write!(f, "{}", k.name()),
            Target::Undeclared => write!(f, "undeclared"),
            Target::Folded => write!(f, "folded"),
        }
    }
}

/// An operator along one index variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Meeting {
    /// The operator.
    pub operator: Op,
    /// The levels of its last two arguments, or of its only one.
    pub levels: (LevelKind, Option<LevelKind>),
    /// Where the variable goes.
    pub into: Target,
    /// The type that the operator is asked for (`fiberloom_core::algebra::subject`).
    pub ty: Type,
}

/// A reduction over one index variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fold {
    /// Its function.
    pub function: &'static str,
    /// A level that is folded.
    pub level: LevelKind,
    /// The type of what is folded.
    pub ty: Type,
}

/// What a case can be asked to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// An operator.
    Meeting(Meeting),
    /// A reduction.
    Fold(Fold),
}

impl Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Wanted::Fold(Fold { function, level, ty }) => write!(f, "{function} over {}, {ty}", level.name()),
            Wanted::Meeting(Meeting { operator, levels: (a, b), into, ty }) => {
                write!(f, "{} of {}", named(*operator), a.name())?;
                b.iter().try_for_each(|b| write!(f, " with {}", b.name()))?;
                write!(f, " into {into}, {ty}")
            }
        }
    }
}

/// What an operator on a type can meet, or a reduction of a type can fold: each has a number.
struct Part {
    of: Of,
    len: usize,
    stride: usize,
}

enum Of {
    Call(&'static Call),
    Fold(&'static str, Type),
}

impl Part {
    fn new(of: Of, targets: usize) -> Part {
        let levels = LEGAL.operands.len();
        let len = match &of {
            Of::Call(call) => levels.pow(call.args.len().min(2) as u32) * targets,
            Of::Fold(..) => levels,
        };
        Part { of, len, stride: stride(len) }
    }

    /// The one of a number.
    fn at(&self, n: usize) -> Wanted {
        let level = |n: usize| LEGAL.operands[n % LEGAL.operands.len()];
        match &self.of {
            Of::Fold(function, ty) => Wanted::Fold(Fold { function, level: level(n), ty: *ty }),
            Of::Call(call) => {
                let (pair, into) = (n / WALK.targets.len(), WALK.targets[n % WALK.targets.len()]);
                let levels = match call.args.len() {
                    1 => (level(pair), None),
                    _ => (level(pair / LEGAL.operands.len()), Some(level(pair))),
                };
                Wanted::Meeting(Meeting { operator: call.op, levels, into, ty: call.ty })
            }
        }
    }
}

/// All parts, in rounds.
struct Walk {
    targets: Vec<Target>,
    parts: Vec<Part>,
    /// How many combinations come before each round, and at last how many there are.
    before: Vec<usize>,
}

static WALK: LazyLock<Walk> = LazyLock::new(|| {
    let targets: Vec<Target> = Target::all().collect();
    let calls = LEGAL.calls.iter().map(Of::Call);
    let folds = LEGAL.folds.iter().map(|(function, ty)| Of::Fold(function, *ty));
    let parts: Vec<Part> = calls.chain(folds).map(|of| Part::new(of, targets.len())).collect();
    let longest = parts.iter().map(|part| part.len).max().unwrap_or(0);
    let mut before = vec![0];
    for round in 0..longest {
        before.push(before[round] + parts.iter().filter(|part| round < part.len).count());
    }
    Walk { targets, parts, before }
});

/// How many combinations are legal.
pub fn count() -> usize {
    WALK.before[WALK.before.len() - 1]
}

/// Everything that is legal, each once.
pub fn all() -> impl Iterator<Item = Wanted> {
    WALK.parts.iter().flat_map(|part| (0..part.len).map(|n| part.at(n)))
}

/// What the program of this seed takes: as many consecutive seeds as there are combinations take each once.
pub fn nth(seed: u64) -> Wanted {
    let number = (seed % count() as u64) as usize;
    let round = WALK.before.partition_point(|before| *before <= number) - 1;
    let mut having = WALK.parts.iter().enumerate().filter(|(_, part)| round < part.len);
    let (n, part) = having.nth(number - WALK.before[round]).expect("a round has as many as are counted");
    // So many rounds have every target, for all but a few strides.
    part.at((round + WALK.targets.len() * n) * part.stride % part.len)
}

/// The number without a common divisor that is next to the golden section.
fn stride(len: usize) -> usize {
    let divisor = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let near = (len as f64 * 0.618_033_988_749_895) as usize;
    (near..).find(|n| divisor(*n, len) == 1).expect("there are primes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_meets_each_once() {
        let mut walked: Vec<Wanted> = (77..77 + count() as u64).map(nth).collect();
        let mut each: Vec<Wanted> = all().collect();
        walked.sort_unstable();
        each.sort_unstable();
        assert!(walked == each && each.windows(2).all(|pair| pair[0] < pair[1]));
        let (levels, targets) = (LEGAL.operands.len(), Target::all().count());
        let arguments = LEGAL.calls.iter().map(|c| c.args.len().min(2) as u32);
        let calls: usize = arguments.map(|n| levels.pow(n) * targets).sum();
        assert_eq!(count(), calls + levels * LEGAL.folds.len(), "{levels} levels, {targets} targets");
    }
}
