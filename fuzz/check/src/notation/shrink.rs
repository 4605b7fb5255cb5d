//! The smallest case that still goes wrong in the same way: what a test is made of.
//!
//! Greedy: of all cases that are one step smaller the first that keeps the kind of its finding, and the words of a refusal,
//! is taken, until none does. A step drops a statement or an entry, puts a part in the place of an expression, lowers an extent, or makes
//! a format, fill value, width or value plainer.

use super::case::{At, Case, Expr};
use super::engines::{Engine, Finding};
use super::subject::Subject;
use fiberloom_core::algebra::{Mode, Type, Value};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_loops::Entry;
use fiberloom_loops::Options;

/// Runs that shrinking may take.
const RUNS: usize = 3000;

/// A smaller program with a finding of the same kind, and that finding.
pub fn shrink<S: Subject>(mut case: S, mut finding: Finding, engine: Engine) -> (S, Finding) {
    let mut runs = 0;
    'again: loop {
        for smaller in case.smaller() {
            runs += 1;
            if runs > RUNS {
                return (case, finding);
            }
            if let Err(found) = smaller.run_on(engine, &[])
                && found.is_like(&finding)
            {
                (case, finding) = (smaller, found);
                continue 'again;
            }
        }
        return (case, finding);
    }
}

/// Cases that are one step smaller.
pub(super) fn steps(case: &Case) -> Vec<Case> {
    let mut all = vec![];
    let mut change = |f: &dyn Fn(&mut Case)| {
        let mut smaller = case.clone();
        f(&mut smaller);
        all.push(smaller);
    };
    if case.mode == Mode::Strict {
        change(&|c| c.mode = Mode::Algebraic);
    }
    for n in 0..case.statements.len() {
        let t = case.statements[n].tensor;
        if case.statements.iter().enumerate().all(|(m, s)| m == n || !s.rhs.reads(t) && s.tensor != t)
            && case.statements.len() > 1
            && (n + 1 < case.statements.len() || !case.statements[n - 1].local)
        {
            change(&|c| drop(c.statements.remove(n)));
        }
        let adds = case.statements[n].fold == Some("+");
        if case.statements[n].fold.is_some() && !adds {
            change(&|c| c.statements[n].fold = Some("+"));
        }
        if adds && case.statements[n].places.is_empty() && !case.statements[..n].iter().any(|s| s.tensor == t) {
            change(&|c| c.statements[n].fold = None);
        }
        if case.statements[n].local {
            change(&|c| c.statements[n].local = false);
        }
        for p in 0..case.statements[n].protocols.len() {
            change(&|c| c.statements[n].protocols.truncate(p));
        }
        for rhs in smaller(case, &case.statements[n].rhs) {
            change(&|c| c.statements[n].rhs = rhs.clone());
        }
    }
    if case.few != Entry::FEW {
        change(&|c| c.few = Entry::FEW);
    }
    if case.thin {
        change(&|c| c.thin = false);
    }
    if case.sought != Options::SOUGHT {
        change(&|c| c.sought = Options::SOUGHT);
    }
    for n in 0..case.sizes.len() {
        if case.taken_for[n].is_some() {
            change(&|c| c.taken_for[n] = None);
        }
        if case.sizes[n].0 > 0 {
            change(&|c| lower(c, n));
            // Extents that a shape operator ties together.
            for m in (0..n).filter(|m| case.sizes[*m].0 > 0) {
                change(&|c| {
                    lower(c, n);
                    lower(c, m);
                });
            }
        }
    }
    tensors(case, &mut all);
    all
}

/// One coordinate fewer along every mode of size `n`.
fn lower(case: &mut Case, n: usize) {
    case.sizes[n].0 -= 1;
    let last = case.sizes[n].0 as i64;
    for a in &mut case.tensors {
        let inside = |at: &[i64]| at.iter().zip(&a.sizes).all(|(x, size)| *size != n || *x < last);
        if let Some(entries) = &mut a.entries {
            entries.retain(|(at, _)| inside(at));
        }
    }
}

fn tensors(case: &Case, all: &mut Vec<Case>) {
    let mut change = |t: usize, f: &dyn Fn(&mut super::case::Tensor)| {
        let mut smaller = case.clone();
        f(&mut smaller.tensors[t]);
        all.push(smaller);
    };
    for (t, a) in case.tensors.iter().enumerate().filter(|(t, _)| case.mentions(*t)) {
        if a.fill != 0 {
            change(t, &|a| a.fill = 0);
        }
        if a.wide != (false, false) {
            change(t, &|a| a.wide = (false, false));
        }
        if let Some(format) = a.format.as_ref().filter(|_| !a.is_computed()) {
            let plain = Format::of(format.levels.to_vec());
            if plain != *format {
                change(t, &|a| a.format = Some(plain.clone()));
            }
            for l in 0..format.levels.len() {
                let simpler = match format.levels[l] {
                    LevelKind::Dense => continue,
                    LevelKind::Singleton => LevelKind::Compressed,
                    _ if format.repeats(l) => LevelKind::Compressed,
                    _ => LevelKind::Dense,
                };
                change(t, &|a| a.format.as_mut().expect("it has one").levels_mut()[l] = simpler);
            }
        }
        for n in 0..a.entries.as_ref().map_or(0, Vec::len) {
            change(t, &|a| drop(a.entries.as_mut().expect("it has some").remove(n)));
            if a.entries.as_ref().expect("it has some")[n].1 != 1 {
                change(t, &|a| a.entries.as_mut().expect("it has some")[n].1 = 1);
            }
        }
    }
}

/// Expressions of the same type that are one step smaller.
fn smaller(case: &Case, e: &Expr) -> Vec<Expr> {
    match e {
        Expr::Literal(v) if *v != Value::one(v.ty()) => vec![Expr::Literal(Value::one(v.ty()))],
        Expr::Literal(_) => vec![],
        Expr::Access(t, at) => {
            let plainer = at.iter().enumerate().flat_map(|(n, index)| index.plainer().into_iter().map(move |p| (n, p)));
            let with = |(n, index): (usize, At)| {
                let mut at = at.clone();
                at[n] = index;
                Expr::Access(*t, at)
            };
            plainer.map(with).collect()
        }
        Expr::Var(_, ty) => vec![Expr::Literal(Value::one(*ty))],
        Expr::Reduce(op, v, a) => {
            let body = smaller(case, a).into_iter().map(|a| Expr::Reduce(op, *v, Box::new(a)));
            [(**a).clone()].into_iter().chain(body).collect()
        }
        Expr::Shape(shape, from, to, parts) => {
            let mut all = vec![Expr::Literal(Value::one(case.type_of(e).unwrap_or(Type::I64)))];
            for (n, part) in parts.iter().enumerate() {
                all.extend(smaller(case, part).into_iter().map(|part| {
                    let mut parts = parts.clone();
                    parts[n] = part;
                    Expr::Shape(*shape, from.clone(), to.clone(), parts)
                }));
            }
            all
        }
        Expr::Apply(op, args) => {
            let ty = case.type_of(e);
            let mut all: Vec<Expr> = args.iter().filter(|a| case.type_of(a) == ty).cloned().collect();
            all.extend(ty.filter(|_| all.is_empty()).map(|ty| Expr::Literal(Value::one(ty))));
            for (n, a) in args.iter().enumerate() {
                all.extend(smaller(case, a).into_iter().map(|a| {
                    let mut args = args.clone();
                    args[n] = a;
                    Expr::Apply(*op, args)
                }));
            }
            all
        }
    }
}
