//! Extents in a kernel: parameters, numbers that the program says, and what follows from them.
//!
//! ```text
//!  kernel f(n_A, n_B)            extents of the caller's tensors
//!    n_l = n_A + n_B             a concatenation that is no tensor
//!  kernel g(n_N, n_I, n_j)       split(A[n], n -> (i, j)): if A has no rows, n_N / n_I does not determine n_j, and
//!    solved n_j                  another equation may: the caller, who has solved them all, passes it
//! ```

use super::{Context, Expr, binary, int, plus, times};
use crate::algebra::{Op, Type};
use crate::loops::{Symbolic, Var};
use crate::map::ClassId;
use crate::notation::concrete::{Limit, Origin, Program, Role};
use crate::shape::{Classes, Formula};
use std::collections::{BTreeMap, BTreeSet};

/// A parameter for every extent of the caller's tensors.
pub(super) fn parameters(d: &mut Symbolic, program: &Program, classes: &Classes) -> BTreeMap<ClassId, Var> {
    let tensors = program.tensors.iter().filter(|t| t.role != Role::Temporary);
    let all: BTreeSet<ClassId> = tensors.flat_map(|t| t.extents.iter().copied()).collect();
    all.into_iter().map(|c| (c, d.fresh(&format!("n_{}", classes.name(c)), Type::I64))).collect()
}

/// Computes the extents that no tensor of the caller has from those that one has.
pub(super) fn derive(cx: &mut Context, d: &mut Symbolic, classes: &Classes) {
    let tensors = cx.program.tensors.iter().flat_map(|t| t.extents.iter());
    let mut needed: BTreeSet<ClassId> = cx.program.vars.iter().map(|v| v.extent).chain(tensors.copied()).collect();
    needed.extend(cx.program.turns());
    let limits = cx.program.vars.iter().flat_map(|v| &v.limits);
    needed
        .extend(limits.filter_map(|limit| if let Limit::Below { extent, .. } = limit { Some(*extent) } else { None }));
    let maps = cx.program.vars.iter().filter_map(|v| match &v.origin {
        Origin::Mapped(map) | Origin::Part(map) => Some(map),
        Origin::Loop | Origin::Computed(_) => None,
    });
    let sizes = maps.flat_map(|map| map.factors.values().chain([&map.constant]));
    needed.extend(sizes.flat_map(|s| s.terms().flat_map(|(_, extents)| extents.to_vec())));
    // Sizes are compared by their parts, so the parts must be computed as well.
    let known = needed.iter().chain(cx.params.keys()).filter_map(|c| cx.sizes.get(c));
    let parts: Vec<ClassId> = known.flat_map(|s| s.terms().flat_map(|(_, extents)| extents.to_vec())).collect();
    needed.extend(parts);
    needed.retain(|c| !cx.params.contains_key(c));
    let formulas = classes.formulas(cx.params.keys().copied().collect());
    let wanted = wanted(needed, &formulas);
    let value = |c: &ClassId| Some((*c, i64::try_from(classes.value(*c)?).ok()?));
    cx.constants.extend(wanted.iter().filter_map(value));
    for (class, formula) in formulas.into_iter().filter(|(class, _)| wanted.contains(class)) {
        let name = format!("n_{}", classes.name(class));
        if let Formula::Solved(of) = formula {
            let param = d.fresh(&name, Type::I64);
            cx.params.insert(class, param);
            cx.solved.push((param, of));
            continue;
        }
        let value = of_formula(cx, &formula);
        let value = d.define(&name, Type::I64, value);
        cx.derived.insert(class, value);
    }
    // A number of turns may be an extent that no formula says.
    for class in cx.program.turns() {
        let known = cx.params.contains_key(&class) || cx.derived.contains_key(&class);
        if !known && !cx.constants.contains_key(&class) {
            let param = d.fresh(&format!("n_{}", classes.name(class)), Type::I64);
            cx.params.insert(class, param);
            cx.solved.push((param, classes.var_of(class).expect("a block has a variable for it")));
        }
    }
}

fn of_formula(cx: &Context, formula: &Formula) -> Expr {
    let fold = |of: &[ClassId], op: fn(Expr, Expr) -> Expr, unit: i64| {
        of.iter().map(|c| extent(cx, *c)).reduce(op).unwrap_or(int(unit))
    };
    match formula {
        Formula::Product(of) => fold(of, times, 1),
        Formula::Sum(of) => fold(of, plus, 0),
        Formula::Quotient(whole, by) => binary(Op::FloorDiv, extent(cx, *whole), int(*by)),
        Formula::Solved(_) => unreachable!("a parameter"),
        Formula::Difference(whole, of) => binary(Op::Sub, extent(cx, *whole), fold(of, plus, 0)),
        Formula::Steps { constant, terms, step } => {
            let step = i64::try_from(*step).unwrap_or(i64::MAX);
            let length = steps_of(cx, *constant, terms);
            if step == 1 {
                return length;
            }
            let rest = binary(Op::FloorRem, length.clone(), int(step));
            binary(Op::Add, binary(Op::FloorDiv, length, int(step)), binary(Op::Min, rest, int(1)))
        }
    }
}

/// `constant + Σ factor · extent`
fn steps_of(cx: &Context, constant: i64, terms: &[(i64, ClassId)]) -> Expr {
    let term = |(factor, class): &(i64, ClassId)| times(extent(cx, *class), int(*factor));
    let sum = terms.iter().map(term).reduce(plus).unwrap_or(int(0));
    if constant < 0 { binary(Op::Sub, sum, int(constant.wrapping_neg())) } else { plus(sum, int(constant)) }
}

/// An extent.
pub(super) fn extent(cx: &Context, class: ClassId) -> Expr {
    let constant = cx.constants.get(&class).map(|n| int(*n));
    let parameter = || cx.params.get(&class).map(|v| Expr::Var(*v));
    constant.or_else(parameter).unwrap_or_else(|| cx.derived[&class].clone())
}

/// The needed extents, and those from which they are computed.
fn wanted(mut needed: BTreeSet<ClassId>, formulas: &[(ClassId, Formula)]) -> BTreeSet<ClassId> {
    for (class, formula) in formulas.iter().rev() {
        if needed.contains(class) {
            needed.extend(formula.sources());
        }
    }
    needed
}
