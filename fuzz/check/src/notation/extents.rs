//! Extents by formula against extents by equation: what a kernel computes of its parameters is what the call's extents are.
//!
//! ```text
//!  split(A[n], n -> (i, j)), A of 26, i of 2     solved: i is 2       by formula: i = n / 13, j of 13
//! ```

use fiberloom_core::notation::typed::{Program, SizeId, VarId};
use fiberloom_core::shape::{ClassId, Classes, Extents, Formula};
use std::collections::{BTreeMap, BTreeSet};

/// Every formula by which extents follow from those of tensors, on solved extents.
///
/// # Errors
/// The first that gives something else.
pub fn follow(typed: &Program, extents: &Extents) -> Result<(), String> {
    let Ok(classes) = Classes::of(typed) else { return Ok(()) };
    let sizes = (0..typed.sizes.len()).map(|n| (classes.class_of_size(SizeId(n as u32)), extents.sizes[n]));
    let vars = (0..typed.vars.len()).map(|n| (classes.class_of_var(VarId(n as u32)), extents.vars[n]));
    let known: BTreeSet<ClassId> = sizes.clone().map(|(class, _)| class).collect();
    let solved: BTreeMap<ClassId, u64> = vars.chain(sizes).collect();
    for (class, formula) in classes.formulas(known) {
        let given = value(&formula, &|c| solved[&c] as i128, extents);
        if given != solved[&class] as i128 {
            return Err(format!("{} is {}, and {formula:?} is {given}", classes.name(class), solved[&class]));
        }
    }
    Ok(())
}

fn value(formula: &Formula, of: &dyn Fn(ClassId) -> i128, extents: &Extents) -> i128 {
    let product = |all: &[ClassId]| all.iter().map(|c| of(*c)).product::<i128>();
    let sum = |all: &[ClassId]| all.iter().map(|c| of(*c)).sum::<i128>();
    match formula {
        Formula::Product(all) => product(all),
        Formula::Sum(all) => sum(all),
        Formula::Quotient(whole, by) => of(*whole) / *by as i128,
        Formula::Solved(v) => extents.var(*v) as i128,
        Formula::Difference(whole, others) => of(*whole) - sum(others),
        Formula::Steps { constant, terms, step } => {
            let whole = terms.iter().map(|(factor, c)| *factor as i128 * of(*c)).sum::<i128>() + *constant as i128;
            (whole + *step as i128 - 1).div_euclid(*step as i128)
        }
    }
}
