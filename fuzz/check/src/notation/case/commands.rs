//! Commands of statements' schedules, drawn among those that are legal.
//!
//! ```text
//!  R0[i] = sum(j: A0[i,j] * sum(k: A1[j,k] * A2[k]))
//!    schedule { stage(sum(k: A2[k] * A1[j,k]), W0[j]); store(W0, {hashed}); copy(A0, {compressed, compressed} order(1, 0)); }
//! ```
//!
//! A command is a kind and a number, which chooses among all of that kind that fit the statement as it stands: one that has been made
//! simpler has other commands, and none that is not legal. A new kind is a variant of [`Kind`] and a function from a statement to the
//! texts of its commands.

use super::{At, Case, Expr, KINDS, Shown, Statement, name, names};
use arbitrary::Unstructured;
use fiberloom_core::algebra::Op;
use fiberloom_core::format::LevelKind;
use fiberloom_core::notation::syntax::Protocol;
use std::collections::BTreeSet;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `stage(expr, W[…])`, and perhaps `store(W, format)`
    Stage,
    /// `precompute(expr, i -> iw, W)`, and perhaps `store(W, format)`
    Precompute,
    /// `copy(T, format)`
    Copy,
}

impl Kind {
    /// All of them.
    const ALL: [Kind; 3] = [Kind::Stage, Kind::Precompute, Kind::Copy];
}

/// A command of a statement: which of those of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    kind: Kind,
    choice: usize,
}

/// A case whose statements have commands.
pub fn scheduled(u: &mut Unstructured) -> Case {
    let of_product = u.ratio(1, 2).unwrap_or(true);
    let drawn: Vec<(usize, usize)> =
        (0..8).map(|_| (u.int_in_range(0..=9).unwrap_or(0), u.int_in_range(0..=9999).unwrap_or(0))).collect();
    let mut case = match (of_product, drawn[6].1 % 4) {
        (true, _) => super::contraction(u),
        (false, 0) => super::plain(u),
        (false, _) => super::case(u),
    };
    if let Some(s) = case.statements.last_mut().filter(|_| of_product && drawn[7].1.is_multiple_of(4)) {
        s.rhs = folded_twice(&s.rhs);
    }
    for (n, s) in case.statements.iter_mut().enumerate() {
        let own = drawn.iter().cycle().skip(3 * n).take(3);
        s.told =
            own.filter_map(|(kind, choice)| Some(Told { kind: *Kind::ALL.get(*kind)?, choice: *choice })).collect();
    }
    case
}

/// A fold beside another one of the same values: a temporary may be read by both.
fn folded_twice(e: &Expr) -> Expr {
    let Expr::Reduce(fold, v, body) = e else { return e.clone() };
    let other = Expr::Reduce(if *fold == "max" { "min" } else { "max" }, *v, body.clone());
    Expr::Apply(Op::Add, vec![e.clone(), other])
}

impl Case {
    /// The commands of a statement, each with a semicolon.
    pub(super) fn commands(&self, s: &Statement) -> Vec<String> {
        let mut commands: Vec<String> = vec![];
        let mut staged = false;
        for Told { kind, choice } in &s.told {
            let temporary = matches!(kind, Kind::Stage | Kind::Precompute);
            // Two temporaries may want one factor, two copies be of one tensor.
            if temporary && std::mem::replace(&mut staged, true)
                || commands.iter().any(|c| *kind == Kind::Copy && c.starts_with("copy"))
            {
                continue;
            }
            let all = match kind {
                Kind::Stage => self.stages(s, *choice),
                Kind::Precompute => self.precomputed(s, *choice),
                Kind::Copy => self.copies(s, *choice),
            };
            if !all.is_empty() {
                commands.push(all[choice % all.len()].clone());
            }
        }
        commands
    }

    /// Sums of the right side, whole and over some factors of a product.
    fn stages(&self, s: &Statement, choice: usize) -> Vec<String> {
        let mut all = vec![];
        s.rhs.walk(&mut |e| {
            let Expr::Reduce(fold, ..) = e else { return };
            let (mut vars, mut factors) = (vec![], vec![]);
            let product = flattened(e, fold, &mut vars, &mut factors);
            all.push((e.clone(), free(e)));
            if !self.regroups(e) || *fold != "sum" || !product {
                return;
            }
            for v in &vars {
                let mut own: Vec<&Expr> = factors.iter().copied().filter(|f| free(f).contains(v)).collect();
                if own.len() < 2 || own.len() == factors.len() {
                    continue;
                }
                let turned = choice % own.len();
                own.rotate_left(turned);
                let product = own.into_iter().cloned().reduce(|a, b| Expr::Apply(Op::Mul, vec![a, b]));
                let part = Expr::Reduce(fold, *v, Box::new(product.expect("two or more")));
                let under = free(&part);
                all.push((part, under));
            }
        });
        let fits = all.into_iter().filter(|(e, free)| self.may_be_made(s, e, free));
        let command = |(e, free): (Expr, BTreeSet<usize>)| {
            let mut under: Vec<usize> = free.into_iter().collect();
            let turned = choice % under.len().max(1);
            under.rotate_left(turned);
            let stage = format!("stage({}, W0[{}]);", Shown(self, &e), names(&under));
            stage + &self.store_of(under.len(), choice)
        };
        fits.map(command).collect()
    }

    /// Calls in the right side, with a variable that is free in them.
    fn precomputed(&self, s: &Statement, choice: usize) -> Vec<String> {
        let mut all: Vec<Expr> = vec![];
        // Of a sum that is not written, each term has its own: several terms together occur nowhere.
        let apart = s.fold.is_none_or(|fold| fold == "+");
        let left = if apart { s.on_the_left() } else { s.vars.clone() };
        if !free(&s.rhs).iter().all(|v| left.contains(v)) {
            return vec![];
        }
        s.rhs.walk(&mut |e| {
            if let Expr::Apply(op, args) = e {
                all.push(e.clone());
                let exchanged = matches!(op, Op::Mul | Op::Add) && args.len() == 2;
                all.extend(exchanged.then(|| Expr::Apply(*op, vec![args[1].clone(), args[0].clone()])));
            }
        });
        let fits = all.into_iter().map(|e| (free(&e), e)).filter(|(free, e)| self.may_be_made(s, e, free));
        let command = |(free, e): (BTreeSet<usize>, Expr)| {
            let var = name(*free.iter().nth(choice % free.len().max(1))?);
            let made = format!("precompute({}, {var} -> {var}w, W0);", Shown(self, &e));
            Some(made + &self.store_of(free.len(), choice))
        };
        fits.filter_map(command).collect()
    }

    /// Copies of operands, in a format each.
    fn copies(&self, s: &Statement, choice: usize) -> Vec<String> {
        let galloped = |t: usize| s.protocols.iter().any(|p| p.tensor == t && p.protocol == Protocol::Gallop);
        let read = (0..self.tensors.len()).filter(|t| s.rhs.reads(*t) && !self.tensors[*t].is_computed());
        let copied = read.filter(|t| !galloped(*t) && !self.tensors[*t].sizes.is_empty());
        let copy = |t: usize| {
            let a = &self.tensors[t];
            format!("copy({}, {});", a.name, format(a.sizes.len(), choice))
        };
        copied.map(copy).collect()
    }

    /// The format of each second temporary.
    fn store_of(&self, rank: usize, choice: usize) -> String {
        let says = rank > 0 && choice % 2 == 1;
        if says { format!(" store(W0, {});", format(rank, choice / 2)) } else { String::new() }
    }

    /// Whether an expression may be made before the statement: of a type that it says itself, with variables whose extents are those of
    /// modes, four at most, and under no function of the program.
    fn may_be_made(&self, s: &Statement, e: &Expr, free: &BTreeSet<usize>) -> bool {
        // A name that is bound twice is two variables: what stands alone elsewhere may be the other one.
        let mut bare = alone(&s.rhs);
        bare.retain(|v| times_bound(&s.rhs, *v) < 2 || alone_in_each(&s.rhs, *v));
        bare.extend(alone(e));
        bare.extend(s.places.is_empty().then_some(&s.vars).into_iter().flatten());
        // What a fold of the statement's own begins with is not known to what stands apart.
        let typed = self.type_of(e).is_some() && e.says_type();
        typed && free.is_subset(&bare) && free.len() <= 4
    }

    /// Whether products are exact in any order.
    fn regroups(&self, e: &Expr) -> bool {
        self.type_of(e).is_some_and(|ty| !self.is_strict(ty) && ty != fiberloom_core::algebra::Type::Bool)
    }
}

/// The factors of sums of products, and what they are summed over; whether it is more than one factor.
fn flattened<'e>(e: &'e Expr, fold: &str, vars: &mut Vec<usize>, factors: &mut Vec<&'e Expr>) -> bool {
    match e {
        Expr::Reduce(of, v, body) if *of == fold && factors.is_empty() => {
            vars.push(*v);
            flattened(body, fold, vars, factors);
        }
        Expr::Apply(Op::Mul, args) => {
            for a in args {
                flattened(a, "", vars, factors);
            }
        }
        other => factors.push(other),
    }
    factors.len() > 1
}

/// The variables that are free in an expression.
fn free(e: &Expr) -> BTreeSet<usize> {
    match e {
        Expr::Literal(_) => BTreeSet::new(),
        Expr::Var(v, _) => BTreeSet::from([*v]),
        Expr::Access(_, at) => at.iter().flat_map(|at| at.vars().collect::<Vec<_>>()).collect(),
        Expr::Apply(_, args) => args.iter().flat_map(free).collect(),
        Expr::Reduce(_, v, body) => free(body).into_iter().filter(|w| w != v).collect(),
        Expr::Shape(_, from, to, parts) => {
            let inner = parts.iter().flat_map(free).filter(|v| !from.contains(v));
            inner.chain(to.iter().copied()).collect()
        }
    }
}

/// The variables that stand alone in an index.
fn alone(e: &Expr) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    e.walk(&mut |e| {
        if let Expr::Access(_, at) = e {
            all.extend(at.iter().filter_map(At::var));
        }
    });
    all
}

/// Whether a name is bound by folds alone, none in another, and stands alone in an index in each.
fn alone_in_each(e: &Expr, v: usize) -> bool {
    let mut each = true;
    e.walk(&mut |e| match e {
        Expr::Reduce(_, w, body) if *w == v => each &= times_bound(body, v) == 0 && alone(body).contains(&v),
        Expr::Shape(_, from, ..) => each &= !from.contains(&v),
        _ => {}
    });
    each
}

/// How many sums and shape operators bind a variable's name.
fn times_bound(e: &Expr, v: usize) -> usize {
    let mut times = 0;
    e.walk(&mut |e| match e {
        Expr::Reduce(_, w, _) => times += usize::from(*w == v),
        Expr::Shape(_, from, ..) => times += from.iter().filter(|w| **w == v).count(),
        _ => {}
    });
    times
}

/// The format of that number: levels of any kind, in any order.
fn format(rank: usize, mut number: usize) -> String {
    let kinds: Vec<LevelKind> = KINDS.iter().copied().filter(|k| *k != LevelKind::Nonunique).collect();
    let mut order: Vec<usize> = (0..rank).collect();
    let mut levels = vec![];
    for l in 0..rank {
        let other = l + number % (rank - l);
        order.swap(l, other);
        number /= rank - l;
        levels.push(kinds[number % kinds.len()].name());
        number /= kinds.len();
    }
    let order: Vec<String> = order.iter().map(usize::to_string).collect();
    format!("{{{}}} order({})", levels.join(", "), order.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::campaign::BYTES;

    /// What the checker says of a case.
    fn said(case: &Case) -> Result<(), String> {
        let text = case.to_string();
        let (syntax, wrong) = fiberloom_front::parse(&text);
        let syntax = syntax.filter(|_| wrong.is_empty()).expect("it is a program");
        let words = |wrong: Vec<fiberloom_core::notation::Diagnostic>| format!("{}\n{text}", wrong[0].message);
        fiberloom_passes::check::check(&syntax).map(drop).map_err(words)
    }

    /// Every command that may be drawn of a program that is legal without. Four of these programs once drew some that were not: terms that
    /// are summed apart, and a name that two shape operators bind.
    #[test]
    fn what_may_be_drawn_is_legal() {
        let mut commands = 0;
        for seed in (0..60).chain([2040, 62_259, 991_271, 8_004_344]) {
            let mut case = scheduled(&mut Unstructured::new(&crate::bytes(seed, BYTES)));
            case.statements.iter_mut().for_each(|s| s.told.clear());
            if said(&case).is_err() {
                continue;
            }
            for n in 0..case.statements.len() {
                for (kind, choice) in Kind::ALL.into_iter().flat_map(|kind| (0..4).map(move |choice| (kind, choice))) {
                    case.statements[n].told = vec![Told { kind, choice }];
                    commands += case.commands(&case.statements[n]).len();
                    assert_eq!(said(&case), Ok(()), "of seed {seed}");
                }
                case.statements[n].told.clear();
            }
        }
        assert!(commands > 300, "only {commands} commands");
    }
}
