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

use super::legal::{LEGAL, named};
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

static ALL: LazyLock<Vec<Wanted>> = LazyLock::new(|| {
    let parts: Vec<Vec<Wanted>> = meetings().chain(folds()).collect();
    let (longest, targets) = (parts.iter().map(Vec::len).max().unwrap_or(0), Target::all().count());
    // So many rounds have every target, for all but a few strides.
    let strides: Vec<usize> = parts.iter().map(|part| stride(part.len())).collect();
    let at = |n: usize, round: usize| parts[n][(round + targets * n) * strides[n] % parts[n].len()];
    let round = |round: usize| {
        let having = (0..parts.len()).filter(|n| round < parts[*n].len());
        having.map(|n| at(n, round)).collect::<Vec<_>>()
    };
    (0..longest).flat_map(round).collect()
});

/// The meetings of each operator on each type.
fn meetings() -> impl Iterator<Item = Vec<Wanted>> {
    let levels = &LEGAL.operands;
    LEGAL.calls.iter().map(move |call| {
        let right: Vec<Option<LevelKind>> = match call.args.len() {
            1 => vec![None],
            _ => levels.iter().copied().map(Some).collect(),
        };
        let pairs = levels.iter().flat_map(|a| right.iter().map(move |b| (*a, *b)));
        let meeting = |levels| {
            let into = move |into| Wanted::Meeting(Meeting { operator: call.op, levels, into, ty: call.ty });
            Target::all().map(into)
        };
        pairs.flat_map(meeting).collect()
    })
}

/// The folds of each reduction on each type.
fn folds() -> impl Iterator<Item = Vec<Wanted>> {
    LEGAL.folds.iter().map(|(function, ty)| {
        let fold = |level: &LevelKind| Wanted::Fold(Fold { function, level: *level, ty: *ty });
        LEGAL.operands.iter().map(fold).collect()
    })
}

/// Everything that is legal, each once, in the order of the walk.
pub fn all() -> &'static [Wanted] {
    &ALL
}

/// What the program of this seed takes: as many consecutive seeds as there are combinations take each once.
pub fn nth(seed: u64) -> Wanted {
    ALL[(seed % ALL.len() as u64) as usize]
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
    use std::collections::BTreeSet;

    #[test]
    fn a_walk_meets_each_once() {
        let walked: BTreeSet<Wanted> = (77..77 + ALL.len() as u64).map(nth).collect();
        assert_eq!(walked.len(), ALL.len());
        let (levels, targets) = (LEGAL.operands.len(), Target::all().count());
        let arguments = LEGAL.calls.iter().map(|c| c.args.len().min(2) as u32);
        let calls: usize = arguments.map(|n| levels.pow(n) * targets).sum();
        assert_eq!(ALL.len(), calls + levels * LEGAL.folds.len(), "{levels} levels, {targets} targets");
    }
}
