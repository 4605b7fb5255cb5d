//! Products alone: the protocol of a published fuzzer of sparse tensor compilers (TenSure, arXiv 2603.18372), to be run
//! beside ours.
//!
//! ```text
//!  R0[i, k] = A0[i, j] * A1[j, k] * A2[k]      2 to 5 operands of 1 to 3 modes, of `f64`, over 2 to 4 index variables
//!                                              each mode dense or compressed, in any order; extents 3 to 6; fill 0
//! ```
//!
//! What is contracted stands in two operands or more; the result has some of the other variables at least. That protocol
//! has no meaning to compare with: it permutes operands and changes formats, and compares a compiler's answers with each
//! other. Here each program is compared with its meaning, which finds all that it would.

use super::make::Maker;
use super::{Case, Expr, Statement, Tensor};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::format::{Format, LevelKind};
use fiberloom_loops::Entry;

/// The product of these bytes.
pub fn products(u: &mut Unstructured) -> Case {
    let mut m = Maker::new(u);
    m.ty = Type::F64;
    m.case.sizes = (0..m.case.sizes.len()).map(|_| (3 + m.below(4) as u64, false)).collect();
    m.case.taken_for.fill(None);
    m.case.few = Entry::FEW;
    let vars = 2 + m.below(3);
    let operands = 2 + m.below(4);
    let factors: Vec<Vec<usize>> = (0..operands).map(|n| operand(&mut m, n, vars)).collect();
    let alone = |v: usize| factors.iter().filter(|f| f.contains(&v)).count() == 1;
    let used = |v: &usize| factors.iter().any(|f| f.contains(v));
    // What no other operand has must be the result's.
    let kept: Vec<usize> = (0..vars).filter(used).filter(|v| alone(*v) || m.below(2) == 0).collect();
    let accesses = factors.into_iter().enumerate().map(|(n, f)| Expr::access(n, f));
    let rhs = accesses.reduce(|a, b| Expr::Apply(Op::Mul, vec![a, b])).expect("two operands or more");
    let format = format(&mut m, kept.len());
    let sizes = kept.iter().map(|v| m.case.vars[*v]).collect();
    let name = "R0".to_string();
    let result = Tensor { name, ty: m.ty, sizes, fill: 0, format: Some(format), wide: (false, false), entries: None };
    m.case.tensors.push(result);
    let statement = Statement {
        tensor: operands,
        vars: kept,
        fold: None,
        places: vec![],
        local: false,
        rhs,
        protocols: vec![],
        told: vec![],
    };
    m.case.statements.push(statement);
    m.case
}

/// The `n`-th operand: the variables of its modes.
fn operand(m: &mut Maker, n: usize, vars: usize) -> Vec<usize> {
    let mut free: Vec<usize> = (0..vars).collect();
    let rank = 1 + m.below(3.min(vars));
    let chosen: Vec<usize> = (0..rank).map(|_| free.remove(m.below(free.len()))).collect();
    let format = format(m, rank);
    m.stored(n, Type::F64, chosen.iter().map(|v| m.case.vars[*v]).collect(), format);
    let operand = m.case.tensors.last_mut().expect("it was stored");
    (operand.fill, operand.wide) = (0, (false, false));
    chosen
}

/// Each level dense or compressed, in any order of modes.
pub(super) fn format(m: &mut Maker, rank: usize) -> Format {
    let order = shuffled(m, &(0..rank).collect::<Vec<usize>>()).into();
    let levels = (0..rank).map(|_| m.one(&[LevelKind::Compressed, LevelKind::Dense])).collect();
    Format { levels, order }
}

/// These in some order.
pub(super) fn shuffled(m: &mut Maker, of: &[usize]) -> Vec<usize> {
    let mut left = of.to_vec();
    of.iter().map(|_| left.remove(m.below(left.len()))).collect()
}
