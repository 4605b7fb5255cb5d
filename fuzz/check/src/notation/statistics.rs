//! What cases exercise: operators × level pairs × result levels × types.
//!
//! ```text
//!  R[i,j] = A[i,k] * B[k,j]      `*` meets along k: compressed of A with dense of B, folded
//!                                `*` stands along i on compressed of A alone, into dense of R
//! ```
//!
//! An operator *meets* where both of its sides have levels along one index variable. What can be met is a product of
//! short lists, so that what was not is said too.

use super::case::{self, Case, Expr, operators, reductions};
use fiberloom_core::algebra::Type;
use fiberloom_core::format::LevelKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

/// Where the index variable of a meeting goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Target a level of the result.
    Level(LevelKind),
    /// Target a result without a declared format.
    Undeclared,
    /// It is folded.
    Folded,
}

impl Target {
    fn all() -> impl Iterator<Item = Target> {
        case::levels().into_iter().map(Target::Level).chain([Target::Undeclared, Target::Folded])
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
    pub operator: &'static str,
    /// The level of its left side, and of its right.
    pub pair: (LevelKind, LevelKind),
    /// Where the variable goes.
    pub into: Target,
    /// The statement's type.
    pub ty: Type,
}

/// A reduction over one index variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fold {
    /// Its function.
    pub function: &'static str,
    /// A level that is folded.
    pub level: LevelKind,
    /// The statement's type.
    pub ty: Type,
}

/// In how many programs each stood.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Operators on two sides.
    pub meetings: BTreeMap<Meeting, u64>,
    /// Reductions.
    pub folds: BTreeMap<Fold, u64>,
}

impl Statistics {
    /// Counts a case.
    pub fn count(&mut self, case: &Case) {
        let (mut meetings, mut folds) = (BTreeSet::new(), BTreeSet::new());
        for s in &case.statements {
            let result = &case.tensors[s.tensor];
            let into = |v: usize| match s.vars.iter().position(|x| *x == v) {
                None => Target::Folded,
                Some(mode) => level(result, mode).map_or(Target::Undeclared, Target::Level),
            };
            let ty = result.ty;
            s.rhs.walk(&mut |e| match e {
                Expr::Binary(operator, a, b) => {
                    let right = levels(case, b);
                    for (v, left) in levels(case, a) {
                        for (_, other) in right.iter().filter(|(w, _)| *w == v) {
                            meetings.insert(Meeting { operator, pair: (left, *other), into: into(v), ty });
                        }
                    }
                }
                Expr::Reduce(function, v, body) => {
                    let along = levels(case, body).into_iter().filter(|(w, _)| w == v);
                    folds.extend(along.map(|(_, level)| Fold { function, level, ty }));
                }
                Expr::Literal(_) | Expr::Var(..) | Expr::Access(..) | Expr::Neg(_) => {}
            });
        }
        meetings.into_iter().for_each(|m| *self.meetings.entry(m).or_default() += 1);
        folds.into_iter().for_each(|f| *self.folds.entry(f).or_default() += 1);
    }

    /// Adds what another counted.
    pub fn join(&mut self, other: Statistics) {
        other.meetings.into_iter().for_each(|(m, n)| *self.meetings.entry(m).or_default() += n);
        other.folds.into_iter().for_each(|(f, n)| *self.folds.entry(f).or_default() += n);
    }
}

/// The level that holds a mode, where a format is declared.
fn level(tensor: &super::case::Tensor, mode: usize) -> Option<LevelKind> {
    let format = tensor.format.as_ref()?;
    let l = format.order.iter().position(|m| *m == mode)?;
    Some(format.levels[l])
}

/// Index variables with the levels that accesses below an expression have along them.
fn levels(case: &Case, e: &Expr) -> BTreeSet<(usize, LevelKind)> {
    let mut all = BTreeSet::new();
    e.walk(&mut |e| {
        if let Expr::Access(t, _, vars) = e {
            let along = vars.iter().enumerate().filter_map(|(m, v)| Some((*v, level(&case.tensors[*t], m)?)));
            all.extend(along);
        }
    });
    all
}

/// Every meeting that there can be.
pub fn meetings() -> impl Iterator<Item = Meeting> {
    let pairs = || case::levels().into_iter().flat_map(|a| case::levels().into_iter().map(move |b| (a, b)));
    let of = move |operator, ty| {
        pairs().flat_map(move |pair| Target::all().map(move |into| Meeting { operator, pair, into, ty }))
    };
    Type::ALL.into_iter().flat_map(move |ty| operators(ty).iter().flat_map(move |operator| of(*operator, ty)))
}

/// Every fold that there can be.
pub fn folds() -> impl Iterator<Item = Fold> {
    let of = |function, ty| case::levels().into_iter().map(move |level| Fold { function, level, ty });
    Type::ALL.into_iter().flat_map(move |ty| reductions(ty).iter().flat_map(move |function| of(*function, ty)))
}

/// "reached/there are" of the values of one column.
fn reached<T: Ord>(all: &[Meeting], seen: &BTreeMap<Meeting, u64>, column: impl Fn(&Meeting) -> T) -> String {
    let values = |of: &mut dyn Iterator<Item = &Meeting>| of.map(&column).collect::<BTreeSet<T>>().len();
    let there = values(&mut all.iter());
    format!("{}/{there}", values(&mut all.iter().filter(|m| seen.contains_key(m))))
}

impl Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let all: Vec<Meeting> = meetings().collect();
        writeln!(f, "operator   programs   level pairs   × results   × types     types")?;
        for operator in all.iter().map(|m| m.operator).collect::<BTreeSet<_>>() {
            let of: Vec<Meeting> = all.iter().filter(|m| m.operator == operator).copied().collect();
            let programs: u64 = of.iter().filter_map(|m| self.meetings.get(m)).sum();
            let pairs = reached(&of, &self.meetings, |m| m.pair);
            let results = reached(&of, &self.meetings, |m| (m.pair, m.into));
            let every = reached(&of, &self.meetings, |m| *m);
            let types = reached(&of, &self.meetings, |m| m.ty);
            writeln!(f, "{operator:8} {programs:10}   {pairs:>11}   {results:>9}   {every:>9}   {types:>7}")?;
        }
        self.pairs(f)?;
        writeln!(f, "\nreduction   programs   levels × types")?;
        let all: Vec<Fold> = folds().collect();
        for function in all.iter().map(|f| f.function).collect::<BTreeSet<_>>() {
            let of: Vec<&Fold> = all.iter().filter(|f| f.function == function).collect();
            let programs: u64 = of.iter().filter_map(|f| self.folds.get(f)).sum();
            let met = of.iter().filter(|f| self.folds.contains_key(f)).count();
            writeln!(f, "{function:9} {programs:10}   {met:>6}/{}", of.len())?;
        }
        let missed: Vec<Meeting> = meetings().filter(|m| !self.meetings.contains_key(m)).collect();
        writeln!(f, "\n{} of {} meetings not reached", missed.len(), meetings().count())?;
        for m in missed.iter().take(SHOWN) {
            let (a, b) = m.pair;
            writeln!(f, "  {} of {} with {} into {}, {}", m.operator, a.name(), b.name(), m.into, m.ty)?;
        }
        Ok(())
    }
}

/// Meetings that were not reached and are listed.
const SHOWN: usize = 10;

impl Statistics {
    /// Level pairs, down the left side and across the right, and below them where they go.
    fn pairs(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let sum = |fits: &dyn Fn(&Meeting) -> bool| -> u64 {
            self.meetings.iter().filter(|(m, _)| fits(m)).map(|(_, n)| n).sum()
        };
        write!(f, "\nleft \\ right ")?;
        case::levels().iter().try_for_each(|k| write!(f, "{:>12}", k.name()))?;
        writeln!(f)?;
        for a in case::levels() {
            write!(f, "{:12} ", a.name())?;
            case::levels().iter().try_for_each(|b| write!(f, "{:12}", sum(&|m| m.pair == (a, *b))))?;
            writeln!(f)?;
        }
        writeln!(f)?;
        for into in Target::all() {
            writeln!(f, "into {:10} {:10}", into.to_string(), sum(&|m| m.into == into))?;
        }
        Ok(())
    }
}
