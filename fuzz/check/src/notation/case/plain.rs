//! Statements for which loops have little to do.
//!
//! ```text
//!  R0[i,j] = 2          R0[i] = 0 * A0[i]         R0[i] = A0[i] - A0[i]      constants, the fill value among them
//!  R0[i] = i % 2        R0[i,j] = i - 2*j         arithmetic of coordinates
//!  R0[i] = sum(j: 0 * A0[i,j])                    folds of nothing
//!  R0[i,j] = if j < i then A0[i,j] else 0         conditions on a loop
//! ```

use super::make::{Defined, Maker};
use super::{Case, Expr, VARS};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type};

/// The case of these bytes.
pub fn plain(u: &mut Unstructured) -> Case {
    let mut m = Maker::new(u);
    m.ty = m.one(&[Type::I64, Type::F64, Type::I32, Type::I64]);
    (0..1 + m.below(2)).for_each(|n| m.operand(n));
    let statements = m.one(&[1, 1, 2]);
    for n in 0..statements {
        let count = m.one(&[2, 1, 2, 3]);
        let mut vars: Vec<usize> = vec![];
        while vars.len() < count {
            let free: Vec<usize> = (0..VARS.len() - 3).filter(|v| !vars.contains(v)).collect();
            vars.push(m.one(&free));
        }
        m.scope = vars.clone();
        let rhs = value(&mut m, 2);
        let format = Some(m.result_format(&vars));
        m.define(n, n + 1 == statements, vars, rhs, Defined { format, freely: false });
    }
    m.case
}

fn value(m: &mut Maker, depth: usize) -> Expr {
    let two = |m: &mut Maker, op| Expr::Apply(op, vec![value(m, depth - 1), value(m, depth - 1)]);
    match m.below(if depth > 0 { 10 } else { 6 }) {
        0 | 1 => number(m),
        2 => Expr::Apply(Op::Mul, vec![zero(m), m.leaf()]),
        3 => {
            let e = m.leaf();
            Expr::Apply(Op::Sub, vec![e.clone(), e])
        }
        4 => of_coordinates(m),
        5 => m.leaf(),
        6 => two(m, Op::Add),
        7 => fold(m, depth - 1),
        8 => Expr::Apply(Op::Mask, vec![m.comparison(), value(m, depth - 1)]),
        _ => Expr::Apply(Op::Select, vec![m.comparison(), value(m, depth - 1), value(m, depth - 1)]),
    }
}

/// One of few, so that it often is the fill value.
fn number(m: &mut Maker) -> Expr {
    let x = m.one(&[0, 2, 1]);
    Expr::Literal(m.case.value(m.ty, x))
}

fn zero(m: &Maker) -> Expr {
    Expr::Literal(m.case.value(m.ty, 0))
}

fn of_coordinates(m: &mut Maker) -> Expr {
    let (v, w) = (m.one(&m.scope.clone()), m.one(&m.scope.clone()));
    let [v, w] = [v, w].map(|v| Expr::Var(v, m.ty));
    let n = m.one(&[1, 2]);
    let n = Expr::Literal(m.case.value(m.ty, n));
    match m.below(4) {
        0 => Expr::Apply(Op::Rem, vec![v, n]),
        1 => Expr::Apply(Op::Sub, vec![v, w]),
        2 => Expr::Apply(Op::Sub, vec![v, Expr::Apply(Op::Mul, vec![n, w])]),
        _ => v,
    }
}

/// A fold of an element, or of what is nothing wherever it stands.
fn fold(m: &mut Maker, depth: usize) -> Expr {
    let Some(v) = (0..VARS.len()).rev().find(|v| !m.scope.contains(v)) else { return m.leaf() };
    m.scope.push(v);
    let body = match m.below(3) {
        0 => Expr::Apply(Op::Mul, vec![zero(m), m.leaf()]),
        1 => m.leaf(),
        _ => value(m, depth),
    };
    m.scope.pop();
    if !body.uses(v) {
        return body;
    }
    Expr::Reduce(m.reduction(), v, Box::new(body))
}
