//! What is added where values are equal, or one is less, or up to where the turn is, or from there on: joins, ranks, prefixes, suffixes.
//!
//! ```text
//!  R0[i] = sum(j: mask(A0[i] == A1[j] && A2[i] == A3[j], …))      keys of a few small numbers, in vectors of any level
//!  R0[i] = sum(j: mask(A0[i] < A1[j], …))
//!  R0[i] = max(j: mask(j <= i, …))
//! ```

use super::make::{Defined, Maker};
use super::{Case, Expr, VARS};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type, Value};

/// The case of these bytes.
pub fn compared(u: &mut Unstructured) -> Case {
    let mut m = Maker::new(u);
    m.ty = m.one(&[Type::I64, Type::F64]);
    let count = m.one(&[2, 2, 2, 3]);
    let mut vars: Vec<usize> = vec![];
    while vars.len() < count {
        let free: Vec<usize> = (0..VARS.len() - 3).filter(|v| !vars.contains(v)).collect();
        vars.push(m.one(&free));
    }
    m.scope = vars.clone();
    let pairs: Vec<Expr> = vars.windows(2).map(|pair| holds(&mut m, pair[0], pair[1])).collect();
    let holds = pairs.into_iter().reduce(|a, b| Expr::Apply(Op::AndAlso, vec![a, b])).expect("two variables or more");
    (0..1 + m.below(2)).for_each(|_| m.operand(m.case.tensors.len()));
    let value = m.expr(2);
    let body = match m.below(4) {
        3 => Expr::Apply(Op::Select, vec![holds, value, m.expr(1)]),
        2 => Expr::Apply(Op::Mul, vec![Expr::Apply(Op::Convert(m.ty), vec![holds]), value]),
        _ => Expr::Apply(Op::Mask, vec![holds, value]),
    };
    let (kept, folded): (Vec<usize>, Vec<usize>) = vars.iter().partition(|_| m.below(2) == 0);
    let function = if m.below(3) == 2 { m.reduction() } else { "sum" };
    let mut rhs = folded.into_iter().rev().fold(body, |body, v| Expr::Reduce(function, v, Box::new(body)));
    if !kept.is_empty() && m.below(4) == 3 {
        m.scope = kept.clone();
        rhs = Expr::Apply(m.one(&[Op::Add, Op::Mul]), vec![rhs, m.expr(1)]);
    }
    let format = Some(m.result_format(&kept));
    m.define(0, true, kept, rhs, Defined { format, freely: false });
    m.case
}

/// Where values of two variables are equal, or the second is before the first, or behind it.
fn holds(m: &mut Maker, a: usize, b: usize) -> Expr {
    match m.below(7) {
        6 => {
            let op = m.one(&[Op::Le, Op::Lt, Op::Ge, Op::Gt]);
            Expr::Apply(op, vec![key(m, a), key(m, b)])
        }
        4 | 5 => {
            let op = m.one(&[Op::Le, Op::Lt, Op::Ge, Op::Gt]);
            let bound = match m.below(3) {
                2 => Expr::Apply(
                    m.one(&[Op::Add, Op::Sub]),
                    vec![Expr::Var(a, Type::I64), Expr::Literal(Value::i64(m.below(3) as i64))],
                ),
                _ => Expr::Var(a, Type::I64),
            };
            Expr::Apply(op, vec![Expr::Var(b, Type::I64), bound])
        }
        3 => Expr::Apply(Op::AndAlso, vec![equal(m, a, b), equal(m, a, b)]),
        _ => equal(m, a, b),
    }
}

fn equal(m: &mut Maker, a: usize, b: usize) -> Expr {
    let mut sides = vec![key(m, a), key(m, b)];
    if m.below(2) == 1 {
        sides.reverse();
    }
    Expr::Apply(Op::Eq, sides)
}

/// An element of a new vector.
fn key(m: &mut Maker, v: usize) -> Expr {
    let (t, format) = (m.case.tensors.len(), m.format(1));
    m.stored(t, Type::I64, vec![m.case.vars[v]], format);
    Expr::access(t, vec![v])
}
