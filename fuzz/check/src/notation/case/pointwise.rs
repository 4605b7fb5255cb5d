//! Functions around folds: what people write behind a product.
//!
//! ```text
//!  R0[i, j] = max(sum(k: A0[i, k] * A1[k, j]) + A2[j], 1)
//!                 │                            ╰ an operand over some of the result's variables, or a literal
//!                 ╰ one fold or two: of a product, or over (min, +) and (max, +); the same one twice
//! ```
//!
//! Each level of an operand is dense or compressed, dense more often, in any order of modes: a fold that could run inside of the loops
//! around it may cost less before them.

use super::make::Maker;
use super::{Case, Expr, Statement, Tensor, products};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type, Value};
use fiberloom_core::format::LevelKind;

/// The case of these bytes.
pub fn pointwise(u: &mut Unstructured) -> Case {
    let mut m = Maker::new(u);
    m.ty = m.one(&[Type::F64, Type::F64, Type::I64]);
    let kept: Vec<usize> = (0..1 + m.below(3)).collect();
    let mut rhs = fold(&mut m, &kept);
    for _ in 0..1 + m.below(3) {
        rhs = around(&mut m, rhs, &kept);
    }
    let vars = products::shuffled(&mut m, &kept);
    let format = products::format(&mut m, vars.len());
    let sizes = vars.iter().map(|v| m.case.vars[*v]).collect();
    let (name, ty) = ("R0".to_string(), m.ty);
    let format = (m.below(4) > 0).then_some(format);
    m.case.tensors.push(Tensor { name, ty, sizes, fill: 0, format, wide: (false, false), entries: None });
    let tensor = m.case.tensors.len() - 1;
    m.case.statements.push(Statement {
        tensor,
        vars,
        fold: None,
        places: vec![],
        local: false,
        rhs,
        protocols: vec![],
        told: vec![],
    });
    m.case
}

/// A fold over one variable or two of a product of two operands or three, which have all of the result's variables.
fn fold(m: &mut Maker, kept: &[usize]) -> Expr {
    let (name, times) = m.one(&[("sum", Op::Mul), ("sum", Op::Mul), ("min", Op::Add), ("max", Op::Mul)]);
    let summed: Vec<usize> = (0..1 + m.below(2)).map(|n| kept.len() + n).collect();
    let mut factors: Vec<Vec<usize>> = vec![summed.clone(); 2 + m.below(2)];
    for v in kept {
        let to = m.below(factors.len());
        factors[to].push(*v);
    }
    // Not every factor has all that is summed.
    if summed.len() > 1 {
        factors.last_mut().expect("there are some").retain(|v| *v != summed[0]);
    }
    let accesses: Vec<Expr> = factors.into_iter().map(|vars| operand(m, vars)).collect();
    let product = accesses.into_iter().reduce(|a, b| Expr::Apply(times, vec![a, b])).expect("two or more");
    summed.into_iter().rev().fold(product, |body, v| Expr::Reduce(name, v, Box::new(body)))
}

/// A new operand over these variables, in some order.
fn operand(m: &mut Maker, vars: Vec<usize>) -> Expr {
    let (vars, n) = (products::shuffled(m, &vars), m.case.tensors.len());
    let mut format = products::format(m, vars.len());
    if m.below(2) == 0 {
        format.levels = vec![LevelKind::Dense; vars.len()].into();
    }
    m.stored(n, m.ty, vars.iter().map(|v| m.case.vars[*v]).collect(), format);
    m.case.tensors[n].fill = 0;
    Expr::access(n, vars)
}

/// A function of a value and something beside it.
fn around(m: &mut Maker, value: Expr, kept: &[usize]) -> Expr {
    let some: Vec<usize> = kept.iter().copied().filter(|_| m.below(3) > 0).collect();
    let beside = match m.below(3) {
        0 => Expr::Literal(m.case.value(m.ty, m.case.tensors.len() as i64 % 3)),
        _ if some.is_empty() => Expr::Literal(m.case.value(m.ty, 2)),
        _ => operand(m, some),
    };
    match m.below(9) {
        0 => Expr::Apply(Op::Max, vec![value, beside]),
        1 => Expr::Apply(Op::Add, vec![value, beside]),
        2 => Expr::Apply(Op::Mul, vec![beside, value]),
        3 => Expr::Apply(Op::Sub, vec![beside, value]),
        4 => {
            let nothing = Expr::Literal(Value::zero(m.ty));
            Expr::Apply(Op::Mask, vec![Expr::Apply(Op::Gt, vec![beside, nothing]), value])
        }
        5 => Expr::Apply(Op::Sub, vec![value, fold(m, kept)]),
        6 => Expr::Apply(Op::Max, vec![fold(m, &kept[..1]), value]),
        7 => Expr::Apply(Op::Mul, vec![value.clone(), value]),
        _ => Expr::Apply(Op::Abs, vec![value]),
    }
}
