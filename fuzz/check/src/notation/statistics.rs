//! What cases exercise: operators × level pairs × result levels × types.
//!
//! ```text
//!  R[i,j] = A[i,k] * B[k,j]      `*` meets along k: compressed of A with dense of B, folded
//!                                `*` stands along i on compressed of A alone, into dense of R
//! ```
//!
//! What can be met is a product of short lists (`product.rs`), so that what was not is said too; and why the rest cannot.

mod shape;

pub use shape::shaped;

use super::case::{Case, Expr, Place, Statement, Tensor};
use super::legal::{Call, LEGAL, named};
use super::product::{self, Fold, Meeting, Target, Wanted};
use fiberloom_core::algebra::{Op, Type, subject};
use fiberloom_core::format::LevelKind;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

/// In how many programs each stood.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Operators.
    pub meetings: BTreeMap<Meeting, u64>,
    /// Reductions.
    pub folds: BTreeMap<Fold, u64>,
}

impl Statistics {
    /// Counts a case.
    pub fn count(&mut self, case: &Case) {
        let (mut meetings, mut folds) = (BTreeSet::new(), BTreeSet::new());
        for s in &case.statements {
            s.rhs.walk(&mut |e| match e {
                Expr::Apply(op, args) => meetings.extend(meeting(case, s, *op, args)),
                Expr::Reduce(function, v, body) => {
                    let Some(ty) = case.type_of(body) else { return };
                    let along = levels(case, body).into_iter().filter(|(w, _)| w == v);
                    folds.extend(along.map(|(_, level)| Fold { function, level, ty }));
                }
                Expr::Literal(_) | Expr::Var(..) | Expr::Access(..) | Expr::Shape(..) => {}
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

    /// Whether it stood in a case.
    pub fn has(&self, wanted: &Wanted) -> bool {
        match wanted {
            Wanted::Meeting(m) => self.meetings.contains_key(m),
            Wanted::Fold(f) => self.folds.contains_key(f),
        }
    }

    /// What is legal and stood in no case.
    pub fn missed(&self) -> impl Iterator<Item = Wanted> {
        product::all().filter(|w| !self.has(w))
    }

    /// How much of what is legal stood in a case.
    fn reached(&self) -> usize {
        let meetings = self.meetings.keys().filter(|m| LEGAL.of(m.operator, m.ty).is_some());
        let folds = self.folds.keys().filter(|fold| LEGAL.folds.contains(&(fold.function, fold.ty)));
        meetings.count() + folds.count()
    }
}

/// What an operator meets, along each index variable.
fn meeting(case: &Case, s: &Statement, op: Op, args: &[Expr]) -> Vec<Meeting> {
    let Some(ty) = args.get(subject(op)).and_then(|a| case.type_of(a)) else { return vec![] };
    let made = |v, a, b| Meeting { operator: op, levels: (a, b), into: target(case, s, v), ty };
    match args {
        [a] => levels(case, a).into_iter().map(|(v, a)| made(v, a, None)).collect(),
        [.., a, b] => {
            let right = levels(case, b);
            let with = |(v, a)| right.iter().filter(move |(w, _)| *w == v).map(move |(_, b)| (v, a, *b));
            levels(case, a).into_iter().flat_map(with).map(|(v, a, b)| made(v, a, Some(b))).collect()
        }
        [] => vec![],
    }
}

/// Where a variable of a statement goes.
fn target(case: &Case, s: &Statement, v: usize) -> Target {
    let stands = |p: &Place| match *p {
        Place::Var(w) | Place::Quotient(w, _) => w == v,
        Place::Mixed(w, _, x, _) => w == v || x == v,
        Place::Constant(_) => false,
    };
    let mode = match s.places.is_empty() {
        true => s.vars.iter().position(|w| *w == v),
        false => s.places.iter().position(stands),
    };
    let result = &case.tensors[s.tensor];
    mode.map_or(Target::Folded, |mode| level(result, mode).map_or(Target::Undeclared, Target::Level))
}

/// The level that holds a mode, where a format is declared.
fn level(tensor: &Tensor, mode: usize) -> Option<LevelKind> {
    let format = tensor.format.as_ref()?;
    let l = format.order.iter().position(|m| *m == mode)?;
    Some(format.levels[l])
}

/// Index variables with the levels that accesses below an expression have along them.
fn levels(case: &Case, e: &Expr) -> BTreeSet<(usize, LevelKind)> {
    let mut all = BTreeSet::new();
    e.walk(&mut |e| {
        if let Expr::Access(t, at) = e {
            let along = at.iter().enumerate();
            let along = along.filter_map(|(m, at)| Some((at.var()?, level(&case.tensors[*t], m)?)));
            all.extend(along);
        }
    });
    all
}

/// Combinations that were not reached and are listed.
const SHOWN: usize = 10;

/// "reached/there are" of the values of one column.
fn reached<T: Ord>(met: &[(&Meeting, &u64)], column: impl Fn(&Meeting) -> T, there: usize) -> String {
    format!("{}/{there}", met.iter().map(|(m, _)| column(m)).collect::<BTreeSet<T>>().len())
}

impl Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.operators(f)?;
        self.pairs(f)?;
        self.reductions(f)?;
        let (reached, all) = (self.reached(), product::count());
        let percent = 100.0 * reached as f64 / all as f64;
        writeln!(f, "\n{reached} of {all} legal combinations were exercised: {percent:.2} %")?;
        self.missed().take(SHOWN).try_for_each(|m| writeln!(f, "  not {m}"))?;
        writeln!(f, "\nnot legal, by the compiler's own words")?;
        for (what, (types, why)) in &LEGAL.refused {
            let types = if types.len() == Type::ALL.len() { String::new() } else { types.join(" ") };
            writeln!(f, "  {what} {types}: {why}")?;
        }
        Ok(())
    }
}

impl Statistics {
    fn operators(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "operator        programs     levels   × results     × types     types")?;
        let (operands, targets) = (LEGAL.operands.len(), Target::all().count());
        for operator in LEGAL.calls.iter().map(|call| call.op).collect::<BTreeSet<Op>>() {
            let calls: Vec<&Call> = LEGAL.calls.iter().filter(|call| call.op == operator).collect();
            let of = |m: &Meeting| m.operator == operator && LEGAL.of(operator, m.ty).is_some();
            let met: Vec<(&Meeting, &u64)> = self.meetings.iter().filter(|(m, _)| of(m)).collect();
            let programs: u64 = met.iter().map(|(_, n)| *n).sum();
            let pairs = operands.pow(calls[0].args.len().min(2) as u32);
            let levels = reached(&met, |m| m.levels, pairs);
            let results = reached(&met, |m| (m.levels, m.into), pairs * targets);
            let every = reached(&met, |m| *m, pairs * targets * calls.len());
            let types = reached(&met, |m| m.ty, calls.len());
            let name = named(operator);
            writeln!(f, "{name:13} {programs:10}   {levels:>8}   {results:>9}   {every:>9}   {types:>7}")?;
        }
        Ok(())
    }

    fn reductions(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "\nreduction   programs   levels × types")?;
        let mut of: BTreeMap<&str, Vec<Fold>> = BTreeMap::new();
        for w in product::all() {
            if let Wanted::Fold(fold) = w {
                of.entry(fold.function).or_default().push(fold);
            }
        }
        for (function, all) in of {
            let programs: u64 = all.iter().filter_map(|fold| self.folds.get(fold)).sum();
            let met = all.iter().filter(|fold| self.folds.contains_key(*fold)).count();
            writeln!(f, "{function:9} {programs:10}   {met:>6}/{}", all.len())?;
        }
        Ok(())
    }

    /// Level pairs, down the left side and across the right, and below them where they go.
    fn pairs(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let sum = |fits: &dyn Fn(&Meeting) -> bool| -> u64 {
            self.meetings.iter().filter(|(m, _)| fits(m)).map(|(_, n)| n).sum()
        };
        let kinds = &LEGAL.operands;
        write!(f, "\nleft \\ right ")?;
        kinds.iter().try_for_each(|k| write!(f, "{:>12}", k.name()))?;
        writeln!(f, "        none")?;
        for a in kinds {
            write!(f, "{:12} ", a.name())?;
            for b in kinds.iter().copied().map(Some).chain([None]) {
                write!(f, "{:12}", sum(&|m| m.levels == (*a, b)))?;
            }
            writeln!(f)?;
        }
        writeln!(f)?;
        for into in Target::all() {
            writeln!(f, "into {:10} {:10}", into.to_string(), sum(&|m| m.into == into))?;
        }
        Ok(())
    }
}
