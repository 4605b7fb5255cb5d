//! Contractions, of which several loop nests may be better than one: sums of products of 2 to 5 operands, some factors sums themselves,
//! some sums further inside, and the same over (min, +) and (max, +).

use super::{Case, Expr, products};
use arbitrary::Unstructured;
use fiberloom_core::algebra::Op;

/// The contraction of these bytes: a [product](products()), rewritten.
pub fn contraction(u: &mut Unstructured) -> Case {
    let kind = u.int_in_range(0..=5).unwrap_or(0);
    let inside = u.int_in_range(0..=3).unwrap_or(0);
    let odd = u.int_in_range(0..=7).unwrap_or(0);
    let mut case = products(u);
    let (fold, times) = match kind {
        0 => ("min", Op::Add),
        1 => ("max", Op::Add),
        _ => ("sum", Op::Mul),
    };
    let statement = case.statements.last_mut().expect("there is one");
    let mut factors = factors(&statement.rhs);
    if let Some(at) = (odd < 4).then(|| odd % factors.len()) {
        factors[at] = sum(odd, &factors, at);
    }
    let mut summed: Vec<usize> = Vec::new();
    factors.iter().flat_map(variables).for_each(|v| {
        if !statement.vars.contains(&v) && !summed.contains(&v) {
            summed.push(v);
        }
    });
    // The last factors may have a sum of their own: over a variable that the others lack.
    let within = (inside == 0).then(|| {
        let (first, last) = factors.split_at(factors.len() - 1);
        let own = summed.iter().copied().find(|v| !first.iter().flat_map(variables).any(|w| w == *v));
        own.map(|v| (v, Expr::Reduce(fold, v, Box::new(last[0].clone()))))
    });
    if let Some((v, last)) = within.flatten() {
        summed.retain(|w| *w != v);
        *factors.last_mut().expect("there are some") = last;
    }
    let product = factors.into_iter().reduce(|a, b| Expr::Apply(times, vec![a, b])).expect("two or more");
    statement.rhs = summed.into_iter().rev().fold(product, |body, v| Expr::Reduce(fold, v, Box::new(body)));
    case
}

fn factors(e: &Expr) -> Vec<Expr> {
    match e {
        Expr::Apply(Op::Mul, args) => args.iter().flat_map(factors).collect(),
        other => vec![other.clone()],
    }
}

/// A factor plus, or minus, another, or a literal.
fn sum(odd: usize, factors: &[Expr], at: usize) -> Expr {
    let op = if odd.is_multiple_of(2) { Op::Add } else { Op::Sub };
    let other = &factors[(at + 1) % factors.len()];
    Expr::Apply(op, vec![factors[at].clone(), other.clone()])
}

/// The variables that an expression reads under.
fn variables(e: &Expr) -> Vec<usize> {
    let mut all = Vec::new();
    e.walk(&mut |e| {
        if let Expr::Access(_, at) = e {
            all.extend(at.iter().filter_map(|at| if let super::At::Var(v) = at { Some(*v) } else { None }));
        }
    });
    all
}
