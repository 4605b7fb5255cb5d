//! Products of a symmetric matrix with a vector: an entry that is stored once stands at two places.
//!
//! ```text
//!   R0[i] = sum(j: A0[i,j] * A1[j])       A0 {dense, symmetric}, and as often another fold or another format of A1
//! ```

use super::make::{Defined, Maker};
use super::{Case, Expr, SIZES};
use arbitrary::Unstructured;
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::format::{Format, LevelKind};

/// The case of these bytes.
pub fn symmetric(u: &mut Unstructured) -> Case {
    let mut m = Maker::new(u);
    m.ty = m.one(&[Type::I64, Type::F64, Type::I32]);
    let i = m.below(SIZES);
    let (size, j) = (m.case.vars[i], i + SIZES);
    let mut square = Format::dense(2);
    square.levels_mut()[1] = LevelKind::Symmetric;
    m.stored(0, m.ty, vec![size, size], square);
    let vector = if m.below(4) == 0 { m.format(1) } else { Format::dense(1) };
    m.stored(1, m.ty, vec![size], vector);
    let product = Expr::Apply(Op::Mul, vec![Expr::access(0, vec![i, j]), Expr::access(1, vec![j])]);
    m.scope = vec![i];
    let fold = if m.below(4) == 0 { m.reduction() } else { "sum" };
    let rhs = Expr::Reduce(fold, j, Box::new(product));
    m.define(0, true, vec![i], rhs, Defined { format: Some(Format::dense(1)), freely: false });
    m.case
}
