//! The part of a kernel's contract that comes from its program and not from the kernel's own types, for callers without this library.

use fiberloom_core::format::Format;
use fiberloom_core::notation::typed;
use fiberloom_core::shape::{ClassId, Classes};
use fiberloom_loops::{Kernel, Var};
use std::collections::BTreeMap;

/// The facts about a kernel's program that its caller has to know.
#[derive(Clone, Debug, Default)]
pub struct Contract {
    /// The equations between the kernel's parameters, by their names.
    pub(super) equations: Vec<String>,
    /// The declared formats of results that the kernel assembles in another format, by the result's name.
    pub(super) declared: BTreeMap<String, Format>,
}

impl Contract {
    /// The contract of a kernel with the program from which it was lowered, and its classes of extents.
    pub fn of(kernel: &Kernel, program: &typed::Program, classes: &Classes) -> Contract {
        let mut params: BTreeMap<ClassId, String> = BTreeMap::new();
        let mut declared = BTreeMap::new();
        let called = |v: Var| kernel.vars[v.0 as usize].0.clone();
        for a in &kernel.arguments {
            let tensor = &program.tensors[a.tensor.index()];
            params.extend(tensor.sizes.iter().zip(&a.extents).map(|(s, v)| (classes.class_of_size(*s), called(*v))));
            let other = tensor.format.as_ref().filter(|format| **format != a.format && !a.operand);
            declared.extend(other.map(|format| (a.name.clone(), format.clone())));
        }
        params.extend(kernel.solved.iter().map(|(v, of)| (classes.class_of_var(*of), called(*v))));
        params.extend(kernel.given.iter().map(|(v, of)| (classes.class_of_size(*of), called(*v))));
        Contract { equations: classes.equations(&params), declared }
    }
}
