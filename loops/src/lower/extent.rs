//! Extents in a kernel: parameters, constants of the program, and extents computed from them.
//!
//! ```text
//!  kernel f(n_A, n_B)            extents of the caller's tensors
//!    n_l = n_A + n_B             a concatenation that is not a tensor
//!  kernel g(n_N, n_I, n_j)       split(A[n], n -> (i, j)): if A has no rows, n_N / n_I does not determine n_j, and
//!    solved n_j                  another equation may: the caller, who has solved all of them, passes n_j
//!  kernel h(n_A, n_N)
//!    given n_N                   `dim N`, a size that the caller gives
//! ```

use super::{Expr, binary, int, plus, times};
use crate::choose::{Extents, symbol::Sym};
use crate::{Symbolic, Var};
use fiberloom_core::algebra::{Op, Type};
use fiberloom_core::map::ClassId;
use fiberloom_core::notation::concrete::{Program, Role};
use fiberloom_core::notation::typed::{SizeId, VarId};
use fiberloom_core::shape::{Classes, Formula};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The extents of a kernel.
#[derive(Default)]
pub(super) struct Lengths {
    /// The extents that the caller passes.
    pub params: BTreeMap<ClassId, Var>,
    /// The parameters that are extents of no tensor of the caller: the caller solves equations for them.
    pub solved: Vec<(Var, VarId)>,
    /// The parameters that are extents of no tensor, and sizes that the caller gives.
    pub given: Vec<(Var, SizeId)>,
    /// The extents that the kernel computes from the parameters.
    derived: BTreeMap<ClassId, Expr>,
    /// The constants and relations that are known of extents.
    known: Extents,
}

impl Lengths {
    /// An extent as an expression.
    fn at(&self, class: ClassId) -> Expr {
        let constant = self.known.number(class).map(int);
        let parameter = || self.params.get(&class).map(|v| Expr::Var(*v));
        constant.or_else(parameter).unwrap_or_else(|| self.derived[&class].clone())
    }

    /// Makes an extent a parameter that the caller solves for.
    fn solve(&mut self, class: ClassId, param: Var, of: VarId) {
        self.params.insert(class, param);
        self.solved.push((param, of));
    }

    /// The extents, each with its symbol, and what is known about them.
    pub fn named(&mut self, sym: &mut dyn FnMut(Expr) -> Sym) -> Extents {
        let classes = self.params.keys().chain(self.derived.keys()).chain(self.known.constants.keys());
        let names = classes.map(|class| (*class, sym(self.at(*class)))).collect();
        Extents { names, ..std::mem::take(&mut self.known) }
    }
}

/// The extents of a program's kernel: a parameter for every extent of the caller's tensors, and the extents computed from these.
pub(super) fn extents(d: &mut Symbolic, program: &Program, classes: &Classes) -> Lengths {
    let tensors = program.tensors.iter().filter(|t| t.role != Role::Temporary);
    let all: BTreeSet<ClassId> = tensors.flat_map(|t| t.extents.iter().copied()).collect();
    let params: BTreeMap<ClassId, Var> = all.into_iter().map(|c| (c, parameter(d, classes, c))).collect();
    let constants = params.keys().filter_map(|c| number(classes, *c)).collect();
    let known = Extents { constants, sizes: classes.sizes(), ..Extents::default() };
    let mut extents = Lengths { params, known, ..Lengths::default() };
    for (class, size) in classes.given() {
        if let Entry::Vacant(free) = extents.params.entry(class) {
            let param = *free.insert(parameter(d, classes, class));
            extents.given.push((param, size));
        }
    }
    let needed = needed(&extents, program);
    let formulas = formulas(d, &mut extents, &needed, classes);
    let wanted = wanted(needed, &formulas);
    extents.known.constants.extend(wanted.iter().filter_map(|c| number(classes, *c)));
    for (class, formula) in formulas.into_iter().filter(|(class, _)| wanted.contains(class)) {
        if let Formula::Solved(of) = formula {
            extents.solve(class, parameter(d, classes, class), of);
            continue;
        }
        let value = of_formula(&extents, &formula);
        let value = d.define(&format!("n_{}", classes.name(class)), Type::I64, value);
        extents.derived.insert(class, value);
    }
    extents
}

/// The extents that follow from parameters. A size that nothing else says, of an operand that no loop reads, is a parameter, and so is the
/// extent of a variable that follows from such sizes: the caller knows them.
fn formulas(
    d: &mut Symbolic,
    extents: &mut Lengths,
    needed: &BTreeSet<ClassId>,
    classes: &Classes,
) -> Vec<(ClassId, Formula)> {
    let formulas = |extents: &Lengths| classes.formulas(extents.params.keys().copied().collect());
    let unsaid = |extents: &Lengths, known: &[(ClassId, Formula)]| -> Vec<ClassId> {
        let follows = |class: &ClassId| classes.value(*class).is_some() || known.iter().any(|(of, _)| of == class);
        needed.iter().copied().filter(|class| !extents.params.contains_key(class) && !follows(class)).collect()
    };
    let mut known = formulas(extents);
    for class in unsaid(extents, &known) {
        if let Some(size) = classes.size_in(class) {
            let param = parameter(d, classes, class);
            extents.params.insert(class, param);
            extents.given.push((param, size));
        }
    }
    known = formulas(extents);
    for class in unsaid(extents, &known) {
        if let Some(of) = classes.var_of(class) {
            extents.solve(class, parameter(d, classes, class), of);
        }
    }
    formulas(extents)
}

fn parameter(d: &mut Symbolic, classes: &Classes, class: ClassId) -> Var {
    d.fresh(&format!("n_{}", classes.name(class)), Type::I64)
}

fn number(classes: &Classes, class: ClassId) -> Option<(ClassId, i64)> {
    Some((class, i64::try_from(classes.value(class)?).ok()?))
}

/// The extents that a program's loops use and that no tensor of the caller has.
fn needed(extents: &Lengths, program: &Program) -> BTreeSet<ClassId> {
    let mut needed = program.extents_used();
    // Sizes are compared by their parts, so the parts must be computed as well.
    let known = needed.iter().chain(extents.params.keys()).filter_map(|c| extents.known.sizes.get(c));
    let parts: Vec<ClassId> = known.flat_map(|s| s.terms().flat_map(|(_, extents)| extents.to_vec())).collect();
    needed.extend(parts);
    needed.retain(|c| !extents.params.contains_key(c));
    needed
}

fn of_formula(extents: &Lengths, formula: &Formula) -> Expr {
    let fold = |of: &[ClassId], op: fn(Expr, Expr) -> Expr, unit: i64| {
        of.iter().map(|c| extents.at(*c)).reduce(op).unwrap_or(int(unit))
    };
    match formula {
        Formula::Product(of) => fold(of, times, 1),
        Formula::Sum(of) => fold(of, plus, 0),
        Formula::Quotient(whole, by) => binary(Op::FloorDiv, extents.at(*whole), int(*by)),
        Formula::Solved(_) => unreachable!("a parameter"),
        Formula::Difference(whole, of) => binary(Op::Sub, extents.at(*whole), fold(of, plus, 0)),
        Formula::Steps { constant, terms, step } => {
            let step = i64::try_from(*step).unwrap_or(i64::MAX);
            let length = steps_of(extents, *constant, terms);
            if step == 1 {
                return length;
            }
            let rest = binary(Op::FloorRem, length.clone(), int(step));
            binary(Op::Add, binary(Op::FloorDiv, length, int(step)), binary(Op::Min, rest, int(1)))
        }
    }
}

/// `constant + Σ factor · extent`
fn steps_of(extents: &Lengths, constant: i64, terms: &[(i64, ClassId)]) -> Expr {
    let term = |(factor, class): &(i64, ClassId)| times(extents.at(*class), int(*factor));
    let sum = terms.iter().map(term).reduce(plus).unwrap_or(int(0));
    if constant < 0 { binary(Op::Sub, sum, int(constant.wrapping_neg())) } else { plus(sum, int(constant)) }
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
